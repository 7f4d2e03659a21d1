"""How the arrays of a launch may lie in memory: what a kernel can take for granted of their addresses."""

from __future__ import annotations

from enum import Enum


class Layout(Enum):
    """How one array lies in memory."""

    Dense = "dense"
    """In row-major order without gaps, at a multiple of 16 bytes."""
    Rows = "rows"
    """The elements of the last axis follow each other; the array and whatever is before them on other axes
    begin at multiples of 16 bytes: parts of dense arrays, most often.
    """
    Any = "any"

    def strides_passed(self, rank: int) -> int:
        """How many of an array's strides are arguments, from the first axis on."""
        return {Layout.Dense: 0, Layout.Rows: max(0, rank - 1), Layout.Any: rank}[self]
