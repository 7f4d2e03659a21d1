"""A map, or a part of it, is evaluated again in every iteration of a map that needs what it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ...dialects.block import Kind
from .law import Check
from .shared.cones import Extending, cone_between, is_within, targets
from .shared.extension import (
    Extension,
    contains_contraction,
    insert_first,
    named,
    part_for,
    replace_inside,
    slice_of,
)
from .shared.map_editing import add_results


class ExtendMap(Extension[Extending]):
    """y = map d1 {..}; map d2 {.. y ..} → map d2 { y = map d1 {..}; .. }."""

    name = "extend-map"
    rank = 10
    variant = "cone"
    law = (
        "A map, with all that stands between, moves into a map that captures its result, "
        "and is evaluated in every iteration."
    )
    before = "y = map N { f }; z = map L { map N (y) { g } }"
    after = "z = map L { y = map N { f }; map N (y) { g } }"
    traffic = "y need not be stored and loaded; its inputs are loaded in every iteration"
    repeats = "everything in the cone, once for each iteration of the consumer"
    side_conditions = {
        "not-mapped": "no result of the cone is a mapped input of the consumer",
        "nearest": "no other map stands in the cone: the nearest producer goes first",
        "useful": (
            "inside the consumer, a map over the producer's dim reads its list, or one that it reads, "
            "or its list is reduced"
        ),
        "private": (
            "no list of the cone has a user elsewhere (items may have, if the cone goes no deeper: "
            "they leave as `any` results)"
        ),
        "not-nested": "no map from the consumer to the target runs over a dim that the producer runs over",
    }

    def sites(self, op: block.MapOp) -> Iterator[Extending]:
        facts = self.facts
        makers = dict.fromkeys(
            value.owner
            for value in facts.used(op)
            if isinstance(value.owner, Operation) and value.owner.parent is op.parent
        )
        seen: set[Operation] = set()
        pending = list(makers)
        while pending:
            maker = pending.pop(0)
            if maker in seen:
                continue
            seen.add(maker)
            if isinstance(maker, block.MapOp):
                cone = cone_between(maker, op, facts)
                for target in targets(maker, op) or [op]:
                    yield Extending(maker, op, cone, target)
            else:
                pending.extend(
                    value.owner
                    for value in facts.used(maker)
                    if isinstance(value.owner, Operation) and value.owner.parent is op.parent
                )

    def checks(self, site: Extending) -> Iterator[Check]:
        results = set(site.results)
        yield Check(
            "not-mapped",
            results.isdisjoint(site.consumer.inputs),
            "the consumer maps a result of the producer",
            noteworthy=False,
        )
        others = [op for op in site.cone if isinstance(op, block.MapOp) and op is not site.producer]
        yield Check("nearest", not others, "another map stands between the two", noteworthy=False)
        useful = bool(targets(site.producer, site.consumer))
        yield Check(
            "useful", useful, f"nothing over {site.producer.dim_name} inside the consumer could take it up"
        )
        deep = site.target is not site.consumer
        shared = [
            value
            for value in site.results
            if site.outside_uses(value) and (deep or not block.is_local(value.type))
        ]
        names = ", ".join(f"%{value.name_hint}" if value.name_hint else "a list" for value in shared)
        yield Check("private", not shared, f"{names} is also used elsewhere")
        dims = {inner.dim_name for inner in site.producer.walk() if isinstance(inner, block.MapOp)}
        nested = [scope.dim_name for scope in site.path if scope.dim_name in dims]
        yield Check("not-nested", not nested, f"the producer already runs over {', '.join(nested)}")

    def has_contractions(self, site: Extending) -> bool:
        return contains_contraction(site.cone)

    def describe(self, site: Extending) -> str:
        into = " ".join(scope.dim_name for scope in site.path)
        return f"extend the map over {site.producer.dim_name} into {into}"

    def rewrite(self, op: block.MapOp, site: Extending, rewriter: PatternRewriter) -> None:
        copies: dict[SSAValue, SSAValue] = {}
        clones = [member.clone(copies) for member in site.cone]
        insert_first(site.target, clones, rewriter)
        for old, new in copies.items():
            if old in site.results:
                replace_inside(site.target, old, new, rewriter)
        leaving = [value for value in site.results if site.outside_uses(value)]
        if leaving:
            self._leave(site, leaving, copies, rewriter)

    def _leave(
        self,
        site: Extending,
        leaving: list[SSAValue],
        copies: dict[SSAValue, SSAValue],
        rewriter: PatternRewriter,
    ) -> None:
        """Give items that others use as results of the consumer, the same in every iteration."""
        results = add_results(site.consumer, [(copies[value], Kind.Any) for value in leaving], rewriter)
        new = results[0].owner
        assert isinstance(new, block.MapOp)
        # Their users must come after the consumer now, with all that depends on it.
        facts, moved = self.facts, dict[Operation, None]()
        now = Extending(site.producer, new, site.cone, new)
        limit = facts.position(new)
        pending = [user for value in leaving for user in now.outside_users(value)]
        while pending:
            user = pending.pop()
            if user in moved or facts.position(user) > limit:
                continue
            moved[user] = None
            for value in user.results:
                pending.extend(now.outside_users(value))
        anchor: Operation = new
        for user in sorted(moved, key=facts.position):
            user.detach()
            rewriter.insert(user, InsertPoint.after(anchor))
            anchor = user
        for old, result in zip(leaving, results, strict=True):
            rewriter.replace_uses_with_if(old, result, lambda use: not is_within(use.operation, site.cone))


@dataclass(frozen=True)
class _Slice:
    extending: Extending
    list: SSAValue


class SliceExtend(Extension[_Slice]):
    """y, r = map d1 {..}; map d2 {.. y ..}; r used elsewhere → map d2 { y = map d1 {..} }."""

    name = "extend-map"
    rank = 10
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

    def sites(self, op: block.MapOp) -> Iterator[_Slice]:
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

    def rewrite(self, op: block.MapOp, site: _Slice, rewriter: PatternRewriter) -> None:
        part = slice_of(site.extending.producer, site.list)
        insert_first(site.extending.target, [part], rewriter)
        replace_inside(site.extending.target, site.list, part.results[0], rewriter)


LAWS = (ExtendMap, SliceExtend)
