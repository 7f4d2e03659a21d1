"""Block sizes for GPUs: powers of two, so that tiles fit the fragments of tensor cores and shared memory.

The results of a block stay in its registers, which hold `SUMS` elements. A matrix product has `ROWS` rows of
them. Its columns come in blocks of `WIDE`, or of `WHOLE` if that leaves less padding, or keeps more of the
GPU busy (`BUSY` blocks). If contractions follow each other, as in a feed-forward layer, the columns of the
last one are whole, with as many rows as fit: the intermediate results are then computed once, and never leave
the block. With more than `WIDEST` columns they do leave it.

A dim that is first a column and then summed over (the keys of an attention, hidden features) comes in blocks
of `CHAINED`. Keys come in half of that for an attention with wider sums, or with scores that are sums of
several contractions, because its warps hold whole rows. A dim that is only summed over is whole up to
`WHOLE`, and comes in blocks of `DEPTH` beyond. Operands of 32 bits or more halve most of these.

A program without contractions is limited by memory. A row stays whole up to `LONGEST_ROW` elements, and a
block has as many rows as its warps process at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import prod

from ....dialects import block
from ....dialects.block import Blocking
from .roles import Roles

ROWS = 128
CHAINED = 64
DEPTH = 64
WHOLE = 128
WIDE = 256
WIDEST = 1024
SUMS = ROWS * WIDE
FEW_ROWS = 64
BUSY = 96
"""Number of blocks that gives all multiprocessors of a large GPU some work."""
LONGEST_ROW = 16384
SWEPT_ROWS = 8
ROW_PART = 1024
"""Columns of a part of a row that is longer than `LONGEST_ROW`, or whose length is unknown."""


@dataclass(frozen=True)
class GpuTile:
    """The sizes of tiles: rows and columns of results, and block sizes of dims that are summed over.

    Columns up to `whole` elements, and depths up to `whole_depth`, are one block.
    """

    rows: int = ROWS
    columns: int = WHOLE
    whole: int = WHOLE
    depth: int = DEPTH
    whole_depth: int = WHOLE
    chained: int = CHAINED
    keys: int = CHAINED
    """Block size of chained dims along which rows are reduced, as the keys of an attention."""


def gpu_tile(dims: Mapping[str, block.DimAttr], roles: Roles) -> GpuTile:
    """Return the tile for a program with contractions.

    Rows that are reduced are best held whole by one warp. All contractions that have a key as a column, one
    for each part of rotated queries, are in registers at once. Wide operands take twice the shared memory,
    and, on FMA units, more registers in addition to the sums.
    """
    rows, chained, sums, scores, wide = roles.rows, roles.chained, roles.sums, roles.scores, roles.wide
    parts = 2 if wide else 1
    # Rows are reduced, or no column is left to cut: warps hold whole rows, and scores share their registers.
    if any(name in roles.reduced for name in (*chained, *sums)) or not sums:
        chain = CHAINED if _widest(dims, rows, chained) <= CHAINED else CHAINED // 2
        cut = [name for name in chained if (dims[name].static_extent or CHAINED + 1) > CHAINED]
        # All contractions that a score is the sum of have their block of keys in registers at once.
        beside = max(scores.values(), default=1) * _widest(dims, rows, cut)
        keys = chain if beside <= CHAINED else CHAINED // 2
        return GpuTile(depth=DEPTH // parts, chained=min(chain, keys) if wide else chain, keys=keys)
    widths = {name: (dims[name].static_extent or WIDEST + 1) * count for name, count in sums.items()}
    widest, count = max(widths.values()), max(sums.values())
    # One product, or products beside each other: only the columns of the results fill the registers.
    if not chained:
        columns = _columns_of_product(dims, rows, max(sums, key=lambda name: widths[name]), count * parts)
        return GpuTile(columns=columns, whole=columns, depth=DEPTH // parts)
    shortest = min(dims[name].static_extent or CHAINED for name in chained)
    if widest <= WHOLE // parts or shortest <= CHAINED // 2:
        return GpuTile(depth=DEPTH // parts, chained=CHAINED // parts)
    # The last results are too wide to stay in registers whole, so their columns are cut.
    if widest > WIDEST // parts:
        columns = WIDE // count // parts
        depth = DEPTH // parts
        return GpuTile(columns=columns, whole=columns, depth=depth, whole_depth=depth, chained=depth)
    # The last results stay whole in registers: the wider they are, the fewer rows fit.
    height = SUMS // parts // max(WIDE // parts, 1 << (widest - 1).bit_length())
    # The right operand of the last contraction leaves less of shared memory to the first ones.
    depth = DEPTH // parts if height > 32 else DEPTH // 2 // parts
    return GpuTile(height, WHOLE, WIDEST // count, depth, depth, CHAINED // parts)


def _columns_of_product(
    dims: Mapping[str, block.DimAttr], rows: Collection[str], columns: str, count: int
) -> int:
    """Return the columns of a block for independent contractions, `count` of which have the same columns."""
    extent = dims[columns].static_extent
    height = prod(dims[name].static_extent or ROWS for name in rows)
    if extent is None or extent <= WHOLE // count:
        return WHOLE
    sizes = [WIDE // count, WHOLE] if count == 1 else [WHOLE]
    if height <= FEW_ROWS:
        sizes.append(WHOLE // 2)

    def empty(size: int) -> int:
        return -(-extent // size) * size

    def is_busy(size: int) -> bool:
        others = prod(dim.static_extent or 1 for dim in dims.values() if dim.is_batch)
        return -(-height // ROWS) * -(-extent // size) * others >= BUSY

    sizes = [size for size in sizes if empty(size) == min(map(empty, sizes))] or sizes
    return next(filter(is_busy, sizes), sizes[-1])


def gpu_shape(name: str, dims: Mapping[str, block.DimAttr], roles: Roles) -> block.DimAttr:
    """Return a dim with a block size, chosen by its roles in results and contractions.

    A dim that a causal mask cuts is never whole, so that the loop over its blocks can end early.
    """
    dim = dims[name]
    extent = dim.static_extent
    whole = block.DimAttr(dim.extent.data, 0, Blocking.Whole)
    if roles.sweeps_rows:
        if name in roles.rows:
            return dim.with_block_size(SWEPT_ROWS)
        return whole if extent is not None and extent <= LONGEST_ROW else dim.with_block_size(ROW_PART)
    tile = gpu_tile(dims, roles)
    if name in roles.rows:
        return dim.with_block_size(tile.rows)
    if name in roles.chained:
        size = tile.keys if name in roles.scores else tile.chained
        # Columns of results stay whole where they can: rows are reduced along them, and residuals added.
        longest = max(size, CHAINED) if name in roles.given else size
        if extent is None or extent > longest or name in roles.causal_columns:
            return dim.with_block_size(size)
        return whole
    if name in roles.columns:
        longest, size = tile.whole, tile.columns
    else:
        longest, size = tile.whole_depth, tile.depth
    return whole if extent is not None and extent <= longest else dim.with_block_size(size)


def _widest(dims: Mapping[str, block.DimAttr], rows: Collection[str], looped: Collection[str]) -> int:
    """The widest block of a dim that is neither a row nor looped over."""
    others = (dim for name, dim in dims.items() if name not in rows and name not in looped)
    return max((min(dim.static_extent or WHOLE, WHOLE) for dim in others if not dim.is_batch), default=0)
