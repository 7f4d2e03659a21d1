"""Scalar operations of sweeps as CUDA C++ expressions: one thread computes one element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import copysign, isinf, isnan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from ....dialects.array.core import bit_width
from ....dialects.attributes import EXACT_ATTRIBUTE
from ....dialects.diagnostics import OpError
from ..scalar_names import FUNCTIONS, INFIX, INTEGER_PREDICATES, WRAPPING

_CALLS: dict[type[Operation], str] = {
    **FUNCTIONS,
    arith.MaxnumfOp: "max_number",
    arith.MinnumfOp: "min_number",
    arith.MaxSIOp: "larger",
    arith.MinSIOp: "smaller",
}

_FLOAT_PREDICATES: dict[str, str] = {
    "oeq": "{a} == {b}",
    "ogt": "{a} > {b}",
    "oge": "{a} >= {b}",
    "olt": "{a} < {b}",
    "ole": "{a} <= {b}",
    "one": "{a} < {b} || {a} > {b}",
    "ord": "{a} == {a} && {b} == {b}",
    "ueq": "!({a} < {b} || {a} > {b})",
    "ugt": "!({a} <= {b})",
    "uge": "!({a} < {b})",
    "ult": "!({a} >= {b})",
    "ule": "!({a} > {b})",
    "une": "{a} != {b}",
    "uno": "{a} != {a} || {b} != {b}",
}


def storage_type(type: Attribute) -> str:
    """The C++ type of an element in memory."""
    match type:
        case Float16Type():
            return "bb::f16"
        case BFloat16Type():
            return "bb::bf16"
        case _:
            return value_type(type)


def element_bytes(type: Attribute) -> int:
    """The bytes of an element in memory."""
    return max(1, bit_width(type) // 8)


def value_type(type: Attribute) -> str:
    """The C++ type in which values of a type are computed; 16-bit floats are computed in f32."""
    match type:
        case Float64Type():
            return "double"
        case IndexType():
            return "int"
        case IntegerType():
            return {1: "bool", 32: "int", 64: "long long"}[bit_width(type)]
        case _:
            return "float"


def number(value: float, type: Attribute) -> str:
    """A floating-point literal."""
    double = isinstance(type, Float64Type)
    sign = "-" if copysign(1, value) < 0 else ""
    if isnan(value):
        nan = "__longlong_as_double(0x7ff8000000000000ll)" if double else "__int_as_float(0x7fc00000)"
        return f"{sign}{nan}"
    if isinf(value):
        return f"{sign}__longlong_as_double(0x7ff0000000000000ll)" if double else f"{sign}BB_INF"
    return repr(float(value)) if double else f"{float(value)!r}f"


_FAST: dict[type[Operation], str] = {
    arith.MaximumfOp: "max_nan",
    arith.MinimumfOp: "min_nan",
    arith.MaxnumfOp: "max",
    arith.MinnumfOp: "min",
    arith.DivfOp: "fast::div",
    math.ExpOp: "fast::exp",
    math.Exp2Op: "fast::exp2",
    math.LogOp: "fast::log",
    math.Log2Op: "fast::log2",
    math.SqrtOp: "fast::sqrt",
    math.RsqrtOp: "fast::rsqrt",
    math.TanhOp: "fast::tanh",
}
"""Functions of approximate units, accurate enough for operands of 16 bits."""


def expression(op: Operation, operands: Sequence[str], *, fast: bool = False) -> str:
    """The value of a scalar operation; `operands` are names. With `fast`, by approximate units if a GPU has
    them. Raises OpError for an operation without a form.
    """
    kind = type(op)
    if fast and kind in _FAST and value_type(op.results[0].type) == "float":
        return f"bb::{_FAST[kind]}({', '.join(operands)})"
    if kind in INFIX:
        return f"{operands[0]} {INFIX[kind]} {operands[1]}"
    if kind in WRAPPING:
        # Unsigned, for what overflows wraps around.
        own = value_type(op.results[0].type)
        if own == "bool":
            return f"(({operands[0]} {WRAPPING[kind]} {operands[1]}) & 1) != 0"
        unsigned = f"unsigned {own}"
        return f"({own})(({unsigned}){operands[0]} {WRAPPING[kind]} ({unsigned}){operands[1]})"
    if kind in _CALLS:
        return f"bb::scalar::{_CALLS[kind]}({', '.join(operands)})"
    form = _FORMS.get(kind)
    if form is None:
        raise OpError(op, "has no form on a GPU")
    return form(op, operands)


def _constant(op: Operation, operands: Sequence[str]) -> str:
    assert isinstance(op, arith.ConstantOp)
    type = op.result.type
    exact = op.attributes.get(EXACT_ATTRIBUTE)
    value = exact if exact is not None else op.value
    if isa(value, FloatAttr):
        return number(value.value.data, type)
    assert isa(op.value, IntegerAttr)
    integer = op.value.value.data
    if type == i1:
        return "true" if integer else "false"
    if type == i64:
        return f"(long long){integer & (1 << 64) - 1}ull"
    if not -(1 << 31) <= integer < 1 << 31:
        raise OpError(op, "is an integer of more than 32 bits, which a kernel does not compute with")
    return str(integer) if integer > -(1 << 31) else "(-2147483647 - 1)"


def _compare_floats(op: Operation, operands: Sequence[str]) -> str:
    assert isinstance(op, arith.CmpfOp)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate in ("false", "true"):
        return predicate
    return _FLOAT_PREDICATES[predicate].format(a=operands[0], b=operands[1])


def _compare_integers(op: Operation, operands: Sequence[str]) -> str:
    assert isinstance(op, arith.CmpiOp)
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    sign = INTEGER_PREDICATES.get(predicate)
    if sign is None:
        raise OpError(op, f"compares by {predicate}, which has no form on a GPU; use a signed comparison")
    return f"{operands[0]} {sign} {operands[1]}"


def _truncated_float(op: Operation, operands: Sequence[str]) -> str:
    return f"bb::scalar::rounded<{storage_type(op.results[0].type)}>({operands[0]})"


def _extended_float(op: Operation, operands: Sequence[str]) -> str:
    own = value_type(op.results[0].type)
    return operands[0] if own == value_type(op.operands[0].type) else f"({own}){operands[0]}"


def _converted(op: Operation, operands: Sequence[str]) -> str:
    signed = op.operands[0].type == i1 and isinstance(op, arith.SIToFPOp | arith.ExtSIOp)
    value = f"-(int){operands[0]}" if signed else operands[0]
    own = value_type(op.results[0].type)
    narrow = isinstance(op.results[0].type, Float16Type | BFloat16Type)
    return (
        f"bb::scalar::rounded<{storage_type(op.results[0].type)}>({value})" if narrow else f"({own}){value}"
    )


def _truncated(op: Operation, operands: Sequence[str]) -> str:
    if op.results[0].type == i1:
        return f"({operands[0]} & 1) != 0"
    return f"({value_type(op.results[0].type)}){operands[0]}"


_Form = Callable[[Operation, Sequence[str]], str]
_FORMS: dict[type[Operation], _Form] = {
    arith.ConstantOp: _constant,
    arith.CmpfOp: _compare_floats,
    arith.CmpiOp: _compare_integers,
    arith.SelectOp: lambda op, operands: f"{operands[0]} ? {operands[1]} : {operands[2]}",
    arith.NegfOp: lambda op, operands: f"-{operands[0]}",
    arith.ExtFOp: _extended_float,
    arith.TruncFOp: _truncated_float,
    arith.SIToFPOp: _converted,
    arith.UIToFPOp: _converted,
    arith.FPToSIOp: _converted,
    arith.IndexCastOp: _converted,
    arith.ExtSIOp: _converted,
    arith.ExtUIOp: _converted,
    arith.TruncIOp: _truncated,
}
