"""Roundings to narrower float types: which items they leave as they are, and which operators may leave them.

A law may move an operator past a rounding only if what is rounded afterwards is exact, or no worse placed in
range. `diag(c)·x` may be of ordinary size where x alone overflows f16.
"""

from __future__ import annotations

from math import frexp, isfinite

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.hints import isa

from ...dialects import block
from ...dialects.block import CoefficientAttr, Kind
from ...dialects.scalar import is_float, significand_bits
from .items import through_cast, unary

_EXPONENTS = {"f16": (-24, 16), "bf16": (-133, 128), "f32": (-149, 128), "f64": (-1074, 1024)}
"""The exponent of the smallest number of each float type, and that of the power of two above its largest."""

_CHOICES = (
    arith.NegfOp,
    arith.MaximumfOp,
    arith.MinimumfOp,
    arith.MaxnumfOp,
    arith.MinnumfOp,
    arith.ExtFOp,
    arith.TruncFOp,
    math.AbsFOp,
)
"""Scalar operations that give one of their operands, up to its sign; a cast does if its type can hold it."""


def has_range_of(element_type: Attribute, other: Attribute) -> bool:
    """True if a float type has at least the exponent range of another one: bf16 has that of f32."""
    return _EXPONENTS[str(element_type)][1] >= _EXPONENTS[str(other)][1]


def holds(element_type: Attribute, other: Attribute) -> bool:
    """True if every number of a float type `other` is a number of `element_type`, too."""
    wide_enough = significand_bits(element_type) >= significand_bits(other)
    return wide_enough and has_range_of(element_type, other)


def rounds_to_smaller_range(op: Operation) -> bool:
    """True if an operation is a cast of an item to a float type with a smaller exponent range."""
    if not isinstance(op, block.ElementwiseOp) or (source := through_cast(op.result)) is op.result:
        return False
    return not has_range_of(block.element_type_of(op.result.type), block.element_type_of(source.type))


def is_exact_in(item: SSAValue, element_type: Attribute) -> bool:
    """True if all elements of an item are known to be numbers of a float type: rounding to it changes none.

    That is so for items of the type itself, and for what is made of them by widening, loads and stores,
    views, signs and choices (maxima, masks).
    """
    pending, seen = [item], set[SSAValue]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        own = _element_type(value.type)
        if own is None or not is_float(own):
            return False
        if holds(element_type, own):
            continue
        sources = _chosen_from(value, element_type)
        if sources is None:
            return False
        pending.extend(sources)
    return True


def scale_may_leave(item: SSAValue, element_type: Attribute) -> bool:
    """True if a scale of `item` may be applied after `item` is rounded to a type, and not before it.

    The number of roundings is the same. What matters is that the unscaled item is in the type's range: it is
    a number of the type already, or the type has the range of the item's own one (a rounding to bf16).
    """
    own = _element_type(item.type)
    return own is None or has_range_of(element_type, own) or is_exact_in(item, element_type)


def shift_may_leave(item: SSAValue, element_type: Attribute) -> bool:
    """True if a shift of `item` may be applied after `item` is rounded to a type, and not before it.

    A rounding is relative to the size of what is rounded, so that it is smaller after a large mean has been
    subtracted. The item must therefore be a number of the type already.
    """
    return is_exact_in(item, element_type)


def is_bounded_exponential(item: SSAValue, element_type: Attribute) -> bool:
    """True if an item is an exponential, or one times numbers of a float type.

    `block-stabilize` carries its rows relative to their largest exponential, which is then 1. The item is in
    the range of the type, and no smaller than after a division by the sum of the row.
    """
    pending, seen, found = [item], set[SSAValue](), False
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if is_exponential(value):
            found = True
        elif isinstance(owner, block.MulOp):
            pending.extend(owner.operands)
        elif isinstance(owner, block.RowScaleOp | block.ColScaleOp):
            pending.extend((owner.block, owner.vector))
        elif not is_exact_in(value, element_type):
            sources = _chosen_from(value, element_type)
            if sources is None:
                return False
            pending.extend(sources)
    return found


def is_exponential(value: SSAValue) -> bool:
    """True if a value is the exponential of an item, to the base e or 2."""
    return unary(value, math.ExpOp) is not None or unary(value, math.Exp2Op) is not None


