"""Exact coefficients of linear forms: rational numbers times extents, block counts and widths of dims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import isfinite
from typing import NamedTuple

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

QUANTITIES = ("extent", "blocks", "width")
"""Quantities of a dim in a coefficient: its extent, its number of blocks, or the extent of the current block.
"""


class DimQuantity(NamedTuple):
    """One factor of a coefficient, printed `extent(K)`."""

    quantity: str
    dim: str

    def __str__(self) -> str:
        return f"{self.quantity}({self.dim})"


@irdl_attr_definition
class CoefficientAttr(ParametrizedAttribute):
    """A rational number times quantities of dims: `#block.coefficient<-1/96>`, `#block.coefficient<2
    width(K)>`.
    """

    name = "block.coefficient"
    numerator: IntAttr = param_def()
    denominator: IntAttr = param_def()
    quantities: ArrayAttr[StringAttr] = param_def()

    def __init__(self, value: Fraction | int, quantities: Iterable[DimQuantity] = ()):
        value = Fraction(value)
        names = [StringAttr(str(quantity)) for quantity in sorted(quantities)]
        super().__init__(IntAttr(value.numerator), IntAttr(value.denominator), ArrayAttr(names))

    def verify(self) -> None:
        if self.denominator.data < 1:
            raise VerifyException("block.coefficient: the denominator must be at least 1")
        for quantity in self.quantities:
            name, _, dim = quantity.data.rstrip(")").partition("(")
            if name not in QUANTITIES or not dim.isidentifier():
                raise VerifyException(
                    f"block.coefficient: expected extent, blocks or width of a dim, got {quantity.data}"
                )

    @property
    def value(self) -> Fraction:
        """The rational number, without the quantities."""
        return Fraction(self.numerator.data, self.denominator.data)

    @property
    def factors(self) -> tuple[DimQuantity, ...]:
        """The quantities of dims, sorted."""
        return tuple(DimQuantity(*quantity.data.rstrip(")").split("(")) for quantity in self.quantities)

    def __mul__(self, other: CoefficientAttr) -> CoefficientAttr:
        return CoefficientAttr(self.value * other.value, (*self.factors, *other.factors))

    def __pow__(self, power: int) -> CoefficientAttr:
        if power < 0 and self.factors:
            raise ValueError("a coefficient with quantities of dims has no reciprocal of this form")
        return CoefficientAttr(self.value**power, self.factors * max(power, 0))

    def evaluate(self, quantities: Mapping[DimQuantity, int]) -> float:
        """The number. Raises KeyError for a quantity without a value."""
        value = self.value
        for factor in self.factors:
            value *= quantities[factor]
        return float(value)

    def __str__(self) -> str:
        return " ".join([_number(self.value), *map(str, self.factors)])

    @classmethod
    def parse_text(cls, parser: AttrParser) -> CoefficientAttr:
        """Read what `str` writes."""
        sign = -1 if parser.parse_optional_punctuation("-") is not None else 1
        value = Fraction(str(parser.parse_number(allow_boolean=False, context_msg=" as a coefficient")))
        if parser.parse_optional_punctuation("/") is not None:
            denominator = parser.parse_integer(allow_boolean=False, allow_negative=False)
            if denominator == 0:
                parser.raise_error("block.coefficient: the denominator must be at least 1")
            value /= denominator
        quantities: list[DimQuantity] = []
        while (name := parser.parse_optional_identifier()) is not None:
            if name not in QUANTITIES:
                parser.raise_error(
                    f"block.coefficient: expected extent, blocks or width of a dim, got {name}"
                )
            with parser.in_parens():
                quantities.append(
                    DimQuantity(name, parser.parse_identifier(context_msg=" as the name of a dim"))
                )
        return cls(sign * value, quantities)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            coefficient = cls.parse_text(parser)
        return coefficient.numerator, coefficient.denominator, coefficient.quantities

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(str(self))


def _number(value: Fraction) -> str:
    """`3`, `-1/96`, or a decimal where that is the number exactly and the fraction is unreadable."""
    if value.denominator > 1 << 20:
        decimal = repr(float(value))
        if Fraction(decimal) == value and "e" not in decimal:
            return decimal
    return str(value)


def exact(value: float) -> Fraction | None:
    """The rational number that a floating-point constant stands for; None for infinities and NaN.

    A constant that is the nearest double to p/q with a small p (such as the reciprocal of an extent) stands
    for p/q. Any other constant stands for its shortest decimal. In both cases the constant is the nearest
    double to that number, so the change is at most half a unit in the last place of a double.
    """
    if not isfinite(value):
        return None
    if value and abs(value) < 1:
        for numerator in range(1, 9):
            denominator = round(numerator / abs(value))
            if denominator <= 1 << 24 and numerator / denominator == abs(value):
                return Fraction(numerator if value > 0 else -numerator, denominator)
    return Fraction(repr(value))
