"""A sweep as one loop of the tile library over the vectors of its tiles."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ....dialects.array.core import bit_width
from ....dialects.diagnostics import OpError
from ....dialects.kernel import Output
from ....dialects.kernel.integer_ranges import IntegerRanges, type_range
from ....dialects.scalar import is_float
from ..names import Names
from .scalars import Lanes, expression, integer_literal, number
from .windows import DimNames, Plane

_NEUTRAL = {Output.Sum: 0.0, Output.Max: float("-inf"), Output.Min: float("inf")}
_ACCUMULATED = {
    Output.Sum: "{total} + {value}",
    Output.Max: "bb::max_nan({value}, {total})",
    Output.Min: "bb::min_nan({value}, {total})",
}
_ACROSS_LANES = {Output.Sum: "bb::sum", Output.Max: "bb::hmax_nan", Output.Min: "bb::hmin_nan"}
_OF_INTEGERS = {
    Output.Sum: ("bb::wrapping_add", "bb::sum"),
    Output.Max: ("bb::max", "bb::largest"),
    Output.Min: ("bb::min", "bb::smallest"),
}
"""The function that adds an integer to a reduction, and the one that reduces lanes."""


@dataclass
class SweepEmitter:
    """Writes one sweep. `planes` has its tiles; `wide` says that lanes have 64 bits."""

    op: kernel.SweepOp
    planes: Mapping[SSAValue, Plane]
    dims: Mapping[str, DimNames]
    names: Names
    wide: bool
    ahead: Sequence[str] = ()
    """Lines for prefetches, at the position (o, l)."""
    left_out: Collection[int] = ()
    """Outputs that are not written, because their readers use the input that they equal."""
    rounded: Collection[SSAValue] = ()
    """Tiles whose elements are rounded to their type when they are stored elsewhere."""
    _values: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])

    def __post_init__(self) -> None:
        declared = {name: dim.declared for name, dim in self.dims.items()}
        self._lanes_of_body = Lanes(self.wide, IntegerRanges.of(self.op.body.block, declared))

    def lines(self) -> list[str]:
        """The statement."""
        body = [*self.ahead, *self._loads(), *self._body()]
        reductions = [index for index, kind in enumerate(self.op.output_kinds) if kind is not Output.Each]
        body += [
            self._written(index)
            for index, kind in enumerate(self.op.output_kinds)
            if kind is Output.Each and index not in self.left_out and index != self._paired
        ]
        if self._paired is not None:
            return self._in_pairs([*body, f"return {self._as_stored(self._paired)};"], reductions)
        if not reductions:
            return [
                f"bb::sweep<T>({self._outer}, {self._lanes}, [&](bb::idx o, bb::idx l) BB_BODY {{",
                *_indented(body),
                "});",
            ]
        if self._vertical:
            return self._reduced_down(body, reductions)
        return self._reduced_across(body, reductions)

    @property
    def _paired(self) -> int | None:
        """The output that is written in pairs of rows of lanes."""
        return next((i for i, tile in enumerate(self.op.outputs) if self.planes[tile].pairs), None)

    # Geometry

    @property
    def _vertical(self) -> bool:
        """True if reductions go over rows of lanes, one result a lane."""
        return len(self.op.dims) == 2 and self.op.rows_in_lanes

    @property
    def _lane_dim(self) -> str | None:
        if not self.op.dims:
            return None
        return self.op.dims[0] if self._vertical else self.op.dims[-1]

    @property
    def _outer_dim(self) -> str | None:
        if len(self.op.dims) < 2:
            return None
        return self.op.dims[1] if self._vertical else self.op.dims[0]

    @property
    def _lanes(self) -> str:
        return "1" if self._lane_dim is None else self.dims[self._lane_dim].width

    @property
    def _outer(self) -> str:
        return "1" if self._outer_dim is None else self.dims[self._outer_dim].width

    def _position(self, tile: SSAValue) -> tuple[str, str, bool]:
        """The row and the lane of a tile at (o, l), and whether all lanes have the same element."""
        dims = kernel.tile_type(tile).dims
        if len(dims) == 2:
            return "o", "l", False
        if not dims:
            return "0", "0", bool(self.op.dims)
        return ("0", "l", False) if dims[0] == self._lane_dim else ("0", "o", True)

    def _address(self, tile: SSAValue) -> tuple[str, bool]:
        """Expression of the elements of a tile at (o, l), and True if all lanes have the same one."""
        plane = self.planes[tile]
        outer, lane, broadcast = self._position(tile)
        terms = [plane.pointer]
        if outer != "0":
            terms.append(f"{outer} * {plane.stride}")
        if lane != "0":
            terms.append(lane)
        return " + ".join(terms), broadcast

    # Statements

    def _loads(self) -> list[str]:
        lines: list[str] = []
        for argument, tile in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if not argument.uses:
                continue
            element = self.planes[tile].element
            if (rows := self.planes[tile].rows) is not None:
                outer, lane, broadcast = self._position(tile)
                value = (
                    f"bb::splat<{element}>({rows}.at({outer}, {lane}))"
                    if broadcast
                    else f"{rows}.load({outer}, {lane})"
                )
            else:
                address, broadcast = self._address(tile)
                value = f"bb::splat<{element}>(*({address}))" if broadcast else f"bb::load({address})"
            if argument.type == i1:
                value = f"{value} != 0"
            name = self._values[argument] = self.names.claim(argument.name_hint or tile.name_hint)
            lines.append(f"const auto {name} = {value};")
        return lines

    def _body(self) -> list[str]:
        lines: list[str] = []
        for op in self.op.body.block.ops:
            if op is self.op.yield_op:
                break
            if not op.results or not op.results[0].uses:
                continue
            result = op.results[0]
            if self._is_rounded_when_written(op):
                self._values[result] = self._values[op.operands[0]]
                continue
            if isinstance(op, kernel.QuantityOp):
                type, value = "const I", self._quantity(op)
            else:
                operands = [self._values[operand] for operand in op.operands]
                type = "const V" if is_float(result.type) else "const I"
                near = isinstance(op, math.ExpOp) and self._goes_into_pairs(result)
                value = (
                    f"bb::exp_near({operands[0]})" if near else expression(op, operands, self._lanes_of_body)
                )
            name = self._values[result] = self.names.claim(result.name_hint or "t")
            lines.append(f"{type} {name} = {value};")
        return lines

    def _is_rounded_when_written(self, op: Operation) -> bool:
        """True if a rounded value is only used as an element of its type, which is rounded when it is
        stored.
        """
        if not isinstance(op, arith.TruncFOp) or self.wide:
            return False
        uses = list(op.result.uses)
        if any(use.operation is not self.op.yield_op for use in uses):
            return False
        return all(
            self.op.output_kinds[use.index] is Output.Each
            and (
                self.op.outputs[use.index] in self.rounded
                or self.planes[self.op.outputs[use.index]].rows is not None
                or use.index == self._paired
            )
            and kernel.tile_type(self.op.outputs[use.index]).element_type == op.result.type
            for use in uses
        )

    def _goes_into_pairs(self, value: SSAValue) -> bool:
        """True if a value is only used as an element of bf16, and perhaps in sums."""
        if self._paired is None:
            return False
        rounded = self.op.yield_op.arguments[self._paired]
        if not isinstance(rounded.owner, arith.TruncFOp) or rounded.owner.input is not value:
            return False
        return all(
            use.operation is rounded.owner
            or (use.operation is self.op.yield_op and self.op.output_kinds[use.index] is Output.Sum)
            for use in value.uses
        )

    def _quantity(self, op: kernel.QuantityOp) -> str:
        dim = self.dims[op.dim_name]
        if (shared := dim.quantity(op.kind.data)) is not None:
            return f"I{{}} + (Int){shared}"
        if op.dim_name == self._lane_dim:
            return f"bb::iota<T>() + (Int)({dim.start} + l)"
        if op.dim_name == self._outer_dim:
            return f"I{{}} + (Int)({dim.start} + o)"
        raise OpError(op, f"asks for an index along {op.dim_name}, which the sweep does not run over")

    def _as_stored(self, index: int) -> str:
        value = self.op.yield_op.arguments[index]
        name = self._values[value]
        if value.type == i1:
            return f"bb::as_float<T>({name} & 1)"
        return name

    def _written(self, index: int) -> str:
        if (rows := self.planes[self.op.outputs[index]].rows) is not None:
            outer, lane, _ = self._position(self.op.outputs[index])
            return f"{rows}.put({outer}, {lane}, {self._as_stored(index)});"
        address, _ = self._address(self.op.outputs[index])
        return f"bb::store({address}, {self._as_stored(index)});"

    def _of_integers(self, index: int) -> bool:
        return self.planes[self.op.outputs[index]].element == "Int"

    def _neutral(self, index: int) -> str:
        kind = self.op.output_kinds[index]
        if self._of_integers(index):
            least, most = type_range(kernel.element_type_of(self.op.outputs[index]))
            return integer_literal({Output.Sum: 0, Output.Max: least, Output.Min: most}[kind])
        return number(_NEUTRAL[kind], self.wide)

    def _initial(self, index: int) -> str:
        """The vector that a reduction starts from; integers are reduced in the bits of a vector of floats."""
        if self._of_integers(index):
            return f"bb::from_bits<T>(I{{}} + (Int){self._neutral(index)})"
        return f"bb::splat<T>({self._neutral(index)})"

    def _accumulated(self, index: int, total: str, value: str) -> str:
        """A reduction together with one more vector; that of integers is a vector of integers."""
        kind = self.op.output_kinds[index]
        if self._of_integers(index):
            return f"bb::from_bits<T>({_OF_INTEGERS[kind][0]}(bb::bits_of({total}), {value}))"
        return _ACCUMULATED[kind].format(total=total, value=value)

    def _reduced(self, index: int, total: str, *, across: bool = False) -> str:
        """The result of a reduction, in each lane or across all of them."""
        kind = self.op.output_kinds[index]
        if not self._of_integers(index):
            return f"{_ACROSS_LANES[kind]}({total})" if across else total
        value = f"bb::bits_of({total})"
        bits = bit_width(kernel.element_type_of(self.op.outputs[index]))
        if bits < self._lanes_of_body.bits and kind is Output.Sum:
            value = f"bb::narrow<{bits}>({value})"
        if not across:
            return value
        value = f"{_OF_INTEGERS[kind][1]}({value})"
        return f"(Int)(std::int32_t){value}" if bits < self._lanes_of_body.bits else value

    def _in_pairs(self, body: Sequence[str], reductions: Sequence[int]) -> list[str]:
        """One output in pairs of rows of lanes; the body ends with its element."""
        assert self._paired is not None
        plane = self.planes[self.op.outputs[self._paired]]
        put = (
            "[&](bb::idx o, bb::idx l, auto pairs) BB_BODY "
            f"{{ bb::put_pairs({plane.pointer} + o * {plane.stride} + l, pairs); }}"
        )
        if reductions:
            return self._reduced_down(body, reductions, put)
        return [
            f"bb::sweep_pairs<T>({self._outer}, {self._lanes}, [&](bb::idx o, bb::idx l) BB_BODY {{",
            *_indented(body),
            f"}}, {put});",
        ]

    def _reduced_down(
        self, body: Sequence[str], reductions: Sequence[int], put: str | None = None
    ) -> list[str]:
        """Reductions over rows of lanes: accumulators are vectors, one for each lane.

        With `put` the body returns an element, two of which it stores.
        """
        init = [f"acc[{place}] = {self._initial(index)};" for place, index in enumerate(reductions)]
        done: list[str] = []
        added: list[str] = []
        for place, index in enumerate(reductions):
            total = f"acc[{place}]"
            added.append(f"{total} = {self._accumulated(index, total, self._as_stored(index))};")
            pointer = self.planes[self.op.outputs[index]].pointer
            done.append(f"bb::store({pointer} + l, {self._reduced(index, total)});")
        count = len(reductions)
        function = "sweep_lanes" if put is None else "sweep_lanes_pairs"
        returned = [] if put is None else [body[-1]]
        return [
            f"bb::{function}<{count}, T>({self._outer}, {self._lanes},",
            f"    [&](bb::idx, V (&acc)[{count}]) BB_BODY {{ {' '.join(init)} }},",
            f"    [&](bb::idx o, bb::idx l, V (&acc)[{count}]) BB_BODY {{",
            *_indented([*(body if put is None else body[:-1]), *added, *returned], 4),
            "    },",
            *([] if put is None else [f"    {put},"]),
            f"    [&](bb::idx l, V (&acc)[{count}]) BB_BODY {{ {' '.join(done)} }});",
        ]

    def _reduced_across(self, body: Sequence[str], reductions: Sequence[int]) -> list[str]:
        """Reductions along the lanes: the last vector counts for its valid lanes only."""
        init: list[str] = []
        added: list[str] = []
        merged: list[str] = []
        done: list[str] = []
        for place, index in enumerate(reductions):
            total, other = f"acc[{place}]", f"other[{place}]"
            element = self.planes[self.op.outputs[index]].element
            valid = f"bb::keep({self._as_stored(index)}, n, {element}({self._neutral(index)}))"
            init.append(f"{total} = {self._initial(index)};")
            added.append(f"{total} = {self._accumulated(index, total, valid)};")
            if element == "Int":
                other = f"bb::bits_of({other})"
            merged.append(f"{total} = {self._accumulated(index, total, other)};")
            position = "[o]" if len(self.op.dims) == 2 else "[0]"
            pointer = self.planes[self.op.outputs[index]].pointer
            done.append(f"({pointer}){position} = {self._reduced(index, total, across=True)};")
        count = len(reductions)
        return [
            f"bb::sweep_outer<{count}, T>({self._outer}, {self._lanes},",
            f"    [&](bb::idx, V (&acc)[{count}]) BB_BODY {{ {' '.join(init)} }},",
            f"    [&](bb::idx o, bb::idx l, auto n, V (&acc)[{count}]) BB_BODY {{",
            *_indented([*body, *added], 4),
            "    },",
            f"    [&](V (&acc)[{count}], V (&other)[{count}]) BB_BODY {{ {' '.join(merged)} }},",
            f"    [&](bb::idx o, V (&acc)[{count}]) BB_BODY {{ {' '.join(done)} }});",
        ]


def _indented(lines: Sequence[str], by: int = 0) -> list[str]:
    return [" " * (by + 2) + line for line in lines]
