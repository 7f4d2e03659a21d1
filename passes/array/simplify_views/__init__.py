"""`array-simplify-views`: slices and concats of computed arrays go where they cost nothing.

A slice goes up through what computes its operand to the function's arguments, where it is only another view
of an array that is there. A concat goes down to the sums over its axis, where it becomes the sum of what its
pieces give. Where that cannot be done for good, or only by computing elements of a matmul twice, they stay.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from ....dialects.array import ConcatOp, SliceOp
from .folds import fold_patterns
from .plan import Plan

__all__ = ["ArraySimplifyViewsPass", "simplify_views"]


def simplify_views(function: FuncOp) -> None:
    """Rewrite the body, one block, of a function."""
    if not any(isinstance(op, SliceOp | ConcatOp) for op in function.body.block.ops):
        return
    _fold(function)
    plan = Plan(function.body.block)
    if plan.changes:
        plan.carry_out()
        _fold(function)


def _fold(function: FuncOp) -> None:
    applier = GreedyRewritePatternApplier(fold_patterns(), dce_enabled=True)
    PatternRewriteWalker(applier).rewrite_region(function.body)


@dataclass(frozen=True)
class ArraySimplifyViewsPass(ModulePass):
    """Push slices of computed arrays up to the arguments, and concats down into sums over their axis.

    Needs `array-decompose` first: nothing goes through a composite.
    """

    name = "array-simplify-views"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                simplify_views(function)
