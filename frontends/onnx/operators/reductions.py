"""Operators that combine elements along axes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects import math as smath
from xdsl.dialects.builtin import i1, i32, i64
from xdsl.ir import Attribute, SSAValue

from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from ...shared import scalars
from ...shared.errors import Unsupported
from ...shared.scalars import ARITHMETIC, compared, computed_in
from ..extents import Extent, product
from ..nodes import Convert, Node
from ..tensors import Tensor, part, reduced, without_axes
from .registry import operator
from .views import positions

MOST_FACTORS = 64
"""Elements along the axes of a product, which is written out."""


def reduction_axes(node: Node, x: Tensor) -> list[int]:
    """The axes over which a node reduces: all without any, unless it then does nothing."""
    axes = node.axes()
    if not axes:
        return [] if node.attribute("noop_with_empty_axes", 0) else list(range(x.rank))
    return [x.axis(axis) for axis in axes]


def _keeps(node: Node) -> bool:
    return bool(node.attribute("keepdims", 1))


def converted(node: Node, x: Tensor, type: Attribute) -> Tensor:
    """An array with its elements converted."""
    return x if x.type == type else node.pointwise(lambda s, a: a, x, compute=x.type, result=type)


def mean(node: Node, x: Tensor, axes: Sequence[int], keepdims: bool) -> Tensor:
    """The mean over axes, of floats that are wide enough to hold the sum."""
    total = reduced("sum", x, axes, keepdims)
    count = product(x.dims[axis] for axis in axes)
    number = node.builder.extent(count) if isinstance(count, Extent) else float(count)
    type = x.type
    if isinstance(number, float):
        return node.pointwise(lambda s, a: s.divide(a, s.constant(number, type)), total, compute=type)
    return node.pointwise(lambda s, a, n: s.divide(a, n), total, number, compute=type)


def _wide(node: Node) -> tuple[Tensor, Attribute]:
    """The first input in the type in which sums are kept, and its own type."""
    x = node.tensor(0)
    if x.type == i1:
        raise Unsupported("it adds truth values")
    return converted(node, x, computed_in(x.type)), x.type


def _summed(before: str, after: str) -> Convert:
    """A sum of a function of the elements, and a function of the sum."""

    def first(s: ScalarBuilder, a: SSAValue) -> SSAValue:
        if before == "square":
            return s.insert(ARITHMETIC["mul"].of(a.type)(a, a))
        return scalars.absolute(s, a) if before == "absolute" else a

    def last(s: ScalarBuilder, a: SSAValue) -> SSAValue:
        return s.insert(smath.SqrtOp(a) if after == "root" else smath.LogOp(a))

    def convert(node: Node) -> Tensor:
        x, type = _wide(node)
        if after and not is_float(type):
            raise Unsupported(f"it has elements of type {type}, expected floating point")
        if before:
            x = node.pointwise(first, x, compute=x.type)
        total = reduced("sum", x, reduction_axes(node, x), _keeps(node))
        if after:
            total = node.pointwise(last, total, compute=total.type)
        return converted(node, total, type)

    return convert


operator("ReduceSum")(_summed("", ""))
operator("ReduceL1")(_summed("absolute", ""))
operator("ReduceL2")(_summed("square", "root"))
operator("ReduceSumSquare")(_summed("square", ""))
operator("ReduceLogSum")(_summed("", "log"))


@operator("ReduceMean")
def _reduce_mean(node: Node) -> Tensor:
    x, type = _wide(node)
    if not is_float(type):
        raise Unsupported(f"it has elements of type {type}, expected floating point")
    axes = reduction_axes(node, x)
    return converted(node, mean(node, x, axes, _keeps(node)) if axes else x, type)


@operator("ReduceLogSumExp")
def _reduce_log_sum_exp(node: Node) -> Tensor:
    x, type = _wide(node)
    axes = reduction_axes(node, x)
    largest = reduced("max", x, axes, keepdims=True)
    powers = node.pointwise(lambda s, a, b: s.exp(s.subtract(a, b)), x, largest, compute=x.type)
    total = reduced("sum", powers, axes, keepdims=True)
    found = node.pointwise(lambda s, a, b: s.add(s.insert(smath.LogOp(a)), b), total, largest, compute=x.type)
    return converted(node, found if _keeps(node) else without_axes(found, axes), type)


def _extreme(kind: str) -> Convert:
    def convert(node: Node) -> Tensor:
        x = node.tensor(0)
        type = x.type
        x = converted(node, x, i32) if type == i1 else x
        return converted(node, reduced(kind, x, reduction_axes(node, x), _keeps(node)), type)

    return convert


operator("ReduceMax")(_extreme("max"))
operator("ReduceMin")(_extreme("min"))


@operator("ReduceProd")
def _reduce_prod(node: Node) -> Tensor:
    x = node.tensor(0)
    axes = reduction_axes(node, x)
    count = product(x.dims[axis] for axis in axes)
    if isinstance(count, Extent) or count > MOST_FACTORS:
        raise Unsupported(f"a product of {count} elements, expected at most {MOST_FACTORS}")
    form = ARITHMETIC["mul"].of(x.type)
    for axis in axes:
        found = part(x, axis, 0, 1)
        for place in range(1, int(x.dims[axis])):  # pyright: ignore[reportArgumentType]
            factor = part(x, axis, place, 1)
            found = node.pointwise(lambda s, a, b: s.insert(form(a, b)), found, factor, compute=x.type)
        x = found
    return x if _keeps(node) else without_axes(x, axes)


def arg_extreme(node: Node, x: Tensor, kind: str, axis: int, *, last: bool = False) -> Tensor:
    """The position of the largest or smallest element along an axis, which keeps extent 1; of type i64."""
    largest = reduced(kind, x, [axis], keepdims=True)
    extent = node.builder.extent(x.dims[axis])
    places = positions(node, x.dims, axis)
    hit = node.pointwise(lambda s, a, b: compared(s, "eq", a, b), x, largest, compute=x.type, result=i1)

    def candidate(s: ScalarBuilder, found: SSAValue, place: SSAValue, end: SSAValue) -> SSAValue:
        found = s.insert(arith.TruncIOp(found, i1))
        return s.select(found, place, s.constant(-1, i64) if last else end)

    chosen = node.pointwise(candidate, hit, places, extent, compute=i64)
    return reduced("max" if last else "min", chosen, [axis], keepdims=True)


@operator("ArgMax", "ArgMin")
def _arg_max(node: Node) -> Tensor:
    x = node.tensor(0)
    axis = x.axis(node.attribute("axis", 0))
    kind = "max" if node.proto.op_type == "ArgMax" else "min"
    found = arg_extreme(node, x, kind, axis, last=bool(node.attribute("select_last_index", 0)))
    return found if _keeps(node) else without_axes(found, [axis])


@operator("GlobalAveragePool")
def _global_average_pool(node: Node) -> Tensor:
    x, type = _wide(node)
    return converted(node, mean(node, x, list(range(2, x.rank)), keepdims=True), type)


@operator("GlobalMaxPool")
def _global_max_pool(node: Node) -> Tensor:
    x = node.tensor(0)
    return reduced("max", x, list(range(2, x.rank)), keepdims=True)
