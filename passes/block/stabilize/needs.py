"""Questions of stabilisation: which exponentials become pairs, which are bounded, which lists stay plain."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, math
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue, Use

from ....dialects import block
from ....dialects.attributes import OWN_EXPONENT
from ....dialects.block import CoefficientAttr, Kind
from ...analysis.data_flow import reachable
from ...analysis.items import body_ops, mask_of, through_cast, unary


def is_exp(op: Operation) -> bool:
    """True if an operation is the exponential of an item, to the base e or 2."""
    if not isinstance(op, block.ElementwiseOp):
        return False
    return unary(op.result, math.ExpOp) is not None or is_exp2(op)


def is_exp2(op: block.ElementwiseOp) -> bool:
    """True if an operation is 2 to the power of an item."""
    return unary(op.result, math.Exp2Op) is not None


def is_log(op: Operation) -> bool:
    """True if an operation is the logarithm of an item."""
    return isinstance(op, block.ElementwiseOp) and unary(op.result, math.LogOp) is not None


def binary(op: Operation) -> tuple[Operation, int, int] | None:
    """The scalar operation of an element-wise op that does one thing to two of its items, and which items."""
    if not isinstance(op, block.ElementwiseOp) or len(body_ops(op)) != 1:
        return None
    scalar = body_ops(op)[0]
    if len(scalar.operands) != 2 or op.yield_op.arguments[0] is not scalar.results[0]:
        return None
    left, right = scalar.operands
    if isinstance(left, BlockArgument) and isinstance(right, BlockArgument) and left is not right:
        return scalar, left.index, right.index
    return None


def own_maximum(op: Operation) -> SSAValue | None:
    """The maximum that an operator subtracts from an item, if it is the maximum of the item's own
    elements.
    """
    match op:
        case block.RowShiftOp() | block.ColShiftOp():
            form = op.vector.owner
            if not isinstance(form, block.LinearOp) or list(form.coefficients) != [CoefficientAttr(-1)]:
                return None
            item, top = op.block, form.terms[0]
        case block.ElementwiseOp():
            parts = binary(op)
            if parts is None or not isinstance(parts[0], arith.SubfOp):
                return None
            item, top = op.inputs[parts[1]], op.inputs[parts[2]]
        case _:
            return None
    return top if _is_maximum_of(top, item) else None


def _is_maximum_of(top: SSAValue, item: SSAValue) -> bool:
    top = through_cast(top)
    while isinstance(top.owner, block.MapOp):
        map_ = top.owner
        index = map_.results.index(top)  # pyright: ignore[reportArgumentType]
        if map_.result_kinds[index] not in (Kind.Max, Kind.Any):
            return False
        top = through_cast(map_.yield_op.arguments[index])
    return isinstance(top.owner, block.RowMaxOp) and _same(top.owner.operand, item)


def _same(a: SSAValue, b: SSAValue) -> bool:
    """True if two items are the same, or parts of one array at the same indices."""
    a, b = through_cast(a), through_cast(b)
    source = loaded_from(a)
    return a is b or (source is not None and source == loaded_from(b))


def loaded_from(item: SSAValue) -> tuple[SSAValue, Attribute | None] | None:
    """Return the array (with the dims of its axes) or the list from which a load takes the current element.

    For an array that only converts another one to another float type, return the other one. None for an item
    that is not loaded.
    """
    # Each array, and then the one that it converts, if it converts one.
    chain: list[tuple[SSAValue, Attribute | None]] = []
    current: SSAValue | None = item
    while current is not None and isinstance(current.owner, block.LoadOp):
        place = current.owner.source
        while isinstance(place, BlockArgument) and isinstance(user := place.block.parent_op(), block.MapOp):
            place = user.inputs[place.index]
        chain.append(_array_of(place) or (place, None))
        maker = chain[-1][0].owner
        current = _converted(maker.list) if isinstance(maker, block.AssembleOp) else None
    if not chain:
        return None
    source = chain.pop()
    for array in reversed(chain):
        source = source if source[1] == array[1] else array
    return source


def _array_of(place: SSAValue) -> tuple[SSAValue, Attribute] | None:
    """The array that a list is a partition of, or that is assembled from it, with the dims of its axes."""
    if isinstance(place.owner, block.PartitionOp):
        return place.owner.tensor, place.owner.axes
    assembled = (use.operation for use in place.uses if isinstance(use.operation, block.AssembleOp))
    return next(((op.result, op.axes) for op in assembled), None)


def _converted(place: SSAValue) -> SSAValue | None:
    """Return the item, before a conversion, that is stored in each element of a list."""
    while isinstance(place.owner, block.MapOp):
        map_ = place.owner
        index = list(map_.results).index(place)  # pyright: ignore[reportArgumentType]
        if map_.result_kinds[index] is not Kind.Stack:
            return None
        place = map_.yield_op.arguments[index]
    return through_cast(place.owner.source) if isinstance(place.owner, block.StoreOp) else None


def is_bounded(value: SSAValue) -> bool:
    """True if an item is known to be at most 0: it is shifted by its own maximum, and perhaps masked."""
    while isinstance(owner := through_cast(value).owner, Operation):
        if own_maximum(owner) is not None:
            return True
        mask = mask_of(owner) if isinstance(owner, block.ElementwiseOp) else None
        if mask is None or mask.number > 0:
            return False
        value = owner.operands[mask.operand]
    return False


def _carries(user: Operation, value: SSAValue) -> bool:
    """True if an operator on a pair gives a pair (or a plain value, the exponents having cancelled)."""
    match user:
        case block.RowSumOp() | block.RowScaleOp() | block.MulOp():
            return True
        case block.MonomialOp():
            # By itself alone, exp(s) / exp(s) would be 1 also where s is NaN.
            return any(factor is not value for factor in user.factors)
        case block.AddOp() | block.SubOp() | block.LinearOp():
            return True
        case block.ColScaleOp():
            return value is user.block
        case block.DotOp() | block.OuterOp():
            return value is user.lhs
        case block.ElementwiseOp():
            parts = binary(user)
            if parts is not None and isinstance(parts[0], arith.MulfOp | arith.DivfOp):
                return True
            return is_log(user) or through_cast(user.result) is not user.result
        case block.StoreOp():
            return not escapes(user.result)
        case _:
            return False


def wants_pair(op: block.ElementwiseOp) -> bool:
    """True if an exponential is to be carried as a pair: some operation sums, contracts or scales it.

    An exponential inside a sigmoid, for instance, is added to a constant, and may saturate.
    """
    value = op.result
    for use in value.uses:
        user = use.operation
        if isinstance(user, block.YieldOp):
            parent = user.parent_op()
            if isinstance(parent, block.MapOp) and parent.result_kinds[use.index] in (Kind.Sum, Kind.Any):
                return True
        elif _carries(user, value):
            return True
    return False


def has_work(function: FuncOp) -> bool:
    """True if a block program has exponentials to be carried as pairs, or roundings with own exponents."""
    return any(
        isinstance(op, block.ElementwiseOp)
        and ((is_exp(op) and wants_pair(op)) or OWN_EXPONENT in op.attributes)
        for op in function.walk()
    )


def has_own_maxima(function: FuncOp) -> bool:
    """True if some item is shifted by its own maximum, which needs a guard against rows of -inf."""
    return any(own_maximum(op) is not None for op in function.walk())


def is_summed(value: SSAValue) -> bool:
    """True if the elements of a vector are summed, so that it is data and no statistic of rows."""
    return any(
        isinstance(use.operation, block.RowSumOp)
        for vector in reachable(value, _derived_vectors)
        for use in vector.uses
    )


def _derived_vectors(value: SSAValue) -> list[SSAValue]:
    return [
        use.operation.results[0]
        for use in value.uses
        if isinstance(use.operation, block.LinearOp | block.MulOp)
    ]


def uses_of_stored(stored: SSAValue) -> Iterator[Use]:
    """The uses of an item in global memory, or of a list of such, and those of what maps make of it: the
    elements that they get, and the lists that they yield.
    """

    def passed_on(value: SSAValue) -> Iterator[SSAValue]:
        for use in value.uses:
            if isinstance(user := use.operation, block.MapOp):
                yield user.body.block.args[use.index]
            elif (maker := yielding_map(user)) is not None:
                yield maker.results[use.index]

    for value in reachable(stored, passed_on):
        yield from value.uses


def yielding_map(op: Operation) -> block.MapOp | None:
    """The map whose results an operation yields."""
    maker = op.parent_op() if isinstance(op, block.YieldOp) else None
    return maker if isinstance(maker, block.MapOp) else None


def escapes(value: SSAValue) -> bool:
    """True if an item in global memory, or a list of such, is used by anything but maps."""
    return not all(
        isinstance(use.operation, block.LoadOp | block.ReduceOp | block.MapOp)
        or yielding_map(use.operation) is not None
        for use in uses_of_stored(value)
    )
