"""Views of arrays: reshapes that take two steps, slices with steps, repeated elements, counting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects import array
from ...dialects.array import DYNAMIC, element_type_of, shape_of, shape_text
from ...dialects.builder import Array, ArrayFunction
from ...dialects.scalar import is_float
from ...dialects.scalar_builder import ScalarBuilder
from .elementwise import converted, pointwise
from .errors import Unsupported
from .scalars import ARITHMETIC, plus


def reshaped(x: Array, shape: Sequence[int]) -> Array:
    """Another shape, in one step or, where axes are merged and split elsewhere, in two.

    Raises Unsupported if axes of unknown extents would have to be merged.
    """
    source, shape = list(shape_of(x.value)), list(shape)
    if source == shape:
        return x
    try:
        array.reshape_groups(source, shape)
    except VerifyException as problem:
        if DYNAMIC in source or DYNAMIC in shape:
            text = f"{shape_text(source)} to {shape_text(shape)}"
            raise Unsupported(f"a reshape from {text} merges or splits extents that are unknown") from problem
        x = _reshape(x, _common_axes(source, shape))
    return _reshape(x, shape)


def _reshape(x: Array, shape: Sequence[int]) -> Array:
    return x.function.apply(array.ReshapeOp(x.value, shape))


def _common_axes(source: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The axes into which both shapes split; one axis of all elements if there are none."""
    sides = (source, shape)
    bounds = sorted({math.prod(side[start:]) for side in sides for start in range(len(side) + 1)})
    if any(high % low for low, high in pairwise(bounds)):
        return [math.prod(shape)]
    return [high // low for low, high in pairwise(bounds)][::-1]


def with_axis(x: Array, axis: int) -> Array:
    """A new axis of extent 1 before `axis`; a negative one counts from the back of the result."""
    shape = list(shape_of(x.value))
    axis %= len(shape) + 1
    return reshaped(x, [*shape[:axis], 1, *shape[axis:]])


def without_axis(x: Array, axis: int) -> Array:
    """The same without an axis of extent 1."""
    shape = list(shape_of(x.value))
    del shape[axis]
    return reshaped(x, shape)


def swapped(x: Array, a: int, b: int) -> Array:
    """Two axes exchanged."""
    perm = list(range(len(shape_of(x.value))))
    perm[a], perm[b] = perm[b], perm[a]
    return permuted(x, perm)


def permuted(x: Array, perm: Sequence[int]) -> Array:
    """Axes in another order; negative ones count from the back."""
    axes = [axis % len(perm) for axis in perm]
    return x if axes == sorted(axes) else x.transpose(*axes)


def expanded(x: Array, shape: Sequence[int]) -> Array:
    """Repeated along new leading axes and axes of extent 1."""
    if list(shape_of(x.value)) == list(shape):
        return x
    return x.function.apply(array.BroadcastOp(x.value, shape))


def tiled(x: Array, repeats: Sequence[int]) -> Array:
    """The whole array repeated along each axis, as numpy's `tile`. Raises Unsupported for unknown extents."""
    own = list(shape_of(x.value))
    own = [1] * (len(repeats) - len(own)) + own
    if DYNAMIC in own:
        raise Unsupported("it repeats an axis of unknown extent")
    x = reshaped(x, [extent for axis in own for extent in (1, axis)])
    x = expanded(x, [extent for pair in zip(repeats, own, strict=True) for extent in pair])
    return reshaped(x, [count * extent for count, extent in zip(repeats, own, strict=True)])


def part(x: Array, axis: int, start: int, size: int) -> Array:
    """`size` elements from `start` along an axis; a size of -1 is the rest."""
    shape = shape_of(x.value)
    axis %= len(shape)
    if start == 0 and size in (-1, shape[axis]):
        return x
    offsets, sizes = [0] * len(shape), [-1] * len(shape)
    offsets[axis], sizes[axis] = start, size
    return x.function.apply(array.SliceOp(x.value, offsets, sizes))


def sliced(x: Array, axis: int, start: int | None = None, stop: int | None = None, step: int = 1) -> Array:
    """A slice as Python's along an axis, with a positive step.

    Raises Unsupported for an empty slice, and for bounds that count from the end of an unknown extent.
    """
    shape = list(shape_of(x.value))
    axis %= len(shape)
    extent = shape[axis]
    if step < 1:
        raise Unsupported(f"a slice with step {step}")
    if extent == DYNAMIC:
        start, stop = start or 0, None if stop is None or stop >= 1 << 62 else stop
        if start < 0 or stop is not None or step > 1:
            raise Unsupported("a slice whose end or step depends on an unknown extent")
        return part(x, axis, start, -1)
    first, end, _ = slice(start, stop, step).indices(extent)
    if end <= first:
        raise Unsupported("an empty slice")
    return strided(part(x, axis, first, end - first), axis, step)


def strided(x: Array, axis: int, step: int) -> Array:
    """Every `step`-th element along an axis of known extent, from the first one."""
    shape = list(shape_of(x.value))
    count, missing = -(-shape[axis] // step), -shape[axis] % step
    if step == 1:
        return x
    if missing:
        high = [0] * len(shape)
        high[axis] = missing
        x = x.pad([0] * len(shape), high)
    x = reshaped(x, [*shape[:axis], count, step, *shape[axis + 1 :]])
    return reshaped(part(x, axis + 1, 0, 1), [*shape[:axis], count, *shape[axis + 1 :]])


def selected(x: Array, axis: int, index: int) -> Array:
    """One slice along an axis, which goes away; a negative index counts from the end."""
    extent = shape_of(x.value)[axis]
    if extent != DYNAMIC:
        return without_axis(part(x, axis, index % extent, 1), axis % len(shape_of(x.value)))
    if index >= 0:
        return without_axis(part(x, axis, index, 1), axis % len(shape_of(x.value)))
    return x.gather(numbers(x.function, [index], ()), axis)


def concatenated(arrays: Sequence[Array], axis: int) -> Array:
    """Arrays joined along an axis; one alone is itself."""
    if len(arrays) == 1:
        return arrays[0]
    return arrays[0].function.apply(array.ConcatOp([x.value for x in arrays], axis))


def filled(function: ArrayFunction, shape: Sequence[int], type: Attribute, value: float) -> Array:
    """An array with one value everywhere. Raises Unsupported for unknown extents."""
    if DYNAMIC in shape:
        raise Unsupported("a constant array of unknown extents")
    return function.constant(value, TensorType(type, shape))


def first_of(s: ScalarBuilder, a: SSAValue, _: SSAValue) -> SSAValue:
    """The first of two elements: a function that repeats an array to the shape of another one."""
    return a


def filled_like(x: Array, type: Attribute, value: float) -> Array:
    """An array of the shape of `x` with one value everywhere, unknown extents included."""
    shape = shape_of(x.value)
    if DYNAMIC not in shape:
        return filled(x.function, shape, type, value)
    return pointwise(lambda s, _: s.constant(value, type), (x,), element_type_of(x.value))


def numbers(function: ArrayFunction, values: Sequence[int], shape: Sequence[int]) -> Array:
    """A constant array of type i64 with these elements."""
    type = TensorType(i64, shape)
    return function.apply(array.ConstantOp(DenseIntOrFPElementsAttr.from_list(type, list(values))))


def counted(
    function: ArrayFunction, count: int | Array, type: Attribute, start: float = 0, step: float = 1
) -> Array:
    """`start + step * i` for each i below `count`: a number, or an array of one axis with that extent."""
    counting = type if is_float(type) or type == i64 else i32
    extent = count if isinstance(count, int) else shape_of(count.value)[0]
    like = None if isinstance(count, int) else count.value
    iota = function.apply(array.IotaOp(0, TensorType(counting, [extent]), like=like))
    if (start, step) == (0, 1):
        return converted(iota, type)

    def term(s: ScalarBuilder, i: SSAValue) -> SSAValue:
        scaled = i if step == 1 else s.insert(ARITHMETIC["mul"].of(counting)(i, s.constant(step, counting)))
        return plus(s, scaled, start)

    return pointwise(term, (iota,), counting, type)
