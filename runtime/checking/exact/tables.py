"""The moduli of the exact check, with tables of exponentials, logarithms and reciprocals.

Each modulus divides the one before it minus 1. So the residues modulo `CHAIN[i]` have a subgroup of order
`CHAIN[i + 1]`, and `exp` can be a homomorphism that takes a residue modulo `CHAIN[i + 1]` to one modulo
`CHAIN[i]`: exp(x + y) = exp(x) exp(y) holds exactly.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
"""Residues, or one of the marks of `residues.py`."""

CHAIN = (23996471, 2399647, 399941, 19997, 4999)
"""Primes, largest first: 10, 6, 20 and 4 times the next one, plus 1."""

DEFAULT_DEPTH = 3
"""Number of moduli, unless exponentials are nested so deeply that they use them up."""

_TABLE_LIMIT = 1 << 22
"""Above it, reciprocals are computed as powers instead of looked up."""


def moduli(depth: int) -> tuple[int, ...]:
    """The `depth` smallest primes of the chain, largest first."""
    return CHAIN[len(CHAIN) - depth :]


def _prime_factors(number: int) -> set[int]:
    found: set[int] = set()
    factor = 2
    while factor * factor <= number:
        while number % factor == 0:
            found.add(factor)
            number //= factor
        factor += 1
    return found | ({number} if number > 1 else set())


@cache
def _root(prime: int) -> int:
    """The smallest generator of the multiplicative group."""
    factors = _prime_factors(prime - 1)
    return next(r for r in range(2, prime) if all(pow(r, (prime - 1) // f, prime) != 1 for f in factors))


def _powers(base: int, count: int, prime: int) -> Integers:
    """base**0, …, base**(count - 1)."""
    result = np.ones(count, np.int64)
    known = 1
    while known < count:
        more = min(known, count - known)
        result[known : known + more] = result[:more] * pow(base, known, prime) % prime
        known += more
    return result


@cache
def exponentials(prime: int, lower: int) -> Integers:
    """Entry x, for x modulo `lower`, is exp(x) modulo `prime`."""
    return _powers(pow(_root(prime), (prime - 1) // lower, prime), lower, prime)


@cache
def _indices(prime: int) -> NDArray[np.int32]:
    """Entry x is the exponent that gives x as a power of the generator; entry 0 means nothing."""
    result = np.zeros(prime, np.int32)
    result[_powers(_root(prime), prime - 1, prime)] = np.arange(prime - 1, dtype=np.int32)
    return result


@cache
def logarithms(prime: int, lower: int) -> Integers:
    """Entry x, for x modulo `prime`, is log(x) modulo `lower`; entry 0 means nothing.

    A homomorphism from products to sums, with log(exp(x)) = x.
    """
    inverse = pow((prime - 1) // lower, -1, lower)
    return _indices(prime).astype(np.int64) % lower * inverse % lower


@cache
def _reciprocals(prime: int) -> Integers:
    powers = _powers(_root(prime), prime - 1, prime)
    return powers[(prime - 1 - _indices(prime)) % (prime - 1)]


def power(base: Integers, exponent: int, prime: int) -> Integers:
    """base**exponent for an exponent that is not negative."""
    result: Any = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base % prime
        base = base * base % prime
        exponent >>= 1
    return result


def reciprocals(values: Integers, prime: int) -> Integers:
    """Return 1/x for each residue; undefined for 0."""
    if prime <= _TABLE_LIMIT:
        return _reciprocals(prime)[values]
    return power(values, prime - 2, prime)


_EXACT = 1 << 53
"""Integers below it are exact as float64."""


def _product(a: Integers, b: Integers) -> Integers:
    """Product of residues small enough that float64 is exact; BLAS is much faster than numpy's own loops."""
    return np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)


def matrix_product(a: Integers, b: Integers, prime: int) -> Integers:
    """The product of matrices of residues, leading axes broadcast."""
    count = a.shape[-1]
    if prime * prime * count < _EXACT:
        return _product(a, b) % prime
    # b = 4096 high + low
    longest = _EXACT // (prime * max(4096, prime >> 12) * 2)
    result: Any = 0
    for start in range(0, count, longest):
        left, right = a[..., start : start + longest], b[..., start : start + longest, :]
        high = _product(left, right >> 12) % prime * 4096
        result = (result + high + _product(left, right & 4095)) % prime
    return result
