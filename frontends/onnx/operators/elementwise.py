"""Operators that compute each element by itself: arithmetic, comparisons, activations, conversions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from xdsl.dialects import arith
from xdsl.dialects import math as smath
from xdsl.dialects.builtin import f64, i1
from xdsl.ir import Attribute, SSAValue

from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from ...shared import scalars
from ...shared.errors import Unsupported
from ...shared.scalars import ARITHMETIC, UNARY, Unary, compared, computed_in
from .. import reader
from ..building import ELEMENTS
from ..nodes import Convert, Node
from ..tensors import Tensor
from .registry import operator


def _floats(node: Node, position: int = 0) -> Attribute:
    """The element type of an input of floats. Raises Unsupported."""
    type = node.value(position).type
    if not is_float(type):
        raise Unsupported(f"it has elements of type {type}, expected floating point")
    return type


def _numbers(node: Node, position: int = 0) -> Attribute:
    type = node.value(position).type
    if type == i1:
        raise Unsupported("it has elements of type i1, expected numbers")
    return type


def _activation(node: Node, function: Unary) -> Tensor:
    """A function of the floats of the first input, computed in f32 for 16 bits."""
    type = _floats(node)
    return node.pointwise(function, node.value(0), compute=computed_in(type), result=type)


# Arithmetic

_ARITHMETIC: Mapping[str, str] = {"Add": "add", "Sub": "sub", "Mul": "mul"}
_LOGIC: Mapping[str, str] = {"And": "and", "Or": "or", "Xor": "xor"}
_BITS: Mapping[str, str] = {"BitwiseAnd": "and", "BitwiseOr": "or", "BitwiseXor": "xor"}


def _arithmetic(name: str) -> Convert:
    def convert(node: Node) -> Tensor:
        type = _numbers(node)
        form = ARITHMETIC[_ARITHMETIC[name]].of(type)
        return node.pointwise(
            lambda s, a, b: s.insert(form(a, b)), node.value(0), node.value(1), compute=type
        )

    return convert


def _logic(name: str) -> Convert:
    def convert(node: Node) -> Tensor:
        type = node.value(0).type
        form = ARITHMETIC[{**_LOGIC, **_BITS}[name]].of(type)
        return node.pointwise(
            lambda s, a, b: s.insert(form(a, b)), node.value(0), node.value(1), compute=type
        )

    return convert


for _name in _ARITHMETIC:
    operator(_name)(_arithmetic(_name))
for _name in (*_LOGIC, *_BITS):
    operator(_name)(_logic(_name))


@operator("Div")
def _div(node: Node) -> Tensor:
    type = _numbers(node)
    form = ARITHMETIC["div" if is_float(type) else "div_trunc"].of(type)
    return node.pointwise(lambda s, a, b: s.insert(form(a, b)), node.value(0), node.value(1), compute=type)


@operator("Mod")
def _mod(node: Node) -> Tensor:
    type, truncates = _numbers(node), bool(node.attribute("fmod", 0))

    def remainder(s: ScalarBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
        if not is_float(type):
            return s.insert(arith.RemSIOp(a, b)) if truncates else scalars.floored_remainder(s, a, b)
        quotient, zero = s.divide(a, b), s.constant(0, compute)
        down, up = _apply(s, "floor", quotient), _apply(s, "ceil", quotient)
        whole = s.select(compared(s, "lt", quotient, zero), up, down)
        rest = s.subtract(a, s.multiply(whole, b))
        rest = s.select(compared(s, "eq", whole, zero), a, rest)  # also where b is infinite
        if truncates:
            return rest
        differs = s.insert(arith.XOrIOp(compared(s, "lt", rest, zero), compared(s, "lt", b, zero)))
        moves = s.insert(arith.AndIOp(differs, compared(s, "ne", rest, zero)))
        return s.select(moves, s.add(rest, b), rest)

    compute = computed_in(type)
    return node.pointwise(remainder, node.value(0), node.value(1), compute=compute, result=type)


@operator("Pow")
def _pow(node: Node) -> Tensor:
    type, exponent = _numbers(node), node.value(1).number
    small = exponent in (1, 2, 3, 4) or is_float(type)
    if exponent is not None and small and len(node.value(1).dims) <= len(node.value(0).dims):
        compute = computed_in(type)
        return node.pointwise(
            lambda s, a: scalars.power(s, a, float(exponent)), node.value(0), compute=compute, result=type
        )
    return node.pointwise(
        lambda s, a, b: s.insert(smath.PowFOp(a, b)),
        node.value(0),
        node.value(1),
        compute=computed_in(type) if is_float(type) else f64,
        result=type,
    )


def _variadic(name: str) -> Callable[[Node], Tensor]:
    def convert(node: Node) -> Tensor:
        type = _numbers(node)
        form = ARITHMETIC[name].of(type)

        def all_of(s: ScalarBuilder, first: SSAValue, *rest: SSAValue) -> SSAValue:
            for each in rest:
                first = s.insert(form(first, each))
            return first

        operands = [node.value(position) for position in range(len(node.inputs))]
        return node.pointwise(all_of, *operands, compute=type)

    return convert


operator("Sum")(_variadic("add"))
operator("Min")(_variadic("min"))
operator("Max")(_variadic("max"))


@operator("Mean")
def _mean(node: Node) -> Tensor:
    type, count = _floats(node), len(node.inputs)
    total = _variadic("add")(node)
    return node.pointwise(lambda s, a: s.divide(a, s.constant(count, type)), total, compute=type)


_COMPARISONS: Mapping[str, scalars.Comparison] = {
    "Equal": "eq",
    "Less": "lt",
    "LessOrEqual": "le",
    "Greater": "gt",
    "GreaterOrEqual": "ge",
}


def _comparison(kind: scalars.Comparison) -> Convert:
    def convert(node: Node) -> Tensor:
        type = node.value(0).type
        return node.pointwise(
            lambda s, a, b: compared(s, kind, a, b), node.value(0), node.value(1), compute=type, result=i1
        )

    return convert


for _name, _kind in _COMPARISONS.items():
    operator(_name)(_comparison(_kind))


@operator("Where")
def _where(node: Node) -> Tensor:
    return node.builder.select(node.value(0), node.value(1), node.value(2))


@operator("Not", "BitwiseNot")
def _not(node: Node) -> Tensor:
    return node.pointwise(scalars.inverted, node.value(0), compute=node.value(0).type)


@operator("BitShift")
def _bit_shift(node: Node) -> Tensor:
    type = node.value(0).type
    form = arith.ShLIOp if node.attribute("direction") == "LEFT" else arith.ShRSIOp
    return node.pointwise(lambda s, a, b: s.insert(form(a, b)), node.value(0), node.value(1), compute=type)


@operator("Neg")
def _neg(node: Node) -> Tensor:
    return node.pointwise(scalars.negated, node.value(0), compute=_numbers(node))


@operator("Abs")
def _abs(node: Node) -> Tensor:
    return node.pointwise(scalars.absolute, node.value(0), compute=_numbers(node))


@operator("Sign")
def _sign(node: Node) -> Tensor:
    return node.pointwise(scalars.sign, node.value(0), compute=_numbers(node))


@operator("Clip")
def _clip(node: Node) -> Tensor:
    type = _numbers(node)
    given = [node.value(position) for position in (1, 2) if node.has(position)]
    kinds = [kind for position, kind in ((1, "max"), (2, "min")) if node.has(position)]

    def clip(s: ScalarBuilder, x: SSAValue, *bounds: SSAValue) -> SSAValue:
        for bound, kind in zip(bounds, kinds, strict=True):
            x = s.insert(ARITHMETIC[kind].of(type)(x, bound))
        return x

    return node.pointwise(clip, node.value(0), *given, compute=type)


# Functions of one float

_FUNCTIONS: Mapping[str, str] = {
    name.capitalize(): name for name in ("exp", "log", "sqrt", "tanh", "erf", "sin", "cos", "floor", "ceil")
}


def _function(name: str) -> Convert:
    def convert(node: Node) -> Tensor:
        return _activation(node, lambda s, a: s.insert(UNARY[_FUNCTIONS[name]](a)))

    return convert


for _name in _FUNCTIONS:
    operator(_name)(_function(_name))


def _apply(s: ScalarBuilder, name: str, a: SSAValue) -> SSAValue:
    return s.insert(UNARY[name](a))


@operator("Tan")
def _tan(node: Node) -> Tensor:
    return _activation(node, lambda s, a: s.divide(_apply(s, "sin", a), _apply(s, "cos", a)))


@operator("Sinh", "Cosh")
def _sinh(node: Node) -> Tensor:
    """By exp(x) - 1, which is exact near 0."""
    odd = node.proto.op_type == "Sinh"

    def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        one, half = s.constant(1, x.type), s.constant(0.5, x.type)
        if not odd:
            return s.multiply(half, s.add(s.exp(x), s.exp(s.negate(x))))
        low = _apply(s, "expm1", x)
        return s.multiply(half, s.add(low, s.divide(low, s.add(low, one))))

    return _activation(node, function)


@operator("Asinh")
def _asinh(node: Node) -> Tensor:
    def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        one, size = s.constant(1, x.type), scalars.absolute(s, x)
        square = s.multiply(size, size)
        root = s.insert(UNARY["sqrt"](s.add(square, one)))
        found = _apply(s, "log1p", s.add(size, s.divide(square, s.add(one, root))))
        return s.select(compared(s, "lt", x, s.constant(0, x.type)), s.negate(found), found)

    return _activation(node, function)


@operator("Acosh")
def _acosh(node: Node) -> Tensor:
    def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        over = s.subtract(x, s.constant(1, x.type))
        root = s.insert(UNARY["sqrt"](s.multiply(over, s.add(x, s.constant(1, x.type)))))
        return _apply(s, "log1p", s.add(over, root))

    return _activation(node, function)


@operator("Atanh")
def _atanh(node: Node) -> Tensor:
    def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        ratio = s.divide(s.add(x, x), s.subtract(s.constant(1, x.type), x))
        return s.multiply(s.constant(0.5, x.type), _apply(s, "log1p", ratio))

    return _activation(node, function)


@operator("Shrink")
def _shrink(node: Node) -> Tensor:
    bias, lambd = node.attribute("bias", 0.0), node.attribute("lambd", 0.5)

    def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        zero, edge, offset = (s.constant(number, x.type) for number in (0, lambd, bias))
        low = s.select(compared(s, "lt", x, s.negate(edge)), s.add(x, offset), zero)
        return s.select(compared(s, "gt", x, edge), s.subtract(x, offset), low)

    return _activation(node, function)


@operator("Reciprocal")
def _reciprocal(node: Node) -> Tensor:
    return _activation(node, lambda s, a: s.divide(s.constant(1, a.type), a))


@operator("Round")
def _round(node: Node) -> Tensor:
    """Halves go to the even neighbour."""

    def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        half, one, two = (s.constant(number, x.type) for number in (0.5, 1, 2))
        below = _apply(s, "floor", x)
        rest = s.subtract(x, below)
        odd = compared(s, "ne", s.multiply(_apply(s, "floor", s.divide(below, two)), two), below)
        tie = s.insert(arith.AndIOp(compared(s, "eq", rest, half), odd))
        up = s.insert(arith.OrIOp(compared(s, "gt", rest, half), tie))
        return s.select(up, s.add(below, one), below)

    return _activation(node, function)


@operator("IsNaN")
def _is_nan(node: Node) -> Tensor:
    return node.pointwise(
        lambda s, a: compared(s, "ne", a, a), node.value(0), compute=_floats(node), result=i1
    )


@operator("IsInf")
def _is_inf(node: Node) -> Tensor:
    type = _floats(node)
    signs = [
        sign for sign, name in ((1, "detect_positive"), (-1, "detect_negative")) if node.attribute(name, 1)
    ]

    def function(s: ScalarBuilder, a: SSAValue) -> SSAValue:
        found = s.constant(0, i1)
        for sign in signs:
            equal = compared(s, "eq", a, s.constant(sign * math.inf, type))
            found = s.insert(arith.OrIOp(found, equal))
        return found

    return node.pointwise(function, node.value(0), compute=type, result=i1)


def _logistic(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    one = s.constant(1, x.type)
    return s.divide(one, s.add(one, s.exp(s.negate(x))))


def _softplus(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    """log(1 + exp(x)) as max(x, 0) + log1p(exp(-|x|)), which does not overflow."""
    tail = _apply(s, "log1p", s.exp(s.negate(scalars.absolute(s, x))))
    return s.add(s.maximum(x, s.constant(0, x.type)), tail)


@operator("Relu")
def _relu(node: Node) -> Tensor:
    type = _numbers(node)
    if is_float(type):
        return node.tensor(0).like(node.tensor(0).array.relu())
    form = ARITHMETIC["max"].of(type)
    return node.pointwise(lambda s, a: s.insert(form(a, s.constant(0, type))), node.value(0), compute=type)


@operator("Sigmoid")
def _sigmoid(node: Node) -> Tensor:
    _floats(node)
    return node.tensor(0).like(node.tensor(0).array.sigmoid())


@operator("Gelu")
def _gelu(node: Node) -> Tensor:
    _floats(node)
    form = "tanh" if node.attribute("approximate", "none") == "tanh" else "exact"
    return node.tensor(0).like(node.tensor(0).array.gelu(form))


@operator("Gelu", domain="com.microsoft")
def _microsoft_gelu(node: Node) -> Tensor:
    """ONNX Runtime's Gelu, always with erf."""
    return node.tensor(0).like(node.tensor(0).array.gelu())


