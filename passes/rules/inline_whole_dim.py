"""A map over a dim of one block is its body."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ...dialects import block
from ...dialects.block import Kind
from .law import Law


class InlineWholeDim(Law[frozenset[str]]):
    """map d {..} with one block → its body. Matched on a function, for all its whole dims at once: list types change with them."""

    name = "inline-whole-dim"
    law = "A map over a dim that is one block is its body, and a list over such a dim is its one element."
    before = "y = map K (x) -> (stack) { store(f(load(x))) }"
    after = "y = store(f(load(x)))"
    traffic = "none; what was stored and loaded again becomes local to one iteration"
    side_conditions = {"whole": "the dim is declared whole in `block.dims`"}
    anchors = (FuncOp,)

    def sites(self, op: Operation) -> Iterator[frozenset[str]]:
        attribute = op.attributes.get(block.DIMS)
        if attribute is None:
            return
        whole = frozenset(name for name, dim in block.parse_dims(attribute).items() if dim.is_whole)
        if any(_has_whole(inner, whole) for inner in op.walk()):
            yield whole

    def rewrite(self, op: Operation, site: frozenset[str], rewriter: PatternRewriter) -> None:
        for inner in list(op.walk()):
            for region in inner.regions:
                for body in region.blocks:
                    for argument in body.args:
                        self._retype(argument, site, rewriter)
            for result in inner.results:
                self._retype(result, site, rewriter)
        for inner in list(op.walk(reverse=True)):
            if isinstance(inner, block.MapOp) and inner.dim_name in site:
                _inline(inner, rewriter)
            elif isinstance(inner, block.ReduceOp) and isinstance(inner.list.type, block.ItemType):
                load = block.LoadOp(inner.list)
                load.location = inner.location
                rewriter.replace(inner, load)

    def _retype(self, value, whole: frozenset[str], rewriter: PatternRewriter) -> None:  # pyright: ignore
        type = _without(value.type, whole)
        if type != value.type:
            rewriter.replace_value_with_new_type(value, type)


def _has_whole(op: Operation, whole: frozenset[str]) -> bool:
    if isinstance(op, block.MapOp):
        return op.dim_name in whole
    return any(_without(result.type, whole) != result.type for result in op.results)


def _without(type: Attribute, whole: frozenset[str]) -> Attribute:
    if not isinstance(type, block.ListType):
        return type
    return block.list_type([dim for dim in type.dims if dim not in whole], type.item)


def _inline(op: block.MapOp, rewriter: PatternRewriter) -> None:
    yielded = op.yield_op
    results = [op.inputs[value.index] if value in op.body.block.args else value for value in yielded.arguments]  # pyright: ignore
    rewriter.erase(yielded)
    rewriter.inline_block(op.body.block, InsertPoint.before(op), list(op.inputs))
    rewriter.replace(op, (), results)


LAWS = (InlineWholeDim,)
