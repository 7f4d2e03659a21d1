"""Builders of the small operators on items that laws insert."""

from __future__ import annotations

from fractions import Fraction

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from ....dialects import block
from ....dialects.array.core import bit_width
from ....dialects.block import CoefficientAttr
from ..law import Placer


def _elementwise(item: SSAValue, element_type: Attribute, *ops: type[Operation]) -> block.ElementwiseOp:
    assert isinstance(item.type, block.ItemType)
    body = block.scalar_block([item])
    value: SSAValue = body.args[0]
    for kind in ops:
        op = kind.create(operands=[value], result_types=[element_type])
        body.add_op(op)
        value = op.results[0]
    body.add_op(block.YieldOp(value))
    return block.ElementwiseOp([item], Region(body), block.item_type(item.type.dims, element_type))


def cast(place: Placer, item: SSAValue, element_type: Attribute) -> SSAValue:
    """Convert an item to another float type; return the item itself if it has that type."""
    own = block.element_type_of(item.type)
    if own == element_type:
        return item
    kind = arith.ExtFOp if bit_width(element_type) > bit_width(own) else arith.TruncFOp
    return place(_elementwise(item, element_type, kind), item.name_hint)


def exponential(place: Placer, item: SSAValue, kind: type[Operation] = math.ExpOp) -> SSAValue:
    """exp of an item, or 2 to its power for `math.Exp2Op`."""
    return place(_elementwise(item, block.element_type_of(item.type), kind), "exp")


def logarithm(place: Placer, item: SSAValue) -> SSAValue:
    """log of an item."""
    return place(_elementwise(item, block.element_type_of(item.type), math.LogOp), "log")


def copy_elementwise(place: Placer, op: block.ElementwiseOp, inputs: list[SSAValue]) -> SSAValue:
    """The same element-wise function of other items of the same types."""
    return place(op.clone(dict(zip(op.inputs, inputs, strict=True))), op.result.name_hint)


def product(place: Placer, *factors: SSAValue) -> SSAValue:
    """The product of vectors (or scalars) of one type."""
    return place(block.MonomialOp([(factor, 1) for factor in factors]))


def linear(place: Placer, *terms: tuple[CoefficientAttr | Fraction | int, SSAValue]) -> SSAValue:
    """A linear form."""
    return place(
        block.LinearOp(
            [(c if isinstance(c, CoefficientAttr) else CoefficientAttr(c), value) for c, value in terms]
        )
    )


def total(place: Placer, *terms: SSAValue) -> SSAValue:
    """The sum of vectors (or scalars) of one type."""
    return linear(place, *((1, term) for term in terms))


def uniform(place: Placer, item: SSAValue, value: float) -> SSAValue:
    """An item like another one, with one number for all elements."""
    assert isinstance(item.type, block.ItemType)
    element_type = item.type.element_type
    assert isa(element_type, AnyFloat)
    constant = arith.ConstantOp(FloatAttr(value, element_type))
    body = Block([constant, block.YieldOp(constant.result)])
    return place(block.ElementwiseOp([], Region(body), item.type), item.name_hint)
