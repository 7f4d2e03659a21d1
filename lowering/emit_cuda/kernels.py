"""One kernel as a `__global__` function: it reads like the kernel's own text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import prod

from xdsl.ir import Operation, SSAValue

from ...dialects import block, kernel
from ...dialects.diagnostics import OpError, location_of
from ...dialects.kernel import Space
from ...dialects.kernel.placement import (
    GROUP_ATTRIBUTE,
    STAGES_ATTRIBUTE,
    THREADS_ATTRIBUTE,
    WARPS_ATTRIBUTE,
    integer,
    warp_grid,
)
from ...dialects.kernel.tile_layouts import fragment_rows
from ..emit_cpp.names import Names
from ..source_text import comment_text, location_comment, mangle
from .barriers import barriers_of
from .fragments import Fragments
from .geometry import Array, Dim, Size, Window, name_dims, product_text, window_of
from .held import Rows
from .layouts import Layout
from .memory import Memory
from .names import cuda_names
from .row_pieces import RowPieces, access_width, computes_in_16_bits
from .scalars import storage_type
from .shared_rows import SharedRowSweep, goes_over_left_operands
from .staging import fetch_lines, fetch_vector_lines, is_async, is_fetched_ahead, window_vector
from .statements import Statements, SwizzledTile

THREADS_IN_REGISTERS = 256
"""Threads of a multiprocessor, each of which may then have 255 registers."""
THREADS_AT_A_TIME = 512
"""Threads of a multiprocessor that hide each other's waits, where they need fewer registers."""
SHARED_OF_A_MULTIPROCESSOR = 160 * 1024

_LANES = re.compile(r"\b(warp|lane)\b")


def entry_name(kernel_name: str, part: int = 0) -> str:
    """The name with C linkage of a kernel's function; one of several parallel loops has several parts."""
    return f"bbk_{mangle(kernel_name)}" + (f"_part{part}" if part else "")


@dataclass(frozen=True)
class CudaKernel:
    """What the host needs to know to launch one function."""

    entry: str
    threads: int
    shared_bytes: int
    """Of dynamic shared memory."""
    grid: tuple[str, ...]
    """The dims whose blocks are the iterations; the grid has one dimension, their product."""
    dims: Mapping[str, block.DimAttr]
    scratch: tuple[Size, ...]
    """What a block takes in global memory for itself; with any, blocks run several iterations each."""
    layouts: tuple[Layout, ...]
    """How each array lies in memory: what strides are arguments."""

    def tasks(self, extents: Mapping[str, int]) -> int:
        """How many iterations there are."""
        return prod(_trips(self.dims[name], extents[name]) for name in self.grid)

    def scratch_bytes(self, extents: Mapping[str, int]) -> int:
        """The bytes of global memory that a block takes for itself."""
        return sum(size.bytes(self.dims, extents) for size in self.scratch)

    @property
    def dynamic_extents(self) -> tuple[str, ...]:
        """The dims whose extents are arguments, in order."""
        return tuple(name for name, dim in self.dims.items() if dim.static_extent is None)


