"""Right operands that a kernel computes itself, such as keys and values from the rows of a short sequence.

Warps keep rows of their results, and each of them multiplies with all of a right operand. So the operand
moves from registers to a swizzled tile in shared memory once, directly after it has been computed. The same
holds for vectors of rows, such as norms of keys, that sweeps use as vectors of columns.
"""

from __future__ import annotations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ....dialects import kernel
from ....dialects.kernel import Lanes, Space


def is_only_right_operand(tile: SSAValue) -> bool:
    """True if contractions read a tile as their right operand, and nothing else reads it."""
    readers = kernel.readers(tile)
    return bool(readers) and all(
        isinstance(op, kernel.ContractOp) and op.rhs is tile and op.lhs is not tile for op in readers
    )


def share_right_operands(parallel: kernel.ParallelOp) -> None:
    """Write computed right operands to shared memory, in place, and copy vectors that are used over columns
    there.
    """
    contractions = [op for op in parallel.walk() if isinstance(op, kernel.ContractOp)]
    rows = {kernel.dims_of(op.accumulator)[0] for op in contractions}
    for op in list(parallel.walk()):
        if isinstance(op, kernel.SweepOp) and len(op.dims) == 2 and op.dims[0] in rows and op.dims[1] in rows:
            for index, value in enumerate(op.inputs):
                if kernel.dims_of(value) == (op.dims[1],):
                    op.operands[index] = _shared_vector(value, op, parallel)
    for op in list(parallel.walk()):
        if not isinstance(op, kernel.MoveOp) or not isinstance(op.target.owner, kernel.TileOp):
            continue
        tile, source = op.target, op.source
        writers = kernel.writers(source)
        if kernel.writers(tile) != [op] or not is_only_right_operand(tile):
            continue
        if len(kernel.dims_of(tile)) != 2 or all(isinstance(writer, kernel.LoadOp) for writer in writers):
            continue
        type = kernel.tile_type(tile)
        lanes = Lanes.Cols if type.dims == kernel.dims_of(source) else Lanes.Rows
        shared = kernel.TileType(type.dims, type.element_type, lanes, Space.Shared)
        Rewriter.replace_value_with_new_type(tile, shared)
        op.target.owner.swizzled = UnitAttr()
        if len(writers) == 1:
            _move_after(op, writers[0])


def _shared_vector(vector: SSAValue, sweep: kernel.SweepOp, parallel: kernel.ParallelOp) -> SSAValue:
    """The copy in shared memory of a vector that a kernel computes before a sweep reads it; the vector itself
    if it is loaded.
    """
    writers = kernel.writers(vector)
    bodies = {op.parent for op in writers}
    body = bodies.pop() if len(bodies) == 1 else None
    reader = None if body is None else body.find_ancestor_op_in_block(sweep)
    if body is None or reader is None:
        return vector
    last = [op for op in body.ops if op in writers][-1]
    if isinstance(last, kernel.LoadOp | kernel.MoveOp) or not last.is_before_in_block(reader):
        return vector
    for user in kernel.readers(vector):
        if isinstance(user, kernel.MoveOp) and kernel.tile_type(user.target).space.data is Space.Shared:
            return user.target
    return copy_to_shared(vector, kernel.element_type_of(vector), last, parallel).result


def copy_to_shared(
    value: SSAValue, element_type: Attribute, writer: Operation, parallel: kernel.ParallelOp
) -> kernel.TileOp:
    """Copy a tile to a new tile in shared memory, directly after an operation has written it; return the new
    one.
    """
    first, body = parallel.body.block.first_op, writer.parent
    assert first is not None
    assert isinstance(body, Block)
    shared_tile = kernel.TileOp(kernel.TileType(kernel.dims_of(value), element_type, space=Space.Shared))
    shared_tile.result.name_hint = value.name_hint
    parallel.body.block.insert_op_before(shared_tile, first)
    move = kernel.MoveOp(shared_tile.result, value)
    move.location = writer.location
    body.insert_op_after(move, writer)
    return shared_tile


def _move_after(move: Operation, writer: Operation) -> None:
    """Place a move directly after the operation that writes its source, outside of inner loops."""
    body = writer.parent
    if isinstance(body, Block) and body.find_ancestor_op_in_block(move) is not None:
        move.detach()
        body.insert_op_after(move, writer)
