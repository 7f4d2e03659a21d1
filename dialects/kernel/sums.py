"""Sums in loops whose first term may overwrite the accumulator, so that it need not be filled with zeros."""

from __future__ import annotations

from .contract import ContractOp
from .effects import readers, tiles_read, tiles_written, writers
from .loops import ForOp
from .moves import FillOp


def filled_contraction(fill: FillOp) -> ContractOp | None:
    """The only contraction into a tile that is filled with 0 before a loop, if the loop does nothing else
    with the tile.

    Its first iteration may then overwrite the tile instead of adding to it. None in all other cases.
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
    body = loop.body.block
    users = (*readers(fill.tile), *writers(fill.tile))
    inside = [user for user in users if body.find_ancestor_op_in_block(user) is not None]
    if len(set(inside)) != 1 or not isinstance(inside[0], ContractOp) or not inside[0].accumulates:
        return None
    return inside[0] if inside[0].parent_op() is loop else None


def loop_from_zero(op: ContractOp) -> ForOp | None:
    """The loop around a contraction whose accumulator need not be filled first, by `filled_contraction`; else
    None.
    """
    loop = op.parent_op()
    if not op.accumulates or not isinstance(loop, ForOp):
        return None
    for user in writers(op.accumulator):
        if isinstance(user, FillOp) and user.parent is loop.parent and filled_contraction(user) is op:
            return loop
    return None
