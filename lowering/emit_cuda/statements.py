"""Operations as loops that the threads of a block share out: the form that every operation has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import Float32Type, tf32
from xdsl.ir import Operation, SSAValue

from ...dialects import kernel
from ...dialects.diagnostics import OpError
from ...dialects.kernel import Output
from ...dialects.scalar import is_float
from ..emit.names import Names
from ..source_text import comment_text
from .geometry import Dim, Window
from .scalars import number, storage_type, value_type
from .sweep_body import computed

_NEUTRAL = {Output.Sum: 0.0, Output.Max: float("-inf"), Output.Min: float("inf")}
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


@dataclass(frozen=True)
class Tile:
    """A tile in shared or global memory: rows of lanes, `stride` elements apart."""

    pointer: str
    stride: str
    type: kernel.TileType

    def element(self, row: str, col: str) -> str:
        """The element at a row and a column; a vector's place is the row."""
        if not self.type.dims:
            return f"{self.pointer}[0]"
        if len(self.type.dims) == 1:
            return f"{self.pointer}[{row}]"
        outer, lane = (col, row) if self.type.rows_in_lanes else (row, col)
        return f"{self.pointer}[{outer} * {self.stride} + {lane}]"


@dataclass(frozen=True)
class SwizzledTile(Tile):
    """A swizzled tile in shared memory, which knows itself where its elements lie."""

    def element(self, row: str, col: str) -> str:
        outer, lane = (col, row) if self.type.rows_in_lanes else (row, col)
        return f"{self.pointer}({outer}, {lane})"


@dataclass
class Statements:
    """Writes operations on tiles in memory."""

    tiles: Mapping[SSAValue, Tile]
    windows: Mapping[SSAValue, Window]
    dims: Mapping[str, Dim]
    names: Names
    threads: int

    def lines(self, op: Operation) -> list[str]:
        """One operation. Raises OpError for one without a form."""
        match op:
            case kernel.LoadOp():
                return self._load(op)
            case kernel.StoreOp():
                return self._store(op)
            case kernel.MoveOp():
                target, source = self.tiles[op.target], self.tiles[op.source]
                places = ("row", "col") if target.type.dims == source.type.dims else ("col", "row")
                value = _converted(source.element(*places), target.type, source.type.element_type)
                body = f"{target.element('row', 'col')} = {value};"
                return [f"// {target.pointer} = {source.pointer}", *self._each(target.type, [body])]
            case kernel.FillOp():
                tile = self.tiles[op.tile]
                element = tile.type.element_type
                value = f"bb::scalar::as<{storage_type(element)}>({number(op.number, element)})"
                return self._each(tile.type, [f"{tile.element('row', 'col')} = {value};"])
            case kernel.ContractOp():
                return self._contract(op)
            case kernel.SweepOp():
                return _Sweep(self, op).lines()
            case _:
                raise OpError(op, "has no form on a GPU")

    def width(self, dim: str | None) -> str:
        """How many elements the block at hand has along a dim."""
        return "1" if dim is None else self.dims[dim].width

    def flat(self, rows: str, cols: str, body: Sequence[str], *, rows_first: bool = False) -> list[str]:
        """A loop of all threads over rows and columns; neighbours have columns (or rows) that follow on."""
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

    def _each(self, type: kernel.TileType, body: Sequence[str]) -> list[str]:
        rows, cols = self._extents(type.dims)
        return self.flat(rows, cols, body, rows_first=type.rows_in_lanes)

    def _extents(self, dims: Sequence[str]) -> tuple[str, str]:
        rows = self.width(dims[0]) if dims else "1"
        return rows, self.width(dims[1]) if len(dims) == 2 else "1"

    def _load(self, op: kernel.LoadOp) -> list[str]:
        tile, window = self.tiles[op.target], self.windows[op.source]
        item = op.source.type
        assert isinstance(item, kernel.CursorType)
        value = _converted(window.element(*_places(item.dims)), tile.type, item.element_type)
        rows, cols = _widths(window)
        lines = self.flat(
            rows, cols, [f"{tile.element('row', 'col')} = {value};"], rows_first=_rows_contiguous(window)
        )
        return [f"// load {tile.pointer}", *lines]

    def _store(self, op: kernel.StoreOp) -> list[str]:
        tile, window = self.tiles[op.source], self.windows[op.target]
        item = op.target.type
        assert isinstance(item, kernel.CursorType)
        value = _converted_to(tile.element("row", "col"), storage_type(item.element_type), tile.type)
        rows, cols = _widths(window)
        body = [f"{window.element(*_places(item.dims))} = {value};"]
        return [f"// store {tile.pointer}", *self.flat(rows, cols, body, rows_first=_rows_contiguous(window))]

    def _contract(self, op: kernel.ContractOp) -> list[str]:
        acc = self.tiles[op.accumulator]
        rows, cols = self._extents(acc.type.dims)
        summed = self.dims[kernel.dims_of(op.lhs)[1]].width
        kind = value_type(acc.type.element_type)
        start = "0"
        held = f"bb::scalar::value({acc.element('row', 'col')})"
        if op.scale is not None:
            start = f"{held} * bb::scalar::value({self.tiles[op.scale].element('row', '')})"
        elif op.accumulates:
            start = held
        left, right = self._operand(op, op.lhs, "row"), self._operand(op, op.rhs, "col")
        result = f"bb::scalar::as<{storage_type(acc.type.element_type)}>(total)"
        sign = {True: " +=", False: " ="}[op.accumulates or op.scale is not None]
        left_name, right_name = (comment_text(_named(value)) for value in (op.lhs, op.rhs))
        return [
            f"// {acc.pointer}{sign} {left_name} · {right_name}ᵀ".replace("·", "*").replace("ᵀ", "^T"),
            *self.flat(
                rows,
                cols,
                [
                    f"{kind} total = {start};",
                    f"for (int k = 0; k < {summed}; k++) total += {left} * {right};",
                    f"{acc.element('row', 'col')} = {result};",
                ],
                rows_first=acc.type.rows_in_lanes,
            ),
        ]

    def _operand(self, op: kernel.ContractOp, value: SSAValue, place: str) -> str:
        """The element of an operand at a row (of its own) and k, in the type that it is multiplied in."""
        if value in self.tiles:
            tile = self.tiles[value]
            text, element = tile.element(place, "k"), tile.type.element_type
        else:
            item = value.type
            assert isinstance(item, kernel.CursorType)
            text, element = self.windows[value].element(place, "k"), item.element_type
        text = f"bb::scalar::value({text})"
        if op.multiply not in (None, tf32) and isinstance(element, Float32Type):
            text = f"bb::scalar::rounded<{storage_type(op.multiply)}>({text})"
        acc = value_type(kernel.tile_type(op.accumulator).element_type)
        return text if acc == value_type(element) else f"({acc}){text}"


