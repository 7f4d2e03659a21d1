"""Widths of accesses to arrays: the elements that one access may move."""

from __future__ import annotations

from collections.abc import Mapping

from ....dialects import kernel
from .geometry import Array, Dim, Window
from .scalars import element_bytes


def vector_of(
    cursor: kernel.CursorOp,
    lane: str,
    array: Array,
    dims: Mapping[str, Dim],
    threads: int = 0,
    columns: int = 0,
) -> int | None:
    """Number of elements along a dim that one access may move: it divides all row starts and the end.

    None if the threads of a block cannot divide the rows of a tile with so many columns by such accesses.
    """
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    width = element_bytes(item.element_type)
    multiples = _row_starts(cursor, lane, array, dims, 16 // width)
    for vector in (16 // width, 8 // width, 4 // width, 1):
        if vector < 1 or (vector > 1 and (multiples is None or any(each % vector for each in multiples))):
            continue
        if threads and columns // vector > threads:
            return None
        return vector
    return 1


def _row_starts(
    cursor: kernel.CursorOp, lane: str, array: Array, dims: Mapping[str, Dim], most: int
) -> list[int] | None:
    """Numbers that an access of at most `most` elements must divide; None if they are not known."""
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    found: list[int] = []
    for axis, stride in zip(cursor.axis_dims, array.strides, strict=True):
        step = int(stride) if stride.isdecimal() else most if array.aligned else None
        for dim in reversed(axis):
            declared = dims[dim].declared
            if dim == lane:
                extent = declared.static_extent
                if extent is None or step != 1:
                    return None
                found += [extent, extent if declared.is_whole else declared.block_size or 1]
                step = step * extent
                continue
            if dim not in item.dims and (declared.static_extent == 1 or declared.is_whole):
                continue  # always the first one; of a tile, also rows beyond the end have addresses
            if step is None:
                return None
            found.append(step)
            step = None if declared.static_extent is None else step * declared.static_extent
    return found


def window_vector(window: Window, cursor: kernel.CursorOp, array: Array, dims: Mapping[str, Dim]) -> int:
    """Number of elements along the columns of a window that one access may move."""
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    if not item.dims or window.strides[-1] != "1":
        return 1
    return vector_of(cursor, item.dims[-1], array, dims) or 1
