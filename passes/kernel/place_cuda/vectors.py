"""Asynchronous copies of vectors to shared memory, ahead of their iteration in loops that fetch ahead."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects.builtin import UnitAttr

from ....dialects import kernel
from ....dialects.array.core import bit_width
from ....dialects.kernel import Space
from .rows import contiguous_axis


def fetch_vectors(parallel: kernel.ParallelOp, spaces: Collection[Space] = (Space.Shared,)) -> None:
    """Let vectors of inputs in these memories be copied asynchronously, such as the scales and shifts of a
    normalisation, or masks of keys.
    """
    for op in parallel.walk():
        if not isinstance(op, kernel.LoadOp) or not _is_vector(op, spaces):
            continue
        op.is_async = UnitAttr()
        loop, tile = op.parent_op(), op.target.owner
        if not isinstance(loop, kernel.ForOp) or not isinstance(tile, kernel.TileOp) or loop.stages is None:
            continue
        if {*kernel.readers(op.target), *kernel.writers(op.target)} <= set(loop.walk()):
            tile.stages = loop.stages


def _is_vector(op: kernel.LoadOp, spaces: Collection[Space]) -> bool:
    """True if a load copies a vector with contiguous elements, and no other operation writes the tile."""
    item, tile, cursor = op.source.type, op.target.type, op.source.owner
    assert isinstance(item, kernel.CursorType)
    assert isinstance(tile, kernel.TileType)
    assert isinstance(cursor, kernel.CursorOp)
    return (
        len(item.dims) == 1
        and tile.space.data in spaces
        and tile.element_type == item.element_type
        and bit_width(item.element_type) in (16, 32, 64)
        and contiguous_axis(op.source) == 0
        and kernel.is_input(cursor.array)
        and not any(isinstance(each, kernel.LoadOp) and each is not op for each in kernel.writers(op.target))
    )
