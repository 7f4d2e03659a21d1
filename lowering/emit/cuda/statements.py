"""Operations as loops over elements that are divided among the threads of a block: the form that all
operations have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isinf

from xdsl.dialects.builtin import Float32Type, i1, tf32
from xdsl.ir import Attribute, SSAValue

from ....dialects import kernel
from ....dialects.kernel import Output
from ....dialects.kernel.integer_ranges import type_range
from ....dialects.scalar import is_float
from ..names import Names
from ..source_text import comment_text
from .geometry import Window
from .scalars import integer, number, storage_type, value_type
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

_REDUCED = {
    Output.Sum: "{total} + {value}",
    Output.Max: "bb::scalar::max_nan({value}, {total})",
    Output.Min: "bb::scalar::min_nan({value}, {total})",
}
_FUNCTIONS = {
    Output.Sum: "bb::scalar::sum_of()",
    Output.Max: "bb::scalar::max_of()",
    Output.Min: "bb::scalar::min_of()",
}


def fill(op: kernel.FillOp, scope: Scope) -> list[str]:
    """Write a number to all elements of a tile."""
    tile = scope.tile(op.tile)
    element = tile.type.element_type
    value = f"bb::scalar::as<{storage_type(element)}>({_filling(op.number, element)})"
    return _each(tile.type, [f"{tile.element('row', 'col')} = {value};"], scope)


def _filling(number_: float, element: Attribute) -> str:
    """A number as a literal; for integers the least or the greatest one stands for an infinity."""
    if is_float(element):
        return number(number_, element)
    least, most = type_range(element)
    return integer((most if number_ > 0 else least) if isinf(number_) else int(number_))


def move(op: kernel.MoveOp, scope: Scope) -> list[str]:
    """Copy a tile to another one, or its transpose."""
    target, source = scope.tile(op.target), scope.tile(op.source)
    places = ("row", "col") if target.type.dims == source.type.dims else ("col", "row")
    value = _converted(source.element(*places), target.type, source.type.element_type)
    body = f"{target.element('row', 'col')} = {value};"
    return [f"// {target.pointer} = {source.pointer}", *_each(target.type, [body], scope)]


def load(op: kernel.LoadOp, scope: Scope) -> list[str]:
    """Copy a block of an array to a tile."""
    tile, window = scope.tile(op.target), scope.windows[op.source]
    item = op.source.type
    assert isinstance(item, kernel.CursorType)
    value = _converted(window.element(*_places(item.dims)), tile.type, item.element_type)
    body = [f"{tile.element('row', 'col')} = {value};"]
    rows, cols = _widths(window)
    return [f"// load {tile.pointer}", *flat(rows, cols, body, rows_first=_rows_contiguous(window))]


def store(op: kernel.StoreOp, scope: Scope) -> list[str]:
    """Copy a tile to a block of an array."""
    tile, window = scope.tile(op.source), scope.windows[op.target]
    item = op.target.type
    assert isinstance(item, kernel.CursorType)
    value = _converted_to(tile.element("row", "col"), storage_type(item.element_type), tile.type)
    rows, cols = _widths(window)
    body = [f"{window.element(*_places(item.dims))} = {value};"]
    return [f"// store {tile.pointer}", *flat(rows, cols, body, rows_first=_rows_contiguous(window))]


def contract(op: kernel.ContractOp, scope: Scope) -> list[str]:
    """Multiply two tiles or blocks of arrays: a thread sums an element of the result."""
    acc = scope.tile(op.accumulator)
    rows, cols = _extents(acc.type.dims, scope)
    summed = scope.dims[kernel.dims_of(op.lhs)[1]].width
    kind = value_type(acc.type.element_type)
    start = "0"
    held = f"bb::scalar::value({acc.element('row', 'col')})"
    if op.scale is not None:
        start = f"{held} * bb::scalar::value({scope.tile(op.scale).element('row', '')})"
    elif op.accumulates:
        start = held
    left, right = _operand(op, op.lhs, "row", scope), _operand(op, op.rhs, "col", scope)
    result = f"bb::scalar::as<{storage_type(acc.type.element_type)}>(total)"
    sign = "+=" if op.accumulates or op.scale is not None else "="
    skipped = ""
    if op.kept is not None:
        places = ("row", "k") if op.masks_left else ("col", "k")
        skipped = f"if (!careful || {scope.tile(op.kept).element(*places)} != 0) "
    left_name, right_name = (comment_text(value.name_hint or "tile") for value in (op.lhs, op.rhs))
    if is_float(acc.type.element_type):
        step = f"total += {left} * {right}"
    else:
        step = f"total = bb::scalar::multiply_added<{kind}>(total, {left}, {right})"
    body = [
        f"{kind} total = {start};",
        f"for (int k = 0; k < {summed}; k++) {skipped}{step};",
        f"{acc.element('row', 'col')} = {result};",
    ]
    return [
        f"// {acc.pointer} {sign} {left_name} * {right_name}^T",
        *flat(rows, cols, body, rows_first=acc.type.rows_in_lanes),
    ]


def nan_check(tile: SSAValue, scope: Scope) -> list[str]:
    """Look for NaN in a sum that masks may have spoilt."""
    held = scope.tile(tile)
    value = f"bb::scalar::value({held.element('row', 'col')})"
    return _each(held.type, [f"again |= {value} != {value};"], scope)


def _operand(op: kernel.ContractOp, value: SSAValue, place: str, scope: Scope) -> str:
    """The element of an operand at a row (of its own) and k, in the type of the product."""
    if isinstance(value.type, kernel.CursorType):
        text, element = scope.windows[value].element(place, "k"), value.type.element_type
    else:
        tile = scope.tile(value)
        text, element = tile.element(place, "k"), tile.type.element_type
    text = f"bb::scalar::value({text})"
    if op.multiply not in (None, tf32) and isinstance(element, Float32Type):
        text = f"bb::scalar::rounded<{storage_type(op.multiply)}>({text})"
    acc = value_type(kernel.tile_type(op.accumulator).element_type)
    return text if acc == value_type(element) else f"({acc}){text}"


def flat(rows: str, cols: str, body: Sequence[str], *, rows_first: bool = False) -> list[str]:
    """A loop of all threads over rows and columns; neighbouring threads have consecutive columns (or
    rows).
    """
    if rows == "1" and cols == "1":
        return ["if (threadIdx.x == 0) {", *_indented(body), "}"]
    if cols == "1" or rows == "1":
        name, width = ("row", rows) if cols == "1" else ("col", cols)
        return [
            f"for (int {name} = threadIdx.x; {name} < {width}; {name} += THREADS) {{",
            *_indented(body),
            "}",
        ]
    fast, slow = ("row", "col") if rows_first else ("col", "row")
    length = rows if rows_first else cols
    return [
        f"for (int i = threadIdx.x; i < {rows} * {cols}; i += THREADS) {{",
        f"  const int {slow} = i / {length}, {fast} = i % {length};",
        *_indented(body),
        "}",
    ]


def _each(type: kernel.TileType, body: Sequence[str], scope: Scope) -> list[str]:
    rows, cols = _extents(type.dims, scope)
    return flat(rows, cols, body, rows_first=type.rows_in_lanes)


def _extents(dims: Sequence[str], scope: Scope) -> tuple[str, str]:
    rows, cols = [*map(scope.width, dims), "1", "1"][:2]
    return rows, cols


def _places(dims: Sequence[str]) -> tuple[str, ...]:
    return ("row", "col")[: len(dims)]


def _widths(window: Window) -> tuple[str, str]:
    rows, cols = [*window.widths, "1", "1"][:2]
    return rows, cols


def _rows_contiguous(window: Window) -> bool:
    """True if the elements of a column of a block are contiguous in memory."""
    return len(window.strides) == 2 and window.strides[0] == "1"


def _converted(text: str, to: kernel.TileType, element: object) -> str:
    if to.element_type == element:
        return f"bb::scalar::value({text})" if element == i1 else text
    return f"bb::scalar::as<{storage_type(to.element_type)}>(bb::scalar::value({text}))"


def _converted_to(text: str, to: str, source: kernel.TileType) -> str:
    return (
        text
        if storage_type(source.element_type) == to
        else f"bb::scalar::as<{to}>(bb::scalar::value({text}))"
    )


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


@dataclass(frozen=True)
class Sweep:
    """A sweep whose elements are divided among the threads, and the names of its values."""

    op: kernel.SweepOp
    arguments: Mapping[SSAValue, str]
    results: Mapping[SSAValue, str]
    totals: Mapping[int, str]
    """The variables in which outputs with a reduction are summed."""

    @property
    def has_thread_rows(self) -> bool:
        """True if one thread reduces a whole row: neighbouring threads then read adjacent elements."""
        return len(self.op.dims) == 2 and self.op.rows_in_lanes

    @property
    def has_warp_rows(self) -> bool:
        """True if a warp reduces a row."""
        return bool(self.totals) and not self.has_thread_rows


def plan_sweep(op: kernel.SweepOp, scope: Scope, names: Names) -> Sweep:
    """Name the values of a sweep."""
    arguments, results = claim_arguments(op, names), claim_results(op, names)
    totals = {
        index: names.claim(f"{scope.tile(op.outputs[index]).pointer}_total")
        for index, kind in enumerate(op.output_kinds)
        if kind is not Output.Each
    }
    return Sweep(op, arguments, results, totals)


def sweep(plan: Sweep, scope: Scope) -> list[str]:
    """Compute the elements of tiles, and reduce their rows."""
    return _SweepText(plan, scope).lines()


@dataclass(frozen=True)
class _SweepText(SweepText[Sweep]):
    def lines(self) -> list[str]:
        """The statement."""
        op, totals = self.op, self.plan.totals
        lines, values = computed(op, self.plan.arguments, self.plan.results, self._quantity)
        results = [values[argument] for argument in op.yield_op.arguments]
        body = [*self._loads(), *lines]
        body += [self._written(i, results[i]) for i in range(len(op.outputs)) if i not in totals]
        comment = self._comment()
        rows, cols = _extents(op.dims, self.scope)
        if not totals:
            return [comment, *flat(rows, cols, body, rows_first=op.rows_in_lanes)]
        init = [f"{self._kind(index)} {name} = {self._neutral(index)};" for index, name in totals.items()]
        for index, name in totals.items():
            value = self._as_kind(index, results[index])
            reduced = _REDUCED[op.output_kinds[index]]
            if op.output_kinds[index] is Output.Sum and not is_float(self._element(index)):
                reduced = "bb::scalar::sum_of()({total}, {value})"
            body.append(f"{name} = {reduced.format(total=name, value=value)};")
        reduce = self._thread_a_row if self.plan.has_thread_rows else self._warp_a_row
        return [comment, *reduce(rows, cols, init, body)]

    def _thread_a_row(self, rows: str, cols: str, init: Sequence[str], body: Sequence[str]) -> list[str]:
        return [
            f"for (int row = threadIdx.x; row < {rows}; row += THREADS) {{  // a thread a row",
            *_indented(init),
            f"  for (int col = 0; col < {cols}; col++) {{",
            *_indented(_indented(body)),
            "  }",
            *_indented(self._stored()),
            "}",
        ]

    def _warp_a_row(self, rows: str, cols: str, init: Sequence[str], body: Sequence[str]) -> list[str]:
        op, totals = self.op, self.plan.totals
        done = [
            f"{total} = bb::scalar::reduce_warp({total}, {_FUNCTIONS[op.output_kinds[index]]});"
            for index, total in totals.items()
        ]
        if any(op.outputs[index] in op.inputs for index in totals):
            done.append("__syncwarp();  // all lanes have read what the first one writes")
        done += ["if (lane == 0) {", *_indented(self._stored()), "}"]
        place, width = ("col", cols) if len(op.dims) == 2 else ("row", rows)
        inner = [
            *init,
            f"for (int {place} = lane; {place} < {width}; {place} += 32) {{",
            *_indented(body),
            "}",
            *done,
        ]
        head = "if (warp == 0) {"
        if len(op.dims) == 2:
            head = f"for (int row = warp; row < {rows}; row += THREADS / 32) {{  // a warp a row"
        return [head, *_indented(inner), "}"]

    def _comment(self) -> str:
        return sweep_comment(self.op, lambda value: self.scope.tile(value).pointer)

    def _at(self, tile: SSAValue) -> tuple[str, str]:
        """The row and column in a tile of the current element."""
        dims = kernel.tile_type(tile).dims
        if len(dims) == 1 and dims[0] != self.op.dims[0]:
            return "col", ""
        return "row", "col"

    def _loads(self) -> list[str]:
        lines: list[str] = []
        for argument, tile in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if argument in self.plan.arguments:
                value = f"bb::scalar::value({self.scope.tile(tile).element(*self._at(tile))})"
                lines.append(f"const {value_type(argument.type)} {self.plan.arguments[argument]} = {value};")
        return lines

    def _quantity(self, op: kernel.QuantityOp) -> str:
        return sweep_quantity(self.op, op, self.scope.dims, ("row", "col"))

    def _element(self, index: int) -> Attribute:
        return kernel.element_type_of(self.op.outputs[index])

    def _kind(self, index: int) -> str:
        """The type in which a reduction is kept."""
        return value_type(self._element(index))

    def _neutral(self, index: int) -> str:
        return _filling(NEUTRAL[self.op.output_kinds[index]], self._element(index))

    def _as_kind(self, index: int, name: str) -> str:
        kind = self._kind(index)
        own = value_type(self.op.yield_op.arguments[index].type)
        return name if own == kind else f"({kind}){name}"

    def _written(self, index: int, value: str) -> str:
        tile = self.op.outputs[index]
        return f"{self.scope.tile(tile).element(*self._at(tile))} = {self._as_stored(index, value)};"

    def _stored(self) -> list[str]:
        """The lines that store the reductions of a row."""
        return [
            f"{self.scope.tile(self.op.outputs[index]).element('row', '')} = {self._as_stored(index, total)};"
            for index, total in self.plan.totals.items()
        ]

    def _as_stored(self, index: int, value: str) -> str:
        return f"bb::scalar::as<{storage_type(kernel.element_type_of(self.op.outputs[index]))}>({value})"
