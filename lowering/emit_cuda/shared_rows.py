"""Sweeps over blocks of left operands in shared memory: their rows are dealt to the threads of the block.

So each element is touched once, whichever warps multiply its row, and what is reduced of a row comes to all
of them through a vector in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import TypeIs
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type
from xdsl.ir import Operation, SSAValue

from ...dialects import kernel
from ...dialects.diagnostics import OpError
from ...dialects.kernel import Output
from ...dialects.scalar import is_float
from .fragments import Fragments
from .scalars import number, storage_type, value_type
from .sweep_body import computed

_REDUCED = {Output.Sum: "{total} + {value}", Output.Max: "bb::max_nan({total}, {value})"}
_REDUCED[Output.Min] = "bb::min_nan({total}, {value})"
_UNITED = {Output.Sum: "bb::plus()", Output.Max: "bb::larger()", Output.Min: "bb::smaller()"}
_NEUTRAL = {Output.Sum: 0.0, Output.Max: float("-inf"), Output.Min: float("inf")}


def goes_over_left_operands(op: Operation, fragments: Fragments) -> TypeIs[kernel.SweepOp]:
    """Whether an operation is a sweep over swizzled tiles with rows that warps share out."""
    return isinstance(op, kernel.SweepOp) and len(op.dims) == 2 and op.dims[0] in fragments.rows


class SharedRowSweep:
    """Writes one such sweep."""

    def __init__(self, fragments: Fragments, op: kernel.SweepOp):
        self._all = fragments
        self.op = op
        self._values: dict[SSAValue, str] = {}
        self._blocks = [tile for tile in dict.fromkeys(op.operands) if kernel.tile_type(tile).dims == op.dims]
        if not self._blocks or any(tile not in fragments.staged for tile in self._blocks):
            raise OpError(op, "goes over rows that warps share out, but not over tiles that have fragments")
        self._chunks = {
            tile: fragments.names.claim(f"{fragments.staged[tile].name}_chunk") for tile in self._blocks
        }

    def lines(self) -> list[str]:
        """The statement: a loop over the chunks of 16 bytes of a thread's part of a row."""
        op, names = self.op, self._all.names
        staged = self._all.staged[self._blocks[0]]
        first = self._all.stage(self._blocks[0])
        rows, width = self._all.dims[op.dims[0]], self._all.dims[op.dims[1]].width
        mine = f"bb::row_threads<THREADS, {staged.rows}>"
        before = self._row_values()
        totals: dict[int, str] = {}
        for index, kind in enumerate(op.output_kinds):
            if kind is not Output.Each:
                tile = self._all.tiles[op.outputs[index]]
                totals[index] = names.claim(f"{tile.pointer}_total")
                before.append(f"float {totals[index]} = {number(_NEUTRAL[kind], Float32Type())};")
        read = [tile for tile in self._blocks if tile in op.inputs]
        written = [
            tile for kind, tile in zip(op.output_kinds, op.outputs, strict=True) if kind is Output.Each
        ]
        chunks = [
            f"auto {self._chunks[tile]} = bb::load_chunk({self._all.stage(tile)}, row, chunk);"
            for tile in read
        ]
        chunks += [
            f"bb::chunk_of<{self._all.staged[tile].type_name}::type> {self._chunks[tile]};"
            for tile in written
            if tile not in read
        ]
        cut = self._is_cut(staged.columns)
        body = [f"const int col = chunk * {self._per_chunk} + e;"]
        if cut:
            body.append(f"const bool inside = col < {width};")
        body += [*self._element_values(), *self._computed(), *self._results(totals, cut)]
        stored = [
            f"bb::store_chunk({self._all.stage(tile)}, row, chunk, {self._chunks[tile]});" for tile in written
        ]
        after: list[str] = []
        for index, total in totals.items():
            united = _UNITED[op.output_kinds[index]]
            after.append(f"{total} = bb::across_row_threads<THREADS, {staged.rows}>({total}, {united});")
        if totals:
            after.append(f"if ({mine}::speaks() && row < {rows.width}) {{")
            for index, total in totals.items():
                tile = self._all.tiles[op.outputs[index]]
                element = storage_type(tile.type.element_type)
                after.append(f"  {tile.element('row', '')} = bb::scalar::as<{element}>({total});")
            after.append("}")
        return [
            self._comment(),
            "{",
            f"  const int row = {mine}::row();",
            *(f"  {line}" for line in before),
            f"  bb::for_my_chunks<THREADS>({first}, [&](int chunk) {{",
            *(f"    {line}" for line in chunks),
            "    BB_UNROLL",
            f"    for (int e = 0; e < {self._per_chunk}; e++) {{",
            *(f"      {line}" for line in body),
            "    }",
            *(f"    {line}" for line in stored),
            "  });",
            *(f"  {line}" for line in after),
            "}",
        ]

    @property
    def _per_chunk(self) -> int:
        """The elements of a chunk."""
        return {"f16": 8, "bf16": 8}.get(str(kernel.tile_type(self._blocks[0]).element_type), 4)

    def _comment(self) -> str:
        def name(tile: SSAValue) -> str:
            staged = self._all.staged.get(tile)
            return self._all.tiles[tile].pointer if staged is None else staged.name

        outputs = ", ".join(
            f"{'' if kind is Output.Each else f'{kind} '}{name(tile)}"
            for kind, tile in zip(self.op.output_kinds, self.op.outputs, strict=True)
        )
        inputs = ", ".join(dict.fromkeys(name(tile) for tile in self.op.inputs))
        return f"// {outputs} of {inputs}" if inputs else f"// {outputs}"

    def _row_values(self) -> list[str]:
        """Numbers, and those of the thread's row, are read before the loop: zeros beyond the last row."""
        lines: list[str] = []
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            dims = kernel.tile_type(value).dims
            if not argument.uses or dims == self.op.dims or dims == self.op.dims[1:]:
                continue
            tile = self._all.tiles[value]
            text = f"bb::scalar::value({tile.element('row', '')})"
            name = self._all.names.claim(argument.name_hint or value.name_hint)
            kind = value_type(argument.type)
            if dims:
                text = f"row < {self._all.dims[dims[0]].width} ? {text} : {kind}(0)"
            lines.append(f"const {kind} {name} = {text};")
            self._values[argument] = name
        return lines

    def _element_values(self) -> list[str]:
        lines: list[str] = []
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            dims = kernel.tile_type(value).dims
            if not argument.uses or argument in self._values:
                continue
            kind = value_type(argument.type)
            name = self._all.names.claim(argument.name_hint or value.name_hint)
            if dims == self.op.dims:
                text = f"{self._chunks[value]}.at[e]"
            else:
                text = f"bb::scalar::value({self._all.tiles[value].element('col', '')})"
                width = self._all.dims[self.op.dims[1]]
                if self._is_cut(self._all.staged[self._blocks[0]].columns, always=True):
                    text = f"col < {width.width} ? {text} : {kind}(0)"
            lines.append(f"const {kind} {name} = {text};")
            self._values[argument] = name
        return lines

    def _is_cut(self, columns: int, *, always: bool = False) -> bool:
        """Whether columns of a tile may be beyond the end of the block, and it matters what is there."""
        dim = self._all.dims[self.op.dims[1]]
        if dim.fills(columns) and not dim.ends_early:
            return False
        return always or bool(self.op.outputs)

    def _computed(self) -> list[str]:
        return computed(
            self.op,
            self._values,
            self._all.names,
            self._quantity,
            fast=self._all.fast,
            is_rounded_later=self._is_rounded_later,
        )

    def _is_rounded_later(self, op: arith.TruncFOp) -> bool:
        """Whether a rounded value only goes to tiles of its type."""
        return all(
            use.operation is self.op.yield_op and self.op.output_kinds[use.index] is Output.Each
            for use in op.result.uses
        )

    def _results(self, totals: dict[int, str], cut: bool) -> list[str]:
        lines: list[str] = []
        for index, (kind, argument) in enumerate(
            zip(self.op.output_kinds, self.op.yield_op.arguments, strict=True)
        ):
            value = self._values[argument]
            if not is_float(argument.type):
                value = f"(float){value}"
            if kind is Output.Each:
                chunk = self._chunks[self.op.outputs[index]]
                lines.append(f"{chunk}.at[e] = {f'inside ? {value} : 0.0f' if cut else value};")
            else:
                if cut:
                    value = f"(inside ? {value} : {number(_NEUTRAL[kind], Float32Type())})"
                total = totals[index]
                lines.append(f"{total} = {_REDUCED[kind].format(total=total, value=value)};")
        return lines

    def _quantity(self, op: kernel.QuantityOp) -> str:
        dim = self._all.dims[op.dim_name]
        if (shared := dim.quantity(op.kind.data)) is not None:
            return shared
        places: Sequence[str] = ("row", "col")
        if op.dim_name in self.op.dims:
            return f"{dim.start} + {places[self.op.dims.index(op.dim_name)]}"
        raise OpError(op, f"asks for an index along {op.dim_name}, which the sweep does not run over")
