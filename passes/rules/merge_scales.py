"""Scales of scales and shifts of shifts become one, in one order.

Row scales stand outside column scales, column shifts outside row shifts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ..analysis.items import Scale, Shift, is_float_item, uniform_value
from .law import Law, OpT, Placer, SiteT, Topic
from .shared.items import product, total

OuterT = TypeVar("OuterT", bound=block.BlockVectorOp)
InnerT = TypeVar("InnerT", bound=block.BlockVectorOp)


class _MergeScales(Law[OpT, SiteT], Generic[OpT, SiteT]):
    name = "merge-scales"
    topic = Topic.SCALES
    rank = 90


class _OneForTwo(_MergeScales[OuterT, OuterT], Generic[OuterT]):
    """Two scales, or two shifts, along one axis become one by the combination of their vectors."""

    traffic = "none; one pass over the block less"

    @abstractmethod
    def combine(self, place: Placer, first: SSAValue, second: SSAValue) -> SSAValue:
        """Return the vector with the effect of two vectors one after the other."""

    def sites(self, op: OuterT) -> Iterator[OuterT]:
        inner = op.block.owner
        if isinstance(inner, type(op)) and is_float_item(op.result):
            yield inner

    def rewrite(self, op: OuterT, site: OuterT, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        both = self.combine(place, site.vector, op.vector)
        rewriter.replace(op, (), (place(type(op)(site.block, both), op.result.name_hint),))


class ScaleOfScale(_OneForTwo[Scale]):
    """diag(d)·diag(c)·x = diag(c ∘ d)·x."""

    variant = "scales"
    law = "Two scales along one axis are one scale by the product."
    before = "row_scale(row_scale(x, c), d)"
    after = "row_scale(x, monomial(c, d))"
    numerics = (
        "the product of the vectors is rounded, and may over- or underflow where the scales would cancel"
    )

    def combine(self, place: Placer, first: SSAValue, second: SSAValue) -> SSAValue:
        return product(place, first, second)


class ShiftOfShift(_OneForTwo[Shift]):
    """(x + c·1ᵀ) + d·1ᵀ = x + (c + d)·1ᵀ."""

    variant = "shifts"
    law = "Two shifts along one axis are one shift by the sum."
    before = "row_shift(row_shift(x, c), d)"
    after = "row_shift(x, linear(c + d))"
    numerics = "rounds c + d; `block-stabilize` takes the sum apart again where that matters"

    def combine(self, place: Placer, first: SSAValue, second: SSAValue) -> SSAValue:
        return total(place, first, second)


class _Outside(_MergeScales[OuterT, InnerT], Generic[OuterT, InnerT]):
    """A scale or shift along one axis and one along the other change places."""

    inner: type[InnerT]

    def sites(self, op: OuterT) -> Iterator[InnerT]:
        inner = op.block.owner
        if isinstance(inner, self.inner):
            yield inner

    def rewrite(self, op: OuterT, site: InnerT, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        inner = place(type(op)(site.block, op.vector))
        rewriter.replace(op, (), (place(type(site)(inner, site.vector), op.result.name_hint),))


class RowScaleOutside(_Outside[block.ColScaleOp, block.RowScaleOp]):
    """diag(c)·x·diag(g), the row scale last."""

    inner = block.RowScaleOp
    variant = "row scale outside"
    law = "A row scale stands outside a column scale."
    before = "col_scale(row_scale(x, c), g)"
    after = "row_scale(col_scale(x, g), c)"
    traffic = "none; c can move on alone"


class ColShiftOutside(_Outside[block.RowShiftOp, block.ColShiftOp]):
    """x + c·1ᵀ + 1·dᵀ, the column shift last."""

    inner = block.ColShiftOp
    variant = "column shift outside"
    law = "A column shift stands outside a row shift."
    before = "row_shift(col_shift(x, d), c)"
    after = "col_shift(row_shift(x, c), d)"
    traffic = "none"


class ScaleByOne(_MergeScales[Scale | Shift, None]):
    """diag(1)·x = x, and x + 0 = x."""

    variant = "by one, by zero"
    law = "A scale by ones and a shift by zeros vanish."
    before = "row_scale(x, 1)"
    after = "x"
    traffic = "none"

    def sites(self, op: Scale | Shift) -> Iterator[None]:
        if uniform_value(op.vector) == (1.0 if isinstance(op, Scale) else 0.0):
            yield None

    def rewrite(self, op: Scale | Shift, site: None, rewriter: PatternRewriter) -> None:
        rewriter.replace(op, (), (op.block,))


LAWS = (ScaleOfScale, ShiftOfShift, RowScaleOutside, ColShiftOutside, ScaleByOne)
