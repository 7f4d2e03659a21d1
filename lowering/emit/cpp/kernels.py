"""One kernel as a C++ function, in the order of the kernel's text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isinf

from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel.integer_ranges import type_range
from ....dialects.kernel.precision import has_wide_lanes
from ....dialects.kernel.sizes import buffer_elements
from ..locations import PlaceComments, place_comment
from ..names import Names
from ..source_text import comment_text, mangle
from .buffers import Arena, buffer_layout, tiles_in_buffers
from .contractions import OUT_OF_MEMORY, ContractionEmitter
from .masked import Masked, only_if_careful
from .names import cpp_names
from .pairs import are_rounded_when_stored, buffers_of_pairs, tiles_of_pairs
from .probes import Probes
from .rows import fetched_ahead, finish, goes_past, load_in_place, ordered, store_in_place, widened
from .scalars import integer_literal, number
from .stages import Stages, single_stage, stages_of
from .sweep import SweepEmitter
from .windows import (
    Array,
    DimNames,
    Plane,
    Window,
    element_of,
    lane_type,
    name_dims,
    plane_size,
    storage_type,
    window_of,
)
from .work import Work


def entry_name(kernel_name: str) -> str:
    """The name with C linkage under which a kernel's function is found in its library."""
    return f"bbk_{mangle(kernel_name)}"


