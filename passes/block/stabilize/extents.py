"""Recogniser of numbers that are the extent of a dim: `array.extent` of an array, cut into no blocks, and
loaded.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import array, block
from ....dialects.scalar import is_float, significand_bits
from ...analysis.items import body_ops, constant_of, through_cast
from .needs import binary


def power_of_extent(value: SSAValue) -> tuple[str, int] | None:
    """The dim and the exponent, if a number is a power of the extent of a dim; else None.

    The extent is asked of an array along an axis that is cut into blocks of that dim alone, so the two are
    equal in every run. In a type of fewer bits than f32 the number is rounded, and does not count.
    """
    exponent = 1
    while True:
        source = through_cast(value)
        if not (_is_exact(value.type) and _is_exact(source.type)):
            return None
        made = source.owner
        if (divisor := _divisor_of_one(made)) is not None:
            value, exponent = divisor, -exponent
            continue
        if not isinstance(made, block.MonomialOp):
            break
        pairs = list(made.pairs)
        if len(pairs) != 1:
            return None
        value, exponent = pairs[0][0], exponent * pairs[0][1]
    if not isinstance(made, block.LoadOp) or not isinstance(made.source.owner, block.PartitionOp):
        return None
    asked = made.source.owner.tensor.owner
    dim = _dim_of_extent(asked) if isinstance(asked, array.ExtentOp) else None
    return None if dim is None else (dim, exponent)


def factors(value: SSAValue) -> tuple[tuple[SSAValue, int], ...]:
    """The vectors and numbers whose product a vector or number is, with their exponents."""
    op = value.owner
    if isinstance(value.type, block.BlockType):
        return ()
    if isinstance(op, block.MonomialOp):
        return tuple(op.pairs)
    if isinstance(op, block.ElementwiseOp) and (parts := binary(op)) is not None:
        left, right = op.inputs[parts[1]], op.inputs[parts[2]]
        match parts[0]:
            case arith.MulfOp():
                return (left, 1), (right, 1)
            case arith.DivfOp():
                return (left, 1), (right, -1)
            case _:
                pass
    return ()


def _divisor_of_one(op: Operation | Block) -> SSAValue | None:
    """x, for an element-wise 1 / x: fusion leaves quotients of array data as they are written."""
    if not isinstance(op, block.ElementwiseOp) or len(op.inputs) != 1:
        return None
    divide = body_ops(op)[-1]
    if not isinstance(divide, arith.DivfOp) or divide.rhs is not op.body.block.args[0]:
        return None
    return op.inputs[0] if constant_of(divide.lhs) == 1 else None


def _is_exact(type: Attribute) -> bool:
    """True if numbers of a type have as many bits as f32."""
    if not isinstance(type, block.ItemType) or type.dims:
        return False
    return is_float(type.element_type) and significand_bits(type.element_type) >= 24


def _dim_of_extent(asked: array.ExtentOp) -> str | None:
    """The dim into whose blocks the axis of an `array.extent` is cut, if it is one alone."""
    for use in asked.input.uses:
        if isinstance(use.operation, block.PartitionOp):
            axis = use.operation.axes.data[asked.axis.value.data]
            if len(axis.data) == 1:
                return axis.data[0].data
    return None
