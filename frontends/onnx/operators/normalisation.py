"""Softmax and normalisations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import math as smath
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from ...shared.errors import Unsupported
from ...shared.scalars import compared, computed_in
from ..extents import product
from ..nodes import Node
from ..tensors import Tensor, reduced, reshaped, with_axes
from .reductions import arg_extreme, converted, mean
from .registry import operator
from .views import positions


def _floats(node: Node) -> Tensor:
    x = node.tensor(0)
    if not is_float(x.type):
        raise Unsupported(f"it has elements of type {x.type}, expected floating point")
    return x


@operator("Softmax")
def _softmax(node: Node) -> Tensor:
    x = _floats(node)
    return x.like(x.array.softmax(x.axis(node.attribute("axis", -1))))


@operator("LogSoftmax")
def _log_softmax(node: Node) -> Tensor:
    x = _floats(node)
    axis, type = x.axis(node.attribute("axis", -1)), x.type
    x = converted(node, x, computed_in(type))
    largest = reduced("max", x, [axis], keepdims=True)
    shifted = node.pointwise(lambda s, a, b: s.subtract(a, b), x, largest, compute=x.type)
    powers = node.pointwise(lambda s, a: s.exp(a), shifted, compute=x.type)
    total = reduced("sum", powers, [axis], keepdims=True)
    return node.pointwise(
        lambda s, a, b: s.subtract(a, s.insert(smath.LogOp(b))), shifted, total, compute=x.type, result=type
    )


@operator("Hardmax")
def _hardmax(node: Node) -> Tensor:
    x = _floats(node)
    axis = x.axis(node.attribute("axis", -1))
    place = arg_extreme(node, x, "max", axis)
    return node.pointwise(
        lambda s, a, b: compared(s, "eq", a, b),
        positions(node, x.dims, axis),
        place,
        compute=i64,
        result=x.type,
    )


def _last(x: Tensor, axis: int) -> Tensor:
    """The axes from `axis` on as one."""
    return reshaped(x, [*x.dims[:axis], product(x.dims[axis:])])


def _vector(node: Node, position: int, like: Tensor, axis: int) -> Tensor | None:
    """A scale or a shift, broadcast to the axes from `axis` on, as a vector."""
    if not node.has(position):
        return None
    value = node.builder.expanded(node.tensor(position), like.dims[axis:])
    return converted(node, reshaped(value, [product(value.dims)]), like.type)


@operator("LayerNormalization")
def _layer_normalization(node: Node) -> list[Tensor]:
    x, eps = _floats(node), node.attribute("epsilon", 1e-5)
    axis = x.axis(node.attribute("axis", -1))
    rows = _last(x, axis)
    scale, shift = (_vector(node, position, x, axis) for position in (1, 2))
    normal = rows.array.layer_norm(scale and scale.array, shift and shift.array, eps=eps)
    results = [reshaped(rows.like(normal), x.dims)]
    if node.wants(1) or node.wants(2):
        wide = converted(node, x, computed_in(x.type))
        axes = list(range(axis, x.rank))
        centre = mean(node, wide, axes, keepdims=True)
        results += [centre, _inverse_deviation(node, wide, centre, axes, eps)]
    return results


def _inverse_deviation(node: Node, x: Tensor, centre: Tensor, axes: Sequence[int], eps: float) -> Tensor:
    """1 / sqrt(variance + eps) over axes."""

    def square(s: ScalarBuilder, a: SSAValue, m: SSAValue) -> SSAValue:
        difference = s.subtract(a, m)
        return s.multiply(difference, difference)

    variance = mean(node, node.pointwise(square, x, centre, compute=x.type), axes, keepdims=True)
    return node.pointwise(lambda s, v: s.rsqrt(s.add(v, s.constant(eps, v.type))), variance, compute=x.type)


def _rms(node: Node) -> Tensor:
    x, eps = _floats(node), node.attribute("epsilon", 1e-5)
    axis = x.axis(node.attribute("axis", -1))
    rows, scale = _last(x, axis), _vector(node, 1, x, axis)
    return reshaped(rows.like(rows.array.rms_norm(scale and scale.array, eps=eps)), x.dims)


@operator("RMSNormalization")
@operator("SimplifiedLayerNormalization")
@operator("SimplifiedLayerNormalization", domain="com.microsoft")
def _rms_normalization(node: Node) -> Tensor:
    return _rms(node)


@operator("SkipLayerNormalization", domain="com.microsoft")
def _skip_layer_normalization(node: Node) -> Tensor:
    """ONNX Runtime's sum of two arrays, and a bias, with a layer norm; its first output alone."""
    x = _floats(node)
    operands = [node.value(position) for position in (0, 1, 4) if node.has(position)]

    def total(s: ScalarBuilder, first: SSAValue, *rest: SSAValue) -> SSAValue:
        for each in rest:
            first = s.add(first, each)
        return first

    summed = node.pointwise(total, *operands, compute=x.type)
    scale, shift = (_vector(node, position, x, x.rank - 1) for position in (2, 3))
    eps = node.attribute("epsilon", 1e-12)
    return x.like(summed.array.layer_norm(scale and scale.array, shift and shift.array, eps=eps))


