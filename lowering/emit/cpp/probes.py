"""Statements of kernels that a profile distinguishes, and the lines that record when a thread reaches one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ....dialects.diagnostics import location_of
from ....dialects.kernel import Output
from ..names import Names
from ..source_text import comment_text
from .windows import DimNames, Window, element_of


class Category(StrEnum):
    """Kind of work of a thread."""

    CONTRACTION = "contraction"
    PACKING = "packing"
    """Copies of operands into the order in which contractions read them."""
    EXPONENTIALS = "exponentials"
    """Sweeps with functions of many operations: exp, log, tanh, erf, sin, cos, pow."""
    ELEMENTWISE = "element-wise"
    """Sweeps without such functions."""
    MOVES = "loads and stores"
    """Between arrays and tiles, and fills and copies of tiles."""
    OTHER = "other"
    """Positions of blocks, memory, the next task."""
    WAITING = "waiting"
    """Of threads for each other, for a start, or for lack of tasks."""


@dataclass(frozen=True)
class Statement:
    """One operation of a kernel, for people; `place` is where the program has it, `FILE:LINE:COLUMN`.

    `type` is the one that a contraction multiplies in: f32, f64 or bf16; of others the one they compute in.
    """

    kernel: str
    text: str
    category: Category
    type: str
    place: str | None


_TIMED = (
    kernel.LoadOp,
    kernel.StoreOp,
    kernel.MoveOp,
    kernel.FillOp,
    kernel.ContractOp,
    kernel.SweepOp,
)
_SHORT = frozenset(f"math.{name}" for name in ("sqrt", "rsqrt", "fma", "absf", "floor", "ceil"))
"""Functions of a few instructions."""

_FREE = ("arith.constant", "arith.sitofp", "arith.uitofp", "arith.index_cast", "kernel.quantity")
"""Operations that a sweep does once for all elements, or at no cost."""


def probed(function: kernel.FuncOp, wide: bool = False) -> dict[Operation, Statement]:
    """The statements of a kernel, in order. `wide` says that lanes have 64 bits."""
    name = function.sym_name.data
    return {
        op: Statement(name, comment_text(_text(op)), _category(op), _type(op, wide), _place(op))
        for op in function.walk()
        if isinstance(op, _TIMED)
    }


@dataclass(frozen=True)
class Probes:
    """Writes the lines by which a thread records its position: see `profile.hpp`. No lines without
    `numbers`.
    """

    numbers: Mapping[Operation, int]
    dims: Mapping[str, DimNames]

    def before(self, op: Operation, windows: Mapping[SSAValue, Window]) -> list[str]:
        """The line in front of a statement."""
        if op not in self.numbers:
            return []
        return [f"bb::profile::at({self.numbers[op]}, {self._flops(op)}, {self._bytes(op, windows)});"]

    def after_all(self) -> list[str]:
        """The line after the last statement of a list, if other text follows."""
        return ["bb::profile::at_other();"] if self.numbers else []

    def launch(self, names: Names) -> list[str]:
        """The line before all others of a launch."""
        return [f"const bb::profile::Launch {names.claim('launch')};"] if self.numbers else []

    def _flops(self, op: Operation) -> str:
        """A multiply-add as two; of a sweep each operation on an element as one, an exponential too."""
        match op:
            case kernel.ContractOp():
                summed = kernel.dims_of(op.lhs)[1]
                return " * ".join(["2", *self._widths((*kernel.tile_type(op.accumulator).dims, summed))])
            case kernel.SweepOp():
                each = sum(1 for inner in op.body.block.ops if inner.results and inner.name not in _FREE)
                each += sum(kind is not Output.Each for kind in op.output_kinds)
                return " * ".join([str(each), *self._widths(op.dims)])
            case _:
                return "0"

    def _bytes(self, op: Operation, windows: Mapping[SSAValue, Window]) -> str:
        """Bytes moved between arrays and tiles, or of a contraction's operands in arrays; 0 for a tile that
        may be a block of the array itself.
        """
        match op:
            case kernel.LoadOp() | kernel.StoreOp():
                cursors = [] if op.in_place is not None else [op.target, op.source]
            case kernel.ContractOp():
                cursors = [op.lhs, op.rhs]
            case _:
                cursors = []
        sizes = [
            " * ".join([*windows[value].widths, f"(bb::idx)sizeof({element_of(value)})"])
            for value in cursors
            if isinstance(value.type, kernel.CursorType)
        ]
        return " + ".join(sizes) or "0"

    def _widths(self, names: Iterable[str]) -> list[str]:
        return ["1" if self.dims[name].declared.is_batch else self.dims[name].width for name in names]


def _category(op: Operation) -> Category:
    match op:
        case kernel.ContractOp():
            return Category.CONTRACTION
        case kernel.SweepOp():
            names = {inner.name for inner in op.body.block.ops if inner.name.startswith("math.")}
            return Category.EXPONENTIALS if names - _SHORT else Category.ELEMENTWISE
        case kernel.StoreOp() if isinstance(op.target.owner, kernel.CursorOp) and op.target.owner.packed:
            return Category.PACKING
        case kernel.MoveOp() if _turned(op):
            return Category.PACKING
        case _:
            return Category.MOVES


def _turned(op: kernel.MoveOp) -> bool:
    return kernel.tile_type(op.target).rows_in_lanes != kernel.tile_type(op.source).rows_in_lanes


def _type(op: Operation, wide: bool) -> str:
    if wide:
        return "f64"
    return "bf16" if isinstance(op, kernel.ContractOp) and isinstance(op.multiply, BFloat16Type) else "f32"


def _place(op: Operation) -> str | None:
    where = location_of(op)
    return (
        None
        if where is None
        else comment_text(f"{where.filename.data}:{where.line.data}:{where.column.data}")
    )


def _text(op: Operation) -> str:
    """An operation on one line, by the names of its tiles."""
    match op:
        case kernel.ContractOp():
            sign = "+=" if op.accumulates or kernel.loop_from_zero(op) is not None else "="
            return f"{_name(op.accumulator)} {sign} {_name(op.lhs)} · {_name(op.rhs)}"
        case kernel.SweepOp():
            functions = dict.fromkeys(
                inner.name.removeprefix("math.")
                for inner in op.body.block.ops
                if inner.name.startswith("math.")
            )
            written = [
                _name(tile) if str(kind) in ("each", _name(tile)) else f"{kind} {_name(tile)}"
                for kind, tile in zip(op.output_kinds, op.outputs, strict=True)
            ]
            calls = f": {', '.join(functions)}" if functions else ""
            return f"{', '.join(dict.fromkeys(written))} [{', '.join(op.dims)}]{calls}"
        case kernel.LoadOp():
            return f"load {_name(op.source)}"
        case kernel.StoreOp():
            return f"store {_name(op.target)}"
        case kernel.MoveOp():
            return f"{'turn' if _turned(op) else 'copy'} {_name(op.source)}"
        case kernel.FillOp():
            return f"fill {_name(op.tile)}"
        case _:
            return op.name


def _name(value: SSAValue) -> str:
    """The name of a tile, or of the array or the list that a cursor goes over, as in the source."""
    owner = value.owner
    if isinstance(owner, kernel.CursorOp):
        value, owner = owner.array, owner.array.owner
    return value.name_hint or ("list" if isinstance(owner, kernel.BufferOp) else "tile")
