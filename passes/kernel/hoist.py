"""`kernel-hoist`: moves operations that are the same in every iteration of a loop before the loop."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects import kernel
from ...dialects.kernel import Quantity, tiles_read, tiles_written


@dataclass(frozen=True)
class KernelHoistPass(ModulePass):
    """Move loads and sweeps out of sequential loops that they do not depend on.

    The queries of an attention are then packed once, and not again for every block of keys.
    """

    name = "kernel-hoist"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        loops = [inner for inner in op.walk() if isinstance(inner, kernel.ForOp)]
        for loop in reversed(loops):  # what leaves an inner loop may leave the one around it as well
            hoist(loop)


def hoist(loop: kernel.ForOp) -> None:
    """Move operations that do not depend on a loop before it."""
    body = loop.body.block
    for op in list(body.ops):
        if _is_invariant(op, loop):
            op.detach()
            parent = loop.parent
            assert parent is not None
            parent.insert_op_before(op, loop)


def _is_invariant(op: Operation, loop: kernel.ForOp) -> bool:
    (dim,) = loop.dim_names
    body = loop.body.block
    match op:
        case kernel.CursorOp():
            pinned = (*op.first_dims, *op.here_dims)
            return all(name != dim or name in pinned for axis in op.axis_dims for name in axis)
        case kernel.LoadOp():
            cursor = op.source.owner
            if not isinstance(cursor, kernel.CursorOp) or not kernel.is_input(cursor.array):
                return False  # a buffer or a result may be written in the loop
        case kernel.SweepOp():
            for inner in op.body.block.ops:
                if (
                    isinstance(inner, kernel.QuantityOp)
                    and inner.dim_name == dim
                    and inner.kind.data in (Quantity.Index, Quantity.Width)
                ):
                    return False
            if dim in op.dims:
                return False
        case _:
            return False
    return all(not _changes_in(value, body) for value in tiles_read(op)) and all(
        kernel.writers(tile) == [op] and not _read_before(tile, op) for tile in tiles_written(op)
    )


def _changes_in(value: SSAValue, body: Block) -> bool:
    """True if the body of a loop defines a value, or writes to it."""
    if isinstance(value.owner, kernel.CursorOp):
        return value.owner.parent is body
    return any(_stands_in(writer, body) for writer in kernel.writers(value))


def _read_before(tile: SSAValue, op: Operation) -> bool:
    """True if a tile is read before it is written, so that it carries a value from the iteration before."""
    body = op.parent
    assert body is not None
    around = [body.find_ancestor_op_in_block(reader) for reader in kernel.readers(tile)]
    return any(each is not None and each is not op and each.is_before_in_block(op) for each in around)


def _stands_in(op: Operation, body: Block) -> bool:
    block: Block | None = op.parent
    while block is not None and block is not body:
        parent = block.parent_op()
        block = None if parent is None else parent.parent
    return block is body
