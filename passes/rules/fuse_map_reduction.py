"""The reduction of a list that a map stacks becomes a reduced result of that map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from .law import Check, Law, Topic
from .shared.map_editing import add_results, insert_before_yield


@dataclass(frozen=True)
class _Reduction:
    map: block.MapOp
    element: SSAValue
    stacked: bool


class FuseMapReduction(Law[block.ReduceOp, _Reduction]):
    """reduce(stack v) → a result of kind sum, max or min."""

    name = "fuse-map-reduction"
    topic = Topic.MAPS
    rank = 100
    law = "A list that a map stacks is reduced while it is made."
    before = "y = map K -> (stack) { yield store(v) }; s = reduce sum y"
    after = "s = map K -> (sum) { yield v }"
    traffic = "one load an iteration less; one store less where nothing else reads y"
    side_conditions = {"stacked": "the list is a stacked result of the map"}
    structural = True

    def sites(self, op: block.ReduceOp) -> Iterator[_Reduction]:
        maker = op.list.owner
        if isinstance(maker, block.MapOp):
            index = maker.results.index(op.list)  # pyright: ignore[reportArgumentType]
            stacked = maker.result_kinds[index] is block.Kind.Stack
            yield _Reduction(maker, maker.yield_op.arguments[index], stacked)

    def checks(self, site: _Reduction) -> Iterator[Check]:
        yield Check("stacked", site.stacked, "every iteration of the map gives the whole list")

    def rewrite(self, op: block.ReduceOp, site: _Reduction, rewriter: PatternRewriter) -> None:
        stored = site.element.owner
        if isinstance(stored, block.StoreOp):
            item = stored.source
        else:
            item = insert_before_yield(site.map, block.LoadOp(site.element), rewriter)
        (result,) = add_results(site.map, [(item, op.kind.data)], rewriter)
        result.name_hint = op.result.name_hint
        rewriter.replace(op, (), (result,))


LAWS = (FuseMapReduction,)
