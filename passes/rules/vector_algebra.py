"""Vectors in canonical form: products of powers and exact linear forms.

Equal statistics become equal programs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from xdsl.dialects import math
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import CoefficientAttr
from ..analysis.facts import is_positive
from ..analysis.items import is_float_item, unary
from .law import Check, Law, OpT, Placer, SiteT, Topic
from .shared.items import linear, logarithm
from .shared.vector_forms import (
    Flat,
    ScalarForm,
    flat_factors,
    flat_terms,
    is_algebraic,
    is_statistic,
    multiple,
    scalar_form,
)


class _VectorAlgebra(Law[OpT, SiteT], Generic[OpT, SiteT]):
    name = "vector-algebra"
    topic = Topic.VECTORS
    rank = 50
    traffic = "none"


class _VectorLaw(_VectorAlgebra[OpT, None], Generic[OpT]):
    """A law of the algebra of vectors that has no side conditions."""


class SumsAreLinear(_VectorLaw[block.AddOp | block.SubOp]):
    """a + b and a − b of vectors are linear forms; a − b of blocks is a + (−1)·b."""

    variant = "sums"
    law = "Sums and differences of vectors are linear forms."
    before = "sub(c, d)"
    after = "linear c + -1 * d"

    def sites(self, op: block.AddOp | block.SubOp) -> Iterator[None]:
        result = op.results[0]
        if is_algebraic(result) or (
            isinstance(op, block.SubOp) and is_float_item(result) and not is_statistic(result)
        ):
            yield None

    def rewrite(self, op: block.AddOp | block.SubOp, site: None, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        sign = 1 if isinstance(op, block.AddOp) else -1
        if is_statistic(op.result):
            value = linear(place, (1, op.lhs), (sign, op.rhs))
        else:
            value = place(block.AddOp(op.lhs, linear(place, (-1, op.rhs))))
        rewriter.replace(op, (), (value,))


class ProductsAreMonomials(_VectorLaw[block.MulOp]):
    """a ∘ b of vectors is a monomial."""

    variant = "products"
    law = "Products of vectors are products of powers."
    before = "mul(c, d)"
    after = "monomial c * d"

    def sites(self, op: block.MulOp) -> Iterator[None]:
        if is_algebraic(op.results[0]):
            yield None

    def rewrite(self, op: block.MulOp, site: None, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, block.MonomialOp([(op.lhs, 1), (op.rhs, 1)]))


class ScalarOpsAreAlgebra(_VectorAlgebra[block.ElementwiseOp, ScalarForm]):
    """Negation, constant factors, reciprocals and quotients are linear forms and monomials."""

    variant = "element-wise"
    law = "Negation, constant factors and quotients are linear forms and products of powers."
    before = "elementwise(c) { 1 / c }"
    after = "monomial c ** -1"
    numerics = "a quotient by a constant becomes a product with its exact reciprocal, rounded once"

    def sites(self, op: block.ElementwiseOp) -> Iterator[ScalarForm]:
        form = scalar_form(op)
        if form is not None:
            yield form

    def rewrite(self, op: block.ElementwiseOp, site: ScalarForm, rewriter: PatternRewriter) -> None:
        coefficient, factors = site
        place = Placer(rewriter, op)
        value = factors[0][0] if factors == [(factors[0][0], 1)] else place(block.MonomialOp(factors))
        if coefficient != 1 or value is factors[0][0]:
            value = linear(place, (coefficient, value))
        rewriter.replace(op, (), (value,))


AnyFlat = Flat[tuple[CoefficientAttr, SSAValue]] | Flat[tuple[SSAValue, int]]


class FlattenForms(_VectorAlgebra[block.LinearOp | block.MonomialOp, AnyFlat]):
    """A form of a form is a form; equal terms are one term; terms cancel where no NaN is lost by that."""

    variant = "flatten"
    law = "Linear forms of linear forms and products of products are flattened, and equal terms merged."
    before = "linear 2 * (linear c + d) + 3 * d"
    after = "linear 2 * c + 5 * d"
    numerics = "exact in the coefficients; sums are taken in another order"
    side_conditions = {
        "witness": "terms or powers that cancel (c - c, c / c) leave an item that is NaN where the data make "
        "c NaN"
    }

    def sites(self, op: block.LinearOp | block.MonomialOp) -> Iterator[AnyFlat]:
        flat = flat_terms(op) if isinstance(op, block.LinearOp) else flat_factors(op)
        if flat.pairs != op.pairs:
            yield flat

    def checks(self, site: AnyFlat) -> Iterator[Check]:
        lost = [value.name_hint or "an item" for value in site.unwitnessed()]
        yield Check("witness", not lost, f"{', '.join(lost)} would cancel, also where it is NaN or infinite")

    def rewrite(
        self, op: block.LinearOp | block.MonomialOp, site: AnyFlat, rewriter: PatternRewriter
    ) -> None:
        form = type(op)(site.pairs)  # pyright: ignore[reportArgumentType]
        rewriter.replace(op, (), (Placer(rewriter, op)(form, op.results[0].name_hint),))


class UnitForms(_VectorLaw[block.LinearOp | block.MonomialOp]):
    """1·x = x and x¹ = x."""

    variant = "units"
    law = "A form that is just its operand is its operand."
    before = "linear 1 * c"
    after = "c"

    def sites(self, op: block.LinearOp | block.MonomialOp) -> Iterator[None]:
        if isinstance(op, block.LinearOp):
            unit = len(op.terms) == 1 and op.coefficients.data[0] == CoefficientAttr(1)
        else:
            unit = len(op.factors) == 1 and op.pairs[0][1] == 1
        if unit:
            yield None

    def rewrite(self, op: block.LinearOp | block.MonomialOp, site: None, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, (), (op.operands[0],))


@dataclass(frozen=True)
class _Multiple:
    """A product as a constant and factors without constants."""

    product: block.MonomialOp
    coefficient: CoefficientAttr
    factors: list[tuple[SSAValue, int]]

    def is_square(self) -> bool:
        """True if the product is the square of one statistic."""
        bases = {value for value, _ in self.factors}
        return len(bases) == 1 and sum(exponent for _, exponent in self.factors) == 2

    def is_summand(self) -> bool:
        """True if the product is a term of a linear form with others, where equal terms meet."""
        users = (use.operation for use in self.product.result.uses)
        return any(isinstance(user, block.LinearOp) and len(user.terms) > 1 for user in users)


class ConstantOutOfProduct(_VectorAlgebra[block.MonomialOp, _Multiple]):
    """(k·x)·x = k·x², as in a variance; (-x)·y = -(x·y)."""

    variant = "constant factors"
    law = "A sign leaves products, and a constant factor the squares in a sum, as those of a variance."
    before = "linear s + monomial (linear k * x) * x"
    after = "linear s + linear k * (monomial x ** 2)"
    numerics = "x² can overflow where k·x² does not: `block-stabilize` computes a variance from its mean"
    side_conditions = {
        "square": "the constant is 1 or -1, or the product is a square of one statistic and a term of a sum"
    }

    def sites(self, op: block.MonomialOp) -> Iterator[_Multiple]:
        coefficient, factors, found_any = CoefficientAttr(1), list[tuple[SSAValue, int]](), False
        for value, exponent in op.pairs:
            found = multiple(value, exponent)
            if found is not None:
                coefficient, value, found_any = coefficient * found[0], found[1], True
            factors.append((value, exponent))
        if found_any:
            yield _Multiple(op, coefficient, factors)

    def checks(self, site: _Multiple) -> Iterator[Check]:
        is_sign = not site.coefficient.factors and abs(site.coefficient.value) == 1
        yield Check(
            "square",
            is_sign or (site.is_square() and site.is_summand()),
            f"without the factor {site.coefficient}, the product could leave the range of numbers",
        )

    def rewrite(self, op: block.MonomialOp, site: _Multiple, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        product = place(block.MonomialOp(site.factors))
        rewriter.replace(op, (), (linear(place, (site.coefficient, product)),))


class LogOfProduct(_VectorAlgebra[block.ElementwiseOp, block.MonomialOp]):
    """log(∏ xᵢ^eᵢ) = Σ eᵢ·log xᵢ."""

    variant = "logarithm of a product"
    law = "The logarithm of a product of powers is a linear form in logarithms."
    before = "log(monomial c * d ** -1)"
    after = "linear log(c) + -1 * log(d)"
    numerics = "holds where all factors are positive, as sums of exponentials and exponentials are"
    side_conditions = {
        "positive": "every factor is an exponential, or a sum of exponentials, and so positive"
    }

    def sites(self, op: block.ElementwiseOp) -> Iterator[block.MonomialOp]:
        if unary(op.result, math.LogOp) is not None:
            inner = op.inputs[0].owner
            if isinstance(inner, block.MonomialOp):
                yield inner

    def checks(self, site: block.MonomialOp) -> Iterator[Check]:
        unknown = [value.name_hint or "a factor" for value in site.factors if not is_positive(value)]
        yield Check(
            "positive", not unknown, f"{', '.join(unknown)} may be negative, so its logarithm need not exist"
        )

    def rewrite(self, op: block.ElementwiseOp, site: block.MonomialOp, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        terms = ((exponent, logarithm(place, value)) for value, exponent in site.pairs)
        rewriter.replace(op, (), (linear(place, *terms),))


class LogOfExp(_VectorAlgebra[block.ElementwiseOp, block.ElementwiseOp]):
    """log(exp x) = x."""

    variant = "logarithm of an exponential"
    law = "The logarithm of an exponential is its argument."
    before = "log(exp(c))"
    after = "c"
    numerics = "removes an overflow"

    def sites(self, op: block.ElementwiseOp) -> Iterator[block.ElementwiseOp]:
        if unary(op.result, math.LogOp) is not None:
            exponential = unary(op.inputs[0], math.ExpOp)
            if exponential is not None:
                yield exponential

    def rewrite(self, op: block.ElementwiseOp, site: block.ElementwiseOp, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, (), (site.inputs[0],))


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
