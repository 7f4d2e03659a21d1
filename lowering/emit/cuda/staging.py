"""Copies of blocks of arrays to shared memory, the ring buffers that they fill, and the waits for them.

All threads together copy a block asynchronously (`TileCopy`, `VectorCopy`). A load outside of a pipelined
loop is one `Fetch`, and a `Barrier` waits for it before the first operation that reads the tile. A pipelined
loop has a `Ring`: an iteration computes with one stage while the copies for the next iterations fill the
others.

`Staging` plans all of these, and is the only class that knows which copies are in flight. The functions at
the end of this file write them as text.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from ....dialects import kernel
from ..names import Names
from .accesses import vector_of
from .geometry import Array, Dim, item_offset, non_item_offsets, row_stride
from .loops import Bounds
from .memory import Memory
from .placed import is_fetched_ahead, loops_that_fetch_ahead, stages_of
from .scalars import storage_type
from .tiles import SwizzledTile

OPAQUE_THREAD = "bb::opaque_thread_id()"
"""threadIdx.x, opaque to the optimiser: addresses computed from it are not hoisted into registers."""


@dataclass(frozen=True, kw_only=True)
class TileCopy:
    """A copy of a block to a swizzled tile; elements beyond the end become zero."""

    to: str
    tile: SwizzledTile
    matrix: str
    """Expression of the first element of the matrix that the block is of."""
    strides: tuple[str, str]
    """Elements from row to row of the tile, and from column to column."""
    corner: tuple[str, str]
    """Row and column of the matrix at which the block begins."""
    ends: tuple[str, str]
    """Numbers of rows and columns of the matrix."""
    vector: int | None
    """Elements of an access; None if elements are copied one by one."""
    checked: str
    """The ends that a tile may exceed, as a template argument; empty for both."""
    thread: str
    """The variable with the thread's number; empty for threadIdx.x."""


@dataclass(frozen=True, kw_only=True)
class VectorCopy:
    """A copy of a block of one dim to a vector in shared memory."""

    to: str
    source: str
    """Expression of the first element."""
    stride: str
    count: str
    room: str
    """Capacity of the vector in elements."""
    vector: int
    """Elements of an access."""


Copy = TileCopy | VectorCopy


@dataclass(frozen=True)
class Fetch:
    """A copy outside of pipelined loops."""

    name: str
    copy: Copy


@dataclass(frozen=True)
class Barrier:
    """A wait for all threads of the block, and for their copies if some may be in flight."""

    waits_for_copies: bool


@dataclass(frozen=True, kw_only=True)
class Ring:
    """The stages of a pipelined loop, and the copies that fill them ahead of the iterations."""

    dim: Dim
    stages: int
    fetch: str
    """The function that fetches the blocks of an iteration."""
    stage: str
    """The variable with the current stage."""
    thread: str
    """The variable with the thread's number; empty for threadIdx.x."""
    first: str
    trips: str
    trips_expression: str
    """Expression with which `trips` is declared; empty if it is a variable already."""
    copies: tuple[Copy, ...]
    needs_start: bool
    """True if copies refer to the first element of the iteration's block."""
    vectors: Mapping[str, str]
    """Expressions of the current stage of vectors, by their names."""


