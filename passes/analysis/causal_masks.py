"""Causal masks: comparisons of indices that keep only n <= r + c, for a constant c."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue

from ...dialects import block
from .data_flow import dependencies_first, reachable
from .items import constant_of

_SIDES = {"sle": (1, 0), "slt": (1, -1), "sge": (-1, 0), "sgt": (-1, -1)}
"""Predicates on a, b, written as sign * (b - a) + number >= 0: the sign and the number."""

_OPPOSITES = {"sle": "sgt", "sgt": "sle", "slt": "sge", "sge": "slt"}

_HIDDEN = float("-inf")

_LARGEST = 1 << 30
"""The largest constant that is accepted, so that its sum with a few indices stays within 32 bits."""


@dataclass(frozen=True)
class Until:
    """A mask that keeps only n <= r + offset, for an index r of `dim`, in elements counted from 0."""

    dim: str
    offset: int


def masked_later(op: block.ElementwiseOp) -> dict[str, Until]:
    """Return the dims N that an operator masks causally: it gives -inf wherever n > r + offset.

    (Or NaN, where it adds -inf to an element that is infinite or NaN.) A negative offset is returned as 0,
    which is a weaker bound and keeps at least one element of every row.
    """
    found: dict[str, Until] = {}
    for predicate, lhs, rhs in _kept(op.yield_op.arguments[0]):
        side = _SIDES.get(predicate)
        left, right = _linear_form(lhs), _linear_form(rhs)
        if side is None or left is None or right is None:
            continue
        sign, strict = side
        difference = {
            term: sign * (right.get(term, 0) - left.get(term, 0))
            for term in {**left, **right}
            if term is not None
        }
        offset = sign * (right.get(None, 0) - left.get(None, 0)) + strict
        later = [term for term, factor in difference.items() if factor == -1]
        earlier = [term for term, factor in difference.items() if factor == 1]
        if len(later) == len(earlier) == 1 and sum(map(abs, difference.values())) == 2:
            found.setdefault(later[0], Until(earlier[0], max(offset, 0)))
    return found


_Comparison = tuple[str, SSAValue, SSAValue]
_Form = Mapping[str | None, int] | None


def _kept(value: SSAValue) -> Iterator[_Comparison]:
    """Yield comparisons that hold wherever a scalar is not -inf: operands of a select with -inf, or of an
    addition of it.
    """
    for addend in reachable(value, _addends):
        match addend.owner:
            case arith.SelectOp() as chosen if constant_of(chosen.rhs) == _HIDDEN:
                yield from _comparisons(chosen.cond, True)
            case arith.SelectOp() as chosen if constant_of(chosen.lhs) == _HIDDEN:
                yield from _comparisons(chosen.cond, False)
            case _:
                pass


def _addends(value: SSAValue) -> Sequence[SSAValue]:
    return value.owner.operands if isinstance(value.owner, arith.AddfOp) else ()


def _comparisons(value: SSAValue, holds: bool) -> Iterator[_Comparison]:
    """Yield comparisons that all hold if a condition is true, or if it is false."""
    for condition, true in reachable((value, holds), _conditions):
        if isinstance(op := condition.owner, arith.CmpiOp):
            predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
            yield predicate if true else _OPPOSITES.get(predicate, ""), op.lhs, op.rhs


def _conditions(condition: tuple[SSAValue, bool]) -> Sequence[tuple[SSAValue, bool]]:
    """The conditions, and the values that they must have, if a condition has the given value."""
    value, holds = condition
    match value.owner:
        case arith.AndIOp(lhs=lhs, rhs=rhs) if holds:
            return (lhs, holds), (rhs, holds)
        case arith.OrIOp(lhs=lhs, rhs=rhs) if not holds:
            return (lhs, holds), (rhs, holds)
        case arith.XOrIOp(lhs=lhs, rhs=rhs) if _is_true(rhs):
            return ((lhs, not holds),)
        case _:
            return ()


def _is_true(value: SSAValue) -> bool:
    match value.owner:
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.type == i1 and number.value.data != 0
        case _:
            return False


def _linear_form(value: SSAValue) -> _Form:
    """Return an integer as a sum of indices of dims and a constant (None): the factor of each. None for
    anything else.

    Also None if a sum of 32 bits might overflow.
    """
    forms: dict[SSAValue, _Form] = {}
    for each in dependencies_first(value, _parts):
        forms[each] = _form_of(each, forms)
    return forms[value]


def _parts(value: SSAValue) -> Sequence[SSAValue]:
    owner = value.owner
    return owner.operands if isinstance(owner, arith.IndexCastOp | arith.AddiOp | arith.SubiOp) else ()


def _form_of(value: SSAValue, forms: Mapping[SSAValue, _Form]) -> _Form:
    """The form of an integer, from those of its parts."""
    match value.owner:
        case arith.IndexCastOp(input=operand):
            return forms[operand]
        case block.IndexOp() as index:
            return {index.dim_name: 1}
        case arith.ConstantOp(value=IntegerAttr() as number):
            return {None: number.value.data} if abs(number.value.data) <= _LARGEST else None
        case arith.AddiOp(lhs=lhs, rhs=rhs):
            return _combined(forms[lhs], forms[rhs], 1)
        case arith.SubiOp(lhs=lhs, rhs=rhs):
            return _combined(forms[lhs], forms[rhs], -1)
        case _:
            return None


def _combined(left: _Form, right: _Form, sign: int) -> _Form:
    if left is None or right is None:
        return None
    form = {term: left.get(term, 0) + sign * right.get(term, 0) for term in {**left, **right}}
    return form if abs(form.get(None, 0)) <= _LARGEST else None
