"""Cuts: the elements of each axis of an array that are needed.

An axis of extent 192 may be a product of factors, such as 6 heads of 32 features, of which the first 16
features of every head are needed: the cut `(6 from 0 take 6) x (32 from 0 take 16)`. It selects 96 elements
of the axis, in order. `()` takes the whole axis. A cut has as few factors as possible, so equal cuts compare
equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.array import DYNAMIC, AxisGroup, Shape, reshape_groups, shape_of


class Factor(NamedTuple):
    """`size` of `extent` positions, from `offset`. The size is DYNAMIC for the rest of an unknown extent."""

    extent: int
    offset: int
    size: int

    @property
    def is_whole(self) -> bool:
        return self.offset == 0 and self.size == self.extent


Cut: TypeAlias = tuple[Factor, ...]
Request: TypeAlias = tuple[Cut, ...]
"""A cut for each axis of an array."""

WHOLE: Cut = ()


def whole(extent: int) -> Factor:
    """All of an axis."""
    return Factor(extent, 0, extent)


def product(*extents: int) -> int:
    """The product of extents, unknown if any of them is."""
    return DYNAMIC if DYNAMIC in extents else math.prod(extents)


def interval(extent: int, offset: int, size: int) -> Cut:
    """`size` elements of an axis from `offset`; -1 or DYNAMIC for the rest."""
    if size in (-1, DYNAMIC):
        size = DYNAMIC if extent == DYNAMIC else extent - offset
    return make_cut([Factor(extent, offset, size)])


def make_cut(factors: Sequence[Factor]) -> Cut:
    """The cut that `factors`, outermost first, describe; neighbours are joined if one factor can express
    both.
    """
    joined: list[Factor] = []
    for inner in reversed(factors):
        combined = _join(inner, joined[-1]) if joined else None
        if combined is None:
            joined.append(inner)
        else:
            joined[-1] = combined
    return WHOLE if all(factor.is_whole for factor in joined) else tuple(reversed(joined))


def _join(outer: Factor, inner: Factor) -> Factor | None:
    if inner.extent == DYNAMIC:
        if outer.extent == 1:
            return inner
        return Factor(DYNAMIC, 0, DYNAMIC) if outer.is_whole and inner.is_whole else None
    extent = product(outer.extent, inner.extent)
    if inner.is_whole:
        return Factor(extent, outer.offset * inner.extent, product(outer.size, inner.extent))
    if outer.size == 1:
        return Factor(extent, outer.offset * inner.extent + inner.offset, inner.size)
    return None


def size_of(cut: Cut, extent: int) -> int:
    """Return the number of elements of an axis of `extent` that a cut takes."""
    return product(*(factor.size for factor in cut)) if cut else extent


def cut_shape(shape: Sequence[int], request: Request) -> Shape:
    """The shape of what a request takes of an array of `shape`."""
    return tuple(size_of(cut, extent) for cut, extent in zip(request, shape, strict=True))


def is_trivial(request: Request) -> bool:
    """True if a request takes the whole array."""
    return not any(request)


def everything(value: SSAValue) -> Request:
    """The request for a whole array, or for a value that is no array."""
    return (WHOLE,) * len(shape_of(value)) if isinstance(value.type, TensorType) else ()


def resolve(request: Request, shape: Sequence[int]) -> Request:
    """A request in terms of a shape in which more extents may be known."""
    return tuple(_resolve(cut, extent) for cut, extent in zip(request, shape, strict=True))


def _resolve(cut: Cut, extent: int) -> Cut:
    unknown = [factor for factor in cut if factor.extent == DYNAMIC]
    if extent == DYNAMIC or not unknown:
        return cut
    own = extent // math.prod(factor.extent for factor in cut if factor.extent != DYNAMIC)
    return make_cut(
        [
            Factor(own, factor.offset, own - factor.offset if factor.size == DYNAMIC else factor.size)
            if factor.extent == DYNAMIC
            else factor
            for factor in cut
        ]
    )


def distribute(cut: Cut, extents: Sequence[int]) -> list[Cut] | None:
    """The cuts of axes of `extents` whose merged axis has `cut`; None if no box of them is that cut."""
    if not cut:
        return [WHOLE] * len(extents)
    left = list(cut)
    cuts: list[Cut] = []
    for extent in reversed(extents):
        taken = _take_inner(left, extent)
        if taken is None:
            return None
        cuts.append(taken)
    if any(not factor.is_whole for factor in left):
        return None
    return cuts[::-1]


def _take_inner(left: list[Factor], extent: int) -> Cut | None:
    """Remove the inner `extent` positions from the end of a list of factors, and return them."""
    if extent == DYNAMIC:  # the outermost of the axes, or all that is left outside of it is lost
        if not any(factor.extent == DYNAMIC for factor in left):
            return None
        taken = make_cut(left)
        left.clear()
        return taken
    factors: list[Factor] = []
    missing = extent
    while missing > 1:
        if not left:
            return None
        factor = left.pop()
        if factor.extent != DYNAMIC and missing % factor.extent == 0:
            factors.append(factor)
            missing //= factor.extent
            continue
        divided = _divide(factor, missing)
        if divided is None:
            return None
        left.append(divided[0])
        factors.append(divided[1])
        missing = 1
    return make_cut(factors[::-1])


def _divide(factor: Factor, inner: int) -> tuple[Factor, Factor] | None:
    """A factor as an outer one and an inner one of extent `inner`; None where its elements are no box."""
    extent, offset, size = factor
    if extent != DYNAMIC and extent % inner:
        return None
    outer = DYNAMIC if extent == DYNAMIC else extent // inner
    if offset % inner == 0 and (size == DYNAMIC or size % inner == 0):
        rows = DYNAMIC if size == DYNAMIC else size // inner
        return Factor(outer, offset // inner, rows), whole(inner)
    if size != DYNAMIC and offset // inner == (offset + size - 1) // inner:
        return Factor(outer, offset // inner, 1), Factor(inner, offset % inner, size)
    return None


def within(cut: Cut, extent: int, offset: int, size: int) -> Cut | None:
    """A cut of the slice `offset`, `size` of an axis of `extent`, as a cut of the axis; None where it is no
    cut of that axis.
    """
    own = interval(extent, offset, size)
    if not own:
        return cut
    if not cut:
        return own
    first, *others = cut
    inner = math.prod(factor.extent for factor in others)
    if any(factor.extent == DYNAMIC for factor in others) or offset % inner:
        return None
    if extent != DYNAMIC and extent % inner:
        return None
    outer = DYNAMIC if extent == DYNAMIC else extent // inner
    return make_cut([Factor(outer, offset // inner + first.offset, first.size), *others])


class Empty:
    """A request without elements."""


EMPTY = Empty()


def restrict(cut: Cut, extent: int, offset: int, size: int) -> Cut | Empty | None:
    """Return what a cut of an axis of `extent` takes of the slice `offset`, `size`, as a cut of that slice.

    `EMPTY` where it takes nothing of it, None where it is no cut of the slice. `size` is DYNAMIC for the
    rest of an unknown extent.
    """
    first, *others = cut or (whole(extent),)
    inner = math.prod(factor.extent for factor in others)
    if any(factor.extent == DYNAMIC for factor in others) or offset % inner:
        return None
    if size != DYNAMIC and size % inner:
        return None
    begin, rows = offset // inner, DYNAMIC if size == DYNAMIC else size // inner
    start = max(first.offset, begin)
    ends = [at + length for at, length in ((first.offset, first.size), (begin, rows)) if length != DYNAMIC]
    if ends and min(ends) <= start:
        return EMPTY
    taken = min(ends) - start if ends else DYNAMIC
    return make_cut([Factor(rows, start - begin, taken), *others])


def disjoint(a: Request, b: Request) -> bool:
    """True if two requests for one array are known to have no element in common."""
    return any(
        _extents(x) == _extents(y)
        and any(_before(*pair) or _before(*pair[::-1]) for pair in zip(x, y, strict=True))
        for x, y in zip(a, b, strict=True)
    )


def contains(a: Request, b: Request) -> bool:
    """True if request `a` is known to take all that `b` takes of the same array."""
    return all(
        not x or (_extents(x) == _extents(y) and all(_holds(*pair) for pair in zip(x, y, strict=True)))
        for x, y in zip(a, b, strict=True)
    )


def _extents(cut: Cut) -> list[int]:
    return [factor.extent for factor in cut]


def _before(a: Factor, b: Factor) -> bool:
    return a.size != DYNAMIC and a.offset + a.size <= b.offset


def _holds(a: Factor, b: Factor) -> bool:
    if a.size == DYNAMIC:
        return a.offset <= b.offset
    return a.offset <= b.offset and b.size != DYNAMIC and b.offset + b.size <= a.offset + a.size


def can_reshape(source: Sequence[int], target: Sequence[int], groups: Sequence[AxisGroup]) -> bool:
    """True if a reshape from `source` to `target` exists and has the alignment `groups`."""
    try:
        found = reshape_groups(source, target)
    except VerifyException:
        return False
    # With one unknown extent at most there is but one reading: elements keep their order.
    return list(source).count(DYNAMIC) <= 1 or list(groups) == found
