"""Arithmetic on `Residues`: the ring, quotients, exponentials, logarithms, extremes, opaque functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import log

import numpy as np
from numpy.typing import NDArray

from ....dialects.block import exact
from .hashing import Keys, mix, number_of
from .marks import (
    NEGATIVE_INFINITY,
    POSITIVE_INFINITY,
    UNDETERMINED,
    add,
    add_marked,
    finite,
    mul,
    mul_marked,
    replace_marks,
    scale_marked,
    with_infinities,
)
from .residues import NO_DEGREE, Degree, Residues, Whole, common_parts, unknown_of
from .tables import Integers, exponentials, logarithms, matrix_product, moduli, power, reciprocals


class Exhausted(Exception):
    """Exponentials have used up every modulus, so nothing is left to compare."""


_TIE = np.uint64((1 << 20) - 1)
_LN2, _LOG2E = log(2), 1 / log(2)
_IRRATIONAL = {
    number: exponent
    for exponent, value in ((1, _LN2), (-1, _LOG2E))
    for number in (exact(value), exact(float(np.float32(value))), Fraction(str(np.float32(value))))
    if number is not None
}
"""Rational numbers that stand for ln 2 and for 1 / ln 2."""


@lru_cache(maxsize=4096)
def _through_ln2(number: Fraction) -> tuple[Fraction, int]:
    """A number as a simple fraction times ln 2 to the power of -1, 0 or 1."""
    if number.denominator > 1 << 20:
        for irrational, exponent in _IRRATIONAL.items():
            ratio = number / irrational
            if max(abs(ratio.numerator), ratio.denominator) <= 1 << 16:
                return ratio, exponent
    return number, 0


class Field:
    """The operations, for one random choice of opaque functions and of the order that decides maxima.

    `depth` is the number of moduli. Programs that are compared share the `salt` of their opaque functions;
    they need not share the `order`. With `simplest_constants`, a constant is the simplest number that its
    type rounds to it; `read_rounded` says afterwards whether that made a difference. Operations raise
    Exhausted if operands have no modulus in common.
    """

    def __init__(self, depth: int, salt: int, order: int, *, simplest_constants: bool = False):
        self.moduli = moduli(depth)
        self.salt = salt
        self.order_salt = order
        self.simplest_constants = simplest_constants
        self.read_rounded = False
        self.largest_degree = 0
        self._numbers: dict[Fraction, Residues] = {}

    # Making values

    def _make(self, parts: Sequence[Integers | None], degree: Degree, marked: bool) -> Residues:
        if all(part is None for part in parts):
            raise Exhausted
        marked = marked and any(part is not None and part.size > 0 and part.min() < 0 for part in parts)
        return Residues(tuple(parts), degree, marked)

    def _each(self, function: Callable[..., Integers], *values: Residues) -> list[Integers | None]:
        """`function(prime, *parts)` for each modulus that all values have."""
        found: list[Integers | None] = []
        for prime, *parts in zip(self.moduli, *(value.parts for value in values), strict=True):
            found.append(None if any(part is None for part in parts) else function(prime, *parts))
        return found

    def random(self, rng: np.random.Generator, shape: Sequence[int]) -> Residues:
        """Inputs: independent and uniform."""
        return Residues(tuple(rng.integers(0, p, shape) for p in self.moduli), Degree(1))

    def number(self, number: Fraction | int) -> Residues:
        """A scalar, exact; undetermined where a modulus divides the denominator."""
        number = Fraction(number)
        if number not in self._numbers:
            ratio, exponent = _through_ln2(number)
            value = self._rational(ratio)
            if exponent:
                ln2 = self._symbol("ln 2")
                value = self.mul(value, ln2 if exponent > 0 else self.reciprocal(ln2))
            self._numbers[number] = Residues(value.parts, NO_DEGREE, value.marked, number)
        return self._numbers[number]

    def _rational(self, number: Fraction) -> Residues:
        above, below = number.numerator, number.denominator
        parts = [UNDETERMINED if below % p == 0 else above * pow(below, -1, p) % p for p in self.moduli]
        return self._make([np.asarray(part, np.int64) for part in parts], NO_DEGREE, True)

    def _symbol(self, name: str) -> Residues:
        """A nonzero number that is known only by its name."""
        start = number_of(name) ^ self.salt
        numbers = [1 + (start >> i) % (p - 1) for i, p in enumerate(self.moduli)]
        return Residues(tuple(np.asarray(number, np.int64) for number in numbers))

    def mark(self, mark: int) -> Residues:
        """A scalar that is marked."""
        return Residues((np.asarray(mark, np.int64),) * len(self.moduli), marked=True)

    def integers(self, whole: Whole) -> Residues:
        """Exact integers as numbers."""
        values = whole.values.astype(np.int64)
        parts = [values % p for p in self.moduli]
        if whole.unknown is not None:
            parts = [np.where(whole.unknown, UNDETERMINED, part) for part in parts]
        constant = Fraction(int(values)) if values.ndim == 0 else None
        return Residues(tuple(parts), marked=whole.unknown is not None, constant=constant)

    # Ring operations

    def add(self, a: Residues, b: Residues) -> Residues:
        marked = a.marked or b.marked
        parts = self._each(add_marked if marked else add, a, b)
        return self._make(parts, a.degree.plus(b.degree), marked)

    def negate(self, a: Residues) -> Residues:
        return self.mul(a, self.number(-1))

    def sub(self, a: Residues, b: Residues) -> Residues:
        return self.add(a, self.negate(b))

    def mul(self, a: Residues, b: Residues) -> Residues:
        degree, marked = a.degree.times(b.degree), a.marked or b.marked
        if not marked:
            return self._make(self._each(mul, a, b), degree, False)
        for value, factor in ((a, b), (b, a)):
            if factor.constant is not None and not factor.marked:
                sign = (factor.constant > 0) - (factor.constant < 0)

                def scale(p: int, x: Integers, y: Integers, sign: int = sign) -> Integers:
                    return scale_marked(p, x, y, sign)

                return self._make(self._each(scale, value, factor), degree, True)
        return self._make(self._each(mul_marked, a, b), degree, True)

    def power(self, a: Residues, exponent: int) -> Residues:
        """a to an integer power; infinities give an undetermined result."""
        if exponent < 0:
            return self.power(self.reciprocal(a), -exponent)
        degree = Degree(a.degree.numerator * exponent, a.degree.denominator * exponent)
        if exponent == 1:
            return a

        def raise_(p: int, x: Integers) -> Integers:
            return np.where(x < 0, UNDETERMINED, power(finite(x), exponent, p))

        return self._make(self._each(raise_, a), degree, a.marked)

    def reciprocal(self, a: Residues) -> Residues:
        """1/a; undetermined where a is 0."""

        def invert(p: int, x: Integers) -> Integers:
            inverse = reciprocals(finite(x), p)
            inverse = np.where((x == NEGATIVE_INFINITY) | (x == POSITIVE_INFINITY), 0, inverse)
            return np.where((x == 0) | (x == UNDETERMINED), UNDETERMINED, inverse)

        result = self._make(self._each(invert, a), a.degree.inverse(), True)
        constant = 1 / a.constant if a.constant else None
        return Residues(result.parts, result.degree, result.marked, constant)

    def divide(self, a: Residues, b: Residues) -> Residues:
        return self.mul(a, self.reciprocal(b))

    def total(self, a: Residues, axes: tuple[int, ...], keepdims: bool = False) -> Residues:
        """The sum over axes."""

        def add_up(p: int, x: Integers) -> Integers:
            return np.asarray(x.sum(axis=axes, keepdims=keepdims) % p)

        def add_up_marked(p: int, x: Integers) -> Integers:
            def found(mark: int) -> NDArray[np.bool_]:
                return np.asarray((x == mark).any(axis=axes, keepdims=keepdims))

            return with_infinities(
                add_up(p, finite(x)), found(NEGATIVE_INFINITY), found(POSITIVE_INFINITY), found(UNDETERMINED)
            )

        return self._make(self._each(add_up_marked if a.marked else add_up, a), a.degree, a.marked)

    def matmul(self, a: Residues, b: Residues) -> Residues:
        """[..., M, K] x [..., K, N] -> [..., M, N]; a marked element marks its row or column of the
        result.
        """
        marked = a.marked or b.marked

        def multiply(p: int, x: Integers, y: Integers) -> Integers:
            product = matrix_product(finite(x), finite(y), p) if marked else matrix_product(x, y, p)
            if not marked:
                return product
            rows = np.asarray((x < 0).any(axis=-1, keepdims=True))
            columns = np.asarray((y < 0).any(axis=-2, keepdims=True))
            return np.where(rows | columns, UNDETERMINED, product)

        return self._make(self._each(multiply, a, b), a.degree.times(b.degree), marked)

    # Exponentials and logarithms

    def exp(self, a: Residues) -> Residues:
        """The homomorphism from residues modulo each prime to those modulo the one before it."""
        self._note(a)

        def raised(i: int) -> Integers | None:
            x = a.parts[i + 1] if i + 1 < len(a.parts) else None
            if x is None:
                return None
            result = exponentials(self.moduli[i], self.moduli[i + 1])[finite(x) if a.marked else x]
            return replace_marks(result, x, {NEGATIVE_INFINITY: 0}) if a.marked else result

        return self._make([raised(i) for i in range(len(a.parts))], Degree(1), a.marked)

    def log(self, a: Residues) -> Residues:
        """The inverse of `exp` where it has one; -inf where a is 0 modulo every prime."""
        self._note(a)
        zero = self.is_zero(a)

        def lowered(i: int) -> Integers | None:
            x = a.parts[i - 1] if i else None
            if x is None:
                return None
            result = logarithms(self.moduli[i - 1], self.moduli[i])[finite(x)]
            result = np.where(x == 0, UNDETERMINED, result)
            return replace_marks(
                np.where(zero, NEGATIVE_INFINITY, result), x, {NEGATIVE_INFINITY: UNDETERMINED}
            )

        return self._make([lowered(i) for i in range(len(a.parts))], Degree(1), True)

    # Selections

    def order(self, a: Residues) -> Keys:
        """The position of each element in a random total order; -inf comes first, +inf last.

        Undetermined elements have no meaningful position.
        """
        key = mix(a.leading, self.order_salt + a.first) & ~_TIE
        for index, part in enumerate(a.parts[a.first + 1 :]):
            if part is not None:  # breaks the ties of elements whose leading residues are equal
                key = key ^ (mix(part, self.order_salt - index) & _TIE)
        key = (key >> np.uint64(1)) + np.uint64(1)
        if a.marked:
            key = np.where(a.leading == NEGATIVE_INFINITY, np.uint64(0), key)
            key = np.where(a.leading == POSITIVE_INFINITY, np.uint64((1 << 64) - 1), key)
        return key

    def extreme(self, a: Residues, largest: bool) -> Residues:
        """Along the last axis, the element that comes last (or first) in the random order."""
        keys = self.order(a)
        chosen = np.expand_dims(keys.argmax(axis=-1) if largest else keys.argmin(axis=-1), -1)
        spoilt = np.asarray((a.leading == UNDETERMINED).any(axis=-1)) if a.marked else None

        def pick(p: int, x: Integers) -> Integers:
            found = np.take_along_axis(x, chosen, axis=-1)[..., 0]
            return found if spoilt is None else np.where(spoilt, UNDETERMINED, found)

        return self._make(self._each(pick, a), a.degree, a.marked)

    def extreme_of(self, a: Residues, b: Residues, largest: bool) -> Residues:
        """The larger (or smaller) of two numbers, element by element."""

        def pair(p: int, x: Integers, y: Integers) -> Integers:
            return np.stack(np.broadcast_arrays(x, y), axis=-1)

        marked = a.marked or b.marked
        return self.extreme(self._make(self._each(pair, a, b), a.degree.either(b.degree), marked), largest)

    def where(self, condition: Whole, a: Residues, b: Residues) -> Residues:
        """a where the condition holds, else b."""

        def select(p: int, x: Integers, y: Integers) -> Integers:
            chosen = np.where(condition.values, x, y)
            return chosen if condition.unknown is None else np.where(condition.unknown, UNDETERMINED, chosen)

        marked = a.marked or b.marked or condition.unknown is not None
        return self._make(self._each(select, a, b), a.degree.either(b.degree), marked)

    def is_zero(self, a: Residues) -> NDArray[np.bool_]:
        """Return the mask of elements that are 0 modulo every prime, as a number that is 0 is."""
        zeros: list[NDArray[np.bool_]] = [part == 0 for part in a.parts if part is not None]
        return reduce(np.logical_and, zeros)

    def compare(self, a: Residues, b: Residues) -> tuple[Whole, Whole]:
        """Return a < b, by the random order (exactly for two constants), and a = b, as masks."""
        if a.constant is not None and b.constant is not None:
            order = (a.constant > b.constant) - (a.constant < b.constant)
            orders = np.full(np.broadcast_shapes(a.shape, b.shape), order)
            return Whole(orders < 0), Whole(orders == 0)
        common = common_parts(a, b)
        if not common:
            raise Exhausted
        undetermined = [(x == UNDETERMINED) | (y == UNDETERMINED) for x, y in common]
        same = [(x == y) | unsure for (x, y), unsure in zip(common, undetermined, strict=True)]
        equal = reduce(np.logical_and, same)
        less = (self.order(a) < self.order(b)) & ~equal
        marked = a.marked or b.marked
        unsure = (a.leading == UNDETERMINED) | (b.leading == UNDETERMINED) if marked else None
        return Whole(less, unsure), Whole(equal, reduce(np.logical_and, undetermined) if marked else None)

    # Opaque functions

    def _note(self, *values: Residues) -> None:
        """Record the degree of an argument: different arguments may have one hash by chance."""
        for value in values:
            self.largest_degree = max(self.largest_degree, value.degree.total)

    def hashes(self, name: str, values: Sequence[Residues | Whole]) -> tuple[Keys, NDArray[np.bool_] | None]:
        """A random-looking number for each tuple of elements, and a mask of tuples with unknown elements."""
        keys: Keys = np.asarray(number_of(name) ^ self.salt, np.uint64)
        unknown = unknown_of(*(value for value in values if isinstance(value, Whole)))
        for value in values:
            if isinstance(value, Whole):
                keys = mix(mix(value.values.astype(np.int64), self.salt), keys)
                continue
            self._note(value)
            keys = mix(mix(value.leading, self.salt + 1 + value.first), keys)
            if value.marked:
                spoilt = value.leading == UNDETERMINED
                unknown = spoilt if unknown is None else unknown | spoilt
        return keys, unknown

    def from_hashes(self, keys: Keys, unknown: NDArray[np.bool_] | None) -> Residues:
        """Numbers in every modulus, from hashes."""
        parts = [(mix(keys, i) % np.uint64(p)).astype(np.int64) for i, p in enumerate(self.moduli)]
        if unknown is not None:
            parts = [np.where(unknown, UNDETERMINED, part) for part in parts]
        return Residues(tuple(parts), Degree(1), unknown is not None)

    def opaque(self, name: str, *values: Residues | Whole) -> Residues:
        """Apply an unknown function: equal arguments give equal results."""
        return self.from_hashes(*self.hashes(name, values))
