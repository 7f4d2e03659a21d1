"""Ranges of the integers that the body of a sweep, or of an element-wise operation, computes.

They say where 32 bits hold an index or an i64, and where a sum or a product cannot wrap around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..array.core import bit_width
from ..block.compute import ExtentOp, IndexOp
from ..block.types import DimAttr
from .sweeps import Quantity, QuantityOp

Range: TypeAlias = tuple[int, int]
"""The least and the greatest value, as signed numbers."""

LARGEST_EXTENT = (1 << 29) - 1
"""Assumed of extents that are known only at a call, so that sums of a few of them fit 32 bits."""


def type_range(type: Attribute) -> Range:
    """The range of an integer type; an index has 64 bits."""
    width = 64 if isinstance(type, IndexType) else bit_width(type)
    return -(1 << width - 1), (1 << width - 1) - 1


def is_within(inner: Range, outer: Range) -> bool:
    """True if a range lies in another one."""
    return outer[0] <= inner[0] and inner[1] <= outer[1]


I32_RANGE: Range = (-(1 << 31), (1 << 31) - 1)
"""The integers that a lane of 32 bits holds."""


@dataclass
class IntegerRanges:
    """The ranges of the integers of one body."""

    dims: Mapping[str, DimAttr]
    largest_extent: int = LARGEST_EXTENT
    """Of the extents that are known only at a call."""
    _known: dict[SSAValue, Range] = field(default_factory=dict[SSAValue, Range])
    _wrapping: set[Operation] = field(default_factory=set[Operation])

    @classmethod
    def of(
        cls, body: Block, dims: Mapping[str, DimAttr], largest_extent: int = LARGEST_EXTENT
    ) -> IntegerRanges:
        """The ranges of the values in a body; `dims` are those of its kernel or function."""
        ranges = cls(dims, largest_extent)
        for op in body.ops:
            for result in op.results:
                if isinstance(result.type, IntegerType | IndexType):
                    ranges._add(op, result)
        return ranges

    def __getitem__(self, value: SSAValue) -> Range:
        """The range of an integer; that of its type if no more is known."""
        return self._known.get(value, type_range(value.type))

    def wraps(self, op: Operation) -> bool:
        """True unless the exact result of an operation is known to fit its type."""
        return op in self._wrapping

    def _add(self, op: Operation, result: SSAValue) -> None:
        found, all = self._exact(op), type_range(result.type)
        if found is None or not is_within(found, all):
            self._wrapping.add(op)
            found = all
        self._known[result] = found

    def _exact(self, op: Operation) -> Range | None:
        """The range of an exact result; None where it is not computed."""
        match op:
            case QuantityOp():
                return self._quantity(op.dim_name, op.kind.data is Quantity.Index)
            case IndexOp() | ExtentOp():
                return self._quantity(op.dim_name, isinstance(op, IndexOp))
            case _:
                return self._computed(op)

    def _computed(self, op: Operation) -> Range | None:
        if op.name == "arith.constant":
            value = op.properties["value"]
            if not isinstance(value, IntegerAttr):
                return None
            return value.value.data, value.value.data
        operands = list(op.operands)
        if op.name == "arith.select":
            operands = operands[1:]
        if op.name in _CASTS:
            found = self[operands[0]]
            unsigned = op.name == "arith.extui" and found[0] < 0
            least, most = type_range(operands[0].type)
            return (0, most - least) if unsigned else found
        combine = _COMBINED.get(op.name)
        return None if combine is None else combine([self[operand] for operand in operands])

    def _quantity(self, dim: str, is_index: bool) -> Range:
        extent = self.dims[dim].static_extent
        most = self.largest_extent if extent is None else extent
        return (0, max(0, most - 1)) if is_index else (0, most)


_CASTS = frozenset(("arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci"))

Rule: TypeAlias = Callable[[Sequence[Range]], Range | None]


def _added(ranges: Sequence[Range]) -> Range:
    (a, b), (c, d) = ranges
    return a + c, b + d


def _subtracted(ranges: Sequence[Range]) -> Range:
    (a, b), (c, d) = ranges
    return a - d, b - c


def _multiplied(ranges: Sequence[Range]) -> Range:
    products = [a * b for a in ranges[0] for b in ranges[1]]
    return min(products), max(products)


def _largest(ranges: Sequence[Range]) -> Range:
    return max(low for low, _ in ranges), max(high for _, high in ranges)


def _smallest(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), min(high for _, high in ranges)


def _either(ranges: Sequence[Range]) -> Range:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _masked(ranges: Sequence[Range]) -> Range | None:
    ends = [high for low, high in ranges if low >= 0]
    return (0, min(ends)) if ends else _of_bits(ranges)


def _of_bits(ranges: Sequence[Range]) -> Range:
    """Of bits that are combined one by one: no more than the operands have."""
    low, high = _either(ranges)
    bits = max(high, ~low, 0).bit_length()
    return (0 if low >= 0 else -(1 << bits)), (1 << bits) - 1


def _quotient(ranges: Sequence[Range]) -> Range:
    """Of any division: no larger than the dividend, but for the sign."""
    size = max(abs(ranges[0][0]), abs(ranges[0][1]))
    return (0, size) if min(ranges[0][0], ranges[1][0]) >= 0 else (-size, size)


def _remainder(ranges: Sequence[Range]) -> Range:
    (low, high), divisor = ranges
    size = max(0, max(abs(divisor[0]), abs(divisor[1])) - 1)
    return max(-size, min(0, low)), min(size, max(0, high))


def _shifted_right(ranges: Sequence[Range]) -> Range:
    low, high = ranges[0]
    return min(0, low), max(0, high)


def _shifted_left(ranges: Sequence[Range]) -> Range | None:
    low, high = ranges[1]
    return _multiplied([ranges[0], (1 << low, 1 << high)]) if low >= 0 and high < 64 else None


def _of_naturals(rule: Rule) -> Rule:
    """For operations on unsigned numbers: known where no operand may be negative."""
    return lambda ranges: rule(ranges) if all(low >= 0 for low, _ in ranges) else None


_COMBINED: Mapping[str, Rule] = {
    "arith.addi": _added,
    "arith.subi": _subtracted,
    "arith.muli": _multiplied,
    "arith.maxsi": _largest,
    "arith.minsi": _smallest,
    "arith.select": _either,
    "arith.andi": _masked,
    "arith.ori": _of_bits,
    "arith.xori": _of_bits,
    "arith.divsi": _quotient,
    "arith.ceildivsi": _quotient,
    "arith.floordivsi": _quotient,
    "arith.remsi": _remainder,
    "arith.shrsi": _shifted_right,
    "arith.shli": _shifted_left,
    "arith.divui": _of_naturals(_quotient),
    "arith.ceildivui": _of_naturals(_quotient),
    "arith.remui": _of_naturals(_remainder),
    "arith.shrui": _of_naturals(_shifted_right),
    "arith.maxui": _of_naturals(_largest),
    "arith.minui": _of_naturals(_smallest),
}
