"""Sweeps over tiles in registers: each thread computes the elements that it holds.

Only few blocks are masked or cut off by an end. So a sweep with such checks is emitted twice: a kernel runs
the version without them if a condition says that nothing of the block is masked or cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, i1
from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel import Output
from ....dialects.scalar import is_float
from ..names import Names
from .fragments import is_left_operand
from .held import Columns, Rows, WarpGrid
from .masks import Bounds, whole_block_masks
from .placed import offset_of
from .scalars import number, value_type
from .scope import Scope
from .sweep_body import (
    NEUTRAL,
    SweepText,
    claim_arguments,
    claim_results,
    computed,
    sweep_comment,
    sweep_quantity,
)

_LANE = {
    Output.Sum: "{total} + {value}",
    Output.Max: "bb::max({total}, {value})",
    Output.Min: "bb::min({total}, {value})",
}
_QUAD = {Output.Sum: "sum_across_quad", Output.Max: "max_across_quad", Output.Min: "min_across_quad"}
_UNITED = {Output.Sum: "plus", Output.Max: "larger", Output.Min: "smaller"}


@dataclass(frozen=True)
class Area:
    """The rows and columns that a sweep goes over in a warp."""

    rows: Rows
    cols: Columns
    bounds: Bounds


def _area(op: kernel.SweepOp, scope: Scope) -> Area:
    rows = scope.rows[op.dims[0]]
    held = (scope.held[value].cols for value in op.operands if value in scope.held)
    cols = next((each for each in held if each is not None), Columns(0, "0", 0))
    starts = [scope.dims[name].start for name in op.dims]
    row_start = f"{starts[0]} + {rows.first}"
    column_start = starts[-1] if cols.first == "0" else f"{starts[-1]} + {cols.first}"
    return Area(rows, cols, Bounds(op.dims, (row_start, column_start), (rows.count, cols.count)))


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep over tiles in registers, the names of its values, and its checks."""

    op: kernel.SweepOp
    area: Area
    vectors: Mapping[SSAValue, str]
    """The variables in registers of arguments that are vectors in shared memory."""
    arguments: Mapping[SSAValue, str]
    results: Mapping[SSAValue, str]
    totals: Mapping[int, str]
    """The variables in which outputs with a reduction are summed."""
    masks: frozenset[Operation]
    """Comparisons that are true for all elements if the conditions hold."""
    conditions: tuple[str, ...]
    """Conditions under which nothing of a block is masked or cut off."""
    is_cut: bool
    """True if columns of the tile may be beyond the end of a block, and their values matter."""
    always_cut: bool
    """True if some columns are beyond the end in every block."""
    function: str
    """The function that is called with or without checks; empty if one version is enough."""

    @property
    def has_versions(self) -> bool:
        """True if there is a version with checks and one without."""
        return bool(self.function)


def plan_sweep(op: kernel.SweepOp, scope: Scope, names: Names) -> Sweep:
    """Name the values of a sweep, and determine its checks."""
    area = _area(op, scope)
    vectors: dict[SSAValue, str] = {
        argument: names.claim(f"{scope.tile(tile).pointer}_{_along(op, tile)}")
        for argument, tile in zip(op.body.block.args, op.inputs, strict=True)
        if tile not in scope.held and argument.uses and scope.tile(tile).type.dims
    }
    cut = _cut(op, area, scope)
    masks = whole_block_masks(op, area.bounds)
    conditions = (*masks.values(), *((cut,) if cut else ()))
    totals = {
        index: names.claim(f"{_name(op.outputs[index], scope)}_total")
        for index, kind in enumerate(op.output_kinds)
        if kind is not Output.Each
    }
    arguments = claim_arguments(op, names, lambda tile: tile in scope.held)
    results = claim_results(op, names, lambda inner: _is_rounded_later(op, inner, scope))
    always_cut = cut == ""
    return Sweep(
        op=op,
        area=area,
        vectors=vectors,
        arguments=arguments,
        results=results,
        totals=totals,
        masks=frozenset(masks),
        conditions=conditions,
        is_cut=cut is not None,
        always_cut=always_cut,
        function=names.claim("sweep") if conditions and not always_cut else "",
    )


