"""A map is evaluated anew in every iteration of a map that needs all of its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ...dialects.block import Kind
from ..facts import Facts
from .extension import Extension, contains_contraction, insert_first, replace_inside
from .law import Check
from .map_editing import add_results


@dataclass(frozen=True)
class Extending:
    """A map, the map that captures what it makes, and the cone of all operations between them."""

    producer: block.MapOp
    consumer: block.MapOp
    cone: tuple[Operation, ...]

    @property
    def results(self) -> list[SSAValue]:
        return [value for op in self.cone for value in op.results]

    def outside_users(self, value: SSAValue) -> list[Operation]:
        """The operations of the block that use a value (or contain its use), but for the cone and the consumer."""
        parent = self.producer.parent
        found: dict[Operation, None] = {}
        for use in value.uses:
            op: Operation | None = use.operation
            while op is not None and op.parent is not parent:
                op = op.parent_op()
            if op is not None and op is not self.consumer and op not in self.cone:
                found[op] = None
        return list(found)


def cone_between(producer: Operation, consumer: Operation, facts: Facts) -> tuple[Operation, ...]:
    """The producer and every operation that needs it and that the consumer needs, in order."""
    cone = [producer]
    members = {producer}
    for op in facts.between(producer, consumer):
        if any(value.owner in members for value in facts.used(op)):
            cone.append(op)
            members.add(op)
    return tuple(cone)


def is_useful(producer: block.MapOp, consumer: block.MapOp) -> bool:
    """Whether a map over the producer's dim inside the consumer reads the producer's lists, or lists that it reads too."""
    shared = {*producer.inputs, *producer.results}
    return any(
        isinstance(inner, block.MapOp)
        and inner is not consumer
        and inner.dim_name == producer.dim_name
        and not shared.isdisjoint(inner.inputs)
        for inner in consumer.walk()
    )


class ExtendMap(Extension[Extending]):
    """y = map d1 {..}; map d2 {.. y ..} → map d2 { y = map d1 {..}; .. }."""

    name = "extend-map"
    variant = "cone"
    law = "A map, with all that stands between, moves into a map that captures its result, and is evaluated in every iteration."
    before = "y = map N { f }; z = map L { map N (y) { g } }"
    after = "z = map L { y = map N { f }; map N (y) { g } }"
    traffic = "y need not be stored and loaded; its inputs are loaded in every iteration"
    repeats = "everything in the cone, once for each iteration of the consumer"
    side_conditions = {
        "not-mapped": "no result of the cone is a mapped input of the consumer",
        "nearest": "no other map stands in the cone: the nearest producer goes first",
        "useful": "a map over the producer's dim inside the consumer reads the producer's list, or a list that the producer reads",
        "private": "no list of the cone has a user outside the consumer (its items may have: they leave as `any` results)",
        "not-nested": "neither map runs over a dim that the other, or a map inside it, runs over",
    }
    anchors = (block.MapOp,)

    def sites(self, op: Operation) -> Iterator[Extending]:
        assert isinstance(op, block.MapOp)
        facts = self.facts
        makers = dict.fromkeys(
            value.owner for value in facts.used(op) if isinstance(value.owner, Operation) and value.owner.parent is op.parent
        )
        seen: set[Operation] = set()
        pending = list(makers)
        while pending:
            maker = pending.pop(0)
            if maker in seen:
                continue
            seen.add(maker)
            if isinstance(maker, block.MapOp):
                yield Extending(maker, op, cone_between(maker, op, facts))
            else:
                pending.extend(
                    value.owner
                    for value in facts.used(maker)
                    if isinstance(value.owner, Operation) and value.owner.parent is op.parent
                )

    def checks(self, site: Extending) -> Iterator[Check]:
        results = set(site.results)
        yield Check("not-mapped", results.isdisjoint(site.consumer.inputs), "the consumer maps a result of the producer", noteworthy=False)
        others = [op for op in site.cone if isinstance(op, block.MapOp) and op is not site.producer]
        yield Check("nearest", not others, "another map stands between the two", noteworthy=False)
        yield Check(
            "useful",
            is_useful(site.producer, site.consumer),
            f"no map over {site.producer.dim_name} inside the consumer could take it up",
        )
        shared = [value for value in site.results if not _can_leave(value) and site.outside_users(value)]
        names = ", ".join(f"%{value.name_hint}" if value.name_hint else "a list" for value in shared)
        yield Check("private", not shared, f"{names} is also used outside the consumer")
        dims = {inner.dim_name for inner in site.producer.walk() if isinstance(inner, block.MapOp)}
        yield Check("not-nested", site.consumer.dim_name not in dims, f"the producer already runs over {site.consumer.dim_name}")

    def has_contractions(self, site: Extending) -> bool:
        return contains_contraction(site.cone)

    def describe(self, site: Extending) -> str:
        return f"extend the map over {site.producer.dim_name} into {site.consumer.dim_name}"

    def rewrite(self, op: Operation, site: Extending, rewriter: PatternRewriter) -> None:
        consumer = site.consumer
        copies: dict[SSAValue, SSAValue] = {}
        clones = [member.clone(copies) for member in site.cone]
        insert_first(consumer, clones, rewriter)
        for old, new in copies.items():
            if old in site.results:
                replace_inside(consumer, old, new, rewriter)
        leaving = [value for value in site.results if site.outside_users(value)]
        if leaving:
            self._leave(site, leaving, copies, rewriter)

    def _leave(
        self, site: Extending, leaving: list[SSAValue], copies: dict[SSAValue, SSAValue], rewriter: PatternRewriter
    ) -> None:
        """Give items that others use as results of the consumer, the same in every iteration."""
        results = add_results(site.consumer, [(copies[value], Kind.Any) for value in leaving], rewriter)
        new = results[0].owner
        assert isinstance(new, block.MapOp)
        # Whoever uses them must come behind the consumer now, with all that depends on it.
        facts, moved = self.facts, dict[Operation, None]()
        limit = facts.position(new)
        pending = [user for value in leaving for user in Extending(site.producer, new, site.cone).outside_users(value)]
        while pending:
            user = pending.pop()
            if user in moved or facts.position(user) > limit:
                continue
            moved[user] = None
            for value in user.results:
                pending.extend(Extending(site.producer, new, site.cone).outside_users(value))
        anchor = new
        for user in sorted(moved, key=facts.position):
            user.detach()
            rewriter.insert(user, InsertPoint.after(anchor))
            anchor = user
        for old, result in zip(leaving, results, strict=True):
            cone = site.cone
            rewriter.replace_uses_with_if(old, result, lambda use: not _within(use.operation, cone))


def _within(op: Operation | None, cone: tuple[Operation, ...]) -> bool:
    while op is not None:
        if op in cone:
            return True
        op = op.parent_op()
    return False


def _can_leave(value: SSAValue) -> bool:
    return block.is_local(value.type)


LAWS = (ExtendMap,)
