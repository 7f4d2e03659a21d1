"""Element-wise ATen operations: arithmetic, comparisons, conversions, activations."""

from __future__ import annotations

from typing import Any

import torch
from xdsl.dialects import math
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute, SSAValue

from ....dialects.array import element_type_of
from ....dialects.builder import Array
from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from ...shared import elementwise, scalars
from ...shared.elementwise import Operand, pointwise
from ...shared.errors import Unsupported
from ..types import element_type
from .context import Context, Converter


def _floats(c: Context, x: Array) -> Array:
    """The operand in the result's type, which is a float where torch promotes integers."""
    if not is_float(c.type):
        raise Unsupported(f"it has no meaning for elements of type {c.type}")
    return c.same(x)


def _function(name: str) -> Converter:
    def convert(c: Context, x: Array) -> Array:
        return elementwise.unary(name, _floats(c, x))

    return convert


def _scalar_function(function: scalars.Unary) -> Converter:
    """A function of one number that is computed in the result's type."""

    def convert(c: Context, x: Array) -> Array:
        return pointwise(function, (x,), scalars.computed_in(c.type), c.type)

    return convert


def _compute_type(type: Attribute, *operands: Operand) -> Attribute:
    """Arithmetic with a number of Python is done in f32 for floats of 16 bits: the number is not rounded."""
    return type if all(isinstance(x, Array) for x in operands) else scalars.computed_in(type)


def _scaled(b: Operand, alpha: float, type: Attribute) -> Operand:
    if alpha == 1:
        return b
    return elementwise.binary("mul", b, alpha, type) if isinstance(b, Array) else b * alpha


def _binary(name: str) -> Converter:
    form = scalars.ARITHMETIC[name]

    def convert(c: Context, a: Operand, b: Operand, alpha: float = 1) -> Array:
        compute = _compute_type(c.type, a, b)
        op = form.of(compute)
        return pointwise(lambda s, x, y: s.insert(op(x, y)), (a, _scaled(b, alpha, compute)), compute, c.type)

    return convert


def _reversed_subtraction(c: Context, a: Operand, b: Operand, alpha: float = 1) -> Array:
    return _binary("sub")(c, b, _scaled(a, alpha, c.type))  # pyright: ignore[reportReturnType]


