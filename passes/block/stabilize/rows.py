"""Rows of which a program sums the squares, and what stabilisation may do to them: shift them, or scale them.

A row is given by an item, the *place*: a block that is one whole row for each of its rows, or one of the
blocks of a list that a map runs over, with every other place where the program computes the same item.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue, Use

from ....dialects import block
from ....dialects.block import CoefficientAttr, Kind
from ....dialects.scalar import is_float, significand_bits
from ...analysis.items import quantity, through_cast
from .expressions import Expression, expression_of, home_of, maps_around
from .roots import Root, root_of
from .shift_invariance import is_shift_invariant


@dataclass(frozen=True)
class Row:
    """A row, and the sums that a program computes of it.

    `sums` and `squares` are the values that hold Σx and Σx² of whole rows. `centred` are those that hold
    Σ(x - mean)², with the mean of the same row. `expression` is None for whole rows.
    """

    scope: Block
    item: SSAValue
    """The block that is summed."""
    place: SSAValue
    """The item, or what a vector is added to to give it."""
    places: tuple[SSAValue, ...]
    """The values to shift or scale: the place, wherever the program computes it."""
    expression: Expression | None
    sums: tuple[SSAValue, ...]
    squares: tuple[SSAValue, ...]
    centred: tuple[SSAValue, ...]
    shifts: bool
    """True if the program does not change when the row is shifted."""
    root: Root | None
    """The number added before a root of the sum of squares is taken; None if none is taken."""

    @property
    def dim(self) -> str:
        """The dim along which the row is summed."""
        assert isinstance(self.item.type, block.BlockType)
        return self.item.type.cols.data

    def _summing_maps(self) -> list[block.MapOp]:
        found = (value.owner for value in (*self.sums, *self.squares, *self.centred))
        return list(dict.fromkeys(op for op in found if isinstance(op, block.MapOp)))

    def free_map(self) -> block.MapOp | None:
        """The map that computes the sums, if it does not use the row for anything else but to store it, and
        all other uses come later.
        """
        map_, *others = self._summing_maps()
        if others or map_.parent is not self.scope:
            return None
        for place in self.places:
            if map_.is_ancestor(place.owner):
                if home_of(place) is not map_.body.block or not all(map(_is_summed_or_stored, place.uses)):
                    return None
            elif not map_.is_before_in_block(_ancestor_in(place, self.scope)):
                return None
        return map_

    def home(self) -> Block:
        """The innermost block that has all places, and each of the row's sums."""
        map_, *others = self._summing_maps()
        home = map_.parent
        assert home is not None
        inside = all(home.is_ancestor(place.owner) for place in self.places)
        return home if inside and not others else self.scope


def rows(function: FuncOp, *, pivot: bool) -> list[Row]:
    """The rows of a function that are to be shifted or scaled, each once."""
    found: list[Row] = []
    seen: set[SSAValue] = set()
    for op in function.walk():
        if isinstance(op, block.RowSumOp) and (item := squared(op)) is not None and item not in seen:
            row = _row(item, pivot=pivot)
            if row is not None and seen.isdisjoint(row.places):
                seen.update((item, row.item, *row.places))
                found.append(row)
    return found


def refreshed(row: Row) -> Row | None:
    """A row as the program computes it now; None if it no longer sums it.

    When a row is shifted or scaled, the maps that sum it are written again, and so is what later rows are
    computed from. What was proven of a row when it was found still holds.
    """
    now = _sums_of(row.item)
    if now is None:
        return None
    places = (row.place,) if now.expression is None else now.expression.occurrences(row.place, now.scope)
    return replace(now, place=row.place, places=places, shifts=row.shifts, root=row.root)


def squared(op: block.RowSumOp) -> SSAValue | None:
    """x, for the row sum of x²."""
    product = op.operand.owner
    if not isinstance(product, block.MulOp) or product.lhs is not product.rhs:
        return None
    return product.lhs if isinstance(product.lhs.type, block.BlockType) else None


def _row(item: SSAValue, *, pivot: bool) -> Row | None:
    candidates = [row for place in _places(item) if (row := _sums_of(place)) is not None]
    for row in (*candidates, *_below(candidates)) if pivot else ():
        summed = row.sums and (row.squares or row.centred)
        if summed and is_shift_invariant(row.scope, row.places):
            return _with_root(row, shifts=True)
    row = next((row for row in candidates if row.squares or row.centred), None)
    row = None if row is None else _with_root(row, shifts=False)
    return row if row is not None and row.root is not None else None


def _with_root(row: Row, *, shifts: bool) -> Row:
    root = None if _is_short(row.item) else root_of((*row.sums, *row.squares, *row.centred))
    return replace(row, shifts=shifts, root=root)


