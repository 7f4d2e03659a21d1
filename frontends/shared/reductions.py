"""Reductions and normalisations that models spell in other ways than the array dialect."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute

from ...dialects import array
from ...dialects.array import DYNAMIC, element_type_of, shape_of
from ...dialects.builder import Array
from ...dialects.scalar import is_float
from . import scalars
from .elementwise import compare, converted, pointwise
from .errors import Unsupported
from .views import reshaped


def axes_of(x: Array, axes: int | Sequence[int] | None) -> list[int]:
    """Axes counted from the front, in ascending order; None or no axes are all of them."""
    rank = len(shape_of(x.value))
    if axes is None or axes == []:
        return list(range(rank))
    return sorted(axis % rank for axis in ([axes] if isinstance(axes, int) else axes))


def total(x: Array, axes: Sequence[int], keepdims: bool, type: Attribute) -> Array:
    """The sum over axes, of elements that are converted to `type` first."""
    x = converted(x, type)
    return x.sum(axes, keepdims=keepdims) if axes else x


def mean(x: Array, axes: Sequence[int], keepdims: bool, type: Attribute) -> Array:
    """The mean over axes, of floats. The extents may be unknown."""
    if not is_float(type):
        raise Unsupported("the mean of integers")
    return _divided(total(x, axes, keepdims, type), x, axes, 0)


def variance(x: Array, axes: Sequence[int], keepdims: bool, correction: float = 0) -> Array:
    """The mean of squared distances from the mean; `correction` is taken from the number of elements."""
    type = element_type_of(x.value)
    distance = x - mean(x, axes, True, type)
    return _divided((distance * distance).sum(axes, keepdims=keepdims), x, axes, correction)


def _divided(sums: Array, x: Array, axes: Sequence[int], correction: float) -> Array:
    """Sums over axes of `x` divided by the number of terms less the correction."""
    shape = shape_of(x.value)
    known = math.prod(shape[axis] for axis in axes if shape[axis] != DYNAMIC)
    unknown = [axis for axis in axes if shape[axis] == DYNAMIC]
    if not unknown:
        return sums / float(known - correction)
    type = element_type_of(sums.value)
    count = x.function.apply(array.ExtentOp(x.value, unknown[0], type)) * float(known)
    for axis in unknown[1:]:
        count = count * x.function.apply(array.ExtentOp(x.value, axis, type))
    return sums / (count - float(correction) if correction else count)


def extreme(kind: str, x: Array, axes: Sequence[int], keepdims: bool) -> Array:
    """The maximum (`max`) or minimum (`min`) over axes; NaN among the elements is the result."""
    if element_type_of(x.value) == i1:
        return converted(extreme(kind, converted(x, i32), axes, keepdims), i1)
    return x.max(axes, keepdims=keepdims) if kind == "max" else x.min(axes, keepdims=keepdims)


def any_true(x: Array, axes: Sequence[int], keepdims: bool) -> Array:
    """True where an element over the axes is not zero."""
    return _over_truths("max", x, axes, keepdims)


def all_true(x: Array, axes: Sequence[int], keepdims: bool) -> Array:
    """True where no element over the axes is zero."""
    return _over_truths("min", x, axes, keepdims)


def _over_truths(kind: str, x: Array, axes: Sequence[int], keepdims: bool) -> Array:
    truths = pointwise(scalars.truth, (x,), element_type_of(x.value), i32)
    return compare("ne", extreme(kind, truths, axes, keepdims), 0, i32) if axes else converted(truths, i1)


def cumulative_sum(x: Array, axis: int, type: Attribute) -> Array:
    """Sums of all elements up to each one along an axis, of elements that are converted to `type` first."""
    return converted(x, type).cumsum(axis)


def log_softmax(x: Array, axis: int) -> Array:
    """x - max(x) - log(sum(exp(x - max(x)))) along an axis."""
    shifted = x - x.max(axis, keepdims=True)
    type = element_type_of(x.value)
    sums = shifted.exp().sum(axis, keepdims=True)
    return shifted - pointwise(lambda s, a: s.insert(scalars.UNARY["log"](a)), (sums,), type)


def norm_over(x: Array, count: int) -> Array:
    """The array with its last `count` axes merged into one, over which a norm of the dialect can run.

    Raises Unsupported for more than one axis of unknown extents.
    """
    shape = shape_of(x.value)
    if count == 1:
        return x
    if DYNAMIC in shape[-count:]:
        raise Unsupported("a norm over several axes, one of unknown extent")
    return reshaped(x, [*shape[:-count], math.prod(shape[-count:])])
