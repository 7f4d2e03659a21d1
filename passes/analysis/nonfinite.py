"""NaN and infinities in a block program: values that come from arrays alone, and terms of forms that may
cancel.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from xdsl.ir import Operation, SSAValue

from ...dialects import block
from .facts import kind_of, origin, yielded
from .items import POINTWISE, uniform_value

_ROUNDING_ONLY = frozenset(
    f"arith.{name}"
    for name in ("addf", "subf", "mulf", "negf", "maximumf", "minimumf", "extf", "truncf", "constant")
)
"""Scalar operations whose result is NaN where an operand is, and finite where operands are (or overflows)."""

_KEEPS_NAN = _ROUNDING_ONLY | {
    *("arith.divf", "math.exp", "math.exp2", "math.expm1", "math.log", "math.log2", "math.log1p"),
    *("math.sqrt", "math.rsqrt", "math.tanh", "math.erf", "math.sin", "math.cos", "math.absf"),
    *("math.floor", "math.ceil", "math.fma"),
}
"""Scalar operations whose result is NaN where an operand is."""

_KEEPS_FINITE = _ROUNDING_ONLY | {
    *("math.exp", "math.exp2", "math.tanh", "math.erf", "math.absf", "math.floor", "math.ceil", "math.fma"),
}
"""Scalar operations whose result is finite, or overflows, where the operands are finite."""

_COMBINATIONS = block.AddOp | block.SubOp | block.MulOp | block.OuterOp | block.BlockVectorOp | block.LinearOp

_ARITHMETIC = _COMBINATIONS | block.RowSumOp | block.RowMaxOp | block.RowMinOp | block.DotOp
"""Operators on items that pass NaN on, and whose results are finite, or overflow, where operands are."""


def is_array_data(value: SSAValue) -> bool:
    """True if an item is computed from elements of arrays one by one, without any sum, maximum or product of
    blocks.

    Such an item is the program's own arithmetic, not a statistic. False for items that are arguments.
    """
    pending, seen = [value], set[SSAValue]()
    while pending:
        current = origin(pending.pop())
        if current in seen:
            continue
        seen.add(current)
        owner = current.owner
        if isinstance(owner, block.PartitionOp):
            continue
        if not isinstance(owner, POINTWISE):
            return False
        pending.extend(owner.operands)
    return True


def has_witness(value: SSAValue, others: Iterable[SSAValue]) -> bool:
    """True if one of the other items is NaN or infinite wherever the data make `value` NaN or infinite.

    This is so if both are computed from the same items: `value` by operations that give finite numbers (or
    overflow) for finite operands, the other item by operations that pass NaN on. Then `value` may cancel in a
    form with the other item: where data are NaN, the form is still NaN.
    """
    return any(_covers(_passed_on(other), value) for other in others if other is not value)


def _key(value: SSAValue) -> Hashable:
    """Two views of one array that cut it in the same way are one value."""
    owner = value.owner
    return (owner.tensor, owner.axes, value.type) if isinstance(owner, block.PartitionOp) else value


def _passed_on(value: SSAValue) -> set[Hashable]:
    """The values of which each NaN shows in `value`."""
    pending, seen = [value], set[Hashable]()
    while pending:
        current = origin(pending.pop())
        if _key(current) in seen:
            continue
        seen.add(_key(current))
        pending.extend(_operands(current, _KEEPS_NAN, negative_powers=True) or ())
    return seen


def _covers(passed_on: set[Hashable], value: SSAValue) -> bool:
    """True if all that `value` is computed from is among the values that are passed on."""
    pending, seen = [value], set[Hashable]()
    while pending:
        current = origin(pending.pop())
        if _key(current) in seen or _key(current) in passed_on:
            continue
        seen.add(_key(current))
        operands = _operands(current, _KEEPS_FINITE, negative_powers=False)
        if operands is None:
            return False
        pending.extend(operands)
    return True


def _operands(value: SSAValue, scalars: frozenset[str], *, negative_powers: bool) -> list[SSAValue] | None:
    """The items from which a value is computed by these scalar operations; None if by others."""
    owner = value.owner
    match owner:
        case block.ElementwiseOp() if not owner.inputs:
            number = uniform_value(value)
            return [] if number is not None and abs(number) < float("inf") else None
        case block.ElementwiseOp():
            allowed = all(inner.name in scalars for inner in owner.body.block.ops if inner.results)
            return list(owner.inputs) if allowed and _uses_all(owner) else None
        case block.MonomialOp():
            positive = all(exponent > 0 for _, exponent in owner.pairs)
            return list(owner.factors) if positive or negative_powers else None
        case block.ReduceOp():
            return [owner.list]
        case block.AssembleOp():
            return [owner.list]
        case block.MapOp():
            return [yielded(owner, value)] if _reduces(value) else None
        case Operation() if isinstance(owner, _ARITHMETIC):
            return list(owner.operands)
        case _:
            return None


def _uses_all(op: block.ElementwiseOp) -> bool:
    """True if the result of a region depends on all operands."""
    body = op.body.block
    needed: set[SSAValue] = {op.yield_op.arguments[0]}
    for inner in reversed(list(body.ops)):
        if any(result in needed for result in inner.results):
            needed.update(inner.operands)
    return all(argument in needed for argument in body.args)


def _reduces(value: SSAValue) -> bool:
    kind = kind_of(value)
    return kind is not None and kind.reduces


__all__ = ["has_witness", "is_array_data"]