@operator("Swish")
def _swish(node: Node) -> Tensor:
    _floats(node)
    alpha = node.attribute("alpha", 1.0)
    if alpha == 1:
        return node.tensor(0).like(node.tensor(0).array.silu())
    return _activation(
        node, lambda s, x: s.multiply(x, _logistic(s, s.multiply(x, s.constant(alpha, x.type))))
    )


@operator("LeakyRelu")
def _leaky_relu(node: Node) -> Tensor:
    alpha = node.attribute("alpha", 0.01)
    return _activation(
        node,
        lambda s, x: s.select(
            compared(s, "lt", x, s.constant(0, x.type)), s.multiply(x, s.constant(alpha, x.type)), x
        ),
    )


@operator("PRelu")
def _prelu(node: Node) -> Tensor:
    type = _floats(node)
    return node.pointwise(
        lambda s, x, slope: s.select(compared(s, "lt", x, s.constant(0, type)), s.multiply(x, slope), x),
        node.value(0),
        node.value(1),
        compute=type,
    )


def _exponential(name: str, alpha_default: float, gamma_default: float = 1.0) -> None:
    """gamma * x where x is positive, else gamma * alpha * (exp(x) - 1): Elu and Selu."""

    @operator(name)
    def convert(node: Node) -> Tensor:  # pyright: ignore[reportUnusedFunction]
        alpha, gamma = node.attribute("alpha", alpha_default), node.attribute("gamma", gamma_default)

        def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
            low = s.multiply(s.constant(alpha, x.type), _apply(s, "expm1", x))
            chosen = s.select(compared(s, "lt", x, s.constant(0, x.type)), low, x)
            return chosen if gamma == 1 else s.multiply(s.constant(gamma, x.type), chosen)

        return _activation(node, function)


