"""Scales of scales and shifts of shifts become one, in one order.

Row scales stand outside column scales, column shifts outside row shifts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ..analysis.items import Scale, Shift, is_float_item, uniform_value
from .law import Check, Law, OpT, Placer, SiteT, Topic
from .shared.formed import RANGE, demanded, formed_in_range, have_common_factors, have_opposite_terms
from .shared.items import product, total

OuterT = TypeVar("OuterT", bound=block.BlockVectorOp)
InnerT = TypeVar("InnerT", bound=block.BlockVectorOp)


class _MergeScales(Law[OpT, SiteT], Generic[OpT, SiteT]):
    name = "merge-scales"
    topic = Topic.SCALES
    rank = 90


@dataclass(frozen=True)
class _Nested(Generic[OuterT]):
    """A scale of a scale, or a shift of a shift, along one axis."""

    outer: OuterT
    inner: OuterT


class _OneForTwo(_MergeScales[OuterT, _Nested[OuterT]], Generic[OuterT]):
    """Two scales, or two shifts, along one axis become one by the combination of their vectors."""

    traffic = "none; one pass over the block less"

    @abstractmethod
    def cancels(self, first: SSAValue, second: SSAValue) -> bool:
        """Return True if the combination of two vectors has fewer parts than the two."""

    @abstractmethod
    def combine(self, place: Placer, first: SSAValue, second: SSAValue) -> SSAValue:
        """Return the vector with the effect of two vectors one after the other."""

    def sites(self, op: OuterT) -> Iterator[_Nested[OuterT]]:
        inner = op.block.owner
        if isinstance(inner, type(op)) and is_float_item(op.result):
            yield _Nested(op, inner)

    def checks(self, site: _Nested[OuterT]) -> Iterator[Check]:
        yield Check(
            "cancels",
            self.cancels(site.inner.vector, site.outer.vector),
            "no part of one vector cancels in the other, and both together could leave the range of numbers",
        )

    def rewrite(self, op: OuterT, site: _Nested[OuterT], rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        both = self.combine(place, site.inner.vector, op.vector)
        rewriter.replace(op, (), (place(type(op)(site.inner.block, both), op.result.name_hint),))


class ScaleOfScale(_OneForTwo[Scale]):
    """diag(d)·diag(c)·x = diag(c ∘ d)·x."""

    variant = "scales"
    law = "Two scales along one axis are one scale by the product, if factors cancel in it."
    before = "row_scale(row_scale(x, c), monomial(c ** -1, d))"
    after = "row_scale(x, monomial(c, monomial(c ** -1, d)))"
    numerics = "the factors that cancel are not rounded any more, and can no longer over- or underflow"
    side_conditions = {"cancels": "a factor of one vector is a divisor in the other"}

    def cancels(self, first: SSAValue, second: SSAValue) -> bool:
        return have_common_factors(first, second)

    def combine(self, place: Placer, first: SSAValue, second: SSAValue) -> SSAValue:
        return product(place, first, second)


class ShiftOfShift(_OneForTwo[Shift]):
    """(x + c·1ᵀ) + d·1ᵀ = x + (c + d)·1ᵀ."""

    variant = "shifts"
    law = "Two shifts along one axis are one shift by the sum, if terms cancel in it."
    before = "row_shift(row_shift(x, c), linear -1 * c + d)"
    after = "row_shift(x, linear(c + linear(-1 * c + d)))"
    numerics = "rounds what is left of c + d; `block-stabilize` takes the sum apart again where that matters"
    side_conditions = {"cancels": "a term of one vector is subtracted in the other"}

    def cancels(self, first: SSAValue, second: SSAValue) -> bool:
        return have_opposite_terms(first, second)

    def combine(self, place: Placer, first: SSAValue, second: SSAValue) -> SSAValue:
        return total(place, first, second)


@dataclass(frozen=True)
class _Crossed(Generic[OuterT, InnerT]):
    """A scale or shift along one axis of one along the other."""

    outer: OuterT
    inner: InnerT


class _Outside(_MergeScales[OuterT, _Crossed[OuterT, InnerT]], Generic[OuterT, InnerT]):
    """A scale or shift along one axis and one along the other change places."""

    inner: type[InnerT]

    def sites(self, op: OuterT) -> Iterator[_Crossed[OuterT, InnerT]]:
        inner = op.block.owner
        if isinstance(inner, self.inner):
            yield _Crossed(op, inner)

    def rewrite(self, op: OuterT, site: _Crossed[OuterT, InnerT], rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        inner = place(type(op)(site.inner.block, op.vector))
        rewriter.replace(op, (), (place(type(site.inner)(inner, site.inner.vector), op.result.name_hint),))


class RowScaleOutside(_Outside[block.ColScaleOp, block.RowScaleOp]):
    """diag(c)·x·diag(g), the row scale last."""

    inner = block.RowScaleOp
    variant = "row scale outside"
    law = "A row scale stands outside a column scale."
    before = "col_scale(row_scale(x, c), g)"
    after = "row_scale(col_scale(x, g), c)"
    traffic = "none; c can move on alone"
    numerics = "x·diag(g) is rounded without c, and must be in the range of f32"
    side_conditions = {
        "demand": "c depends on a reduced result, so that it can move on alone",
        RANGE: "the items have the range of f32",
    }

    def checks(self, site: _Crossed[block.ColScaleOp, block.RowScaleOp]) -> Iterator[Check]:
        yield demanded([site.inner.vector], "scale")
        yield formed_in_range(site.inner.block, "the block without its row scale")


class ColShiftOutside(_Outside[block.RowShiftOp, block.ColShiftOp]):
    """x + c·1ᵀ + 1·dᵀ, the column shift last."""

    inner = block.ColShiftOp
    variant = "column shift outside"
    law = "A column shift stands outside a row shift."
    before = "row_shift(col_shift(x, d), c)"
    after = "col_shift(row_shift(x, c), d)"
    traffic = "none"
    numerics = "d is added last: what cancels between x and d is rounded at the size of x + c"
    side_conditions = {"demand": "c depends on a reduced result, so that it can move on alone"}

    def checks(self, site: _Crossed[block.RowShiftOp, block.ColShiftOp]) -> Iterator[Check]:
        yield demanded([site.outer.vector], "shift")


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
