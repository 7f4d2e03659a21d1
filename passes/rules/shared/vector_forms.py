"""Forms of vectors: products of powers and linear forms, as operands and coefficients."""

from __future__ import annotations

from fractions import Fraction

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, SSAValue

from ....dialects import block
from ....dialects.block import CoefficientAttr, exact
from ...analysis.items import body_ops, constant_of, is_float_item, uniform_value

ScalarForm = tuple[Fraction, list[tuple[SSAValue, int]]]
"""A constant, and items with the powers of them that are multiplied by it."""


def is_statistic(value: SSAValue) -> bool:
    """True if a value is a vector or a scalar of floats."""
    return is_float_item(value) and isinstance(value.type, block.VectorType | block.ScalarType)


def scalar_form(op: block.ElementwiseOp) -> ScalarForm | None:
    """Return the constant and the powers of operands, if an element-wise op is their product."""
    if (
        not is_float_item(op.result)
        or any(value.type != op.result.type for value in op.inputs)
        or not op.inputs
    ):
        return None
    ops = [inner for inner in body_ops(op) if not isinstance(inner, arith.ConstantOp)]
    if len(ops) != 1 or ops[0].results[0] is not op.yield_op.arguments[0]:
        return None
    operands = list(ops[0].operands)
    constants = [constant_of(value) for value in operands]
    items = [op.inputs[value.index] if isinstance(value, BlockArgument) else None for value in operands]
    match ops[0]:
        case arith.NegfOp() if items[0] is not None:
            return Fraction(-1), [(items[0], 1)]
        case arith.MulfOp():
            for index in (0, 1):
                item, constant = items[index], constants[1 - index]
                if item is not None and constant is not None and (factor := exact(constant)) is not None:
                    return factor, [(item, 1)]
        case arith.DivfOp():
            numerator, denominator = items
            if (
                denominator is not None
                and numerator is not None
                and numerator is not denominator
                and is_statistic(op.result)
            ):
                return Fraction(1), [(numerator, 1), (denominator, -1)]
            if denominator is not None and constants[0] is not None and (factor := exact(constants[0])):
                return factor, [(denominator, -1)]
            if numerator is not None and constants[1] is not None and (factor := exact(constants[1])):
                return 1 / factor, [(numerator, 1)]
        case _:
            pass
    return None


def flat_terms(op: block.LinearOp) -> list[tuple[CoefficientAttr, SSAValue]]:
    """Return the terms of a linear form, with nested forms expanded and equal terms merged."""
    terms: list[tuple[CoefficientAttr, SSAValue]] = []
    for coefficient, value in op.pairs:
        inner = value.owner
        if isinstance(inner, block.LinearOp):
            terms.extend((coefficient * own, term) for own, term in inner.pairs)
        elif uniform_value(value) != 0.0:
            terms.append((coefficient, value))
    merged: dict[tuple[SSAValue, tuple[object, ...]], CoefficientAttr] = {}
    for coefficient, value in terms:
        key = (value, coefficient.factors)
        known = merged.get(key)
        merged[key] = (
            coefficient
            if known is None
            else CoefficientAttr(known.value + coefficient.value, coefficient.factors)
        )
    return [(coefficient, value) for (value, _), coefficient in merged.items() if coefficient.value]


def flat_factors(op: block.MonomialOp) -> list[tuple[SSAValue, int]]:
    """Return the factors of a product, with nested products expanded and equal factors merged."""
    merged: dict[SSAValue, int] = {}
    for value, exponent in op.pairs:
        inner = value.owner
        if isinstance(inner, block.MonomialOp):
            for factor, own in inner.pairs:
                merged[factor] = merged.get(factor, 0) + exponent * own
        elif uniform_value(value) != 1.0:
            merged[value] = merged.get(value, 0) + exponent
    return [(value, exponent) for value, exponent in merged.items() if exponent]


def multiple(value: SSAValue, exponent: int) -> tuple[CoefficientAttr, SSAValue] | None:
    """Return the constant factor of a power of a multiple, and the item without it."""
    inner = value.owner
    if not isinstance(inner, block.LinearOp) or len(inner.terms) != 1:
        return None
    coefficient = inner.coefficients.data[0]
    if not coefficient.value or (exponent < 0 and coefficient.factors):
        return None
    return coefficient**exponent, inner.terms[0]
