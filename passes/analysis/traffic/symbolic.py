"""Polynomials over the extents and block counts of dims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Symbol:
    """The extent of a dim in elements, its number of blocks, or the extent of its first block.

    With `until` it belongs to a loop over the dim that ends early, with the blocks of the dim `until`. It is
    the sum over these blocks of the number of elements that are visited; with `rows` each block counts as
    often as it has elements. `whole` lets the last block end where the dim does.
    """

    dim: str
    blocks: bool = False
    first: bool = False
    until: str = ""
    offset: int = 0
    rows: bool = False
    whole: bool = False

    def __str__(self) -> str:
        if self.first:
            return f"first({self.dim})"
        own = f"#{self.dim}" if self.blocks else self.dim
        if not self.until:
            return own
        end = self.until if self.rows else f"#{self.until}"
        offset = f" + {self.offset}" if self.offset else ""
        return f"until({end}·{own}{offset}{', whole' if self.whole else ''})"


Monomial = tuple[tuple[Symbol, int], ...]
"""Symbols and their powers, sorted."""


@dataclass(frozen=True)
class Polynomial:
    """A sum of products of symbols with integer coefficients; prints as `2·M·K·#N + M`.

    `M` is the extent of M in elements, `#M` the number of its blocks, `first(M)` the extent of the first
    block.
    """

    terms: Mapping[Monomial, int]

    @staticmethod
    def constant(value: int) -> Polynomial:
        return Polynomial({(): value} if value else {})

    @staticmethod
    def symbol(symbol: Symbol) -> Polynomial:
        return Polynomial({((symbol, 1),): 1})

    def __add__(self, other: Polynomial) -> Polynomial:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
        return Polynomial({monomial: c for monomial, c in terms.items() if c})

    def __mul__(self, other: Polynomial | int) -> Polynomial:
        if isinstance(other, int):
            other = Polynomial.constant(other)
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                powers = dict(left)
                for symbol, power in right:
                    powers[symbol] = powers.get(symbol, 0) + power
                monomial = tuple(sorted(powers.items()))
                terms[monomial] = terms.get(monomial, 0) + a * b
        return Polynomial({monomial: c for monomial, c in terms.items() if c})

    def evaluate(self, values: Mapping[Symbol, int]) -> int:
        """The value for given values of the symbols. Raises KeyError for a symbol without one."""
        total = 0
        for monomial, coefficient in self.terms.items():
            product = coefficient
            for symbol, power in monomial:
                product *= values[symbol] ** power
            total += product
        return total

    def symbols(self) -> set[Symbol]:
        return {symbol for monomial in self.terms for symbol, _ in monomial}

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        return " + ".join(
            _term(monomial, self.terms[monomial]) for monomial in sorted(self.terms, key=_degree)
        )


ZERO = Polynomial({})


def _degree(monomial: Monomial) -> tuple[int, Monomial]:
    return -sum(power for _, power in monomial), monomial


def _term(monomial: Monomial, coefficient: int) -> str:
    factors = [str(symbol) + (f"^{power}" if power > 1 else "") for symbol, power in monomial]
    if coefficient != 1 or not factors:
        factors.insert(0, str(coefficient))
    return "·".join(factors)
