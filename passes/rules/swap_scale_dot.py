"""Scales travel down: past contractions, row sums, products, sums of equal scales and constant factors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Generic

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ..analysis.facts import computed_from, waits_for_reduction, waits_longer
from ..analysis.items import Scale, is_float_item, scale_of, shift_of, through_cast
from ..analysis.roundings import (
    has_exponentials,
    has_range_of,
    is_bounded_exponential,
    is_exact_in,
    scale_may_leave,
)
from .law import Check, Law, OpT, Phase, Placer, SiteT, Topic
from .shared.dot_operands import DotOperand
from .shared.items import cast, linear, product
from .shared.roundings import EXACT_BELOW, RANGE, UNSCALED_RANGE, keeps_range, scale_leaves


def _rescaled(place: Placer, scale: Scale, item: SSAValue) -> SSAValue:
    """The same scale of another item, in that item's element type."""
    return place(type(scale)(item, cast(place, scale.vector, block.element_type_of(item.type))))


class _SwapScaleDot(Law[OpT, SiteT], Generic[OpT, SiteT]):
    name = "swap-scale-dot"
    topic = Topic.SCALES
    rank = 60
    traffic = "none"


@dataclass(frozen=True)
class _ScaledOperand:
    """An operand of a contraction that is an item with scaled rows, perhaps rounded afterwards."""

    operand: DotOperand
    scale: block.RowScaleOp

    @property
    def element_type(self) -> Attribute:
        """The type in which the operand is contracted."""
        return block.element_type_of(self.operand.value.type)

    @property
    def shift(self) -> block.RowShiftOp | None:
        """The shift below the scale, and below a scale of columns, by a vector that waits for a reduction."""
        item = self.scale.block
        if isinstance(columns := scale_of(item), block.ColScaleOp):
            item = columns.block
        shift = shift_of(through_cast(item))
        if isinstance(shift, block.RowShiftOp) and waits_for_reduction(shift.vector):
            return shift
        return None

    @property
    def rounded(self) -> SSAValue:
        """The item that is rounded in the end, without the scale.

        `swap-shift-dot` takes a shift that waits for a reduction out of the operand as well, if what is below
        the shift is exact. It takes a scale of columns with it if the other operand has the range of f32.
        """
        if self.shift is not None and is_exact_in(self.shift.block, self.element_type):
            columns = scale_of(self.scale.block) is not None
            other = block.element_type_of(self.operand.other.type)
            if not columns or has_range_of(other, f32):
                return self.shift.block
        return self.scale.block

    @property
    def pays(self) -> bool:
        """True if the contraction would wait for a loop that the item does not wait for."""
        return waits_longer(self.scale.vector, self.scale.block)


