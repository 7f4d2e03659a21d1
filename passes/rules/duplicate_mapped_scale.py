"""A scale or shift that is the same for a whole list travels with the list to its consumers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import BlockArgument, Operation, SSAValue, Use
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from ...dialects.block import Kind
from ..analysis.facts import is_invariant
from ..analysis.items import Scale, Shift
from .law import Check, Law, Placer, Topic
from .shared.map_editing import add_input, add_results, insert_before_yield


@dataclass(frozen=True)
class _ScaledList:
    """A list whose elements are all scaled (or shifted) by one vector."""

    map: block.MapOp
    index: int
    scale: Scale | Shift

    @property
    def list(self) -> SSAValue:
        return self.map.results_[self.index]

    @property
    def plain_list(self) -> SSAValue | None:
        """The list of the unscaled items, if there is one already."""
        load = self.scale.block.owner
        if (
            isinstance(load, block.LoadOp)
            and isinstance(load.source, BlockArgument)
            and load.source.block is self.map.body.block
        ):
            return self.map.inputs[load.source.index]
        for value, kind, result in zip(
            self.map.yield_op.arguments, self.map.result_kinds, self.map.results_, strict=True
        ):
            store = value.owner
            if kind is Kind.Stack and isinstance(store, block.StoreOp) and store.source is self.scale.block:
                return result
        return None

    def consumers(self) -> list[tuple[block.MapOp, int]]:
        """The maps that read elements of the list, with the position at which they map it, in order."""
        found = [(use.operation, use.index) for use in self.list.uses if _maps(use)]
        return [
            (op, index)  # pyright: ignore[reportReturnType]
            for op, index in found[::-1]
            if op.regions[0].block.args[index].uses
        ]

    def has_other_uses(self) -> bool:
        """True if the list is used other than as an argument of a map."""
        return any(not _maps(use) for use in self.list.uses)


def _maps(use: Use) -> bool:
    return isinstance(use.operation, block.MapOp)


class DuplicateMappedScale(Law[block.MapOp, _ScaledList]):
    """y = stack row_scale(p, c), c invariant: consumers map p and scale it themselves."""

    name = "duplicate-mapped-scale"
    topic = Topic.SCALES
    rank = 120
    law = "Consumers of a list that one vector scales take the unscaled list and scale its elements."
    before = "y = map N { store(row_scale(p, c)) }; map N (y) { f(load(y)) }"
    after = "y = map N { store(p) }; map N (y) { f(row_scale(load(y), c)) }"
    traffic = "none; the producer no longer waits for c"
    side_conditions = {
        "invariant": "the vector is the same in every iteration of the producer",
        "mapped": "every use of the list is a mapped argument, or the unscaled list exists already",
    }

    def sites(self, op: block.MapOp) -> Iterator[_ScaledList]:
        for index, (value, kind) in enumerate(zip(op.yield_op.arguments, op.result_kinds, strict=True)):
            store = value.owner
            if (
                kind is not Kind.Stack
                or not isinstance(store, block.StoreOp)
                or store.parent is not op.body.block
            ):
                continue
            scale = store.source.owner
            if isinstance(scale, Scale | Shift) and scale.parent is op.body.block:
                site = _ScaledList(op, index, scale)
                if site.consumers():
                    yield site

    def checks(self, site: _ScaledList) -> Iterator[Check]:
        dim = site.map.dim_name
        yield Check(
            "invariant",
            is_invariant(site.scale.vector, site.map),
            f"the vector is another in each iteration over {dim}",
        )
        mapped = not site.has_other_uses() or site.plain_list is not None
        yield Check("mapped", mapped, "the list is also used other than by a map over its dim")

    def rewrite(self, op: block.MapOp, site: _ScaledList, rewriter: PatternRewriter) -> None:
        consumers, plain, vector = site.consumers(), site.plain_list, site.scale.vector
        if plain is None:
            stored = insert_before_yield(site.map, block.StoreOp(site.scale.block), rewriter)
            (plain,) = add_results(site.map, [(stored, Kind.Stack)], rewriter)
        replaced: dict[Operation, block.MapOp] = {}
        for consumer, index in consumers:
            body = replaced.get(consumer, consumer).body.block
            old = body.args[index]
            new, argument = add_input(replaced.get(consumer, consumer), plain, rewriter)
            replaced[consumer] = new
            first = new.body.block.first_op
            assert first is not None
            place = Placer(rewriter, first, site.scale)
            item = place(block.LoadOp(argument))
            scaled = place(type(site.scale)(item, vector), site.scale.result.name_hint)
            loads = [use.operation for use in old.uses if isinstance(use.operation, block.LoadOp)]
            handed_on = place(block.StoreOp(scaled)) if len(loads) < len(list(old.uses)) else None
            for load in loads:
                rewriter.replace(load, (), (scaled,))
            if handed_on is not None:
                rewriter.replace_all_uses_with(old, handed_on)


LAWS = (DuplicateMappedScale,)
