"""Scales travel down: past contractions, row sums, products, sums of equal scales and constant factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ..analysis.facts import computed_from
from ..analysis.items import Scale, is_float_item, scale_of, through_cast
from .law import Check, Law, OpT, Phase, Placer, SiteT, Topic
from .shared.dot_operands import DotOperand
from .shared.items import cast, linear, product


def _rescaled(place: Placer, scale: Scale, item: SSAValue) -> SSAValue:
    """The same scale of another item, in that item's element type."""
    return place(type(scale)(item, cast(place, scale.vector, block.element_type_of(item.type))))


class _SwapScaleDot(Law[OpT, SiteT], Generic[OpT, SiteT]):
    name = "swap-scale-dot"
    topic = Topic.SCALES
    rank = 60
    traffic = "none"


class _DotOfScale(_SwapScaleDot[block.DotOp, block.RowScaleOp]):
    """A row scale of one operand of a contraction."""

    traffic = "none; the contraction no longer waits for c"
    left: ClassVar[bool]

    def sites(self, op: block.DotOp) -> Iterator[block.RowScaleOp]:
        scale = scale_of(through_cast(DotOperand(op, self.left).value))
        if isinstance(scale, block.RowScaleOp) and is_float_item(op.result):
            yield scale

    def rewrite(self, op: block.DotOp, site: block.RowScaleOp, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        dot = DotOperand(op, self.left).contract(place, site.block)
        scale = block.RowScaleOp if self.left else block.ColScaleOp
        rewriter.replace(op, (), (place(scale(dot, cast(place, site.vector, op.accumulator))),))


class DotOfLeftScale(_DotOfScale):
    """diag(c)·a·bᵀ scales the rows of a·bᵀ."""

    left = True
    variant = "left operand"
    law = "A row scale of the left operand of a contraction is a row scale of its result."
    before = "dot(row_scale(a, c), b)"
    after = "row_scale(dot(a, b), c)"
    numerics = "a is contracted unscaled: its magnitude must fit the element type (f16 can overflow)"


class DotOfRightScale(_DotOfScale):
    """a·(diag(c)·b)ᵀ scales the columns of a·bᵀ."""

    left = False
    variant = "right operand"
    law = "A row scale of the right operand of a contraction is a column scale of its result."
    before = "dot(a, row_scale(b, c))"
    after = "col_scale(dot(a, b), c)"
    numerics = "b is contracted unscaled, as for the left operand"


class RowSumOfScale(_SwapScaleDot[block.RowSumOp, block.RowScaleOp]):
    """(diag(c)·x)·1 = c ∘ (x·1)."""

    variant = "row sum"
    law = "A row scale leaves a row sum as a factor."
    before = "row_sum(row_scale(x, c))"
    after = "monomial(row_sum(x), c)"
    traffic = "none; the sum no longer waits for c"

    def sites(self, op: block.RowSumOp) -> Iterator[block.RowScaleOp]:
        scale = scale_of(op.operand)
        if isinstance(scale, block.RowScaleOp) and is_float_item(op.result):
            yield scale

    def rewrite(self, op: block.RowSumOp, site: block.RowScaleOp, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        row_sum = place(block.RowSumOp(site.block, op.accumulator), op.result.name_hint)
        rewriter.replace(op, (), (product(place, row_sum, cast(place, site.vector, op.accumulator)),))


@dataclass(frozen=True)
class _ScaledFactor:
    scale: Scale
    other: SSAValue


class ProductOfScale(_SwapScaleDot[block.MulOp, _ScaledFactor]):
    """(diag(c)·x) ∘ y = diag(c)·(x ∘ y)."""

    variant = "product"
    law = "A scale of one factor of a Hadamard product is a scale of the product."
    before = "mul(row_scale(x, c), y)"
    after = "row_scale(mul(x, y), c)"
    numerics = (
        "x ∘ y is taken unscaled: were y scaled too, x ∘ y and c² could overflow where the product does not"
    )
    side_conditions = {
        "once": "the other factor does not depend on the vector, so that no power of it comes out"
    }
    phase = Phase.LATE

    def sites(self, op: block.MulOp) -> Iterator[_ScaledFactor]:
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            scale = scale_of(value)
            if scale is not None:
                yield _ScaledFactor(scale, other)

    def checks(self, site: _ScaledFactor) -> Iterator[Check]:
        plain = not computed_from(site.other, site.scale.vector)
        yield Check(
            "once", plain, "the other factor depends on the vector too, and its powers can over- or underflow"
        )

    def rewrite(self, op: block.MulOp, site: _ScaledFactor, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        factors = [site.scale.block if value.owner is site.scale else value for value in (op.lhs, op.rhs)]
        if op.lhs is op.rhs:
            factors = [site.scale.block, site.other]
        rewriter.replace(
            op, (), (_rescaled(place, site.scale, place(block.MulOp(*factors), op.result.name_hint)),)
        )


class MultipleOfScale(_SwapScaleDot[block.LinearOp, Scale]):
    """k·(diag(c)·x) = diag(c)·(k·x)."""

    variant = "constant factor"
    law = "A constant factor and a scale change places."
    before = "linear k * row_scale(x, c)"
    after = "row_scale(linear k * x, c)"

    def sites(self, op: block.LinearOp) -> Iterator[Scale]:
        scale = scale_of(op.terms[0])
        if len(op.terms) == 1 and scale is not None:
            yield scale

    def rewrite(self, op: block.LinearOp, site: Scale, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        inner = linear(place, (op.coefficients.data[0], site.block))
        rewriter.replace(op, (), (_rescaled(place, site, inner),))


class SumOfEqualScales(_SwapScaleDot[block.AddOp, tuple[Scale, Scale]]):
    """diag(c)·x + diag(c)·y = diag(c)·(x + y)."""

    variant = "sum of equal scales"
    law = "The sum of two items with the same scale is the scaled sum."
    before = "add(row_scale(x, c), row_scale(y, c))"
    after = "row_scale(add(x, y), c)"
    side_conditions = {"same-vector": "both are scaled by the same vector, and so along the same axis"}

    def sites(self, op: block.AddOp) -> Iterator[tuple[Scale, Scale]]:
        left, right = scale_of(op.lhs), scale_of(op.rhs)
        if left is not None and right is not None:
            yield left, right

    def checks(self, site: tuple[Scale, Scale]) -> Iterator[Check]:
        left, right = site
        yield Check("same-vector", left.vector is right.vector, "the addends are scaled by different vectors")

    def rewrite(self, op: block.AddOp, site: tuple[Scale, Scale], rewriter: PatternRewriter) -> None:
        left, right = site
        place = Placer(rewriter, op)
        added = place(block.AddOp(left.block, right.block), op.results[0].name_hint)
        rewriter.replace(op, (), (_rescaled(place, left, added),))


LAWS = (DotOfLeftScale, DotOfRightScale, RowSumOfScale, ProductOfScale, MultipleOfScale, SumOfEqualScales)
