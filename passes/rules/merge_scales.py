"""Scales of scales and shifts of shifts become one, in one order.

Row scales stand outside column scales, column shifts outside row shifts.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from .items import Scale, Shift, is_float_item, product, scale_of, shift_of, total, uniform_value
from .law import Law, Placer


class ScaleOfScale(Law[Scale]):
    """diag(d)·diag(c)·x = diag(c ∘ d)·x."""

    name = "merge-scales"
    variant = "scales"
    law = "Two scales along one axis are one scale by the product."
    before = "row_scale(row_scale(x, c), d)"
    after = "row_scale(x, monomial(c, d))"
    traffic = "none; one pass over the block less"
    numerics = (
        "the product of the vectors is rounded, and may over- or underflow where the scales would cancel"
    )
    anchors = (block.RowScaleOp, block.ColScaleOp)

    def sites(self, op: Operation) -> Iterator[Scale]:
        assert isinstance(op, Scale)
        inner = scale_of(op.block)
        if type(inner) is type(op) and inner is not None and is_float_item(op.result):
            yield inner

    def rewrite(self, op: Operation, site: Scale, rewriter: PatternRewriter) -> None:
        assert isinstance(op, Scale)
        place = Placer(rewriter, op)
        both = product(place, site.vector, op.vector)
        rewriter.replace(op, (), (place(type(op)(site.block, both), op.result.name_hint),))


class ShiftOfShift(Law[Shift]):
    """(x + c·1ᵀ) + d·1ᵀ = x + (c + d)·1ᵀ."""

    name = "merge-scales"
    variant = "shifts"
    law = "Two shifts along one axis are one shift by the sum."
    before = "row_shift(row_shift(x, c), d)"
    after = "row_shift(x, linear(c + d))"
    traffic = "none; one pass over the block less"
    numerics = "rounds c + d; `block-stabilize` takes the sum apart again where that matters"
    anchors = (block.RowShiftOp, block.ColShiftOp)

    def sites(self, op: Operation) -> Iterator[Shift]:
        assert isinstance(op, Shift)
        inner = shift_of(op.block)
        if type(inner) is type(op) and inner is not None and is_float_item(op.result):
            yield inner

    def rewrite(self, op: Operation, site: Shift, rewriter: PatternRewriter) -> None:
        assert isinstance(op, Shift)
        place = Placer(rewriter, op)
        both = total(place, site.vector, op.vector)
        rewriter.replace(op, (), (place(type(op)(site.block, both), op.result.name_hint),))


class RowScaleOutside(Law[block.RowScaleOp]):
    """diag(c)·x·diag(g), the row scale last."""

    name = "merge-scales"
    variant = "row scale outside"
    law = "A row scale stands outside a column scale."
    before = "col_scale(row_scale(x, c), g)"
    after = "row_scale(col_scale(x, g), c)"
    traffic = "none; c can move on alone"
    anchors = (block.ColScaleOp,)

    def sites(self, op: Operation) -> Iterator[block.RowScaleOp]:
        assert isinstance(op, block.ColScaleOp)
        inner = scale_of(op.block)
        if isinstance(inner, block.RowScaleOp):
            yield inner

    def rewrite(self, op: Operation, site: block.RowScaleOp, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.ColScaleOp)
        place = Placer(rewriter, op)
        inner = place(block.ColScaleOp(site.block, op.vector))
        rewriter.replace(op, (), (place(block.RowScaleOp(inner, site.vector), op.result.name_hint),))


class ColShiftOutside(Law[block.ColShiftOp]):
    """x + c·1ᵀ + 1·dᵀ, the column shift last."""

    name = "merge-scales"
    variant = "column shift outside"
    law = "A column shift stands outside a row shift."
    before = "row_shift(col_shift(x, d), c)"
    after = "col_shift(row_shift(x, c), d)"
    traffic = "none"
    anchors = (block.RowShiftOp,)

    def sites(self, op: Operation) -> Iterator[block.ColShiftOp]:
        assert isinstance(op, block.RowShiftOp)
        inner = shift_of(op.block)
        if isinstance(inner, block.ColShiftOp):
            yield inner

    def rewrite(self, op: Operation, site: block.ColShiftOp, rewriter: PatternRewriter) -> None:
        assert isinstance(op, block.RowShiftOp)
        place = Placer(rewriter, op)
        inner = place(block.RowShiftOp(site.block, op.vector))
        rewriter.replace(op, (), (place(block.ColShiftOp(inner, site.vector), op.result.name_hint),))


class ScaleByOne(Law[None]):
    """diag(1)·x = x, and x + 0 = x."""

    name = "merge-scales"
    variant = "by one, by zero"
    law = "A scale by ones and a shift by zeros vanish."
    before = "row_scale(x, 1)"
    after = "x"
    traffic = "none"
    anchors = (block.RowScaleOp, block.ColScaleOp, block.RowShiftOp, block.ColShiftOp)

    def sites(self, op: Operation) -> Iterator[None]:
        assert isinstance(op, Scale | Shift)
        if uniform_value(op.vector) == (1.0 if isinstance(op, Scale) else 0.0):
            yield None

    def rewrite(self, op: Operation, site: None, rewriter: PatternRewriter) -> None:
        assert isinstance(op, Scale | Shift)
        rewriter.replace(op, (), (op.block,))


LAWS = (ScaleOfScale, ShiftOfShift, RowScaleOutside, ColShiftOutside, ScaleByOne)
