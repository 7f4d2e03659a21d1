"""Row statistics as polynomials, and blocks as combinations of basic blocks with such polynomials as
coefficients.

This is the normal form in which a program is compared with itself after a row shift. If the shift occurs in
none of the program's results, the program does not change under it. Coefficients are exact rationals, so this
is a proof and no estimate.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

Atom = Hashable
"""A vector (or number) of which only the identity is known."""

Monomial = tuple[tuple[Atom, int], ...]
"""Atoms with their powers, in a fixed order."""


class TooComplex(Exception):
    """A value has no normal form of this kind."""


@dataclass(frozen=True)
class Polynomial:
    """A polynomial in atoms."""

    terms: Mapping[Monomial, Fraction]

    @staticmethod
    def number(value: Fraction | int) -> Polynomial:
        return Polynomial({(): Fraction(value)} if value else {})

    @staticmethod
    def atom(atom: Atom) -> Polynomial:
        return Polynomial({((atom, 1),): Fraction(1)})

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
        return _checked({monomial: c for monomial, c in terms.items() if c})

    def __mul__(self, other: Polynomial) -> Polynomial:
        terms: dict[Monomial, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                product = times(left, right)
                terms[product] = terms.get(product, Fraction(0)) + a * b
        return _checked({monomial: c for monomial, c in terms.items() if c})

    def __pow__(self, power: int) -> Polynomial:
        result = Polynomial.number(1)
        for _ in range(power):
            result = result * self
        return result

    def has(self, atom: Atom) -> bool:
        """True if an atom occurs."""
        return any(own == atom for monomial in self.terms for own, _ in monomial)

    def key(self) -> Hashable:
        """Equal keys are equal polynomials."""
        return frozenset(self.terms.items())


LIMIT = 200
"""Number of terms from which on a value counts as too complex."""


def _checked(terms: dict[Monomial, Fraction]) -> Polynomial:
    if len(terms) > LIMIT:
        raise TooComplex
    return Polynomial(terms)


def times(left: Monomial, right: Monomial) -> Monomial:
    """The product of two monomials."""
    powers: dict[Atom, int] = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    kept = ((atom, power) for atom, power in powers.items() if power)
    return tuple(sorted(kept, key=lambda pair: repr(pair[0])))


Basis = Hashable
"""A block of which only the identity is known; `ONES`, or `("columns", v)` for 1·vᵀ."""

ONES: Basis = ("ones",)


@dataclass(frozen=True)
class Combination:
    """Σ diag(pᵢ)·Bᵢ with polynomials pᵢ in row vectors and basic blocks Bᵢ."""

    parts: Mapping[Basis, Polynomial]

    @staticmethod
    def of(basis: Basis, coefficient: Polynomial | None = None) -> Combination:
        return Combination({basis: coefficient or Polynomial.number(1)})

    def __add__(self, other: Combination) -> Combination:
        parts = dict(self.parts)
        for basis, coefficient in other.parts.items():
            parts[basis] = parts[basis] + coefficient if basis in parts else coefficient
        return Combination({basis: c for basis, c in parts.items() if c.terms})

    def scaled(self, factor: Polynomial) -> Combination:
        return Combination({basis: c * factor for basis, c in self.parts.items() if (c * factor).terms})

    def has(self, atom: Atom) -> bool:
        return any(coefficient.has(atom) for coefficient in self.parts.values())

    def key(self) -> Hashable:
        return frozenset((basis, coefficient.key()) for basis, coefficient in self.parts.items())
