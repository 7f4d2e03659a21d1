"""Pivots: row statistics that are computed relative to the mean of the row's first block.

The sums of x and of x² cancel if the mean of a row is large compared with its deviation. If a program does
not change when a vector is added to all columns of x, x is shifted by minus the mean of its first block. This
costs one more load for each row, and the sums are then of numbers of the size of the deviation. If x is
computed beside its sums, as after a residual, its first block is computed once more: a load for each list.

A shift costs accuracy if it is not needed (16-bit inputs, centred rows). So it is done only if the mean is
more than 4 times the mean absolute deviation of the first block. That deviation is never more than the
standard deviation, so every row whose mean² is above 16 times its variance is shifted. It needs no squares,
which would overflow at 1e20 and vanish at 1e-30.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import block
from ....dialects.attributes import OWN_EXPONENT
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.roundings import rounds_to_smaller_range
from .expressions import Expression, expression_of
from .shift_invariance import is_shift_invariant
from .values import Writer

GATE = 4.0
"""Ratio of the mean to the mean absolute deviation from which on a pivot pays."""

LARGE = 1e16
"""A mean whose square comes close to overflow; such a mean is always subtracted."""


@dataclass(frozen=True)
class Candidate:
    """An item of which a map over its columns sums rows and squares of rows."""

    scope: Block
    expression: Expression
    """The items that are loaded from lists for it, and what is done to them: a cast, a sum, or nothing."""
    places: tuple[tuple[SSAValue, ...], ...]
    """Values at which it could be shifted, each time in all maps of the scope: the item itself first, then
    the value to which vectors are added to give it.
    """


def candidates(function: FuncOp) -> Iterator[Candidate]:
    """Return the items that feed a sum and a sum of squares of their rows, each once."""
    seen: set[SSAValue] = set()
    for op in function.walk():
        if not isinstance(op, block.RowSumOp) or not isinstance(op.operand.owner, block.MulOp):
            continue
        item = op.operand.owner.lhs
        if item is not op.operand.owner.rhs or item in seen:
            continue
        if not any(isinstance(use.operation, block.RowSumOp) for use in item.uses):
            continue
        expression = expression_of(item)
        scope = None if expression is None else expression.scope()
        if expression is not None and scope is not None:
            places = tuple(expression.occurrences(place, scope) for place in _places(item))
            seen.update(places[0])
            yield Candidate(scope, expression, places)


def _places(item: SSAValue) -> Iterator[SSAValue]:
    """Return an item, and the value before vectors are added: fusion may subtract the mean before a bias is
    added.
    """
    yield item
    while isinstance(item.owner, block.ColShiftOp | block.RowShiftOp):
        item = item.owner.block
        yield item


def insert_pivots(function: FuncOp) -> int:
    """Give a pivot to each item whose program does not change under a row shift; return their number."""
    count = 0
    done: set[SSAValue] = set()
    # One pivot changes the expressions of others, which are looked up again.
    while (candidate := _next(function, done)) is not None:
        done.update(candidate.places[0])
        for items in candidate.places:
            if is_shift_invariant(candidate.scope, items):
                done.update(_insert(candidate, items))
                count += 1
                break
    return count


def _next(function: FuncOp, done: set[SSAValue]) -> Candidate | None:
    return next((found for found in candidates(function) if done.isdisjoint(found.places[0])), None)


def _insert(candidate: Candidate, items: tuple[SSAValue, ...]) -> list[SSAValue]:
    """Shift a candidate's items by its pivot wherever they are not stored; return the shifted ones."""
    body = Block()
    like = candidate.expression.item.owner
    assert isinstance(like, Operation)
    shift = _shift(candidate.expression, Writer(body, like))
    ops = list(body.ops)
    for op in ops:
        op.detach()
    candidate.scope.insert_ops_before(ops, candidate.expression.anchor(candidate.scope))
    return [_shift_item(item, shift) for item in items]


def _shift(expression: Expression, write: Writer) -> SSAValue:
    """Return minus the mean of the rows of the first item, or 0 if that is small.

    The mean of the remainder after a first mean corrects its rounding: a constant row becomes exactly zero.
    """
    element_type = block.element_type_of(expression.item.type)

    def row_sum(item: SSAValue, hint: str) -> SSAValue:
        return write(block.RowSumOp(item, element_type), hint)

    first = expression.of_first_blocks(write)
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


def _shift_item(item: SSAValue, shift: SSAValue) -> SSAValue:
    owner = item.owner
    assert isinstance(owner, Operation)
    assert owner.parent is not None
    shifted = block.RowShiftOp(item, shift)
    shifted.location = owner.location
    shifted.result.name_hint = item.name_hint
    owner.parent.insert_op_after(shifted, owner)
    item.replace_uses_with_if(
        shifted.result,
        lambda use: use.operation is not shifted and not isinstance(use.operation, block.StoreOp),
    )
    for use in shifted.result.uses:
        rounded = use.operation
        # x was a number of the narrower type. x less its pivot may be larger than that, or very small.
        if rounds_to_smaller_range(rounded):
            rounded.attributes[OWN_EXPONENT] = UnitAttr()
    return shifted.result
