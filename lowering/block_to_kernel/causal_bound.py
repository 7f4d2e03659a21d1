"""Iterations of a loop over keys that a causal mask leaves nothing of.

Where an iteration's scores are -inf at every element, its maximum is -inf, the running maximum stays, and
the sums that are relative to it get exp(-inf) = 0 times something: the iteration may be left out. (It differs
only where that something is infinite or NaN, which then reaches the result no more, as it should not.)
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from ...dialects import block
from .running_maximum import constant_number, may_run

_LATER = {"sle": False, "slt": False, "sge": True, "sgt": True}
"""Predicates that keep what is not later, and whether the later index stands on the left."""


def visible_until(op: block.MapOp, maximum: int) -> str | None:
    """The dim R for which every sum of a map over N vanishes at n > r; None where there is no such mask.

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
    chosen = scores.owner.yield_op.arguments[0].owner
    if not isinstance(chosen, arith.SelectOp) or constant_number(chosen.rhs) != float("-inf"):
        return None
    for condition in _conditions(chosen.cond):
        later = _earlier_dim(condition, op.dim_name)
        if later is not None:
            return later
    return None


def _only_exponent(op: block.MapOp, top: SSAValue, scores: SSAValue) -> bool:
    """Whether the maximum is only subtracted from the scores whose maximum it is."""
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
    """Whether an element-wise op uses a shift only as `scores + shift`."""
    arguments = dict(zip(op.inputs, op.body.block.args, strict=True))
    if scores not in arguments or shift not in arguments:
        return False
    wanted = {arguments[scores], arguments[shift]}
    return all(
        isinstance(use.operation, arith.AddfOp) and set(use.operation.operands) == wanted
        for use in arguments[shift].uses
    )


def _conditions(value: SSAValue) -> Iterator[arith.CmpiOp]:
    """The comparisons all of which hold where a condition does."""
    if isinstance(value.owner, arith.CmpiOp):
        yield value.owner
    elif isinstance(value.owner, arith.AndIOp):
        yield from _conditions(value.owner.lhs)
        yield from _conditions(value.owner.rhs)


def _earlier_dim(condition: arith.CmpiOp, dim: str) -> str | None:
    """R, where a comparison says n <= r or n < r."""
    turned = _LATER.get(arith.CMPI_COMPARISON_OPERATIONS[condition.predicate.value.data])
    if turned is None:
        return None
    small, large = (condition.rhs, condition.lhs) if turned else (condition.lhs, condition.rhs)
    if _index_of(small) != dim:
        return None
    return _index_of(large)


def _index_of(value: SSAValue) -> str | None:
    owner: Operation | object = value.owner
    while isinstance(owner, arith.IndexCastOp):
        owner = owner.input.owner
    return owner.dim_name if isinstance(owner, block.IndexOp) else None
