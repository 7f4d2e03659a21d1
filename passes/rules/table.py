"""All laws, in the order in which documentation lists them."""

from __future__ import annotations

from . import (
    cse,
    duplicate_mapped_scale,
    exp_of_shift,
    fuse_consecutive_maps,
    fuse_map_reduction,
    fuse_sibling_maps,
    hoist_invariant,
    inline_whole_dim,
    leave_sum,
    merge_scales,
    swap_scale_dot,
    swap_shift_dot,
    vector_algebra,
)
from .law import AnyLaw

_FREELY_ORDERED = (
    vector_algebra,
    swap_scale_dot,
    swap_shift_dot,
    exp_of_shift,
    merge_scales,
    fuse_map_reduction,
    fuse_consecutive_maps,
    leave_sum,
    duplicate_mapped_scale,
    hoist_invariant,
)


def freely_ordered_laws() -> list[type[AnyLaw]]:
    """The laws of phase 2 that may be tried in any order."""
    return [law for module in _FREELY_ORDERED for law in module.LAWS]


def all_laws() -> list[type[AnyLaw]]:
    """Every law."""
    modules = (
        inline_whole_dim,
        fuse_consecutive_maps,
        fuse_sibling_maps,
        fuse_map_reduction,
        swap_scale_dot,
        swap_shift_dot,
        exp_of_shift,
        merge_scales,
        leave_sum,
        duplicate_mapped_scale,
        vector_algebra,
        hoist_invariant,
        cse,
    )
    return [law for module in modules for law in module.LAWS]