def _trips(dim: block.DimAttr, extent: int) -> int:
    if dim.is_whole:
        return 1
    return extent if dim.block_size is None else -(-extent // dim.block_size)


@dataclass
class KernelEmitter:
    """Writes one parallel loop of a kernel."""

    function: kernel.FuncOp
    parallel: kernel.ParallelOp
    part: int = 0
    layouts: tuple[Layout, ...] = ()
    """How each array lies in memory; without any, all in row-major order."""
    names: Names = field(default_factory=cuda_names)
    dims: dict[str, Dim] = field(default_factory=dict[str, Dim])
    arrays: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    windows: dict[SSAValue, Window] = field(default_factory=dict[SSAValue, Window])
    memory: Memory = field(init=False)
    statements: Statements = field(init=False)
    fragments: Fragments | None = None
    waits: set[Operation] = field(default_factory=set[Operation])
    ends: dict[str, str] = field(default_factory=dict[str, str])
    """Where loops that are around end, of those that end before their dim does."""
    under_way: bool = False
    """Whether copies to shared memory may be under way that nobody has waited for."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        found = integer(self.parallel, THREADS_ATTRIBUTE)
        if found is None:
            raise OpError(self.parallel, "has no places for its tiles yet; run kernel-place-cuda first")
        return found

    @property
    def entry(self) -> str:
        return entry_name(self.function.sym_name.data, self.part)

    @property
    def launch(self) -> CudaKernel:
        """How the function is launched; known once its source is written."""
        return CudaKernel(
            self.entry,
            self.threads,
            self.memory.shared_bytes,
            self.parallel.dim_names,
            self._declared,
            tuple(self.memory.scratch),
            self.layouts,
        )

    @property
    def _declared(self) -> dict[str, block.DimAttr]:
        return block.parse_dims(self.function.attributes[block.DIMS])

    def source(self) -> str:
        """The function, as CUDA C++ text. Raises OpError for what a GPU kernel cannot do."""
        threads = self.threads
        self.dims = name_dims(self.names, self._declared, self.parallel)
        parameters = self._parameters()
        group = integer(self.parallel, GROUP_ATTRIBUTE)
        if group is not None:
            return self._function(parameters, *self._whole_rows(group))
        grid = warp_grid(self.parallel)
        warps, columns = grid or (1, 1)
        rows = {} if grid is None else self._warp_rows(warps)
        self.memory = Memory(
            self.parallel, self._declared, self.dims, self.names, self.arrays, rows, warps, columns
        )
        tiles = [line for each in rows.values() for line in each.declarations(warps, columns)]
        tiles += self.memory.lines()
        body = self._positions()
        self.statements = Statements(self.memory.tiles, self.windows, self.dims, self.names, threads)
        if grid is not None:
            self.fragments = Fragments(
                rows,
                self.memory.held,
                self.memory.tiles,
                self.memory.staged,
                self.windows,
                self.dims,
                self.names,
                columns,
                any(isinstance(op, kernel.ContractOp) and op.multiply for op in self.parallel.walk()),
                self.waits,
            )
        self.waits |= barriers_of(self.parallel.body.block.ops, self.memory.accesses)
        body += self._body(self.parallel.body.block.ops)
        if self.memory.scratch:
            parameters += ["unsigned char* __restrict__ scratch", "long long scratch_bytes", "int tasks"]
            tiles.insert(
                0, "unsigned char* const own_scratch = scratch + (long long)blockIdx.x * scratch_bytes;"
            )
            body = [
                "for (int task = blockIdx.x; task < tasks; task += gridDim.x) {",
                *(f"  {line}" for line in body),
                "  __syncthreads();  // the next iteration uses the same tiles",
                "}",
            ]
        else:
            body.insert(0, "const int task = blockIdx.x;")
        return self._function(parameters, tiles, body)

    def _function(self, parameters: list[str], tiles: list[str], body: list[str]) -> str:
        threads = self.threads
        over = "".join(f"[{comment_text(dim)}]" for dim in self.parallel.dim_names)
        lines = [f"// kernel {comment_text(self.function.sym_name.data)}"]
        lines.append(
            f"// {over} in parallel: a block of {threads} threads does one iteration" if over else ""
        )
        bounds = f"__launch_bounds__({threads}, {self._resident})"
        lines.append(f'extern "C" __global__ void {bounds} {self.entry}(')
        lines += _parameter_lines(parameters)
        lines.append(") {")
        inner = [f"constexpr int THREADS = {threads};"]
        if any(_LANES.search(line.partition("//")[0]) for line in body):
            inner.append("const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;")
        for name, dim in self.dims.items():
            inner += dim.declarations()
            looped = name in self.parallel.dim_names
            if not dim.declared.is_batch and not dim.declared.is_whole and not looped:
                inner.append(dim.first_block())
        lines += [f"  {line}" for line in [*inner, *tiles, *body]]
        lines.append("}")
        return "\n".join(line for line in lines if line) + "\n"

    @property
    def _resident(self) -> int:
        """How many blocks a multiprocessor should have at least: what ptxas gives threads registers by. Tiles
        in registers need all that a thread can have.
        """
        threads = THREADS_IN_REGISTERS if WARPS_ATTRIBUTE in self.parallel.attributes else THREADS_AT_A_TIME
        fitting = SHARED_OF_A_MULTIPROCESSOR // max(1, self.memory.shared_bytes)
        return max(1, min(threads // self.threads, fitting))

    # Arguments

    def _parameters(self) -> list[str]:
        arguments = self.function.body.block.args
        first_output = len(arguments) - self.function.output_count
        pointers: list[str] = []
        strides: list[str] = []
        for number, argument in enumerate(arguments):
            type = argument.type
            assert isinstance(type, kernel.ArrayType)
            if type.packed is not None:
                raise OpError(self.function, "reads or writes a packed array, which has no form on a GPU")
            rank = len(type.extents)
            suffixes = [f"_s{axis}" for axis in range(rank)]
            name = self.names.claim(argument.name_hint or "array", *suffixes)
            const = "const " if number < first_output else ""
            pointers.append(f"{const}{storage_type(type.element_type)}* __restrict__ {name}")
            layout = self.layouts[number] if self.layouts else Layout.Dense
            if layout is Layout.Dense:
                own = self._dense_strides(argument, type)
            else:
                own = [f"{name}{suffix}" for suffix in suffixes[: layout.strides_passed(rank)]]
                strides += [f"long long {stride}" for stride in own]
                own += ["1"] * (rank - len(own))
            self.arrays[argument] = Array(name, tuple(own), layout is Layout.Rows)
        extents = [f"int {dim.extent}" for dim in self.dims.values() if not dim.is_static]
        return [*pointers, *strides, *extents]

    def _dense_strides(self, argument: SSAValue, type: kernel.ArrayType) -> list[str]:
        """The strides of an array in row-major order."""
        cursor = next(
            (use.operation for use in argument.uses if isinstance(use.operation, kernel.CursorOp)), None
        )
        lengths: list[list[str]] = []
        for axis, extent in enumerate(type.extents):
            if extent is not None:
                lengths.append([str(extent)])
            elif cursor is None:
                lengths.append(["0"])
            else:
                item = cursor.result.type
                assert isinstance(item, kernel.CursorType)
                lengths.append(
                    [
                        self.dims[name].extent if name in item.dims else self.dims[name].trips
                        for name in cursor.axis_dims[axis]
                    ]
                )
        return [product_text(lengths[axis + 1 :]) for axis in range(len(lengths))]

    # Code

    def _positions(self) -> list[str]:
        """Which blocks an iteration has at hand."""
        names = self.parallel.dim_names
        if not names:
            return ["(void)task;"]
        longest_last = {inner.until_dim for inner in self.parallel.walk() if isinstance(inner, kernel.ForOp)}
        lines: list[str] = []
        rest = "task"
        for position, name in reversed(list(enumerate(names))):
            dim = self.dims[name]
            number = rest if position == 0 else f"{rest} % {dim.trips}"
            if name in longest_last:
                number = f"{dim.trips} - 1 - {number}"
            comment = "  // the longest first" if name in longest_last else ""
            lines.append(f"const int {dim.number} = {number};{comment}")
            rest = f"{rest} / {dim.trips}" if rest == "task" else f"({rest}) / {dim.trips}"
            lines += dim.position()
        return lines

    def _whole_rows(self, group: int) -> tuple[list[str], list[str]]:
        """The lines of a kernel that keeps whole rows in registers: declarations, and code."""
        tiles = [op for op in self.parallel.walk() if isinstance(op, kernel.TileOp) and op.result.uses]
        rows, columns = next(
            kernel.tile_type(op.result).dims for op in tiles if len(kernel.tile_type(op.result).dims) == 2
        )
        self.memory = Memory(self.parallel, self._declared, self.dims, self.names, self.arrays, {})
        self.memory.shared_bytes = group // 32 * 4 if group > 32 else 0
        cursors = [op for op in self.parallel.walk() if isinstance(op, kernel.CursorOp)]
        places = {op: self._statement(op) for op in cursors}
        body = ["const int task = blockIdx.x;", *self._positions()]
        for op, lines in places.items():
            body += lines if op.parent_op() is self.parallel else []
        long = [op for op in cursors if columns in kernel.dims_of(op.result)]
        vector = access_width([(op, self.windows[op.result].vector) for op in long])
        pieces = RowPieces(
            group,
            rows,
            columns,
            vector,
            self.windows,
            self.dims,
            self.names,
            computes_in_16_bits(cursors),
        )
        declared = pieces.declarations(tiles)
        inner: list[str] = []
        once = pieces.same_in_all_rows(list(self.parallel.body.block.ops))
        for op in self.parallel.body.block.ops:
            if isinstance(op, kernel.ForOp):
                inner += self._row_loop(op, places, pieces)
            elif not isinstance(op, kernel.TileOp | kernel.CursorOp):
                (body if op in once else inner).extend(pieces.lines(op))
        step = self.threads // group
        first = "0" if step == 1 else f"threadIdx.x / {group}"
        who = "a warp" if group == 32 else "the block"
        width = self.dims[rows].width
        return declared, [
            *body,
            f"for (int row = {first}; row < {width}; row += {step}) {{  // {who} has a row",
            *(f"  {line}" for line in inner),
            "}",
        ]

    def _row_loop(
        self, op: kernel.ForOp, places: Mapping[kernel.CursorOp, list[str]], pieces: RowPieces
    ) -> list[str]:
        """A loop whose iterations bring parts of the row at hand, some of them at a time."""
        dim = self.dims[op.dim_names[0]]
        lines: list[str] = []
        for inner in op.body.block.ops:
            if isinstance(inner, kernel.CursorOp):
                lines += places[inner]
            elif not isinstance(inner, kernel.TileOp):
                lines += pieces.lines(inner)
        return [
            "BB_UNROLL_BY(8)",
            f"for (int {dim.number} = 0; {dim.number} < {dim.trips}; {dim.number}++) {{",
            *(f"  {line}" for line in lines),
            "}",
        ]

    def _warp_rows(self, warps: int) -> dict[str, Rows]:
        """The rows that a warp has of the tiles in registers, by their dims."""
        names = dict.fromkeys(
            kernel.tile_type(op.result).dims[0]
            for op in self.parallel.walk()
            if isinstance(op, kernel.TileOp) and kernel.tile_type(op.result).space.data is Space.Register
        )
        found: dict[str, Rows] = {}
        for name in names:
            length = self.dims[name].block_length
            assert length is not None
            count = self.names.claim(f"{self.dims[name].extent}rows") if len(names) > 1 else "ROWS"
            first = self.names.claim(f"{self.dims[name].extent}row0") if len(names) > 1 else "row0"
            found[name] = Rows(count, first, fragment_rows(length, warps))
        return found

    def _body(self, ops: Iterable[Operation]) -> list[str]:
        lines: list[str] = []
        last = ""
        done: Operation | None = None
        for op in ops:
            if op is done:
                continue
            if self.fragments is not None:
                done = self.fragments.contracted_with(op) or done
            if op in self.waits:
                lines += self._wait()
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

    def _wait(self) -> list[str]:
        """Wait for the other threads, and for all copies that are under way."""
        waited = ["bb::cp_async_wait<0>();"] if self.under_way else []
        self.under_way = False
        return [*waited, "__syncthreads();"]

    def _statement(self, op: Operation) -> list[str]:
        match op:
            case kernel.TileOp() | kernel.BufferOp():
                return []
            case kernel.CursorOp():
                if all(is_async(use.operation) for use in op.result.uses):
                    return []
                name = self.names.claim(op.result.name_hint or "block")
                array = self.arrays[op.array]
                window, lines = window_of(op, array, self.dims, name)
                vector = window_vector(window, op, array, self.dims)
                self.windows[op.result] = replace(window, vector=vector)
                return lines
            case kernel.ForOp():
                return self._for(op)
            case kernel.LoadOp() if is_async(op):
                if is_fetched_ahead(op):
                    return []
                self.under_way = True
                name = self.memory.tiles[op.target].pointer
                anew = "bb::this_thread_anew()" if self._fetching_loops > 1 else ""
                return [f"// fetch {name}", *self._fetch(op, name, anew), "bb::cp_async_commit();"]
            case _:
                if self.fragments is not None and self.fragments.concerns(op):
                    return self.fragments.lines(op)
                if self.fragments is not None and goes_over_left_operands(op, self.fragments):
                    return SharedRowSweep(self.fragments, op).lines()
                return self.statements.lines(op)

    def _fetch(self, op: kernel.LoadOp, to: str, thread: str = "") -> list[str]:
        """Copy the block at hand to a stage."""
        cursor = op.source.owner
        assert isinstance(cursor, kernel.CursorOp)
        staged = self.memory.staged.get(op.target)
        if staged is None:
            return fetch_vector_lines(op, to, self.arrays[cursor.array], self.dims)
        array = self.arrays[cursor.array]
        return fetch_lines(op, staged, to, array, self.dims, self.ends, self.threads, thread)

    def _for(self, op: kernel.ForOp) -> list[str]:
        dim = self.dims[op.dim_names[0]]
        count, trips = dim.number, dim.trips
        lines: list[str] = []
        end = None
        if op.until_dim is not None:
            last = self.dims[op.until_dim]
            after = last.behind(op.until_offset)
            end = self.names.claim(f"{dim.extent}end")
            self.ends[op.dim_names[0]] = end
            lines.append(f"const int {end} = min({dim.extent}, {after});  // the rest is masked")
            trips = end if dim.declared.is_batch else f"({end} + {dim.size} - 1) / {dim.size}"
        first = "0"
        if op.part_dim is not None:
            first, trips = self._part(op, trips, lines)
        if (stages := integer(op, STAGES_ATTRIBUTE)) is not None:
            return [*lines, *self._pipeline(op, stages, first, trips, end)]
        under_way = self.under_way
        inner = [*dim.position(end), *self._body(op.body.block.ops)]
        self.under_way |= under_way
        stays = ["BB_UNROLL_BY(1)"] if self._fetching_loops > 1 else []
        return [
            *lines,
            *stays,
            f"for (int {count} = {first}; {count} < {trips}; {count}++) {{",
            *(f"  {line}" for line in inner),
            "}",
        ]

    def _part(self, op: kernel.ForOp, trips: str, lines: list[str]) -> tuple[str, str]:
        """The names of the first iteration of a part, and of the one after its last."""
        dim, part = self.dims[op.dim_names[0]], self.dims[op.part_dim or ""]
        first, length, after = (
            self.names.claim(f"{dim.extent}{word}") for word in ("first", "length", "after")
        )
        extent, parts = dim.declared.static_extent or 1, part.declared.static_extent or 1
        is_even = op.until_dim is None and extent % (parts * (dim.block_length or 1)) == 0 and dim.is_static
        last = f"{first} + {length}" if is_even else f"min({first} + {length}, {trips})"
        lines += [
            f"const int {length} = ({trips} + {part.extent} - 1) / {part.extent};  // of each part",
            f"const int {first} = {part.number} * {length}, {after} = {last};",
        ]
        return first, after

    @property
    def _fetching_loops(self) -> int:
        """How many loops fetch ahead: addresses of several are too much to be kept in registers."""
        return sum(
            STAGES_ATTRIBUTE in op.attributes for op in self.parallel.walk() if isinstance(op, kernel.ForOp)
        )

    def _pipeline(self, op: kernel.ForOp, stages: int, first: str, trips: str, end: str | None) -> list[str]:
        """A loop whose blocks are fetched while earlier ones are computed with."""
        assert self.fragments is not None
        dim = self.dims[op.dim_names[0]]
        count = dim.number
        if not trips.isidentifier():
            name = self.names.claim(f"{dim.extent}trips")
            lines = [f"const int {name} = {trips};"]
            trips = name
        else:
            lines = []
        fetch = self.names.claim(f"fetch_{dim.extent}")
        stage = self.names.claim(f"{dim.extent}stage")
        loads = [inner for inner in op.body.block.ops if is_fetched_ahead(inner)]
        thread = ""
        # Those of a loop within another would be kept beside the sums of both.
        if self._fetching_loops > 1 or isinstance(op.parent_op(), kernel.ForOp):
            thread = self.names.claim("thread")
            lines.append(f"const int {thread} = bb::this_thread_anew();")
        copies: list[str] = []
        for load in loads:
            assert isinstance(load, kernel.LoadOp)
            staged = self.memory.staged.get(load.target)
            to = self.memory.vector_stage(load.target, "to") if staged is None else f"{staged.name}[to]"
            copies += self._fetch(load, to, thread)
        where = dim.position(end)[:1]
        used = any(dim.start in line for line in copies)
        start = [f"const int {dim.start} = {count} * {dim.size};"] if where and used else []
        lines += [
            f"auto {fetch} = [&](int {count}, int to) {{",
            *(f"  {line}" for line in [*start, *copies]),
            "};",
        ]
        for number in range(stages - 1):
            ahead = str(number) if first == "0" else f"{first} + {number}" if number else first
            lines += [f"if ({ahead} < {trips}) {fetch}({ahead}, {number});", "bb::cp_async_commit();"]
        under_way = self.under_way
        self.under_way = False
        vectors: list[str] = []
        for load in loads:
            tile = load.operands[0]
            staged = self.memory.staged.get(tile)
            if staged is None:
                pointer = self.memory.tiles[tile].pointer
                vectors.append(f"auto* const {pointer} = {self.memory.vector_stage(tile, stage)};")
                continue
            self.fragments.stages[tile] = stage
            self.memory.tiles[tile] = SwizzledTile(f"{staged.name}[{stage}]", "", staged.type)
        inner = [
            f"bb::cp_async_wait<{stages - 2}>();",
            "__syncthreads();  // this block is there, and the one before is done with",
            f"if ({count} + {stages - 1} < {trips}) "
            f"{fetch}({count} + {stages - 1}, ({stage} + {stages - 1}) % {stages});",
            "bb::cp_async_commit();",
            *dim.position(end),
            *vectors,
            *self._body(op.body.block.ops),
        ]
        self.under_way |= under_way
        stays = ["BB_UNROLL_BY(1)"] if self._fetching_loops > 1 else []
        return [
            *lines,
            *stays,
            f"for (int {count} = {first}, {stage} = 0; {count} < {trips}; "
            f"{count}++, {stage} = bb::next_stage<{stages}>({stage})) {{",
            *(f"  {line}" for line in inner),
            "}",
        ]


def _parameter_lines(parameters: list[str]) -> list[str]:
    lines = [""]
    for number, parameter in enumerate(parameters):
        text = parameter + ("," if number + 1 < len(parameters) else "")
        if lines[-1] and len(lines[-1]) + len(text) > 100:
            lines.append("")
        lines[-1] += f" {text}" if lines[-1] else f"    {text}"
    return lines
