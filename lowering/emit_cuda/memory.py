"""Where the tiles and buffers of a kernel lie: registers, shared memory, global memory of the block's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import tf32
from xdsl.ir import Operation, SSAValue

from ...dialects import block, kernel
from ...dialects.array.core import bit_width
from ...dialects.diagnostics import OpError
from ...dialects.kernel import Space
from ...dialects.kernel.placement import OFFSET_ATTRIBUTE, STAGES_ATTRIBUTE, SWIZZLED_ATTRIBUTE, integer
from ...dialects.kernel.tile_layouts import (
    exchange_bytes,
    lane_padding,
    padded,
    stage_bytes,
    swizzled_bytes,
    swizzled_shape,
    tile_bytes,
    tile_shape,
)
from ..emit_cpp.names import Names
from ..source_text import comment_text
from .barriers import Place
from .geometry import Array, Dim, Length, Size, block_length, buffer_lengths, length_text, product_text
from .held import Columns, Held, Rows
from .scalars import element_bytes, storage_type
from .staging import Staged, is_fetched_ahead
from .statements import SwizzledTile, Tile


@dataclass
class Memory:
    """The memory of one parallel loop, and the names of what lies in it."""

    parallel: kernel.ParallelOp
    declared: dict[str, block.DimAttr]
    dims: Mapping[str, Dim]
    names: Names
    arrays: dict[SSAValue, Array]
    rows: Mapping[str, Rows]
    """Of the dims whose blocks warps share out."""
    warps: int = 1
    """How many share out the rows."""
    grid_columns: int = 1
    """How many share out the columns."""
    columns: dict[str, Columns] = field(default_factory=dict[str, Columns])
    """Of the dims whose blocks they share out."""
    tiles: dict[SSAValue, Tile] = field(default_factory=dict[SSAValue, Tile])
    """Tiles in shared or global memory."""
    held: dict[SSAValue, Held] = field(default_factory=dict[SSAValue, Held])
    """Tiles in registers."""
    staged: dict[SSAValue, Staged] = field(default_factory=dict[SSAValue, Staged])
    """Those of the tiles in shared memory that are swizzled."""
    scratch: list[Size] = field(default_factory=list[Size])
    """What lies in global memory."""
    shared_bytes: int = 0
    _far_end: str = "0"

    def lines(self) -> list[str]:
        """The lines that declare tiles and buffers. Raises OpError for a tile without a place."""
        lines: list[str] = []
        for op in self.parallel.walk():
            if isinstance(op, kernel.TileOp) and op.result.uses:
                lines += self._tile(op)
            elif isinstance(op, kernel.BufferOp):
                lines += self._buffer(op)
            elif isinstance(op, kernel.StoreOp) and (offset := integer(op, OFFSET_ATTRIBUTE)) is not None:
                self._takes(offset, self._store_bytes(op))
            elif isinstance(op, kernel.SweepOp) and (offset := integer(op, OFFSET_ATTRIBUTE)) is not None:
                self._takes(offset, self._exchange_bytes(op))
        return lines

    def _takes(self, offset: int, size: int) -> None:
        self.shared_bytes = max(self.shared_bytes, offset + -(-size // 16) * 16)

    def _tile(self, op: kernel.TileOp) -> list[str]:
        type = kernel.tile_type(op.result)
        what = f"[{', '.join(comment_text(dim) for dim in type.dims)}]"
        name = self.names.claim(op.result.name_hint or "tile", "_ld", "_at", "_tile", "_stages")
        if type.space.data is Space.Register:
            cols, lines = self._cols(type.dims[1]) if len(type.dims) == 2 else (None, list[str]())
            held = self.held[op.result] = Held(name, type, self.rows[type.dims[0]], cols)
            return [*lines, f"{held.declaration}  // {what}"]
        if SWIZZLED_ATTRIBUTE in op.attributes:
            return self._swizzled(op, type, name)
        width = element_bytes(type.element_type)
        lengths: list[Length] = [
            block_length(dim, self.declared) for dim in tile_shape(type) if dim is not None
        ]
        stride, lines = "", list[str]()
        if len(lengths) == 2:
            stride = f"{name}_ld"
            if isinstance(lengths[1], int):
                lengths[1] = lane_padding(lengths[1], width)
                lines.append(f"constexpr int {stride} = {lengths[1]};")
            else:
                lines.append(f"const int {stride} = {length_text(lengths[1], self.dims)};")
        if type.rows_in_lanes:
            what += ", rows contiguous"
        if type.space.data is Space.Shared:
            offset, size = integer(op, OFFSET_ATTRIBUTE), tile_bytes(op.result, self.declared)
            if offset is None or size is None:
                raise OpError(op, "is in shared memory, but has no offset there or no known size")
            self._takes(offset, self._shared_bytes(op.result))
            where = f"bb_shared + {offset}"
        else:
            where = f"own_scratch + {self._far(name, Size((*lengths, width)), lines)}"
            what += ", in global memory"
        element = storage_type(type.element_type)
        self.tiles[op.result] = Tile(name, stride, type)
        if (stages := integer(op, STAGES_ATTRIBUTE)) is not None:
            name, what = f"{name}_stages", f"{what}, {stages} stages"
        lines.append(f"{element}* const {name} = ({element}*)({where});  // {what}")
        return lines

    def _swizzled(self, op: kernel.TileOp, type: kernel.TileType, name: str) -> list[str]:
        outer, lane = tile_shape(type)
        offset = integer(op, OFFSET_ATTRIBUTE)
        if outer is None or lane is None or offset is None or type.space.data is not Space.Shared:
            raise OpError(op, "is swizzled, but no block at an offset of shared memory")
        stages = integer(op, STAGES_ATTRIBUTE) or 1
        rows, columns = swizzled_shape(op.result, self.declared, self.warps)
        in_tf32 = any(
            isinstance(use.operation, kernel.ContractOp) and use.operation.multiply == tf32
            for use in op.result.uses
        )
        staged = Staged(name, f"{name}_tile", type, rows, columns, stages, in_tf32)
        self.staged[op.result] = staged
        self.tiles[op.result] = SwizzledTile(name, "", type)
        self._takes(offset, self._staged_bytes(op.result))
        return staged.declarations(offset)

    def _cols(self, dim: str) -> tuple[Columns, list[str]]:
        """The columns of a dim's blocks that a warp has, and the lines that say so."""
        if dim in self.columns:
            return self.columns[dim], []
        length = block_length(dim, self.declared)
        assert isinstance(length, int)
        whole = padded(length)
        if self.grid_columns == 1:
            found, lines = Columns(whole, "0", whole), list[str]()
        else:
            count, first = whole // self.grid_columns, self.names.claim(f"{self.dims[dim].extent}col0")
            found = Columns(count, first, whole)
            lines = [f"const int {first} = bb::warp_id() % {self.grid_columns} * {count};"]
        self.columns[dim] = found
        return found, lines

    def vector_stage(self, tile: SSAValue, stage: str) -> str:
        """Where the vector of a stage begins, of a vector that is fetched ahead."""
        length = stage_bytes(tile, self.declared) // element_bytes(kernel.tile_type(tile).element_type)
        return f"{self.tiles[tile].pointer}_stages + {stage} * {length}"

    def _shared_bytes(self, tile: SSAValue) -> int:
        """The bytes of a tile that is not swizzled, in all its stages."""
        stages = integer(tile.owner, STAGES_ATTRIBUTE) if isinstance(tile.owner, Operation) else None
        return stage_bytes(tile, self.declared) * (stages or 1)

    def _staged_bytes(self, tile: SSAValue) -> int:
        width = element_bytes(kernel.tile_type(tile).element_type)
        return swizzled_bytes(tile, self.declared, self.warps, width) * self.staged[tile].stages

    def _store_bytes(self, op: kernel.StoreOp) -> int:
        item = op.target.type
        assert isinstance(item, kernel.CursorType)
        return swizzled_bytes(op.source, self.declared, self.warps, bit_width(item.element_type) // 8)

    def _exchange_bytes(self, op: kernel.SweepOp) -> int:
        return exchange_bytes(op, self.declared, self.warps, self.grid_columns)

    def _far(self, name: str, size: Size, lines: list[str]) -> str:
        """Room in the block's own global memory; gives the offset."""
        self.scratch.append(size)
        lines.append(f"const long long {name}_at = {self._far_end};")
        self._far_end = f"{name}_at + {size.text(self.dims)}"
        return f"{name}_at"

    def _buffer(self, op: kernel.BufferOp) -> list[str]:
        type = op.result.type
        assert isinstance(type, kernel.ArrayType)
        lengths = buffer_lengths(op, self.declared)
        name = self.names.claim(op.result.name_hint or "list", "_at")
        texts = [length_text(length, self.dims) for length in lengths]
        strides = tuple(product_text([[text] for text in texts[axis + 1 :]]) for axis in range(len(texts)))
        lines: list[str] = []
        element = storage_type(type.element_type)
        offset = self._far(name, Size((*lengths, element_bytes(type.element_type))), lines)
        axes = ", ".join(comment_text(dim) for dim in op.axis_dims)
        lines.append(f"{element}* const {name} = ({element}*)(own_scratch + {offset});  // list [{axes}]")
        self.arrays[op.result] = Array(name, strides)
        return lines

    # What threads may see of each other's

    def accesses(self, op: Operation) -> tuple[set[Place], set[Place]]:
        """The places that an operation reads and writes, those aside that a thread alone sees."""
        if isinstance(op, kernel.ForOp):
            fetched = [
                inner
                for inner in op.body.block.ops
                if isinstance(inner, kernel.LoadOp) and is_fetched_ahead(inner)
            ]
            return (
                {where for load in fetched if (where := self._place(load.source)) is not None},
                {where for load in fetched if (where := self._place(load.target)) is not None},
            )
        if is_fetched_ahead(op):
            return set(), set()
        reads = {where for value in kernel.tiles_read(op) if (where := self._place(value)) is not None}
        writes = {where for value in kernel.tiles_written(op) if (where := self._place(value)) is not None}
        if isinstance(op, kernel.StoreOp) and (offset := integer(op, OFFSET_ATTRIBUTE)) is not None:
            writes.add(("shared", offset, offset + self._store_bytes(op)))
        if isinstance(op, kernel.SweepOp) and (offset := integer(op, OFFSET_ATTRIBUTE)) is not None:
            writes.add(("shared", offset, offset + self._exchange_bytes(op)))
        return reads, writes

    def _place(self, value: SSAValue) -> Place | None:
        if isinstance(value.owner, kernel.CursorOp):
            array = value.owner.array
            return None if kernel.is_input(array) else (array, 0, 1)
        if value in self.held:
            return None
        offset = integer(value.owner, OFFSET_ATTRIBUTE) if isinstance(value.owner, Operation) else None
        if offset is None:
            return (value, 0, 1)
        if value in self.staged:
            return ("shared", offset, offset + self._staged_bytes(value))
        return ("shared", offset, offset + self._shared_bytes(value))