@dataclass
class Staging:
    """The staging of one kernel, planned in the order of its operations."""

    parallel: kernel.ParallelOp
    dims: Mapping[str, Dim]
    memory: Memory
    arrays: Mapping[SSAValue, Array]
    names: Names
    threads: int
    stages: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    """The variable with the current stage of each swizzled tile in a ring, as far as planned."""
    ends: dict[str, str] = field(default_factory=dict[str, str])
    """Variables with the elements at which the loops around end that end before their dim does, by dims."""
    copies_in_flight: bool = False
    """True if copies outside of rings may not have been waited for."""

    @property
    def addresses_stay_in_loops(self) -> bool:
        """True if several loops fetch ahead, because the addresses of all of them need too many registers."""
        return loops_that_fetch_ahead(self.parallel) > 1

    def fetch(self, op: kernel.LoadOp) -> Fetch:
        """Plan an asynchronous load outside of pipelined loops."""
        self.copies_in_flight = True
        name = self.memory.tiles[op.target].pointer
        return Fetch(name, self._copy(op, name, OPAQUE_THREAD if self.addresses_stay_in_loops else ""))

    def barrier(self) -> Barrier:
        """Plan a wait for all threads and for all copies in flight."""
        waits, self.copies_in_flight = self.copies_in_flight, False
        return Barrier(waits)

    @contextmanager
    def loop(self, op: kernel.ForOp, bounds: Bounds) -> Generator[Ring | None]:
        """Plan the ring of a loop, if it has one; plan its body within the context."""
        around = dict(self.ends)
        if bounds.end is not None:
            self.ends[op.dim_names[0]] = bounds.end
        stages = stages_of(op)
        ring = None if stages is None else self._ring(op, stages, bounds)
        before = self.copies_in_flight
        if ring is not None:
            self.copies_in_flight = False  # each iteration begins with a wait
        yield ring
        # The body may be done no time, or leave copies in flight.
        self.copies_in_flight |= before
        self.ends = around

    def _ring(self, op: kernel.ForOp, stages: int, bounds: Bounds) -> Ring:
        dim = self.dims[op.dim_names[0]]
        trips = bounds.trips if bounds.trips.isidentifier() else self.names.claim(f"{dim.extent}trips")
        fetch = self.names.claim(f"fetch_{dim.extent}")
        stage = self.names.claim(f"{dim.extent}stage")
        # Addresses of a loop within another one would be kept beside the sums of both.
        is_opaque = self.addresses_stay_in_loops or isinstance(op.parent_op(), kernel.ForOp)
        thread = self.names.claim("thread") if is_opaque else ""
        copies: list[Copy] = []
        vectors: dict[str, str] = {}
        needs_start = False
        for load in op.body.block.ops:
            if not isinstance(load, kernel.LoadOp) or not is_fetched_ahead(load):
                continue
            tile = load.target
            if tile in self.memory.staged:
                self.stages[tile] = stage
                to = f"{self.memory.staged[tile].name}[to]"
            else:
                vectors[self.memory.tiles[tile].pointer] = self.memory.vector_stage(tile, stage)
                to = self.memory.vector_stage(tile, "to")
            copies.append(self._copy(load, to, thread))
            needs_start |= self._starts_at(load, op.dim_names[0])
        return Ring(
            dim=dim,
            stages=stages,
            fetch=fetch,
            stage=stage,
            thread=thread,
            first=bounds.first,
            trips=trips,
            trips_expression="" if trips == bounds.trips else bounds.trips,
            copies=tuple(copies),
            needs_start=needs_start,
            vectors=vectors,
        )

    def _starts_at(self, load: kernel.LoadOp, dim: str) -> bool:
        """True if a load's block begins at the first element of the current block of a dim."""
        cursor, item = _cursor(load)
        return dim in item.dims and item_offset(cursor, dim, self.dims) == self.dims[dim].start

    def _copy(self, load: kernel.LoadOp, to: str, thread: str) -> Copy:
        if load.target in self.memory.staged:
            return self._tile_copy(load, self.memory.staged[load.target], to, thread)
        return self._vector_copy(load, to)

    def _tile_copy(self, load: kernel.LoadOp, tile: SwizzledTile, to: str, thread: str) -> TileCopy:
        cursor, _ = _cursor(load)
        array, dims = self.arrays[cursor.array], self.dims
        strides, offsets = non_item_offsets(cursor, array, dims)
        outer, lane = tile.type.outer_dim, tile.type.lane_dim
        assert outer is not None
        assert lane is not None
        axes = {outer: tile.rows, lane: tile.columns}
        corner = [item_offset(cursor, name, dims) for name in axes]
        limits = [self.ends.get(outer, dims[outer].extent), dims[lane].extent]
        ends = [
            # Of a list of the thread block's own there is only the current block.
            dims[name].width
            if name in cursor.here_dims and not dims[name].declared.is_whole
            else _end(dims[name], start, limit, length)
            for (name, length), start, limit in zip(axes.items(), corner, limits, strict=True)
        ]
        vector = vector_of(cursor, lane, array, dims, self.threads, tile.columns)
        # A check costs a comparison for each access, so only ends that a tile may exceed are checked.
        over = [
            word
            for word, (name, length) in zip(("rows", "cols"), axes.items(), strict=True)
            if name in self.ends or not dims[name].fills(length)
        ]
        return TileCopy(
            to=to,
            tile=tile,
            matrix=" + ".join([array.pointer, *offsets]),
            strides=(strides[outer], strides[lane]),
            corner=(corner[0], corner[1]),
            ends=(ends[0], ends[1]),
            vector=vector if strides[lane] == "1" else None,
            checked="" if len(over) == 2 else f"bb::ends::{over[0] if over else 'none'}",
            thread=thread,
        )

    def _vector_copy(self, load: kernel.LoadOp, to: str) -> VectorCopy:
        cursor, item = _cursor(load)
        (name,) = item.dims
        array, dim = self.arrays[cursor.array], self.dims[name]
        strides, offsets = non_item_offsets(cursor, array, self.dims)
        start = item_offset(cursor, name, self.dims)
        count = dim.extent if dim.declared.is_whole else f"min({dim.size}, {dim.extent} - {start})"
        return VectorCopy(
            to=to,
            source=" + ".join([array.pointer, *offsets, *([start] if start != "0" else [])]),
            stride=strides[name],
            count=count,
            room=dim.size,
            vector=vector_of(cursor, name, array, self.dims) or 1,
        )


