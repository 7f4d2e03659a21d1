"""Values of the exact check: arrays over finite fields, and exact integers.

A number is a residue modulo each of several primes. A whole array may lack some of them, because an
exponential uses one up. Elements can be marked as -inf, as +inf, or as undetermined: 1/0, inf - inf, and
everything computed from them. An undetermined element is never compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .tables import Integers

View: TypeAlias = Callable[[NDArray[Any]], NDArray[Any]]
"""Moves elements of an array, or repeats them, and computes nothing."""


class Degree(NamedTuple):
    """Degrees of the numerator and the denominator of the elements, as rational functions of the inputs.

    Terms of a sum are taken to share their denominators, as the elements of a normalised row do. Results of
    exponentials and of opaque functions count as inputs.
    """

    numerator: int = 0
    denominator: int = 0

    def plus(self, other: Degree) -> Degree:
        """Degree of a sum of two values."""
        if self.denominator == other.denominator:
            return Degree(max(self.numerator, other.numerator), self.denominator)
        return Degree(
            max(self.numerator + other.denominator, other.numerator + self.denominator),
            self.denominator + other.denominator,
        )

    def times(self, other: Degree) -> Degree:
        """Degree of a product."""
        return Degree(self.numerator + other.numerator, self.denominator + other.denominator)

    def inverse(self) -> Degree:
        """Degree of a reciprocal."""
        return Degree(self.denominator, self.numerator)

    def either(self, other: Degree) -> Degree:
        """Degree of a value that is one of two."""
        return Degree(max(self.numerator, other.numerator), max(self.denominator, other.denominator))

    @property
    def total(self) -> int:
        return self.numerator + self.denominator


NO_DEGREE = Degree()
"""Degree of a constant."""


@dataclass(frozen=True, eq=False)
class Residues:
    """An array of numbers, as one array of residues for each modulus; None where that one is used up.

    `marked` tells whether there may be marks. `constant` is the number that all elements are, where it is
    known and rational (or nearly so: it decides signs and comparisons of constants).
    """

    parts: tuple[Integers | None, ...]
    degree: Degree = NO_DEGREE
    marked: bool = False
    constant: Fraction | None = None

    @property
    def first(self) -> int:
        """The index of the first modulus for which there are residues."""
        return next(index for index, part in enumerate(self.parts) if part is not None)

    @property
    def leading(self) -> Integers:
        """The residues modulo the first modulus for which there are any."""
        part = self.parts[self.first]
        assert part is not None
        return part

    @property
    def shape(self) -> tuple[int, ...]:
        return self.leading.shape

    def view(self, function: View) -> Residues:
        """Return the same numbers, moved or repeated by `function`."""
        parts = tuple(None if part is None else function(part) for part in self.parts)
        return Residues(parts, self.degree, self.marked, self.constant)


@dataclass(frozen=True, eq=False)
class Whole:
    """An array of exact integers or booleans; `unknown` says of which elements nothing is known."""

    values: NDArray[Any]
    unknown: NDArray[np.bool_] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def view(self, function: View) -> Whole:
        """Return the same numbers, moved or repeated by `function`."""
        return Whole(function(self.values), None if self.unknown is None else function(self.unknown))


Value: TypeAlias = Residues | Whole


def unknown_of(*values: Whole) -> NDArray[np.bool_] | None:
    """Return the mask of elements that are unknown in any of several arrays that broadcast together."""
    found: NDArray[np.bool_] | None = None
    for value in values:
        if value.unknown is not None:
            found = value.unknown if found is None else found | value.unknown
    return found


def joined(values: Sequence[Value], join: Callable[[list[NDArray[Any]]], NDArray[Any]]) -> Value:
    """One array from several of one kind; `join` does it for the arrays of residues, and the like."""
    whole = [value for value in values if isinstance(value, Whole)]
    if whole:
        assert len(whole) == len(values)
        unknown = None
        if any(value.unknown is not None for value in whole):
            unknown = join([np.zeros(v.shape, np.bool_) if v.unknown is None else v.unknown for v in whole])
        return Whole(join([value.values for value in whole]), unknown)
    residues = [value for value in values if isinstance(value, Residues)]
    parts: list[Integers | None] = []
    for column in zip(*(value.parts for value in residues), strict=True):
        present = [part for part in column if part is not None]
        parts.append(join(list(present)) if len(present) == len(column) else None)
    degree = reduce(Degree.either, (value.degree for value in residues))
    return Residues(tuple(parts), degree, any(value.marked for value in residues))


def common_parts(a: Residues, b: Residues) -> list[tuple[Integers, Integers]]:
    """The residues of two arrays for each modulus that both have."""
    return [(x, y) for x, y in zip(a.parts, b.parts, strict=True) if x is not None and y is not None]
