"""`kernel-in-place`: lets sweeps work directly on arrays, and writes results past the caches."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ...dialects import kernel
from ...dialects.kernel import CursorOp, LoadOp, StoreOp, SweepOp, TileOp, TileType


@dataclass(frozen=True)
class KernelInPlacePass(ModulePass):
    """Mark loads whose tile may be the block of the array, and stores that may be written past the caches.

    `kernel.load … in_place`: nothing else writes to the tile, so nothing need be copied. `ahead`: rows that
    several sweeps go over leave memory idle in between; the next one is fetched meanwhile. `kernel.store …
    in_place`: the sweep that computes the tile may write to the array. `stream`: nothing in the kernel reads
    the block again. Whether an array's layout and size allow what a word says is seen when the kernel runs.
    """

    name = "kernel-in-place"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in kernel.kernels_of(op):
            mark_moves(function)


def mark_moves(function: kernel.FuncOp) -> None:
    """Mark the loads and stores of one kernel."""
    rows_only = kernel.sweeps_only(function)
    for op in list(function.walk()):
        if isinstance(op, StoreOp) and _leaves(op):
            op.stream = UnitAttr()
            if rows_only:
                _write_to_array(op)
        elif isinstance(op, LoadOp) and rows_only and _is_read_only(op):
            op.in_place = UnitAttr()
            if _is_swept_again(op):
                op.ahead = UnitAttr()


def _leaves(op: StoreOp) -> bool:
    """True if a store writes rows of a result, each element once, and nothing in the kernel reads them."""
    cursor, type = op.target.owner, op.source.type
    if not isinstance(cursor, CursorOp) or not isinstance(type, TileType) or len(type.dims) != 2:
        return False
    if not kernel.is_output(cursor.array):
        return False
    if kernel.in_redo(op):
        return False
    users = [use.operation for use in cursor.array.uses if use.operation is not cursor]
    others = [user for user in users if not kernel.in_redo(user)]
    if others or len(list(cursor.result.uses)) != 1:
        return False
    # In a loop over a dim that the array has no axis over, the block would be written again and again.
    named = {dim for axis in cursor.axis_dims for dim in axis}
    around = op.parent_op()
    while isinstance(around, kernel.ForOp | kernel.ParallelOp):
        if not named.issuperset(around.dim_names):
            return False
        around = around.parent_op()
    return True


def _has_columns_in_lanes(tile: SSAValue) -> bool:
    return (
        isinstance(tile.owner, TileOp)
        and isinstance(tile.type, TileType)
        and bool(tile.type.dims)
        and not tile.type.rows_in_lanes
    )


def _is_read_only(op: LoadOp) -> bool:
    """True if only a load writes its tile, and all readers come after it, in one body."""
    cursor, tile = op.source.owner, op.target
    return (
        isinstance(cursor, CursorOp)
        and kernel.is_input(cursor.array)
        and _has_columns_in_lanes(tile)
        and kernel.writers(tile) == [op]
        and all(isinstance(reader, SweepOp) and kernel.follows(reader, op) for reader in kernel.readers(tile))
    )


def _is_swept_again(op: LoadOp) -> bool:
    """True if several sweeps go over the rows of a tile. For a single sweep the hardware prefetches by
    itself.
    """
    type, body = op.target.type, op.parent
    assert body is not None
    if not isinstance(type, TileType) or len(type.dims) != 2:
        return False
    sweeps = [each for each in body.ops if isinstance(each, SweepOp) and each.dims == type.dims]
    return len(sweeps) > 1


def _write_to_array(op: StoreOp) -> None:
    """Let the sweep write to the array, if nothing else uses the tile; its cursor comes first."""
    tile, cursor = op.source, op.target.owner
    assert isinstance(cursor, CursorOp)
    if not _has_columns_in_lanes(tile) or kernel.readers(tile) != [op]:
        return
    writers = kernel.writers(tile)
    if len(writers) != 1 or not isinstance(writers[0], SweepOp) or writers[0].parent is not op.parent:
        return
    if not writers[0].is_before_in_block(op):
        return
    body = op.parent
    assert isinstance(body, Block)
    if writers[0].is_before_in_block(cursor):
        cursor.detach()
        body.insert_op_before(cursor, writers[0])
    op.in_place = UnitAttr()
