"""The bound of a loop over keys under a causal mask.

If the scores of a key are -inf at every row of a block, the running maximum does not change, and the sums
that are relative to it add exp(-inf) = 0 times a value. So the key may be skipped. (The result differs only
if that value is infinite or NaN; it then no longer reaches the result, as the mask intends.)
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ...dialects import block
from ...passes.analysis.causal_masks import Until, masked_later
from .running_maximum import may_run


def visible_until(op: block.MapOp, maximum: int) -> Until | None:
    """Return the bound n > r + offset from which on every sum of a map over N adds nothing; None without a
    mask.

    `maximum` is the number of the result that the sums are relative to.
    """
    top = op.yield_op.arguments[maximum]
    if not isinstance(top.owner, block.RowMaxOp) or not may_run(op, maximum):
        return None
    others = [index for index in range(len(op.kinds)) if index != maximum]
    if any(op.result_pivots[index] != maximum for index in others):
        return None
    scores = top.owner.operand
    if not isinstance(scores.owner, block.ElementwiseOp) or not _only_exponent(op, top, scores):
        return None
    return masked_later(scores.owner).get(op.dim_name)


def _only_exponent(op: block.MapOp, top: SSAValue, scores: SSAValue) -> bool:
    """True if the maximum is only subtracted from the scores whose maximum it is."""
    for use in top.uses:
        user = use.operation
        if isinstance(user, block.YieldOp):
            continue
        if not isinstance(user, block.ElementwiseOp | block.LinearOp):
            return False
        for shift in user.results[0].uses:
            shifted = shift.operation
            if isinstance(shifted, block.RowShiftOp):
                if shifted.block is not scores:
                    return False
            elif not isinstance(shifted, block.ElementwiseOp) or not _adds(shifted, scores, user.results[0]):
                return False
    return True


def _adds(op: block.ElementwiseOp, scores: SSAValue, shift: SSAValue) -> bool:
    """True if an element-wise op uses a shift only as `scores + shift`."""
    arguments = dict(zip(op.inputs, op.body.block.args, strict=True))
    if scores not in arguments or shift not in arguments:
        return False
    wanted = {arguments[scores], arguments[shift]}
    return all(
        isinstance(use.operation, arith.AddfOp) and set(use.operation.operands) == wanted
        for use in arguments[shift].uses
    )
