"""Writers of the scalar computations of element-wise operators, which put several into one region."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from ....dialects import block
from ....dialects.block import CoefficientAttr
from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder

Writer = Callable[[Block, Sequence[SSAValue]], SSAValue]
"""Writes the scalar computation of an operator, given its scalar operands, at the end of a block."""


def _put(body: Block, op: Operation) -> SSAValue:
    body.add_op(op)
    return op.results[0]


def _constant(body: Block, value: float, element_type: Attribute) -> SSAValue:
    return ScalarBuilder(Builder(InsertPoint.at_end(body))).constant(value, element_type)


def _coefficient(body: Block, coefficient: CoefficientAttr, element_type: Attribute) -> SSAValue:
    assert isa(element_type, AnyFloat)
    value = _constant(body, float(coefficient.value), element_type)
    for factor in coefficient.factors:
        extent = _put(body, arith.IndexCastOp(_put(body, block.ExtentOp(factor.dim)), i64))
        value = _put(body, arith.MulfOp(value, _put(body, arith.SIToFPOp(extent, element_type))))
    return value


def _write_linear(op: block.LinearOp) -> Writer:
    element_type = block.element_type_of(op.result.type)

    def write(body: Block, operands: Sequence[SSAValue]) -> SSAValue:
        total: SSAValue | None = None
        for coefficient, operand in zip(op.coefficients, operands, strict=True):
            one, minus = CoefficientAttr(1), CoefficientAttr(-1)
            if coefficient in (minus, one):
                term = operand
            else:
                term = _put(body, arith.MulfOp(operand, _coefficient(body, coefficient, element_type)))
            if total is None:
                total = _put(body, arith.NegfOp(term)) if coefficient == minus else term
            else:
                total = _put(body, (arith.SubfOp if coefficient == minus else arith.AddfOp)(total, term))
        assert total is not None
        return total

    return write


def _write_monomial(op: block.MonomialOp) -> Writer:
    element_type = block.element_type_of(op.result.type)

    def write(body: Block, operands: Sequence[SSAValue]) -> SSAValue:
        above: SSAValue | None = None
        below: SSAValue | None = None
        for operand, (_, exponent) in zip(operands, op.pairs, strict=True):
            for _ in range(abs(exponent)):
                if exponent > 0:
                    above = operand if above is None else _put(body, arith.MulfOp(above, operand))
                else:
                    below = operand if below is None else _put(body, arith.MulfOp(below, operand))
        if above is None:
            above = _constant(body, 1.0, element_type)
        return above if below is None else _put(body, arith.DivfOp(above, below))

    return write


def _write_region(op: block.ElementwiseOp) -> Writer:
    def write(body: Block, operands: Sequence[SSAValue]) -> SSAValue:
        values: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, operands, strict=True))
        for inner in op.body.block.ops:
            if inner.results:
                copy = inner.clone(values)
                body.add_op(copy)
        return values[op.yield_op.arguments[0]]

    return write


_BINARY: dict[type[Operation], type[Operation]] = {
    block.AddOp: arith.AddfOp,
    block.SubOp: arith.SubfOp,
    block.MulOp: arith.MulfOp,
    block.RowShiftOp: arith.AddfOp,
    block.ColShiftOp: arith.AddfOp,
    block.RowScaleOp: arith.MulfOp,
    block.ColScaleOp: arith.MulfOp,
    block.OuterOp: arith.MulfOp,
}


def writer_of(op: Operation) -> Writer | None:
    """Return the writer of an operator's scalar computation; None if it has none, or is not on floats."""
    match op:
        case block.ElementwiseOp():
            return _write_region(op)
        case block.LinearOp():
            plain = all(f.quantity == "extent" for c in op.coefficients for f in c.factors)
            return _write_linear(op) if plain else None
        case block.MonomialOp():
            return _write_monomial(op)
        case _:
            kind = _BINARY.get(type(op))
            if kind is None or not is_float(block.element_type_of(op.results[0].type)):
                return None
            return lambda body, operands: _put(
                body, kind.create(operands=list(operands), result_types=[operands[0].type])
            )
