"""Which masks hide what comes later: comparisons of indices that keep n <= r + c, c a constant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from ..dialects import block
from .rules.items import constant_of

_SIDES = {"sle": (1, 0), "slt": (1, -1), "sge": (-1, 0), "sgt": (-1, -1)}
"""Predicates on a, b as b - a >= 0 (or a - b >= 0: -1), and what a strict one takes off."""

_LARGEST = 1 << 30
"""The largest constant that is taken: with a few indices below it, nothing leaves 32 bits."""


@dataclass(frozen=True)
class Until:
    """n <= r + offset is all that a mask keeps, r an index of `dim`, in elements counted from 0."""

    dim: str
    offset: int


def masked_later(op: block.ElementwiseOp) -> dict[str, Until]:
    """Dims N and what an operator keeps of them: it gives -inf wherever n > r + offset.

    An offset below 0 is given as 0, which is true as well and leaves something of every row.
    """
    chosen = op.yield_op.arguments[0].owner
    if not isinstance(chosen, arith.SelectOp) or constant_of(chosen.rhs) != float("-inf"):
        return {}
    found: dict[str, Until] = {}
    for condition in _conditions(chosen.cond):
        side = _SIDES.get(arith.CMPI_COMPARISON_OPERATIONS[condition.predicate.value.data])
        left, right = _linear_form(condition.lhs), _linear_form(condition.rhs)
        if side is None or left is None or right is None:
            continue
        sign, strict = side
        room = {
            term: sign * (right.get(term, 0) - left.get(term, 0))
            for term in {**left, **right}
            if term is not None
        }
        offset = sign * (right.get(None, 0) - left.get(None, 0)) + strict
        later = [term for term, factor in room.items() if factor == -1]
        earlier = [term for term, factor in room.items() if factor == 1]
        if len(later) == len(earlier) == 1 and sum(map(abs, room.values())) == 2:
            found.setdefault(later[0], Until(earlier[0], max(offset, 0)))
    return found


def _conditions(value: SSAValue) -> Iterator[arith.CmpiOp]:
    """The comparisons all of which hold where a condition does."""
    if isinstance(value.owner, arith.CmpiOp):
        yield value.owner
    elif isinstance(value.owner, arith.AndIOp):
        yield from _conditions(value.owner.lhs)
        yield from _conditions(value.owner.rhs)


def _linear_form(value: SSAValue) -> Mapping[str | None, int] | None:
    """A sum of indices of dims and a constant (None): the factor of each. None for anything else.

    Also None where a sum of 32 bits might wrap around.
    """
    match value.owner:
        case arith.IndexCastOp(input=operand):
            return _linear_form(operand)
        case block.IndexOp() as index:
            return {index.dim_name: 1}
        case arith.ConstantOp(value=IntegerAttr() as number):
            return {None: number.value.data} if abs(number.value.data) <= _LARGEST else None
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return _combined(_linear_form(lhs), _linear_form(rhs), 1)
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return _combined(_linear_form(lhs), _linear_form(rhs), -1)
        case _:
            return None


def _combined(
    left: Mapping[str | None, int] | None, right: Mapping[str | None, int] | None, sign: int
) -> Mapping[str | None, int] | None:
    if left is None or right is None:
        return None
    form = {term: left.get(term, 0) + sign * right.get(term, 0) for term in {**left, **right}}
    return form if abs(form.get(None, 0)) <= _LARGEST else None
