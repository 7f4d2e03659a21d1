"""Block sizes for GPUs: powers of two, so that tiles fit the fragments of tensor cores and shared memory.

The rows of results go in blocks of `ROWS`: four warps of 32 rows, or eight of 16. What is a column first and
summed over then (the keys of an attention, hidden features) goes in blocks of `CHAINED`, of half as many
where the sums beside it are wider than that; what is summed over alone is whole up to `WHOLE`, and goes in
blocks of `DEPTH` beyond, of half as many where operands have 32 bits or more; columns of results are whole
up to `WHOLE`, and go in blocks of that.

A program without contractions waits for memory: a row stays whole up to `LONGEST_ROW` elements, and a block
has as many rows as its warps take at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..dialects import block
from ..dialects.block import Blocking

ROWS = 128
CHAINED = 64
DEPTH = 64
WHOLE = 128
LONGEST_ROW = 16384
SWEPT_ROWS = 8
ROW_PART = 1024
"""Columns of a part of a row that is longer than `LONGEST_ROW`, or whose length is not known."""


def gpu_shape(
    name: str,
    dims: Mapping[str, block.DimAttr],
    rows: Collection[str],
    chained: Collection[str],
    looped: Collection[str],
    columns: Collection[str],
    *,
    sweeps_rows: bool,
    wide: bool = False,
) -> block.DimAttr:
    """The dim with a block size, by its part in results (`rows`, `columns`) and contractions (`chained`).

    Dims in `looped` are cut by a mask, so that a loop over their blocks ends early: they are never whole.
    `wide` says that operands of contractions have 32 bits or more.
    """
    dim = dims[name]
    extent = dim.static_extent
    whole = block.DimAttr(dim.extent.data, 0, Blocking.Whole)
    if sweeps_rows:
        if name in rows:
            return dim.with_block_size(SWEPT_ROWS)
        return whole if extent is not None and extent <= LONGEST_ROW else dim.with_block_size(ROW_PART)
    if name in rows:
        return dim.with_block_size(ROWS)
    if name in chained:
        size = CHAINED if _widest(dims, rows, chained) <= CHAINED else CHAINED // 2
        if extent is None or extent > size or name in looped:
            return dim.with_block_size(size)
        return whole
    if extent is not None and extent <= WHOLE:
        return whole
    return dim.with_block_size(WHOLE if name in columns else DEPTH // 2 if wide else DEPTH)


def _widest(dims: Mapping[str, block.DimAttr], rows: Collection[str], chained: Collection[str]) -> int:
    """The widest block of a dim that is neither one of rows nor chained."""
    others = (dim for name, dim in dims.items() if name not in rows and name not in chained)
    return max((min(dim.static_extent or WHOLE, WHOLE) for dim in others if not dim.is_batch), default=0)
