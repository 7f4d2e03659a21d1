"""Numbers in programs, in their usual notation: `1/96`, `1e-6`, `√48`."""

from __future__ import annotations

from fractions import Fraction
from math import copysign, e, frexp, isfinite, isqrt, log, pi, sqrt

from xdsl.ir import Attribute

from ....dialects.block import exact
from ....dialects.scalar import significand_bits

_FAMOUS = ((sqrt(2 / pi), "√(2/π)"), (log(2), "ln 2"), (1 / log(2), "log₂e"), (pi, "π"), (e, "e"))
_ASCII = {"√(2/π)": "sqrt(2/pi)", "ln 2": "ln(2)", "log₂e": "log2(e)", "π": "pi", "e": "e"}

EXACT = 1e-13
"""Largest relative distance of a number in double precision from the constant that it is printed as."""
LARGEST_EXTENT = 4096
"""Largest n for which `1/n` and `√n` are recognised."""


def rational(value: float, type: Attribute) -> Fraction | None:
    """The number that a constant of a floating-point type stands for; None for infinities and NaN."""
    bits = significand_bits(type)
    if not isfinite(value) or value == 0 or bits == 53:
        return exact(value)
    half_unit = 2.0 ** (frexp(value)[1] - bits - 1)

    def stands_for(candidate: Fraction | float) -> bool:
        """True if a number is rounded to the constant."""
        return abs(float(candidate) - value) <= half_unit

    reciprocal = Fraction(1, round(1 / value)) if 2 <= abs(1 / value) <= LARGEST_EXTENT else Fraction(0)
    if stands_for(reciprocal):
        return reciprocal
    decimal = next(filter(stands_for, (float(f"{value:.{digits}g}") for digits in range(1, 18))))
    if _digits(decimal) > 6:
        root = _root(abs(value), half_unit / abs(value))
        if root is not None:
            return exact(copysign(root[0], value))
        quotient = Fraction(value).limit_denominator(LARGEST_EXTENT)
        if stands_for(quotient):
            return quotient
    return Fraction(repr(decimal))


def coefficient(value: Fraction, type: Attribute) -> Fraction:
    """A coefficient of a linear form; one that comes from a rounded constant is the number that this stands
    for.
    """
    q = value.denominator
    written = q <= LARGEST_EXTENT or (q <= 1 << 20 and q & (q - 1) != 0)
    if written or _root(abs(float(value)), EXACT) is not None:
        return value
    return rational(float(value), type) or value


def _digits(value: float) -> int:
    return len(repr(abs(value)).partition("e")[0].replace(".", "").strip("0"))


def _decimal(value: Fraction) -> str:
    """At most nine digits, which distinguish all numbers of 32 bits: `0.044715`, `1e-6`."""
    found = float(value)
    text = repr(found) if _digits(found) <= 9 else f"{found:.9g}"
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa.removesuffix('.0')}e{int(exponent)}" if mark else text.removesuffix(".0")


def _root(value: float, tolerance: float) -> tuple[float, str, bool] | None:
    """A well-known constant, `√n` or `1/√n`: the number, its name, and whether the name is above the bar."""
    for constant, name in _FAMOUS:
        if abs(constant - value) <= tolerance * value:
            return constant, name, True
    for square, above in ((value * value, True), (1 / (value * value) if value else 0.0, False)):
        n = round(min(square, 2.0 * LARGEST_EXTENT))
        root = sqrt(n) if above else 1 / sqrt(max(n, 1))
        if 2 <= n <= LARGEST_EXTENT and isqrt(n) ** 2 != n and abs(root - value) <= tolerance * value:
            return root, f"√{n}", above
    return None


def _irrational(value: Fraction, ascii: bool) -> tuple[str, str] | None:
    """A square root or a well-known constant, above or below the bar."""
    root = _root(float(value), EXACT) if value.denominator > LARGEST_EXTENT else None
    if root is None:
        return None
    _, name, above = root
    if ascii:
        name = _ASCII.get(name, f"sqrt({name[1:]})")
    return (name, "") if above else ("", name)


def _is_quotient(value: Fraction) -> bool:
    """True if a factor reads best as a quotient of small integers: 1/8 and 2/3, but not 0.3 and 1e-6."""
    p, q = value.numerator, value.denominator
    if q == 1 or p > 9 or q > 1 << 24:
        return False
    is_power_of_ten = q == 10 ** (len(str(q)) - 1)
    return q < 1000 or not is_power_of_ten if p == 1 else _digits(float(value)) > 7


def literal(value: Fraction, ascii: bool) -> str:
    """A number that stands alone."""
    if value < 0:
        return f"-{literal(-value, ascii)}"
    if value.denominator == 1 and value.numerator < 1 << 40:
        return str(value.numerator)
    if _is_quotient(value) and _digits(float(value)) > 7:
        return str(value)
    root = _irrational(value, ascii)
    if root is not None:
        return root[0] or f"1/{root[1]}"
    return _decimal(value)


def scale(value: Fraction, ascii: bool) -> tuple[list[str], list[str]]:
    """A positive factor, as the parts that it has above and below the bar."""
    if value == 1:
        return [], []
    if _is_quotient(value):
        return [str(value.numerator)] if value.numerator > 1 else [], [str(value.denominator)]
    root = _irrational(value, ascii)
    if root is not None:
        return [root[0]] if root[0] else [], [root[1]] if root[1] else []
    return [literal(value, ascii)], []
