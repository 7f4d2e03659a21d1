"""Edits of maps that laws share: add results, add inputs, merge two maps."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from ....dialects import block
from ....dialects.block import Kind


def after(op: Operation) -> Operation:
    """Return the operation after one. There is always one, because every block ends in a terminator."""
    assert op.next_op is not None
    return op.next_op


def insert_before_yield(map_: block.MapOp, op: Operation, rewriter: PatternRewriter) -> SSAValue:
    """Insert an operation at the end of a map's body; gives its result."""
    op.location = map_.location
    rewriter.insert(op, InsertPoint.before(map_.yield_op))
    return op.results[0]


def make_map(
    like: block.MapOp,
    inputs: Sequence[SSAValue],
    kinds: Sequence[Kind],
    body: Region,
    pivots: Sequence[int | None] = (),
) -> block.MapOp:
    """Make a map over the same dim as another, on its behalf; `pivots` as for `block.MapOp`."""
    new = block.MapOp(like.dim_name, inputs, kinds, body, pivots)
    new.attributes.update(like.attributes)
    new.location = like.location
    return new


def set_yield(map_: block.MapOp, values: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
    """Let the body of a map that will be replaced yield other values."""
    last = map_.yield_op
    new = block.YieldOp(*values)
    new.location = last.location
    rewriter.replace(last, new)


def add_results(
    map_: block.MapOp, results: Sequence[tuple[SSAValue, Kind]], rewriter: PatternRewriter
) -> list[SSAValue]:
    """Give a map more results: values of its body (or from outside), each with a kind.

    The map is replaced by a new one, whose first results are the old ones. Gives the new results, in order.
    """
    old = list(map_.yield_op.arguments)
    set_yield(map_, [*old, *(value for value, _ in results)], rewriter)
    kinds = [*map_.result_kinds, *(kind for _, kind in results)]
    pivots = [*map_.result_pivots, *(None for _ in results)]
    body = rewriter.move_region_contents_to_new_regions(map_.body)
    new = make_map(map_, map_.inputs, kinds, body, pivots)
    hints = [value.name_hint for value, _ in results]
    rewriter.replace(map_, new, new.results[: len(old)])
    for result, hint in zip(new.results[len(old) :], hints, strict=True):
        result.name_hint = hint
    return list(new.results[len(old) :])


def add_input(
    map_: block.MapOp, value: SSAValue, rewriter: PatternRewriter
) -> tuple[block.MapOp, BlockArgument]:
    """Let a map run over one more list; gives the new map and the element's argument."""
    assert isinstance(value.type, block.ListType)
    body = rewriter.move_region_contents_to_new_regions(map_.body)
    argument = body.block.insert_arg(value.type.element, len(body.block.args))
    argument.name_hint = value.name_hint
    new = make_map(map_, [*map_.inputs, value], map_.result_kinds, body, map_.result_pivots)
    rewriter.replace(map_, new)
    return new, argument


def merge_maps(
    first: block.MapOp, second: block.MapOp, between: Sequence[Operation], rewriter: PatternRewriter
) -> block.MapOp:
    """Make one map that does the work of `first` and then of `second` in each iteration.

    `second` may read of `first` only elements of the same iteration. The new map replaces `first`. `between`,
    on which `second` depends and which stands after `first`, moves before it.
    """
    for op in between:
        op.detach()
        rewriter.insert(op, InsertPoint.before(first))
    yielded = dict[SSAValue, SSAValue](zip(first.results, first.yield_op.arguments, strict=True))
    inputs = list(first.inputs)
    arguments: list[SSAValue] = []
    for value, argument in zip(second.inputs, second.body.block.args, strict=True):
        if value in yielded:
            arguments.append(yielded[value])
            continue
        if value not in inputs:
            inputs.append(value)
            new = first.body.block.insert_arg(argument.type, len(first.body.block.args))
            new.name_hint = argument.name_hint
        arguments.append(first.body.block.args[inputs.index(value)])
    first_yield, second_yield = first.yield_op, second.yield_op
    # What only `second` reads is no result any more: chains of merges would otherwise drag all of them along.
    kept = first.with_pivots(
        index
        for index, result in enumerate(first.results)
        if any(use.operation is not second for use in result.uses)
    )
    kinds = [*(first.result_kinds[index] for index in kept), *second.result_kinds]
    pivots = [
        *first.pivots_among(kept),
        *(None if pivot is None else pivot + len(kept) for pivot in second.result_pivots),
    ]
    # Not left to the inlining, which notifies no listener: what is known about nested maps changes.
    for argument, value in zip(second.body.block.args, arguments, strict=True):
        rewriter.replace_all_uses_with(argument, value)
    values = [*(first_yield.arguments[index] for index in kept), *second_yield.arguments]
    rewriter.erase(second_yield)
    rewriter.inline_block(second.body.block, InsertPoint.before(first_yield), arguments)
    set_yield(first, values, rewriter)
    body = rewriter.move_region_contents_to_new_regions(first.body)
    merged = make_map(first, inputs, kinds, body, pivots)
    rewriter.insert(merged, InsertPoint.before(first))
    rewriter.replace(second, (), merged.results[len(kept) :])
    remaining = dict(zip(kept, merged.results, strict=False))
    rewriter.replace(first, (), [remaining.get(index) for index in range(len(first.results))])
    return merged