def _cursor(load: kernel.LoadOp) -> tuple[kernel.CursorOp, kernel.CursorType]:
    cursor = load.source.owner
    assert isinstance(cursor, kernel.CursorOp)
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    return cursor, item


def _end(dim: Dim, start: str, end: str, length: int) -> str:
    """Expression of the end of a copy along a dim: the end of the block, if the tile is longer."""
    block = dim.block_length
    if dim.declared.is_whole or (block is not None and block >= length):
        return end
    return f"min({end}, {start} + {dim.size})"


# Text


def write_barrier(barrier: Barrier) -> list[str]:
    """Wait for the copies in flight, and for all threads."""
    return [*(["bb::cp_async_wait<0>();"] if barrier.waits_for_copies else []), "__syncthreads();"]


def write_fetch(fetch: Fetch) -> list[str]:
    """Start a copy."""
    return [f"// fetch {fetch.name}", *write_copy(fetch.copy), "bb::cp_async_commit();"]


def write_copy(copy: Copy) -> list[str]:
    """Copy a block to shared memory, asynchronously if the array's layout allows it."""
    if isinstance(copy, VectorCopy):
        if copy.stride != "1":
            element = f"({copy.source})[(long long)i * {copy.stride}]"
            loop = f"for (int i = threadIdx.x; i < {copy.count}; i += THREADS)"
            return [f"{loop} ({copy.to})[i] = {element};"]
        return [
            f"bb::fetch_vector<THREADS, {copy.vector}, {copy.room}>({copy.to}, {copy.source}, {copy.count});"
        ]
    tile, (row, col), (rows, cols) = copy.tile, copy.corner, copy.ends
    by_row, by_col = copy.strides
    if copy.vector is not None:
        checked = f", {copy.checked}" if copy.checked else ""
        kind = f"bb::reader<{tile.type_name}, THREADS, {copy.vector}{checked}>"
        thread = f", {copy.thread}" if copy.thread else ""
        ld = row_stride(by_row)
        return [f"{kind}({copy.matrix}, {ld}, {row}, {col}, {rows}, {cols}{thread}).load({copy.to});"]
    element = storage_type(tile.type.element_type)
    source = f"from[(long long)({row} + row) * {by_row} + (long long)({col} + col) * {by_col}]"
    return [
        "{",
        f"  const auto* from = {copy.matrix};",
        f"  for (int i = threadIdx.x; i < {tile.rows} * {tile.columns}; i += THREADS) {{",
        f"    const int row = i / {tile.columns}, col = i % {tile.columns};",
        f"    const bool inside = {row} + row < {rows} && {col} + col < {cols};",
        f"    {copy.to}(row, col) = inside ? {source} : {element}(0.0f);",
        "  }",
        "}",
    ]


def write_ring_start(ring: Ring) -> list[str]:
    """Declare the function that fetches, and fetch the blocks of the first iterations."""
    count, trips = ring.dim.number, ring.trips
    lines = [f"const int {trips} = {ring.trips_expression};"] if ring.trips_expression else []
    if ring.thread:
        lines.append(f"const int {ring.thread} = {OPAQUE_THREAD};")
    start = [f"const int {ring.dim.start} = {count} * {ring.dim.size};"] if ring.needs_start else []
    copies = [line for copy in ring.copies for line in write_copy(copy)]
    lines += [
        f"auto {ring.fetch} = [&](int {count}, int to) {{",
        *(f"  {line}" for line in [*start, *copies]),
        "};",
    ]
    for number in range(ring.stages - 1):
        ahead = str(number) if ring.first == "0" else f"{ring.first} + {number}" if number else ring.first
        lines += [f"if ({ahead} < {trips}) {ring.fetch}({ahead}, {number});", "bb::cp_async_commit();"]
    return lines


def write_ring_step(ring: Ring) -> list[str]:
    """Wait for the blocks of an iteration, and fetch those of a later one."""
    ahead, stages = f"{ring.dim.number} + {ring.stages - 1}", ring.stages
    return [
        f"bb::cp_async_wait<{stages - 2}>();",
        "__syncthreads();  // this block is there, and the one before is done with",
        f"if ({ahead} < {ring.trips}) {ring.fetch}({ahead}, ({ring.stage} + {stages - 1}) % {stages});",
        "bb::cp_async_commit();",
    ]


def write_ring_vectors(ring: Ring) -> list[str]:
    """Declare the vectors of the current stage."""
    return [f"auto* const {name} = {stage};" for name, stage in ring.vectors.items()]
