"""The exponential of a shifted block is a scaled exponential."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import math
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ..analysis.facts import waits_longer
from ..analysis.items import body_ops, shift_of, unary
from .law import Check, Law, Placer, Topic
from .shared.items import copy_elementwise, exponential


class ExpOfShift(Law[block.ElementwiseOp, block.RowShiftOp]):
    """exp(x + c·1ᵀ) = diag(exp c)·exp(x), to the base e or 2."""

    name = "exp-of-shift"
    topic = Topic.SCALES
    rank = 80
    law = "A row shift under an exponential is a row scale of the exponential."
    before = "exp(row_shift(x, c))"
    after = "row_scale(exp(x), exp(c))"
    traffic = "none; the exponential no longer waits for c (the maximum of a safe softmax)"
    numerics = "exp(x) can overflow until `block-stabilize` carries it as a pair of significand and exponent"
    side_conditions = {
        "demand": "c depends on a reduced result that x does not depend on: the block would wait for a loop"
    }
    delicate = True

    def sites(self, op: block.ElementwiseOp) -> Iterator[block.RowShiftOp]:
        if any(unary(op.result, kind) is not None for kind in (math.ExpOp, math.Exp2Op)):
            shift = shift_of(op.inputs[0])
            if isinstance(shift, block.RowShiftOp):
                yield shift

    def checks(self, site: block.RowShiftOp) -> Iterator[Check]:
        yield Check(
            "demand",
            waits_longer(site.vector, site.block),
            "the shift waits for no more than the block does, so the exponential need not be freed from it",
        )

    def rewrite(self, op: block.ElementwiseOp, site: block.RowShiftOp, rewriter: PatternRewriter) -> None:
        place = Placer(rewriter, op)
        freed = copy_elementwise(place, op, [site.block])
        kind = type(body_ops(op)[0])
        rewriter.replace(op, (), (place(block.RowScaleOp(freed, exponential(place, site.vector, kind))),))


LAWS = (ExpOfShift,)
