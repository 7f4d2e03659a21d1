"""Shifts travel down: past contractions, row sums, sums, masks and constant factors.

Products with row sums remain.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import CoefficientAttr
from ..analysis.facts import waits_for_reduction
from ..analysis.items import Mask, Shift, is_float_item, mask_of, quantity, scale_of, shift_of, through_cast
from ..analysis.nonfinite import is_array_data
from ..analysis.pivots import may_get_pivot
from .law import Check, Law, OpT, Placer, SiteT, Topic
from .shared.dot_operands import DotOperand, operands_of
from .shared.formed import RANGE, WIDE, demanded, formed_in_range, formed_wide, is_exact_part, wide_type
from .shared.items import cast, copy_elementwise, linear, product
from .shared.roundings import EXACT_BELOW, shift_leaves


class _SwapShiftDot(Law[OpT, SiteT], Generic[OpT, SiteT]):
    name = "swap-shift-dot"
    topic = Topic.SCALES
    rank = 70
    traffic = "none"


class _OnDemand(_SwapShiftDot[OpT, SiteT], Generic[OpT, SiteT]):
    """A law that can cause cancellation. It fires only for shifts that wait for a reduction."""

    numerics = "cancels where the shift is large: `block-stabilize` gives the statistics a pivot"
    side_conditions = {
        "demand": "the shift depends on a reduced result, so that the contraction would wait for a whole loop"
    }
    delicate = True

    @abstractmethod
    def shifts(self, site: SiteT) -> tuple[Shift, ...]:
        """Return the shifts that the law removes at a site, one of which must wait for a reduction."""

    def checks(self, site: SiteT) -> Iterator[Check]:
        yield demanded([shift.vector for shift in self.shifts(site)], "shift")


_EXACT_BELOW = "where the operand is rounded to a narrower type, a is made of numbers of that type"


@dataclass(frozen=True)
class _ShiftedOperand:
    """An operand of a contraction that is a shifted item, or a scaled one."""

    operand: DotOperand
    shift: Shift
    scale: block.ColScaleOp | None = None

    def leaves_rounding(self) -> Check:
        """The side condition that rounding the item without its shift, to the operand's type, is exact."""
        return shift_leaves(self.shift.block, block.element_type_of(self.operand.value.type))


def _with_outer_product(place: Placer, site: _ShiftedOperand, other: SSAValue) -> SSAValue:
    """Return x·bᵀ + c·(b·1)ᵀ for an operand x + c·1ᵀ that is contracted with b."""
    accumulator = site.operand.dot.accumulator
    dot = site.operand.contract(place, site.shift.block, other)
    sums = place(block.RowSumOp(other, accumulator))
    factors = site.operand.in_order(cast(place, site.shift.vector, accumulator), sums)
    return place(block.AddOp(dot, place(block.OuterOp(*factors))))


