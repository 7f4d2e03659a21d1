"""A map is evaluated anew in every iteration of a map that needs all of its result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue, Use
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
    """A map, the map that captures what it makes, the cone of all operations between them, and where the cone
    is to go.

    The target is the consumer, or the map inside it in whose body a map over the producer's dim takes the
    result up.
    """

    producer: block.MapOp
    consumer: block.MapOp
    cone: tuple[Operation, ...]
    target: block.MapOp

    @property
    def results(self) -> list[SSAValue]:
        return [value for op in self.cone for value in op.results]

    @property
    def path(self) -> list[block.MapOp]:
        """The maps from the consumer down to the target."""
        found: list[block.MapOp] = []
        scope: Operation | None = self.target
        while isinstance(scope, block.MapOp):
            found.insert(0, scope)
            if scope is self.consumer:
                break
            scope = scope.parent_op()
        return found

    def outside_uses(self, value: SSAValue) -> list[Use]:
        """The uses of a value that are neither in the cone nor in the target, nor an argument of the
        consumer.
        """
        return [
            use
            for use in value.uses
            if use.operation is not self.consumer
            and not is_within(use.operation, (*self.cone, self.target), but=self.target)
        ]

    def outside_users(self, value: SSAValue) -> list[Operation]:
        """The operations of the producer's block that hold such uses."""
        found: dict[Operation, None] = {}
        for use in self.outside_uses(value):
            op: Operation | None = use.operation
            while op is not None and op.parent is not self.producer.parent:
                op = op.parent_op()
            if op is not None:
                found[op] = None
        return list(found)


def is_within(op: Operation | None, scopes: tuple[Operation, ...], but: Operation | None = None) -> bool:
    """Whether an operation is one of `scopes` (other than `but`), or stands inside one."""
    if op is but and but is not None:
        return False
    while op is not None:
        if op in scopes:
            return True
        op = op.parent_op()
    return False


def cone_between(producer: Operation, consumer: Operation, facts: Facts) -> tuple[Operation, ...]:
    """The producer and every operation that needs it and that the consumer needs, in order."""
    cone = [producer]
    members = {producer}
    for op in facts.between(producer, consumer):
        if any(value.owner in members for value in facts.used(op)):
            cone.append(op)
            members.add(op)
    return tuple(cone)


def targets(producer: block.MapOp, consumer: block.MapOp) -> list[block.MapOp]:
    """The maps, from the consumer inwards, in whose body something could take up what the producer makes.

    That is a map over the producer's dim that reads a list of the producer's, or a list that the producer
    reads, or a reduction of a list of the producer's.
    """
    made = set(producer.results)
    shared = made.union(producer.inputs)
    found: dict[block.MapOp, None] = {}
    for inner in consumer.walk():
        scope = inner.parent_op()
        if not isinstance(scope, block.MapOp) or inner is consumer:
            continue
        match inner:
            case block.MapOp():
                fits = inner.dim_name == producer.dim_name and not shared.isdisjoint(inner.inputs)
            case block.ReduceOp():
                fits = inner.list in made
            case _:
                fits = False
        if fits:
            found[scope] = None
    return list(found)


class ExtendMap(Extension[Extending]):
    """y = map d1 {..}; map d2 {.. y ..} → map d2 { y = map d1 {..}; .. }."""

    name = "extend-map"
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
    anchors = (block.MapOp,)

    def sites(self, op: Operation) -> Iterator[Extending]:
        assert isinstance(op, block.MapOp)
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

    def rewrite(self, op: Operation, site: Extending, rewriter: PatternRewriter) -> None:
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
        # Whoever uses them must come behind the consumer now, with all that depends on it.
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


LAWS = (ExtendMap,)
