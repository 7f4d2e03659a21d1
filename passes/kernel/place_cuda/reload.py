"""Reloads of tiles after loops that do not use them, if registers do not hold all live tiles."""

from __future__ import annotations

from itertools import pairwise

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import kernel
from .rows import RowPlan


def load_again(plan: RowPlan) -> bool:
    """Load blocks of inputs once more after loops that do not use them; return True if there is such a tile.

    An example is a residual, which is read before a layer and added after it.
    """
    return True in [_split(tile) for tile in plan.held]


def _split(tile: SSAValue) -> bool:
    accesses = _accesses(tile)
    if len(accesses) < 2 or not isinstance(load := accesses[0], kernel.LoadOp):
        return False
    cursor = load.source.owner
    assert isinstance(cursor, kernel.CursorOp)
    if not kernel.is_input(cursor.array):
        return False
    body = load.parent
    assert isinstance(body, Block)
    for before, after in pairwise(accesses):
        if before is not load and tile in kernel.tiles_written(before):
            return False  # it holds something else from here on
        if tile in kernel.tiles_read(after) and _has_loop_between(before, after):
            _load_before(after, accesses[accesses.index(after) :], load, cursor, tile)
            return True
    return False


def _accesses(tile: SSAValue) -> list[Operation]:
    """The operations that use a tile, in order; none if they are not all in one block."""
    found = list(dict.fromkeys(use.operation for use in tile.uses))
    bodies = {op.parent for op in found}
    if len(bodies) != 1 or (body := bodies.pop()) is None:
        return []
    return [op for op in body.ops if op in found]


def _has_loop_between(before: Operation, after: Operation) -> bool:
    op = before.next_op
    while op is not None and op is not after:
        if isinstance(op, kernel.ForOp):
            return True
        op = op.next_op
    return False


def _load_before(
    place: Operation,
    users: list[Operation],
    load: kernel.LoadOp,
    cursor: kernel.CursorOp,
    tile: SSAValue,
) -> None:
    body = place.parent
    assert isinstance(body, Block)
    assert isinstance(tile.type, kernel.TileType)
    fresh_tile, again = kernel.TileOp(tile.type), cursor.clone()
    fresh_tile.result.name_hint, again.result.name_hint = tile.name_hint, cursor.result.name_hint
    loaded = kernel.LoadOp(fresh_tile.result, again.result)
    loaded.location = load.location
    first = body.first_op
    assert first is not None
    body.insert_op_before(fresh_tile, first)
    for op in (again, loaded):
        body.insert_op_before(op, place)
    for user in users:
        for index, operand in enumerate(user.operands):
            if operand is tile:
                user.operands[index] = fresh_tile.result
