"""Sweeps over tiles for the operators of block programs on elements and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, UnitAttr, i64
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint
from xdsl.utils.hints import isa

from ...dialects import block, kernel
from ...dialects.kernel import Output, Quantity
from ...dialects.scalar import is_float
from ...dialects.scalar_builder import ScalarBuilder
from .sixteen_bits import round_each_operation

Function = Callable[[ScalarBuilder, Sequence[SSAValue]], SSAValue]


@dataclass(frozen=True)
class Recipe:
    """Recipe for an operator's sweep: its dims, and the use of each element's value."""

    dims: tuple[str, ...]
    output: Output
    function: Function


_EXTREMES = {block.RowMaxOp: Output.Max, block.RowMinOp: Output.Min}


def recipe_for(op: Operation) -> Recipe | None:
    """The recipe for an operator on local items; None if no sweep does it."""
    dims = _dims(op.results[0]) if op.results else ()
    match op:
        case block.ElementwiseOp():
            return Recipe(dims, Output.Each, _elementwise(op))
        case block.LinearOp():
            return Recipe(dims, Output.Each, _linear(op))
        case block.MonomialOp():
            return Recipe(dims, Output.Each, _monomial(op))
        case block.AddOp() | block.RowShiftOp() | block.ColShiftOp():
            return Recipe(dims, Output.Each, _binary(arith.AddfOp, arith.AddiOp))
        case block.SubOp():
            return Recipe(dims, Output.Each, _binary(arith.SubfOp, arith.SubiOp))
        case block.MulOp() | block.RowScaleOp() | block.ColScaleOp() | block.OuterOp():
            return Recipe(dims, Output.Each, _binary(arith.MulfOp, arith.MuliOp))
        case block.RowSumOp():
            accumulator = block.element_type_of(op.result.type)
            return Recipe(_dims(op.operand), Output.Sum, lambda s, values: widened(s, values[0], accumulator))
        case block.RowMaxOp() | block.RowMinOp():
            return Recipe(_dims(op.operand), _EXTREMES[type(op)], lambda s, values: values[0])
        case _:
            return None


def _dims(value: SSAValue) -> tuple[str, ...]:
    return value.type.dims if isinstance(value.type, block.ItemType) else ()


def _binary(of_floats: type[Operation], of_integers: type[Operation]) -> Function:
    def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> SSAValue:
        kind = of_floats if is_float(values[0].type) else of_integers
        return s.insert(kind.create(operands=list(values), result_types=[values[0].type]))

    return function


def widened(s: ScalarBuilder, value: SSAValue, element_type: Attribute) -> SSAValue:
    """A scalar in another, wider type of its kind."""
    if value.type == element_type:
        return value
    kind = arith.ExtFOp if is_float(element_type) else arith.ExtSIOp
    return s.insert(kind.create(operands=[value], result_types=[element_type]))


def _elementwise(op: block.ElementwiseOp) -> Function:
    def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> SSAValue:
        known: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, values, strict=True))
        for inner in op.body.block.ops:
            if isinstance(inner, block.YieldOp):
                break
            if isinstance(inner, block.IndexOp | block.ExtentOp):
                kind = Quantity.Index if isinstance(inner, block.IndexOp) else Quantity.Extent
                new: Operation = kernel.QuantityOp(kind, inner.dim_name)
                known[inner.result] = new.results[0]
            else:
                new = inner.clone(known)
            s.insert(new)
        yielded = op.yield_op.arguments[0]
        return known.get(yielded, yielded)

    return function


def _coefficient(s: ScalarBuilder, coefficient: block.CoefficientAttr, element_type: Attribute) -> SSAValue:
    """A coefficient of a linear form as a scalar: the number times quantities of dims."""
    assert isa(element_type, AnyFloat)
    value = s.constant(float(coefficient.value), element_type)
    for factor in coefficient.factors:
        number = s.insert(kernel.QuantityOp(Quantity(factor.quantity), factor.dim))
        integer = s.insert(arith.IndexCastOp(number, i64))
        value = s.multiply(value, s.insert(arith.SIToFPOp(integer, element_type)))
    return value


def _linear(op: block.LinearOp) -> Function:
    element_type = block.element_type_of(op.result.type)

    def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> SSAValue:
        total: SSAValue | None = None
        for coefficient, value in zip(op.coefficients, values, strict=True):
            plain, number = not coefficient.factors, coefficient.value
            if plain and number == 1:
                total = value if total is None else s.add(total, value)
            elif plain and number == -1:
                total = s.negate(value) if total is None else s.subtract(total, value)
            else:
                term = s.multiply(_coefficient(s, coefficient, element_type), value)
                total = term if total is None else s.add(total, term)
        assert total is not None
        return total

    return function


def _monomial(op: block.MonomialOp) -> Function:
    element_type = block.element_type_of(op.result.type)

    def power(s: ScalarBuilder, value: SSAValue, exponent: int) -> SSAValue:
        if exponent == 1:
            return value
        half = power(s, value, exponent // 2)
        square = s.multiply(half, half)
        return s.multiply(square, value) if exponent % 2 else square

    def product(s: ScalarBuilder, factors: Sequence[tuple[SSAValue, int]]) -> SSAValue | None:
        result: SSAValue | None = None
        for value, exponent in factors:
            factor = power(s, value, exponent)
            result = factor if result is None else s.multiply(result, factor)
        return result

    def function(s: ScalarBuilder, values: Sequence[SSAValue]) -> SSAValue:
        exponents = [exponent.data for exponent in op.exponents]
        pairs = list(zip(values, exponents, strict=True))
        above = product(s, [(value, exponent) for value, exponent in pairs if exponent > 0])
        below = product(s, [(value, -exponent) for value, exponent in pairs if exponent < 0])
        if below is None:
            assert above is not None
            return above
        if above is None:
            above = s.constant(1.0, element_type)
        return s.divide(above, below)

    return function


def make_sweep(
    dims: Sequence[str],
    inputs: Sequence[SSAValue],
    outputs: Sequence[tuple[Output, SSAValue]],
    function: Callable[[ScalarBuilder, Sequence[SSAValue]], Sequence[SSAValue]],
    *,
    careful: bool = False,
) -> kernel.SweepOp:
    """Make a sweep whose region `function` writes; it returns the values of the outputs."""
    body = kernel.scalar_block(inputs)
    for argument, tile in zip(body.args, inputs, strict=True):
        argument.name_hint = tile.name_hint
    scalars = ScalarBuilder(Builder(InsertPoint.at_end(body)))
    body.add_op(kernel.YieldOp(*function(scalars, body.args)))
    round_each_operation(body)
    sweep = kernel.SweepOp(dims, inputs, outputs, Region(body))
    sweep.careful = UnitAttr() if careful else None
    return sweep
