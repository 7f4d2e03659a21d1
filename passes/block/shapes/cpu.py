"""Block sizes for CPUs, by a simple model of caches and registers.

Rows of results come in blocks of `ROWS`: a few vectors, so that the register tile of a contraction is full
and the planes of a chain of contractions stay in the first-level cache. Rows that do not divide evenly into
such blocks get another size, if workers then wait less for each other.

A dim that is summed over, or that is a column of a result, is cut into blocks of `COLUMNS`: a plane of that
many columns and `ROWS` rows still fits the second-level cache. A dim that is first a column and then summed
over (the keys of an attention, the hidden units of a feed-forward network) gets shorter blocks (`CHAINED`),
because its planes are written and read again. A dim that is not much longer than its block stays whole: fewer
loops, and more fusion.

The keys of few queries (`FEW_ROWS`) make small planes; they are read as streams in long blocks
(`LONG_CHAINED`). So is a matrix that a single row is multiplied with, along a long dim. Such a product is
limited by memory, and reading two operands in turns, in short blocks, is slower than reading one after the
other. This holds for results of many columns (`MANY_COLUMNS`), because only their blocks are enough to divide
among threads.

Under a causal mask the loop over the keys ends with the block of rows. The wasted work lies in a triangle
above the diagonal: fewer rows (`CAUSAL_ROWS`) make it smaller, and the keys are never whole. This applies to
attention alone. Other contractions with the same rows would read their right operands more often.

A program without contractions is limited by memory, not by arithmetic. Its rows stay whole while they fit the
second-level cache (`LONGEST_ROW`). A tile has as many rows as the first-level cache holds together with their
results (`ROW_ELEMENTS`), so that each element is fetched from memory once.
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
"""Rows that are computed together, even if fewer exist."""
TEAMS = (2, 4)
"""Numbers of workers for which blocks of rows are balanced. With many blocks, any size is balanced."""


def cpu_shape(name: str, dims: Mapping[str, block.DimAttr], roles: Roles) -> block.DimAttr:
    """Return a dim with a block size, chosen by its roles in results and contractions."""
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
    """The number of elements of a row in a tile of a program without contractions; `COLUMNS` if unknown."""
    lengths = [1]
    for name, dim in dims.items():
        if name not in roles.rows and not dim.is_batch:
            extent = dim.block_size or dim.static_extent or COLUMNS
            lengths.append(extent if extent <= LONGEST_ROW else ROW_ELEMENTS)
    return max(lengths)


def _power_below(number: int) -> int:
    """The largest power of two that is at most a number; 0 for 0."""
    return 1 << number.bit_length() >> 1


def even_columns(extent: int) -> int:
    """Return the block size for a number of columns: about `COLUMNS`, but without a short last block."""
    parts, rest = divmod(extent, COLUMNS)
    if not 0 < rest < COLUMNS // 4 or parts == 0:
        return COLUMNS
    # A short rest is spread over the other blocks, which grow by an eighth at most; else it gets one more.
    if extent > parts * COLUMNS * 9 // 8:
        parts += 1
    return -(-extent // (8 * parts)) * 8


def even_rows(extent: int) -> int:
    """Return the block size for a number of rows: `ROWS`, or a size with which workers idle at least 5 %
    less.

    Each worker takes the next block when it is free. The last blocks may be shorter.
    """

    def idle(size: int) -> float:
        """Return the part by which the slowest worker takes longer than an equal share, averaged over
        `TEAMS`.
        """
        vectors = [-(-min(size, extent - start) // VECTOR) for start in range(0, extent, size)]
        total = 0.0
        for team in TEAMS:
            busy = [0] * team
            for block_ in vectors:
                busy[busy.index(min(busy))] += block_
            total += max(busy) * team / sum(vectors) - 1
        return total / len(TEAMS)

    # With eight or more blocks for each worker the last ones make little difference.
    if extent > ROWS * 8 * max(TEAMS):
        return ROWS
    best = min((48, 64, 80, 96), key=idle)
    return best if idle(best) < idle(ROWS) - 0.05 else ROWS
