"""The contents of the padding of ragged blocks, and the uses for which they are unsafe.

A target may load the last, ragged block of a dim into a tile of full size and fill the rest with zeros. The
operators then compute on the padding too. That is harmless until an operator reduces over a padded axis. This
analysis tracks the number in the padding: 0 at first, 1 after an exponential, and so on, until it is not one
single number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.hints import isa

from ...dialects import block
from .data_flow import dependencies_first
from .facts import kind_of, yielded
from .items import constant_of

INFINITY = float("inf")
"""Also stands for the greatest integer, and its negative for the least."""


@dataclass(frozen=True)
class Fill:
    """The contents of the padding of an item along one axis: one number, or anything (None)."""

    number: float | None


ZERO = Fill(0.0)
ANYTHING = Fill(None)


def is_ragged(dim: block.DimAttr) -> bool:
    """True if the last block of a dim may be shorter than the others."""
    if dim.is_batch or dim.is_whole:
        return False
    extent, size = dim.static_extent, dim.block_size
    return extent is None or size is None or extent % size != 0


@dataclass
class Padding:
    """The fills of the items of one function."""

    dims: Mapping[str, block.DimAttr]
    _known: dict[tuple[SSAValue, str], Fill] = field(default_factory=dict[tuple[SSAValue, str], Fill])
    _first: dict[tuple[SSAValue, str], bool] = field(default_factory=dict[tuple[SSAValue, str], bool])

    def of(self, value: SSAValue, dim: str) -> Fill | None:
        """Return the contents of an item's padding along a dim; None if the item has no axis over the dim, or
        no padding.
        """
        if not self._has_padding(value, dim):
            return None
        if (value, dim) not in self._known:
            for each in dependencies_first(value, lambda value: self._sources(value, dim)):
                self._known[each, dim] = self._find(each, dim)
        return self._known[value, dim]

    def _has_padding(self, value: SSAValue, dim: str) -> bool:
        return dim in _dims(value) and is_ragged(self.dims[dim]) and not self._is_first(value, dim)

    def _sources(self, value: SSAValue, dim: str) -> Iterator[SSAValue]:
        """The items with padding, yet unknown, on which that of an item depends."""
        owner = value.owner
        sources: Sequence[SSAValue] = ()
        if isinstance(owner, block.MapOp):
            sources = (yielded(owner, value),)
        elif isinstance(owner, Operation) and not isinstance(owner, block.LoadOp | block.ReduceOp):
            sources = owner.operands
        for source in sources:
            if (source, dim) not in self._known and self._has_padding(source, dim):
                yield source

    def _is_first(self, value: SSAValue, dim: str) -> bool:
        """True if an item is made of first blocks along a dim. They are full, because no block exceeds its
        dim.
        """
        if (value, dim) not in self._first:

            def over(item: SSAValue) -> list[SSAValue]:
                owner = item.owner
                if (item, dim) in self._first or isinstance(
                    owner, Block | block.MapOp | block.ReduceOp | block.FirstOp
                ):
                    return []
                return [operand for operand in owner.operands if dim in _dims(operand)]

            for item in dependencies_first(value, over):
                owner, sources = item.owner, over(item)
                if isinstance(owner, block.FirstOp):
                    made = isinstance(owner.list.type, block.ListType) and dim == owner.list.type.dim.data
                else:
                    made = bool(sources) and all(self._first[source, dim] for source in sources)
                self._first.setdefault((item, dim), made)
        return self._first[value, dim]

    def _find(self, value: SSAValue, dim: str) -> Fill:
        owner = value.owner
        if isinstance(owner, Block):
            return ANYTHING
        match owner:
            case block.LoadOp():
                return ZERO
            case block.ReduceOp():
                return ZERO
            case block.MapOp():
                fill = self.of(yielded(owner, value), dim)
                summed = kind_of(value) is block.Kind.Sum
                return ANYTHING if fill is None or (summed and fill != ZERO) else fill
            case block.DotOp():
                operand = owner.lhs if dim in _dims(owner.lhs) else owner.rhs
                return ZERO if self.of(operand, dim) == ZERO else ANYTHING
            case block.RowSumOp():
                return ZERO if self.of(owner.operand, dim) == ZERO else ANYTHING
            case block.RowMaxOp() | block.RowMinOp():
                return self.of(owner.operand, dim) or ANYTHING
            case block.ElementwiseOp():
                return self._of_region(owner, dim)
            case block.LinearOp():
                return _sum([_multiple(self.of(term, dim), c) for c, term in owner.pairs])
            case block.MonomialOp():
                return _product([_power(self.of(factor, dim), exponent) for factor, exponent in owner.pairs])
            case block.MulOp() | block.RowScaleOp() | block.ColScaleOp() | block.OuterOp():
                return _product([self.of(operand, dim) for operand in owner.operands])
            case block.AddOp() | block.RowShiftOp() | block.ColShiftOp():
                return _sum([self.of(operand, dim) for operand in owner.operands])
            case block.SubOp():
                return ZERO if self.of(owner.lhs, dim) == self.of(owner.rhs, dim) == ZERO else ANYTHING
            case _:
                return ANYTHING

    def _of_region(self, op: block.ElementwiseOp, dim: str) -> Fill:
        """Evaluate a region on what its operands hold in the padding."""
        values: dict[SSAValue, float | None] = {}
        for argument, operand in zip(op.body.block.args, op.inputs, strict=True):
            fill = self.of(operand, dim)
            values[argument] = None if fill is None else fill.number
        for inner in op.body.block.ops:
            if inner.results:
                values[inner.results[0]] = _scalar(inner, values, dim)
        return Fill(values[op.yield_op.arguments[0]])


def _multiple(fill: Fill | None, coefficient: block.CoefficientAttr) -> Fill | None:
    if fill is None or fill.number is None or fill.number == 0:
        return fill
    return ANYTHING if coefficient.factors else Fill(fill.number * float(coefficient.value))


def _power(fill: Fill | None, exponent: int) -> Fill | None:
    if fill is None or fill.number is None:
        return fill
    return (
        ANYTHING
        if exponent < 0 and (fill.number == 0 or math.isinf(fill.number))
        else Fill(fill.number**exponent)
    )


def _product(factors: list[Fill | None]) -> Fill:
    """The product of the contents of factors. A factor without padding counts as valid, finite elements."""
    number = 1.0
    for factor in factors:
        if factor is None:
            continue
        if factor.number is None or math.isinf(factor.number):
            return ANYTHING
        number *= factor.number
    return ZERO if number == 0 else Fill(number) if None not in factors else ANYTHING


def _sum(addends: list[Fill | None]) -> Fill:
    """The sum of the contents of addends. With an addend without padding it is no single number, except that
    an infinity remains one.
    """
    numbers = [None if addend is None else addend.number for addend in addends]
    infinite = [number for number in numbers if number is not None and math.isinf(number)]
    if infinite and all(addend is None or addend.number is not None for addend in addends):
        return Fill(infinite[0]) if len(set(infinite)) == 1 else ANYTHING
    return ANYTHING if None in numbers else Fill(sum(number for number in numbers if number is not None))


def _total(a: float, b: float) -> float:
    return a + b


def _difference(a: float, b: float) -> float:
    return a - b


def _times(a: float, b: float) -> float:
    return a * b


def _quotient(a: float, b: float) -> float:
    return a / b


def _negative(a: float) -> float:
    return -a


def _larger(a: float, b: float) -> float:
    return max(a, b)


def _smaller(a: float, b: float) -> float:
    return min(a, b)


def _rsqrt(value: float) -> float:
    return 1 / math.sqrt(value)


_FUNCTIONS: dict[str, Callable[..., float]] = {
    "arith.addf": _total,
    "arith.subf": _difference,
    "arith.mulf": _times,
    "arith.divf": _quotient,
    "arith.negf": _negative,
    "arith.maximumf": _larger,
    "arith.minimumf": _smaller,
    "arith.extf": float,
    "arith.truncf": float,
    "math.exp": math.exp,
    "math.exp2": math.exp2,
    "math.expm1": math.expm1,
    "math.tanh": math.tanh,
    "math.erf": math.erf,
    "math.absf": math.fabs,
    "math.sqrt": math.sqrt,
    "math.rsqrt": _rsqrt,
}


def _scalar(op: Operation, values: Mapping[SSAValue, float | None], dim: str) -> float | None:
    """The value of a scalar operation in the padding, if it is one number."""
    args = [values[operand] for operand in op.operands]
    match op:
        case arith.ConstantOp():
            return _number(op)
        case arith.SelectOp():
            if is_remainder_mask(op, dim):
                return values[op.rhs]
            return args[1] if args[1] == args[2] else None
        case _:
            function = _FUNCTIONS.get(op.name)
            if function is None or None in args:
                return None
            try:
                result = function(*args)
            except (ArithmeticError, ValueError):
                return None
            return None if math.isnan(result) else result


def _number(op: arith.ConstantOp) -> float | None:
    if isa(op.value, IntegerAttr[IntegerType]):
        number, limit = op.value.value.data, 1 << (op.value.type.width.data - 1)
        return -INFINITY if number == -limit else INFINITY if number == limit - 1 else float(number)
    return constant_of(op.results[0])


def _dims(value: SSAValue) -> tuple[str, ...]:
    return value.type.dims if isinstance(value.type, block.ItemType) else ()


def is_remainder_mask(op: arith.SelectOp, dim: str) -> bool:
    """True if a select keeps its first value exactly where the index along a dim is within the extent."""
    condition = op.cond.owner
    if not isinstance(condition, arith.CmpiOp) or condition.predicate.value.data != 2:  # slt
        return False
    index, extent = condition.lhs.owner, condition.rhs.owner
    return (
        isinstance(index, block.IndexOp)
        and isinstance(extent, block.ExtentOp)
        and index.dim_name == extent.dim_name == dim
    )


@dataclass(frozen=True)
class UnsafeUse:
    """An operand whose padding would reach a reduction: the operator, the operand's number, the dim, and the
    number that the padding should hold.
    """

    op: Operation
    operand: int
    dim: str
    wanted: Fill


def unsafe_uses(scope: Operation, padding: Padding) -> list[UnsafeUse]:
    """The operands that must be masked, in order."""
    found: list[UnsafeUse] = []
    for op in scope.walk():
        match op:
            case block.DotOp():
                wanted = [(0, _dims(op.lhs)[1], ZERO), (1, _dims(op.rhs)[1], ZERO)]
            case block.RowSumOp():
                wanted = [(0, _dims(op.operand)[-1], ZERO)]
            case block.RowMaxOp():
                wanted = [(0, _dims(op.operand)[-1], Fill(-INFINITY))]
            case block.RowMinOp():
                wanted = [(0, _dims(op.operand)[-1], Fill(INFINITY))]
            case _:
                continue
        for operand, dim, fill in wanted:
            if padding.of(op.operands[operand], dim) not in (None, fill):
                found.append(UnsafeUse(op, operand, dim, fill))
    return found