def _along(op: kernel.SweepOp, vector: SSAValue) -> str:
    """The axis of a sweep that a vector lies along."""
    return "rows" if kernel.dims_of(vector)[0] == op.dims[0] else "cols"


def _name(value: SSAValue, scope: Scope) -> str:
    return scope.held[value].name if value in scope.held else scope.tile(value).pointer


def _cut(op: kernel.SweepOp, area: Area, scope: Scope) -> str | None:
    """The condition under which no column of the tile is beyond the end of the block.

    None if that always holds or does not matter; empty if some columns are beyond the end in every block.
    """
    if len(op.dims) < 2:
        return None
    matters = any(
        kind is not Output.Each or is_left_operand(value, scope)
        for kind, value in zip(op.output_kinds, op.outputs, strict=True)
    )
    dim, width = scope.dims[op.dims[1]], area.cols.in_block
    if not matters:
        return None
    if dim.block_length != width:
        return ""
    return None if dim.always_full and not dim.ends_early else f"{dim.width} == {width}"


def _is_rounded_later(op: kernel.SweepOp, rounding: arith.TruncFOp, scope: Scope) -> bool:
    """True if all users of a rounded value round it anyway: operands, and results."""
    for use in rounding.result.uses:
        if use.operation is not op.yield_op or op.output_kinds[use.index] is not Output.Each:
            return False
        tile, type = op.outputs[use.index], rounding.result.type
        if kernel.tile_type(tile).element_type != type:
            return False
        for user in kernel.readers(tile):
            match user:
                case kernel.StoreOp():
                    rounds = kernel.element_type_of(user.target) == type
                case kernel.ContractOp():
                    rounds = user.lhs is tile and user.multiply == type
                case kernel.MoveOp():
                    rounds = scope.is_staged(user.target) and kernel.element_type_of(user.target) == type
                case _:
                    rounds = False
            if not rounds:
                return False
    return True


def sweep(plan: Sweep, scope: Scope) -> list[str]:
    """Compute the elements of tiles in registers, and reduce their rows."""
    return _SweepText(plan, scope).lines()


