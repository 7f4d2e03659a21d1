"""Ranges of unknown extents for which a program is optimised: the attribute `bb.ranges`.

A function with `bb.ranges = {M = [1, 8]}` is correct for any M. Its blocks and loops are chosen for M of at
most 8.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.utils.hints import isa

from ...dialects import block
from ...dialects.attributes import RANGES
from ...dialects.diagnostics import OpError


def declare_ranges(function: FuncOp, ranges: Mapping[str, tuple[int, int]]) -> None:
    """Declare the smallest and the largest extent of dims for which a function is optimised."""
    function.attributes[RANGES] = DictionaryAttr(
        {name: ArrayAttr([IntegerAttr(end, i64) for end in ends]) for name, ends in ranges.items()}
    )


def ranges_of(function: FuncOp) -> dict[str, tuple[int, int]]:
    """The ranges that a function declares. Raises OpError for an attribute that is none."""
    given = function.attributes.get(RANGES)
    if given is None:
        return {}
    found: dict[str, tuple[int, int]] = {}
    if isinstance(given, DictionaryAttr):
        for name, ends in given.data.items():
            if isa(ends, ArrayAttr[IntegerAttr]) and len(ends) == 2:
                low, high = (end.value.data for end in ends)
                if 1 <= low <= high:
                    found[name] = low, high
        if len(found) == len(given.data):
            return found
    raise OpError(
        function, f"{RANGES} must be like {{M = [1, 8]}}: the smallest and the largest extent of a dim"
    )


def largest_extents(function: FuncOp, dims: Mapping[str, block.DimAttr]) -> dict[str, block.DimAttr]:
    """Return dims with the largest extent of their range, for decisions only: the extents stay unknown."""
    ranges = ranges_of(function)
    return {
        name: block.DimAttr(ranges[name][1], dim.size.data, dim.blocking.data)
        if name in ranges and dim.static_extent is None
        else dim
        for name, dim in dims.items()
    }
