"""Values during stabilisation: plain ones, pairs of significand and exponent, and unevaluated sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ...dialects.block import CoefficientAttr
from ...dialects.scalar_builder import ScalarBuilder

Exponents = tuple[tuple[SSAValue, int], ...]


@dataclass(frozen=True)
class Pair:
    """significand · exp(Σ kᵢ·eᵢ), with an exponent eᵢ for each row; items, or lists of items, in either tier."""

    significand: SSAValue
    exponents: Exponents


@dataclass(frozen=True)
class UnevaluatedSum:
    """A vector that is kept as the terms of its sum, the exponents first: their rounding must not meet the logarithm's."""

    terms: tuple[tuple[CoefficientAttr, SSAValue], ...]


Value: TypeAlias = SSAValue | Pair | UnevaluatedSum


def combined(*parts: tuple[Exponents, int]) -> Exponents:
    """The sum of exponents, each with a factor; what cancels vanishes."""
    total: dict[SSAValue, int] = {}
    for exponents, factor in parts:
        for exponent, count in exponents:
            total[exponent] = total.get(exponent, 0) + factor * count
    return tuple((exponent, count) for exponent, count in total.items() if count)


def exponents_of(value: Value) -> Exponents:
    return value.exponents if isinstance(value, Pair) else ()


Scalars = Callable[[ScalarBuilder, list[SSAValue]], SSAValue]


class Writer:
    """Writes operators at the end of a block."""

    def __init__(self, body: Block, like: Operation):
        self.body = body
        self.location = like.location

    def __call__(self, op: Operation, hint: str | None = None) -> SSAValue:
        for inner in op.walk():
            inner.location = self.location
        self.body.add_op(op)
        if hint is not None:
            op.results[0].name_hint = hint
        return op.results[0]

    def elementwise(self, inputs: Iterable[SSAValue], like: SSAValue, hint: str, scalars: Scalars) -> SSAValue:
        """An element-wise operator over `inputs` whose result has the type of `like`."""
        operands = list(inputs)
        body = block.scalar_block(operands)
        for argument, operand in zip(body.args, operands, strict=True):
            argument.name_hint = operand.name_hint
        builder = ScalarBuilder(Builder(InsertPoint.at_end(body)))
        body.add_op(block.YieldOp(scalars(builder, list(body.args))))
        assert isinstance(like.type, block.ItemType)
        return self(block.ElementwiseOp(operands, Region(body), like.type), hint)

    def as_type(self, item: SSAValue, element_type: Attribute) -> SSAValue:
        """The item in another float type."""
        if block.element_type_of(item.type) == element_type:
            return item
        assert isinstance(item.type, block.ItemType)
        body = block.scalar_block([item])
        builder = ScalarBuilder(Builder(InsertPoint.at_end(body)))
        body.add_op(block.YieldOp(builder.convert(body.args[0], element_type)))
        type = block.item_type(item.type.dims, element_type)
        return self(block.ElementwiseOp([item], Region(body), type), item.name_hint)

    def finite(self, exponent: SSAValue) -> SSAValue:
        """The exponent, or 0 where it is -inf: a row of nothing but -inf is shifted by nothing."""

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            minus_infinity = to.constant(float("-inf"), args[0].type)
            masked = to.insert(arith.CmpfOp(args[0], minus_infinity, "oeq"))
            return to.select(masked, to.constant(0.0, args[0].type), args[0])

        return self.elementwise([exponent], exponent, "pivot", scalars)

    def ones(self, like: SSAValue) -> SSAValue:
        return self.elementwise([], like, "one", lambda to, _: to.constant(1.0, block.element_type_of(like.type)))

    def zeros(self, like: SSAValue) -> SSAValue:
        return self.elementwise([], like, "zero", lambda to, _: to.constant(0.0, block.element_type_of(like.type)))

    def negated(self, item: SSAValue) -> SSAValue:
        return self(block.LinearOp([(CoefficientAttr(-1), item)]), "neg")

    def exp(self, item: SSAValue) -> SSAValue:
        return self.elementwise([item], item, "exp", lambda to, args: to.insert(math.ExpOp(args[0])))

    def log(self, item: SSAValue) -> SSAValue:
        return self.elementwise([item], item, "log", lambda to, args: to.insert(math.LogOp(args[0])))

    def reciprocal_or_zero(self, item: SSAValue) -> SSAValue:
        """1/s, and 0 where s is 0: a row that is masked everywhere is 0, not NaN."""

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            zero, one = to.constant(0.0, args[0].type), to.constant(1.0, args[0].type)
            masked = to.insert(arith.CmpfOp(args[0], zero, "oeq"))
            return to.select(masked, zero, to.divide(one, args[0]))

        return self.elementwise([item], item, "inv", scalars)

    def exponent(self, exponents: Exponents) -> SSAValue:
        """Σ kᵢ·eᵢ as one vector; equal exponents have cancelled already."""
        if len(exponents) == 1 and exponents[0][1] == 1:
            return exponents[0][0]
        return self(block.LinearOp([(CoefficientAttr(count), value) for value, count in exponents]), "exponent")

    def materialized(self, pair: Pair) -> SSAValue:
        """significand · exp(exponent), and 0 where the significand is 0."""
        if not pair.exponents:
            return pair.significand
        exponent = self.exponent(pair.exponents)
        element_type = block.element_type_of(pair.significand.type)

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            zero = to.constant(0.0, element_type)
            value = to.multiply(args[0], to.convert(to.exp(args[1]), element_type))
            return to.select(to.insert(arith.CmpfOp(args[0], zero, "oeq")), zero, value)

        return self.elementwise([pair.significand, exponent], pair.significand, "value", scalars)

    def rescaled(self, item: SSAValue, exponent: SSAValue, top: SSAValue) -> SSAValue:
        """s·exp(e - t), with the factor 1 where e = t."""
        element_type = block.element_type_of(item.type)

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            equal = to.insert(arith.CmpfOp(args[1], args[2], "oeq"))
            factor = to.select(equal, to.constant(1.0, args[1].type), to.exp(to.subtract(args[1], args[2])))
            return to.multiply(args[0], to.convert(factor, element_type))

        return self.elementwise([item, exponent, top], item, "rescaled", scalars)

    def maximum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.elementwise([a, b], a, "top", lambda to, args: to.maximum(args[0], args[1]))
