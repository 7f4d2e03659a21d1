"""Scalar operations of sweeps as expressions on vectors of the tile library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import copysign, isinf, isnan

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.hints import isa

from ....dialects.array.core import bit_width
from ....dialects.attributes import EXACT_ATTRIBUTE
from ....dialects.diagnostics import OpError
from ....dialects.kernel.integer_ranges import IntegerRanges, type_range
from ....dialects.scalar import significand_bits
from ..scalar_names import (
    EXTREMES,
    FUNCTIONS,
    INFIX,
    INTEGER_FUNCTIONS,
    QUOTIENTS,
    SIGNED_PREDICATES,
    WRAPPING,
    is_summed,
)

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


@dataclass(frozen=True)
class Lanes:
    """The lanes of a kernel, of 64 bits (f64, i64) or of 32 (f32, i32), and a sweep's ranges of integers."""

    wide: bool
    ranges: IntegerRanges | None = None

    @property
    def bits(self) -> int:
        """The bits of a lane."""
        return 64 if self.wide else 32

    def wraps(self, op: Operation) -> bool:
        """True unless the exact result of an operation is known to fit its type."""
        return self.ranges is None or self.ranges.wraps(op)


def expression(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    """The value of a scalar operation; `operands` are names of vectors. Raises OpError for one without a
    form.
    """
    kind, listed = type(op), ", ".join(operands)
    if kind in WRAPPING:
        return _wrapping(op, operands, lanes)
    if kind in QUOTIENTS:
        name, rounding = QUOTIENTS[kind]
        return f"bb::{name}<bb::Round::{rounding}, {_bits(op.results[0].type)}>({listed})"
    if kind in INTEGER_FUNCTIONS:
        return f"bb::{INTEGER_FUNCTIONS[kind]}<{_bits(op.results[0].type)}>({listed})"
    if kind in EXTREMES:
        return f"bb::{EXTREMES[kind]}({listed})"
    if is_summed(op):
        value = f"bb::product({listed})"
    elif kind in INFIX:
        value = f"{operands[0]} {INFIX[kind]} {operands[1]}"
    elif kind in FUNCTIONS and kind not in _FORMS:
        value = f"bb::{FUNCTIONS[kind]}({listed})"
    elif (form := _FORMS.get(kind)) is not None:
        return form(op, operands, lanes)
    else:
        raise OpError(op, "has no form on a CPU")
    # An f32 is rounded after each operation, as where lanes have 32 bits.
    rounded = lanes.wide and isinstance(op.results[0].type, Float32Type) and kind not in _EXACT
    return f"bb::rounded<float>({value})" if rounded else value


_EXACT = (arith.MaximumfOp, arith.MinimumfOp, math.AbsFOp, math.FloorOp, math.CeilOp)
"""Operations whose result is one of the operands, or has no more digits than they have."""


def _bits(type: Attribute) -> int:
    """The bits of an integer type."""
    return 64 if isinstance(type, IndexType) else bit_width(type)


def _narrowed(value: str, type: Attribute) -> str:
    return f"bb::narrow<{_bits(type)}>({value})"


def _wrapping(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    """Plain where the result is known to fit: overflow of signed numbers has no meaning in C++."""
    kind, type = op.__class__, op.results[0].type
    if not lanes.wraps(op):
        return f"{operands[0]} {WRAPPING[kind]} {operands[1]}"
    value = f"bb::wrapping_{_WRAPPING_NAMES[kind]}({', '.join(operands)})"
    return value if _bits(type) >= lanes.bits else _narrowed(value, type)


def _constant(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    assert isinstance(op, arith.ConstantOp)
    exact = op.attributes.get(EXACT_ATTRIBUTE)
    value = (
        op.value if exact is None or (lanes.wide and not isinstance(op.result.type, Float64Type)) else exact
    )
    if isa(value, FloatAttr):
        return f"bb::splat<T>({number(value.value.data, lanes.wide)})"
    assert isa(op.value, IntegerAttr)
    integer = op.value.value.data
    if op.value.type == i1:
        return "I{} - 1" if integer else "I{}"
    return f"I{{}} + (Int){integer_literal(integer)}"


def integer_literal(integer: int) -> str:
    """A literal of a signed integer of at most 64 bits."""
    if -(1 << 31) <= integer < 1 << 31:
        return str(integer)
    return f"{integer & (1 << 64) - 1}ull" if integer == -(1 << 63) else f"{integer}ll"


def _compare_floats(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    assert isinstance(op, arith.CmpfOp)
    predicate = arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    if predicate in ("false", "true"):
        return "I{}" if predicate == "false" else "I{} - 1"
    return _FLOAT_PREDICATES[predicate].format(a=operands[0], b=operands[1])


def _compare_integers(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    assert isinstance(op, arith.CmpiOp)
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    sign = SIGNED_PREDICATES.get(predicate)
    if sign is not None:
        return f"{operands[0]} {sign} {operands[1]}"
    a, b = operands if predicate in ("ult", "uge") else reversed(operands)
    less = f"bb::unsigned_less({a}, {b})"
    return less if predicate in ("ult", "ugt") else f"~{less}"


def _extreme(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    """A maximum or minimum that is NaN where an operand is, with -0 below 0.

    `max_nan` and `min_nan` give the second of two zeros. With a constant, the order of the operands makes
    that the right one.
    """
    largest = isinstance(op, arith.MaximumfOp)
    names = list(operands)
    numbers = [_number(operand) for operand in op.operands]
    if numbers[0] is not None:
        numbers, names = numbers[::-1], names[::-1]
    constant = numbers[1]
    if constant is None:
        return f"bb::{FUNCTIONS[type(op)]}({', '.join(operands)})"
    if (copysign(1.0, constant) < 0) == largest:
        names = names[::-1]
    return f"bb::{'max_nan' if largest else 'min_nan'}({', '.join(names)})"


def _number(operand: SSAValue) -> float | None:
    owner = operand.owner
    value = owner.value if isinstance(owner, arith.ConstantOp) else None
    return value.value.data if isa(value, FloatAttr) and not isnan(value.value.data) else None


def _select(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    return f"{operands[0]} ? {operands[1]} : {operands[2]}"


def _rounded(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    type = op.results[0].type
    if not lanes.wide and isinstance(type, Float32Type):
        return operands[0]
    return f"bb::rounded<{_ROUNDED[type.__class__]}>({operands[0]})"


def _to_float(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    source, type = op.operands[0].type, op.results[0].type
    unsigned = isinstance(op, arith.UIToFPOp)
    if source == i1:
        return f"bb::as_float<T>({operands[0]}{' & 1' if unsigned else ''})"
    least, most = lanes.ranges[op.operands[0]] if lanes.ranges is not None else type_range(source)
    unsigned = unsigned and least < 0
    is_widest = isinstance(type, Float64Type if lanes.wide else Float32Type)
    if not unsigned and (is_widest or max(-least, most) <= 1 << significand_bits(type)):
        return f"bb::as_float<T>({operands[0]})"
    stored = _ROUNDED.get(type.__class__, "double")
    if unsigned:
        return f"bb::from_unsigned<T, {stored}, {_bits(source)}>({operands[0]})"
    return f"bb::from_signed<T, {stored}>({operands[0]})"


def _to_integer(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    name = "to_signed" if isinstance(op, arith.FPToSIOp) else "to_unsigned"
    return f"bb::{name}<{_bits(op.results[0].type)}>({operands[0]})"


def _same(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    return operands[0]


def _extended(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    type = op.operands[0].type
    if type == i1:
        return f"{operands[0]} & 1"
    known = lanes.ranges is not None and lanes.ranges[op.operands[0]][0] >= 0
    return operands[0] if known else f"bb::zero_extended<{_bits(type)}>({operands[0]})"


def _truncated(op: Operation, operands: Sequence[str], lanes: Lanes) -> str:
    """A truncation, or an index as an integer."""
    type = op.results[0].type
    if type == i1:
        return f"({operands[0]} & 1) != 0"
    fits = _bits(type) >= lanes.bits or not lanes.wraps(op)
    return operands[0] if fits else _narrowed(operands[0], type)


_WRAPPING_NAMES: dict[type[Operation], str] = {arith.AddiOp: "add", arith.SubiOp: "sub", arith.MuliOp: "mul"}
_Form = Callable[[Operation, Sequence[str], Lanes], str]
_FORMS: dict[type[Operation], _Form] = {
    arith.ConstantOp: _constant,
    arith.CmpfOp: _compare_floats,
    arith.CmpiOp: _compare_integers,
    arith.SelectOp: _select,
    arith.NegfOp: lambda op, operands, lanes: f"-{operands[0]}",
    arith.MaximumfOp: _extreme,
    arith.MinimumfOp: _extreme,
    arith.MaxnumfOp: lambda op, operands, lanes: "{1} != {1} ? {0} : bb::max({0}, {1})".format(*operands),
    arith.MinnumfOp: lambda op, operands, lanes: "{1} != {1} ? {0} : bb::min({0}, {1})".format(*operands),
    arith.ExtFOp: _same,
    arith.TruncFOp: _rounded,
    arith.SIToFPOp: _to_float,
    arith.UIToFPOp: _to_float,
    arith.FPToSIOp: _to_integer,
    arith.FPToUIOp: _to_integer,
    arith.IndexCastOp: _truncated,
    arith.ExtSIOp: _same,
    arith.ExtUIOp: _extended,
    arith.TruncIOp: _truncated,
}
