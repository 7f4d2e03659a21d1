"""Two maps over one dim, the second reading what the first stacks, become one map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.attributes import PROLOGUE
from .law import Check, Law, Phase, Topic
from .shared.map_editing import merge_maps


@dataclass(frozen=True)
class Neighbours:
    """A map and one that maps one of its results."""

    first: block.MapOp
    second: block.MapOp


class FuseConsecutiveMaps(Law[block.MapOp, Neighbours]):
    """map d {..y..}; map d (y) {..} → one map."""

    name = "fuse-consecutive-maps"
    phase = Phase.OWN_STEP
    topic = Topic.MAPS
    rank = 30
    law = "A map over the list that another map over the same dim stacks does its work in the same iteration."
    before = "y = map M { yield store(f(x)) }; z = map M (y) { g(load(y)) }"
    after = "y, z = map M { yield store(f(x)), g(f(x)) }"
    traffic = "one load an iteration less; one store less where nothing else reads y"
    side_conditions = {
        "same-dim": "both maps run over one dim, so that the second reads what the first stacks",
        "once": "both maps are a once-only prologue, or neither is",
        "not-captured": "the second map captures nothing of the first, and takes no reduced result of it",
        "no-other-path": "no operation between them needs the first and is needed by the second",
    }
    structural = True

    def sites(self, op: block.MapOp) -> Iterator[Neighbours]:
        producers = dict.fromkeys(value.owner for value in op.inputs)
        for producer in producers:
            if isinstance(producer, block.MapOp) and producer.parent is op.parent:
                yield Neighbours(producer, op)

    def checks(self, site: Neighbours) -> Iterator[Check]:
        first, second, facts = site.first, site.second, self.facts
        yield Check(
            "same-dim",
            first.dim_name == second.dim_name,
            f"the maps run over {first.dim_name} and {second.dim_name}",
        )
        once = [PROLOGUE in map_.attributes for map_ in (first, second)]
        yield Check("once", once[0] == once[1], "one of the maps is a prologue that runs only once")
        captured = [value for value in facts.captured(second) if value.owner is first]
        names = ", ".join(f"%{value.name_hint}" if value.name_hint else "a value" for value in captured)
        yield Check("not-captured", not captured, f"every iteration of the second map needs all of {names}")
        yield Check(
            "no-other-path",
            not facts.depends(second, first, directly=False),
            "another operation stands between the maps",
        )

    def rewrite(self, op: block.MapOp, site: Neighbours, rewriter: PatternRewriter) -> None:
        merge_maps(site.first, site.second, self.facts.between(site.first, site.second), rewriter)


LAWS = (FuseConsecutiveMaps,)
