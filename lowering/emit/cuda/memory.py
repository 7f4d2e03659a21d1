"""Memory of a kernel: tiles and buffers in registers, in shared memory and in a block's own global memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import tf32
from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel
from ....dialects.array.core import bit_width
from ....dialects.diagnostics import OpError
from ....dialects.kernel import Space
from ....dialects.kernel.tile_layouts import (
    exchange_bytes,
    lane_padding,
    padded,
    stage_bytes,
    swizzled_bytes,
    swizzled_shape,
    tile_bytes,
    tile_shape,
)
from ..names import Names
from .barriers import Place
from .geometry import Array, Dim, Length, Size, block_length, buffer_lengths
from .held import Columns, Held, WarpGrid
from .placed import is_fetched_ahead, is_swizzled, offset_of, stages_of, stages_of_tile
from .scalars import element_bytes
from .tiles import (
    BufferDeclaration,
    OwnPlace,
    SharedPlace,
    SwizzledDeclaration,
    SwizzledTile,
    Tile,
    TileDeclaration,
    buffer_strides,
)

Declaration = Columns | Held | TileDeclaration | SwizzledDeclaration | BufferDeclaration
NO_WARPS = WarpGrid(1, 1, {})
"""The grid of a kernel without tiles in registers."""


@dataclass(frozen=True)
class Sizes:
    """Bytes of shared memory that tiles and operations take."""

    declared: dict[str, block.DimAttr]
    grid: WarpGrid

    def plain(self, tile: SSAValue) -> int:
        """Bytes of all stages of a tile that is not swizzled."""
        return stage_bytes(tile, self.declared) * (stages_of_tile(tile) or 1)

    def swizzled(self, tile: SSAValue) -> int:
        """Bytes of all stages of a swizzled tile."""
        width = element_bytes(kernel.tile_type(tile).element_type)
        return swizzled_bytes(tile, self.declared, self.grid.warps, width) * (stages_of_tile(tile) or 1)

    def of_operation(self, op: Operation) -> int:
        """Bytes that a store or a sweep with an offset of its own needs during its run."""
        if isinstance(op, kernel.SweepOp):
            return exchange_bytes(op, self.declared, self.grid.warps, self.grid.columns)
        assert isinstance(op, kernel.StoreOp)
        item = op.target.type
        assert isinstance(item, kernel.CursorType)
        return swizzled_bytes(op.source, self.declared, self.grid.warps, bit_width(item.element_type) // 8)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The tiles and buffers of one parallel loop, with their names and places."""

    sizes: Sizes
    declarations: tuple[Declaration, ...] = ()
    tiles: Mapping[SSAValue, Tile] = field(default_factory=dict[SSAValue, Tile])
    """Tiles in shared or global memory."""
    staged: Mapping[SSAValue, SwizzledTile] = field(default_factory=dict[SSAValue, SwizzledTile])
    """Those of `tiles` that are swizzled."""
    held: Mapping[SSAValue, Held] = field(default_factory=dict[SSAValue, Held])
    """Tiles in registers."""
    buffers: Mapping[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    scratch: tuple[Size, ...] = ()
    """Sizes of the tiles and buffers in global memory."""
    shared_bytes: int = 0

    def vector_stage(self, tile: SSAValue, stage: str) -> str:
        """Expression of the first element of a stage of a vector that is fetched ahead."""
        length = stage_bytes(tile, self.sizes.declared)
        length //= element_bytes(kernel.tile_type(tile).element_type)
        return f"{self.tiles[tile].pointer}_stages + {stage} * {length}"

    def accesses(self, op: Operation) -> tuple[set[Place], set[Place]]:
        """The places that an operation reads and writes, except those of a single thread."""
        if isinstance(op, kernel.ForOp):
            fetched = [inner for inner in op.body.block.ops if is_fetched_ahead(inner)]
            loads = [inner for inner in fetched if isinstance(inner, kernel.LoadOp)]
            return self._places(load.source for load in loads), self._places(load.target for load in loads)
        if is_fetched_ahead(op):
            return set(), set()
        reads, writes = self._places(kernel.tiles_read(op)), self._places(kernel.tiles_written(op))
        if isinstance(op, kernel.StoreOp | kernel.SweepOp) and (offset := offset_of(op)) is not None:
            writes.add(("shared", offset, offset + self.sizes.of_operation(op)))
        return reads, writes

    def _places(self, values: Iterable[SSAValue]) -> set[Place]:
        return {place for value in values if (place := self._place(value)) is not None}

    def _place(self, value: SSAValue) -> Place | None:
        if isinstance(value.owner, kernel.CursorOp):
            array = value.owner.array
            return None if kernel.is_input(array) else (array, 0, 1)
        if value in self.held:
            return None
        offset = offset_of(value.owner) if isinstance(value.owner, Operation) else None
        if offset is None:
            return (value, 0, 1)
        size = self.sizes.swizzled(value) if value in self.staged else self.sizes.plain(value)
        return ("shared", offset, offset + size)


def plan_memory(
    parallel: kernel.ParallelOp,
    declared: dict[str, block.DimAttr],
    dims: Mapping[str, Dim],
    names: Names,
    grid: WarpGrid,
) -> Memory:
    """Name and place the tiles and buffers of a parallel loop. Raises OpError for a tile without a place."""
    planner = _MemoryPlanner(Sizes(declared, grid), dims, names)
    for op in parallel.walk():
        planner.add(op)
    return Memory(
        sizes=planner.sizes,
        declarations=tuple(planner.declarations),
        tiles=planner.tiles,
        staged=planner.staged,
        held=planner.held,
        buffers=planner.buffers,
        scratch=tuple(planner.scratch),
        shared_bytes=planner.shared_bytes,
    )


@dataclass
class _MemoryPlanner:
    """The parts of a `Memory` while it is planned, operation by operation."""

    sizes: Sizes
    dims: Mapping[str, Dim]
    names: Names
    declarations: list[Declaration] = field(default_factory=list[Declaration])
    columns: dict[str, Columns] = field(default_factory=dict[str, Columns])
    tiles: dict[SSAValue, Tile] = field(default_factory=dict[SSAValue, Tile])
    staged: dict[SSAValue, SwizzledTile] = field(default_factory=dict[SSAValue, SwizzledTile])
    held: dict[SSAValue, Held] = field(default_factory=dict[SSAValue, Held])
    buffers: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])
    scratch: list[Size] = field(default_factory=list[Size])
    shared_bytes: int = 0
    own_end: str = "0"
    """Expression of the first free byte of the block's own global memory."""

    def add(self, op: Operation) -> None:
        """Plan the memory of one operation."""
        match op:
            case kernel.TileOp() if op.result.uses:
                self._tile(op)
            case kernel.BufferOp():
                self._buffer(op)
            case kernel.StoreOp() | kernel.SweepOp():
                if (offset := offset_of(op)) is not None:
                    self._take_shared(offset, self.sizes.of_operation(op))
            case _:
                pass

    def _take_shared(self, offset: int, size: int) -> None:
        self.shared_bytes = max(self.shared_bytes, offset + -(-size // 16) * 16)

    def _take_own(self, name: str, size: Size) -> OwnPlace:
        place = OwnPlace(self.own_end)
        self.scratch.append(size)
        self.own_end = place.end(name, size, self.dims)
        return place

    def _tile(self, op: kernel.TileOp) -> None:
        type = kernel.tile_type(op.result)
        name = self.names.claim(op.result.name_hint or "tile", "_ld", "_at", "_tile", "_stages")
        if type.space.data is Space.Register:
            cols = self._columns(type.dims[1]) if len(type.dims) == 2 else None
            held = Held(name, type, self.sizes.grid.rows[type.dims[0]], cols)
            self.held[op.result] = held
            self.declarations.append(held)
        elif is_swizzled(op):
            self._swizzled(op, type, name)
        else:
            self._plain(op, type, name)

    def _columns(self, dim: str) -> Columns:
        """The columns of a dim's blocks that a warp holds."""
        if dim not in self.columns:
            length = block_length(dim, self.sizes.declared)
            assert isinstance(length, int)
            whole, across = padded(length), self.sizes.grid.columns
            first = "0" if across == 1 else self.names.claim(f"{self.dims[dim].extent}col0")
            self.columns[dim] = Columns(whole // across, first, whole)
            self.declarations.append(self.columns[dim])
        return self.columns[dim]

    def _plain(self, op: kernel.TileOp, type: kernel.TileType, name: str) -> None:
        width = element_bytes(type.element_type)
        lengths: list[Length] = [
            block_length(dim, self.sizes.declared) for dim in tile_shape(type) if dim is not None
        ]
        if len(lengths) == 2 and isinstance(lengths[1], int):
            lengths[1] = lane_padding(lengths[1], width)
        if type.space.data is Space.Shared:
            offset = offset_of(op)
            if offset is None or tile_bytes(op.result, self.sizes.declared) is None:
                raise OpError(op, "is in shared memory, but has no offset there or no known size")
            self._take_shared(offset, self.sizes.plain(op.result))
            place = SharedPlace(offset)
        else:
            place = self._take_own(name, Size((*lengths, width)))
        lanes = lengths[1] if len(lengths) == 2 else None
        tile = Tile(name, "" if lanes is None else f"{name}_ld", type)
        self.tiles[op.result] = tile
        self.declarations.append(TileDeclaration(tile=tile, lanes=lanes, place=place, stages=stages_of(op)))

    def _swizzled(self, op: kernel.TileOp, type: kernel.TileType, name: str) -> None:
        outer, lane = tile_shape(type)
        offset = offset_of(op)
        if outer is None or lane is None or offset is None or type.space.data is not Space.Shared:
            raise OpError(op, "is swizzled, but no block at an offset of shared memory")
        rows, columns = swizzled_shape(op.result, self.sizes.declared, self.sizes.grid.warps)
        tile = SwizzledTile(
            name,
            "",
            type,
            name=name,
            type_name=f"{name}_tile",
            rows=rows,
            columns=columns,
            stages=stages_of(op) or 1,
            in_tf32=any(
                isinstance(use.operation, kernel.ContractOp) and use.operation.multiply == tf32
                for use in op.result.uses
            ),
        )
        self.tiles[op.result] = self.staged[op.result] = tile
        self._take_shared(offset, self.sizes.swizzled(op.result))
        self.declarations.append(SwizzledDeclaration(tile=tile, offset=offset))

    def _buffer(self, op: kernel.BufferOp) -> None:
        type = op.result.type
        assert isinstance(type, kernel.ArrayType)
        lengths = buffer_lengths(op, self.sizes.declared)
        name = self.names.claim(op.result.name_hint or "list", "_at")
        place = self._take_own(name, Size((*lengths, element_bytes(type.element_type))))
        self.buffers[op.result] = Array(name, buffer_strides(lengths, self.dims))
        self.declarations.append(BufferDeclaration(op=op, name=name, place=place))
