"""`block-mask-remainders`: masks the padding of ragged blocks before it can reach a maximum, a sum or a
contraction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, Region, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from ...dialects import block
from ...dialects.scalar_builder import ScalarBuilder
from ..analysis.padding import INFINITY, ZERO, Padding, UnsafeUse, unsafe_uses


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
    """Mask unsafe padding; return the number of masks.

    A mask changes the analysis of later operators. So one unsafe use is fixed at a time, by the mask that
    leaves the fewest unsafe uses: one that several operators share, if there is one.
    """
    dims = block.parse_dims(function.attributes[block.DIMS])
    count = 0
    while found := unsafe_uses(function, Padding(dims)):
        unsafe = found[0]
        left: dict[tuple[SSAValue, bool], int] = {}
        for place in _places(unsafe):
            mask = _mask(unsafe, *place)
            left[place] = len(unsafe_uses(function, Padding(dims)))
            mask.result.replace_all_uses_with(mask.inputs[0])
            mask.detach()
            mask.erase()
        _mask(unsafe, *min(left, key=lambda place: left[place]))
        count += 1
    return count


def _places(unsafe: UnsafeUse) -> Iterator[tuple[SSAValue, bool]]:
    """Return values that could be masked for an unsafe use, and whether for all their uses; the first wins a
    tie.

    They are the operand; and, if zeros are wanted, also values from which operators in the same block compute
    it.
    """
    operand = unsafe.op.operands[unsafe.operand]
    yield operand, True
    yield operand, False
    waiting, seen = [operand], {operand}
    while waiting and unsafe.wanted == ZERO:
        owner = waiting.pop(0).owner
        if not isinstance(owner, Operation) or owner.parent is not unsafe.op.parent:
            continue
        if isinstance(owner, _BARRIERS):
            continue
        for value in owner.operands:
            if value not in seen and isinstance(value.type, block.ItemType) and unsafe.dim in value.type.dims:
                seen.add(value)
                waiting.append(value)
                if isinstance(value.owner, Operation) and value.owner.parent is unsafe.op.parent:
                    yield value, True


_BARRIERS = (block.MapOp, block.LoadOp, block.DotOp, block.RowSumOp, block.RowMaxOp, block.RowMinOp)
"""Operators whose result would not be masked by a mask of their operands."""


def _mask(unsafe: UnsafeUse, value: SSAValue, everywhere: bool) -> block.ElementwiseOp:
    """Mask a value for all later uses, or for the unsafe operator alone.

    A mask of infinities, for a maximum, does not apply to sums and contractions, for which the old padding
    may be harmless.
    """
    fill = _fill_value(unsafe, block.element_type_of(value.type))
    body = block.scalar_block([value])
    to = ScalarBuilder(Builder(InsertPoint.at_end(body)))
    inside = to.insert(
        arith.CmpiOp(to.insert(block.IndexOp(unsafe.dim)), to.insert(block.ExtentOp(unsafe.dim)), "slt")
    )
    body.add_op(block.YieldOp(to.select(inside, body.args[0], to.constant(fill, body.args[0].type))))
    assert isinstance(value.type, block.ItemType)
    scope = unsafe.op.parent
    assert scope is not None
    masked = block.ElementwiseOp([value], Region(body), value.type)
    for op in masked.walk():
        op.location = unsafe.op.location
    masked.result.name_hint = value.name_hint
    if everywhere and isinstance(value.owner, Operation) and value.owner.parent is scope:
        scope.insert_op_after(masked, value.owner)
    else:
        scope.insert_op_before(masked, unsafe.op)

    def is_meant(use: Use) -> bool:
        if not everywhere:
            return use.operation is unsafe.op
        safe = unsafe.wanted != ZERO and isinstance(use.operation, block.DotOp | block.RowSumOp)
        return not safe and _comes_after(use.operation, masked)

    value.replace_uses_with_if(masked.result, is_meant)
    return masked


def _comes_after(op: Operation, other: Operation) -> bool:
    """True if an operation, or one around it, comes after another one in the block of that one."""
    around: Operation | None = op
    while around is not None and around.parent is not other.parent:
        around = around.parent_op()
    return around is not None and around is not other and other.is_before_in_block(around)


def _fill_value(unsafe: UnsafeUse, element_type: Attribute) -> float:
    """The number that replaces the padding: the neutral element of the reduction."""
    number = unsafe.wanted.number
    assert number is not None
    if not isa(element_type, IntegerType):
        return number
    limit = 1 << (element_type.width.data - 1)
    return {-INFINITY: -limit, INFINITY: limit - 1}.get(number, 0)
