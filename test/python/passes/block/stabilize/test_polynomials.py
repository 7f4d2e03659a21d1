"""The algebra in which pivots are proved: exact polynomials, and combinations of outer products."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from bb.passes.block.stabilize.polynomials import LIMIT, ONES, Combination, Polynomial, TooComplex


def atoms() -> Iterator[Polynomial]:
    return (Polynomial.atom((name,)) for name in "abc")


def test_polynomials():
    a, b, c = atoms()
    assert ((a + b) ** 2).key() == (a**2 + a * b * Polynomial.number(2) + b**2).key()
    assert (a * b).key() == (b * a).key()
    assert (a * (b + c)).key() == (a * b + a * c).key()
    assert not (a + a * Polynomial.number(-1)).terms
    assert (a**0).key() == Polynomial.number(1).key()
    assert (a * b).has(("a",))
    assert not (a * b + c * b + a * b * Polynomial.number(-1)).has(("a",))


def test_coefficients_are_exact():
    a, *_ = atoms()
    tenth = Polynomial.number(Fraction(1, 10))
    three = a * tenth + a * tenth + a * tenth
    assert three.key() == (a * Polynomial.number(Fraction(3, 10))).key()
    assert three.key() != (a * Polynomial.number(Fraction(0.3))).key()


def test_polynomials_do_not_grow_without_end():
    total = Polynomial.number(0)
    for index in range(LIMIT):
        total = total + Polynomial.atom(("x", index))
    with pytest.raises(TooComplex):
        total * total


def test_combinations():
    a, b, _ = atoms()
    x = Combination.of("x", a)
    assert (x + x.scaled(Polynomial.number(-1))).parts == {}
    assert (x + Combination.of(ONES, b)).has(("b",))
    assert not (x + Combination.of(ONES, b) + Combination.of(ONES, b * Polynomial.number(-1))).has(("b",))
    assert x.scaled(b).key() == Combination.of("x", a * b).key()
