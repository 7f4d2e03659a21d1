"""The placement that works for any kernel: tiles in shared memory, or in global memory if they do not fit."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ....dialects import block, kernel
from ....dialects.kernel import Lanes, Space
from ....dialects.kernel.placement import ACCESS_ALIGNMENT
from ....dialects.kernel.tile_layouts import tile_bytes
from .lifetimes import arrange, lifetimes
from .vectors import fetch_vectors

STAGED_BYTES = 48 * 1024
"""Largest block of an array, in bytes, that is loaded to shared memory for a contraction."""


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
    offsets, total = arrange(sizes, lives, ACCESS_ALIGNMENT)
    while total > shared_memory:
        del sizes[max(sizes, key=lambda tile: sizes[tile])]
        offsets, total = arrange(sizes, lives, ACCESS_ALIGNMENT)
    for tile, offset in offsets.items():
        set_space(tile, Space.Shared)
        assert isinstance(tile.owner, kernel.TileOp)
        tile.owner.offset = IntegerAttr(offset, i64)
    fetch_vectors(parallel)
    parallel.threads = IntegerAttr(threads, i64)


def drop_merges(parallel: kernel.ParallelOp) -> None:
    """Let every loop run its iterations in order: they are not divided among thread blocks."""
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


def set_space(tile: SSAValue, space: Space) -> None:
    """Move a tile to another memory space."""
    type = tile.type
    assert isinstance(type, kernel.TileType)
    new = kernel.TileType(type.dims, type.element_type, type.lanes.data, space)
    Rewriter.replace_value_with_new_type(tile, new)


def _stage_operands(parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr]) -> None:
    """Load blocks of arrays that contractions read, so that each element is read from global memory once."""
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
