"""Only the part of a map that makes one captured list is evaluated anew in every iteration of the map that
needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from .extend_map import Extending, cone_between, targets
from .extension import Extension, insert_first, named, part_for, replace_inside, slice_of
from .law import Check


@dataclass(frozen=True)
class _Slice:
    extending: Extending
    list: SSAValue


class SliceExtend(Extension[_Slice]):
    """y, r = map d1 {..}; map d2 {.. y ..}; r used elsewhere → map d2 { y = map d1 {..} }."""

    name = "extend-map"
    variant = "slice"
    law = "The part of a map that makes one captured list is copied into the map that captures it."
    before = "y, r = map N { f, g }; z = map L { map N (y) { h } }; .. y, r .."
    after = "r = map N { f, g }; z = map L { y = map N { f }; map N (y) { h } }"
    traffic = "the captured list is not loaded; its inputs are loaded in every iteration"
    repeats = "the part of the map that makes the list; contractions never"
    side_conditions = {
        "shared": "the list has users outside the consumer (or else the whole map moves)",
        "useful": (
            "inside the consumer, a map over the producer's dim reads the list, or one that the producer "
            "reads, or it is reduced"
        ),
        "cheap": "no contraction is repeated",
        "not-nested": "no map from the consumer to the target runs over a dim that the producer runs over",
    }
    anchors = (block.MapOp,)

    def sites(self, op: Operation) -> Iterator[_Slice]:
        assert isinstance(op, block.MapOp)
        for value in self.facts.captured(op):
            maker = value.owner
            if (
                isinstance(maker, block.MapOp)
                and maker.parent is op.parent
                and isinstance(value.type, block.ListType)
            ):
                cone = cone_between(maker, op, self.facts)
                for target in targets(maker, op) or [op]:
                    yield _Slice(Extending(maker, op, cone, target), value)

    def checks(self, site: _Slice) -> Iterator[Check]:
        extending = site.extending
        yield Check(
            "shared",
            bool(extending.outside_uses(site.list)),
            "the list is private to the consumer",
            noteworthy=False,
        )
        yield Check(
            "useful",
            bool(targets(extending.producer, extending.consumer)),
            f"nothing over {extending.producer.dim_name} inside the consumer could take it up",
        )
        part = part_for(extending.producer, site.list)
        yield Check(
            "cheap", not part.contracts(), f"making {named(site.list)} again would repeat a contraction"
        )
        dims = {
            extending.producer.dim_name,
            *(inner.dim_name for inner in part.ops if isinstance(inner, block.MapOp)),
        }
        nested = [scope.dim_name for scope in extending.path if scope.dim_name in dims]
        yield Check("not-nested", not nested, f"the producer already runs over {', '.join(nested)}")

    def has_contractions(self, site: _Slice) -> bool:
        return False

    def describe(self, site: _Slice) -> str:
        into = " ".join(scope.dim_name for scope in site.extending.path)
        part = f"the part of the map over {site.extending.producer.dim_name} that makes {named(site.list)}"
        return f"repeat {part} in {into}"

    def rewrite(self, op: Operation, site: _Slice, rewriter: PatternRewriter) -> None:
        part = slice_of(site.extending.producer, site.list)
        insert_first(site.extending.target, [part], rewriter)
        replace_inside(site.extending.target, site.list, part.results[0], rewriter)


LAWS = (SliceExtend,)