def _named(value: SSAValue) -> str:
    return value.name_hint or "tile"


def _places(dims: Sequence[str]) -> tuple[str, ...]:
    return ("row", "col")[: len(dims)]


def _widths(window: Window) -> tuple[str, str]:
    rows, cols = [*window.widths, "1", "1"][:2]
    return rows, cols


def _rows_contiguous(window: Window) -> bool:
    """Whether elements of a column of a block follow each other in memory."""
    return len(window.strides) == 2 and window.strides[0] == "1"


def _converted(text: str, to: kernel.TileType, element: object) -> str:
    if to.element_type == element:
        return text
    return f"bb::scalar::as<{storage_type(to.element_type)}>(bb::scalar::value({text}))"


def _converted_to(text: str, to: str, source: kernel.TileType) -> str:
    return (
        text
        if storage_type(source.element_type) == to
        else f"bb::scalar::as<{to}>(bb::scalar::value({text}))"
    )


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


class _Sweep:
    """Writes one sweep."""

    def __init__(self, statements: Statements, op: kernel.SweepOp):
        self._all = statements
        self.op = op
        self._values: dict[SSAValue, str] = {}

    def lines(self) -> list[str]:
        """The statement."""
        op = self.op
        reductions = [index for index, kind in enumerate(op.output_kinds) if kind is not Output.Each]
        body = [*self._loads(), *computed(self.op, self._values, self._all.names, self._quantity)]
        comment = self._comment()
        rows, cols = self._all._extents(op.dims)  # pyright: ignore[reportPrivateUsage]
        if not reductions:
            body += [self._written(index) for index in range(len(op.outputs))]
            return [comment, *self._all.flat(rows, cols, body, rows_first=op.rows_in_lanes)]
        body += [self._written(i) for i, kind in enumerate(op.output_kinds) if kind is Output.Each]
        totals, init, step = list[str](), list[str](), list[str]()
        for index in reductions:
            name = self._all.names.claim(f"{self._all.tiles[op.outputs[index]].pointer}_total")
            totals.append(name)
            init.append(f"{self._kind(index)} {name} = {self._neutral(index)};")
            value = _REDUCED[op.output_kinds[index]].format(total=name, value=self._value(index))
            step.append(f"{name} = {value};")
        if len(op.dims) == 2 and op.rows_in_lanes:
            return [comment, *self._thread_a_row(rows, cols, body, reductions, totals, init, step)]
        return [comment, *self._warp_a_row(rows, cols, body, reductions, totals, init, step)]

    def _thread_a_row(
        self,
        rows: str,
        cols: str,
        body: Sequence[str],
        reductions: Sequence[int],
        totals: Sequence[str],
        init: Sequence[str],
        step: Sequence[str],
    ) -> list[str]:
        done = [self._stored(index, total) for index, total in zip(reductions, totals, strict=True)]
        return [
            f"for (int row = threadIdx.x; row < {rows}; row += THREADS) {{  // a thread a row",
            *_indented(init),
            f"  for (int col = 0; col < {cols}; col++) {{",
            *_indented(_indented([*body, *step])),
            "  }",
            *_indented(done),
            "}",
        ]

    def _warp_a_row(
        self,
        rows: str,
        cols: str,
        body: Sequence[str],
        reductions: Sequence[int],
        totals: Sequence[str],
        init: Sequence[str],
        step: Sequence[str],
    ) -> list[str]:
        op = self.op
        done = [
            f"{total} = bb::scalar::reduce_warp({total}, {_FUNCTIONS[op.output_kinds[index]]});"
            for index, total in zip(reductions, totals, strict=True)
        ]
        if any(op.outputs[index] in op.inputs for index in reductions):
            done.append("__syncwarp();  // all lanes have read what the first one writes")
        done += ["if (lane == 0) {"]
        done += [f"  {self._stored(index, total)}" for index, total in zip(reductions, totals, strict=True)]
        done += ["}"]
        place, width = ("col", cols) if len(op.dims) == 2 else ("row", rows)
        inner = [
            *init,
            f"for (int {place} = lane; {place} < {width}; {place} += 32) {{",
            *_indented([*body, *step]),
            "}",
            *done,
        ]
        if len(op.dims) == 2:
            head = f"for (int row = warp; row < {rows}; row += THREADS / 32) {{  // a warp a row"
        else:
            head = "if (warp == 0) {"
        return [head, *_indented(inner), "}"]

    def _comment(self) -> str:
        outputs = ", ".join(
            f"{'' if kind is Output.Each else f'{kind} '}{self._all.tiles[value].pointer}"
            for kind, value in zip(self.op.output_kinds, self.op.outputs, strict=True)
        )
        inputs = ", ".join(dict.fromkeys(self._all.tiles[value].pointer for value in self.op.inputs))
        return f"// {outputs} of {inputs}" if inputs else f"// {outputs}"

    def _at(self, tile: SSAValue) -> tuple[str, str]:
        """The row and column of a tile at the element at hand."""
        dims = kernel.tile_type(tile).dims
        if len(dims) == 1 and dims[0] != self.op.dims[0]:
            return "col", ""
        return "row", "col"

    def _loads(self) -> list[str]:
        lines: list[str] = []
        for argument, tile in zip(self.op.body.block.args, self.op.inputs, strict=True):
            if argument.uses:
                name = self._values[argument] = self._all.names.claim(argument.name_hint or tile.name_hint)
                value = f"bb::scalar::value({self._all.tiles[tile].element(*self._at(tile))})"
                lines.append(f"const {value_type(argument.type)} {name} = {value};")
        return lines

    def _quantity(self, op: kernel.QuantityOp) -> str:
        dim = self._all.dims[op.dim_name]
        if (shared := dim.quantity(op.kind.data)) is not None:
            return shared
        if op.dim_name not in self.op.dims:
            raise OpError(op, f"asks for an index along {op.dim_name}, which the sweep does not run over")
        return f"{dim.start} + {('row', 'col')[self.op.dims.index(op.dim_name)]}"

    def _kind(self, index: int) -> str:
        """The type that a reduction is kept in."""
        element = kernel.tile_type(self.op.outputs[index]).element_type
        return value_type(element)

    def _neutral(self, index: int) -> str:
        element = kernel.tile_type(self.op.outputs[index]).element_type
        if is_float(element):
            return number(_NEUTRAL[self.op.output_kinds[index]], element)
        if self.op.output_kinds[index] is Output.Sum:
            return "0"
        raise OpError(self.op, "takes the largest or smallest of integers, which has no form on a GPU")

    def _value(self, index: int) -> str:
        value = self.op.yield_op.arguments[index]
        name = self._values[value]
        kind = self._kind(index)
        return name if value_type(value.type) == kind else f"({kind}){name}"

    def _written(self, index: int) -> str:
        tile = self.op.outputs[index]
        value = self._values[self.op.yield_op.arguments[index]]
        return f"{self._all.tiles[tile].element(*self._at(tile))} = {self._as(index, value)};"

    def _stored(self, index: int, total: str) -> str:
        tile = self.op.outputs[index]
        return f"{self._all.tiles[tile].element('row', '')} = {self._as(index, total)};"

    def _as(self, index: int, value: str) -> str:
        return (
            f"bb::scalar::as<{storage_type(kernel.tile_type(self.op.outputs[index]).element_type)}>({value})"
        )
