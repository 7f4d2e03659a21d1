"""A map over a dim of one block is its body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from .law import Check, Law, Phase, Topic


@dataclass(frozen=True)
class _Iterated:
    """A dim over which a function has maps or lists."""

    dim: str
    whole: bool


class InlineWholeDim(Law[FuncOp, _Iterated]):
    """map d {..} with one block → its body.

    Matched on a function, for all maps over one dim at once: the types of lists change with them.
    """

    name = "inline-whole-dim"
    phase = Phase.OWN_STEP
    topic = Topic.MAPS
    rank = 10
    law = "A map over a dim that is one block is its body, and a list over such a dim is its one element."
    before = "y = map K (x) -> (stack) { store(f(load(x))) }"
    after = "y = store(f(load(x)))"
    traffic = "none; what was stored and loaded again becomes local to one iteration"
    side_conditions = {"whole": "the dim is declared whole in `block.dims`"}

    def sites(self, op: FuncOp) -> Iterator[_Iterated]:
        attribute = op.attributes.get(block.DIMS)
        if attribute is not None:
            dims = block.parse_dims(attribute)
            for name in iterated_dims(op):
                yield _Iterated(name, dims[name].is_whole)

    def checks(self, site: _Iterated) -> Iterator[Check]:
        yield Check("whole", site.whole, f"{site.dim} may have more than one block", noteworthy=False)

    def rewrite(self, op: FuncOp, site: _Iterated, rewriter: PatternRewriter) -> None:
        for inner in list(op.walk()):
            for region in inner.regions:
                for body in region.blocks:
                    for argument in body.args:
                        _retype(argument, site.dim, rewriter)
            for result in inner.results:
                _retype(result, site.dim, rewriter)
        for inner in list(op.walk(reverse=True)):
            if isinstance(inner, block.MapOp) and inner.dim_name == site.dim:
                _inline(inner, rewriter)
            elif isinstance(inner, block.ReduceOp) and isinstance(inner.list.type, block.ItemType):
                load = block.LoadOp(inner.list)
                load.location = inner.location
                rewriter.replace(inner, load)
        op.update_function_type()


def iterated_dims(op: Operation) -> list[str]:
    """The dims that maps or lists inside an operation run over, in the order in which they occur."""
    dims: dict[str, None] = {}
    for inner in op.walk():
        if isinstance(inner, block.MapOp):
            dims[inner.dim_name] = None
        for value in (
            *inner.results,
            *(argument for region in inner.regions for argument in region.block.args),
        ):
            if isinstance(value.type, block.ListType):
                dims.update(dict.fromkeys(value.type.dims))
    return list(dims)


def _retype(value: SSAValue, dim: str, rewriter: PatternRewriter) -> None:
    type = _without(value.type, dim)
    if type != value.type:
        rewriter.replace_value_with_new_type(value, type)


def _without(type: Attribute, dim: str) -> Attribute:
    if not isinstance(type, block.ListType):
        return type
    return block.list_type([own for own in type.dims if own != dim], type.item)


def _inline(op: block.MapOp, rewriter: PatternRewriter) -> None:
    yielded = op.yield_op
    results = [
        op.inputs[value.index] if isinstance(value, BlockArgument) and value.block is op.body.block else value
        for value in yielded.arguments
    ]
    rewriter.erase(yielded)
    rewriter.inline_block(op.body.block, InsertPoint.before(op), list(op.inputs))
    rewriter.replace(op, (), results)


LAWS = (InlineWholeDim,)
