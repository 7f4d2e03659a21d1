"""Sums of rows, computed so that they neither cancel, overflow nor vanish.

The sums of a row and of its squares are computed first, in several windows (`windows.py`) and relative to a
pivot (`pivot.py`). The rest of the program then uses the row in the window that fits, and the power of two by
which it is scaled is carried along until it cancels (`powers.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue, Use

from ....dialects import block
from ....dialects.attributes import OWN_EXPONENT, POWER_OF_TWO
from ....dialects.block import Kind
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.roundings import rounds_to_smaller_range
from . import pivot
from .expressions import home_of
from .powers import Powers, move_before, times
from .rows import Row, refreshed
from .values import Writer
from .windows import PLAIN, Range, Window, choose, range_of, scale, scaled


@dataclass
class _Sums:
    """Values that one window gives for a row: minus its pivot, and the sums of the rest and its squares."""

    shift: SSAValue | None
    total: SSAValue | None
    squares: SSAValue
    centred: SSAValue | None = None


def stabilize_rows(function: FuncOp, rows: Sequence[Row]) -> None:
    """Shift and scale rows of a function."""
    powers = Powers()
    for number, row in enumerate(rows):
        now = refreshed(row) if number else row
        if now is not None:
            _Stabilizer(now, powers).run()
    powers.carry(function.body.block)


class _Stabilizer:
    def __init__(self, row: Row, powers: Powers):
        self.row = row
        self.powers = powers
        results = (*row.sums, *row.squares, *row.centred)
        self.accumulator = block.element_type_of(results[0].type)
        self.limits: Range = range_of(block.element_type_of(row.item.type))
        self.windows: tuple[Window, ...] = (
            (PLAIN,) if row.root is None else self.limits.windows(row.root.floor)
        )

    def run(self) -> None:
        row = self.row
        uses = {place: self._uses(place) for place in row.places}
        if row.expression is None:
            anchor = self._following(row.item)
            # What leads to the item itself stays as it is: only sums use it.
            later = {
                place: [use for use in found if not _is_before(use.operation, anchor)]
                for place, found in uses.items()
            }
            self._write(self._of_whole, anchor, later)
        elif (map_ := row.free_map()) is not None:
            # Nothing in the map waits for the scale, so the map itself sums in all windows.
            inside = [place for place in row.places if home_of(place) is map_.body.block]
            for place in inside:
                del uses[place]
            self._write(partial(self._in_map, map_, inside[0]), map_, uses)
            map_.detach()
            map_.erase()
        else:
            self._write(self._in_new_map, row.expression.anchor(row.home()), uses)

    def _write(
        self,
        with_sums: Callable[[Writer], list[_Sums]],
        anchor: Operation,
        uses: Mapping[SSAValue, Sequence[Use]],
    ) -> None:
        """Write the sums before an operation, and use them."""
        row = self.row
        body = Block()
        write = Writer(body, anchor)
        versions = with_sums(write)
        plain = versions[0].squares
        # The scale comes before all that is scaled, so that it can be undone there.
        factor = scale(plain, self.windows, self.limits, write) if len(self.windows) > 1 else None

        def chosen(parts: Sequence[SSAValue | None], hint: str) -> SSAValue | None:
            found = tuple(part for part in parts if part is not None)
            return choose(plain, found, hint, self.limits, write) if found else None

        shift = chosen([version.shift for version in versions], "pivot") if row.shifts else None
        total = chosen([version.total for version in versions], "sum")
        squares = chosen([version.squares for version in versions], "squares")
        centred = chosen([version.centred for version in versions], "squares")
        move_before(body, anchor)
        for old, new, degree in ((row.sums, total, 1), (row.squares, squares, 2), (row.centred, centred, 2)):
            self._replace(old, new, factor, degree)
        for place, found in uses.items():
            before = anchor if row.expression is None else self._following(place)
            self._use(place, found, before, factor, shift)

    def _uses(self, place: SSAValue) -> list[Use]:
        return [use for use in place.uses if not isinstance(use.operation, block.StoreOp)]

    @staticmethod
    def _following(value: SSAValue) -> Operation:
        assert isinstance(value.owner, Operation)
        following = value.owner.next_op
        assert following is not None
        return following

    # Sums

    def _of_whole(self, write: Writer) -> list[_Sums]:
        row = self.row
        if not row.shifts and not row.centred:
            items = [scaled(row.item, window, write) for window in self.windows]
            return [
                _Sums(
                    None, self._row_sum(item, "sum", write) if row.sums else None, self._squares(item, write)
                )
                for item in items
            ]
        # The order lets the sums of all windows share a sweep.
        largest = write(block.RowMaxOp(row.item), "largest")
        smallest = write(block.RowMinOp(row.item), "smallest")
        wholes = [self._row_sum(scaled(row.item, window, write), "sum", write) for window in self.windows]
        reciprocal = pivot.reciprocal_extent(row.item, write)
        shifts = [
            pivot.of_whole_row(
                whole, scaled(largest, window, write), scaled(smallest, window, write), reciprocal, write
            )
            for whole, window in zip(wholes, self.windows, strict=True)
        ]
        parts = zip(wholes, shifts, self.windows, strict=True)
        return [self._shifted_sums(whole, shift, window, write) for whole, shift, window in parts]

    def _shifted_sums(self, whole: SSAValue, shift: SSAValue, window: Window, write: Writer) -> _Sums:
        """The sums of a whole row after its mean is subtracted."""
        row = self.row
        item = scaled(row.item, window, write)
        left = write(block.RowShiftOp(item, shift), "left")
        total, squares = self._row_sum(left, "sum", write), self._squares(left, write)
        centred = self._without_mean(left, total, squares, write) if row.centred else None
        if not row.shifts and row.squares:
            squares = self._squares(item, write)
        return _Sums(shift, total if row.shifts else whole, squares, centred)

    def _shifts_of_list(self, write: Writer) -> list[SSAValue | None]:
        row = self.row
        assert row.expression is not None
        if not row.shifts:
            return [None] * len(self.windows)
        first = row.expression.of_first_blocks(write)
        return [pivot.of_first_block(scaled(first, window, write), write) for window in self.windows]

    def _in_new_map(self, write: Writer) -> list[_Sums]:
        """Write a map that computes the sums of all windows, where a program needs the scale early."""
        expression = self.row.expression
        assert expression is not None
        shifts = self._shifts_of_list(write)
        inner = Block(arg_types=[value.type.element for value in expression.lists])  # pyright: ignore
        body = Writer(inner, write.like)
        item = expression.of_elements(list(inner.args), body)
        yielded = self._yielded(item, shifts, body)
        inner.add_op(block.YieldOp(*yielded))
        kinds = [Kind.Sum] * len(yielded)
        new = block.MapOp(expression.map.dim_name, expression.lists, kinds, Region(inner))
        write(new)
        return self._given(new.results_, shifts)

    def _in_map(self, map_: block.MapOp, place: SSAValue, write: Writer) -> list[_Sums]:
        """Write a map of the program again, so that it computes the sums of all windows, too."""
        shifts = self._shifts_of_list(write)
        last = map_.yield_op
        body = Block()
        yielded = self._yielded(place, shifts, Writer(body, last))
        move_before(body, last)
        last.operands = [*last.operands, *yielded]
        kinds = [*map_.result_kinds, *[Kind.Sum] * len(yielded)]
        pivots = [*map_.result_pivots, *[None] * len(yielded)]
        new = block.MapOp(map_.dim_name, map_.inputs, kinds, map_.detach_region(map_.body), pivots)
        new.attributes.update(map_.attributes)
        write.body.add_op(new)
        new.location = map_.location
        old = (*self.row.sums, *self.row.squares, *self.row.centred)
        for result, before in zip(new.results_, map_.results_, strict=False):
            result.name_hint = before.name_hint
            if before not in old:
                before.replace_all_uses_with(result)
        return self._given(new.results_[len(map_.results_) :], shifts)

    def _yielded(self, item: SSAValue, shifts: Sequence[SSAValue | None], write: Writer) -> list[SSAValue]:
        """The sums of one element of a list, those of one window after those of the other."""
        yielded: list[SSAValue] = []
        for window, shift in zip(self.windows, shifts, strict=True):
            own = scaled(item, window, write)
            own = own if shift is None else write(block.RowShiftOp(own, shift), "shifted")
            if self.row.sums:
                yielded.append(self._row_sum(own, "sum", write))
            yielded.append(self._squares(own, write))
        return yielded

    def _given(self, results: Sequence[SSAValue], shifts: Sequence[SSAValue | None]) -> list[_Sums]:
        values = iter(results)
        return [_Sums(shift, next(values) if self.row.sums else None, next(values)) for shift in shifts]

    def _row_sum(self, item: SSAValue, hint: str, write: Writer) -> SSAValue:
        return write(block.RowSumOp(item, self.accumulator), hint)

    def _squares(self, item: SSAValue, write: Writer) -> SSAValue:
        return self._row_sum(write(block.MulOp(item, item), "square"), "squares", write)

    def _without_mean(self, row: SSAValue, total: SSAValue, squares: SSAValue, write: Writer) -> SSAValue:
        """Σ(x - mean)² = Σx² - (Σx)²/K, which is never negative."""
        mean = write.multiple(pivot.reciprocal_extent(row, write), total)

        def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
            squares, total, mean = args
            rest = to.subtract(squares, to.multiply(total, mean))
            return to.maximum(rest, to.constant(0.0, rest.type))

        return write.elementwise([squares, total, mean], squares.type, "squares", scalars)

    # Uses

    def _replace(
        self, old: Sequence[SSAValue], new: SSAValue | None, factor: SSAValue | None, degree: int
    ) -> None:
        for value in old:
            assert new is not None
            value.replace_all_uses_with(new)
            if factor is not None:
                self.powers.degrees[new] = {factor: degree}

    def _use(
        self,
        place: SSAValue,
        uses: Sequence[Use],
        before: Operation,
        factor: SSAValue | None,
        shift: SSAValue | None,
    ) -> None:
        """Scale and shift a place, for all that uses it but stores."""
        body = Block()
        write = Writer(body, before)
        new = place
        if factor is not None:
            new = times(new, [(factor, 1)], write)
            self.powers.degrees[new] = {factor: 1}
            self.powers.originals[new] = place
        if shift is not None:
            if factor is not None:
                self.powers.degrees[shift] = {factor: 1}
            own = write.as_type(shift, block.element_type_of(place.type))
            new = write(block.RowShiftOp(new, own), place.name_hint)
        move_before(body, before)
        for use in uses:
            use.operation.operands[use.index] = new
            # x was a number of the narrower type, and still is where the pivot is 0. Less its pivot, x may be
            # larger than the type holds, or very small.
            if shift is not None and rounds_to_smaller_range(use.operation):
                use.operation.attributes[OWN_EXPONENT] = POWER_OF_TWO


def _is_before(op: Operation, anchor: Operation) -> bool:
    return op.parent is anchor.parent and op.is_before_in_block(anchor)
