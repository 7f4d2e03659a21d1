"""Variances that are computed from sums of x and of x², so that none is negative, or infinity minus infinity.

Fusion writes a variance as a·Σx² - b·(Σx)². In floating point the difference may come out below 0, and its
reciprocal root is NaN; (Σx)² overflows long before the mean of the squares does. So the second term is
computed from the mean, and what is no number becomes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import block
from ...dialects.block import CoefficientAttr, Kind
from ...dialects.scalar_builder import ScalarBuilder
from ..rules.items import quantity, through_cast
from .needs import loaded_from
from .values import Writer


@dataclass(frozen=True)
class Statistic:
    """The sum over rows of x, or of x²: which x, known by where it is loaded from, and its columns' dim."""

    item: object
    dim: str
    squared: bool


@dataclass(frozen=True)
class Variance:
    """a·Σx² - (a/E)·(Σx)², the terms of a linear form by their numbers; E is the extent of the dim."""

    form: block.LinearOp
    sum_of_squares: int
    square_of_sum: int
    total: SSAValue
    extent: CoefficientAttr


def guard_variances(function: FuncOp) -> int:
    """Write every variance of a function so that it is never negative; says how many there are."""
    found = list(_variances(function))
    for variance in found:
        _guard(variance)
    return len(found)


def _variances(function: FuncOp) -> Iterator[Variance]:
    for op in function.walk():
        if not isinstance(op, block.LinearOp) or isinstance(op.result.type, block.BlockType):
            continue
        variance = next(_parts(op), None)
        if variance is not None:
            yield variance


def _parts(form: block.LinearOp) -> Iterator[Variance]:
    for mean, (b, square) in enumerate(form.pairs):
        total = _root(square)
        below = None if total is None else _statistic(total)
        if total is None or below is None or below.squared:
            continue
        extent = quantity(form, "extent", below.dim)
        for squares, (a, value) in enumerate(form.pairs):
            above = _statistic(value)
            same = above is not None and above.squared and (above.item, above.dim) == (below.item, below.dim)
            if same and a.value > 0 and b * extent == a * CoefficientAttr(-1):
                yield Variance(form, squares, mean, total, extent)


def _root(value: SSAValue) -> SSAValue | None:
    """v, of v²."""
    owner = through_cast(value).owner
    if not isinstance(owner, block.MonomialOp):
        return None
    pairs = list(owner.pairs)
    return pairs[0][0] if len(pairs) == 1 and pairs[0][1] == 2 else None


def _statistic(value: SSAValue) -> Statistic | None:
    """What a vector is a sum of: over the columns of a block, or of all blocks of a list."""
    value = through_cast(value)
    dim: str | None = None
    while isinstance(map_ := value.owner, block.MapOp):
        index = list(map_.results).index(value)  # pyright: ignore[reportArgumentType]
        if map_.result_pivots[index] is not None:
            return None
        match map_.result_kinds[index]:
            case Kind.Any:
                pass
            case Kind.Sum if dim is None:
                dim = map_.dim_name
            case _:
                return None
        value = through_cast(map_.yield_op.arguments[index])
    if not isinstance(value.owner, block.RowSumOp):
        return None
    summed = through_cast(value.owner.operand)
    cols = _columns(summed.type)
    if cols is None or dim not in (None, cols):
        return None
    product = summed.owner
    if isinstance(product, block.MulOp) and product.lhs is product.rhs:
        return Statistic(_key(product.lhs), cols, True)
    return Statistic(_key(summed), cols, False)


def _columns(type: Attribute) -> str | None:
    return type.cols.data if isinstance(type, block.BlockType) else None


def _key(item: SSAValue) -> object:
    """The same for items that are equal: those of one list, shifted alike."""
    item = through_cast(item)
    if isinstance(item.owner, block.RowShiftOp | block.ColShiftOp):
        return item.owner.name, _key(item.owner.block), item.owner.vector
    return loaded_from(item) or item


def _guard(variance: Variance) -> None:
    form = variance.form
    scope = form.parent
    assert scope is not None
    body = Block()
    write = Writer(body, form)
    pairs = list(form.pairs)
    a, squares = pairs[variance.sum_of_squares]
    above = write(block.LinearOp([(a, squares)]), "mean_square")
    square = write(block.MonomialOp([(_mean(variance, write), 2)]))
    below = write.multiple(a * variance.extent, square)
    rest = [
        pair
        for number, pair in enumerate(pairs)
        if number not in (variance.sum_of_squares, variance.square_of_sum)
    ]
    guarded = write.elementwise([above, below], form.result.type, "var", _difference)
    if rest:
        guarded = write(block.LinearOp([(CoefficientAttr(1), guarded), *rest]))
    guarded.name_hint = form.result.name_hint or "var"
    ops = list(body.ops)
    for op in ops:
        op.detach()
    scope.insert_ops_before(ops, form)
    form.result.replace_all_uses_with(guarded)
    old = pairs[variance.square_of_sum][1].owner
    form.detach()
    form.erase()
    if isinstance(old, Operation) and not any(result.uses for result in old.results):
        old.detach()
        old.erase()


def _mean(variance: Variance, write: Writer) -> SSAValue:
    """The mean; the one, or its negative, that is there already."""
    own = CoefficientAttr(1 / variance.extent.value, variance.extent.factors)
    wanted = (own, own * CoefficientAttr(-1))
    form = variance.form
    for use in variance.total.uses:
        op = use.operation
        known = isinstance(op, block.LinearOp) and len(op.pairs) == 1 and op.pairs[0][0] in wanted
        if known and op.parent is form.parent and op.is_before_in_block(form):
            return op.results[0]
    return write(block.LinearOp([(own, variance.total)]), "mean")


def _difference(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
    """The mean of squares minus the square of the mean: 0 where it is below, infinite where both are.

    The tests are for what is no finite number, so that over the fields of the exact check they say nothing:
    there the result is the plain difference.
    """
    squares, mean = args
    difference = to.subtract(squares, mean)
    root = to.insert(math.SqrtOp(difference))
    undefined = to.insert(arith.CmpfOp(root, root, "uno"))
    finite = to.insert(arith.CmpfOp(mean, to.constant(float("inf"), mean.type), "olt"))
    otherwise = to.select(finite, to.constant(0.0, mean.type), squares)
    return to.select(undefined, otherwise, difference)