def has_exponentials(item: SSAValue, element_type: Attribute) -> bool:
    """True if an item is computed from exponentials in a type wider than a given one."""
    pending, seen = [item], set[SSAValue]()
    while pending:
        value = pending.pop()
        own = _element_type(value.type)
        if value in seen or own is None or not is_float(own) or holds(element_type, own):
            continue
        seen.add(value)
        if is_exponential(value):
            return True
        pending.extend(_operands_of(value))
    return False


def _operands_of(value: SSAValue) -> list[SSAValue]:
    """The values that a value is computed from, or, of a list, those of its elements."""
    owner = value.owner
    if isinstance(owner, block.MapOp):
        return [owner.yield_op.arguments[owner.results.index(value)]]  # pyright: ignore[reportArgumentType]
    if isinstance(owner, Operation):
        return list(owner.operands)
    user = owner.parent_op()
    if isinstance(user, block.MapOp) and isinstance(value, BlockArgument):
        return [user.inputs[value.index]]
    return []


def _element_type(type: Attribute) -> Attribute | None:
    while isinstance(type, block.ListType):
        type = type.item
    if isinstance(type, block.ItemType):
        return type.element_type
    return getattr(type, "element_type", None)


def _chosen_from(value: SSAValue, element_type: Attribute) -> list[SSAValue] | None:
    """The values from which each element of `value` is taken, up to its sign; None if it is computed."""
    owner = value.owner
    match owner:
        case block.LoadOp() | block.StoreOp():
            return [owner.source]
        case block.PartitionOp():
            return [owner.tensor]
        case block.AssembleOp() | block.FirstOp():
            return [owner.list]
        case block.RowMaxOp() | block.RowMinOp():
            return [owner.operand]
        case block.ReduceOp():
            return [owner.list] if owner.kind.data is not Kind.Sum else None
        case block.MapOp():
            index = owner.results.index(value)  # pyright: ignore[reportArgumentType]
            summed = owner.result_kinds[index] is Kind.Sum
            return None if summed else [owner.yield_op.arguments[index]]
        case block.LinearOp():
            signs = (CoefficientAttr(1), CoefficientAttr(-1))
            is_sign = len(owner.terms) == 1 and owner.coefficients.data[0] in signs
            return [owner.terms[0]] if is_sign else None
        case block.ElementwiseOp():
            return _yielded_from(owner, element_type)
        case Block():
            user = owner.parent_op()
            if isinstance(user, block.MapOp) and isinstance(value, BlockArgument):
                return [user.inputs[value.index]]
            return None
        case _:
            return None


def _yielded_from(op: block.ElementwiseOp, element_type: Attribute) -> list[SSAValue] | None:
    """The inputs from which an element-wise operator takes its results; None if it computes them."""
    chosen: list[SSAValue] = []
    pending, seen = [op.yield_op.arguments[0]], set[SSAValue]()
    while pending:
        scalar = pending.pop()
        if scalar in seen:
            continue
        seen.add(scalar)
        if isinstance(scalar, BlockArgument):
            chosen.append(op.inputs[scalar.index])
            continue
        found = _operands_chosen(scalar, element_type)
        if found is None:
            return None
        pending.extend(found)
    return chosen


def _operands_chosen(scalar: SSAValue, element_type: Attribute) -> list[SSAValue] | None:
    owner = scalar.owner
    assert isinstance(owner, Operation)
    if isinstance(owner, arith.TruncFOp) and not holds(owner.result.type, element_type):
        return None  # it may round a number of the type
    match owner:
        case arith.ConstantOp():
            return [] if _is_number_of(owner, element_type) else None
        case arith.SelectOp():
            return [owner.lhs, owner.rhs]
        case arith.SIToFPOp() | arith.UIToFPOp():
            source = owner.operands[0].type
            fits = isinstance(source, IntegerType) and source.bitwidth <= significand_bits(element_type)
            return [] if fits else None
        case _ if isinstance(owner, _CHOICES):
            return list(owner.operands)
        case _:
            return None


def _is_number_of(op: arith.ConstantOp, element_type: Attribute) -> bool:
    """True if a float constant, as its own type holds it, is a number of a float type."""
    attribute = op.properties.get("value")
    if not isa(attribute, FloatAttr):
        return False
    number = attribute.value.data
    if not number or not isfinite(number):
        return True
    smallest, above = _EXPONENTS[str(element_type)]
    exponent = frexp(number)[1]
    unit = max(exponent - significand_bits(element_type), smallest)
    return exponent <= above and (number / 2.0**unit).is_integer()
