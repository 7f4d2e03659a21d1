"""Contractions as calls of the tile library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import BFloat16Type, tf32
from xdsl.ir import SSAValue

from ....dialects import kernel
from ....dialects.array.core import bit_width
from ....dialects.diagnostics import OpError
from ..names import Names
from .windows import DimNames, Plane, Window

OUT_OF_MEMORY = "return bb::out_of_memory;"


@dataclass
class ContractionEmitter:
    """Writes one contraction. `wide` says that lanes have 64 bits; `starts_from_zero`, that the first
    iteration of the loop around overwrites the accumulator.
    """

    op: kernel.ContractOp
    planes: Mapping[SSAValue, Plane]
    windows: Mapping[SSAValue, Window]
    dims: Mapping[str, DimNames]
    names: Names
    wide: bool
    starts_from_zero: bool
    _copies: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """Operands that are read from a copy."""

    def lines(self) -> list[str]:
        """The statement. Raises OpError for what a CPU kernel cannot do."""
        integers = self.planes[self.op.accumulator].element == "Int"
        if self.op.kept is None or integers:  # 0 times any integer is 0
            return [f"if ({self._call()}) {OUT_OF_MEMORY}"]
        return self._masked()

    def _masked(self) -> list[str]:
        """The contraction, and what a careful run does if the operand without the mask is not finite."""
        op = self.op
        hidden = op.rhs if op.masks_left else op.lhs
        pointer, strides = self._operand(hidden)
        block = ", ".join((pointer, *strides, *self._widths(hidden)))
        plain = self._call()
        self._copies[hidden] = copy = self.names.claim("finite")
        return [
            f"if (!careful || bb::all_finite({block})) {{",
            f"  if ({plain}) {OUT_OF_MEMORY}",
            "} else {",
            f"  const auto {copy} = bb::finite_copy({block});",
            f"  if (!{copy}.data || {self._call()}) {OUT_OF_MEMORY}",
            *(f"  {line}" for line in self._added(hidden)),
            "}",
        ]

    def _added(self, hidden: SSAValue) -> list[str]:
        """The statement that adds the products with what is not finite, as far as the mask keeps them."""
        op = self.op
        assert op.kept is not None
        del self._copies[hidden]
        left = op.lhs if op.masks_left else op.rhs
        widths = [self._widths(value)[0] for value in (left, hidden)]
        depth = self._widths(hidden)[1]
        # o is a row of the operand with the mask, l one of the other operand, and n is what is summed over.
        own = ("o", "l") if op.masks_left else ("l", "o")
        functions = [
            ("o", "l", " -> T&", self._element(op.accumulator, *own)),
            ("o", "n", "", self._element(left, "o", "n")),
            ("l", "n", "", self._element(hidden, "l", "n")),
            ("o", "n", "", self._element(op.kept, "o", "n")),
        ]
        lambdas = [
            f"[&](bb::idx {one}, bb::idx {other}){result} {{ return {text}; }}"
            for one, other, result, text in functions
        ]
        arguments = [", ".join((*widths, depth)), *lambdas]
        return [
            "bb::add_not_finite(",
            *(f"    {text}{',' if text is not arguments[-1] else ');'}" for text in arguments),
        ]

    def _widths(self, value: SSAValue) -> tuple[str, str]:
        rows, columns = (self.dims[dim].width for dim in kernel.dims_of(value))
        return rows, columns

    def _element(self, value: SSAValue, row: str, column: str) -> str:
        """The element of an operand or a tile at a row and a column."""
        pointer, (by_row, by_column) = self._operand(value)
        if value in self.planes and self.planes[value].pairs:
            return f"bb::half({pointer}[{column} / 2 * {by_column} + {row}], {column} % 2)"
        return f"{pointer}[{row} * {by_row} + {column} * {by_column}]"

    def _call(self) -> str:
        op = self.op
        accumulator = self.planes[op.accumulator]
        rows, columns = (self.dims[dim].width for dim in accumulator.type.dims)
        summed = self.dims[kernel.dims_of(op.lhs)[1]].width
        mode = (
            "bb::rescale" if op.scale is not None else "bb::accumulate" if op.accumulates else "bb::overwrite"
        )
        loop = kernel.loop_from_zero(op)
        if loop is not None and self.starts_from_zero:
            mode = f"{self.dims[loop.dim_names[0]].number} == 0 ? bb::overwrite : bb::accumulate"
        scale = "" if op.scale is None else f", {self.planes[op.scale].pointer}"
        if accumulator.element == "Int":
            return self._call_for_integers(accumulator, (rows, columns, summed), mode)
        packed = "" if op.rhs in self.planes else self._packed_operand(op.rhs)
        if op.multiply == tf32:
            raise OpError(op, "multiplies in tf32, which only GPUs do; a CPU computes f32 exactly")
        in_bf16 = isinstance(op.multiply, BFloat16Type) and not self.wide
        if packed and accumulator.type.rows_in_lanes:
            vectors, (_, stride) = self._operand(op.lhs)
            function = "contract_bf16_packed" if self._in_pairs(op, in_bf16) else "contract_packed"
            return (
                f"bb::{function}({accumulator.pointer}, {accumulator.stride}, {packed}, "
                f"{vectors}, {stride}, {columns}, bb::round_up({rows}, bb::W<T>), {summed}, {mode}{scale})"
            )
        if packed:
            left, (left_row, left_sum) = self._operand(op.lhs)
            function = "contract_bf16_panels" if self._in_pairs(op, in_bf16) else "contract_panels"
            return (
                f"bb::{function}({accumulator.pointer}, {accumulator.stride}, "
                f"{left}, {left_row}, {left_sum}, {packed}, {rows}, {columns}, {summed}, {mode}{scale})"
            )
        if accumulator.type.rows_in_lanes:
            broadcast, (by_row, by_sum) = self._operand(op.rhs)
            vectors, (_, stride) = self._operand(op.lhs)
            function = "contract_bf16" if in_bf16 else "contract"
            rows = f"bb::round_up({rows}, bb::W<T>)"  # scratch memory, which has room for whole vectors
            return (
                f"bb::{function}({accumulator.pointer}, {accumulator.stride}, "
                f"{broadcast}, {by_row}, {by_sum}, {vectors}, {stride}, "
                f"{columns}, {rows}, {summed}, {mode}{scale})"
            )
        left, (left_row, left_sum) = self._operand(op.lhs)
        right, (right_row, right_sum) = self._operand(op.rhs)
        return (
            f"bb::contract_columns({accumulator.pointer}, {accumulator.stride}, "
            f"{left}, {left_row}, {left_sum}, {right}, {right_row}, {right_sum}, "
            f"{rows}, {columns}, {summed}, {mode}{scale})"
        )

    def _call_for_integers(self, accumulator: Plane, widths: tuple[str, str, str], mode: str) -> str:
        """A contraction of integers; either operand may lie in the lanes."""
        rows, columns, summed = widths
        outer, lanes = self.op.lhs, self.op.rhs
        if accumulator.type.rows_in_lanes:
            outer, lanes, rows, columns = self.op.rhs, self.op.lhs, columns, rows
        left, (left_row, left_sum) = self._operand(outer)
        right, (right_row, right_sum) = self._operand(lanes)
        bits = bit_width(accumulator.type.element_type)
        return (
            f"bb::contract_integers<{bits}>({accumulator.pointer}, {accumulator.stride}, "
            f"{left}, {left_row}, {left_sum}, {right}, {right_row}, {right_sum}, "
            f"{rows}, {columns}, {summed}, {mode})"
        )

    def _packed_operand(self, value: SSAValue) -> str:
        """A block of a packed array, its groups of rows, and their distance; empty for a plain array."""
        window = self.windows[value]
        if window.packed is None:
            return ""
        return f"{window.pointer}, {window.packed.group.data}, {window.packed.elements_of_group}"

    def _in_pairs(self, op: kernel.ContractOp, in_bf16: bool) -> bool:
        """True if the packed operand lies in pairs. Raises OpError where that has no form."""
        depth = layout.depth.data if (layout := self.windows[op.rhs].packed) is not None else 1
        item = op.rhs.type
        assert isinstance(item, kernel.CursorType)
        if depth != 1 and not (depth == 2 and in_bf16 and isinstance(item.element_type, BFloat16Type)):
            raise OpError(op, "has no form on a CPU: only bf16 that is multiplied in bf16 is packed in pairs")
        return depth == 2

    def _operand(self, value: SSAValue) -> tuple[str, tuple[str, str]]:
        """Return an operand's pointer, and its strides along rows and columns."""
        if value in self._copies:
            copy = self._copies[value]
            return f"{copy}.data", (f"{copy}.by_row", f"{copy}.by_column")
        if value in self.planes:
            plane = self.planes[value]
            return plane.pointer, plane.elements()
        window = self.windows[value]
        by_row, by_column = window.strides
        return window.pointer, (by_row, by_column)
