"""Pivots: row statistics that are computed relative to a mean.

The sums of x and of x² cancel if the mean of a row is large compared with its deviation. If a program does
not change when a vector is added to all columns of x, x is shifted by minus a mean, and the sums are then of
numbers of the size of the deviation.

A row that is one block is shifted by minus its own mean, as in two passes; what rounding leaves of the mean
is then subtracted as well. The mean is kept between the smallest and the largest element, so that a constant
row becomes exactly zero.

A row of several blocks is shifted by the mean of the first one. This costs one more load for each row. If x
is computed beside its sums, as after a residual, its first block is computed once more: a load for each list.
Such a shift costs accuracy if it is not needed (16-bit inputs, centred rows). So it is done only if the mean
is more than 4 times the mean absolute deviation of the first block. That deviation is never more than the
standard deviation, so every row whose mean² is above 16 times its variance is shifted. It needs no squares,
which would overflow at 1e20 and vanish at 1e-30.
"""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from ....dialects import block
from ....dialects.block import CoefficientAttr
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.items import quantity
from .values import Writer

GATE = 4.0
"""Ratio of the mean to the mean absolute deviation from which on a pivot pays."""

LARGE = 1e16
"""A mean whose square comes close to overflow; such a mean is always subtracted."""


def of_first_block(first: SSAValue, write: Writer) -> SSAValue:
    """Return minus the mean of the rows of a first block, or 0 if that is small.

    The mean of the remainder after a first mean corrects its rounding: a constant row becomes exactly zero.
    """
    element_type = block.element_type_of(first.type)

    def row_sum(item: SSAValue, hint: str) -> SSAValue:
        return write(block.RowSumOp(item, element_type), hint)

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
    return write.elementwise(parts, shift.type, "minus_mean", scalars)


def of_whole_row(
    total: SSAValue, largest: SSAValue, smallest: SSAValue, reciprocal: CoefficientAttr, write: Writer
) -> SSAValue:
    """Return minus the mean of whole rows, from their sum; it lies between the extreme elements."""
    mean = write.as_type(write.multiple(reciprocal, total), block.element_type_of(largest.type))

    def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
        mean, largest, smallest = args
        within = to.insert(arith.MinimumfOp(to.insert(arith.MaximumfOp(mean, smallest)), largest))
        return to.negate(within)

    return write.elementwise([mean, largest, smallest], mean.type, "minus_mean", scalars)


def reciprocal_extent(row: SSAValue, write: Writer) -> CoefficientAttr:
    """1/K for rows of K elements."""
    assert isinstance(row.type, block.BlockType)
    return quantity(write.like, "extent", row.type.cols.data) ** -1
