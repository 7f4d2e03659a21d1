"""Pivots: a row statistic that is taken relative to the mean of the row's first block.

The sums of x and of x² cancel where the mean of a row is large against its deviation. Where a program would
not change if a vector were added to all columns of x, x is shifted by minus the mean of its first block: one
more load a row, and the statistics become those of numbers of the size of the deviation. Shifting costs
accuracy where it is not needed (in 16-bit inputs, centred rows), so that it is gated: only where the mean is
more than 4 times the mean absolute deviation of the first block. That is never more than the deviation, so
that a row whose mean² is above 16 times its variance is shifted; and it needs no squares, which would
overflow at 1e20 and vanish at 1e-30.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...dialects import block
from ...dialects.scalar_builder import ScalarBuilder
from ..rules.items import through_cast
from .shift_invariance import is_shift_invariant
from .values import Writer

GATE = 4.0
"""How many times the mean absolute deviation the mean must be before a pivot pays."""

LARGE = 1e16
"""A mean whose square is on its way to overflow; it pays to take it out in any case."""


@dataclass(frozen=True)
class Candidate:
    """A list of blocks whose rows are summed, and summed squared, by a map."""

    list: SSAValue
    scope: Block
    summed: SSAValue
    """The item that is summed: an element of the list, loaded and perhaps cast."""


def candidates(function: FuncOp) -> Iterator[Candidate]:
    """The lists that feed a sum and a sum of squares of their rows, each once."""
    seen: set[SSAValue] = set()
    for op in function.walk():
        if not isinstance(op, block.RowSumOp) or not isinstance(op.operand.owner, block.MulOp):
            continue
        square = op.operand.owner
        source = _list_of(square.lhs)
        if square.lhs is not square.rhs or source is None or source in seen:
            continue
        # A pivot belongs to rows, which are the same in all blocks only of a list along them.
        if not isinstance(source.type, block.ListType) or not isinstance(square.lhs.type, block.BlockType):
            continue
        if source.type.dim != square.lhs.type.cols:
            continue
        if any(isinstance(use.operation, block.RowSumOp) for use in square.lhs.uses):
            scope = source.owner if isinstance(source.owner, Block) else source.owner.parent
            if scope is not None and all(isinstance(use.operation, block.MapOp) for use in source.uses):
                seen.add(source)
                yield Candidate(source, scope, square.lhs)


def _list_of(item: SSAValue) -> SSAValue | None:
    """The list of which an item is an element, loaded and perhaps cast."""
    load = through_cast(item).owner
    if not isinstance(load, block.LoadOp) or not isinstance(load.source, BlockArgument):
        return None
    user = load.source.block.parent_op()
    return user.inputs[load.source.index] if isinstance(user, block.MapOp) else None


def insert_pivots(function: FuncOp) -> int:
    """Give a pivot to each list whose program does not change under a row shift; says how many."""
    count = 0
    for candidate in list(candidates(function)):
        if is_shift_invariant(candidate.scope, candidate.list):
            _insert(candidate)
            count += 1
    return count


def _insert(candidate: Candidate) -> None:
    body = Block()
    like = candidate.summed.owner
    assert isinstance(like, Operation)
    write = Writer(body, like)
    shift = _shift(candidate, write)
    ops = list(body.ops)
    for op in ops:
        op.detach()
    owner = candidate.list.owner
    anchor = owner.next_op if isinstance(owner, Operation) else candidate.scope.first_op
    assert anchor is not None
    candidate.scope.insert_ops_before(ops, anchor)
    for use in list(candidate.list.uses):
        if isinstance(use.operation, block.MapOp):
            _shift_elements(use.operation.body.block.args[use.index], shift)


def _shift(candidate: Candidate, write: Writer) -> SSAValue:
    """Minus the mean of the rows of the first block, or 0 where that is small.

    The mean of what is left after a first mean corrects its rounding: a constant row is shifted to zeros.
    """
    element_type = block.element_type_of(candidate.summed.type)

    def row_sum(item: SSAValue, hint: str) -> SSAValue:
        return write(block.RowSumOp(item, element_type), hint)

    loaded = write(block.LoadOp(write(block.FirstOp(candidate.list), "first")), "first")
    first = write.as_type(loaded, element_type)
    one = write.elementwise([first], first.type, "one", lambda to, _: to.constant(1.0, element_type))
    width = row_sum(one, "width")
    total = row_sum(first, "total")
    shift = write.elementwise(
        [total, width], total.type, "shift", lambda to, args: to.negate(to.divide(args[0], args[1]))
    )
    centred = write(block.RowShiftOp(first, shift), "centred")
    distance = write.elementwise(
        [centred], centred.type, "distance", lambda to, args: to.insert(math.AbsFOp(args[0]))
    )

    def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
        shift, left, spread, width = args
        limit = to.multiply(to.constant(GATE, element_type), to.divide(spread, width))
        limit = to.insert(arith.MinimumfOp(limit, to.constant(LARGE, element_type)))
        pays = to.insert(arith.CmpfOp(to.insert(math.AbsFOp(shift)), limit, "ogt"))
        refined = to.subtract(shift, to.divide(left, width))
        return to.select(pays, refined, to.constant(0.0, element_type))

    parts = [shift, row_sum(centred, "left"), row_sum(distance, "spread"), width]
    return write.elementwise(parts, shift.type, "pivot", scalars)


def _shift_elements(element: SSAValue, shift: SSAValue) -> None:
    """Shift an element of the list wherever a map loads it, in the type in which it is summed."""
    wanted = block.element_type_of(shift.type)
    for use in list(element.uses):
        load = use.operation
        if not isinstance(load, block.LoadOp):
            continue
        items = [load.result]
        if block.element_type_of(load.result.type) != wanted:
            items = [
                u.operation.results[0]
                for u in load.result.uses
                if through_cast(u.operation.results[0]) is load.result
            ]
        for item in items:
            if block.element_type_of(item.type) == wanted:
                _shift_item(item, shift)


def _shift_item(item: SSAValue, shift: SSAValue) -> None:
    owner = item.owner
    assert isinstance(owner, Operation)
    assert owner.parent is not None
    shifted = block.RowShiftOp(item, shift)
    shifted.location = owner.location
    shifted.result.name_hint = item.name_hint
    owner.parent.insert_op_after(shifted, owner)
    item.replace_uses_with_if(shifted.result, lambda use: use.operation is not shifted)