class DotOfRowShift(_OnDemand[block.DotOp, _ShiftedOperand]):
    """(a + c·1ᵀ)·bᵀ = a·bᵀ + c·(b·1)ᵀ, and the same for the right operand."""

    variant = "row shift"
    law = "A row shift of an operand of a contraction adds an outer product with the other's row sums."
    before = "dot(row_shift(a, c), b)"
    after = "add(dot(a, b), outer(c, row_sum(b)))"
    traffic = "none; the contraction no longer waits for c (the mean of a LayerNorm)"
    side_conditions = {**_OnDemand.side_conditions, EXACT_BELOW: _EXACT_BELOW}

    def sites(self, op: block.DotOp) -> Iterator[_ShiftedOperand]:
        for operand in operands_of(op):
            shift = shift_of(through_cast(operand.value))
            if isinstance(shift, block.RowShiftOp) and is_float_item(op.result):
                yield _ShiftedOperand(operand, shift)

    def shifts(self, site: _ShiftedOperand) -> tuple[Shift, ...]:
        return (site.shift,)

    def checks(self, site: _ShiftedOperand) -> Iterator[Check]:
        yield from super().checks(site)
        yield site.leaves_rounding()

    def rewrite(self, op: block.DotOp, site: _ShiftedOperand, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        rewriter.replace(op, (), (_with_outer_product(place, site, site.operand.other),))


class DotOfColShift(_SwapShiftDot[block.DotOp, _ShiftedOperand]):
    """(a + 1·dᵀ)·bᵀ = a·bᵀ + 1·(b·d)ᵀ."""

    variant = "column shift"
    law = "A column shift of an operand of a contraction shifts the result by its product with the other."
    before = "dot(col_shift(a, d), b)"
    after = "col_shift(dot(a, b), row_sum(col_scale(b, d)))"
    traffic = (
        "none; one element-wise pass over b, done once where b and d are constant (the beta of a LayerNorm)"
    )
    numerics = "b·diag(d) is formed in the accumulator's type; what cancels between a and d is rounded"
    side_conditions = {
        "demand": "a depends on a reduced result, as normalised rows do: it can move on without the shift"
    }

    def sites(self, op: block.DotOp) -> Iterator[_ShiftedOperand]:
        for operand in operands_of(op):
            shift = shift_of(through_cast(operand.value))
            if isinstance(shift, block.ColShiftOp) and is_float_item(op.result):
                yield _ShiftedOperand(operand, shift)

    def checks(self, site: _ShiftedOperand) -> Iterator[Check]:
        yield Check(
            "demand",
            waits_for_reduction(site.shift.block),
            "the shifted block does not wait for a reduction, and the law can cancel numerically",
        )

    def rewrite(self, op: block.DotOp, site: _ShiftedOperand, rewriter: PatternRewriter) -> None:
        place, operand = Placer(rewriter, op), site.operand
        dot = operand.contract(place, site.shift.block)
        other, vector = (cast(place, each, op.accumulator) for each in (operand.other, site.shift.vector))
        sums = place(block.RowSumOp(place(block.ColScaleOp(other, vector)), op.accumulator))
        shift = block.ColShiftOp if operand.left else block.RowShiftOp
        rewriter.replace(op, (), (place(shift(dot, sums)),))


class ScaledShiftToRight(_OnDemand[block.DotOp, _ShiftedOperand]):
    """((a + c·1ᵀ)·diag(g))·bᵀ = (a + c·1ᵀ)·(b·diag(g))ᵀ, with the law for row shifts applied at once.

    One rule with the row shift that it exists for: moving the column scale alone makes no program smaller.
    """

    variant = "scaled row shift"
    law = "A column scale over a row shift passes to a contraction's other operand, and the shift comes out."
    before = "dot(col_scale(row_shift(a, c), g), b)"
    after = "add(dot(a, col_scale(b, g)), outer(c, row_sum(col_scale(b, g))))"
    traffic = (
        "none; one element-wise pass over b, done once where b and g are constant (the gamma of a LayerNorm)"
    )
    numerics = _OnDemand.numerics + ". b·diag(g) is formed in f32 at least, and rounded once to the type of b"
    side_conditions = {
        **_OnDemand.side_conditions,
        EXACT_BELOW: _EXACT_BELOW,
        RANGE: "the type of b has the range of f32, so that no product with g loses digits",
    }

    def sites(self, op: block.DotOp) -> Iterator[_ShiftedOperand]:
        for operand in operands_of(op):
            scale = scale_of(through_cast(operand.value))
            if isinstance(scale, block.ColScaleOp) and is_float_item(op.result):
                shift = shift_of(through_cast(scale.block))
                if isinstance(shift, block.RowShiftOp):
                    yield _ShiftedOperand(operand, shift, scale)

    def shifts(self, site: _ShiftedOperand) -> tuple[Shift, ...]:
        return (site.shift,)

    def checks(self, site: _ShiftedOperand) -> Iterator[Check]:
        yield from super().checks(site)
        yield site.leaves_rounding()
        yield formed_in_range(site.operand.other, "b·diag(g)")

    def rewrite(self, op: block.DotOp, site: _ShiftedOperand, rewriter: PatternRewriter) -> None:
        assert site.scale is not None
        place, other = Placer(rewriter, op), site.operand.other
        element_type = block.element_type_of(other.type)
        factors = (cast(place, each, wide_type(element_type)) for each in (other, site.scale.vector))
        scaled = cast(place, place(block.ColScaleOp(*factors), other.name_hint), element_type)
        rewriter.replace(op, (), (_with_outer_product(place, site, scaled),))


class RowSumOfShift(_OnDemand[block.RowSumOp, block.RowShiftOp]):
    """(x + c·1ᵀ)·1 = x·1 + w·c, with w the width of the block."""

    variant = "row sum"
    law = "A row shift leaves a row sum as a multiple by the block's width."
    before = "row_sum(row_shift(x, c))"
    after = "linear row_sum(x) + width * c"
    traffic = "none; the sum no longer waits for c"

    def sites(self, op: block.RowSumOp) -> Iterator[block.RowShiftOp]:
        shift = shift_of(op.operand)
        if isinstance(shift, block.RowShiftOp) and is_float_item(op.result):
            yield shift

    def shifts(self, site: block.RowShiftOp) -> tuple[Shift, ...]:
        return (site,)

    def rewrite(self, op: block.RowSumOp, site: block.RowShiftOp, rewriter: PatternRewriter) -> None:
        assert isinstance(site.block.type, block.BlockType)
        place = Placer(rewriter, op)
        row_sum = place(block.RowSumOp(site.block, op.accumulator), op.result.name_hint)
        width = quantity(op, "width", site.block.type.cols.data)
        rewriter.replace(
            op, (), (linear(place, (1, row_sum), (width, cast(place, site.vector, op.accumulator))),)
        )


@dataclass(frozen=True)
class _ShiftedProduct:
    left: block.RowShiftOp
    right: block.RowShiftOp


class RowSumOfShiftedProduct(_OnDemand[block.RowSumOp, _ShiftedProduct]):
    """Σ(x + c)(y + d) = Σxy + d·Σx + c·Σy + w·c·d."""

    variant = "row sum of a product"
    law = "The row sum of a product of shifted items is a form in row sums of the items and of their product."
    before = "row_sum(mul(row_shift(x, c), row_shift(x, d)))"
    after = "linear row_sum(mul(x, x)) + d * row_sum(x) + c * row_sum(x) + width * c * d"
    traffic = "none; the variance no longer waits for the mean"
    side_conditions = {
        **_OnDemand.side_conditions,
        WIDE: "the items have 32 bits or more",
        "pivot": "both factors are one item, computed element by element from arrays, and c and d from its "
        "rows: `block-stabilize` gives it a pivot",
    }

    def sites(self, op: block.RowSumOp) -> Iterator[_ShiftedProduct]:
        mul = op.operand.owner
        if isinstance(mul, block.MulOp) and is_float_item(op.result):
            left, right = shift_of(mul.lhs), shift_of(mul.rhs)
            if isinstance(left, block.RowShiftOp) and isinstance(right, block.RowShiftOp):
                yield _ShiftedProduct(left, right)

    def shifts(self, site: _ShiftedProduct) -> tuple[Shift, ...]:
        return site.left, site.right

    def checks(self, site: _ShiftedProduct) -> Iterator[Check]:
        yield from super().checks(site)
        left, right = site.left, site.right
        yield formed_wide(left.block, "the product of the items")
        pivot = left.block is right.block and all(
            may_get_pivot(shift.block, shift.vector) for shift in (left, right)
        )
        yield Check("pivot", pivot, "the sums would cancel, and the items cannot be given a pivot")

    def rewrite(self, op: block.RowSumOp, site: _ShiftedProduct, rewriter: PatternRewriter) -> None:
        assert isinstance(site.left.block.type, block.BlockType)
        place = Placer(rewriter, op)
        x, y = site.left.block, site.right.block
        c, d = (cast(place, shift.vector, op.accumulator) for shift in (site.left, site.right))
        squares = place(block.RowSumOp(place(block.MulOp(x, y)), op.accumulator), op.result.name_hint)
        sum_x = place(block.RowSumOp(x, op.accumulator))
        sum_y = sum_x if x is y else place(block.RowSumOp(y, op.accumulator))
        width = quantity(op, "width", site.left.block.type.cols.data)
        form = linear(
            place,
            (1, squares),
            (1, product(place, sum_x, d)),
            (1, product(place, sum_y, c)),
            (width, product(place, c, d)),
        )
        rewriter.replace(op, (), (form,))


@dataclass(frozen=True)
class _ShiftedAddend:
    shift: Shift
    other: SSAValue


class SumOfShift(_SwapShiftDot[block.AddOp, _ShiftedAddend]):
    """(x + c·1ᵀ) + y = (x + y) + c·1ᵀ."""

    variant = "sum"
    law = "A shift of one addend is a shift of the sum."
    before = "add(row_shift(x, c), y)"
    after = "row_shift(add(x, y), c)"
    numerics = "what cancels between x and c is rounded at the size of x + y"
    side_conditions = {"demand": "c depends on a reduced result, so that it can move on alone"}

    def sites(self, op: block.AddOp) -> Iterator[_ShiftedAddend]:
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            shift = shift_of(value)
            if shift is not None:
                yield _ShiftedAddend(shift, other)

    def checks(self, site: _ShiftedAddend) -> Iterator[Check]:
        yield demanded([site.shift.vector], "shift")

    def rewrite(self, op: block.AddOp, site: _ShiftedAddend, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        added = place(block.AddOp(site.shift.block, site.other), op.results[0].name_hint)
        rewriter.replace(op, (), (place(type(site.shift)(added, site.shift.vector)),))


@dataclass(frozen=True)
class _Multiple:
    factor: CoefficientAttr
    shift: Shift


class MultipleOfShift(_SwapShiftDot[block.LinearOp, _Multiple]):
    """k·(x + c·1ᵀ) = k·x + (k·c)·1ᵀ, for a vector that depends on a statistic.

    For any other vector -(x + c) can be -0 where the sum of the products is 0.
    """

    variant = "constant factor"
    law = "A constant factor passes through a shift."
    before = "linear k * row_shift(x, c)"
    after = "row_shift(linear k * x, linear k * c)"
    numerics = "exact but for underflow: products with k are not rounded"
    side_conditions = {
        "power": "k is 1, 1/2, 1/4 and so on, or minus that",
    }

    def sites(self, op: block.LinearOp) -> Iterator[_Multiple]:
        shift = shift_of(op.terms[0])
        if len(op.terms) == 1 and shift is not None and not is_array_data(shift.vector):
            yield _Multiple(op.coefficients.data[0], shift)

    def checks(self, site: _Multiple) -> Iterator[Check]:
        yield Check(
            "power",
            is_exact_part(site.factor),
            f"products with {site.factor} are rounded or larger, and the shift would no longer cancel",
        )

    def rewrite(self, op: block.LinearOp, site: _Multiple, rewriter: PatternRewriter) -> None:
        place, shift = Placer(rewriter, op), site.shift
        item, vector = (linear(place, (site.factor, each)) for each in (shift.block, shift.vector))
        rewriter.replace(op, (), (place(type(shift)(item, vector)),))


@dataclass(frozen=True)
class _MaskedShift:
    mask: Mask
    shift: block.RowShiftOp


class MaskOfShift(_SwapShiftDot[block.ElementwiseOp, _MaskedShift]):
    """A finite shift leaves at −inf what a mask sets to −inf."""

    variant = "mask"
    law = "A mask by −inf and a row shift change places."
    before = "mask(row_shift(x, c))"
    after = "row_shift(mask(x), c)"
    numerics = "c must not be +inf; it is a finite statistic of finite scores"
    side_conditions = {
        "minus-infinity": "the mask sets to −inf (a finite value would be shifted with the rest)",
        "condition": "the condition does not look at the masked item",
    }

    def sites(self, op: block.ElementwiseOp) -> Iterator[_MaskedShift]:
        mask = mask_of(op)
        if mask is not None:
            shift = shift_of(op.inputs[mask.operand])
            if isinstance(shift, block.RowShiftOp):
                yield _MaskedShift(mask, shift)

    def checks(self, site: _MaskedShift) -> Iterator[Check]:
        number = site.mask.number
        yield Check(
            "minus-infinity",
            number == float("-inf"),
            f"the mask sets to {number:g}, which a shift would change",
        )
        yield Check(
            "condition", not site.mask.looks_at_operand, "the condition of the mask looks at the shifted item"
        )

    def rewrite(self, op: block.ElementwiseOp, site: _MaskedShift, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        inputs = list(op.inputs)
        inputs[site.mask.operand] = site.shift.block
        masked = copy_elementwise(place, op, inputs)
        rewriter.replace(op, (), (place(block.RowShiftOp(masked, site.shift.vector)),))


LAWS = (
    DotOfRowShift,
    DotOfColShift,
    ScaledShiftToRight,
    RowSumOfShift,
    RowSumOfShiftedProduct,
    SumOfShift,
    MultipleOfShift,
    MaskOfShift,
)
