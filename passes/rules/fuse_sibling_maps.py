"""Two maps over one dim that read one list become one map."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.attributes import PROLOGUE
from .fuse_consecutive_maps import Neighbours
from .law import Check, Law, Phase, Topic
from .shared.map_editing import merge_maps


class FuseSiblingMaps(Law[block.MapOp, Neighbours]):
    """map d (x) {..}; map d (x) {..} → one map. Only when no other law fires anywhere."""

    name = "fuse-sibling-maps"
    phase = Phase.OWN_STEP
    topic = Topic.MAPS
    rank = 40
    law = "Two maps over one dim that read one list and do not need each other are one map."
    before = "y = map M (x) { f(x) }; z = map M (x) { g(x) }"
    after = "y, z = map M (x) { f(x), g(x) }"
    traffic = "the shared list is loaded once; an iteration holds the state of both"
    side_conditions = {
        "once": "both maps are a once-only prologue, or neither is",
        "independent": "neither map needs the other",
    }
    structural = True

    def sites(self, op: block.MapOp) -> Iterator[Neighbours]:
        # In program order, which a copy of the program shares; the order of uses it does not.
        position, own = self.facts.position, self.facts.position(op)
        others = {
            use.operation: position(use.operation)
            for value in op.inputs
            for use in value.uses
            if isinstance(use.operation, block.MapOp) and use.operation.parent is op.parent
        }
        for other in sorted(others, key=others.__getitem__):
            if own < others[other]:
                assert isinstance(other, block.MapOp)
                yield Neighbours(op, other)

    def checks(self, site: Neighbours) -> Iterator[Check]:
        first, second = site.first, site.second
        once = [PROLOGUE in map_.attributes for map_ in (first, second)]
        yield Check("once", once[0] == once[1], "one of the maps is a prologue that runs only once")
        yield Check(
            "independent", not self.facts.depends(second, first), "the second map needs a result of the first"
        )

    def rewrite(self, op: block.MapOp, site: Neighbours, rewriter: PatternRewriter) -> None:
        merge_maps(site.first, site.second, self.facts.between(site.first, site.second), rewriter)


LAWS = (FuseSiblingMaps,)
