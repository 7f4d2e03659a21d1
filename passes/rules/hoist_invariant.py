"""An operator whose operands are the same in every iteration leaves the map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ..analysis.facts import is_inside
from .law import Check, Law, Topic

Invariant = (
    block.LocalOp | block.ElementwiseOp | block.LinearOp | block.MonomialOp | block.LoadOp | block.CustomOp
)
"""The operators that leave maps: all on items, and loads."""


def _current_blocks(op: Operation) -> set[str]:
    """Return the dims of which an operator uses the index, or the extent of the current block."""
    dims = {inner.dim_name for inner in op.walk() if isinstance(inner, block.IndexOp)}
    if isinstance(op, block.ElementwiseOp | block.CustomOp):
        dims.update(_axes(op.results).difference(_axes(op.operands)))
    if isinstance(op, block.LinearOp):
        dims.update(f.dim for c in op.coefficients for f in c.factors if f.quantity == "width")
    return dims


def _axes(values: Sequence[SSAValue]) -> set[str]:
    return {dim for value in values if isinstance(value.type, block.ItemType) for dim in value.type.dims}


@dataclass(frozen=True)
class _Inside:
    op: Operation
    map: block.MapOp


class HoistInvariant(Law[Invariant, _Inside]):
    """Operators on items, and loads, but never maps: those move with their whole cone, or not at all."""

    name = "hoist-invariant"
    topic = Topic.REUSE
    rank = 130
    law = "An operator on values that are the same in every iteration is evaluated once, before the map."
    before = "map N { v = f(c); .. }"
    after = "v = f(c); map N { .. }"
    traffic = "a load that leaves a loop is done once"
    side_conditions = {
        "invariant": "all operands are defined outside the map",
        "index": "the operator does not ask for the index, or the current block, of the map's dim",
    }

    def sites(self, op: Invariant) -> Iterator[_Inside]:
        scope = op.parent_op()
        if isinstance(scope, block.MapOp) and op.operands:
            yield _Inside(op, scope)

    def checks(self, site: _Inside) -> Iterator[Check]:
        dim = site.map.dim_name
        invariant = not any(is_inside(value, site.map) for value in site.op.operands)
        yield Check("invariant", invariant, f"an operand changes over {dim}", noteworthy=False)
        needed = dim in _current_blocks(site.op)
        yield Check("index", not needed, f"the operator asks for the index, or the current block, of {dim}")

    def rewrite(self, op: Invariant, site: _Inside, rewriter: PatternRewriter) -> None:
        op.detach()
        rewriter.insert(op, InsertPoint.before(site.map))
        rewriter.notify_op_modified(site.map)


LAWS = (HoistInvariant,)
