"""The placement that any kernel has: tiles in shared memory, or in global memory where they do not fit."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ...dialects import block, kernel
from ...dialects.array.core import bit_width
from ...dialects.kernel import Lanes, Space
from ...dialects.kernel.sizes import tile_elements
from .lifetimes import arrange, lifetimes
from .options import OFFSET_ATTRIBUTE, THREADS_ATTRIBUTE
from .vectors import fetch_vectors

ALIGNMENT = 16
STAGED_BYTES = 48 * 1024
"""Up to how many bytes of a block of an array are brought to shared memory for a contraction."""


def place_generally(
    function: kernel.FuncOp, parallel: kernel.ParallelOp, shared_memory: int, threads: int
) -> None:
    """Place the tiles of one parallel loop of a kernel."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    drop_merges(parallel)
    _stage_operands(parallel, dims)
    lives = lifetimes(parallel.body.block)
    sizes: dict[SSAValue, int] = {}
    for op in parallel.walk():
        if isinstance(op, kernel.TileOp) and op.result in lives:
            size = tile_bytes(op.result, dims)
            if size is not None and size <= shared_memory:
                sizes[op.result] = size
    offsets, total = arrange(sizes, lives, ALIGNMENT)
    while total > shared_memory:
        del sizes[max(sizes, key=lambda tile: sizes[tile])]
        offsets, total = arrange(sizes, lives, ALIGNMENT)
    for tile, offset in offsets.items():
        set_space(tile, Space.Shared)
        tile.owner.attributes[OFFSET_ATTRIBUTE] = IntegerAttr(offset, i64)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    fetch_vectors(parallel)
    parallel.attributes[THREADS_ATTRIBUTE] = IntegerAttr(threads, i64)


def drop_merges(parallel: kernel.ParallelOp) -> None:
    """Let every loop run its iterations in order: thread blocks share none of them out."""
    for op in list(parallel.walk()):
        if isinstance(op, kernel.ForOp) and op.merge is not None:
            body = op.body
            op.detach_region(body)
            until = None if op.until_dim is None else (op.until_dim, op.until_offset)
            plain = kernel.ForOp(op.dim_names[0], body, until)
            plain.location = op.location
            parent = op.parent
            assert parent is not None
            parent.insert_op_before(plain, op)
            op.detach()
            op.erase()


def lane_padding(lanes: int, width: int) -> int:
    """The distance of rows of `lanes` elements of `width` bytes: an odd number of words, so that a warp that
    goes down a column meets every bank.
    """
    if width == 1:
        return lanes
    words = -(-lanes * width // 4)
    unit = max(1, width // 4)
    words = -(-words // unit) | 1 if unit > 1 else words | 1
    return words * max(4, width) // width


def tile_shape(type: kernel.TileType) -> tuple[str | None, str | None]:
    """The dims of the rows of lanes of a tile, and of the lanes."""
    return type.outer_dim, type.lane_dim


def tile_bytes(tile: SSAValue, dims: dict[str, block.DimAttr]) -> int | None:
    """The bytes of a tile in shared memory, where they are known."""
    type = tile.type
    assert isinstance(type, kernel.TileType)
    width = max(1, bit_width(type.element_type) // 8)
    outer, lane = tile_shape(type)

    def extent(name: str) -> int | None:
        return dims[name].static_extent

    if lane is None:
        return width
    if outer is None:
        count = tile_elements(type, dims, extent)
        return None if count is None else count * width
    rows = tile_elements(kernel.TileType([outer], type.element_type), dims, extent)
    lanes = tile_elements(kernel.TileType([lane], type.element_type), dims, extent)
    if rows is None or lanes is None:
        return None
    return rows * lane_padding(lanes, width) * width


def stage_bytes(tile: SSAValue, dims: dict[str, block.DimAttr]) -> int:
    """The bytes of one stage of a tile that is not swizzled, a multiple of 16."""
    return -(-(tile_bytes(tile, dims) or 0) // ALIGNMENT) * ALIGNMENT


def set_space(tile: SSAValue, space: Space) -> None:
    """Let a tile live somewhere else."""
    type = tile.type
    assert isinstance(type, kernel.TileType)
    new = kernel.TileType(type.dims, type.element_type, type.lanes.data, space)
    Rewriter.replace_value_with_new_type(tile, new)


def _stage_operands(parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr]) -> None:
    """Load what contractions read of arrays: each element is read from global memory once."""
    for op in list(parallel.walk()):
        if not isinstance(op, kernel.ContractOp):
            continue
        for index, value in enumerate((op.lhs, op.rhs), start=1):
            cursor = value.owner
            if not isinstance(cursor, kernel.CursorOp) or cursor.packed is not None:
                continue
            item = cursor.result.type
            assert isinstance(item, kernel.CursorType)
            columns_in_lanes = cursor.axis_dims[-1][-1:] != [item.dims[0]]
            type = kernel.TileType(
                item.dims, item.element_type, Lanes.Cols if columns_in_lanes else Lanes.Rows
            )
            tile = kernel.TileOp(type)
            size = tile_bytes(tile.result, dims)
            if size is None or size > STAGED_BYTES:
                continue
            tile.result.name_hint = value.name_hint
            parallel.body.block.insert_op_before(tile, parallel.body.block.first_op)  # pyright: ignore[reportArgumentType]
            load = kernel.LoadOp(tile.result, value)
            load.location = op.location
            parent = op.parent
            assert parent is not None
            parent.insert_op_before(load, op)
            op.operands[index] = tile.result
