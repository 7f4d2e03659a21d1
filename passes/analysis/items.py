"""Recognisers of the small operators on items: scales, shifts, casts, masks and constants."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects import block
from ...dialects.block import CoefficientAttr, DimQuantity
from ...dialects.scalar import constant_number, is_float

Scale = block.RowScaleOp | block.ColScaleOp
Shift = block.RowShiftOp | block.ColShiftOp

POINTWISE = (
    block.AddOp,
    block.SubOp,
    block.MulOp,
    block.RowShiftOp,
    block.RowScaleOp,
    block.ColShiftOp,
    block.ColScaleOp,
    block.OuterOp,
    block.LinearOp,
    block.MonomialOp,
    block.ElementwiseOp,
)
"""Operators that compute each element from the elements at its place, or in its row or column."""


def scale_of(value: SSAValue) -> Scale | None:
    """The row_scale or col_scale that gives a value."""
    return value.owner if isinstance(value.owner, Scale) else None


def shift_of(value: SSAValue) -> Shift | None:
    """The row_shift or col_shift that gives a value."""
    return value.owner if isinstance(value.owner, Shift) else None


def is_float_item(value: SSAValue) -> bool:
    """True if a value is an item of floats."""
    return isinstance(value.type, block.ItemType) and is_float(value.type.element_type)


def body_ops(op: block.ElementwiseOp) -> list[Operation]:
    """The scalar operations of an element-wise op, without its yield."""
    return [inner for inner in op.body.block.ops if inner.results]


def constant_of(value: SSAValue) -> float | None:
    """The number that a scalar constant inside a region stands for, before it is rounded to its type."""
    return constant_number(value.owner) if isinstance(value.owner, arith.ConstantOp) else None


def unary(value: SSAValue, kind: type[Operation]) -> block.ElementwiseOp | None:
    """The element-wise op that gives a value, if it applies just the scalar operation `kind` to one item."""
    owner = value.owner
    if not isinstance(owner, block.ElementwiseOp) or len(owner.inputs) != 1:
        return None
    ops = body_ops(owner)
    if len(ops) != 1 or not isinstance(ops[0], kind) or owner.inputs[0].type != value.type:
        return None
    return owner


def through_cast(value: SSAValue) -> SSAValue:
    """Return the operand of a cast between float types; the value itself if it is no such cast."""
    owner = value.owner
    if isinstance(owner, block.ElementwiseOp) and len(owner.inputs) == 1:
        ops = body_ops(owner)
        if len(ops) == 1 and isinstance(ops[0], arith.ExtFOp | arith.TruncFOp):
            source, result = owner.inputs[0].type, owner.result.type
            if (
                isinstance(source, block.ItemType)
                and isinstance(result, block.ItemType)
                and source.dims == result.dims
            ):
                return owner.inputs[0]
    return value


def uniform_value(value: SSAValue) -> float | None:
    """The number that all elements of an item have, if an operator makes it from one number."""
    owner = value.owner
    if isinstance(owner, block.ElementwiseOp) and not owner.inputs:
        ops = body_ops(owner)
        if len(ops) == 1:
            return constant_of(ops[0].results[0])
    return None


def quantity(op: Operation, name: str, dim: str) -> CoefficientAttr:
    """A quantity of a dim as a coefficient; a plain number if the program declares it."""
    declared = (block.declared_dims(op) or {}).get(dim)
    number: int | None = None
    if declared is not None and declared.static_extent is not None:
        extent, size = declared.static_extent, declared.block_size
        match name:
            case "extent":
                number = extent
            case "blocks":
                number = None if size is None else -(-extent // size)
            case _:
                number = size if size is not None and extent % size == 0 else None
    if number is None and declared is not None and declared.is_whole:
        number = {"blocks": 1}.get(name)
    if number is not None:
        return CoefficientAttr(number)
    return CoefficientAttr(1, [DimQuantity(name, dim)])


@dataclass(frozen=True)
class Mask:
    """An element-wise `select(condition, x, number)` or `select(condition, number, x)`."""

    operand: int
    """Position of x among the operands."""
    number: float
    looks_at_operand: bool
    """True if the condition depends on x itself."""


def mask_of(op: block.ElementwiseOp) -> Mask | None:
    """The mask that an element-wise op is, if it is one."""
    yielded = op.yield_op.arguments[0].owner
    if not isinstance(yielded, arith.SelectOp):
        return None
    for chosen, other in ((yielded.lhs, yielded.rhs), (yielded.rhs, yielded.lhs)):
        number = constant_of(other)
        if (
            number is not None
            and isinstance(chosen, BlockArgument)
            and op.inputs[chosen.index].type == op.result.type
        ):
            return Mask(chosen.index, number, len(list(chosen.uses)) > 1)
    return None
