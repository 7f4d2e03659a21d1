"""Element-wise operators that feed one another become one. This comes last, because other laws look for the
separate operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects import block
from .law import Check, Law, Phase, Placer, Topic
from .shared.scalar_writers import writer_of

Consumer = (
    block.ElementwiseOp
    | block.LinearOp
    | block.MonomialOp
    | block.AddOp
    | block.SubOp
    | block.MulOp
    | block.BlockVectorOp
)
Producer = Consumer | block.OuterOp


@dataclass(frozen=True)
class _Pair:
    producer: Operation
    consumer: Operation
    index: int


class FuseElementwise(Law[Consumer, _Pair]):
    """f(.., g(..), ..) of elements → one element-wise operator."""

    name = "fuse-elementwise"
    phase = Phase.CLOSING
    topic = Topic.CLOSING
    rank = 20
    law = "An element-wise operator that one other element-wise operator reads is part of that operator."
    before = "y = exp(x); z = row_scale(y, c)"
    after = "z = elementwise (x, c) { exp(x) * c }"
    traffic = "none; one pass over the block less"
    side_conditions = {
        "single-use": "no other operator reads the item",
        "same-axes": "both make items with the same axes (a statistic is not computed for each element)",
        "same-place": "both stand in the same body",
        "scalars": "both have a scalar form: coefficients with block counts or widths have none",
    }

    def sites(self, op: Consumer) -> Iterator[_Pair]:
        for index, value in enumerate(op.operands):
            if isinstance(value.owner, Producer):
                yield _Pair(value.owner, op, index)

    def checks(self, site: _Pair) -> Iterator[Check]:
        value = site.producer.results[0]
        users = {use.operation for use in value.uses}
        yield Check("single-use", len(users) == 1, f"{len(users)} operators read the item", noteworthy=False)
        result = site.consumer.results[0].type
        same = (
            isinstance(value.type, block.ItemType)
            and isinstance(result, block.ItemType)
            and value.type.dims == result.dims
        )
        yield Check("same-axes", same, "the item has fewer axes than what is made of it", noteworthy=False)
        yield Check(
            "same-place", site.producer.parent is site.consumer.parent, "the item is made outside the loop"
        )
        scalars = writer_of(site.producer) is not None and writer_of(site.consumer) is not None
        yield Check("scalars", scalars, "a coefficient depends on how the dim is cut")

    def rewrite(self, op: Consumer, site: _Pair, rewriter: PatternRewriter) -> None:
        outer = writer_of(op)
        assert outer is not None
        made = site.producer.results[0]
        inputs = list(dict.fromkeys([*(v for v in op.operands if v is not made), *site.producer.operands]))
        body, element = _begun(site.producer, inputs)
        arguments: dict[SSAValue, SSAValue] = dict(zip(inputs, body.args, strict=True))
        arguments[made] = element
        body.add_op(block.YieldOp(outer(body, [arguments[value] for value in op.operands])))
        result = op.results[0].type
        assert isinstance(result, block.ItemType)
        fused = Placer(rewriter, op)(
            block.ElementwiseOp(inputs, Region(body), result), op.results[0].name_hint
        )
        rewriter.replace(op, (), (fused,))
        rewriter.erase(site.producer)


def _begun(producer: Operation, inputs: Sequence[SSAValue]) -> tuple[Block, SSAValue]:
    """Return a scalar block with an argument for each input, and the producer's element in it.

    The producer, which is erased next, gives its own block away: in a long chain that grows with each
    operator, and would be copied each time.
    """
    if not isinstance(producer, block.ElementwiseOp):
        inner = writer_of(producer)
        assert inner is not None
        body = block.scalar_block(inputs)
        arguments = _named(body.args, inputs)
        return body, inner(body, [arguments[value] for value in producer.operands])
    end = producer.yield_op
    element = end.arguments[0]
    body = producer.body.detach_block(0)
    end.detach()
    end.erase()
    old = body.args
    types = [block.element_type_of(value.type) for value in inputs]
    arguments = _named([body.insert_arg(type, index) for index, type in enumerate(types)], inputs)
    for argument, operand in zip(old, producer.operands, strict=True):
        if element is argument:
            element = arguments[operand]
        argument.replace_all_uses_with(arguments[operand])
    for argument in reversed(old):
        body.erase_arg(argument)
    return body, element


def _named(arguments: Sequence[SSAValue], inputs: Sequence[SSAValue]) -> dict[SSAValue, SSAValue]:
    """Give arguments the names of the inputs; return the argument for each input."""
    for argument, value in zip(arguments, inputs, strict=True):
        argument.name_hint = value.name_hint
    return dict(zip(inputs, arguments, strict=True))


LAWS = (FuseElementwise,)
