"""Semantics of each scalar operation of an element-wise region, on whole numpy arrays at once.

Values have their own dtype (16-bit floats are computed in float32 and rounded after every operation). In
float64 mode every float type is float64, `arith.extf` and `arith.truncf` change nothing, and a constant with
`bb.exact` is the number from which it was rounded.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import (
    FloatAttr,
    IntegerAttr,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa

from ...dialects.scalar import INDEX_OPS, constant_number, significand_bits
from ..arrays.dtypes import Array, numpy_dtype, to_dtype, widen
from ..errors import InterpreterError

ScalarFunction: TypeAlias = Callable[[Operation, Sequence[Array], np.dtype[Any]], Array]
"""(operation, operand arrays, dtype of the result) -> result, not necessarily of that dtype yet."""
IndexValues: TypeAlias = Callable[[Operation], Array]
"""Gives the value of `block.index` and `block.extent` operations."""


def _horner(x: Array, coefficients: Sequence[float]) -> Array:
    result = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = result * x + coefficient
    return result


# Rational approximations of FreeBSD's s_erf.c (Sun Microsystems), error below one unit in the last place.
_ERF_SMALL = (
    *(1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02),
    *(-5.77027029648944159157e-03, -2.37630166566501626084e-05),
)
_ERF_SMALL_Q = (
    *(1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03),
    *(1.32494738004321644526e-04, -3.96022827877536812320e-06),
)
_ERF_ONE = (
    *(-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01),
    *(3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02),
    -2.16637559486879084300e-03,
)
_ERF_ONE_Q = (
    *(1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02),
    *(1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
)
_ERFC_NEAR = (
    *(-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01),
    *(-6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02),
    *(-8.12874355063065934246e01, -9.81432934416914548592e00),
)
_ERFC_NEAR_Q = (
    *(1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02),
    *(6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02),
    *(6.57024977031928170135e00, -6.04244152148580987438e-02),
)
_ERFC_FAR = (
    *(-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01),
    *(-1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03),
    -4.83519191608651397019e02,
)
_ERFC_FAR_Q = (
    *(1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03),
    *(3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02),
    -2.24409524465858183362e01,
)
_ERF_AT_ONE = 8.45062911510467529297e-01


def erf(x: Array) -> Array:
    """The error function, in float64 accuracy; result in the dtype of `x`."""
    value = np.asarray(x, dtype=np.float64)
    magnitude = np.abs(value)
    square = value * value
    small = value + value * (_horner(square, _ERF_SMALL) / _horner(square, _ERF_SMALL_Q))
    shifted = magnitude - 1.0
    middle = _ERF_AT_ONE + _horner(shifted, _ERF_ONE) / _horner(shifted, _ERF_ONE_Q)
    outer = np.clip(magnitude, 1.25, 6.0)
    inverse = 1.0 / (outer * outer)
    ratio = np.where(
        outer < 1 / 0.35,
        _horner(inverse, _ERFC_NEAR) / _horner(inverse, _ERFC_NEAR_Q),
        _horner(inverse, _ERFC_FAR) / _horner(inverse, _ERFC_FAR_Q),
    )
    large = 1.0 - np.exp(-outer * outer - 0.5625 + ratio) / outer
    tail = np.where(magnitude < 1.25, middle, large)
    result = np.where(magnitude < 0.84375, small, np.where(np.isnan(value), value, np.copysign(tail, value)))
    return result.astype(x.dtype, copy=False)


def _maximum(a: Array, b: Array) -> Array:
    """The larger number, NaN where one is; 0 of the two zeros."""
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def _minimum(a: Array, b: Array) -> Array:
    """The smaller number, NaN where one is; -0 of the two zeros."""
    return np.where((a == 0) & (b == 0), -(-a - b), np.minimum(a, b))


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c computed in float64, where the product of narrower floats is exact."""
    return (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(a.dtype)


def _floats(function: Callable[..., Array]) -> ScalarFunction:
    def evaluate(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
        return function(*(widen(arg) for arg in args))

    return evaluate


def _signed(array: Array) -> Array:
    """Integers as signed numbers: a true i1 is -1."""
    return -array.astype(np.int8) if array.dtype == np.bool_ else array


def _unsigned(array: Array) -> Array:
    """Integers as unsigned numbers."""
    return array.astype(np.uint8) if array.dtype == np.bool_ else array.astype(f"u{array.dtype.name}")


def _integers(function: Callable[..., Array]) -> ScalarFunction:
    def evaluate(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
        return function(*(_signed(arg) for arg in args))

    return evaluate


def _of_unsigned(function: Callable[..., Array]) -> ScalarFunction:
    def evaluate(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
        return function(*(_unsigned(arg) for arg in args))

    return evaluate


class _Rounding(Enum):
    """Direction in which the quotient of a signed division is rounded."""

    TOWARDS_ZERO = auto()
    UP = auto()
    DOWN = auto()


def _signed_division(rounding: _Rounding) -> ScalarFunction:
    """Division by 0 gives 0; the least number by -1 wraps around to itself."""

    def divide(a: Array, b: Array) -> Array:
        divisor = np.where((b == 0) | (b == -1), 1, b).astype(b.dtype)
        quotient = np.floor_divide(a, divisor)
        inexact = quotient * divisor != a
        if rounding is _Rounding.TOWARDS_ZERO:
            inexact &= (a < 0) != (b < 0)
        if rounding is not _Rounding.DOWN:
            quotient = quotient + inexact.astype(a.dtype)
        return np.where(b == 0, 0, np.where(b == -1, np.negative(a), quotient))

    return _integers(divide)


def _unsigned_division(*, up: bool) -> ScalarFunction:
    """Division by 0 gives 0."""

    def divide(a: Array, b: Array) -> Array:
        divisor = np.maximum(b, np.ones_like(b))
        quotient = np.floor_divide(a, divisor)
        if up:
            quotient = quotient + (quotient * divisor != a).astype(a.dtype)
        return np.where(b == 0, np.zeros_like(quotient), quotient)

    return _of_unsigned(divide)


def _signed_remainder(a: Array, b: Array) -> Array:
    """a - trunc(a / b) b, with the sign of a; 0 for b = 0."""
    return np.fmod(a, np.where((b == 0) | (b == -1), 1, b).astype(b.dtype))


def _unsigned_remainder(a: Array, b: Array) -> Array:
    """0 for b = 0."""
    return np.fmod(a, np.maximum(b, np.ones_like(b)))


def _shift(function: Callable[[Array, Array], Array], *, signed: bool, past: int) -> ScalarFunction:
    """A shift by an unsigned count. A count of at least the width gives 0, or shifts by `past` bits less than
    the width.
    """

    def evaluate(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
        value, count = args
        width = 1 if value.dtype == np.bool_ else 8 * value.dtype.itemsize
        count = _unsigned(count)
        value = _signed(value) if signed else _unsigned(value)
        within = count < width
        clipped = np.where(within, count, width - past).astype(value.dtype)
        shifted = function(value, clipped if past else np.where(within, clipped, 0).astype(value.dtype))
        return shifted if past else np.where(within, shifted, np.zeros_like(shifted))

    return evaluate


def _constant(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    value = op.properties["value"]
    if isinstance(value, IntegerAttr):
        return np.asarray(value.value.data).astype(np.int64)
    assert isa(value, FloatAttr)
    number = constant_number(op) if dtype == np.float64 else value.value.data
    return np.asarray(number, dtype=np.float64)


def numbers_of(array: Array, element_type: Attribute) -> Array:
    """The numbers that the constants in an array of floats stand for, in float64; see `number_of`."""
    value = array.astype(np.float64)
    size, bits = np.abs(value), significand_bits(element_type)
    with np.errstate(all="ignore"):
        n = np.rint(1 / size)
        half_unit = 2.0 ** (np.frexp(value)[1] - bits - 1)
        before, found, after = (np.abs(1 / other - size) <= half_unit for other in (n - 1, n, n + 1))
        is_reciprocal = (size < 0.5) & ~before & found & ~after
        return np.where(is_reciprocal & (bits < 53), np.copysign(1 / n, value), value)


def _select(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    condition, when_true, when_false = args
    return np.where(condition, when_true, when_false)


def _ordered(a: Array, b: Array) -> Array:
    return ~(np.isnan(a) | np.isnan(b))


# arith's predicates in the order of their numbers.
FLOAT_PREDICATES: tuple[Callable[[Array, Array], Array], ...] = (
    lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_),  # false
    lambda a, b: np.equal(a, b),  # oeq
    lambda a, b: np.greater(a, b),  # ogt
    lambda a, b: np.greater_equal(a, b),  # oge
    lambda a, b: np.less(a, b),  # olt
    lambda a, b: np.less_equal(a, b),  # ole
    lambda a, b: np.not_equal(a, b) & _ordered(a, b),  # one
    _ordered,  # ord
    lambda a, b: np.equal(a, b) | ~_ordered(a, b),  # ueq
    lambda a, b: ~np.less_equal(a, b),  # ugt
    lambda a, b: ~np.less(a, b),  # uge
    lambda a, b: ~np.greater_equal(a, b),  # ult
    lambda a, b: ~np.greater(a, b),  # ule
    lambda a, b: np.not_equal(a, b),  # une
    lambda a, b: ~_ordered(a, b),  # uno
    lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_),  # true
)
INTEGER_PREDICATES: tuple[Callable[[Array, Array], Array], ...] = (
    lambda a, b: np.equal(a, b),  # eq
    lambda a, b: np.not_equal(a, b),  # ne
    lambda a, b: np.less(_signed(a), _signed(b)),  # slt
    lambda a, b: np.less_equal(_signed(a), _signed(b)),  # sle
    lambda a, b: np.greater(_signed(a), _signed(b)),  # sgt
    lambda a, b: np.greater_equal(_signed(a), _signed(b)),  # sge
    lambda a, b: np.less(_unsigned(a), _unsigned(b)),  # ult
    lambda a, b: np.less_equal(_unsigned(a), _unsigned(b)),  # ule
    lambda a, b: np.greater(_unsigned(a), _unsigned(b)),  # ugt
    lambda a, b: np.greater_equal(_unsigned(a), _unsigned(b)),  # uge
)


def _compare(predicates: Sequence[Callable[[Array, Array], Array]]) -> ScalarFunction:
    def evaluate(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
        number = op.properties["predicate"]
        assert isinstance(number, IntegerAttr)
        return np.asarray(predicates[number.value.data](widen(args[0]), widen(args[1])))

    return evaluate


def _float_to_integer(*, signed: bool) -> ScalarFunction:
    """Round towards zero; numbers out of range give the nearest number in range and NaN gives 0, where arith
    leaves the result undefined.
    """

    def evaluate(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
        value = np.trunc(args[0].astype(np.float64))
        width = 1 if dtype == np.bool_ else 8 * dtype.itemsize
        least, end = (-(1 << width - 1), 1 << width - 1) if signed else (0, 1 << width)
        held = np.dtype(np.int64 if signed else np.uint64)
        inside = np.where((value >= least) & (value < end), value, 0.0).astype(held)
        beyond = np.where(value < least, held.type(least), np.where(value >= end, held.type(end - 1), inside))
        return beyond.astype(held)

    return evaluate


def _identity(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    return args[0]


def _from_signed(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    return _signed(args[0])


def _from_unsigned(op: Operation, args: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    return _unsigned(args[0])


SCALAR_FUNCTIONS: Mapping[str, ScalarFunction] = {
    "arith.constant": _constant,
    "arith.select": _select,
    "arith.cmpf": _compare(FLOAT_PREDICATES),
    "arith.cmpi": _compare(INTEGER_PREDICATES),
    "arith.addf": _floats(np.add),
    "arith.subf": _floats(np.subtract),
    "arith.mulf": _floats(np.multiply),
    "arith.divf": _floats(np.divide),
    "arith.negf": _floats(np.negative),
    "arith.maximumf": _floats(_maximum),
    "arith.minimumf": _floats(_minimum),
    "arith.maxnumf": _floats(np.fmax),
    "arith.minnumf": _floats(np.fmin),
    "arith.addi": _integers(np.add),
    "arith.subi": _integers(np.subtract),
    "arith.muli": _integers(np.multiply),
    "arith.divsi": _signed_division(_Rounding.TOWARDS_ZERO),
    "arith.ceildivsi": _signed_division(_Rounding.UP),
    "arith.floordivsi": _signed_division(_Rounding.DOWN),
    "arith.remsi": _integers(_signed_remainder),
    "arith.divui": _unsigned_division(up=False),
    "arith.ceildivui": _unsigned_division(up=True),
    "arith.remui": _of_unsigned(_unsigned_remainder),
    "arith.shli": _shift(np.left_shift, signed=False, past=0),
    "arith.shrui": _shift(np.right_shift, signed=False, past=0),
    "arith.shrsi": _shift(np.right_shift, signed=True, past=1),
    "arith.andi": _integers(np.bitwise_and),
    "arith.ori": _integers(np.bitwise_or),
    "arith.xori": _integers(np.bitwise_xor),
    "arith.maxsi": _integers(np.maximum),
    "arith.minsi": _integers(np.minimum),
    "arith.maxui": _of_unsigned(np.maximum),
    "arith.minui": _of_unsigned(np.minimum),
    "arith.extf": _identity,
    "arith.truncf": _identity,
    "arith.sitofp": _from_signed,
    "arith.uitofp": _from_unsigned,
    "arith.fptosi": _float_to_integer(signed=True),
    "arith.fptoui": _float_to_integer(signed=False),
    "arith.index_cast": _from_signed,
    "arith.extsi": _from_signed,
    "arith.extui": _from_unsigned,
    "arith.trunci": _identity,
    "math.exp": _floats(np.exp),
    "math.exp2": _floats(np.exp2),
    "math.expm1": _floats(np.expm1),
    "math.log": _floats(np.log),
    "math.log2": _floats(np.log2),
    "math.log1p": _floats(np.log1p),
    "math.sqrt": _floats(np.sqrt),
    "math.rsqrt": _floats(_rsqrt),
    "math.powf": _floats(np.power),
    "math.fma": _floats(_fma),
    "math.tanh": _floats(np.tanh),
    "math.erf": _floats(erf),
    "math.sin": _floats(np.sin),
    "math.cos": _floats(np.cos),
    "math.absf": _floats(np.abs),
    "math.absi": _integers(np.abs),
    "math.floor": _floats(np.floor),
    "math.ceil": _floats(np.ceil),
}
"""The meaning of every operation in `dialects.scalar.SCALAR_OPS`."""


def evaluate_scalar_op(op: Operation, args: Sequence[Array], *, float64: bool) -> Array:
    """The result of one scalar operation on arrays that broadcast together. Raises InterpreterError."""
    function = SCALAR_FUNCTIONS.get(op.name)
    if function is None:
        raise InterpreterError(f"'{op.name}' has no meaning in an element-wise region", op)
    dtype = numpy_dtype(op.results[0].type, float64)
    with np.errstate(all="ignore"):
        return to_dtype(np.asarray(function(op, args, dtype)), dtype)


def evaluate_scalar_region(
    region: Region | Block,
    args: Sequence[Array],
    *,
    float64: bool,
    index_values: IndexValues | None = None,
) -> list[Array]:
    """Return the yields of the region for the arguments `args`, arrays that broadcast together.

    Results have the dtypes of the yielded types; one that depends on no argument keeps its own smaller shape.
    `index_values` gives the values of `block.index` and `block.extent`. Raises InterpreterError.
    """
    block = region.block if isinstance(region, Region) else region
    values = dict[SSAValue, Array]()
    for argument, array in zip(block.args, args, strict=True):
        values[argument] = np.asarray(array).astype(numpy_dtype(argument.type, float64), copy=False)
    for op in block.ops:
        if not op.results:
            return [values[operand] for operand in op.operands]
        if op.name in INDEX_OPS:
            if index_values is None:
                raise InterpreterError(f"'{op.name}' has no meaning outside a block program", op)
            values[op.results[0]] = index_values(op)
            continue
        values[op.results[0]] = evaluate_scalar_op(
            op, [values[operand] for operand in op.operands], float64=float64
        )
    raise AssertionError("an element-wise region ends with a terminator")
