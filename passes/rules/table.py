"""All laws, in the order in which documentation lists them."""

from __future__ import annotations

import sys

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from . import (
    cse,
    duplicate_mapped_scale,
    exp_of_shift,
    extend_map,
    fuse_consecutive_maps,
    fuse_elementwise,
    fuse_map_reduction,
    fuse_sibling_maps,
    hoist_invariant,
    inline_whole_dim,
    interchange_maps,
    leave_sum,
    merge_scales,
    slice_extend,
    split_map,
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
    leave_sum,
    duplicate_mapped_scale,
    hoist_invariant,
)


def freely_ordered_laws() -> list[type[AnyLaw]]:
    """The laws of phase 2 that may be tried in any order."""
    return [law for module in _FREELY_ORDERED for law in module.LAWS if not law.late]


def late_laws() -> list[type[AnyLaw]]:
    """The laws of phase 2 that wait until consecutive maps are fused."""
    return [law for module in _FREELY_ORDERED for law in module.LAWS if law.late]


def all_laws() -> list[type[AnyLaw]]:
    """The laws of phase 2."""
    modules = (
        inline_whole_dim,
        interchange_maps,
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


def later_laws() -> list[type[AnyLaw]]:
    """The extensions of phase 3, which the driver tries one by one, and what comes after everything else."""
    return [law for module in (extend_map, slice_extend, split_map, fuse_elementwise) for law in module.LAWS]


class Rule(RewritePattern):
    """All variants of one law, by the name that users know; at an operation the first that applies fires."""

    def __init__(self, name: str):
        self.laws = [law() for law in (*all_laws(), *later_laws()) if law.name == name]

    @property
    def summary(self) -> str:
        """The law in one sentence; of a law with variants, what they have in common."""
        if len(self.laws) == 1:
            return self.laws[0].law
        doc = sys.modules[type(self.laws[0]).__module__].__doc__ or ""
        return doc.partition("\n")[0]

    @property
    def variants(self) -> dict[str, str]:
        """Each variant, where there are several, with its law in one sentence."""
        return {law.variant: law.law for law in self.laws} if len(self.laws) > 1 else {}

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        for law in self.laws:
            law.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                return