def _below(candidates: Sequence[Row]) -> Iterator[Row]:
    """The same sums with other places: fusion may subtract the mean before it adds a vector."""
    for row in candidates:
        if row.expression is None and not all(map(_is_summed, row.item.uses)):
            continue
        inner = row.item
        while isinstance(inner.owner, block.ColShiftOp | block.RowShiftOp):
            inner = inner.owner.block
            places = (inner,) if row.expression is None else row.expression.occurrences(inner, row.scope)
            yield replace(row, place=inner, places=places)


def _is_short(item: SSAValue) -> bool:
    """True if squares of an item neither overflow nor vanish in f32: it is a widened f16."""
    return significand_bits(block.element_type_of(through_cast(item).type)) == 11


def _places(item: SSAValue) -> Iterator[SSAValue]:
    """An item, and the values before vectors are added to it, the last one first where a mean is subtracted
    from it.
    """
    inner = [item]
    while isinstance(item.owner, block.ColShiftOp | block.RowShiftOp):
        item = item.owner.block
        inner.append(item)
    if len(inner) > 1 and _is_centred(inner[0]):
        yield inner[1]
    yield from inner


def _sums_of(place: SSAValue) -> Row | None:
    """The row of a place with its sums; None if a sum does not leave its map as a sum over the row."""
    if not is_float(block.element_type_of(place.type)):
        return None
    assert isinstance(place.type, block.BlockType)
    around = next((m for m in maps_around(home_of(place)) if m.dim_name == place.type.cols.data), None)
    expression = None if around is None else expression_of(place)
    if around is None:
        scope: Block | None = home_of(place)
    else:
        scope = None if expression is None else expression.scope()
    if scope is None:
        return None
    places = (place,) if expression is None else expression.occurrences(place, scope)
    found: tuple[list[SSAValue], ...] = ([], [], [])
    for number, ops in enumerate((_sums, _squares, _centred)):
        for op in (op for value in places for op in ops(value)):
            whole = op.result if expression is None else _leaving(op, place.type.cols.data)
            if whole is None:
                return None
            found[number].append(whole)
    sums, squares, centred = map(tuple, found)
    return Row(scope, place, place, places, expression, sums, squares, centred, shifts=False, root=None)


def _sums(value: SSAValue) -> Iterator[block.RowSumOp]:
    return (use.operation for use in value.uses if isinstance(use.operation, block.RowSumOp))


def _squares(value: SSAValue) -> Iterator[block.RowSumOp]:
    for use in value.uses:
        op = use.operation
        if use.index == 0 and isinstance(op, block.MulOp) and op.lhs is op.rhs:
            yield from _sums(op.result)


def _centred(value: SSAValue) -> Iterator[block.RowSumOp]:
    for use in value.uses:
        op = use.operation
        if use.index == 0 and isinstance(op, block.RowShiftOp) and _is_centred(op.result):
            yield from _squares(op.result)


def _is_centred(item: SSAValue) -> bool:
    """True for a whole row from which its mean is subtracted."""
    shift = item.owner
    if not isinstance(shift, block.RowShiftOp) or not isinstance(shift.block.type, block.BlockType):
        return False
    mean = through_cast(shift.vector).owner
    if not isinstance(mean, block.LinearOp) or len(mean.pairs) != 1:
        return False
    (coefficient, total), extent = mean.pairs[0], quantity(mean, "extent", shift.block.type.cols.data)
    total = through_cast(total).owner
    of_row = isinstance(total, block.RowSumOp) and total.operand is shift.block
    return of_row and bool(extent.value) and coefficient == extent**-1 * CoefficientAttr(-1)


def _leaving(op: block.RowSumOp, dim: str) -> SSAValue | None:
    """The result of a map over a dim that sums what an operator gives, if nothing else uses it."""
    uses = list(op.result.uses)
    if len(uses) != 1 or not isinstance(last := uses[0].operation, block.YieldOp):
        return None
    map_ = last.parent_op()
    if not isinstance(map_, block.MapOp) or map_.dim_name != dim:
        return None
    index = uses[0].index
    summed = map_.result_kinds[index] is Kind.Sum and map_.result_pivots[index] is None
    return map_.results_[index] if summed else None


def _is_summed(use: Use) -> bool:
    op = use.operation
    if isinstance(op, block.MulOp):
        return op.lhs is op.rhs and all(isinstance(own.operation, block.RowSumOp) for own in op.result.uses)
    return isinstance(op, block.RowSumOp)


def _is_summed_or_stored(use: Use) -> bool:
    return isinstance(use.operation, block.StoreOp) or _is_summed(use)


def _ancestor_in(value: SSAValue, scope: Block) -> Operation:
    op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    while op is not None and op.parent is not scope:
        op = op.parent_op()
    assert op is not None
    return op
