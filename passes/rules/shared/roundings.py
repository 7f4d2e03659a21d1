"""Side conditions of laws that move an operator past a rounding to a narrower type."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from ....dialects import block
from ...analysis.roundings import (
    has_range_of,
    is_bounded_exponential,
    is_exact_in,
    scale_may_leave,
    shift_may_leave,
)
from ..law import Check

EXACT_BELOW = "exact-below"
"""The name of the side condition."""

RANGE = "range"
UNSCALED_RANGE = "what is formed unscaled has a type with the range of f32"
"""The name and the text of a side condition of laws that compute with unscaled items."""


def scale_leaves(item: SSAValue, element_type: Attribute, pays: bool, carried: bool) -> Check:
    """The side condition of a law that scales after `item` is rounded to a type, instead of before.

    Where the rounding is another one, but no worse, the law applies only if it `pays`. With `carried`,
    `block-stabilize` carries the item if it is an exponential.
    """
    own = block.element_type_of(item.type)
    bounded = carried and is_bounded_exponential(item, element_type)
    if bounded or is_exact_in(item, element_type):
        return Check(EXACT_BELOW, True, "")
    if not scale_may_leave(item, element_type):
        reason = f"the unscaled {own} block is rounded to {element_type}, which does not have its range"
        return Check(EXACT_BELOW, False, reason)
    reason = (
        f"the unscaled {own} block is rounded to {element_type} otherwise than the scaled one, for no gain"
    )
    return Check(EXACT_BELOW, pays, reason)


def shift_leaves(item: SSAValue, element_type: Attribute) -> Check:
    """The side condition of a law that shifts after `item` is rounded to a type, instead of before."""
    own = block.element_type_of(item.type)
    return Check(
        EXACT_BELOW,
        shift_may_leave(item, element_type),
        f"the unshifted {own} block is rounded to {element_type}, relative to its mean",
    )


def keeps_range(element_type: Attribute) -> Check:
    """The side condition of a law that computes with unscaled items in a type."""
    return Check(
        RANGE,
        has_range_of(element_type, f32),
        f"{element_type} has a smaller range than f32, and the unscaled numbers may lie outside of it",
    )
