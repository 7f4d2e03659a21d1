"""Layouts of the arrays of a launch in memory: a kernel is compiled for their guarantees on addresses."""

from __future__ import annotations

from enum import Enum


class Layout(Enum):
    """Layout of one array in memory."""

    Dense = "dense"
    """In row-major order without gaps, at a multiple of 16 bytes."""
    Rows = "rows"
    """The elements of the last axis are contiguous. The array and its rows on all other axes begin at
    multiples of 16 bytes. These are mostly parts of dense arrays.
    """
    Any = "any"

    def strides_passed(self, rank: int) -> int:
        """Number of an array's strides that are arguments, counted from the first axis."""
        return {Layout.Dense: 0, Layout.Rows: max(0, rank - 1), Layout.Any: rank}[self]