def _division(c: Context, a: Operand, b: Operand, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return _binary("div")(c, a, b)  # pyright: ignore[reportReturnType]
    if not is_float(c.type):
        return elementwise.binary(f"div_{rounding_mode}", a, b, c.type)
    if rounding_mode != "floor":
        raise Unsupported(f"a division of floats with rounding_mode='{rounding_mode}'")

    def floor(s: ScalarBuilder, x: SSAValue, y: SSAValue) -> SSAValue:
        return s.insert(math.FloorOp(s.divide(x, y)))

    return pointwise(floor, (a, b), scalars.computed_in(c.type), c.type)


def _floor_division(c: Context, a: Operand, b: Operand) -> Array:
    return _division(c, a, b, "floor")


def _remainder(c: Context, a: Operand, b: Operand) -> Array:
    return pointwise(scalars.floored_remainder, (a, b), scalars.computed_in(c.type), c.type)


def _truncated_remainder(c: Context, a: Operand, b: Operand) -> Array:
    """The remainder with the sign of the dividend, of integers."""
    return elementwise.binary("rem_trunc", a, b, c.type)


def _comparison(kind: scalars.Comparison) -> Converter:
    def convert(c: Context, a: Operand, b: Operand) -> Array:
        dtype = torch.result_type(c.operand(0), c.operand(1))
        return elementwise.compare(kind, a, b, element_type(dtype))

    return convert


def _logical(name: str) -> Converter:
    def convert(c: Context, a: Operand, b: Operand) -> Array:
        return elementwise.binary(name, a, b, i1)

    return convert


def _logical_not(c: Context, x: Array) -> Array:
    return pointwise(scalars.inverted, (x,), i1)


def _power(c: Context, x: Array, exponent: float) -> Array:
    compute = scalars.computed_in(c.type)
    return pointwise(lambda s, a: scalars.power(s, a, exponent), (x,), compute, c.type)


def _power_of(c: Context, a: Operand, b: Operand) -> Array:
    if not is_float(c.type):
        raise Unsupported("powers of integers")
    compute = scalars.computed_in(c.type)
    return pointwise(lambda s, x, y: s.insert(math.PowFOp(x, y)), (a, b), compute, c.type)


def _clamp(c: Context, x: Array, min: Operand | None = None, max: Operand | None = None) -> Array:
    return elementwise.clamp(x, min, max, c.type)


def _clamp_max(c: Context, x: Array, high: Operand) -> Array:
    return _clamp(c, x, None, high)


def _where(c: Context, condition: Array, a: Operand, b: Operand) -> Array:
    return elementwise.where(condition, a, b, c.type)


def _masked_fill(c: Context, x: Array, mask: Array, value: Operand) -> Array:
    return elementwise.where(mask, value, x, c.type)


def _converted(c: Context, x: Array, *_: Any, **__: Any) -> Array:
    return c.same(x)


def _same(c: Context, x: Array, *_: Any, **__: Any) -> Array:
    return x


def _dropout(c: Context, x: Array, p: float, train: bool) -> Array:
    if train and p:
        raise Unsupported("dropout while training, expected a module after eval()")
    return x


def _gelu(c: Context, x: Array, approximate: str = "none") -> Array:
    return x.gelu("tanh" if approximate == "tanh" else "exact")


def _sigmoid(c: Context, x: Array) -> Array:
    return _floats(c, x).sigmoid()


def _silu(c: Context, x: Array) -> Array:
    return x.silu()


def _relu(c: Context, x: Array) -> Array:
    return x.relu() if is_float(element_type_of(x.value)) else elementwise.clamp(x, 0, None, c.type)


def _reciprocal(s: ScalarBuilder, a: SSAValue) -> SSAValue:
    return s.divide(s.constant(1, a.type), a)


def _hardtanh(c: Context, x: Array, low: float = -1, high: float = 1) -> Array:
    return elementwise.clamp(x, low, high, c.type)


def _leaky_relu(c: Context, x: Array, slope: float = 0.01) -> Array:
    def function(s: ScalarBuilder, a: SSAValue) -> SSAValue:
        positive = scalars.compared(s, "gt", a, s.constant(0, a.type))
        return s.select(positive, a, s.multiply(a, s.constant(slope, a.type)))

    return pointwise(function, (x,), scalars.computed_in(c.type), c.type)


def _softplus(c: Context, x: Array, beta: float = 1, threshold: float = 20) -> Array:
    def function(s: ScalarBuilder, a: SSAValue) -> SSAValue:
        scaled = s.multiply(a, s.constant(beta, a.type))
        soft = s.insert(math.Log1pOp(s.exp(scaled)))
        soft = s.divide(soft, s.constant(beta, a.type))
        return s.select(scalars.compared(s, "gt", scaled, s.constant(threshold, a.type)), a, soft)

    return pointwise(function, (x,), scalars.computed_in(c.type), c.type)


def _is_nan(s: ScalarBuilder, a: SSAValue) -> SSAValue:
    return scalars.compared(s, "ne", a, a)


def _isnan(c: Context, x: Array) -> Array:
    return pointwise(_is_nan, (x,), element_type_of(x.value))


_SAME = ("alias", "clone", "contiguous", "detach", "detach_", "lift", "lift_fresh_copy", "view_of")
_CONVERSIONS = ("_to_copy.default", "to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as.default")

POINTWISE: dict[str, Converter] = {
    **{f"{name}.default": _function(name) for name in scalars.UNARY},
    **{f"{name}.default": _same for name in _SAME},
    **dict.fromkeys((*_CONVERSIONS, "prims.convert_element_type.default"), _converted),
    "neg.default": _scalar_function(scalars.negated),
    "abs.default": _scalar_function(scalars.absolute),
    "sign.default": _scalar_function(scalars.sign),
    "reciprocal.default": _scalar_function(_reciprocal),
    "bitwise_not.default": _scalar_function(scalars.inverted),
    "logical_not.default": _logical_not,
    "isnan.default": _isnan,
    **{
        f"{name}.{overload}": converter
        for name, converter in {
            "add": _binary("add"),
            "sub": _binary("sub"),
            "rsub": _reversed_subtraction,
            "mul": _binary("mul"),
            "bitwise_and": _binary("and"),
            "bitwise_or": _binary("or"),
            "bitwise_xor": _binary("xor"),
            "__and__": _binary("and"),
            "__or__": _binary("or"),
            "remainder": _remainder,
            "fmod": _truncated_remainder,
        }.items()
        for overload in ("Tensor", "Scalar")
    },
    **dict.fromkeys(("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode"), _division),
    "floor_divide.default": _floor_division,
    **{f"{kind}.{t}": _comparison(kind) for kind in scalars.COMPARISONS for t in ("Tensor", "Scalar")},
    "maximum.default": _binary("max"),
    "minimum.default": _binary("min"),
    "logical_and.default": _logical("and"),
    "logical_or.default": _logical("or"),
    "logical_xor.default": _logical("xor"),
    "pow.Tensor_Scalar": _power,
    "pow.Tensor_Tensor": _power_of,
    "pow.Scalar": _power_of,
    **dict.fromkeys(("clamp.default", "clamp.Tensor", "clamp_min.default"), _clamp),
    "clamp_max.default": _clamp_max,
    "hardtanh.default": _hardtanh,
    **{f"where.{form}": _where for form in ("self", "ScalarOther", "ScalarSelf", "Scalar")},
    **{f"masked_fill.{form}": _masked_fill for form in ("Scalar", "Tensor")},
    "dropout.default": _dropout,
    "relu.default": _relu,
    "leaky_relu.default": _leaky_relu,
    "softplus.default": _softplus,
    "sigmoid.default": _sigmoid,
    "silu.default": _silu,
    "gelu.default": _gelu,
}
