"""Values that laws form: side conditions and types that keep new values in the range of the old ones.

A law that computes γ·w, b·d, c·d or k·c where the program did not computes it in f32 at least. Where even f32
could overflow, or lose digits to underflow, a law fires only if the new value is needed.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from ....dialects import block
from ....dialects.array.core import bit_width
from ....dialects.block import CoefficientAttr
from ...analysis.facts import waits_for_reduction
from ...analysis.roundings import has_range_of
from ..law import Check

WIDE = "wide"
"""The name of the side condition that a value is not formed in a type of 16 bits."""

RANGE = "range"
"""The name of the side condition that a value is formed in a type with the range of f32."""


def is_wide(element_type: Attribute) -> bool:
    """True for float types of 32 bits and more."""
    return bit_width(element_type) >= 32


def wide_type(element_type: Attribute) -> Attribute:
    """The type in which a law forms products and sums: f32 for types of 16 bits, else the type itself."""
    return element_type if is_wide(element_type) else f32


def formed_wide(item: SSAValue, what: str) -> Check:
    """The side condition that what a law newly forms has 32 bits or more; `what` names it in the reason."""
    element_type = block.element_type_of(item.type)
    return Check(WIDE, is_wide(element_type), f"{what} would be rounded to {element_type}")


def formed_in_range(item: SSAValue, what: str) -> Check:
    """The side condition that what a law newly forms, rounded as often as before, has the range of f32."""
    element_type = block.element_type_of(item.type)
    holds = has_range_of(element_type, wide_type(element_type))
    return Check(RANGE, holds, f"{what} would be rounded to {element_type}, whose range is small")


def demanded(vectors: Iterable[SSAValue], what: str) -> Check:
    """The side condition that some vector waits for a reduction, so that moving it lets a loop go ahead."""
    return Check(
        "demand",
        any(waits_for_reduction(vector) for vector in vectors),
        f"the {what} does not wait for a reduction, and moving it could overflow or cancel",
    )


def have_common_factors(first: SSAValue, second: SSAValue) -> bool:
    """True if a factor of one vector is a divisor in the other, so that their product has fewer factors."""
    powers, others = dict(_factors(first)), dict(_factors(second))
    return any(powers[value] * others[value] < 0 for value in powers.keys() & others.keys())


def have_opposite_terms(first: SSAValue, second: SSAValue) -> bool:
    """True if a term of one vector is subtracted in the other, so that their sum has fewer terms."""
    terms = {(value, c.factors): c.value for c, value in _terms(first)}
    return any(terms.get((value, c.factors), 0) * c.value < 0 for c, value in _terms(second))


def _factors(vector: SSAValue) -> list[tuple[SSAValue, int]]:
    owner = vector.owner
    return owner.pairs if isinstance(owner, block.MonomialOp) else [(vector, 1)]


def _terms(vector: SSAValue) -> list[tuple[CoefficientAttr, SSAValue]]:
    owner = vector.owner
    return owner.pairs if isinstance(owner, block.LinearOp) else [(CoefficientAttr(1), vector)]


def is_exact_part(coefficient: CoefficientAttr) -> bool:
    """True if a product with a constant is exact and no larger: the constant is 1, 1/2, 1/4, .. or minus
    that.
    """
    number = abs(coefficient.value)
    return not coefficient.factors and number.numerator == 1 and number.denominator.bit_count() == 1
