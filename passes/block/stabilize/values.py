"""Values during stabilisation: plain ones, pairs of significand and exponent, and unevaluated sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log, log2
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ....dialects import block
from ....dialects.array.core import bit_width
from ....dialects.block import CoefficientAttr
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.items import through_cast

Exponents = tuple[tuple[SSAValue, int], ...]


@dataclass(frozen=True)
class Pair:
    """significand · exp(Σ kᵢ·eᵢ), with an exponent eᵢ for each row; items, or lists of items, in either tier.

    Without exponents, it is an exponential that is bounded already, or a sum of such: 0 if all terms are
    masked. An exponent may have another type than the significand; computations with it widen it to f32.

    A pair is `local` if it is no exponential: its exponent only keeps an item in the range of its type. It is
    carried through lists, contractions and sums, and is a plain value for any other operation.
    """

    significand: SSAValue
    exponents: Exponents
    local: bool = False

    def with_parts(self, significand: SSAValue, exponents: Exponents | None = None) -> Pair:
        """The same kind of pair with another significand, and with other exponents if they are given."""
        own = self.exponents if exponents is None else exponents
        return replace(self, significand=significand, exponents=own)


@dataclass(frozen=True)
class UnevaluatedSum:
    """A vector that is kept as the terms of its sum, to be added in f32 at least; `element_type` is its own.

    The exponents come first, so that their rounding is not added to the logarithm's.
    """

    terms: tuple[tuple[CoefficientAttr, SSAValue], ...]
    element_type: Attribute

    @staticmethod
    def of(terms: Iterable[tuple[CoefficientAttr, SSAValue]], element_type: Attribute) -> UnevaluatedSum:
        """The sum of terms, without terms that cancel."""
        total: dict[tuple[SSAValue, tuple[block.DimQuantity, ...]], Fraction] = {}
        for coefficient, value in terms:
            key = value, coefficient.factors
            total[key] = total.get(key, Fraction(0)) + coefficient.value
        kept = (
            (CoefficientAttr(number, factors), value) for (value, factors), number in total.items() if number
        )
        return UnevaluatedSum(tuple(kept), element_type)


Value: TypeAlias = SSAValue | Pair | UnevaluatedSum


def combined(*parts: tuple[Exponents, int]) -> Exponents:
    """The sum of exponents, each with a factor, without those that cancel."""
    total: dict[SSAValue, int] = {}
    for exponents, factor in parts:
        for exponent, count in exponents:
            total[exponent] = total.get(exponent, 0) + factor * count
    return tuple((exponent, count) for exponent, count in total.items() if count)


def exponents_of(value: Value) -> Exponents:
    return value.exponents if isinstance(value, Pair) else ()


def dims_of(item: SSAValue) -> tuple[str, ...]:
    """The dims of the axes of an item."""
    assert isinstance(item.type, block.ItemType)
    return item.type.dims


def wide(element_type: Attribute) -> Attribute:
    """The type in which exponents and exponentials are computed: f32 for 16-bit types."""
    return f32 if bit_width(element_type) < 32 else element_type


_LN2 = log(2)

_LARGEST = 2.0**14
"""The largest element of a row that has an exponent of its own: f16 ends below 2^16, and has no more than 10
bits below 2^-14. A wider type holds the products of such rows as well.
"""
_SMALLEST, _SMALLEST_F64 = 2.0**-110, 2.0**-1000
"""The largest element of a row, at least: 2^14 over it is in range."""

Scalars = Callable[[ScalarBuilder, list[SSAValue]], SSAValue]


def _is_moderate(to: ScalarBuilder, value: SSAValue) -> SSAValue:
    """True if a number is far from overflow: below 1e9 in f32, below 1e17 in f64.

    The test is written so that it always holds over the fields of the exact check.
    """
    large = 2.0 ** (98 if bit_width(value.type) == 32 else 967)
    scaled = to.multiply(to.insert(math.AbsFOp(value)), to.constant(large, value.type))
    return to.insert(arith.CmpfOp(scaled, to.constant(float("inf"), value.type), "olt"))


def _before_rounding(item: SSAValue) -> SSAValue:
    """The item that was rounded to a narrower type to give this one, so that a multiple is rounded once."""
    source = through_cast(item)
    narrowed = bit_width(block.element_type_of(source.type)) > bit_width(block.element_type_of(item.type))
    return source if narrowed else item


class Writer:
    """Writes operators at the end of a block."""

    def __init__(self, body: Block, like: Operation):
        self.body = body
        self.like = like
        self.location = like.location

    def __call__(self, op: Operation, hint: str | None = None) -> SSAValue:
        for inner in op.walk():
            inner.location = self.location
        self.body.add_op(op)
        if hint is not None:
            op.results[0].name_hint = hint
        return op.results[0]

    def elementwise(
        self, inputs: Iterable[SSAValue], type: Attribute, hint: str | None, scalars: Scalars
    ) -> SSAValue:
        """An element-wise operator over `inputs` whose result has the type `type`."""
        operands = list(inputs)
        body = block.scalar_block(operands)
        for argument, operand in zip(body.args, operands, strict=True):
            argument.name_hint = operand.name_hint
        builder = ScalarBuilder(Builder(InsertPoint.at_end(body)))
        body.add_op(block.YieldOp(scalars(builder, list(body.args))))
        assert isinstance(type, block.ItemType)
        return self(block.ElementwiseOp(operands, Region(body), type), hint)

    def as_type(self, item: SSAValue, element_type: Attribute) -> SSAValue:
        """The item in another float type."""
        if block.element_type_of(item.type) == element_type:
            return item
        type = block.item_type(dims_of(item), element_type)
        return self.elementwise(
            [item], type, item.name_hint, lambda to, args: to.convert(args[0], element_type)
        )

    def widened(self, item: SSAValue) -> SSAValue:
        """The item in the type in which exponents are computed."""
        return self.as_type(item, wide(block.element_type_of(item.type)))

    def uniform(self, value: float, like: SSAValue, hint: str) -> SSAValue:
        """An item like another one, all of whose elements are one number."""
        type = block.element_type_of(like.type)
        return self.elementwise([], like.type, hint, lambda to, _: to.constant(value, type))

    def negated(self, item: SSAValue) -> SSAValue:
        return self(block.LinearOp([(CoefficientAttr(-1), item)]), "neg")

    def multiple(self, coefficient: CoefficientAttr, item: SSAValue) -> SSAValue:
        """The item times a coefficient; itself for 1."""
        return item if coefficient == CoefficientAttr(1) else self(block.LinearOp([(coefficient, item)]))

    # Exponents

    def finite(self, exponent: SSAValue) -> SSAValue:
        """The exponent, or 0 if it is -inf: a row of nothing but -inf is not shifted."""

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            minus_infinity = to.constant(float("-inf"), args[0].type)
            masked = to.insert(arith.CmpfOp(args[0], minus_infinity, "oeq"))
            return to.select(masked, to.constant(0.0, args[0].type), args[0])

        return self.elementwise([exponent], exponent.type, "pivot", scalars)

    def natural(self, exponent: SSAValue) -> SSAValue:
        """An exponent of 2 as one of e.

        Beyond 1e9, where different logits are more than 60 apart, it is not multiplied by ln 2. Only the
        largest logit counts there, and two products with ln 2 might round to the same number.
        """
        item = self.widened(exponent)

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            ln2 = to.constant(_LN2, item_type)
            return to.select(_is_moderate(to, args[0]), to.multiply(args[0], ln2), args[0])

        item_type = block.element_type_of(item.type)
        return self.elementwise([item], item.type, "exponent", scalars)

    def excess(self, pivot: SSAValue) -> SSAValue:
        """The difference of the exponent of e that `natural` gives and a pivot, as an exponent of 2.

        The product with ln 2 is rounded, by up to 4e-4 for logits near 1e4; this is the lost part. In exact
        arithmetic it is 0. (The rounding of ln 2 itself does not matter: exponents are subtracted from each
        other, and terms whose exponents differ by 30 are negligible.)
        """
        type = block.element_type_of(pivot.type)

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            ln2 = to.constant(_LN2, type)
            minus = to.negate(to.multiply(args[0], ln2))
            lost = to.multiply(to.insert(math.FmaOp(args[0], ln2, minus)), to.constant(-1 / _LN2, type))
            return to.select(_is_moderate(to, args[0]), lost, to.constant(0.0, type))

        return self.elementwise([pivot], pivot.type, "excess", scalars)

    def exponent(self, exponents: Exponents) -> SSAValue:
        """Σ kᵢ·eᵢ as one item, after equal exponents have cancelled. NaN if -inf meets -inf."""
        (first, count), *others = exponents
        if count == 1 and not others:
            return first
        rows = max((dims_of(value) for value, _ in exponents), key=len)
        return self.total([(CoefficientAttr(count), value) for value, count in exponents], rows, "exponent")

    def total(
        self, terms: Iterable[tuple[CoefficientAttr, SSAValue]], dims: tuple[str, ...], hint: str
    ) -> SSAValue:
        """The sum of terms, in f32 at least."""
        return self(block.LinearOp([(c, self.spread(self.widened(term), dims)) for c, term in terms]), hint)

    def settled(self, pair: Pair) -> SSAValue:
        """The exponent of each row of a pair, for comparison with others.

        It is -inf if exponents of -inf meet: the significand is 0 there, and adds nothing.
        """
        exponent = self.exponent(pair.exponents)
        if len(pair.exponents) > 1:

            def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
                undefined = to.insert(arith.CmpfOp(args[0], args[0], "uno"))
                return to.select(undefined, to.constant(float("-inf"), args[0].type), args[0])

            exponent = self.elementwise([exponent], exponent.type, "exponent", scalars)
        return self.spread(exponent, dims_of(pair.significand)[:1])

    def spread(self, item: SSAValue, dims: tuple[str, ...]) -> SSAValue:
        """A scalar as a vector over `dims`; a vector over them is one already."""
        if dims_of(item) == dims:
            return item
        type = block.item_type(dims, block.element_type_of(item.type))
        return self.elementwise([item], type, item.name_hint, lambda _, args: args[0])

    def maximum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.elementwise([a, b], a.type, "top", lambda to, args: to.maximum(args[0], args[1]))

    # Pairs

    def reciprocal_or_zero(self, item: SSAValue) -> SSAValue:
        """1/s, and 0 where s is 0: a row that is masked everywhere is 0, not NaN."""

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            zero, one = to.constant(0.0, args[0].type), to.constant(1.0, args[0].type)
            masked = to.insert(arith.CmpfOp(args[0], zero, "oeq"))
            return to.select(masked, zero, to.divide(one, args[0]))

        return self.elementwise([item], item.type, "inv", scalars)

    def materialized(self, pair: Pair) -> SSAValue:
        """significand · exp(exponent), and 0 where the significand is 0."""
        if not pair.exponents:
            return pair.significand
        factor = self.power(self.exponent(pair.exponents), "factor")
        type = factor.type
        assert isinstance(type, block.ItemType)
        result = pair.significand.type
        element_type = block.element_type_of(result)
        significand = _before_rounding(pair.significand)

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            zero, wide_zero = (to.constant(0.0, each) for each in (element_type, args[0].type))
            value = to.multiply(to.convert(args[0], type.element_type), args[1])
            masked = to.insert(arith.CmpfOp(args[0], wide_zero, "oeq"))
            return to.select(masked, zero, to.convert(value, element_type))

        return self.elementwise([significand, factor], result, "value", scalars)

    def power(self, exponent: SSAValue, hint: str) -> SSAValue:
        """exp of an exponent, in f32 at least."""
        type = block.item_type(dims_of(exponent), wide(block.element_type_of(exponent.type)))
        return self.elementwise(
            [exponent], type, hint, lambda to, args: to.exp(to.convert(args[0], type.element_type))
        )

    def localized(self, item: SSAValue, element_type: Attribute, exact: bool) -> Pair:
        """The item in a narrower type, with an exponent for each row: its largest element becomes `_LARGEST`.

        No row overflows, and none is closer to underflow than others of ordinary size. With `exact`, the
        rows are scaled by powers of two, so that numbers of the narrower type stay what they are: the
        rounding to it removes the error of exp(-e).
        """
        item = self.widened(item)
        own = block.element_type_of(item.type)
        size = self.elementwise([item], item.type, "size", lambda to, args: to.insert(math.AbsFOp(args[0])))
        top = self(block.RowMaxOp(size), "top")

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            """The logarithm of the largest element over `_LARGEST`; rows of zeros get the smallest one."""
            smallest = to.constant(_SMALLEST if bit_width(own) == 32 else _SMALLEST_F64, own)
            top = to.maximum(args[0], smallest)
            if not exact:
                return to.subtract(to.insert(math.LogOp(top)), to.constant(log(_LARGEST), own))
            power = to.insert(math.CeilOp(to.insert(math.Log2Op(top))))
            return to.multiply(to.subtract(power, to.constant(log2(_LARGEST), own)), to.constant(_LN2, own))

        exponent = self.elementwise([top], top.type, "exponent", scalars)
        scaled = self(block.RowScaleOp(item, self.power(self.negated(exponent), "unit")), "scaled")
        return Pair(self.as_type(scaled, element_type), ((exponent, 1),), local=True)

    def rescaled(self, item: SSAValue, exponent: SSAValue, top: SSAValue) -> SSAValue:
        """s·exp(e - t), with the factor 1 where e = t."""
        type = block.item_type(dims_of(exponent), wide(block.element_type_of(exponent.type)))
        element_type = block.element_type_of(item.type)

        def factors(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            own, other = (to.convert(value, type.element_type) for value in args)
            equal = to.insert(arith.CmpfOp(own, other, "oeq"))
            return to.select(equal, to.constant(1.0, type.element_type), to.exp(to.subtract(own, other)))

        factor = self.elementwise([exponent, top], type, "factor", factors)

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            return to.convert(to.multiply(to.convert(args[0], type.element_type), args[1]), element_type)

        return self.elementwise([item, factor], item.type, "rescaled", scalars)