@dataclass(frozen=True)
class _SweepText(SweepText[Sweep]):
    def lines(self) -> list[str]:
        """The statement: one loop, or two versions of it."""
        plan, rows, width = self.plan, self.plan.area.rows.count, self.plan.area.cols.count
        before = self._vectors()
        for index, total in plan.totals.items():
            neutral = number(NEUTRAL[self.op.output_kinds[index]], Float32Type())
            before += [f"bb::row_vec<{rows}> {total};", f"bb::fill({total}, {neutral});"]
        loop = f"bb::sweep_rows<{rows}>" if len(self.op.dims) == 1 else f"bb::sweep<{rows}, {width}>"
        lines = [f"{loop}([&](bb::cell c) {{", *(f"  {line}" for line in self._body()), "});"]
        if plan.has_versions:
            lines = [
                f"auto {plan.function} = [&](auto edge) {{",
                *(f"  {line}" for line in lines),
                "};",
                f"if ({' && '.join(plan.conditions)})",
                f"  {plan.function}(bb::scalar::no());",
                "else",
                f"  {plan.function}(bb::scalar::yes());",
            ]
        after: list[str] = []
        for place, (index, total) in enumerate(plan.totals.items()):
            kind, output = self.op.output_kinds[index], self.op.outputs[index]
            if output in self.scope.held:
                after.append(f"{self.scope.held[output].name} = bb::{_QUAD[kind]}({total});")
            else:
                after += self._united(place, kind, output, total)
        comment = sweep_comment(self.op, lambda value: _name(value, self.scope))
        return [comment, *before, *lines, *after]

    def _united(self, place: int, kind: Output, output: SSAValue, total: str) -> list[str]:
        """The lines that combine the parts of a row's reduction in warps side by side, in shared memory."""
        offset, grid = offset_of(self.op), self._grid
        if offset is None:
            raise OpError(self.op, "reduces rows that several warps hold, but has no shared memory for it")
        warps, rows = grid.columns, self.plan.area.rows
        offset += place * 4 * warps * rows.in_block
        vector = self.scope.tile(output)
        width = self.scope.width(self.op.dims[0])
        column = f"bb::warp_id() % {warps}"
        return [
            f"{total} = bb::across_warps<{warps}, {rows.in_block}>(bb::{_QUAD[kind]}({total}), "
            f"(float*)(bb_shared + {offset}), {rows.first}, {column}, bb::{_UNITED[kind]}());",
            f"if ({column} == 0) "
            f"bb::store_rows({total}, {vector.pointer} + {rows.first}, {width} - {rows.first});",
        ]

    @property
    def _grid(self) -> WarpGrid:
        assert self.scope.grid is not None
        return self.scope.grid

    def _vectors(self) -> list[str]:
        """The lines that load vectors from shared memory to registers."""
        lines: list[str] = []
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if argument not in self.plan.vectors:
                continue
            tile, along, area = self.scope.tile(value), _along(self.op, value), self.plan.area
            count = self.scope.width(tile.type.dims[0])
            many, first = (
                (area.rows.count, area.rows.first)
                if along == "rows"
                else (str(area.cols.count), area.cols.first)
            )
            place = tile.pointer if first == "0" else f"{tile.pointer} + {first}"
            left = count if first == "0" else f"{count} - {first}"
            name = self.plan.vectors[argument]
            lines.append(f"const auto {name} = bb::load_{along}<{many}>({place}, {left});")
        return lines

    def _arguments(self) -> dict[SSAValue, str]:
        """Expressions of the arguments of the body: elements, and numbers in shared memory."""
        found = {argument: f"{name}[c]" for argument, name in self.plan.vectors.items()}
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if value not in self.scope.held and argument.uses and argument not in found:
                found[argument] = f"bb::scalar::value({self.scope.tile(value).pointer}[0])"
        return {**found, **self.plan.arguments}

    def _body(self) -> list[str]:
        plan, held = self.plan, self.scope.held
        lines: list[str] = []
        if plan.is_cut:
            inside = f"{plan.area.cols.column} < {self.scope.width(self.op.dims[1])}"
            unless_whole = "" if plan.always_cut else "!edge.value || "
            lines.append(f"const bool inside = {unless_whole}{inside};")
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if argument in plan.arguments:
                text = f"{held[value].name}[c]{' != 0.0f' if argument.type == i1 else ''}"
                lines.append(f"const {value_type(argument.type)} {plan.arguments[argument]} = {text};")
        body, values = computed(
            self.op,
            self._arguments(),
            plan.results,
            self._quantity,
            fast=self.scope.approximate,
            changed=self._unless_whole,
        )
        lines += body
        for index, kind in enumerate(self.op.output_kinds):
            yielded = self.op.yield_op.arguments[index]
            value = values[yielded] if is_float(yielded.type) else f"(float){values[yielded]}"
            if kind is Output.Each:
                output = self.op.outputs[index]
                if plan.is_cut and is_left_operand(output, self.scope):
                    value = f"inside ? {value} : 0.0f"
                lines.append(f"{held[output].name}[c] = {value};")
            else:
                if plan.is_cut:
                    value = f"(inside ? {value} : {number(NEUTRAL[kind], Float32Type())})"
                total = f"{plan.totals[index]}[c]"
                lines.append(f"{total} = {_LANE[kind].format(total=total, value=value)};")
        return lines

    def _unless_whole(self, op: Operation, text: str) -> str:
        """Expression of a mask, which is true in the version for whole blocks."""
        return f"!edge.value || {text}" if op in self.plan.masks and self.plan.has_versions else text

    def _quantity(self, op: kernel.QuantityOp) -> str:
        rows = f"{self.plan.area.rows.first} + c.row()"
        return sweep_quantity(self.op, op, self.scope.dims, (rows, self.plan.area.cols.column))
