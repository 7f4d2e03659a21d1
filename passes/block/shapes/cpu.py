"""Block sizes for CPUs, by a simple model of caches and registers.

A tile that vectors run over has a few vectors' worth of rows (`ROWS`), so that a register tile of
a contraction is full and the planes of a chain of contractions stay in the first-level cache; a dim that is
summed over, or runs along the columns of a result, is cut where a plane of that many columns and `ROWS` rows
would leave the second-level cache (`COLUMNS`); a dim that is summed over after it was a column (the keys of
an attention, the hidden units of a feed-forward network) is cut shorter (`CHAINED`), for its planes are
written and read again. What is not much longer than that stays whole, which spares loops and lets more fuse.
The keys of few queries (`FEW_ROWS`) make small planes, and are read as streams in long blocks
(`LONG_CHAINED`). So is what a single row is multiplied with, summed over a long dim: nothing but memory is
waited for, and two operands that a loop takes short blocks of in turns come more slowly than one after the
other. That is for results of many columns (`MANY_COLUMNS`), whose blocks are enough to share between threads.
Rows that do not come out even in blocks of `ROWS` get other ones, if workers then wait less for each other.

Under a causal mask the loop over the keys ends with the block of rows, so that what is computed in vain lies
in a triangle above the diagonal: fewer rows (`CAUSAL_ROWS`) make it smaller, and the keys are never whole.
That is for attention alone: where other contractions have the same rows, they would read their right operands
more often.

A program without contractions waits for memory, not for arithmetic: its rows stay whole as long as the
second-level cache has room for them (`LONGEST_ROW`), and a tile has as many of them as the first-level cache
holds beside their results (`ROW_ELEMENTS`), so that each element is fetched once and used from there.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....dialects import block
from ....dialects.block import Blocking
from .roles import Roles

ROWS = 64
COLUMNS = 256
CHAINED = 128
CAUSAL_ROWS = 32
LONG_CHAINED = 2048
ROW_ELEMENTS = 4096
LONGEST_ROW = 16384
VECTOR = 16
"""Rows that are computed together, whether they exist or not."""
TEAMS = (2, 4)
"""Numbers of workers that blocks of rows should be fair to; with many blocks, all are."""


def cpu_shape(name: str, dims: Mapping[str, block.DimAttr], roles: Roles) -> block.DimAttr:
    """Return a dim with a block size, by its part in results and contractions."""
    dim = dims[name]
    extent, longest = dim.static_extent, COLUMNS
    if name in roles.causal_rows:
        return dim.with_block_size(CAUSAL_ROWS)
    if name in roles.causal_columns:
        return dim.with_block_size(COLUMNS if extent is None else min(COLUMNS, extent))
    if name in roles.rows:
        size = ROWS if extent is None or extent <= COLUMNS or roles.chained else even_rows(extent)
        if roles.sweeps_rows:
            size = max(1, min(ROWS, _power_below(ROW_ELEMENTS // _row_length(dims, roles))))
        return dim.with_block_size(size)
    if roles.sweeps_rows:
        longest = LONGEST_ROW
    elif name in roles.few or name in roles.streamed:
        longest = 2 * LONG_CHAINED
    if extent is not None and extent <= longest:
        return block.DimAttr(extent, 0, Blocking.Whole)
    if roles.sweeps_rows and extent is not None:
        return dim.with_block_size(ROW_ELEMENTS)
    if name in roles.chained:
        return dim.with_block_size(LONG_CHAINED if name in roles.few else CHAINED)
    if name in roles.streamed:
        return dim.with_block_size(LONG_CHAINED)
    return dim.with_block_size(COLUMNS if extent is None else even_columns(extent))


def _row_length(dims: Mapping[str, block.DimAttr], roles: Roles) -> int:
    """The elements of a row that a tile of a program without contractions has; `COLUMNS` where unknown."""
    lengths = [1]
    for name, dim in dims.items():
        if name not in roles.rows and not dim.is_batch:
            extent = dim.block_size or dim.static_extent or COLUMNS
            lengths.append(extent if extent <= LONGEST_ROW else ROW_ELEMENTS)
    return max(lengths)


def _power_below(number: int) -> int:
    """The largest power of two that is not above a number; 0 for 0."""
    return 1 << number.bit_length() >> 1


def even_columns(extent: int) -> int:
    """The block size for so many columns: about `COLUMNS`, but with no short block at the end."""
    parts, rest = divmod(extent, COLUMNS)
    if not 0 < rest < COLUMNS // 4 or parts == 0:
        return COLUMNS
    if extent > parts * COLUMNS * 9 // 8:
        parts += 1
    return -(-extent // (8 * parts)) * 8


def even_rows(extent: int) -> int:
    """The block size for so many rows: `ROWS`, or what leaves workers idle for less of the time by 5 %.

    Workers take block after block: the last, shorter ones are taken by the worker that is ready first.
    """

    def idle(size: int) -> float:
        """Return how much longer the slowest worker takes than with equal shares, averaged over the teams."""
        vectors = [-(-min(size, extent - start) // VECTOR) for start in range(0, extent, size)]
        total = 0.0
        for team in TEAMS:
            busy = [0] * team
            for block_ in vectors:
                busy[busy.index(min(busy))] += block_
            total += max(busy) * team / sum(vectors) - 1
        return total / len(TEAMS)

    if extent > ROWS * 8 * max(TEAMS):
        return ROWS
    best = min((48, 64, 80, 96), key=idle)
    return best if idle(best) < idle(ROWS) - 0.05 else ROWS
