"""`array-simplify-views`: slices and concats of computed arrays move to places where they cost nothing.

A slice moves up, through the operations that compute its operand, to the function's arguments. There it is
only a view of an existing array. A concat moves down to sums over its axis. There it becomes the sum of the
results of its pieces. A slice or concat stays if it cannot move all the way, or only by computing elements of
a matmul twice.
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
