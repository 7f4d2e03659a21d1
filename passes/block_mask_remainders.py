"""`block-mask-remainders`: what pads a ragged block is masked before it can reach a maximum, a sum or a
contraction.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from ..dialects import block
from ..dialects.scalar_builder import ScalarBuilder
from .padding import INFINITY, ZERO, Harm, Padding, harms


@dataclass(frozen=True)
class BlockMaskRemaindersPass(ModulePass):
    """Mask the padding of ragged blocks where an operator would reduce over it, and nowhere else.

    For targets that fill the rest of a ragged block with zeros: zeros are harmless to a sum or a contraction,
    and an analysis follows how far they stay zeros. Run it after stabilisation, before lowering to kernels.
    """

    name = "block-mask-remainders"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and block.DIMS in function.attributes:
                mask_remainders(function)


def mask_remainders(function: FuncOp) -> int:
    """Mask what must be masked; gives how many operands were."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    count = 0
    # A mask changes what later operators find, so that one harm is mended at a time.
    while found := harms(function, Padding(dims)):
        _mask(found[0])
        count += 1
    return count


def _mask(harm: Harm) -> None:
    value = harm.op.operands[harm.operand]
    fill = _fill_value(harm, block.element_type_of(value.type))
    body = block.scalar_block([value])
    to = ScalarBuilder(Builder(InsertPoint.at_end(body)))
    inside = to.insert(
        arith.CmpiOp(to.insert(block.IndexOp(harm.dim)), to.insert(block.ExtentOp(harm.dim)), "slt")
    )
    body.add_op(block.YieldOp(to.select(inside, body.args[0], to.constant(fill, body.args[0].type))))
    assert isinstance(value.type, block.ItemType)
    assert harm.op.parent is not None
    masked = block.ElementwiseOp([value], Region(body), value.type)
    for op in masked.walk():
        op.location = harm.op.location
    masked.result.name_hint = value.name_hint
    harm.op.parent.insert_op_before(masked, harm.op)
    sums = harm.wanted == ZERO
    value.replace_uses_with_if(
        masked.result,
        lambda use: (
            use.operation is not masked
            and use.operation.parent is harm.op.parent
            and isinstance(use.operation, _SUMS) is sums
            and (not sums or use.operation is harm.op)
            and not _is_before(use.operation, masked)
        ),
    )


_SUMS = (block.DotOp, block.RowSumOp)
"""Operators to which zeros are harmless; an infinity for a maximum must not reach them unasked."""


def _is_before(op: Operation, other: Operation) -> bool:
    following = other.next_op
    while following is not None:
        if following is op:
            return False
        following = following.next_op
    return True


def _fill_value(harm: Harm, element_type: Attribute) -> float:
    """The number that the padding is set to: the neutral element of the reduction."""
    number = harm.wanted.number
    assert number is not None
    if not isa(element_type, IntegerType):
        return number
    limit = 1 << (element_type.width.data - 1)
    return {-INFINITY: -limit, INFINITY: limit - 1}.get(number, 0)
