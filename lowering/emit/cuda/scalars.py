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
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from ....dialects.array.core import bit_width
from ....dialects.attributes import EXACT_ATTRIBUTE
from ....dialects.diagnostics import OpError
from ....dialects.kernel.integer_ranges import I32_RANGE, IntegerRanges, is_within
from ..scalar_names import (
    EXTREMES,
    FUNCTIONS,
    INFIX,
    INTEGER_FUNCTIONS,
    QUOTIENTS,
    SIGNED_PREDICATES,
    UNSIGNED_PREDICATES,
    WRAPPING,
    is_summed,
)

_CALLS: dict[type[Operation], str] = {
    **FUNCTIONS,
    arith.MaxnumfOp: "max_number",
    arith.MinnumfOp: "min_number",
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
            return "long long"
        case IntegerType():
            return {1: "bool", 32: "int", 64: "long long"}[bit_width(type)]
        case _:
            return "float"


def type_of(value: SSAValue, ranges: IntegerRanges) -> str:
    """The C++ type of a value: an index is an int where that is known to hold it."""
    if isinstance(value.type, IndexType) and is_within(ranges[value], I32_RANGE):
        return "int"
    return value_type(value.type)


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


def expression(op: Operation, operands: Sequence[str], ranges: IntegerRanges, *, fast: bool = False) -> str:
    """The value of a scalar operation; `operands` are names, `ranges` those of the integers around it. With
    `fast`, by approximate units if a GPU has them. Raises OpError for an operation without a form.
    """
    kind = type(op)
    if fast and kind in _FAST and value_type(op.results[0].type) == "float":
        return f"bb::{_FAST[kind]}({', '.join(operands)})"
    if is_summed(op):
        return f"bb::scalar::product({operands[0]}, {operands[1]})"
    if kind in INFIX:
        return f"{operands[0]} {INFIX[kind]} {operands[1]}"
    if kind in WRAPPING:
        # Unsigned, for what overflows wraps around.
        own = type_of(op.results[0], ranges)
        if own == "bool":
            return f"(({operands[0]} {WRAPPING[kind]} {operands[1]}) & 1) != 0"
        unsigned = f"unsigned {own}"
        return f"({own})(({unsigned}){operands[0]} {WRAPPING[kind]} ({unsigned}){operands[1]})"
    if kind in QUOTIENTS or kind in INTEGER_FUNCTIONS or kind in EXTREMES:
        return _of_integers(op, operands, ranges)
    if kind in _CALLS:
        return f"bb::scalar::{_CALLS[kind]}({', '.join(operands)})"
    form = _FORMS.get(kind)
    if form is None:
        raise OpError(op, "has no form on a GPU")
    return form(op, operands, ranges)


_SHIFTS = (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp)
_OF_SIGNED = (
    *(arith.DivSIOp, arith.CeilDivSIOp, arith.FloorDivSIOp, arith.RemSIOp, arith.ShRSIOp),
    *(arith.MaxSIOp, arith.MinSIOp, math.AbsIOp),
)


def _of_integers(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    """A call of a function that has a meaning for all integers."""
    kind, result = type(op), op.results[0]
    types = {type_of(value, ranges) for value in (*op.operands, result)}
    held = "long long" if "long long" in types else "int"
    if kind in QUOTIENTS:
        name, rounding = QUOTIENTS[kind]
        arguments = f"bb::scalar::Round::{rounding}, {held}"
    elif kind in EXTREMES:
        name, arguments = EXTREMES[kind], held
    else:
        name = INTEGER_FUNCTIONS[kind]
        arguments = f"{_bits(result.type)}, {held}" if kind in _SHIFTS else held
    if result.type == i1:
        signed = kind in _OF_SIGNED
        values = [
            f"{'-' if signed and not (kind in _SHIFTS and place) else ''}(int){name_}"
            for place, name_ in enumerate(operands)
        ]
        return f"(bb::scalar::{name}<{arguments}>({', '.join(values)}) & 1) != 0"
    value = f"bb::scalar::{name}<{arguments}>({', '.join(operands)})"
    return value if held == type_of(result, ranges) else f"(int){value}"


def _bits(type: Attribute) -> int:
    return 64 if isinstance(type, IndexType) else bit_width(type)


def integer(value: int) -> str:
    """A literal of a signed integer of at most 64 bits."""
    if -(1 << 31) <= value < 1 << 31:
        return str(value) if value > -(1 << 31) else "(-2147483647 - 1)"
    return f"(long long){value & (1 << 64) - 1}ull"


def _constant(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    assert isinstance(op, arith.ConstantOp)
    type = op.result.type
    exact = op.attributes.get(EXACT_ATTRIBUTE)
    value = exact if exact is not None else op.value
    if isa(value, FloatAttr):
        return number(value.value.data, type)
    assert isa(op.value, IntegerAttr)
    number_ = op.value.value.data
    if type == i1:
        return "true" if number_ else "false"
    if type == i64:
        return f"(long long){number_ & (1 << 64) - 1}ull"
    return integer(number_)


def _compare_floats(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    assert isinstance(op, arith.CmpfOp)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate in ("false", "true"):
        return predicate
    return _FLOAT_PREDICATES[predicate].format(a=operands[0], b=operands[1])


def _compare_integers(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    assert isinstance(op, arith.CmpiOp)
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    a, b = operands
    sign = SIGNED_PREDICATES.get(predicate)
    if sign is None:
        held = {type_of(value, ranges) for value in op.operands}
        unsigned = "unsigned long long" if "long long" in held else "unsigned"
        # An int among long longs is extended as a signed number first.
        to = "(long long)" if held == {"int", "long long"} else ""
        return f"({unsigned}){to}{a} {UNSIGNED_PREDICATES[predicate]} ({unsigned}){to}{b}"
    if op.lhs.type == i1 and predicate not in ("eq", "ne"):
        return f"-(int){a} {sign} -(int){b}"
    return f"{a} {sign} {b}"


def _truncated_float(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    return f"bb::scalar::rounded<{storage_type(op.results[0].type)}>({operands[0]})"


def _extended_float(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    own = value_type(op.results[0].type)
    return operands[0] if own == value_type(op.operands[0].type) else f"({own}){operands[0]}"


def _to_float(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    source, type = op.operands[0].type, op.results[0].type
    value = operands[0]
    if isinstance(op, arith.SIToFPOp):
        value = f"-(int){value}" if source == i1 else value
    elif source != i1:
        value = f"(unsigned {value_type(source)}){value}"
    narrow = isinstance(type, Float16Type | BFloat16Type)
    return f"bb::scalar::rounded<{storage_type(type)}>({value})" if narrow else f"({value_type(type)}){value}"


def _to_integer(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    type = op.results[0].type
    name = "to_signed" if isinstance(op, arith.FPToSIOp) else "to_unsigned"
    held = "int" if type == i1 else value_type(type)
    value = f"bb::scalar::{name}<{_bits(type)}, {held}>({operands[0]})"
    return f"({value} & 1) != 0" if type == i1 else value


def _cast(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    """An extension, or an index as an integer and back."""
    source = op.operands[0].type
    own = type_of(op.results[0], ranges)
    if source == i1 and not isinstance(op, arith.ExtUIOp):
        return f"({own})-(int){operands[0]}"
    if source != i1 and isinstance(op, arith.ExtUIOp):
        return f"({own})(unsigned){operands[0]}"
    return f"({own}){operands[0]}"


def _truncated(op: Operation, operands: Sequence[str], ranges: IntegerRanges) -> str:
    if op.results[0].type == i1:
        return f"({operands[0]} & 1) != 0"
    return f"({value_type(op.results[0].type)}){operands[0]}"


_Form = Callable[[Operation, Sequence[str], IntegerRanges], str]
_FORMS: dict[type[Operation], _Form] = {
    arith.ConstantOp: _constant,
    arith.CmpfOp: _compare_floats,
    arith.CmpiOp: _compare_integers,
    arith.SelectOp: lambda op, operands, ranges: f"{operands[0]} ? {operands[1]} : {operands[2]}",
    arith.NegfOp: lambda op, operands, ranges: f"-{operands[0]}",
    arith.ExtFOp: _extended_float,
    arith.TruncFOp: _truncated_float,
    arith.SIToFPOp: _to_float,
    arith.UIToFPOp: _to_float,
    arith.FPToSIOp: _to_integer,
    arith.FPToUIOp: _to_integer,
    arith.IndexCastOp: _cast,
    arith.ExtSIOp: _cast,
    arith.ExtUIOp: _cast,
    arith.TruncIOp: _truncated,
}
