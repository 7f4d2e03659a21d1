"""The placement of kernels without contractions: whole rows in registers, each read once and written once.

A row belongs to a warp or, if it is long, to all of a block. Its threads hold pieces of it, and reduce along
it by shuffles. Such kernels are limited by memory, and need only wide accesses. A kernel that merges the
parts of a loop is one, too: it goes over parts of each row.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64

from ....dialects import block, kernel
from ....dialects.kernel import Output, Space
from ....dialects.kernel.tile_layouts import length_of
from .general import set_space
from .rows import HELD_TYPES

GROUPS = (32, 128, 256)
"""Numbers of threads that may hold a row together."""
MOST_ELEMENTS = 32
"""Elements of a row that a thread holds at most, if a larger group could hold the row."""
MOST_AT_ALL = 64
THREADS = 128


def place_whole_rows(parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr]) -> bool:
    """Place the tiles of one parallel loop; return False, and change nothing, if the form does not apply."""
    tiles = [op for op in parallel.walk() if isinstance(op, kernel.TileOp) and op.result.uses]
    shapes = {_type(op).dims for op in tiles}
    blocks = {shape for shape in shapes if len(shape) == 2}
    if len(blocks) != 1:
        return False
    rows, columns = blocks.pop()
    if not shapes <= {(rows, columns), (rows,), (columns,)} or rows == columns:
        return False
    length = length_of(dims, columns)
    if length is None or (dims[columns].static_extent or 1) % length or length_of(dims, rows) is None:
        return False
    if any(not isinstance(_type(op).element_type, HELD_TYPES) for op in tiles):
        return False
    if not all(_fits(op, rows, dims) for op in parallel.body.block.ops):
        return False
    group = next((each for each in GROUPS if -(-length // each) <= MOST_ELEMENTS), GROUPS[-1])
    if -(-length // group) > MOST_AT_ALL:
        return False
    for op in tiles:
        set_space(op.result, Space.Register)
        op.offset = None
    parallel.threads = IntegerAttr(max(group, THREADS), i64)
    parallel.group = IntegerAttr(group, i64)
    return True


def _type(op: kernel.TileOp) -> kernel.TileType:
    assert isinstance(op.result.type, kernel.TileType)
    return op.result.type


def _fits(op: object, rows: str, dims: dict[str, block.DimAttr]) -> bool:
    match op:
        case kernel.ForOp():
            plain = op.merge is None and op.until is None and op.part is None
            return (
                plain
                and dims[op.dim_names[0]].is_batch
                and not any(isinstance(inner, kernel.ForOp) for inner in op.body.block.ops)
                and all(_fits(inner, rows, dims) for inner in op.body.block.ops)
            )
        case kernel.TileOp() | kernel.CursorOp() | kernel.FillOp() | kernel.MoveOp():
            return True
        case kernel.LoadOp() | kernel.StoreOp():
            cursor = op.source.type if isinstance(op, kernel.LoadOp) else op.target.type
            assert isinstance(cursor, kernel.CursorType)
            is_row = isinstance(op, kernel.LoadOp) or rows in cursor.dims
            return is_row and isinstance(cursor.element_type, HELD_TYPES)
        case kernel.SweepOp():
            along = rows in op.dims
            return (
                bool(op.dims)
                and (len(op.dims) == 2 or all(kind is Output.Each for kind in op.output_kinds))
                and (along or not any(rows in kernel.dims_of(value) for value in op.operands))
            )
        case _:
            return False
