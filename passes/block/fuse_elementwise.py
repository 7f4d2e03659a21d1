"""`block-fuse-elementwise`: the last step of fusion, after stabilisation."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriteWalker

from ..rules.fuse_elementwise import FuseElementwise


@dataclass(frozen=True)
class BlockFuseElementwisePass(ModulePass):
    """Make one element-wise operator of those that feed one another.

    Run it last: it hides the scales, shifts and exponentials that the other laws look for.
    """

    name = "block-fuse-elementwise"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        PatternRewriteWalker(FuseElementwise()).rewrite_module(op)
