"""One kernel as a C++ function: it reads like the kernel's own text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import block, kernel
from ...dialects.diagnostics import OpError, location_of
from ..precision import computes_in_double
from ..source_text import comment_text, location_comment, mangle
from .names import Names
from .rows import fetched_ahead, finish, goes_past, load_in_place, ordered, store_in_place
from .scalars import number
from .sweep import SweepEmitter
from .windows import (
    Array,
    DimNames,
    Plane,
    Window,
    name_dims,
    plane_size,
    storage_type,
    tile_type,
    window_of,
)

OUT_OF_MEMORY = "return bb::out_of_memory;"


def entry_name(kernel_name: str) -> str:
    """The name with C linkage under which a kernel's function is found in its library."""
    return f"bbk_{mangle(kernel_name)}"


@dataclass
class KernelEmitter:
    """Writes one kernel."""

    function: kernel.FuncOp
    names: Names = field(default_factory=Names)
    dims: dict[str, DimNames] = field(default_factory=dict[str, DimNames])
    arrays: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    planes: dict[SSAValue, Plane] = field(default_factory=dict[SSAValue, Plane])
    windows: dict[SSAValue, Window] = field(default_factory=dict[SSAValue, Window])
    double: bool = False
    counting: bool = False

    def source(self) -> str:
        """The function, as C++ text. Raises OpError for what a CPU kernel cannot do."""
        self.double = _computes_in_double(self.function)
        self.dims = name_dims(self.names, block.parse_dims(self.function.attributes[block.DIMS]))
        lines = [f"// kernel {comment_text(self.function.sym_name.data)}"]
        lines.append(
            f'extern "C" BB_EXPORT int {entry_name(self.function.sym_name.data)}'
            "(const bb::Array* arrays, const bb::idx* extents, int threads) {"
        )
        type = "double" if self.double else "float"
        lines.append(f"  using T = {type};")
        lines.append("  using V = bb::vec<T>;")
        lines.append("  using I = bb::index<T>;")
        lines.append("  using Int = bb::detail::element<I>;")
        for index, dim in enumerate(self.dims.values()):
            lines += [f"  {line}" for line in dim.declarations(index)]
        for number_, argument in enumerate(self.function.body.block.args):
            lines += [f"  {line}" for line in self._argument(number_, argument)]
        for op in self.function.body.block.ops:
            assert isinstance(op, kernel.ParallelOp)
            lines += [f"  {line}" for line in self._parallel(op)]
        lines.append("  return bb::ok;")
        lines.append("}")
        return "\n".join(lines) + "\n"

    def _argument(self, index: int, argument: SSAValue) -> list[str]:
        type = argument.type
        assert isinstance(type, kernel.ArrayType)
        rank = len(type.extents)
        suffixes = [f"_s{axis}" for axis in range(rank)]
        name = self.names.claim(argument.name_hint or "array", *suffixes)
        first_output = len(self.function.body.block.args) - self.function.output_count
        element = storage_type(type.element_type)
        const = "const " if index < first_output else ""
        lines = [f"{const}{element}* const {name} = ({const}{element}*)arrays[{index}].data;"]
        strides = tuple(f"{name}{suffix}" for suffix in suffixes)
        if strides:
            values = ", ".join(
                f"{stride} = arrays[{index}].strides[{axis}]" for axis, stride in enumerate(strides)
            )
            lines.append(f"const bb::idx {values};")
        self.arrays[argument] = Array(name, strides)
        return lines

    # Loops

    def _parallel(self, op: kernel.ParallelOp) -> list[str]:
        loops = [self.dims[dim] for dim in op.dim_names]
        room, tiles = self._tiles(op)
        tasks = " * ".join(loop.trips for loop in loops) or "1"
        over = "".join(f"[{comment_text(dim)}]" for dim in op.dim_names)
        lines = [f"// {over} in parallel"] if over else []
        lines += room
        workers = "1"
        if loops:
            lines.append(f"const bb::idx work = {self._work(op)};")
            workers = "bb::workers(work, threads)"
        lines.append(
            f"const int status = bb::parallel_for({tasks}, {workers}, [&](bb::idx task, int) -> int {{"
        )
        inner = ["T* const memory = bb::scratch<T>(room);", f"if (!memory) {OUT_OF_MEMORY}"]
        if loops:
            inner.append("bb::idx rest = task;")
        longest_last = {inner.until_dim for inner in op.walk() if isinstance(inner, kernel.ForOp)}
        for name, loop in reversed(list(zip(op.dim_names, loops, strict=True))):
            # The longest tasks first, so that no worker is left alone with one at the end.
            number = (
                f"{loop.trips} - 1 - rest % {loop.trips}" if name in longest_last else f"rest % {loop.trips}"
            )
            inner.append(f"const bb::idx {loop.number} = {number};")
            inner.append(f"rest /= {loop.trips};")
        for loop in loops:
            inner += loop.position()
        if loops:
            inner.append("(void)rest;")
        inner += tiles
        inner += self._body(op.body.block)
        inner.append("return bb::ok;")
        lines += [f"  {line}" for line in inner]
        lines.append("});")
        lines.append("if (status) return status;")
        return lines

    def _work(self, op: kernel.ParallelOp) -> str:
        """About how many operations all iterations do together: an expression."""
        terms: dict[str, None] = {}

        def visit(body: Block, around: tuple[str, ...]) -> None:
            for inner in body.ops:
                if isinstance(inner, kernel.ForOp):
                    visit(inner.body.block, (*around, *inner.dim_names))
                elif isinstance(inner, kernel.ContractOp):
                    dims = (*tile_type(inner.accumulator).dims, _dims(inner.lhs)[1])
                    terms["2 * " + self._repeated(dims, around)] = None
                elif isinstance(inner, kernel.SweepOp):
                    terms["8 * " + self._repeated(inner.dims, around)] = None

        visit(op.body.block, op.dim_names)
        return " + ".join(terms) or "0"

    def _repeated(self, dims: Sequence[str], around: Sequence[str]) -> str:
        """How many elements something over `dims` has in all iterations of the loops around."""
        names = [self.dims[dim].extent for dim in dims]
        names += [self.dims[dim].trips for dim in around if dim not in dims]
        return " * ".join(names) or "1"

    def _tiles(self, op: kernel.ParallelOp) -> tuple[list[str], list[str]]:
        """The lines that measure the scratch memory, and those that cut it into tiles and buffers."""
        sizes: list[str] = []
        pointers: list[str] = []
        for inner in op.walk():
            if isinstance(inner, kernel.TileOp):
                type = tile_type(inner.result)
                name = self.names.claim(inner.result.name_hint or "tile", "_at", "_ld")
                stride, size = plane_size(type, self.dims)
                sizes.append(f"const bb::idx {name}_ld = {stride}, {name}_at = room;")
                sizes.append(f"room += {size};")
                pointers.append(f"T* const {name} = memory + {name}_at;")
                self.planes[inner.result] = Plane(name, f"{name}_ld", type)
            elif isinstance(inner, kernel.BufferOp):
                strides, size = self._buffer(inner)
                suffixes = [f"_s{axis}" for axis in range(len(strides))]
                name = self.names.claim(inner.result.name_hint or "list", "_at", *suffixes)
                values = "".join(
                    f"{name}{suffix} = {stride}, " for suffix, stride in zip(suffixes, strides, strict=True)
                )
                sizes.append(f"const bb::idx {values}{name}_at = room;")
                sizes.append(f"room += bb::round_up({size}, bb::W<T>);")
                pointers.append(f"T* const {name} = memory + {name}_at;")
                self.arrays[inner.result] = Array(name, tuple(f"{name}{suffix}" for suffix in suffixes))
        return ["bb::idx room = 0;", *sizes], pointers

    def _buffer(self, op: kernel.BufferOp) -> tuple[list[str], str]:
        """The strides of a buffer's axes, row-major, and its size."""
        lengths: list[str] = []
        for name in op.axis_dims:
            dim = self.dims[name]
            if name in op.here_dims:
                lengths.append(dim.size)
            elif name in op.block_dims:
                lengths.append(dim.trips)
            else:
                lengths.append(dim.extent)
        if lengths:
            lengths[-1] = f"bb::round_up({lengths[-1]}, bb::W<T>)"
        strides = [" * ".join(lengths[axis + 1 :]) or "1" for axis in range(len(lengths))]
        return strides, " * ".join(lengths) or "1"

    def _body(self, body: Block) -> list[str]:
        lines: list[str] = []
        last = ""
        for op in body.ops:
            written = self._statement(op)
            where = location_of(op)
            comment = (
                ""
                if where is None
                else location_comment(f"{where.filename.data}:{where.line.data}:{where.column.data}")
            )
            if written and comment and comment != last and not isinstance(op, kernel.ForOp):
                lines.append(comment)
                last = comment
            lines += written
        return lines

    def _statement(self, op: Operation) -> list[str]:
        match op:
            case kernel.TileOp() | kernel.BufferOp():
                return []
            case kernel.CursorOp():
                return self._cursor(op)
            case kernel.ForOp():
                return self._for(op)
            case kernel.LoadOp():
                return self._load(op)
            case kernel.StoreOp():
                return self._store(op)
            case kernel.MoveOp():
                return self._move(op)
            case kernel.FillOp():
                plane = self.planes[op.tile]
                outer, lanes = self._valid(plane.type)
                value = number(op.number, self.double)
                return [f"bb::fill_plane<T>({plane.pointer}, {plane.stride}, {outer}, {lanes}, {value});"]
            case kernel.ContractOp():
                return self._contract(op)
            case kernel.SweepOp():
                ahead = fetched_ahead(op, self.windows, self.dims)
                return SweepEmitter(op, self.planes, self.dims, self.names, self.double, ahead).lines()
            case _:
                raise OpError(op, "has no form on a CPU")

    def _for(self, op: kernel.ForOp) -> list[str]:
        dim = self.dims[op.dim_names[0]]
        count, trips = dim.number, dim.trips
        lines: list[str] = []
        if op.until_dim is not None:
            last = self.dims[op.until_dim]
            end = f"{last.number} + 1" if last.declared.is_batch else f"{last.start} + {last.width}"
            trips = self.names.claim(f"{dim.extent}end")
            size = "1" if dim.declared.is_batch else dim.size
            lines.append(
                f"const bb::idx {trips} = std::min({dim.trips}, bb::ceil_div({end}, {size}));"
                "  // the rest is masked"
            )
        inner = [*dim.position(), *self._body(op.body.block)]
        return [
            *lines,
            f"for (bb::idx {count} = 0; {count} < {trips}; {count}++) {{",
            *(f"  {line}" for line in inner),
            "}",
        ]

    # Moves

    def _cursor(self, op: kernel.CursorOp) -> list[str]:
        window = window_of(op, self.arrays[op.array], self.dims)
        name = self.names.claim(op.result.name_hint or "block")
        self.windows[op.result] = Window(name, window.strides, window.widths)
        lines = [f"auto* const {name} = {window.pointer};"]
        if self.counting and not isinstance(op.array.owner, kernel.BufferOp):
            item = op.result.type
            assert isinstance(item, kernel.CursorType)
            elements = " * ".join(window.widths) or "1"
            moved = "stored" if kernel.writers(op.result) else "loaded"
            lines.append(f"bb::{moved}({elements} * (bb::idx)sizeof({storage_type(item.element_type)}));")
        for store in kernel.writers(op.result):
            if isinstance(store, kernel.StoreOp) and store.in_place is not None:
                line, self.planes[store.source] = store_in_place(
                    self.planes[store.source], self.windows[op.result], self._past(store), self.names
                )
                lines.append(line)
        return lines

    def _past(self, op: kernel.StoreOp) -> str:
        cursor = op.target.owner
        if op.stream is None or not isinstance(cursor, kernel.CursorOp):
            return "false"
        return goes_past(cursor, self.dims)

    def _valid(self, type: kernel.TileType) -> tuple[str, str]:
        """The rows of lanes and the lanes of a tile that mean something."""
        outer = "1" if type.outer_dim is None else self.dims[type.outer_dim].width
        lanes = "1" if type.lane_dim is None else self.dims[type.lane_dim].width
        return outer, lanes

    def _load(self, op: kernel.LoadOp) -> list[str]:
        plane, window = self.planes[op.target], self.windows[op.source]
        if op.in_place is not None:
            line, self.planes[op.target] = load_in_place(plane, window, self.names)
            return [line]
        if not plane.type.dims:
            return [f"*{plane.pointer} = bb::cast<T>(*({window.pointer}));"]
        if len(plane.type.dims) == 1:
            (width,), (stride,) = window.widths, window.strides
            return [f"bb::load_vector<T>({plane.pointer}, {width}, {window.pointer}, {stride}, {width});"]
        outer, lanes = ordered(plane.type, window.widths)
        by_outer, by_lane = ordered(plane.type, window.strides)
        return [
            f"bb::load_plane<T>({plane.pointer}, {plane.stride}, {outer}, {lanes}, "
            f"{window.pointer}, {by_outer}, {by_lane}, {outer}, {lanes});"
        ]

    def _store(self, op: kernel.StoreOp) -> list[str]:
        plane, window = self.planes[op.source], self.windows[op.target]
        if op.in_place is not None:
            return [finish(plane, window, self._past(op))]
        element = self._element_of(op.target)
        if not plane.type.dims:
            return [f"*({window.pointer}) = bb::cast<{element}>(*{plane.pointer});"]
        if len(plane.type.dims) == 1:
            (width,), (stride,) = window.widths, window.strides
            return [f"bb::store_vector<T>({window.pointer}, {stride}, {plane.pointer}, {width});"]
        outer, lanes = ordered(plane.type, window.widths)
        by_outer, by_lane = ordered(plane.type, window.strides)
        function, past = (
            ("stream_plane", f", {self._past(op)}") if op.stream is not None else ("store_plane", "")
        )
        return [
            f"bb::{function}<T>({window.pointer}, {by_outer}, {by_lane}, "
            f"{plane.pointer}, {plane.stride}, {outer}, {lanes}{past});"
        ]

    def _element_of(self, cursor: SSAValue) -> str:
        owner = cursor.owner
        assert isinstance(owner, kernel.CursorOp)
        if isinstance(owner.array.owner, kernel.BufferOp):
            return "T"
        assert isinstance(cursor.type, kernel.CursorType)
        return storage_type(cursor.type.element_type)

    def _move(self, op: kernel.MoveOp) -> list[str]:
        target, source = self.planes[op.target], self.planes[op.source]
        outer, lanes = self._valid(source.type)
        same = target.type.rows_in_lanes == source.type.rows_in_lanes
        function = "copy_plane" if same else "transpose_plane"
        return [
            f"bb::{function}<T>({target.pointer}, {target.stride}, {source.pointer}, {source.stride}, "
            f"{outer}, {lanes});"
        ]

    # Contractions

    def _contract(self, op: kernel.ContractOp) -> list[str]:
        accumulator = self.planes[op.accumulator]
        rows, columns = (self.dims[dim].width for dim in accumulator.type.dims)
        summed = self.dims[_dims(op.lhs)[1]].width
        mode = (
            "bb::rescale" if op.scale is not None else "bb::accumulate" if op.accumulates else "bb::overwrite"
        )
        scale = "" if op.scale is None else f", {self.planes[op.scale].pointer}"
        if accumulator.type.rows_in_lanes:
            broadcast, (by_row, by_sum) = self._operand(op.rhs)
            vectors, (_, stride) = self._operand(op.lhs)
            call = (
                f"bb::contract({accumulator.pointer}, {accumulator.stride}, {broadcast}, {by_row}, {by_sum}, "
                f"{vectors}, {stride}, {columns}, {rows}, {summed}, {mode}{scale})"
            )
        else:
            left, (left_row, left_sum) = self._operand(op.lhs)
            right, (right_row, right_sum) = self._operand(op.rhs)
            call = (
                f"bb::contract_columns({accumulator.pointer}, {accumulator.stride}, "
                f"{left}, {left_row}, {left_sum}, {right}, {right_row}, {right_sum}, "
                f"{rows}, {columns}, {summed}, {mode}{scale})"
            )
        return [f"if ({call}) {OUT_OF_MEMORY}"]

    def _operand(self, value: SSAValue) -> tuple[str, tuple[str, str]]:
        """Where an operand lies, and its strides along rows and columns."""
        if value in self.planes:
            plane = self.planes[value]
            return plane.pointer, plane.elements()
        window = self.windows[value]
        by_row, by_column = window.strides
        return window.pointer, (by_row, by_column)


def _dims(value: SSAValue) -> tuple[str, ...]:
    assert isinstance(value.type, kernel.TileType | kernel.CursorType)
    return value.type.dims


def _computes_in_double(function: kernel.FuncOp) -> bool:
    """Whether a kernel has f64 values, or integers that float would round. Raises OpError for i64 items."""
    types: set[Attribute] = set()
    for op in function.walk():
        for value in op.results:
            if isinstance(value.type, kernel.TileType | kernel.CursorType):
                if value.type.element_type == i64:
                    raise OpError(op, "has elements of type i64, which a CPU kernel does not compute with")
                types.add(value.type.element_type)
    return computes_in_double(types)


def dims_in_order(function: kernel.FuncOp) -> Mapping[str, block.DimAttr]:
    """The dims whose extents a kernel's function takes, in the order in which it takes them."""
    return block.parse_dims(function.attributes[block.DIMS])
