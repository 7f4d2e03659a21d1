"""Check that the sums of a loop may be taken relative to the running maximum from the start.

A map yields a maximum t and sums s that are relative to it: each stands for s·exp(t). If s depends on t only
through a factor exp(-t), the product is the same for any other t. A sequential loop then uses the maximum so
far. Only earlier sums have to be rescaled, and only when the maximum grows: this is the online softmax.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue

from ...dialects import block
from ...dialects.block import Kind
from ...passes.analysis.items import constant_of


class _Degree(Enum):
    """Dependence of a value on t."""

    Free = auto()
    """No dependence."""
    Maximum = auto()
    """t itself, perhaps with another value for -inf."""
    Exponent = auto()
    """x - t, x free of t."""
    Factor = auto()
    """x·exp(-t), x free of t."""
    Other = auto()


def may_run(op: block.MapOp, maximum: int) -> bool:
    """True if the sums relative to result `maximum` of a map are x·exp(-t), and nothing else depends on t.

    t is the value that the body yields as that maximum. Operations that replace -inf by another value are
    allowed.
    """
    top = op.yield_op.arguments[maximum]
    maker = top.owner
    if not isinstance(maker, Operation) or maker.parent is not op.body.block:
        return False
    degrees: dict[SSAValue, _Degree] = {top: _Degree.Maximum}
    for inner in op.body.block.ops:
        if inner is maker or not inner.results:
            continue
        if isinstance(inner, block.MapOp):
            if any(operand in degrees for each in inner.walk() for operand in each.operands):
                return False
            continue
        degree = _item_degree(inner, [degrees.get(operand, _Degree.Free) for operand in inner.operands])
        if degree is not _Degree.Free:
            degrees.update(dict.fromkeys(inner.results, degree))
    for index, (kind, yielded) in enumerate(zip(op.result_kinds, op.yield_op.arguments, strict=True)):
        degree = degrees.get(yielded, _Degree.Free)
        if index == maximum:
            continue
        if op.result_pivots[index] == maximum:
            if kind is not Kind.Sum or degree is not _Degree.Factor:
                return False
        elif degree is not _Degree.Free:
            return False
    return True


def _item_degree(op: Operation, operands: Sequence[_Degree]) -> _Degree:
    if all(degree is _Degree.Free for degree in operands):
        return _Degree.Free
    match op:
        case block.ElementwiseOp():
            return _region_degree(op, operands)
        case block.LinearOp() if operands == [_Degree.Maximum]:
            return _Degree.Exponent if str(op.coefficients.data[0]) == "-1" else _Degree.Other
        case block.RowShiftOp() | block.AddOp():
            return _sum(operands)
        case block.DotOp() | block.MulOp() | block.RowScaleOp() | block.ColScaleOp() | block.OuterOp():
            return _product(operands)
        case block.RowSumOp():
            return operands[0] if operands[0] is _Degree.Factor else _Degree.Other
        case block.LinearOp():
            return _Degree.Factor if set(operands) == {_Degree.Factor} else _Degree.Other
        case block.MonomialOp():
            powers = [
                exponent
                for (_, exponent), degree in zip(op.pairs, operands, strict=True)
                if degree is not _Degree.Free
            ]
            return _product(operands) if powers == [1] else _Degree.Other
        case _:
            return _Degree.Other


def _sum(operands: Sequence[_Degree]) -> _Degree:
    bound = [degree for degree in operands if degree is not _Degree.Free]
    return _Degree.Exponent if bound == [_Degree.Exponent] else _Degree.Other


def _product(operands: Sequence[_Degree]) -> _Degree:
    bound = [degree for degree in operands if degree is not _Degree.Free]
    return _Degree.Factor if bound == [_Degree.Factor] else _Degree.Other


def _region_degree(op: block.ElementwiseOp, operands: Sequence[_Degree]) -> _Degree:
    """The degree of the value that the region of an element-wise op yields."""
    degrees: dict[SSAValue, _Degree] = dict(zip(op.body.block.args, operands, strict=True))
    for inner in op.body.block.ops:
        if not inner.results:
            continue
        given = [degrees.get(operand, _Degree.Free) for operand in inner.operands]
        degrees[inner.results[0]] = _scalar_degree(inner, given)
    return degrees.get(op.yield_op.arguments[0], _Degree.Free)


def _scalar_degree(op: Operation, operands: Sequence[_Degree]) -> _Degree:
    if all(degree is _Degree.Free for degree in operands):
        return _Degree.Free
    match op:
        case arith.NegfOp() if operands[0] is _Degree.Maximum:
            return _Degree.Exponent
        case arith.SelectOp() if _replaces_infinity(op, operands):
            return _Degree.Maximum
        case arith.AddfOp():
            return _sum(operands)
        case math.ExpOp() if operands[0] is _Degree.Exponent:
            return _Degree.Factor
        case arith.MulfOp():
            return _product(operands)
        case arith.DivfOp() if operands[1] is _Degree.Free:
            return _product(operands)
        case arith.ExtFOp() | arith.TruncFOp():
            return operands[0]
        case arith.SelectOp() if operands[0] is _Degree.Free:
            return _selected(op, operands[1:])
        case _:
            return _Degree.Other


def _replaces_infinity(op: arith.SelectOp, operands: Sequence[_Degree]) -> bool:
    """True if an operation gives t, or something that does not depend on t where t has a certain value."""
    comparison = op.cond.owner
    return (
        set(operands[1:]) == {_Degree.Maximum, _Degree.Free}
        and isinstance(comparison, arith.CmpfOp)
        and comparison.lhs in (op.lhs, op.rhs)
    )


def _selected(op: arith.SelectOp, operands: Sequence[_Degree]) -> _Degree:
    """The degree of a select between x·exp(-t) and 0 whose condition does not depend on t."""
    for degree, other in zip(operands, (op.rhs, op.lhs), strict=True):
        if degree is _Degree.Factor and constant_of(other) == 0:
            return degree
    return _Degree.Factor if set(operands) == {_Degree.Factor} else _Degree.Other