_exponential("Elu", 1.0)
_exponential("Selu", 1.6732632423543772, 1.0507009873554805)


@operator("Celu")
def _celu(node: Node) -> Tensor:
    alpha = node.attribute("alpha", 1.0)

    def function(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        a, zero = s.constant(alpha, x.type), s.constant(0, x.type)
        low = s.multiply(a, _apply(s, "expm1", s.divide(x, a)))
        return s.select(compared(s, "lt", x, zero), low, x)

    return _activation(node, function)


@operator("HardSigmoid")
def _hard_sigmoid(node: Node) -> Tensor:
    alpha, beta = node.attribute("alpha", 0.2), node.attribute("beta", 0.5)
    return _activation(node, lambda s, x: _hard(s, x, alpha, beta))


@operator("HardSwish")
def _hard_swish(node: Node) -> Tensor:
    return _activation(node, lambda s, x: s.multiply(x, _hard(s, x, 1 / 6, 0.5)))


def _hard(s: ScalarBuilder, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    line = s.add(s.multiply(s.constant(alpha, x.type), x), s.constant(beta, x.type))
    low = s.maximum(line, s.constant(0, x.type))
    return s.insert(arith.MinimumfOp(low, s.constant(1, x.type)))


@operator("Softplus")
def _softplus_node(node: Node) -> Tensor:
    return _activation(node, _softplus)


@operator("Softsign")
def _softsign(node: Node) -> Tensor:
    return _activation(node, lambda s, x: s.divide(x, s.add(s.constant(1, x.type), scalars.absolute(s, x))))


@operator("Mish")
def _mish(node: Node) -> Tensor:
    return _activation(node, lambda s, x: s.multiply(x, s.tanh(_softplus(s, x))))


@operator("ThresholdedRelu")
def _thresholded_relu(node: Node) -> Tensor:
    alpha = node.attribute("alpha", 1.0)
    return _activation(
        node,
        lambda s, x: s.select(compared(s, "gt", x, s.constant(alpha, x.type)), x, s.constant(0, x.type)),
    )


# Conversions and copies


@operator("Cast")
def _cast(node: Node) -> Tensor:
    """CastLike, too, with the type of its second input."""
    dtype = reader.DTYPES.get(node.attribute("to"))
    if dtype is None:
        raise Unsupported(f"it converts to {reader.type_name(node.attribute('to'))}")
    source, type = node.value(0).type, ELEMENTS[dtype]
    if source == type:
        return node.tensor(0)
    return node.pointwise(lambda s, a: a, node.tensor(0), compute=source, result=type)


@operator("Dropout")
def _dropout(node: Node) -> Tensor:
    """Inference alone: the input as it is."""
    if node.has(1) and node.has(2) and node.value(2).number != 0:
        raise Unsupported("it trains")
    node.attribute("ratio")
    if node.wants(1):
        raise Unsupported("its mask is used")
    return node.tensor(0)
