"""Sweeps over blocks of left operands in shared memory, whose rows are divided among the threads of the
block.

Each element is touched once, whichever warps multiply its row. Results of reductions reach all warps through
a vector in shared memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import SSAValue

from ....dialects import kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel import Output
from ....dialects.scalar import is_float
from ..names import Names
from .scalars import number, storage_type, value_type
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
from .tiles import SwizzledTile

_REDUCED = {
    Output.Sum: "{total} + {value}",
    Output.Max: "bb::max_nan({total}, {value})",
    Output.Min: "bb::min_nan({total}, {value})",
}
_UNITED = {Output.Sum: "bb::plus()", Output.Max: "bb::larger()", Output.Min: "bb::smaller()"}


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A sweep over left operands in shared memory, and the names of its values."""

    op: kernel.SweepOp
    chunks: Mapping[SSAValue, str]
    """The variables that hold 16 bytes of a row, by the blocks that the sweep goes over."""
    row_values: Mapping[SSAValue, str]
    """The variables of arguments that are numbers, or the numbers of rows."""
    elements: Mapping[SSAValue, str]
    """The variables of arguments that change along a row."""
    results: Mapping[SSAValue, str]
    totals: Mapping[int, str]
    """The variables in which outputs with a reduction are summed."""

    @property
    def first_block(self) -> SSAValue:
        """One of the blocks: all have the same rows and columns."""
        return next(iter(self.chunks))


def plan_sweep(op: kernel.SweepOp, scope: Scope, names: Names) -> Sweep:
    """Name the values of a sweep. Raises OpError where it goes over blocks that are not swizzled."""
    blocks = [tile for tile in dict.fromkeys(op.operands) if kernel.tile_type(tile).dims == op.dims]
    if not blocks or not all(scope.is_staged(tile) for tile in blocks):
        raise OpError(op, "goes over rows that warps share out, but not over tiles that have fragments")

    def is_along_columns(tile: SSAValue) -> bool:
        return kernel.dims_of(tile) in (op.dims, op.dims[1:])

    return Sweep(
        op=op,
        chunks={tile: names.claim(f"{scope.staged(tile).name}_chunk") for tile in blocks},
        row_values=claim_arguments(op, names, lambda tile: not is_along_columns(tile)),
        totals={
            index: names.claim(f"{scope.tile(op.outputs[index]).pointer}_total")
            for index, kind in enumerate(op.output_kinds)
            if kind is not Output.Each
        },
        elements=claim_arguments(op, names, is_along_columns),
        results=claim_results(op, names, lambda inner: _is_rounded_later(op, inner)),
    )


def _is_rounded_later(op: kernel.SweepOp, rounding: arith.TruncFOp) -> bool:
    """True if a rounded value is only stored to tiles, which have its type."""
    return all(
        use.operation is op.yield_op and op.output_kinds[use.index] is Output.Each
        for use in rounding.result.uses
    )


def sweep(plan: Sweep, scope: Scope) -> list[str]:
    """Compute the elements of blocks in shared memory, and reduce their rows."""
    return _SweepText(plan, scope).lines()


