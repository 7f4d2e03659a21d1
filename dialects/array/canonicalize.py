"""Canonical forms of the views (broadcast, transpose, reshape): a chain of one kind becomes one operation."""

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.utils.exceptions import VerifyException

from .shapes import DYNAMIC, reshape_groups, shape_of
from .views import BroadcastOp, ReshapeOp, TransposeOp


class TransposeOfTranspose(RewritePattern):
    """transpose(transpose(x, p), q) = transpose(x, [p[i] for i in q])."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if not isinstance(inner, TransposeOp):
            return
        first, second = inner.perm.get_values(), op.perm.get_values()
        rewriter.replace(op, TransposeOp(inner.input, [first[axis] for axis in second]))


class BroadcastOfBroadcast(RewritePattern):
    """broadcast(broadcast(x)) = broadcast(x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BroadcastOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if isinstance(inner, BroadcastOp):
            rewriter.replace(op, BroadcastOp(inner.input, shape_of(op.result)))


class ReshapeOfReshape(RewritePattern):
    """reshape(reshape(x)) = reshape(x), if one reshape can express both."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter, /) -> None:
        inner = op.input.owner
        if not isinstance(inner, ReshapeOp):
            return
        if shape_of(inner.input).count(DYNAMIC) > 1:  # which `?` goes where is only known step by step
            return
        try:
            reshape_groups(shape_of(inner.input), shape_of(op.result))
        except VerifyException:  # a merge that is split elsewhere needs both steps
            return
        rewriter.replace(op, ReshapeOp(inner.input, shape_of(op.result)))
