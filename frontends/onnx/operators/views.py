"""Operators that move, repeat and look up elements: reshapes, slices, gathers, padding, counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from ...shared import views
from ...shared.errors import Unsupported
from ...shared.scalars import ARITHMETIC, compared
from ..building import DTYPE_OF, ELEMENTS, Value
from ..extents import Dims, Extent, ExtentLike, broadcast_dims, divided, product
from ..nodes import Node
from ..reader import DTYPES
from ..tensors import (
    Tensor,
    checked_axis,
    gathered,
    joined,
    part,
    permuted,
    reshaped,
    with_axes,
    without_axes,
)
from .registry import operator

FAR = 2**31 - 1
"""A bound of a slice beyond this means the end of the axis, or its start."""


@operator("Reshape")
def _reshape(node: Node) -> Tensor:
    x, wanted = node.tensor(0), list(node.extents(1, "extents"))
    if not node.attribute("allowzero", 0):
        for axis, extent in enumerate(wanted):
            if extent == 0:
                wanted[axis] = x.dims[checked_axis(axis, x.rank)]
    if -1 in wanted:
        known = product(extent for extent in wanted if extent != -1)
        wanted[wanted.index(-1)] = divided(product(x.dims), known)
    return reshaped(x, wanted)


@operator("Flatten")
def _flatten(node: Node) -> Tensor:
    x, axis = node.tensor(0), node.attribute("axis", 1)
    axis = axis + x.rank if axis < 0 else axis
    return reshaped(x, [product(x.dims[:axis]), product(x.dims[axis:])])


@operator("Squeeze")
def _squeeze(node: Node) -> Tensor:
    x, axes = node.tensor(0), node.axes()
    return without_axes(x, [i for i, e in enumerate(x.dims) if e == 1] if axes is None else axes)


@operator("Unsqueeze")
def _unsqueeze(node: Node) -> Tensor:
    return with_axes(node.tensor(0), node.axes() or [])


@operator("Transpose")
def _transpose(node: Node) -> Tensor:
    x = node.tensor(0)
    return permuted(x, node.attribute("perm") or list(range(x.rank))[::-1])


@operator("Identity")
def _identity(node: Node) -> Tensor:
    return node.tensor(0)


@operator("Expand")
def _expand(node: Node) -> Tensor:
    return node.builder.expanded(node.tensor(0), node.extents(1, "extents"))


@operator("ConstantOfShape")
def _constant_of_shape(node: Node) -> Tensor:
    fill = node.attribute("value", np.zeros(1, np.float32)).reshape(-1)
    dims = node.extents(0, "extents")
    scalar = Value(known=fill.reshape([1] * len(dims)), computed=True)
    return node.builder.expanded(node.builder.tensor(scalar), dims)


@operator("Concat")
def _concat(node: Node) -> Tensor:
    given = [node.value(position) for position in range(len(node.inputs))]
    axis = checked_axis(node.attribute("axis"), len(given[0].dims))
    parts = [node.builder.tensor(each) for each in given if each.dims[axis] != 0]
    if not parts:
        raise Unsupported("its result has no elements")
    return joined(parts, axis)


@operator("Split")
def _split(node: Node) -> list[Tensor | Value]:
    x, count = node.tensor(0), len(node.proto.output)
    axis = x.axis(node.attribute("axis", 0))
    if node.has(1):
        sizes = node.numbers(1, "sizes")
    elif "split" in node.attributes:
        sizes = node.attribute("split")
    else:
        extent = x.dims[axis]
        if isinstance(extent, Extent):
            raise Unsupported(f"it splits the unknown extent '{extent}'")
        size = -(-extent // count)
        sizes = [min(size, extent - size * number) for number in range(count)]
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    node.attribute("num_outputs")
    return [
        part(x, axis, start, size) if size else empty(x, axis)
        for start, size in zip(starts, sizes, strict=True)
    ]


def empty(x: Tensor, axis: int) -> Value:
    """No elements along an axis. All that there is to know of such an array is its shape."""
    shape = [0 if i == axis else extent for i, extent in enumerate(x.dims)]
    if any(isinstance(extent, Extent) for extent in shape):
        raise Unsupported(f"its result of shape {shape} has no elements")
    known = np.zeros([int(extent) for extent in shape], DTYPE_OF[x.type])  # pyright: ignore
    return Value(known=known, computed=True)


@operator("Slice")
def _slice(node: Node) -> Tensor | Value:
    x = node.tensor(0)
    starts, ends = node.extents(1, "starts"), node.extents(2, "ends")
    axes = node.axes(3)
    axes = list(range(len(starts))) if axes is None else axes
    steps = node.numbers(4, "steps") if node.has(4) else [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = x.axis(axis)
        chosen = _chosen(x.dims[axis], start, end, step)
        if chosen is not None and not chosen:
            return empty(x, axis)
        x = _sliced(node, x, axis, start, end, step, chosen)
    return x


def _chosen(extent: ExtentLike, start: ExtentLike, end: ExtentLike, step: int) -> range | None:
    """The positions of a slice, if all its bounds are numbers."""
    if step == 0:
        raise Unsupported("a slice with step 0")
    if isinstance(extent, Extent) or isinstance(start, Extent) or isinstance(end, Extent):
        return None
    stop = None if step < 0 and end < -extent else end  # down to the first element
    return range(extent)[slice(start, stop, step)]


def _sliced(
    node: Node, x: Tensor, axis: int, start: ExtentLike, end: ExtentLike, step: int, chosen: range | None
) -> Tensor:
    extent = x.dims[axis]
    if chosen is not None:
        if step == 1:
            return part(x, axis, chosen[0], len(chosen))
        if step > 0:
            front = part(x, axis, chosen[0], chosen[-1] + 1 - chosen[0])
            dims = list(front.dims)
            dims[axis] = len(chosen)
            return Tensor.of(views.strided(front.array, axis, step), dims)
        return looked_up(node, x, axis, list(chosen))
    if step == 1 and isinstance(extent, Extent):
        first = start + extent if not isinstance(start, Extent) and start < 0 else start
        to_end = end == extent or (not isinstance(end, Extent) and end >= FAR)
        if to_end and not isinstance(first, Extent):
            return part(x, axis, first, -1)
        if not isinstance(end, Extent) and not isinstance(start, Extent) and 0 <= start < end < FAR:
            return part(x, axis, start, end - start)
        if to_end and not isinstance(start, Extent) and start < 0:
            return _window(node, x, axis, first, -start)
        if not isinstance(start, Extent) and start >= 0 and not isinstance(end, Extent) and end < 0:
            return _window(node, x, axis, start, extent + end - start)
    if step == 1:
        last = end + extent if not isinstance(end, Extent) and end < 0 else end
        if not isinstance(last, Extent) and last >= FAR:
            last = extent
        return _window(node, x, axis, start, last - start)
    raise Unsupported(f"a slice of the extent '{extent}' with step {step}")


def _window(node: Node, x: Tensor, axis: int, start: ExtentLike, size: ExtentLike) -> Tensor:
    """`size` elements from `start`, looked up by index because one of both is unknown before a call."""
    positions = node.builder.counted(size)
    if start != 0:
        form = ARITHMETIC["add"].of(i64)
        offset = node.builder.extent(start)
        positions = node.pointwise(lambda s, a, b: s.insert(form(a, b)), positions, offset, compute=i64)
    return gathered(x, positions, axis)


def looked_up(node: Node, x: Tensor, axis: int, positions: Sequence[int]) -> Tensor:
    """The slices at known positions along an axis of known extent."""
    indices = views.numbers(node.function, positions, [len(positions)])
    return gathered(x, Tensor.of(indices, (len(positions),)), axis)


@operator("Gather")
def _gather(node: Node) -> Tensor:
    table, indices = node.value(0), node.value(1)
    axis = checked_axis(node.attribute("axis", 0), len(table.dims))
    extent, index = table.dims[axis], indices.number
    if index is not None and not isinstance(extent, Extent) and len(indices.dims) <= 1:
        if not -extent <= index < extent:
            raise Unsupported(f"its index {index} lies outside of an axis of extent {extent}")
        found = part(node.builder.tensor(table), axis, int(index) % extent, 1)
        return found if indices.dims else without_axes(found, [axis])
    return gathered(node.builder.tensor(table), node.builder.tensor(indices), axis)


@operator("GatherElements")
def _gather_elements(node: Node) -> Tensor:
    x, indices = node.tensor(0), node.tensor(1)
    axis = x.axis(node.attribute("axis", 0))
    for other in range(x.rank):  # ONNX lets indices cover a part of the other axes
        wanted = indices.dims[other]
        if other != axis and x.dims[other] != wanted:
            if isinstance(wanted, Extent) or isinstance(x.dims[other], Extent):
                raise Unsupported(f"its indices have {list(indices.dims)}, its array {list(x.dims)}")
            x = part(x, other, 0, wanted)
    return Tensor.of(x.array.gather_elements(indices.array, axis), indices.dims)


@operator("GatherND")
def _gather_nd(node: Node) -> Tensor:
    x, indices = node.tensor(0), node.tensor(1)
    if node.attribute("batch_dims", 0):
        raise Unsupported("it has batch axes")
    depth, dims = indices.dims[-1], x.dims
    if isinstance(depth, Extent) or any(isinstance(extent, Extent) for extent in dims[:depth]):
        raise Unsupported("it looks up along an unknown extent")
    extents = [int(extent) for extent in dims[:depth]]  # pyright: ignore[reportArgumentType]
    strides = [int(np.prod(extents[axis + 1 :], dtype=np.int64)) for axis in range(depth)]
    table = reshaped(x, [product(extents), *dims[depth:]])
    type = indices.type
    add, times = ARITHMETIC["add"].of(type), ARITHMETIC["mul"].of(type)

    def flat(s: ScalarBuilder, *places: SSAValue) -> SSAValue:
        total = s.constant(0, type)
        for place, extent, stride in zip(places, extents, strides, strict=True):
            wrapped = s.insert(add(place, s.constant(extent, type)))
            below = compared(s, "lt", place, s.constant(0, type))
            place = s.select(below, wrapped, place)
            total = s.insert(add(total, s.insert(times(place, s.constant(stride, type)))))
        return total

    columns = [without_axes(part(indices, -1, number, 1), [-1]) for number in range(depth)]
    return gathered(table, node.pointwise(flat, *columns, compute=type), 0)


@operator("Tile")
def _tile(node: Node) -> Tensor:
    x, repeats = node.tensor(0), node.numbers(1, "repeats")
    if len(repeats) != x.rank or any(count < 1 for count in repeats):
        raise Unsupported(f"it repeats an array of rank {x.rank} {repeats} times")
    spread = with_axes(x, range(0, 2 * x.rank, 2))
    wanted = [each for pair in zip(repeats, x.dims, strict=True) for each in pair]
    spread = node.builder.expanded(spread, wanted)
    return reshaped(spread, [count * extent for count, extent in zip(repeats, x.dims, strict=True)])


@operator("Pad")
def _pad(node: Node) -> Tensor:
    x, mode = node.tensor(0), node.attribute("mode", "constant")
    pads, axes = node.numbers(1, "pads"), node.axes(3)
    axes = list(range(x.rank)) if axes is None else [x.axis(axis) for axis in axes]
    low, high = [0] * x.rank, [0] * x.rank
    for number, axis in enumerate(axes):
        low[axis], high[axis] = pads[number], pads[number + len(axes)]
    for axis in range(x.rank):  # a negative pad cuts elements off
        before, after = max(0, -low[axis]), max(0, -high[axis])
        if before or after:
            extent = x.dims[axis]
            if isinstance(extent, Extent):
                raise Unsupported(f"it cuts off elements of the unknown extent '{extent}'")
            x = part(x, axis, before, extent - before - after)
    low, high = [max(0, each) for each in low], [max(0, each) for each in high]
    if mode == "constant":
        fill = node.value(2).number if node.has(2) else 0
        if fill is None:
            raise Unsupported("its value is computed at run time, expected one known at import")
        dims = [a + extent + b for a, extent, b in zip(low, x.dims, high, strict=True)]
        return Tensor.of(x.array.pad(low, high, fill), dims)
    numpy_mode: Any = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}.get(mode)
    if numpy_mode is None:
        raise Unsupported(f"its mode is {mode}")
    for axis in range(x.rank):
        if low[axis] or high[axis]:
            extent = x.dims[axis]
            if isinstance(extent, Extent):
                raise Unsupported(f"it repeats elements along the unknown extent '{extent}'")
            places = np.pad(np.arange(extent), (low[axis], high[axis]), mode=numpy_mode)
            x = looked_up(node, x, axis, [int(each) for each in places])
    return x


@operator("DepthToSpace")
def _depth_to_space(node: Node) -> Tensor:
    x, block = node.tensor(0), node.attribute("blocksize")
    batch, channels, height, width = x.dims
    rest = divided(channels, block * block)
    if node.attribute("mode", "DCR") == "DCR":
        spread = reshaped(x, [batch, block, block, rest, height, width])
        mixed = permuted(spread, [0, 3, 4, 1, 5, 2])
    else:
        spread = reshaped(x, [batch, rest, block, block, height, width])
        mixed = permuted(spread, [0, 1, 4, 2, 5, 3])
    return reshaped(mixed, [batch, rest, height * block, width * block])


@operator("SpaceToDepth")
def _space_to_depth(node: Node) -> Tensor:
    x, block = node.tensor(0), node.attribute("blocksize")
    batch, channels, height, width = x.dims
    rows, columns = divided(height, block), divided(width, block)
    spread = permuted(reshaped(x, [batch, channels, rows, block, columns, block]), [0, 3, 5, 1, 2, 4])
    return reshaped(spread, [batch, channels * block * block, rows, columns])


# Counting


@operator("Range")
def _range(node: Node) -> Tensor:
    start, limit, step = (node.value(position) for position in range(3))
    if any(each.known is None for each in (start, limit, step)):
        raise Unsupported("its bounds are computed at run time, expected values known at import")
    dims = [node.extents(position, "bounds")[0] for position in range(3)]
    type = start.type
    if step.number != 1 or is_float(type):
        raise Unsupported("its step over an unknown extent is not 1")
    counted = node.builder.counted(dims[1] - dims[0])
    if dims[0] == 0:
        return node.pointwise(lambda s, a: a, counted, compute=i64, result=type)
    form = ARITHMETIC["add"].of(i64)
    return node.pointwise(lambda s, a, b: s.insert(form(a, b)), counted, start, compute=i64, result=type)


def positions(node: Node, dims: Dims, axis: int) -> Tensor:
    """The positions along an axis, of type i64, which broadcast to `dims`."""
    axis = checked_axis(axis, len(dims))
    return with_axes(node.builder.counted(dims[axis]), [other for other in range(len(dims)) if other != axis])


@operator("Trilu")
def _trilu(node: Node) -> Tensor:
    x = node.tensor(0)
    offset, upper = node.value(1) if node.has(1) else 0, bool(node.attribute("upper", 1))
    add = ARITHMETIC["add"].of(i64)
    rows, columns = positions(node, x.dims[-2:], 0), positions(node, x.dims[-2:], 1)

    def kept(s: ScalarBuilder, row: SSAValue, column: SSAValue, k: SSAValue) -> SSAValue:
        return compared(s, "ge" if upper else "le", column, s.insert(add(row, k)))

    mask = node.pointwise(kept, rows, columns, offset, compute=i64, result=i1)
    zero = Value(known=np.zeros((), DTYPE_OF[x.type]), computed=True)
    return node.builder.select(Value(tensor=mask), Value(tensor=x), zero)


@operator("EyeLike")
def _eye_like(node: Node) -> Tensor:
    x = node.value(0)
    type = ELEMENTS[DTYPES[node.attribute("dtype")]] if "dtype" in node.attributes else x.type
    offset, add = node.attribute("k", 0), ARITHMETIC["add"].of(i64)
    rows, columns = positions(node, x.dims, 0), positions(node, x.dims, 1)
    return node.pointwise(
        lambda s, row, column: compared(s, "eq", column, s.insert(add(row, s.constant(offset, i64)))),
        rows,
        columns,
        compute=i64,
        result=type,
    )


@operator("OneHot")
def _one_hot(node: Node) -> Tensor:
    indices, depth = node.tensor(0), node.known(1, "depth")
    extent = int(depth.reshape(-1)[0])
    axis = checked_axis(node.attribute("axis", -1), indices.rank + 1)
    spread = with_axes(indices, [axis])
    dims = broadcast_dims(spread.dims, [extent if i == axis else 1 for i in range(spread.rank)])
    add = ARITHMETIC["add"].of(i64)

    def hit(s: ScalarBuilder, index: SSAValue, place: SSAValue) -> SSAValue:
        wrapped = s.insert(add(index, s.constant(extent, i64)))
        index = s.select(compared(s, "lt", index, s.constant(0, i64)), wrapped, index)
        return compared(s, "eq", index, place)

    if is_float(indices.type):
        spread = node.pointwise(lambda s, a: a, spread, compute=indices.type, result=i64)
    mask = node.pointwise(hit, spread, positions(node, dims, axis), compute=i64, result=i1)
    values = node.tensor(2)
    off, on = (Value(tensor=without_axes(part(values, 0, number, 1), [0])) for number in range(2))
    return node.builder.select(Value(tensor=mask), on, off)


@operator("CumSum")
def _cumsum(node: Node) -> Tensor:
    x = node.tensor(0)
    axis = x.axis(node.numbers(1, "axis")[0])
    type = x.type
    plus, minus = ARITHMETIC["add"].of(type), ARITHMETIC["sub"].of(type)
    found = x.like(x.array.cumsum(axis))
    if node.attribute("reverse", 0):
        total = Tensor.of(
            x.array.sum(axis, keepdims=True), [1 if i == axis else e for i, e in enumerate(x.dims)]
        )
        found = node.pointwise(
            lambda s, t, c, a: s.insert(plus(s.insert(minus(t, c)), a)), total, found, x, compute=type
        )
    if node.attribute("exclusive", 0):
        found = node.pointwise(lambda s, c, a: s.insert(minus(c, a)), found, x, compute=type)
    return found
