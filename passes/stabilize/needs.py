"""Which exponentials are carried as pairs, and which lists must hold plain numbers."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import block
from ...dialects.block import CoefficientAttr, Kind
from ..rules.items import mask_of, shift_of, through_cast, unary


def is_exp(op: Operation) -> bool:
    """Whether an operation is the exponential of an item."""
    return isinstance(op, block.ElementwiseOp) and unary(op.result, math.ExpOp) is not None


def is_log(op: Operation) -> bool:
    """Whether an operation is the logarithm of an item."""
    return isinstance(op, block.ElementwiseOp) and unary(op.result, math.LogOp) is not None


def is_bounded(value: SSAValue) -> bool:
    """Whether a block is known to be at most 0: what is shifted by its own row maximum, masked or not."""
    shift = shift_of(value)
    owner = value.owner
    if isinstance(owner, block.ElementwiseOp):
        mask = mask_of(owner)
        return mask is not None and mask.number <= 0 and is_bounded(owner.inputs[mask.operand])
    if not isinstance(shift, block.RowShiftOp):
        return False
    form = shift.vector.owner
    if not isinstance(form, block.LinearOp) or len(form.terms) != 1 or form.coefficients.data[0] != CoefficientAttr(-1):
        return False
    top = form.terms[0].owner
    return isinstance(top, block.RowMaxOp) and top.operand is shift.block


def _carries(user: Operation, value: SSAValue) -> bool:
    """Whether an operator on a pair gives a pair (or a plain value, the exponents having cancelled)."""
    match user:
        case block.RowSumOp() | block.RowScaleOp() | block.MulOp() | block.MonomialOp() | block.AddOp():
            return True
        case block.ColScaleOp():
            return value is user.block
        case block.DotOp() | block.OuterOp():
            return value is user.lhs
        case block.LinearOp():
            return True
        case block.ElementwiseOp():
            return is_log(user) or through_cast(user.result) is not user.result
        case block.StoreOp():
            return not escapes(user.result)
        case _:
            return False


def wants_pair(op: block.ElementwiseOp) -> bool:
    """Whether an exponential is to be carried as a pair: somebody sums, contracts or scales it.

    An exponential inside a sigmoid, say, feeds an addition of a constant and saturates as it should.
    """
    value = op.result
    if is_bounded(op.inputs[0]):
        return False
    for use in value.uses:
        user = use.operation
        if isinstance(user, block.YieldOp):
            parent = user.parent_op()
            if isinstance(parent, block.MapOp) and parent.result_kinds[use.index] in (Kind.Sum, Kind.Any):
                return True
        elif _carries(user, value):
            return True
    return False


def is_summed(value: SSAValue) -> bool:
    """Whether a vector is data, whose elements are summed, rather than a statistic of rows."""
    return any(
        isinstance(use.operation, block.RowSumOp)
        or (isinstance(use.operation, block.LinearOp | block.MulOp) and is_summed(use.operation.results[0]))
        for use in value.uses
    )


def escapes(value: SSAValue) -> bool:
    """Whether an item in global memory, or a list of such, ends up in an array (or elsewhere than in a map)."""
    for use in value.uses:
        user = use.operation
        match user:
            case block.LoadOp():
                continue
            case block.MapOp():
                argument = user.body.block.args[use.index]
                if escapes(argument):
                    return True
            case block.YieldOp():
                maker = user.parent_op()
                if not isinstance(maker, block.MapOp) or escapes(maker.results[use.index]):
                    return True
            case _:
                return True
    return False


def has_block_program(function: FuncOp) -> bool:
    """Whether a function has a body of block operations."""
    return block.DIMS in function.attributes and len(function.body.blocks) == 1


def is_argument(value: SSAValue) -> bool:
    """Whether a value is the argument of a block."""
    return isinstance(value.owner, Block)