def _by_channel(node: Node, position: int, rank: int) -> Tensor:
    """A vector with an element for each channel, along axis 1 of an array of some rank."""
    return with_axes(node.tensor(position), [axis for axis in range(rank) if axis != 1])


@operator("BatchNormalization")
def _batch_normalization(node: Node) -> Tensor:
    x, eps = _floats(node), node.attribute("epsilon", 1e-5)
    if node.attribute("training_mode", 0) or node.wants(1):
        raise Unsupported("it trains")
    scale, shift, centre, variance = (_by_channel(node, position, x.rank) for position in (1, 2, 3, 4))

    def normal(s: ScalarBuilder, a: SSAValue, *given: SSAValue) -> SSAValue:
        factor, offset, m, v = given
        deviation = s.rsqrt(s.add(v, s.constant(eps, v.type)))
        return s.add(s.multiply(s.multiply(s.subtract(a, m), deviation), factor), offset)

    compute = computed_in(x.type)
    return node.pointwise(normal, x, scale, shift, centre, variance, compute=compute, result=x.type)


@operator("InstanceNormalization")
def _instance_normalization(node: Node) -> Tensor:
    x, eps = _floats(node), node.attribute("epsilon", 1e-5)
    wide, axes = converted(node, x, computed_in(x.type)), list(range(2, x.rank))
    centre = mean(node, wide, axes, keepdims=True)
    deviation = _inverse_deviation(node, wide, centre, axes, eps)
    scale, shift = (_by_channel(node, position, x.rank) for position in (1, 2))

    def normal(s: ScalarBuilder, a: SSAValue, *given: SSAValue) -> SSAValue:
        m, d, factor, offset = given
        return s.add(s.multiply(s.multiply(s.subtract(a, m), d), factor), offset)

    operands = (wide, centre, deviation, scale, shift)
    return node.pointwise(normal, *operands, compute=wide.type, result=x.type)


@operator("LpNormalization")
def _lp_normalization(node: Node) -> Tensor:
    x, power = _floats(node), node.attribute("p", 2)
    axis = x.axis(node.attribute("axis", -1))
    wide = converted(node, x, computed_in(x.type))
    size = node.pointwise(
        lambda s, a: s.multiply(a, a) if power == 2 else s.insert(smath.AbsFOp(a)), wide, compute=wide.type
    )
    total = reduced("sum", size, [axis], keepdims=True)

    def scaled(s: ScalarBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
        b = s.insert(smath.SqrtOp(b)) if power == 2 else b
        zero = s.constant(0, a.type)
        return s.select(compared(s, "eq", b, zero), zero, s.divide(a, b))

    return node.pointwise(scaled, wide, total, compute=wide.type, result=x.type)
