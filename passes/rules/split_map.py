"""A list that must be ready before its consumer starts is made a second time, by the consumer itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ..analysis.facts import kind_of
from .law import Check
from .shared.extension import Extension, named, part_for, slice_of


@dataclass(frozen=True)
class _Split:
    producer: block.MapOp
    consumer: block.MapOp
    index: int

    @property
    def list(self) -> SSAValue:
        return self.consumer.inputs[self.index]


class SplitMap(Extension[_Split]):
    """y, s = map d {..}; map d (y) {.. s ..} → s = map d {..}; y = map d {..}; map d (y) {.. s ..}, and the
    last two fuse.
    """

    name = "split-map"
    rank = 20
    law = (
        "Where another way from a map to the consumer of its list forbids fusing them, "
        "a copy of what makes the list can be fused."
    )
    before = "y, s = map N { e, row_sum(e) }; z = map N (y) { row_scale(y, 1/s) }"
    after = "s = map N { row_sum(e) }; y = map N { e }; z = map N (y) { row_scale(y, 1/s) }"
    traffic = "once the copy is fused, the list is neither stored nor loaded; its inputs are loaded twice"
    repeats = "what makes the list; contractions never"
    side_conditions = {
        "stacked": "the list is a stacked result, so that both maps run over one dim",
        "blocked": "another way leads from the producer to the consumer (or else the maps fuse as they are)",
        "cheap": "no contraction is repeated",
    }

    def sites(self, op: block.MapOp) -> Iterator[_Split]:
        for index, value in enumerate(op.inputs):
            maker = value.owner
            if isinstance(maker, block.MapOp) and maker.parent is op.parent:
                yield _Split(maker, op, index)

    def checks(self, site: _Split) -> Iterator[Check]:
        yield Check("stacked", kind_of(site.list) is block.Kind.Stack, "the list is no stacked result")
        direct = any(value.owner is site.producer for value in self.facts.captured(site.consumer))
        other = self.facts.depends(site.consumer, site.producer, directly=False)
        yield Check("blocked", direct or other, "the maps can be fused as they are")
        part = part_for(site.producer, site.list)
        yield Check(
            "cheap", not part.contracts(), f"making {named(site.list)} again would repeat a contraction"
        )

    def has_contractions(self, site: _Split) -> bool:
        return False

    def describe(self, site: _Split) -> str:
        return f"make {named(site.list)} a second time, in the map over {site.consumer.dim_name}"

    def rewrite(self, op: block.MapOp, site: _Split, rewriter: PatternRewriter) -> None:
        part = slice_of(site.producer, site.list)
        rewriter.insert(part, InsertPoint.before(site.producer))
        operands = list(site.consumer.operands)
        operands[site.index] = part.results[0]
        site.consumer.operands = operands
        rewriter.notify_op_modified(site.consumer)


LAWS = (SplitMap,)
