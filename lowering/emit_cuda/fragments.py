"""Operations on tiles in registers: a warp keeps some rows of each, and works on them alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    IndexType,
    IntegerAttr,
    f32,
    i1,
    tf32,
)
from xdsl.ir import Operation, SSAValue

from ...dialects import kernel
from ...dialects.array.core import bit_width
from ...dialects.diagnostics import OpError
from ...dialects.kernel import Output, Quantity
from ...dialects.kernel.placement import OFFSET_ATTRIBUTE, integer
from ...dialects.kernel.tile_layouts import is_right_operand, padded
from ...dialects.scalar import is_float
from ..emit_cpp.names import Names
from ..source_text import comment_text
from .geometry import Dim, Window
from .held import Columns, Held, Rows
from .scalars import number, storage_type, value_type
from .staging import Staged, is_fetched_ahead
from .statements import Tile
from .sweep_body import computed

_LANE = {Output.Sum: "{total} + {value}", Output.Max: "bb::max({total}, {value})"}
_LANE[Output.Min] = "bb::min({total}, {value})"
_QUAD = {Output.Sum: "sum_across_quad", Output.Max: "max_across_quad", Output.Min: "min_across_quad"}
_UNITED = {Output.Sum: "plus", Output.Max: "larger", Output.Min: "smaller"}
_NEUTRAL = {Output.Sum: 0.0, Output.Max: float("-inf"), Output.Min: float("inf")}


@dataclass
class Fragments:
    """Writes operations on tiles in registers."""

    rows: Mapping[str, Rows]
    """Of the dims whose blocks warps share out."""
    held: Mapping[SSAValue, Held]
    tiles: Mapping[SSAValue, Tile]
    staged: Mapping[SSAValue, Staged]
    windows: Mapping[SSAValue, Window]
    dims: Mapping[str, Dim]
    names: Names
    grid_columns: int = 1
    """How many warps share out the columns of tiles."""
    fast: bool = True
    """Whether functions are computed by approximate units: not where nothing is rounded to less than f32."""
    waits: set[Operation] = field(default_factory=set[Operation])
    """The operations that a barrier stands before."""
    stages: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The stage at hand of tiles that have several."""

    def concerns(self, op: Operation) -> bool:
        """Whether an operation is one on tiles in registers."""
        return any(value in self.held for value in op.operands)

    def lines(self, op: Operation) -> list[str]:
        """One operation. Raises OpError for one without a form."""
        match op:
            case kernel.FillOp():
                return [f"bb::fill({self.held[op.tile].name}, {number(op.number, Float32Type())});"]
            case kernel.ContractOp():
                return self._contract(op)
            case kernel.SweepOp():
                return FragmentSweep(self, op).lines()
            case kernel.MoveOp():
                return self._move(op)
            case kernel.LoadOp():
                return self._load(op)
            case kernel.StoreOp():
                return self._store(op)
            case _:
                raise OpError(op, "has no form on tiles in registers")

    def _contract(self, op: kernel.ContractOp) -> list[str]:
        second = self.contracted_with(op)
        both = [op] if second is None else [op, second]
        lines: list[str] = []
        for each in both:
            acc = self.held[each.accumulator].name
            left_name, right_name = (
                comment_text(value.name_hint or "tile") for value in (each.lhs, each.rhs)
            )
            sign = "+=" if each.accumulates or each.scale is not None else "="
            lines.append(f"// {acc} {sign} {left_name} * {right_name}^T")
        for each in both:
            acc = self.held[each.accumulator].name
            if each.scale is not None:
                lines.append(f"bb::row_scale({acc}, {self.held[each.scale].name});")
            elif not each.accumulates:
                lines.append(f"bb::fill({acc}, 0.0f);")
        function = "contract" if second is None else "contract2"
        if self.staged[op.rhs].rows_contiguous:
            function += "_kn"
        function += "" if op.lhs in self.held else self._depth(op)
        sums = ", ".join(self.held[each.accumulator].name for each in both)
        right = ", ".join(self.stage(each.rhs) for each in both)
        col0 = self.held[op.accumulator].col0
        return [*lines, f"bb::{function}({sums}, {self._left(op)}, {right}, {col0});"]

    def contracted_with(self, op: Operation) -> kernel.ContractOp | None:
        """The contraction that is done together with one: the next operation, with the same left operand."""
        if not isinstance(op, kernel.ContractOp) or op.lhs not in self.staged:
            return None
        other = op.next_op
        while isinstance(other, kernel.CursorOp) or (other is not None and is_fetched_ahead(other)):
            other = other.next_op
        if not isinstance(other, kernel.ContractOp) or other.lhs is not op.lhs or other in self.waits:
            return None
        if not isinstance(op.multiply, BFloat16Type | Float16Type):
            return None
        one, two = ((self.held[each.accumulator], self.staged[each.rhs]) for each in (op, other))
        same = (one[0].columns, one[0].rows, one[1].rows, one[1].columns, one[1].rows_contiguous) == (
            (two[0].columns, two[0].rows, two[1].rows, two[1].columns, two[1].rows_contiguous)
        )
        return other if same and op.accumulator is not other.accumulator else None

    def _depth(self, op: kernel.ContractOp) -> str:
        """How many columns of a left operand in shared memory are multiplied, where its tile has more."""
        length = self.dims[kernel.dims_of(op.lhs)[1]].block_length
        assert length is not None
        step = 8 if op.multiply in (None, tf32) else 16
        depth = -(-length // step) * step
        return f"<{depth}>" if depth < padded(length) else ""

    def _left(self, op: kernel.ContractOp) -> str:
        if op.lhs in self.held:
            product = "bb::tf32" if op.multiply == tf32 else storage_type(op.multiply or f32)
            return f"bb::to_operand<{product}>({self.held[op.lhs].name})"
        return f"{self.stage(op.lhs)}, {self.held[op.accumulator].rows.first}"

    def stage(self, tile: SSAValue) -> str:
        """A staged tile, or the stage at hand of one."""
        stage = self.stages.get(tile)
        name = self.staged[tile].name
        return name if stage is None else f"{name}[{stage}]"

    def _move(self, op: kernel.MoveOp) -> list[str]:
        if op.target in self.staged:
            source, dim = self.held[op.source], self.dims[kernel.dims_of(op.source)[0]]
            to, end = self.stage(op.target), ""
            if is_right_operand(op.target) and not dim.fills(source.rows.in_block):
                end = f", {dim.width}"
            return [
                f"// {self.staged[op.target].name} = {source.name}, for all warps",
                f"bb::put({to}, {source.rows.first}, {source.col0}, {source.name}{end});",
            ]
        if op.target in self.tiles:
            source, vector = self.held[op.source], self.tiles[op.target]
            first, width = source.rows.first, self.dims[source.type.dims[0]].width
            return [
                f"// {vector.pointer} = {source.name}, for all warps",
                f"bb::store_rows({source.name}, {vector.pointer} + {first}, {width} - {first});",
            ]
        target = self.held[op.target]
        if op.source in self.held:
            return [f"{target.name} = {self.held[op.source].name};"]
        if op.source not in self.staged:
            raise OpError(op, "moves a tile in shared memory that has no fragments")
        rows = target.rows
        return [
            f"{target.name} = "
            f"bb::take<{rows.count}, {target.columns}>({self.stage(op.source)}, {rows.first}, {target.col0});"
        ]

    def _load(self, op: kernel.LoadOp) -> list[str]:
        target, window = self.held[op.target], self.windows[op.source]
        rows, row0 = target.rows.count, target.rows.first
        if len(target.type.dims) == 1:
            body = (
                f"{target.name}[c] = {row0} + c.row() < {window.widths[0]} "
                f"? (float)bb::scalar::value({window.element(f'({row0} + c.row())')}) : 0.0f;"
            )
            return [f"bb::sweep_rows<{rows}>([&](bb::cell c) {{ {body} }});"]
        if not window.unit_columns:
            col = target.column
            value = window.element(f"({row0} + c.row())", f"({col})" if "+" in col else col)
            inside = f"{row0} + c.row() < {window.widths[0]} && {col} < {window.widths[1]}"
            body = f"{target.name}[c] = {inside} ? (float)bb::scalar::value({value}) : 0.0f;"
            return [f"bb::sweep<{rows}, {target.columns}>([&](bb::cell c) {{ {body} }});"]
        vector = min(2, window.vector) if bit_width(kernel.element_type_of(op.source)) > 8 else 1
        return [
            f"{target.name} = bb::load_tile<{rows}, {target.columns}, {vector}>({window.pointer}, "
            f"{row0}, {target.col0}, {window.strides[0]}, {window.widths[0]}, {window.widths[1]}, 0.0f);"
        ]

    def _store(self, op: kernel.StoreOp) -> list[str]:
        source, window = self.held[op.source], self.windows[op.target]
        rows, row0 = source.rows.count, source.rows.first
        element = storage_type(kernel.element_type_of(op.target))
        comment = f"// store {source.name}"
        if len(source.type.dims) == 1:
            body = (
                f"if (bb::lane_id() % 4 == 0 && {row0} + c.row() < {window.widths[0]}) "
                f"{window.element(f'({row0} + c.row())')} = bb::scalar::as<{element}>({source.name}[c]);"
            )
            return [comment, f"bb::sweep_rows<{rows}>([&](bb::cell c) {{ {body} }});"]
        if not window.unit_columns:
            col = source.column
            place = window.element(f"({row0} + c.row())", f"({col})" if "+" in col else col)
            body = (
                f"if ({row0} + c.row() < {window.widths[0]} && {col} < {window.widths[1]}) "
                f"{place} = bb::scalar::as<{element}>({source.name}[c]);"
            )
            return [comment, f"bb::sweep<{rows}, {source.columns}>([&](bb::cell c) {{ {body} }});"]
        corner = f"{row0}, {source.col0}"
        rest = f"{window.strides[0]}, {window.widths[0]}, {window.widths[1]}"
        offset = integer(op, OFFSET_ATTRIBUTE)
        if offset is None:
            return [
                comment,
                f"bb::store<{min(2, window.vector)}>({source.name}, {window.pointer}, {corner}, {rest});",
            ]
        assert source.cols is not None
        stage = f"bb::shared_tile<{element}, {source.rows.in_block}, {source.cols.in_block}>"
        stage += f"{{bb_shared + {offset}}}"
        return [
            comment,
            f"bb::store<{window.vector}>({source.name}, {stage}, {corner}, {window.pointer}, {rest});",
        ]


@dataclass(frozen=True)
class _Place:
    """An integer of a sweep that is an index along a dim, plus a number."""

    dim: str
    offset: int


class FragmentSweep:
    """Writes one sweep over tiles in registers."""

    def __init__(self, fragments: Fragments, op: kernel.SweepOp):
        self._all = fragments
        self.op = op
        self._values: dict[SSAValue, str] = {}
        self._conditions: list[str] = []
        """What must hold for a block so that nothing of it is masked or cut off."""

    def lines(self) -> list[str]:
        """The statement: one loop, or where masks or ends are rare, one with them and one without."""
        op, held, rows = self.op, self._all.held, self._rows.count
        before = self._vectors()
        width = self._width
        columns = self._cut()
        masks = self._masks()
        never_whole = columns == "always"
        if columns is not None and not never_whole:
            self._conditions.append(columns)
        totals: dict[int, str] = {}
        for index, kind in enumerate(op.output_kinds):
            if kind is not Output.Each:
                totals[index] = self._all.names.claim(f"{self._name(op.outputs[index])}_total")
                neutral = number(_NEUTRAL[kind], Float32Type())
                before += [f"bb::row_vec<{rows}> {totals[index]};", f"bb::fill({totals[index]}, {neutral});"]
        edge = "true" if never_whole else "edge.value" if self._conditions else ""
        body = self._body(edge, columns is not None, masks, totals)
        loop = f"bb::sweep_rows<{rows}>" if len(op.dims) == 1 else f"bb::sweep<{rows}, {width}>"
        lines = [f"{loop}([&](bb::cell c) {{", *(f"  {line}" for line in body), "});"]
        if edge == "edge.value":
            name = self._all.names.claim("sweep")
            lines = [
                f"auto {name} = [&](auto edge) {{",
                *(f"  {line}" for line in lines),
                "};",
                f"if ({' && '.join(self._conditions)})",
                f"  {name}(bb::scalar::no());",
                "else",
                f"  {name}(bb::scalar::yes());",
            ]
        after: list[str] = []
        for place, (index, total) in enumerate(totals.items()):
            kind, output = op.output_kinds[index], op.outputs[index]
            if output in held:
                after.append(f"{held[output].name} = bb::{_QUAD[kind]}({total});")
            else:
                after += self._united(place, kind, output, total)
        return [self._comment(), *before, *lines, *after]

    def _united(self, place: int, kind: Output, output: SSAValue, total: str) -> list[str]:
        """The lines that unite what warps side by side have of a row, and leave it in shared memory."""
        offset = integer(self.op, OFFSET_ATTRIBUTE)
        if offset is None:
            raise OpError(self.op, "reduces rows that several warps hold, but has no shared memory for it")
        warps, rows = self._all.grid_columns, self._rows
        offset += place * 4 * warps * rows.in_block
        vector = self._all.tiles[output]
        width = self._all.dims[self.op.dims[0]].width
        column = f"bb::warp_id() % {warps}"
        return [
            f"{total} = bb::across_warps<{warps}, {rows.in_block}>(bb::{_QUAD[kind]}({total}), "
            f"(float*)(bb_shared + {offset}), {rows.first}, {column}, bb::{_UNITED[kind]}());",
            f"if ({column} == 0) "
            f"bb::store_rows({total}, {vector.pointer} + {rows.first}, {width} - {rows.first});",
        ]

    def _name(self, value: SSAValue) -> str:
        held = self._all.held
        return held[value].name if value in held else self._all.tiles[value].pointer

    def _comment(self) -> str:
        outputs = ", ".join(
            f"{'' if kind is Output.Each else f'{kind} '}{self._name(value)}"
            for kind, value in zip(self.op.output_kinds, self.op.outputs, strict=True)
        )
        inputs = ", ".join(dict.fromkeys(self._name(value) for value in self.op.inputs))
        return f"// {outputs} of {inputs}" if inputs else f"// {outputs}"

    @property
    def _rows(self) -> Rows:
        return self._all.rows[self.op.dims[0]]

    @property
    def _cols(self) -> Columns:
        """The columns of the tiles that it goes over."""
        for value in self.op.operands:
            if value in self._all.held and (cols := self._all.held[value].cols) is not None:
                return cols
        return Columns(0, "0", 0)

    @property
    def _width(self) -> int:
        return self._cols.count

    @property
    def _column(self) -> str:
        """The column of an element in the block's tile."""
        first = self._cols.first
        return "c.col()" if first == "0" else f"{first} + c.col()"

    def _vectors(self) -> list[str]:
        """Vectors and numbers that lie in shared memory come to registers before."""
        lines: list[str] = []
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if value in self._all.held or not argument.uses:
                continue
            tile = self._all.tiles[value]
            if not tile.type.dims:
                self._values[argument] = f"bb::scalar::value({tile.pointer}[0])"
                continue
            count = self._all.dims[tile.type.dims[0]].width
            if tile.type.dims[0] == self.op.dims[0]:
                name, function, many = f"{tile.pointer}_rows", "load_rows", self._rows.count
                first = self._rows.first
            else:
                name, function, many = f"{tile.pointer}_cols", "load_cols", str(self._width)
                first = self._cols.first
            name = self._all.names.claim(name)
            place = tile.pointer if first == "0" else f"{tile.pointer} + {first}"
            left = count if first == "0" else f"{count} - {first}"
            lines.append(f"const auto {name} = bb::{function}<{many}>({place}, {left});")
            self._values[argument] = f"{name}[c]"
        return lines

    def _cut(self) -> str | None:
        """The condition under which no column of the tile is beyond the end of the block: None where that is
        always so or of no consequence, `always` where some are beyond it in every block.
        """
        if len(self.op.dims) < 2:
            return None
        matters = any(kind is not Output.Each for kind in self.op.output_kinds) or any(
            self._is_operand(value) for value in self.op.outputs
        )
        dim, width = self._all.dims[self.op.dims[1]], self._cols.in_block
        if not matters:
            return None
        if dim.block_length != width:
            return "always"
        return None if dim.always_full and not dim.ends_early else f"{dim.width} == {width}"

    def _is_operand(self, tile: SSAValue) -> bool:
        """Whether a tile is a left operand: what is beyond its end must be zero then."""
        return any(
            (isinstance(user, kernel.ContractOp) and user.lhs is tile)
            or (isinstance(user, kernel.MoveOp) and user.target in self._all.staged)
            for user in kernel.readers(tile)
        )

    def _masks(self) -> dict[Operation, bool]:
        """Comparisons of indices that have one outcome for all elements of most blocks, and that outcome."""
        found: dict[Operation, bool] = {}
        for op in self.op.body.block.ops:
            if not isinstance(op, arith.CmpiOp):
                continue
            predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
            left, right = _place(op.lhs), _place(op.rhs)
            if left is None or right is None or predicate not in ("sle", "slt", "sge", "sgt"):
                continue
            low, high = (left, right) if predicate in ("sle", "slt") else (right, left)
            if {low.dim, high.dim} != set(self.op.dims) or len(self.op.dims) != 2:
                continue
            strict = 1 if predicate in ("slt", "sgt") else 0
            offset = low.offset - high.offset + strict
            if low.dim == self.op.dims[1]:
                # The last column is not above the first row of the warp.
                first, last = self._row_start(), f"{self._column_start()} + {self._width - 1}"
                self._conditions.append(f"{last}{_plus(offset)} <= {first}")
            else:
                last_row = f"{self._row_start()} + {self._rows.count} - 1"
                self._conditions.append(f"{last_row}{_plus(offset)} <= {self._column_start()}")
            found[op] = True
        return found

    def _row_start(self) -> str:
        return f"{self._all.dims[self.op.dims[0]].start} + {self._rows.first}"

    def _column_start(self) -> str:
        start, first = self._all.dims[self.op.dims[1]].start, self._cols.first
        return start if first == "0" else f"{start} + {first}"

    def _body(
        self, edge: str, cut: bool, masks: Mapping[Operation, bool], totals: Mapping[int, str]
    ) -> list[str]:
        lines: list[str] = []
        if cut:
            inside = f"{self._column} < {self._all.dims[self.op.dims[1]].width}"
            lines.append(
                f"const bool inside = {inside};"
                if edge == "true"
                else f"const bool inside = !edge.value || {inside};"
            )
        for argument, value in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if value in self._all.held and argument.uses:
                text = f"{self._all.held[value].name}[c]"
                name = self._all.names.claim(argument.name_hint or value.name_hint)
                if argument.type == i1:
                    text = f"{text} != 0.0f"
                lines.append(f"const {value_type(argument.type)} {name} = {text};")
                self._values[argument] = name
        lines += computed(
            self.op,
            self._values,
            self._all.names,
            self._quantity,
            fast=self._all.fast,
            is_rounded_later=self._is_rounded_later,
            changed=lambda op, text: (
                f"!edge.value || {text}" if op in masks and edge == "edge.value" else text
            ),
        )
        for index, kind in enumerate(self.op.output_kinds):
            value = self._values[self.op.yield_op.arguments[index]]
            if not is_float(self.op.yield_op.arguments[index].type):
                value = f"(float){value}"
            if kind is Output.Each:
                if cut and self._is_operand(self.op.outputs[index]):
                    value = f"inside ? {value} : 0.0f"
                lines.append(f"{self._all.held[self.op.outputs[index]].name}[c] = {value};")
            else:
                if cut:
                    value = f"(inside ? {value} : {number(_NEUTRAL[kind], Float32Type())})"
                total = f"{totals[index]}[c]"
                lines.append(f"{total} = {_LANE[kind].format(total=total, value=value)};")
        return lines

    def _is_rounded_later(self, op: arith.TruncFOp) -> bool:
        """Whether all that becomes of a rounded value is rounded where it goes: operands, and results."""
        for use in op.result.uses:
            if use.operation is not self.op.yield_op or self.op.output_kinds[use.index] is not Output.Each:
                return False
            tile = self.op.outputs[use.index]
            if kernel.tile_type(tile).element_type != op.result.type:
                return False
            for user in kernel.readers(tile):
                stored = (
                    isinstance(user, kernel.StoreOp) and kernel.element_type_of(user.target) == op.result.type
                )
                multiplied = (
                    isinstance(user, kernel.ContractOp)
                    and user.lhs is tile
                    and user.multiply == op.result.type
                )
                moved = (
                    isinstance(user, kernel.MoveOp)
                    and user.target in self._all.staged
                    and kernel.element_type_of(user.target) == op.result.type
                )
                if not stored and not multiplied and not moved:
                    return False
        return True

    def _quantity(self, op: kernel.QuantityOp) -> str:
        dim = self._all.dims[op.dim_name]
        if (shared := dim.quantity(op.kind.data)) is not None:
            return shared
        if op.dim_name == self.op.dims[0]:
            return f"{self._row_start()} + c.row()"
        if op.dim_name in self.op.dims:
            return f"{dim.start} + {self._column}"
        raise OpError(op, f"asks for an index along {op.dim_name}, which the sweep does not run over")


def _plus(number: int) -> str:
    return f" + {number}" if number > 0 else f" - {-number}" if number < 0 else ""


def _place(value: SSAValue) -> _Place | None:
    """The index along a dim, and what is added to it, that an integer is."""
    op = value.owner
    match op:
        case arith.IndexCastOp():
            return _place(op.input)
        case kernel.QuantityOp() if op.kind.data is Quantity.Index:
            return _Place(op.dim_name, 0)
        case arith.AddiOp():
            for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
                place, added = _place(one), _constant(other)
                if place is not None and added is not None:
                    return _Place(place.dim, place.offset + added)
            return None
        case arith.SubiOp():
            place, taken = _place(op.lhs), _constant(op.rhs)
            return None if place is None or taken is None else _Place(place.dim, place.offset - taken)
        case _:
            return None


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return None
    return (
        op.value.value.data
        if isinstance(op.result.type, IndexType) or bit_width(op.result.type) > 1
        else None
    )
