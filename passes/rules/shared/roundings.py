"""Side conditions of laws that move an operator past a rounding to a narrower type."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

from ....dialects import block
from ...analysis.roundings import scale_may_leave, shift_may_leave
from ..law import Check

EXACT_BELOW = "exact-below"
"""The name of the side condition."""


def scale_leaves(item: SSAValue, element_type: Attribute) -> Check:
    """The side condition of a law that scales after `item` is rounded to a type, instead of before."""
    own = block.element_type_of(item.type)
    return Check(
        EXACT_BELOW,
        scale_may_leave(item, element_type),
        f"the unscaled {own} block is rounded to {element_type}, which does not have its range",
    )


def shift_leaves(item: SSAValue, element_type: Attribute) -> Check:
    """The side condition of a law that shifts after `item` is rounded to a type, instead of before."""
    own = block.element_type_of(item.type)
    return Check(
        EXACT_BELOW,
        shift_may_leave(item, element_type),
        f"the unshifted {own} block is rounded to {element_type}, relative to its mean",
    )