@dataclass
class KernelEmitter:
    """Writes one kernel."""

    function: kernel.FuncOp
    names: Names = field(default_factory=cpp_names)
    dims: dict[str, DimNames] = field(default_factory=dict[str, DimNames])
    arrays: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    planes: dict[SSAValue, Plane] = field(default_factory=dict[SSAValue, Plane])
    windows: dict[SSAValue, Window] = field(default_factory=dict[SSAValue, Window])
    wide: bool = False
    """True if lanes have 64 bits."""
    counting: bool = False
    numbers: Mapping[Operation, int] = field(default_factory=dict[Operation, int])
    """Of the statements that a profile distinguishes; empty without a profile."""
    pairs: set[SSAValue] = field(default_factory=set[SSAValue])
    """Buffers and tiles of pairs of bf16."""
    aliased_tiles: dict[SSAValue, kernel.CursorOp] = field(default_factory=dict[SSAValue, kernel.CursorOp])
    """Tiles that are blocks of buffers."""
    shared_loops: set[Operation] = field(default_factory=set[Operation])
    """Loops whose iterations a stage divides among threads."""
    masked: Masked = field(default_factory=Masked)
    """The sums of the current parallel loop that masks may spoil."""

    @property
    def probes(self) -> Probes:
        return Probes(self.numbers, self.dims)

    def source(self) -> str:
        """The function, as C++ text. Raises OpError for what a CPU kernel cannot do."""
        self.wide = has_wide_lanes(self.function)
        if not self.wide:
            self.pairs = buffers_of_pairs(self.function) | tiles_of_pairs(self.function)
        self.aliased_tiles = tiles_in_buffers(self.function, self.pairs)
        launch = [f"  {line}" for line in self.probes.launch(self.names)]
        self.dims = name_dims(self.names, block.parse_dims(self.function.attributes[block.DIMS]))
        lines = [f"// kernel {comment_text(self.function.sym_name.data)}"]
        lines.append(
            f'extern "C" BB_EXPORT int {entry_name(self.function.sym_name.data)}'
            "(const bb::Array* arrays, const bb::idx* extents, int threads) {"
        )
        lines += launch
        type = "double" if self.wide else "float"
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
        strides = () if type.packed is not None else tuple(f"{name}{suffix}" for suffix in suffixes)
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
        stages = stages_of(op, self.dims)
        if stages is None and any(self._in_global_memory(inner) is not False for inner in op.walk()):
            stages = single_stage(op, self.dims)
        self.masked = Masked.of(op)
        room, tiles = self._tiles(op, stages)
        tasks = " * ".join(loop.trips for loop in loops) or "1"
        over = "".join(f"[{comment_text(dim)}]" for dim in op.dim_names)
        lines = [f"// {over} in parallel"] if over else []
        lines += room
        if stages is not None:
            return [*lines, *self._staged(op, stages, tasks, tiles)]
        workers = "1"
        if loops:
            work = Work(self.dims)
            work.add(op.body.block.ops, op.dim_names)
            lines.append(f"const bb::idx work = {work};")
            workers = "bb::workers(work, threads)"
        lines.append(
            f"const int status = bb::parallel_for({tasks}, {workers}, [&](bb::idx task, int) -> int {{"
        )
        inner = ["T* const memory = bb::scratch<T>(room);", f"if (!memory) {OUT_OF_MEMORY}"]
        inner += self._positions(op, "task")
        inner += tiles
        inner += self.masked.repeated(self._body(op.body.block.ops))
        return [*lines, *_closed(inner)]

    def _positions(self, op: kernel.ParallelOp, task: str) -> list[str]:
        """The lines that compute the blocks of a task from its number."""
        loops = [self.dims[dim] for dim in op.dim_names]
        lines: list[str] = []
        if loops:
            lines.append(f"bb::idx rest = {task};")
        longest_last = {inner.until_dim for inner in op.walk() if isinstance(inner, kernel.ForOp)}
        for name, loop in reversed(list(zip(op.dim_names, loops, strict=True))):
            # The longest tasks first, so that no worker is left alone with one at the end.
            number = (
                f"{loop.trips} - 1 - rest % {loop.trips}" if name in longest_last else f"rest % {loop.trips}"
            )
            lines.append(f"const bb::idx {loop.number} = {number};")
            lines.append(f"rest /= {loop.trips};")
        for loop in loops:
            lines += loop.position()
        if loops:
            lines.append("(void)rest;")
        return lines

    def _staged(
        self, op: kernel.ParallelOp, stages: Stages, tasks: str, pointers: Sequence[str]
    ) -> list[str]:
        """The tasks of a kernel whose loops may be divided among threads: see `split.hpp`."""
        trips = [self.dims[loop.dim_names[0]].trips for loop in stages.loops]
        lines = [
            f"const bb::idx work = {stages.work};",
            f"const bb::idx parts = {stages.parts(tasks, trips)};",
            f"const int status = bb::in_pieces<T>({tasks}, parts, {len(stages.ops)}, "
            "bb::workers(work, threads), {room, kept, shared, lists, common}, "
            "[&](const bb::Piece<T>& piece) -> int {",
        ]
        self.shared_loops.update(stages.loops)
        windows: list[str] = []
        bodies: list[str] = []
        for stage, ops in enumerate(stages.ops):
            inner: list[str] = []
            if stage % 2:
                inner += self._united(stages.loops[stage // 2])
            body: list[str] = []
            for line in self._body(ops):
                # A window is nothing but a place, and other stages look through it as well.
                (windows if line.startswith("auto* const ") else body).append(line)
            inner += self.masked.repeated(body) if stage == 0 else self.masked.at_once(body)
            if stage % 2 and stage + 1 < len(stages.ops):
                inner += [*self.probes.after_all(), "piece.spread();"]
            bodies += [f"if (piece.runs({stage})) {{", *(f"  {line}" for line in inner), "}"]
        return [*lines, *_closed([*self._positions(op, "piece.task"), *pointers, *windows, *bodies])]

    def _united(self, loop: kernel.ForOp) -> list[str]:
        """The lines that merge the parts of a loop."""
        merge = loop.merge
        assert merge is not None
        if not merge.block.ops:
            return []
        inner = ["T* const found = piece.other(part);"]
        for tile, other in zip(loop.carried, merge.block.args, strict=True):
            plane, name = self.planes[tile], self.names.claim(other.name_hint or "other")
            inner.append(_pointer(name, f"found + {plane.pointer}_at", plane.element))
            self.planes[other] = Plane(name, plane.stride, plane.type)
        inner += self._body(merge.block.ops)
        return [
            "for (bb::idx part = 1; part < piece.parts; part++) {",
            *(f"  {line}" for line in inner),
            "}",
        ]

    def _tiles(self, op: kernel.ParallelOp, stages: Stages | None) -> tuple[list[str], list[str]]:
        """The lines that measure the scratch memory, and those that divide it into tiles and buffers."""
        sizes: list[str] = []
        pointers: list[str] = []
        for inner in op.walk():
            if isinstance(inner, kernel.TileOp):
                if stages is not None and inner.result in stages.kept:
                    self.aliased_tiles.pop(inner.result, None)
                if inner.result in self.aliased_tiles:
                    continue
                type = kernel.tile_type(inner.result)
                if type.space.data is not kernel.Space.Scratch:
                    raise OpError(
                        inner,
                        f"has its tile in {type.space.data} memory, which is a GPU's: on a CPU it is scratch",
                    )
                name = self.names.claim(inner.result.name_hint or "tile", "_at", "_ld")
                pairs = inner.result in self.pairs
                stride, size = plane_size(type, self.dims, pairs)
                is_kept = stages is not None and inner.result in stages.kept
                arena = Arena.PER_THREAD if is_kept else Arena.SCRATCH
                sizes.append(f"const bb::idx {name}_ld = {stride}, {name}_at = {arena};")
                sizes.append(f"{arena} += {size};")
                self.planes[inner.result] = Plane(name, f"{name}_ld", type, pairs=pairs)
                memory = arena.of_task if stages is None else arena.of_piece
                element = "bb::Pair" if pairs else lane_type(type.element_type)
                pointers.append(_pointer(name, f"{memory} + {name}_at", element))
            elif isinstance(inner, kernel.BufferOp):
                pointers.append(self._buffer(inner, stages, sizes))
        counters = [Arena.SCRATCH] if stages is None else list(Arena)
        return [f"bb::idx {', '.join(f'{arena} = 0' for arena in counters)};", *sizes], pointers

    def _buffer(self, op: kernel.BufferOp, stages: Stages | None, sizes: list[str]) -> str:
        """Return the line that declares a buffer; adds the lines that measure it to `sizes`."""
        strides, size = buffer_layout(op, self.dims, pairs=op.result in self.pairs)
        suffixes = [f"_s{axis}" for axis in range(len(strides))]
        name = self.names.claim(op.result.name_hint or "list", "_at", "_near", *suffixes)
        values = "".join(
            f"{name}{suffix} = {stride}, " for suffix, stride in zip(suffixes, strides, strict=True)
        )
        local_arena, global_arena = Arena.SCRATCH, Arena.PRIVATE_LISTS
        if stages is not None and op.result in stages.shared:
            local_arena, global_arena = Arena.PER_TASK, Arena.SHARED_LISTS
        sizes.append(f"// {name}: {self._placement(op)}")
        match self._in_global_memory(op):
            case None:
                sizes.append(f"const bool {name}_near = {size} <= {op.local_bytes} / (bb::idx)sizeof(T);")
                arena = f"({name}_near ? {local_arena} : {global_arena})"
                memory = f"({name}_near ? {local_arena.of_piece} : {global_arena.of_piece})"
            case in_global:
                only = global_arena if in_global else local_arena
                arena, memory = str(only), only.of_task if stages is None else only.of_piece
        sizes.append(f"const bb::idx {values}{name}_at = {arena};")
        sizes.append(f"{arena} += bb::round_up({size}, bb::W<T>);")
        self.arrays[op.result] = Array(name, tuple(f"{name}{suffix}" for suffix in suffixes))
        assert isinstance(op.result.type, kernel.ArrayType)
        return _pointer(name, f"{memory} + {name}_at", lane_type(op.result.type.element_type))

    def _bytes(self, op: kernel.BufferOp) -> int | None:
        """The bytes of a buffer, where its extents are known."""
        dims = {name: dim.declared for name, dim in self.dims.items()}
        elements = buffer_elements(op, dims, lambda name: dims[name].static_extent)
        if elements is None:
            return None
        return elements * 8 if self.wide else elements * 2 if op.result in self.pairs else elements * 4

    def _in_global_memory(self, op: Operation) -> bool | None:
        """True if an operation makes a buffer in global memory; None if that depends on the extents of a
        call.
        """
        if not isinstance(op, kernel.BufferOp) or op.local_bytes is None:
            return False
        bytes = self._bytes(op)
        return True if op.local_bytes == 0 else None if bytes is None else bytes > op.local_bytes

    def _placement(self, op: kernel.BufferOp) -> str:
        """Description of a buffer's place, for a comment."""
        bytes, allotted = self._bytes(op), op.local_bytes
        size = "as long as its dims" if bytes is None else f"{bytes} bytes"
        match self._in_global_memory(op):
            case None:
                where = f"in local memory up to {allotted} bytes, else in global memory"
            case True:
                where = f"in global memory, for {allotted or 'no'} bytes of local memory are left for it"
            case False:
                where = "in local memory"
        return f"[{', '.join(comment_text(dim) for dim in op.axis_dims)}], {size}, {where}"

    def _body(self, ops: Iterable[Operation]) -> list[str]:
        lines: list[str] = []
        comments = PlaceComments()
        for op in ops:
            written = self._statement(op)
            if written:
                lines += comments.before(place_comment(op))
                lines += self.probes.before(op, self.windows)
                lines += written
                lines += self.masked.after(op, self.planes, self.dims)
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
                if self._starts_from_zero(kernel.filled_contraction(op)):
                    return []
                plane = self.planes[op.tile]
                outer, lanes = self._valid(plane.type)
                value = _filling(op, plane, self.wide)
                return [
                    f"bb::fill_plane<{plane.element}>({plane.pointer}, {plane.stride}, "
                    f"{outer}, {lanes}, {value});"
                ]
            case kernel.ContractOp():
                return ContractionEmitter(
                    op,
                    self.planes,
                    self.windows,
                    self.dims,
                    self.names,
                    self.wide,
                    self._starts_from_zero(op),
                ).lines()
            case kernel.SweepOp():
                return self._sweep(op)
            case kernel.RedoOp():
                return self._redo(op)
            case _:
                raise OpError(op, "has no form on a CPU")

    def _sweep(self, op: kernel.SweepOp) -> list[str]:
        places = [self.aliased_tiles[tile] for tile in op.outputs if tile in self.aliased_tiles]
        lines = [line for place in places for line in self._cursor(place)]
        same = widened(op, self.planes)
        for index, plane in same.items():
            self.planes[op.outputs[index]] = plane
        if len(same) == len(op.outputs):
            return []
        emitter = SweepEmitter(op, self.planes, self.dims, self.names, self.wide)
        emitter.ahead = fetched_ahead(op, self.windows, self.dims)
        emitter.left_out = same
        emitter.rounded = {tile for tile in op.outputs if are_rounded_when_stored(tile, self.pairs)}
        return [*lines, *(emitter.lines() if op.careful is None else only_if_careful(emitter.lines()))]

    def _for(self, op: kernel.ForOp) -> list[str]:
        dim = self.dims[op.dim_names[0]]
        count, trips = dim.number, dim.trips
        lines: list[str] = []
        end = None
        if op.part_dim is not None:
            raise OpError(op, "does a part of its iterations, as blocks of threads of a GPU do")
        if op.until_dim is not None:
            last = self.dims[op.until_dim]
            after = last.after(op.until_offset)
            end = self.names.claim(f"{dim.extent}end")
            lines.append(f"const bb::idx {end} = std::min({dim.extent}, {after});  // the rest is masked")
            trips = end if dim.declared.is_batch else f"bb::ceil_div({end}, {dim.size})"
        inner = [*dim.position(end), *self._body(op.body.block.ops)]
        start = f"{count} = 0"
        if op in self.shared_loops:
            start, trips = f"{count} = piece.begin({trips}), end = piece.end({trips})", "end"
        return [
            *lines,
            f"for (bb::idx {start}; {count} < {trips}; {count}++) {{",
            *(f"  {line}" for line in inner),
            "}",
        ]

    def _redo(self, op: kernel.RedoOp) -> list[str]:
        found: list[str] = []
        for tile in op.conditions:
            plane = self.planes[tile]
            width = self.dims[plane.type.dims[0]].width if plane.type.dims else "1"
            found.append(f"bb::any_set({plane.pointer}, {width})")
        inner = self._body(op.body.block.ops)
        return [
            f"if ({' || '.join(found)}) {{  // all once more, with care",
            *(f"  {line}" for line in inner),
            "}",
        ]

    def _starts_from_zero(self, op: kernel.ContractOp | None) -> bool:
        """True if the first iteration of the loop around overwrites the accumulator that the others add
        to.
        """
        return op is not None and op.parent_op() not in self.shared_loops

    # Moves

    def _cursor(self, op: kernel.CursorOp) -> list[str]:
        if op.result in self.windows:
            return []  # of a sweep that writes to a block of a buffer
        window = window_of(op, self.arrays[op.array], self.dims, pairs=op.array in self.pairs)
        name = self.names.claim(op.result.name_hint or "block")
        self.windows[op.result] = Window(name, window.strides, window.widths, window.packed)
        for tile, place in self.aliased_tiles.items():
            if place is op:
                type = kernel.tile_type(tile)
                self.planes[tile] = Plane(name, ordered(type, window.strides)[0], type)
        lines = [f"auto* const {name} = {window.pointer};"]
        if self.counting and not isinstance(op.array.owner, kernel.BufferOp) and not self.function.packs:
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
        """The numbers of rows of lanes and of lanes of a tile that are defined."""
        outer = "1" if type.outer_dim is None else self.dims[type.outer_dim].width
        lanes = "1" if type.lane_dim is None else self.dims[type.lane_dim].width
        return outer, lanes

    def _load(self, op: kernel.LoadOp) -> list[str]:
        plane, window = self.planes[op.target], self.windows[op.source]
        if op.target in self.aliased_tiles:
            return []
        if op.in_place is not None:
            line, self.planes[op.target] = load_in_place(plane, window, self.names)
            return [line]
        if not plane.type.dims:
            return [f"*{plane.pointer} = bb::cast<{plane.element}>(*({window.pointer}));"]
        if len(plane.type.dims) == 1:
            (width,), (stride,) = window.widths, window.strides
            return [
                f"bb::load_vector<{plane.element}>({plane.pointer}, {width}, "
                f"{window.pointer}, {stride}, {width});"
            ]
        outer, lanes = ordered(plane.type, window.widths)
        by_outer, by_lane = ordered(plane.type, window.strides)
        if plane.pairs:
            return [
                f"bb::load_pairs<T>({plane.pointer}, {plane.stride}, {outer}, {lanes}, "
                f"{window.pointer}, {by_outer}, {by_lane});"
            ]
        return [
            f"bb::load_plane<{plane.element}>({plane.pointer}, {plane.stride}, {outer}, {lanes}, "
            f"{window.pointer}, {by_outer}, {by_lane}, {outer}, {lanes});"
        ]

    def _store(self, op: kernel.StoreOp) -> list[str]:
        plane, window = self.planes[op.source], self.windows[op.target]
        if self.aliased_tiles.get(op.source) is op.target.owner:
            return []
        if op.in_place is not None:
            return [finish(plane, window, self._past(op))]
        element = element_of(op.target)
        if window.packed is not None:
            return self._pack(op, plane, window, window.packed)
        if not plane.type.dims:
            return [f"*({window.pointer}) = bb::cast<{element}>(*{plane.pointer});"]
        if len(plane.type.dims) == 1:
            (width,), (stride,) = window.widths, window.strides
            return [
                f"bb::store_vector<{plane.element}>({window.pointer}, {stride}, {plane.pointer}, {width});"
            ]
        outer, lanes = ordered(plane.type, window.widths)
        by_outer, by_lane = ordered(plane.type, window.strides)
        if isinstance(op.target.owner, kernel.CursorOp) and op.target.owner.array in self.pairs:
            return [
                f"bb::store_pairs<T>({window.pointer}, {by_outer}, {plane.pointer}, {plane.stride}, "
                f"{outer}, {lanes});"
            ]
        function, past = (
            ("stream_plane", f", {self._past(op)}") if op.stream is not None else ("store_plane", "")
        )
        return [
            f"bb::{function}<{plane.element}>({window.pointer}, {by_outer}, {by_lane}, "
            f"{plane.pointer}, {plane.stride}, {outer}, {lanes}{past});"
        ]

    def _pack(self, op: kernel.StoreOp, plane: Plane, window: Window, layout: kernel.PackedAttr) -> list[str]:
        if not plane.type.rows_in_lanes:
            raise OpError(op, "has no form on a CPU: a tile is packed from its rows in lanes")
        if layout.depth.data > 2:
            raise OpError(op, "has no form on a CPU: elements are packed singly or in pairs")
        function = "store_packed_pairs" if layout.depth.data == 2 else "store_packed"
        block_ = ", ".join(map(str, (*layout.block, layout.group.data)))
        rows, columns = window.widths
        return [
            f"bb::{function}<T>({window.pointer}, {block_}, {plane.pointer}, {plane.stride}, "
            f"{rows}, {columns});"
        ]

    def _move(self, op: kernel.MoveOp) -> list[str]:
        target, source = self.planes[op.target], self.planes[op.source]
        outer, lanes = self._valid(source.type)
        same = target.type.rows_in_lanes == source.type.rows_in_lanes
        function = "copy_plane" if same else "transpose_plane"
        return [
            f"bb::{function}<{target.element}>({target.pointer}, {target.stride}, "
            f"{source.pointer}, {source.stride}, {outer}, {lanes});"
        ]


def _filling(op: kernel.FillOp, plane: Plane, wide: bool) -> str:
    """The number that fills a tile: of integers, the least or the greatest one stands for an infinity."""
    if plane.element == "T":
        return number(op.number, wide)
    least, most = type_range(plane.type.element_type)
    if isinf(op.number):
        return f"(Int){integer_literal(most if op.number > 0 else least)}"
    return f"(Int){integer_literal(int(op.number))}"


def _pointer(name: str, place: str, element: str) -> str:
    """The declaration of a pointer to a place in the memory of a kernel, which counts elements of type T."""
    return f"{element}* const {name} = {place if element == 'T' else f'({element}*)({place})'};"


def _closed(body: Sequence[str]) -> list[str]:
    """The end of a call whose last argument is a function with such a body."""
    return [
        *(f"  {line}" for line in [*body, "return bb::ok;"]),
        "});",
        "if (status) return status;",
    ]


def dims_in_order(function: kernel.FuncOp) -> Mapping[str, block.DimAttr]:
    """The dims whose extents a kernel's function takes, in the order in which it takes them."""
    return block.parse_dims(function.attributes[block.DIMS])
