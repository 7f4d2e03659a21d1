"""Scalar operations of sweeps as expressions on vectors of the tile library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, isinf, isnan

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    FloatAttr,
    IntegerAttr,
    i1,
    i32,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from ....dialects.attributes import EXACT_ATTRIBUTE
from ....dialects.diagnostics import OpError
from ..scalar_names import FUNCTIONS, INFIX, INTEGER_PREDICATES, WRAPPING

_INFIX = {**INFIX, **WRAPPING}

_FLOAT_PREDICATES: dict[str, str] = {
    "oeq": "{a} == {b}",
    "ogt": "{a} > {b}",
    "oge": "{a} >= {b}",
    "olt": "{a} < {b}",
    "ole": "{a} <= {b}",
    "one": "({a} < {b}) | ({a} > {b})",
    "ord": "({a} == {a}) & ({b} == {b})",
    "ueq": "~(({a} < {b}) | ({a} > {b}))",
    "ugt": "~({a} <= {b})",
    "uge": "~({a} < {b})",
    "ult": "~({a} >= {b})",
    "ule": "~({a} > {b})",
    "une": "{a} != {b}",
    "uno": "({a} != {a}) | ({b} != {b})",
}

_ROUNDED: dict[type[Attribute], str] = {
    Float16Type: "bb::f16",
    BFloat16Type: "bb::bf16",
    Float32Type: "float",
}


def number(value: float, double: bool) -> str:
    """A floating-point literal of the type that a kernel computes in."""
    type, sign = "double" if double else "float", "-" if copysign(1, value) < 0 else ""
    if isnan(value):
        return f"{sign}std::numeric_limits<{type}>::quiet_NaN()"
    if isinf(value):
        return f"{sign}std::numeric_limits<{type}>::infinity()"
    return repr(float(value)) if double else f"{float(value)!r}f"


def expression(op: Operation, operands: Sequence[str], double: bool) -> str:
    """The value of a scalar operation; `operands` are names of vectors. Raises OpError for one without a
    form.
    """
    kind = type(op)
    if kind in _INFIX:
        value = f"{operands[0]} {_INFIX[kind]} {operands[1]}"
        return _wrapped(value) if double and kind in WRAPPING and op.results[0].type == i32 else value
    if kind in FUNCTIONS:
        return f"bb::{FUNCTIONS[kind]}({', '.join(operands)})"
    form = _FORMS.get(kind)
    if form is None:
        raise OpError(op, "has no form on a CPU")
    return form(op, operands, double)


def _wrapped(value: str) -> str:
    """An i32 in a vector of 64-bit integers, reduced to its low 32 bits."""
    return f"(({value}) << 32) >> 32"


def _constant(op: Operation, operands: Sequence[str], double: bool) -> str:
    assert isinstance(op, arith.ConstantOp)
    exact = op.attributes.get(EXACT_ATTRIBUTE)
    value = exact if exact is not None else op.value
    if isa(value, FloatAttr):
        return f"bb::splat<T>({number(value.value.data, double)})"
    assert isa(op.value, IntegerAttr)
    integer = op.value.value.data
    if op.value.type == i1:
        return "I{} - 1" if integer else "I{}"
    if not -(1 << 31) <= integer < 1 << 31:
        raise OpError(op, "is an integer of more than 32 bits, which a kernel does not compute with")
    return f"I{{}} + (Int){integer}"


def _compare_floats(op: Operation, operands: Sequence[str], double: bool) -> str:
    assert isinstance(op, arith.CmpfOp)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate in ("false", "true"):
        return "I{}" if predicate == "false" else "I{} - 1"
    return _FLOAT_PREDICATES[predicate].format(a=operands[0], b=operands[1])


def _compare_integers(op: Operation, operands: Sequence[str], double: bool) -> str:
    assert isinstance(op, arith.CmpiOp)
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    sign = INTEGER_PREDICATES.get(predicate)
    if sign is None:
        raise OpError(op, f"compares by {predicate}, which has no form on a CPU; use a signed comparison")
    return f"{operands[0]} {sign} {operands[1]}"


def _select(op: Operation, operands: Sequence[str], double: bool) -> str:
    return f"{operands[0]} ? {operands[1]} : {operands[2]}"


def _rounded(op: Operation, operands: Sequence[str], double: bool) -> str:
    type = op.results[0].type
    if not double and isinstance(type, Float32Type):
        return operands[0]
    return f"bb::rounded<{_ROUNDED[type.__class__]}>({operands[0]})"


def _to_float(op: Operation, operands: Sequence[str], double: bool) -> str:
    unsigned = isinstance(op, arith.UIToFPOp) and op.operands[0].type == i1
    return f"bb::as_float<T>({operands[0]}{' & 1' if unsigned else ''})"


def _to_integer(op: Operation, operands: Sequence[str], double: bool) -> str:
    return f"bb::as_index({operands[0]})"


def _same(op: Operation, operands: Sequence[str], double: bool) -> str:
    return operands[0]


def _extended(op: Operation, operands: Sequence[str], double: bool) -> str:
    return f"{operands[0]} & 1" if op.operands[0].type == i1 else operands[0]


def _truncated(op: Operation, operands: Sequence[str], double: bool) -> str:
    if op.results[0].type == i1:
        return f"({operands[0]} & 1) != 0"
    return _wrapped(operands[0]) if double and op.results[0].type == i32 else operands[0]


_Form = Callable[[Operation, Sequence[str], bool], str]
_FORMS: dict[type[Operation], _Form] = {
    arith.ConstantOp: _constant,
    arith.CmpfOp: _compare_floats,
    arith.CmpiOp: _compare_integers,
    arith.SelectOp: _select,
    arith.NegfOp: lambda op, operands, double: f"-{operands[0]}",
    arith.MaxnumfOp: lambda op, operands, double: "{1} != {1} ? {0} : bb::max({0}, {1})".format(*operands),
    arith.MinnumfOp: lambda op, operands, double: "{1} != {1} ? {0} : bb::min({0}, {1})".format(*operands),
    arith.MaxSIOp: lambda op, operands, double: "{0} > {1} ? {0} : {1}".format(*operands),
    arith.MinSIOp: lambda op, operands, double: "{0} < {1} ? {0} : {1}".format(*operands),
    arith.ExtFOp: _same,
    arith.TruncFOp: _rounded,
    arith.SIToFPOp: _to_float,
    arith.UIToFPOp: _to_float,
    arith.FPToSIOp: _to_integer,
    arith.IndexCastOp: _same,
    arith.ExtSIOp: _same,
    arith.ExtUIOp: _extended,
    arith.TruncIOp: _truncated,
}
