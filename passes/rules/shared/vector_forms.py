"""Forms of vectors: products of powers and linear forms, as operands and coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import copysign
from typing import Generic, TypeVar

from xdsl.dialects import arith
from xdsl.ir import BlockArgument, SSAValue

from ....dialects import block
from ....dialects.block import CoefficientAttr, exact
from ....dialects.scalar import is_normal
from ...analysis.items import body_ops, constant_of, is_float_item, uniform_value
from ...analysis.nonfinite import has_witness, is_array_data

ScalarForm = tuple[Fraction, list[tuple[SSAValue, int]]]
"""A constant, and items with the powers of them that are multiplied by it."""


def is_statistic(value: SSAValue) -> bool:
    """True if a value is a vector or a scalar of floats."""
    return is_float_item(value) and isinstance(value.type, block.VectorType | block.ScalarType)


def is_algebraic(value: SSAValue) -> bool:
    """True if the algebra of vectors applies to a vector: it depends on a statistic of blocks.

    A vector that is computed from arrays element by element is the program's own arithmetic. No law needs it
    in another form, and each regrouping could overflow, or lose a NaN, where the program does not.
    """
    return is_statistic(value) and not is_array_data(value)


def scalar_form(op: block.ElementwiseOp) -> ScalarForm | None:
    """Return the constant and the powers of operands, if an element-wise op is their product.

    A factor of 0 is none: coefficients have no sign of zero. A reciprocal counts only as it is, and a divisor
    only if its reciprocal is no denormal number: x⁻¹ can overflow where k·x⁻¹ does not.
    """
    if (
        not is_float_item(op.result)
        or any(value.type != op.result.type for value in op.inputs)
        or not op.inputs
        or (is_statistic(op.result) and is_array_data(op.result))
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
                if item is not None and constant is not None and (factor := exact(constant)):
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
                return (factor, [(denominator, -1)]) if is_statistic(op.result) or factor == 1 else None
            if numerator is not None and constants[1] is not None and (factor := exact(constants[1])):
                normal = is_normal(1 / factor, block.element_type_of(op.result.type))
                return (1 / factor, [(numerator, 1)]) if normal else None
        case _:
            pass
    return None


Pair = tuple[CoefficientAttr, SSAValue] | tuple[SSAValue, int]
PairT = TypeVar("PairT", bound=Pair)


@dataclass(frozen=True)
class Flat(Generic[PairT]):
    """A flat form."""

    pairs: list[PairT]
    met: list[SSAValue]
    """Items whose terms of opposite signs, or powers of opposite signs, met in it."""

    def unwitnessed(self) -> list[SSAValue]:
        """Return the items of which a NaN or an infinity could be lost, since no item that is left shows
        it.
        """
        kept = [part for pair in self.pairs for part in pair if isinstance(part, SSAValue)]
        return [value for value in self.met if not has_witness(value, kept)]


def flat_terms(op: block.LinearOp) -> Flat[tuple[CoefficientAttr, SSAValue]]:
    """Return the terms of a linear form, with nested forms expanded and equal terms merged."""
    terms: list[tuple[CoefficientAttr, SSAValue]] = []
    for coefficient, value in op.pairs:
        inner = value.owner
        if isinstance(inner, block.LinearOp):
            terms.extend((coefficient * own, term) for own, term in inner.pairs)
        elif len(op.pairs) == 1 or not _is_negative_zero(value):
            terms.append((coefficient, value))
    merged: dict[tuple[SSAValue, tuple[object, ...]], CoefficientAttr] = {}
    met: dict[SSAValue, None] = {}
    for coefficient, value in terms:
        key = (value, coefficient.factors)
        known = merged.get(key)
        if known is not None:
            if known.value * coefficient.value < 0:
                met[value] = None
            coefficient = CoefficientAttr(known.value + coefficient.value, coefficient.factors)
        merged[key] = coefficient
    pairs = [(c, value) for (value, _), c in merged.items() if c.value or value not in met]
    return Flat(pairs, list(met))


def _is_negative_zero(value: SSAValue) -> bool:
    """True for an item of -0, the only number whose addition changes no other."""
    number = uniform_value(value)
    return number is not None and number == 0.0 and copysign(1.0, number) < 0


def flat_factors(op: block.MonomialOp) -> Flat[tuple[SSAValue, int]]:
    """Return the factors of a product, with nested products expanded and equal factors merged."""
    merged: dict[SSAValue, int] = {}
    met: dict[SSAValue, None] = {}

    def multiply(factor: SSAValue, exponent: int) -> None:
        known = merged.get(factor, 0)
        if known * exponent < 0:
            met[factor] = None
        merged[factor] = known + exponent

    for value, exponent in op.pairs:
        inner = value.owner
        if isinstance(inner, block.MonomialOp):
            for factor, own in inner.pairs:
                multiply(factor, exponent * own)
        elif len(op.pairs) == 1 or uniform_value(value) != 1.0:
            multiply(value, exponent)
    return Flat([(value, exponent) for value, exponent in merged.items() if exponent], list(met))


def multiple(value: SSAValue, exponent: int) -> tuple[CoefficientAttr, SSAValue] | None:
    """Return the constant factor of a power of a multiple, and the item without it."""
    inner = value.owner
    if not isinstance(inner, block.LinearOp) or len(inner.terms) != 1:
        return None
    coefficient = inner.coefficients.data[0]
    if not coefficient.value or (exponent < 0 and coefficient.factors):
        return None
    return coefficient**exponent, inner.terms[0]
