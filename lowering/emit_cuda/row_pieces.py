"""Operations on whole rows in registers: the threads of a warp, or of a block, hold pieces of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue

from ...dialects import kernel
from ...dialects.array.core import bit_width
from ...dialects.diagnostics import OpError
from ...dialects.kernel import Output
from ...dialects.scalar import is_float
from ..emit.names import Names
from .geometry import Dim, Window
from .scalars import element_bytes, number, storage_type, value_type
from .sweep_body import computed

_REDUCED = {
    Output.Sum: "{total} + {value}",
    Output.Max: "bb::max_nan({total}, {value})",
    Output.Min: "bb::min_nan({total}, {value})",
}
_FUNCTIONS = {
    Output.Sum: "bb::plus()",
    Output.Max: "[](float a, float b) { return bb::max_nan(a, b); }",
    Output.Min: "[](float a, float b) { return bb::min_nan(a, b); }",
}
_NEUTRAL = {Output.Sum: 0.0, Output.Max: float("-inf"), Output.Min: float("inf")}


@dataclass
class RowPieces:
    """Writes the operations of a kernel on whole rows; `row` is the row of the block at hand."""

    group: int
    rows: str
    columns: str
    vector: int
    """Elements of an access."""
    windows: Mapping[SSAValue, Window]
    dims: Mapping[str, Dim]
    names: Names
    fast: bool
    """Whether approximate units are exact enough."""
    held: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    @property
    def length(self) -> int:
        """The elements of a row."""
        length = self.dims[self.columns].block_length
        assert length is not None
        return length

    @property
    def pieces(self) -> int:
        """The accesses of a thread to a row."""
        return -(-self.length // (self.group * self.vector))

    @property
    def is_cut(self) -> bool:
        """Whether threads hold elements beyond the end of a row."""
        return self.pieces * self.group * self.vector != self.length

    def declarations(self, tiles: list[kernel.TileOp]) -> list[str]:
        """The lines that declare the tiles; vectors over rows are a number for the row at hand."""
        lines = [f"using Row = bb::row_piece<{self.group}, {self.vector}, {self.pieces}>;"]
        for op in tiles:
            name = self.held[op.result] = self.names.claim(op.result.name_hint or "tile")
            is_row = self.columns in kernel.tile_type(op.result).dims
            lines.append(f"{'Row' if is_row else 'float'} {name};")
        return lines

    def lines(self, op: Operation) -> list[str]:
        """One operation. Raises OpError for one without a form."""
        match op:
            case kernel.FillOp():
                value = number(op.number, Float32Type())
                name = self.held[op.tile]
                if self._is_piece(op.tile):
                    return [f"Row::sweep([&](bb::slot s) {{ {name}[s] = {value}; }});"]
                return [f"{name} = {value};"]
            case kernel.MoveOp():
                return [f"{self.held[op.target]} = {self.held[op.source]};"]
            case kernel.LoadOp():
                return self._load(op)
            case kernel.StoreOp():
                return self._store(op)
            case kernel.SweepOp():
                return self._sweep(op)
            case _:
                raise OpError(op, "has no form on rows in registers")

    def same_in_all_rows(self, ops: list[Operation]) -> set[Operation]:
        """The operations on vectors over columns whose results are the same for all rows of a block."""
        found: set[Operation] = set()
        for op in ops:
            tiles = [value for value in op.operands if isinstance(value.type, kernel.TileType)]
            if not tiles or any(kernel.tile_type(value).dims != (self.columns,) for value in tiles):
                continue
            makers = {maker for value in tiles for maker in kernel.writers(value)}
            if makers <= {*found, op}:
                found.add(op)
        return found

    def _is_piece(self, tile: SSAValue) -> bool:
        return self.columns in kernel.tile_type(tile).dims

    def _load(self, op: kernel.LoadOp) -> list[str]:
        name, window = self.held[op.target], self.windows[op.source]
        if not self._is_piece(op.target):
            return [f"{name} = bb::scalar::value({window.element('row')});"]
        if window.strides[-1] == "1":
            return [f"{name}.load({self._start(window)}, {self.length}, 0.0f);"]
        place = window.element(*("row", "col")[-len(window.strides) :])
        return [
            "Row::sweep([&](bb::slot s) {",
            "  const int col = Row::col(s);",
            f"  {name}[s] = col < {self.length} ? bb::scalar::value({place}) : 0.0f;",
            "});",
        ]

    def _start(self, window: Window) -> str:
        """Where the row at hand of a window begins."""
        return window.pointer if len(window.strides) == 1 else f"{window.pointer} + row * {window.strides[0]}"

    def _store(self, op: kernel.StoreOp) -> list[str]:
        name, window = self.held[op.source], self.windows[op.target]
        element = storage_type(kernel.element_type_of(op.target))
        if not self._is_piece(op.source):
            place = window.element("row")
            return [f"if (threadIdx.x % {self.group} == 0) {place} = bb::scalar::as<{element}>({name});"]
        if window.strides[-1] == "1":
            return [f"{name}.store({self._start(window)}, {self.length});"]
        place = window.element("row", "col")
        return [
            "Row::sweep([&](bb::slot s) {",
            "  const int col = Row::col(s);",
            f"  if (col < {self.length}) {place} = bb::scalar::as<{element}>({name}[s]);",
            "});",
        ]

    def _sweep(self, op: kernel.SweepOp) -> list[str]:
        values: dict[SSAValue, str] = {}
        body: list[str] = []
        for argument, value in zip(op.body.block.args, op.inputs, strict=True):
            if argument.uses:
                own = self.held[value]
                name = self.names.claim(argument.name_hint or value.name_hint)
                body.append(f"const float {name} = {own}{'[s]' if self._is_piece(value) else ''};")
                values[argument] = name
        body += computed(op, values, self.names, lambda inner: self._quantity(op, inner), fast=self.fast)
        return self._outputs(op, body, values)

    def _outputs(self, op: kernel.SweepOp, body: list[str], values: Mapping[SSAValue, str]) -> list[str]:
        before: list[str] = []
        after: list[str] = []
        outputs = ", ".join(
            f"{'' if kind is Output.Each else f'{kind} '}{self.held[value]}"
            for kind, value in zip(op.output_kinds, op.outputs, strict=True)
        )
        along = self.columns in op.dims
        for index, kind in enumerate(op.output_kinds):
            yielded = op.yield_op.arguments[index]
            value = values[yielded] if is_float(yielded.type) else f"(float){values[yielded]}"
            if value_type(yielded.type) == "double":
                raise OpError(op, "computes in f64, which has no form on rows in registers")
            own = self.held[op.outputs[index]]
            if kind is Output.Each:
                body.append(f"{own}{'[s]' if along else ''} = {value};")
                continue
            total = self.names.claim(f"{own}_total")
            neutral = number(_NEUTRAL[kind], Float32Type())
            before.append(f"float {total} = {neutral};")
            step = f"{total} = {_REDUCED[kind].format(total=total, value=value)};"
            body.append(f"if (Row::col(s) < {self.length}) {step}" if self.is_cut else step)
            after.append(
                f"{own} = bb::reduce_group<{self.group}>({total}, (float*)bb_shared, {_FUNCTIONS[kind]});"
            )
        if not along:
            return [f"// {outputs}", "{", *(f"  {line}" for line in body), "}"]
        return [
            f"// {outputs}",
            *before,
            "Row::sweep([&](bb::slot s) {",
            *(f"  {line}" for line in body),
            "});",
            *after,
        ]

    def _quantity(self, sweep: kernel.SweepOp, op: kernel.QuantityOp) -> str:
        dim = self.dims[op.dim_name]
        if (shared := dim.quantity(op.kind.data)) is not None:
            return shared
        if op.dim_name == self.rows:
            return f"{dim.start} + row"
        if op.dim_name == self.columns and op.dim_name in sweep.dims:
            return f"{dim.start} + Row::col(s)"
        raise OpError(op, f"asks for an index along {op.dim_name}, which the sweep does not run over")


def access_width(cursors: list[tuple[kernel.CursorOp, int]]) -> int:
    """Elements of an access to arrays, of each of which so many may be moved together: 16 bytes at most."""
    widths = [16 // element_bytes(kernel.element_type_of(cursor.result)) for cursor, _ in cursors]
    return max(1, min([*widths, *(most for _, most in cursors)], default=1))


def computes_in_16_bits(cursors: list[kernel.CursorOp]) -> bool:
    """Whether all that a kernel reads and writes has 16 bits."""
    return all(bit_width(kernel.element_type_of(cursor.result)) == 16 for cursor in cursors)
