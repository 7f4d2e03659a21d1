"""Vectors in canonical form: products of powers and exact linear forms.

Equal statistics become equal programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from xdsl.dialects import arith, math
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import CoefficientAttr, exact
from ..facts import is_positive
from .items import body_ops, constant_of, is_float_item, linear, logarithm, unary, uniform, uniform_value
from .law import Check, Law, Placer


class _VectorLaw(Law[None]):
    """A law of the algebra of vectors, which has no side conditions of its own."""

    name = "vector-algebra"
    traffic = "none"


def _is_statistic(value: SSAValue) -> bool:
    return is_float_item(value) and isinstance(value.type, block.VectorType | block.ScalarType)


class SumsAreLinear(_VectorLaw):
    """a + b and a − b of vectors are linear forms; a − b of blocks is a + (−1)·b."""

    variant = "sums"
    law = "Sums and differences of vectors are linear forms."
    before = "sub(c, d)"
    after = "linear c + -1 * d"
    anchors = (block.AddOp, block.SubOp)

    def sites(self, op: Operation) -> Iterator[None]:
        if is_float_item(op.results[0]) and (_is_statistic(op.results[0]) or isinstance(op, block.SubOp)):
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.AddOp | block.SubOp)
        place = Placer(rewriter, op)
        sign = 1 if isinstance(op, block.AddOp) else -1
        if _is_statistic(op.result):
            value = linear(place, (1, op.lhs), (sign, op.rhs))
        else:
            value = place(block.AddOp(op.lhs, linear(place, (-1, op.rhs))))
        rewriter.replace(op, (), (value,))


class ProductsAreMonomials(_VectorLaw):
    """a ∘ b of vectors is a monomial."""

    variant = "products"
    law = "Products of vectors are products of powers."
    before = "mul(c, d)"
    after = "monomial c * d"
    anchors = (block.MulOp,)

    def sites(self, op: Operation) -> Iterator[None]:
        if _is_statistic(op.results[0]):
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.MulOp)
        rewriter.replace(op, block.MonomialOp([(op.lhs, 1), (op.rhs, 1)]))


class ScalarOpsAreAlgebra(_VectorLaw):
    """Negation, constant factors, reciprocals and quotients are linear forms and monomials."""

    variant = "element-wise"
    law = "Negation, constant factors and quotients are linear forms and products of powers."
    before = "elementwise(c) { 1 / c }"
    after = "monomial c ** -1"
    numerics = "a quotient by a constant becomes a product with its exact reciprocal, rounded once"
    anchors = (block.ElementwiseOp,)

    def sites(self, op: Operation) -> Iterator[None]:
        assert isinstance(op, block.ElementwiseOp)
        if _form(op) is not None:
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.ElementwiseOp)
        form = _form(op)
        assert form is not None
        coefficient, factors = form
        place = Placer(rewriter, op)
        value = factors[0][0] if factors == [(factors[0][0], 1)] else place(block.MonomialOp(factors))
        if coefficient != 1 or value is factors[0][0]:
            value = linear(place, (coefficient, value))
        rewriter.replace(op, (), (value,))


def _form(op: block.ElementwiseOp) -> tuple[Fraction, list[tuple[SSAValue, int]]] | None:
    """The constant and the powers of operands whose product an element-wise op is."""
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
                and _is_statistic(op.result)
            ):
                return Fraction(1), [(numerator, 1), (denominator, -1)]
            if denominator is not None and constants[0] is not None and (factor := exact(constants[0])):
                return factor, [(denominator, -1)]
            if numerator is not None and constants[1] is not None and (factor := exact(constants[1])):
                return 1 / factor, [(numerator, 1)]
        case _:
            pass
    return None


class FlattenForms(_VectorLaw):
    """A form of a form is a form; equal terms are one term; what cancels vanishes."""

    variant = "flatten"
    law = "Linear forms of linear forms and products of products are flattened, and equal terms merged."
    before = "linear 2 * (linear c + d) + -2 * d"
    after = "linear 2 * c"
    numerics = "exact in the coefficients; sums are taken in another order"
    anchors = (block.LinearOp, block.MonomialOp)

    def sites(self, op: Operation) -> Iterator[None]:
        if isinstance(op, block.LinearOp):
            changed = _flat_terms(op) != op.pairs
        else:
            assert isinstance(op, block.MonomialOp)
            changed = _flat_factors(op) != op.pairs
        if changed:
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        hint = op.results[0].name_hint
        if isinstance(op, block.LinearOp):
            terms = _flat_terms(op)
            value = place(block.LinearOp(terms), hint) if terms else uniform(place, op.result, 0.0)
        else:
            assert isinstance(op, block.MonomialOp)
            factors = _flat_factors(op)
            value = place(block.MonomialOp(factors), hint) if factors else uniform(place, op.result, 1.0)
        rewriter.replace(op, (), (value,))


def _flat_terms(op: block.LinearOp) -> list[tuple[CoefficientAttr, SSAValue]]:
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


def _flat_factors(op: block.MonomialOp) -> list[tuple[SSAValue, int]]:
    merged: dict[SSAValue, int] = {}
    for value, exponent in op.pairs:
        inner = value.owner
        if isinstance(inner, block.MonomialOp):
            for factor, own in inner.pairs:
                merged[factor] = merged.get(factor, 0) + exponent * own
        elif uniform_value(value) != 1.0:
            merged[value] = merged.get(value, 0) + exponent
    return [(value, exponent) for value, exponent in merged.items() if exponent]


class UnitForms(_VectorLaw):
    """1·x = x and x¹ = x."""

    variant = "units"
    law = "A form that is just its operand is its operand."
    before = "linear 1 * c"
    after = "c"
    anchors = (block.LinearOp, block.MonomialOp)

    def sites(self, op: Operation) -> Iterator[None]:
        if isinstance(op, block.LinearOp):
            unit = len(op.terms) == 1 and op.coefficients.data[0] == CoefficientAttr(1)
        else:
            assert isinstance(op, block.MonomialOp)
            unit = len(op.factors) == 1 and op.pairs[0][1] == 1
        if unit:
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, (), (op.operands[0],))


class ConstantOutOfProduct(_VectorLaw):
    """(k·x)·y = k·(x·y)."""

    variant = "constant factors"
    law = "Constant factors leave products."
    before = "monomial (linear k * x) * y"
    after = "linear k * (monomial x * y)"
    anchors = (block.MonomialOp,)

    def sites(self, op: Operation) -> Iterator[None]:
        assert isinstance(op, block.MonomialOp)
        if any(_multiple(value, exponent) is not None for value, exponent in op.pairs):
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.MonomialOp)
        coefficient, factors = CoefficientAttr(1), list[tuple[SSAValue, int]]()
        for value, exponent in op.pairs:
            multiple = _multiple(value, exponent)
            if multiple is not None:
                coefficient, value = coefficient * multiple[0], multiple[1]
            factors.append((value, exponent))
        place = Placer(rewriter, op)
        rewriter.replace(op, (), (linear(place, (coefficient, place(block.MonomialOp(factors)))),))


def _multiple(value: SSAValue, exponent: int) -> tuple[CoefficientAttr, SSAValue] | None:
    inner = value.owner
    if not isinstance(inner, block.LinearOp) or len(inner.terms) != 1:
        return None
    coefficient = inner.coefficients.data[0]
    if not coefficient.value or (exponent < 0 and coefficient.factors):
        return None
    return coefficient**exponent, inner.terms[0]


class LogOfProduct(Law[block.MonomialOp]):
    """log(∏ xᵢ^eᵢ) = Σ eᵢ·log xᵢ."""

    name = "vector-algebra"
    traffic = "none"
    variant = "logarithm of a product"
    law = "The logarithm of a product of powers is a linear form in logarithms."
    before = "log(monomial c * d ** -1)"
    after = "linear log(c) + -1 * log(d)"
    numerics = "holds where all factors are positive, as sums of exponentials and exponentials are"
    side_conditions = {
        "positive": "every factor is an exponential, or a sum of exponentials, and so positive"
    }
    anchors = (block.ElementwiseOp,)

    def sites(self, op: Operation) -> Iterator[block.MonomialOp]:
        assert isinstance(op, block.ElementwiseOp)
        if unary(op.result, math.LogOp) is not None:
            inner = op.inputs[0].owner
            if isinstance(inner, block.MonomialOp):
                yield inner

    def checks(self, site: block.MonomialOp) -> Iterator[Check]:
        unknown = [value.name_hint or "a factor" for value in site.factors if not is_positive(value)]
        yield Check(
            "positive", not unknown, f"{', '.join(unknown)} may be negative, so its logarithm need not exist"
        )

    def rewrite(self, op: Operation, site: block.MonomialOp, rewriter: PatternRewriter) -> None:
        inner = site
        place = Placer(rewriter, op)
        rewriter.replace(
            op, (), (linear(place, *((e, logarithm(place, value)) for value, e in inner.pairs)),)
        )


class LogOfExp(_VectorLaw):
    """log(exp x) = x."""

    variant = "logarithm of an exponential"
    law = "The logarithm of an exponential is its argument."
    before = "log(exp(c))"
    after = "c"
    numerics = "removes an overflow"
    anchors = (block.ElementwiseOp,)

    def sites(self, op: Operation) -> Iterator[None]:
        assert isinstance(op, block.ElementwiseOp)
        if unary(op.result, math.LogOp) is not None and unary(op.inputs[0], math.ExpOp) is not None:
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        inner = op.operands[0].owner
        assert isinstance(inner, block.ElementwiseOp)
        rewriter.replace(op, (), (inner.inputs[0],))


LAWS = (
    SumsAreLinear,
    ProductsAreMonomials,
    ScalarOpsAreAlgebra,
    FlattenForms,
    UnitForms,
    ConstantOutOfProduct,
    LogOfProduct,
    LogOfExp,
)
