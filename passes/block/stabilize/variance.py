"""Variances that are computed from sums of x and of x², guarded so that none is negative or infinity minus
infinity.

Fusion writes a variance as a·Σx² - b·(Σx)². In floating point the difference may be negative, and its
reciprocal root is then NaN; also, (Σx)² overflows long before the mean of the squares does. So the second
term is computed from the mean, and a NaN becomes a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from xdsl.dialects import arith, math
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....dialects import block
from ....dialects.block import CoefficientAttr, DimQuantity, Kind
from ....dialects.scalar_builder import ScalarBuilder
from ...analysis.data_flow import dependencies_first
from ...analysis.items import quantity, through_cast
from .extents import factors, power_of_extent
from .needs import loaded_from
from .polynomials import Polynomial, times
from .values import Writer


@dataclass(frozen=True)
class Statistic:
    """The sum over rows of x, or of x²; x is identified by the place it is loaded from, and has a dim of
    columns.
    """

    item: object
    dim: str
    squared: bool


@dataclass(frozen=True)
class Extent:
    """The extent of a dim."""

    dim: str


Product = Mapping[object, int]
"""Statistics, extents and other values, with their exponents."""


@dataclass(frozen=True)
class Variance:
    """a·Σx² - (a/E)·(Σx)², the terms of a linear form by their numbers; E is the extent of the dim.

    The second part may have several terms. `below` is a·E, and `mean` writes Σx/E, or finds it in the
    program.
    """

    form: block.LinearOp
    sum_of_squares: int
    squares_of_sum: tuple[int, ...]
    below: CoefficientAttr
    mean: Callable[[Writer], SSAValue]


def guard_variances(function: FuncOp) -> int:
    """Rewrite every variance of a function so that it is never negative; return their number."""
    found = list(_variances(function))
    for variance in found:
        _guard(variance)
    return len(found)


def _variances(function: FuncOp) -> Iterator[Variance]:
    for op in function.walk():
        if not isinstance(op, block.LinearOp) or isinstance(op.result.type, block.BlockType):
            continue
        variance = next(_parts(op), None) or next(_with_asked_extent(op), None)
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
            if same and a.value > 0 and not extent.factors and b * extent == a * CoefficientAttr(-1):
                yield Variance(form, squares, (mean,), a * extent, partial(_mean, form, total, extent))


def _with_asked_extent(form: block.LinearOp) -> Iterator[Variance]:
    """The variances whose E comes from `array.extent`, so that Σx/E is a product with a number."""
    known: dict[SSAValue, Product] = {}
    products = [_product(value, known) for _, value in form.pairs]
    for number, ((a, _), product) in enumerate(zip(form.pairs, products, strict=True)):
        squares = next((key for key in product if isinstance(key, Statistic) and key.squared), None)
        if squares is None or a.value <= 0 or a.factors:
            continue
        of_sum, extent = Statistic(squares.item, squares.dim, False), Extent(squares.dim)
        power = product.get(extent, 0)
        mean = next((value for value, p in known.items() if p == {of_sum: 1, extent: -1}), None)
        if product.keys() - {squares, extent} or product[squares] != 1 or power < -1:
            continue
        if mean is None or mean.type != form.result.type:
            continue
        size = quantity(form, "extent", squares.dim)
        if not size.value:
            continue
        below, terms = Polynomial.number(0), list[int]()
        for index, ((c, _), other) in enumerate(zip(form.pairs, products, strict=True)):
            if other.get(of_sum) == 2 and not other.keys() - {of_sum, extent}:
                of_dim = len(c.factors)
                if c.factors != (DimQuantity("extent", squares.dim),) * of_dim:
                    continue
                below = below + _number_times(c.value, size, other.get(extent, 0) + of_dim)
                terms.append(index)
        if below.key() == _number_times(-a.value, size, power - 1).key():
            whole = a * size ** (power + 1)
            yield Variance(form, number, tuple(terms), whole, partial(_itself, mean))


def _product(value: SSAValue, known: dict[SSAValue, Product]) -> Product:
    """Return the factors of a vector or number; also record the factors of each factor."""
    for each in dependencies_first(value, _compound):
        product: dict[object, int] = {}
        source = through_cast(each)
        if (power := power_of_extent(source)) is not None:
            product[Extent(power[0])] = power[1]
        elif (statistic := _statistic(source)) is not None:
            product[statistic] = 1
        elif pairs := factors(source):
            for factor, exponent in pairs:
                for atom, count in known[factor].items():
                    product[atom] = product.get(atom, 0) + exponent * count
        else:
            product[source] = 1
        known[each] = {atom: count for atom, count in product.items() if count}
    return known[value]


def _compound(value: SSAValue) -> list[SSAValue]:
    """The factors of a vector or number that is no extent and no statistic itself."""
    source = through_cast(value)
    if power_of_extent(source) is not None or _statistic(source) is not None:
        return []
    return [factor for factor, _ in factors(source)]


def _number_times(number: Fraction, extent: CoefficientAttr, power: int) -> Polynomial:
    """A number times a power of an extent, which may be a number itself."""
    if not extent.factors:
        return Polynomial.number(number * extent.value**power)
    return Polynomial({times((), (("extent", power),)): number})


def _itself(mean: SSAValue, write: Writer) -> SSAValue:
    return mean


def _root(value: SSAValue) -> SSAValue | None:
    """v, for v²."""
    owner = through_cast(value).owner
    if not isinstance(owner, block.MonomialOp):
        return None
    pairs = list(owner.pairs)
    return pairs[0][0] if len(pairs) == 1 and pairs[0][1] == 2 else None


def _statistic(value: SSAValue) -> Statistic | None:
    """Return the terms that a vector sums: over the columns of a block, or of all blocks of a list."""
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
    """A key that is equal for equal items: items of one list with equal shifts."""
    shifts: list[tuple[str, SSAValue]] = []
    item = through_cast(item)
    while isinstance(item.owner, block.RowShiftOp | block.ColShiftOp):
        shifts.append((item.owner.name, item.owner.vector))
        item = through_cast(item.owner.block)
    source = loaded_from(item) or item
    return (source, *shifts) if shifts else source


def _guard(variance: Variance) -> None:
    form = variance.form
    scope = form.parent
    assert scope is not None
    body = Block()
    write = Writer(body, form)
    pairs = list(form.pairs)
    a, squares = pairs[variance.sum_of_squares]
    above = write(block.LinearOp([(a, squares)]), "mean_square")
    square = write(block.MonomialOp([(variance.mean(write), 2)]))
    below = write.multiple(variance.below, square)
    rest = [
        pair
        for number, pair in enumerate(pairs)
        if number not in (variance.sum_of_squares, *variance.squares_of_sum)
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
    old = [pairs[number][1].owner for number in variance.squares_of_sum]
    form.detach()
    form.erase()
    for op in old:
        if isinstance(op, Operation) and not any(result.uses for result in op.results):
            op.detach()
            op.erase()


def _mean(form: block.LinearOp, total: SSAValue, extent: CoefficientAttr, write: Writer) -> SSAValue:
    """Return the mean; the existing one, or its negative, if there is one."""
    own = extent**-1
    wanted = (own, own * CoefficientAttr(-1))
    for use in total.uses:
        op = use.operation
        known = isinstance(op, block.LinearOp) and len(op.pairs) == 1 and op.pairs[0][0] in wanted
        if known and op.parent is form.parent and op.is_before_in_block(form):
            return op.results[0]
    return write(block.LinearOp([(own, total)]), "mean")


def _difference(to: ScalarBuilder, args: list[SSAValue]) -> SSAValue:
    """The mean of squares minus the square of the mean: 0 if that is negative, infinite if both are.

    The tests only detect values that are not finite. Over the fields of the exact check they never hold, and
    the result is the plain difference.
    """
    squares, mean = args
    difference = to.subtract(squares, mean)
    root = to.insert(math.SqrtOp(difference))
    undefined = to.insert(arith.CmpfOp(root, root, "uno"))
    finite = to.insert(arith.CmpfOp(mean, to.constant(float("inf"), mean.type), "olt"))
    otherwise = to.select(finite, to.constant(0.0, mean.type), squares)
    return to.select(undefined, otherwise, difference)
