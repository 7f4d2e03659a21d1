"""An operator whose operands are the same in every iteration leaves the map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ..facts import is_inside
from .law import Check, Law


def _indices(op: Operation) -> set[str]:
    """The dims whose index, or whose block at hand, an operator asks for."""
    dims = {inner.dim_name for inner in op.walk() if isinstance(inner, block.IndexOp)}
    if isinstance(op, block.LinearOp):
        dims.update(f.dim for c in op.coefficients for f in c.factors if f.quantity == "width")
    return dims


@dataclass(frozen=True)
class _Inside:
    op: Operation
    map: block.MapOp


class HoistInvariant(Law[_Inside]):
    """Operators on items, and loads, but never maps: those move with their whole cone (`extend-map`), or not at all."""

    name = "hoist-invariant"
    law = "An operator on values that are the same in every iteration of a map is evaluated once, before the map."
    before = "map N { v = f(c); .. }"
    after = "v = f(c); map N { .. }"
    traffic = "a load that leaves a loop is done once"
    side_conditions = {
        "invariant": "all operands are defined outside the map",
        "index": "the operator does not ask for the index, or the block at hand, of the map's dim",
    }
    anchors = (
        block.LocalOp,
        block.ElementwiseOp,
        block.LinearOp,
        block.MonomialOp,
        block.LoadOp,
        block.CustomOp,
    )

    def sites(self, op: Operation) -> Iterator[_Inside]:
        scope = op.parent_op()
        if isinstance(scope, block.MapOp) and op.operands:
            yield _Inside(op, scope)

    def checks(self, site: _Inside) -> Iterator[Check]:
        dim = site.map.dim_name
        invariant = not any(is_inside(value, site.map) for value in site.op.operands)
        yield Check("invariant", invariant, f"an operand changes over {dim}", noteworthy=False)
        yield Check("index", dim not in _indices(site.op), f"the operator asks for the index along {dim}")

    def rewrite(self, op: Operation, site: _Inside, rewriter: PatternRewriter) -> None:
        op.detach()
        rewriter.insert(op, InsertPoint.before(site.map))


LAWS = (HoistInvariant,)
