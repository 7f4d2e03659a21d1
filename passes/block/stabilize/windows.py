"""Windows: sums of a row, and of its squares, of numbers that are scaled by different powers of two.

The square of a number above 1.8e19 is infinite in f32, and that of a number below 1e-23 is 0. So the sums are
computed several times in the same loop: of the numbers themselves, of the numbers times a small power of two,
and, where nothing else decides the result for small numbers, times a large one. The sums themselves then say
which of them are right. This costs arithmetic but no memory, no order of the blocks and no second loop.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float64Type, UnitAttr
from xdsl.ir import Attribute, SSAValue

from ....dialects import block
from ....dialects.attributes import LIKELY
from ....dialects.scalar_builder import ScalarBuilder
from .values import Writer


@dataclass(frozen=True)
class Window:
    """Numbers of one element type that are multiplied by 2**`power`; those below `least` count as 0.

    In a row for which a window of large numbers is used they are negligible. In other rows their products
    would be subnormal, which processors are slow at.
    """

    power: int
    least: float | None = None

    @property
    def scale(self) -> float:
        return 2.0**self.power


PLAIN = Window(0)


@dataclass(frozen=True)
class Range:
    """The windows of an element type.

    `limit`: the window of unscaled numbers is used where a sum of squares is between 2**-limit and 2**limit.
    """

    limit: int
    large: Window
    small: Window
    small_beside: Window
    """As `small`, if a number of unknown size is added to the mean of squares: its product with the square of
    the scale must not overflow.
    """
    floor: float
    """A number beside which the squares of numbers below the window are negligible."""

    def windows(self, floor: float | None) -> tuple[Window, ...]:
        """The windows for a mean of squares to which `floor` is added, or a number that is not known."""
        if floor is not None and floor >= self.floor:
            return PLAIN, self.large
        return PLAIN, self.large, self.small_beside if floor is None else self.small


_F32 = Range(100, Window(-80, 2.0**18), Window(80), Window(62), 2.0**-74)
_F64 = Range(816, Window(-649, 2.0**340), Window(649), Window(502), 2.0**-756)


def range_of(element_type: Attribute) -> Range:
    """The windows of f32 (and of bf16, which has its exponents) or f64."""
    return _F64 if isinstance(element_type, Float64Type) else _F32


def scaled(item: SSAValue, window: Window, write: Writer) -> SSAValue:
    """An item times the scale of a window."""
    if window == PLAIN:
        return item
    type = block.element_type_of(item.type)

    def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
        value = args[0]
        if window.least is not None:
            size = to.insert(math.AbsFOp(value))
            counts = to.insert(arith.CmpfOp(size, to.constant(window.least, type), "ugt"))
            value = to.select(counts, value, to.constant(0.0, type))
        return to.multiply(value, to.constant(window.scale, type))

    return write.elementwise([item], item.type, "scaled", scalars)


def choose(
    squares: SSAValue, versions: tuple[SSAValue, ...], hint: str, limits: Range, write: Writer
) -> SSAValue:
    """The version of each row that the sum of squares in the plain window asks for."""
    if len(versions) == 1:
        versions[0].name_hint = hint
        return versions[0]

    def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
        return _fitting(to, args[0], limits.limit, *args[1:])

    return write.elementwise([squares, *versions], versions[0].type, hint, scalars)


def scale(squares: SSAValue, windows: tuple[Window, ...], limits: Range, write: Writer) -> SSAValue:
    """The scale of each row."""
    type = block.element_type_of(squares.type)

    def scalars(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
        return _fitting(to, args[0], limits.limit, *(to.constant(window.scale, type) for window in windows))

    return write.elementwise([squares], squares.type, "scale", scalars)


def _is_below(to: ScalarBuilder, value: SSAValue, limit: int) -> SSAValue:
    """True below about 2**limit, false for NaN; over the fields of the exact check it always holds."""
    largest = 1024 if isinstance(value.type, Float64Type) else 128
    product = to.multiply(value, to.constant(2.0 ** (largest - limit), value.type))
    return to.insert(arith.CmpfOp(product, to.constant(float("inf"), value.type), "olt"))


def _is_above(to: ScalarBuilder, value: SSAValue, limit: int) -> SSAValue:
    """True above about 2**-limit, and for NaN."""
    return to.insert(arith.CmpfOp(value, to.constant(2.0**-limit, value.type), "uge"))


def _fitting(
    to: ScalarBuilder, squares: SSAValue, limit: int, plain: SSAValue, large: SSAValue, *small: SSAValue
) -> SSAValue:
    """The one of a few numbers that a sum of squares asks for: the first one, as few rows are very large or
    very small.
    """
    chosen = _likely(to, _is_below(to, squares, limit), plain, large)
    return _likely(to, _is_above(to, squares, limit), chosen, small[0]) if small else chosen


def _likely(to: ScalarBuilder, condition: SSAValue, when_true: SSAValue, when_false: SSAValue) -> SSAValue:
    select = arith.SelectOp(condition, when_true, when_false)
    select.attributes[LIKELY] = UnitAttr()
    return to.insert(select)
