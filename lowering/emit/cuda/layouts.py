"""Layouts of the arrays of a launch in memory: a kernel is compiled for what they say of addresses."""

from __future__ import annotations

from enum import Enum


class Layout(Enum):
    """Layout of one array in memory."""

    Dense = "dense"
    """In row-major order without gaps, at a multiple of 16 bytes."""
    Rows = "rows"
    """The elements of the last axis follow each other; the array and whatever is before them on other axes
    begin at multiples of 16 bytes: parts of dense arrays, most often.
    """
    Any = "any"

    def strides_passed(self, rank: int) -> int:
        """Number of an array's strides that are arguments, from the first axis on."""
        return {Layout.Dense: 0, Layout.Rows: max(0, rank - 1), Layout.Any: rank}[self]