@dataclass(frozen=True)
class _SweepText(SweepText[Sweep]):
    @property
    def _block(self) -> SwizzledTile:
        """One of the blocks."""
        return self.scope.staged(self.plan.first_block)

    def lines(self) -> list[str]:
        """The statement: a loop over the chunks of 16 bytes of a thread's part of a row."""
        op, totals = self.op, self.plan.totals
        mine = f"bb::row_threads<THREADS, {self._block.rows}>"
        before = self._row_values()
        for index, total in totals.items():
            neutral = number(NEUTRAL[op.output_kinds[index]], Float32Type())
            before.append(f"float {total} = {neutral};")
        return [
            sweep_comment(op, self._name),
            "{",
            f"  const int row = {mine}::row();",
            *(f"  {line}" for line in before),
            f"  bb::for_my_chunks<THREADS>({self._block.pointer}, [&](int chunk) {{",
            *(f"    {line}" for line in self._chunks()),
            "    BB_UNROLL",
            f"    for (int e = 0; e < {self._per_chunk}; e++) {{",
            *(f"      {line}" for line in self._element()),
            "    }",
            *(f"    {line}" for line in self._stores()),
            "  });",
            *(f"  {line}" for line in self._united(mine)),
            "}",
        ]

    @property
    def _per_chunk(self) -> int:
        """Number of elements of a chunk."""
        return {"f16": 8, "bf16": 8}.get(str(self._block.type.element_type), 4)

    @property
    def _written(self) -> list[SSAValue]:
        return [
            tile
            for kind, tile in zip(self.op.output_kinds, self.op.outputs, strict=True)
            if kind is Output.Each
        ]

    def _name(self, tile: SSAValue) -> str:
        return self.scope.staged(tile).name if self.scope.is_staged(tile) else self.scope.tile(tile).pointer

    def _chunks(self) -> list[str]:
        """The lines that load chunks to registers, or declare registers for them."""
        chunks = self.plan.chunks
        read = [tile for tile in chunks if tile in self.op.inputs]
        lines = [
            f"auto {chunks[tile]} = bb::load_chunk({self.scope.staged(tile).pointer}, row, chunk);"
            for tile in read
        ]
        lines += [
            f"bb::chunk_of<{self.scope.staged(tile).type_name}::type> {chunks[tile]};"
            for tile in self._written
            if tile not in read
        ]
        return lines

    def _stores(self) -> list[str]:
        return [
            f"bb::store_chunk({self.scope.staged(tile).pointer}, row, chunk, {self.plan.chunks[tile]});"
            for tile in self._written
        ]

    def _united(self, mine: str) -> list[str]:
        """The lines that combine the threads' parts of a row's reduction, and store it in shared memory."""
        lines: list[str] = []
        totals, op = self.plan.totals, self.op
        for index, total in totals.items():
            united = _UNITED[op.output_kinds[index]]
            lines.append(f"{total} = bb::across_row_threads<THREADS, {self._block.rows}>({total}, {united});")
        if totals:
            lines.append(f"if ({mine}::speaks() && row < {self.scope.width(op.dims[0])}) {{")
            for index, total in totals.items():
                tile = self.scope.tile(op.outputs[index])
                element = storage_type(tile.type.element_type)
                lines.append(f"  {tile.element('row', '')} = bb::scalar::as<{element}>({total});")
            lines.append("}")
        return lines

    def _row_values(self) -> list[str]:
        """The lines that read numbers, and those of the thread's row: zeros beyond the last row."""
        lines: list[str] = []
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if argument not in self.plan.row_values:
                continue
            tile, kind = self.scope.tile(value), value_type(argument.type)
            text = f"bb::scalar::value({tile.element('row', '')})"
            if tile.type.dims:
                text = f"row < {self.scope.width(tile.type.dims[0])} ? {text} : {kind}(0)"
            lines.append(f"const {kind} {self.plan.row_values[argument]} = {text};")
        return lines

    def _element(self) -> list[str]:
        """The lines that compute one element."""
        op, width = self.op, self.scope.width(self.op.dims[1])
        is_cut = self._may_be_beyond_end and bool(op.outputs)
        body, values = computed(
            op,
            {**self.plan.row_values, **self.plan.elements},
            self.plan.results,
            lambda inner: sweep_quantity(op, inner, self.scope.dims, ("row", "col")),
            fast=self.scope.approximate,
        )
        return [
            f"const int col = chunk * {self._per_chunk} + e;",
            *([f"const bool inside = col < {width};"] if is_cut else []),
            *self._element_values(width),
            *body,
            *self._results(values, is_cut),
        ]

    def _element_values(self, width: str) -> list[str]:
        lines: list[str] = []
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if argument not in self.plan.elements:
                continue
            kind = value_type(argument.type)
            if value in self.plan.chunks:
                text = f"{self.plan.chunks[value]}.at[e]"
            else:
                text = f"bb::scalar::value({self.scope.tile(value).element('col', '')})"
                if self._may_be_beyond_end:
                    text = f"col < {width} ? {text} : {kind}(0)"
            lines.append(f"const {kind} {self.plan.elements[argument]} = {text};")
        return lines

    @property
    def _may_be_beyond_end(self) -> bool:
        """True if columns of a tile may be beyond the end of the block."""
        dim = self.scope.dims[self.op.dims[1]]
        return not dim.fills(self._block.columns) or dim.ends_early

    def _results(self, values: Mapping[SSAValue, str], is_cut: bool) -> list[str]:
        lines: list[str] = []
        for index, (kind, argument) in enumerate(
            zip(self.op.output_kinds, self.op.yield_op.arguments, strict=True)
        ):
            value = values[argument] if is_float(argument.type) else f"(float){values[argument]}"
            if kind is Output.Each:
                chunk = self.plan.chunks[self.op.outputs[index]]
                lines.append(f"{chunk}.at[e] = {f'inside ? {value} : 0.0f' if is_cut else value};")
            else:
                if is_cut:
                    value = f"(inside ? {value} : {number(NEUTRAL[kind], Float32Type())})"
                total = self.plan.totals[index]
                lines.append(f"{total} = {_REDUCED[kind].format(total=total, value=value)};")
        return lines
