"""Shifts travel down: past contractions, row sums, sums, masks and constant factors.

They leave products with row sums behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ..facts import waits_for_reduction
from .items import (
    Mask,
    Shift,
    cast,
    copy_elementwise,
    is_float_item,
    linear,
    mask_of,
    product,
    quantity,
    scale_of,
    shift_of,
    through_cast,
)
from .law import Check, Law, Placer

DEMAND = {
    "demand": "the shift depends on a reduced result, so that the contraction would wait for a whole loop"
}
_NO_DEMAND = "the shift does not wait for a reduction, and the law can cancel numerically"
_CANCELS = "cancels where the shift is large: `block-stabilize` gives the statistics a pivot"


def _demand(vector: SSAValue) -> Check:
    return Check("demand", waits_for_reduction(vector), _NO_DEMAND)


def _row_shift(value: SSAValue) -> block.RowShiftOp | None:
    shift = shift_of(through_cast(value))
    return shift if isinstance(shift, block.RowShiftOp) else None


def _col_shift(value: SSAValue) -> block.ColShiftOp | None:
    shift = shift_of(through_cast(value))
    return shift if isinstance(shift, block.ColShiftOp) else None


@dataclass(frozen=True)
class _Contraction:
    """A contraction, `left` or not, whose operand is shifted."""

    dot: block.DotOp
    left: bool
    shift: Shift
    scale: block.ColScaleOp | None = None

    @property
    def shifted(self) -> SSAValue:
        return self.dot.lhs if self.left else self.dot.rhs

    @property
    def other(self) -> SSAValue:
        return self.dot.rhs if self.left else self.dot.lhs

    def dot_of(self, place: Placer, operand: SSAValue, other: SSAValue) -> SSAValue:
        operand = cast(place, operand, block.element_type_of(self.shifted.type))
        pair = (operand, other) if self.left else (other, operand)
        return place(block.DotOp(*pair, self.dot.accumulator), self.dot.result.name_hint)

    def outer(self, place: Placer, shift: SSAValue, sums: SSAValue) -> SSAValue:
        shift = cast(place, shift, self.dot.accumulator)
        return place(block.OuterOp(*((shift, sums) if self.left else (sums, shift))))


class DotOfRowShift(Law[_Contraction]):
    """(a + c·1ᵀ)·bᵀ = a·bᵀ + c·(b·1)ᵀ, and the same for the right operand."""

    name = "swap-shift-dot"
    variant = "row shift"
    law = "A row shift of an operand of a contraction adds an outer product with the other's row sums."
    before = "dot(row_shift(a, c), b)"
    after = "add(dot(a, b), outer(c, row_sum(b)))"
    traffic = "none; the contraction no longer waits for c (the mean of a LayerNorm)"
    numerics = _CANCELS
    side_conditions = DEMAND
    anchors = (block.DotOp,)
    delicate = True

    def sites(self, op: Operation) -> Iterator[_Contraction]:
        assert isinstance(op, block.DotOp)
        for left, value in ((True, op.lhs), (False, op.rhs)):
            shift = _row_shift(value)
            if shift is not None and is_float_item(op.result):
                yield _Contraction(op, left, shift)

    def checks(self, site: _Contraction) -> Iterator[Check]:
        yield _demand(site.shift.vector)

    def rewrite(self, op: Operation, site: _Contraction, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        dot = site.dot_of(place, site.shift.block, site.other)
        sums = place(block.RowSumOp(site.other, site.dot.accumulator))
        rewriter.replace(op, (), (place(block.AddOp(dot, site.outer(place, site.shift.vector, sums))),))


class DotOfColShift(Law[_Contraction]):
    """(a + 1·dᵀ)·bᵀ = a·bᵀ + 1·(b·d)ᵀ."""

    name = "swap-shift-dot"
    variant = "column shift"
    law = "A column shift of an operand of a contraction shifts the result by its product with the other."
    before = "dot(col_shift(a, d), b)"
    after = "col_shift(dot(a, b), row_sum(col_scale(b, d)))"
    traffic = (
        "none; one element-wise pass over b, done once where b and d are constant (the beta of a LayerNorm)"
    )
    anchors = (block.DotOp,)

    def sites(self, op: Operation) -> Iterator[_Contraction]:
        assert isinstance(op, block.DotOp)
        for left, value in ((True, op.lhs), (False, op.rhs)):
            shift = _col_shift(value)
            if shift is not None and is_float_item(op.result):
                yield _Contraction(op, left, shift)

    def rewrite(self, op: Operation, site: _Contraction, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        dot = site.dot_of(place, site.shift.block, site.other)
        vector = cast(place, site.shift.vector, block.element_type_of(site.other.type))
        sums = place(block.RowSumOp(place(block.ColScaleOp(site.other, vector)), site.dot.accumulator))
        shift = block.ColShiftOp if site.left else block.RowShiftOp
        rewriter.replace(op, (), (place(shift(dot, sums)),))


class ScaledShiftToRight(Law[_Contraction]):
    """((a + c·1ᵀ)·diag(g))·bᵀ = (a + c·1ᵀ)·(b·diag(g))ᵀ, with the law for row shifts applied at once.

    One rule with the row shift that it exists for: moving the column scale alone makes no program smaller.
    """

    name = "swap-shift-dot"
    variant = "scaled row shift"
    law = "A column scale over a row shift passes to a contraction's other operand, and the shift comes out."
    before = "dot(col_scale(row_shift(a, c), g), b)"
    after = "add(dot(a, col_scale(b, g)), outer(c, row_sum(col_scale(b, g))))"
    traffic = (
        "none; one element-wise pass over b, done once where b and g are constant (the gamma of a LayerNorm)"
    )
    numerics = _CANCELS
    side_conditions = DEMAND
    anchors = (block.DotOp,)
    delicate = True

    def sites(self, op: Operation) -> Iterator[_Contraction]:
        assert isinstance(op, block.DotOp)
        for left, value in ((True, op.lhs), (False, op.rhs)):
            scale = scale_of(through_cast(value))
            if isinstance(scale, block.ColScaleOp) and is_float_item(op.result):
                shift = _row_shift(scale.block)
                if shift is not None:
                    yield _Contraction(op, left, shift, scale)

    def checks(self, site: _Contraction) -> Iterator[Check]:
        yield _demand(site.shift.vector)

    def rewrite(self, op: Operation, site: _Contraction, rewriter: PatternRewriter) -> None:
        assert site.scale is not None
        place = Placer(rewriter, op)
        gamma = cast(place, site.scale.vector, block.element_type_of(site.other.type))
        other = place(block.ColScaleOp(site.other, gamma), site.other.name_hint)
        dot = site.dot_of(place, site.shift.block, other)
        sums = place(block.RowSumOp(other, site.dot.accumulator))
        rewriter.replace(op, (), (place(block.AddOp(dot, site.outer(place, site.shift.vector, sums))),))


class RowSumOfShift(Law[block.RowShiftOp]):
    """(x + c·1ᵀ)·1 = x·1 + w·c, with w the width of the block."""

    name = "swap-shift-dot"
    variant = "row sum"
    law = "A row shift leaves a row sum as a multiple by the block's width."
    before = "row_sum(row_shift(x, c))"
    after = "linear row_sum(x) + width * c"
    traffic = "none; the sum no longer waits for c"
    numerics = _CANCELS
    side_conditions = DEMAND
    anchors = (block.RowSumOp,)
    delicate = True

    def sites(self, op: Operation) -> Iterator[block.RowShiftOp]:
        assert isinstance(op, block.RowSumOp)
        shift = shift_of(op.operand)
        if isinstance(shift, block.RowShiftOp) and is_float_item(op.result):
            yield shift

    def checks(self, site: block.RowShiftOp) -> Iterator[Check]:
        yield _demand(site.vector)

    def rewrite(self, op: Operation, site: block.RowShiftOp, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.RowSumOp)
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


class RowSumOfShiftedProduct(Law[_ShiftedProduct]):
    """Σ(x + c)(y + d) = Σxy + d·Σx + c·Σy + w·c·d."""

    name = "swap-shift-dot"
    variant = "row sum of a product"
    law = "The row sum of a product of shifted items is a form in row sums of the items and of their product."
    before = "row_sum(mul(row_shift(x, c), row_shift(y, d)))"
    after = "linear row_sum(mul(x, y)) + d * row_sum(x) + c * row_sum(y) + width * c * d"
    traffic = "none; the variance no longer waits for the mean"
    numerics = _CANCELS
    side_conditions = DEMAND
    anchors = (block.RowSumOp,)
    delicate = True

    def sites(self, op: Operation) -> Iterator[_ShiftedProduct]:
        assert isinstance(op, block.RowSumOp)
        mul = op.operand.owner
        if isinstance(mul, block.MulOp) and is_float_item(op.result):
            left, right = shift_of(mul.lhs), shift_of(mul.rhs)
            if isinstance(left, block.RowShiftOp) and isinstance(right, block.RowShiftOp):
                yield _ShiftedProduct(left, right)

    def checks(self, site: _ShiftedProduct) -> Iterator[Check]:
        yield Check(
            "demand",
            waits_for_reduction(site.left.vector) or waits_for_reduction(site.right.vector),
            _NO_DEMAND,
        )

    def rewrite(self, op: Operation, site: _ShiftedProduct, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.RowSumOp)
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


class SumOfShift(Law[_ShiftedAddend]):
    """(x + c·1ᵀ) + y = (x + y) + c·1ᵀ."""

    name = "swap-shift-dot"
    variant = "sum"
    law = "A shift of one addend is a shift of the sum."
    before = "add(row_shift(x, c), y)"
    after = "row_shift(add(x, y), c)"
    traffic = "none"
    anchors = (block.AddOp,)

    def sites(self, op: Operation) -> Iterator[_ShiftedAddend]:
        assert isinstance(op, block.AddOp)
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            shift = shift_of(value)
            if shift is not None:
                yield _ShiftedAddend(shift, other)

    def rewrite(self, op: Operation, site: _ShiftedAddend, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        added = place(block.AddOp(site.shift.block, site.other), op.results[0].name_hint)
        rewriter.replace(op, (), (place(type(site.shift)(added, site.shift.vector)),))


class MultipleOfShift(Law[Shift]):
    """k·(x + c·1ᵀ) = k·x + (k·c)·1ᵀ."""

    name = "swap-shift-dot"
    variant = "constant factor"
    law = "A constant factor passes through a shift."
    before = "linear k * row_shift(x, c)"
    after = "row_shift(linear k * x, linear k * c)"
    traffic = "none"
    anchors = (block.LinearOp,)

    def sites(self, op: Operation) -> Iterator[Shift]:
        assert isinstance(op, block.LinearOp)
        shift = shift_of(op.terms[0])
        if len(op.terms) == 1 and shift is not None:
            yield shift

    def rewrite(self, op: Operation, site: Shift, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.LinearOp)
        place = Placer(rewriter, op)
        factor = op.coefficients.data[0]
        item = linear(place, (factor, site.block))
        rewriter.replace(op, (), (place(type(site)(item, linear(place, (factor, site.vector)))),))


@dataclass(frozen=True)
class _MaskedShift:
    mask: Mask
    shift: block.RowShiftOp


class MaskOfShift(Law[_MaskedShift]):
    """What a mask sets to −inf, a finite shift leaves there."""

    name = "swap-shift-dot"
    variant = "mask"
    law = "A mask by −inf and a row shift change places."
    before = "mask(row_shift(x, c))"
    after = "row_shift(mask(x), c)"
    traffic = "none"
    numerics = "c must not be +inf; it is a finite statistic of finite scores"
    side_conditions = {
        "minus-infinity": "the mask sets to −inf (a finite value would be shifted with the rest)",
        "condition": "the condition does not look at the masked item",
    }
    anchors = (block.ElementwiseOp,)

    def sites(self, op: Operation) -> Iterator[_MaskedShift]:
        assert isinstance(op, block.ElementwiseOp)
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

    def rewrite(self, op: Operation, site: _MaskedShift, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.ElementwiseOp)
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