class _DotOfScale(_SwapScaleDot[block.DotOp, _ScaledOperand]):
    """A row scale of one operand of a contraction, which may be rounded in between."""

    traffic = "none; the contraction no longer waits for c"
    left: ClassVar[bool]

    def sites(self, op: block.DotOp) -> Iterator[_ScaledOperand]:
        operand = DotOperand(op, self.left)
        scale = scale_of(through_cast(operand.value))
        if isinstance(scale, block.RowScaleOp) and is_float_item(op.result):
            yield _ScaledOperand(operand, scale)

    def rewrite(self, op: block.DotOp, site: _ScaledOperand, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        scale = block.RowScaleOp if self.left else block.ColScaleOp
        dot = self.contract(place, site)
        rewriter.replace(op, (), (place(scale(dot, cast(place, site.scale.vector, op.accumulator))),))

    def contract(self, place: Placer, site: _ScaledOperand) -> SSAValue:
        """Contract the unscaled item."""
        return site.operand.contract(place, site.scale.block)


class _DotOfExactScale(_DotOfScale):
    """A scale that leaves no rounding, or one that is as good without it."""

    side_conditions = {
        EXACT_BELOW: "the unscaled operand is exact in the type in which it is contracted, or an "
        "exponential, which `block-stabilize` keeps below 1; or the type has its range, and c depends on a "
        "reduced result that the operand does not depend on"
    }

    def checks(self, site: _ScaledOperand) -> Iterator[Check]:
        yield scale_leaves(site.rounded, site.element_type, site.pays, carried=self.left)


class DotOfLeftScale(_DotOfExactScale):
    """diag(c)·a·bᵀ scales the rows of a·bᵀ."""

    left = True
    variant = "left operand"
    law = "A row scale of the left operand of a contraction is a row scale of its result."
    before = "dot(row_scale(a, c), b)"
    after = "row_scale(dot(a, b), c)"
    numerics = "a is contracted unscaled, and rounded if row_scale(a, c) was"


class DotOfRightScale(_DotOfExactScale):
    """a·(diag(c)·b)ᵀ scales the columns of a·bᵀ."""

    left = False
    variant = "right operand"
    law = "A row scale of the right operand of a contraction is a column scale of its result."
    before = "dot(a, row_scale(b, c))"
    after = "col_scale(dot(a, b), c)"
    numerics = "b is contracted unscaled, as for the left operand"


class DotOfRoundedScale(_DotOfScale):
    """T(diag(c)·a)·bᵀ, where the type T cannot hold a: each row of T(a) gets an exponent of its own."""

    left = True
    variant = "rounded left operand"
    law = "A row scale that leaves a rounding to a narrower range leaves an exponent for each row."
    before = "dot(truncf(row_scale(a, c)), b)"
    after = "row_scale(dot(truncf(a) {bb.own_exponent}, b), c)"
    numerics = (
        "truncf(a) can overflow until `block-stabilize` carries it as a pair of significand and exponent"
    )
    side_conditions = {
        "demand": "c depends on a reduced result that a does not depend on, and no shift by such a result is "
        "left in a: the contraction would wait for a loop",
        "no-exponential": "a is not computed from exponentials, which have exponents already",
    }
    delicate = True

    def sites(self, op: block.DotOp) -> Iterator[_ScaledOperand]:
        for site in super().sites(op):
            in_range = scale_may_leave(site.rounded, site.element_type)
            if not in_range and not is_bounded_exponential(site.rounded, site.element_type):
                yield site

    def checks(self, site: _ScaledOperand) -> Iterator[Check]:
        yield Check(
            "demand",
            site.pays and site.shift is None,
            "the scale waits for no more loops than the block does, so it is applied before the rounding",
        )
        yield Check(
            "no-exponential",
            not has_exponentials(site.scale.block, site.element_type),
            "the block is computed from exponentials, and may not be in range before it is scaled",
        )

    def contract(self, place: Placer, site: _ScaledOperand) -> SSAValue:
        return site.operand.contract_carried(place, site.scale.block)


@dataclass(frozen=True)
class _SummedScale:
    op: block.RowSumOp
    scale: block.RowScaleOp


class RowSumOfScale(_SwapScaleDot[block.RowSumOp, _SummedScale]):
    """(diag(c)·x)·1 = c ∘ (x·1)."""

    variant = "row sum"
    law = "A row scale leaves a row sum as a factor."
    before = "row_sum(row_scale(x, c))"
    after = "monomial(row_sum(x), c)"
    traffic = "none; the sum no longer waits for c"
    side_conditions = {RANGE: UNSCALED_RANGE}

    def sites(self, op: block.RowSumOp) -> Iterator[_SummedScale]:
        scale = scale_of(op.operand)
        if isinstance(scale, block.RowScaleOp) and is_float_item(op.result):
            yield _SummedScale(op, scale)

    def checks(self, site: _SummedScale) -> Iterator[Check]:
        yield keeps_range(site.op.accumulator)

    def rewrite(self, op: block.RowSumOp, site: _SummedScale, rewriter: PatternRewriter) -> None:
        place, scale = Placer(rewriter, op), site.scale
        row_sum = place(block.RowSumOp(scale.block, op.accumulator), op.result.name_hint)
        rewriter.replace(op, (), (product(place, row_sum, cast(place, scale.vector, op.accumulator)),))


@dataclass(frozen=True)
class _ScaledFactor:
    product: block.MulOp
    scale: Scale
    other: SSAValue

    @property
    def pays(self) -> bool:
        """True if something could go on with the unscaled product while the scale waits for a reduction."""
        users = (use.operation for use in self.product.result.uses)
        only_stored = all(isinstance(user, block.StoreOp) for user in users)
        return waits_for_reduction(self.scale.vector) and not only_stored


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
        "once": "the other factor does not depend on the vector, so that no power of it comes out",
        "demand": "c depends on a reduced result, and the product is not only stored",
        RANGE: UNSCALED_RANGE,
    }
    phase = Phase.LATE

    def sites(self, op: block.MulOp) -> Iterator[_ScaledFactor]:
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            scale = scale_of(value)
            if scale is not None:
                yield _ScaledFactor(op, scale, other)

    def checks(self, site: _ScaledFactor) -> Iterator[Check]:
        plain = not computed_from(site.other, site.scale.vector)
        yield Check(
            "once", plain, "the other factor depends on the vector too, and its powers can over- or underflow"
        )
        yield Check("demand", site.pays, "nothing goes on with the product before the scale is known")
        yield keeps_range(block.element_type_of(site.other.type))

    def rewrite(self, op: block.MulOp, site: _ScaledFactor, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        factors = [site.scale.block if value.owner is site.scale else value for value in (op.lhs, op.rhs)]
        if op.lhs is op.rhs:
            factors = [site.scale.block, site.other]
        rewriter.replace(
            op, (), (_rescaled(place, site.scale, place(block.MulOp(*factors), op.result.name_hint)),)
        )


@dataclass(frozen=True)
class _ScaledMultiple:
    factor: block.CoefficientAttr
    scale: Scale


class MultipleOfScale(_SwapScaleDot[block.LinearOp, _ScaledMultiple]):
    """k·(diag(c)·x) = diag(c)·(k·x)."""

    variant = "constant factor"
    law = "A constant factor and a scale change places."
    before = "linear k * row_scale(x, c)"
    after = "row_scale(linear k * x, c)"
    numerics = "rounds k·x instead of row_scale(x, c); k·x can underflow"
    side_conditions = {"shrinks": "|k| is at most 1, so that k·x cannot overflow", RANGE: UNSCALED_RANGE}

    def sites(self, op: block.LinearOp) -> Iterator[_ScaledMultiple]:
        scale = scale_of(op.terms[0])
        if len(op.terms) == 1 and scale is not None:
            yield _ScaledMultiple(op.coefficients.data[0], scale)

    def checks(self, site: _ScaledMultiple) -> Iterator[Check]:
        factor = site.factor
        yield Check(
            "shrinks",
            not factor.factors and abs(factor.value) <= 1,
            "the factor is larger than 1, and the unscaled multiple may overflow",
        )
        yield keeps_range(block.element_type_of(site.scale.result.type))

    def rewrite(self, op: block.LinearOp, site: _ScaledMultiple, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        inner = linear(place, (site.factor, site.scale.block))
        rewriter.replace(op, (), (_rescaled(place, site.scale, inner),))


class SumOfEqualScales(_SwapScaleDot[block.AddOp, tuple[Scale, Scale]]):
    """diag(c)·x + diag(c)·y = diag(c)·(x + y)."""

    variant = "sum of equal scales"
    law = "The sum of two items with the same scale is the scaled sum."
    before = "add(row_scale(x, c), row_scale(y, c))"
    after = "row_scale(add(x, y), c)"
    numerics = "rounds x + y instead of each of the scaled items"
    side_conditions = {
        "same-vector": "both are scaled by the same vector, and so along the same axis",
        RANGE: UNSCALED_RANGE,
    }

    def sites(self, op: block.AddOp) -> Iterator[tuple[Scale, Scale]]:
        left, right = scale_of(op.lhs), scale_of(op.rhs)
        if left is not None and right is not None:
            yield left, right

    def checks(self, site: tuple[Scale, Scale]) -> Iterator[Check]:
        left, right = site
        yield Check("same-vector", left.vector is right.vector, "the addends are scaled by different vectors")
        yield keeps_range(block.element_type_of(left.result.type))

    def rewrite(self, op: block.AddOp, site: tuple[Scale, Scale], rewriter: PatternRewriter) -> None:
        left, right = site
        place = Placer(rewriter, op)
        added = place(block.AddOp(left.block, right.block), op.results[0].name_hint)
        rewriter.replace(op, (), (_rescaled(place, left, added),))


LAWS = (
    DotOfLeftScale,
    DotOfRightScale,
    DotOfRoundedScale,
    RowSumOfScale,
    ProductOfScale,
    MultipleOfScale,
    SumOfEqualScales,
)
