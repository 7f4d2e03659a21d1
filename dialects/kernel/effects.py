"""Which tiles an operation of a kernel reads and writes."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from .compute import ContractOp, FillOp, LoadOp, MoveOp, StoreOp, SweepOp
from .structure import ForOp


def tiles_read(op: Operation) -> tuple[SSAValue, ...]:
    """The tiles (and cursors) that one operation, without what it contains, reads."""
    match op:
        case LoadOp() | MoveOp() | StoreOp():
            return (op.source,)
        case ContractOp():
            scale = () if op.scale is None else (op.scale,)
            kept = (op.accumulator,) if op.accumulates or op.scale is not None else ()
            return (op.lhs, op.rhs, *scale, *kept)
        case SweepOp():
            return tuple(op.inputs)
        case _:
            return ()


def tiles_written(op: Operation) -> tuple[SSAValue, ...]:
    """The tiles (and cursors) that one operation, without what it contains, writes."""
    match op:
        case LoadOp() | MoveOp() | StoreOp():
            return (op.target,)
        case ContractOp():
            return (op.accumulator,)
        case FillOp():
            return (op.tile,)
        case SweepOp():
            return tuple(op.outputs)
        case _:
            return ()


def readers(tile: SSAValue) -> list[Operation]:
    """The operations that read a tile."""
    return list(dict.fromkeys(use.operation for use in tile.uses if tile in tiles_read(use.operation)))


def writers(tile: SSAValue) -> list[Operation]:
    """The operations that write a tile."""
    return list(dict.fromkeys(use.operation for use in tile.uses if tile in tiles_written(use.operation)))


def filled_contraction(fill: FillOp) -> ContractOp | None:
    """The contraction in a loop that a tile is filled with 0 for: all that the loop does with the tile.

    In the first iteration it may as well overwrite the tile. None where it is not as simple as that.
    """
    if fill.number != 0:
        return None
    loop = fill.next_op
    while loop is not None and not isinstance(loop, ForOp):
        if fill.tile in (*tiles_read(loop), *tiles_written(loop)) or loop.regions:
            return None
        loop = loop.next_op
    if loop is None or loop.until_dim is not None:
        return None
    inside = [user for user in (*readers(fill.tile), *writers(fill.tile)) if _stands_in(user, loop)]
    if len(set(inside)) != 1 or not isinstance(inside[0], ContractOp) or not inside[0].accumulates:
        return None
    return inside[0] if inside[0].parent_op() is loop else None


def loop_from_zero(op: ContractOp) -> ForOp | None:
    """The loop around a contraction that adds to a tile, if `filled_contraction` finds the two."""
    loop = op.parent_op()
    if not op.accumulates or not isinstance(loop, ForOp):
        return None
    for user in writers(op.accumulator):
        if isinstance(user, FillOp) and user.parent is loop.parent and filled_contraction(user) is op:
            return loop
    return None


def _stands_in(op: Operation, scope: Operation) -> bool:
    found: Operation | None = op
    while found is not None and found is not scope:
        found = found.parent_op()
    return found is scope
