"""Ring operations on residues modulo one prime, with the marks for infinities and undetermined elements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tables import Integers

NEGATIVE_INFINITY = -1
POSITIVE_INFINITY = -2
UNDETERMINED = -3


def finite(part: Integers) -> Integers:
    """Residues, with 0 in the place of marks."""
    return np.maximum(part, 0)


def replace_marks(result: Integers, x: Integers, marks: dict[int, int]) -> Integers:
    """`result`, with the marks of `x`; `marks` says by which marks some are replaced."""
    for mark in (NEGATIVE_INFINITY, POSITIVE_INFINITY, UNDETERMINED):
        result = np.where(x == mark, marks.get(mark, mark), result)
    return result


def with_infinities(
    result: Integers,
    negative: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    undetermined: NDArray[np.bool_],
) -> Integers:
    """`result`, with a mark for each sum that has infinite or undetermined terms."""
    result = np.where(negative, NEGATIVE_INFINITY, result)
    result = np.where(positive, POSITIVE_INFINITY, result)
    return np.where(undetermined | (negative & positive), UNDETERMINED, result)


def add(p: int, x: Integers, y: Integers) -> Integers:
    """x + y modulo p, without marks."""
    total = x + y
    return total - (total >= p) * p


def add_marked(p: int, x: Integers, y: Integers) -> Integers:
    """x + y; infinities of unlike sign give an undetermined sum."""
    return with_infinities(
        add(p, finite(x), finite(y)),
        (x == NEGATIVE_INFINITY) | (y == NEGATIVE_INFINITY),
        (x == POSITIVE_INFINITY) | (y == POSITIVE_INFINITY),
        (x == UNDETERMINED) | (y == UNDETERMINED),
    )


def mul(p: int, x: Integers, y: Integers) -> Integers:
    """x y modulo p, without marks."""
    return x * y % p


def mul_marked(p: int, x: Integers, y: Integers) -> Integers:
    """x y. The sign of a number is unknown, so a product with an infinity is undetermined."""
    return np.where((x < 0) | (y < 0), UNDETERMINED, finite(x) * finite(y) % p)


def scale_marked(p: int, x: Integers, factor: Integers, sign: int) -> Integers:
    """x times a constant of known sign, which keeps or flips infinities; 0 spoils them."""
    flipped = {NEGATIVE_INFINITY: POSITIVE_INFINITY, POSITIVE_INFINITY: NEGATIVE_INFINITY}
    lost = {NEGATIVE_INFINITY: UNDETERMINED, POSITIVE_INFINITY: UNDETERMINED}
    return replace_marks(finite(x) * factor % p, x, {1: {}, -1: flipped}.get(sign, lost))
