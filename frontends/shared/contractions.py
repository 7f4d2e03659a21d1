"""Matrix products, attention and convolutions as models give them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i1

from ...dialects import array
from ...dialects.array import DYNAMIC, element_type_of, shape_of
from ...dialects.builder import Array
from .elementwise import converted
from .errors import Unsupported
from .views import concatenated, part, permuted, reshaped, strided, swapped, with_axis, without_axis


def matmul(a: Array, b: Array) -> Array:
    """A product as numpy's `@`, vectors included; a transpose of the right operand becomes a flag."""
    ranks = len(shape_of(a.value)), len(shape_of(b.value))
    if ranks[0] == 1:
        return without_axis(matmul(with_axis(a, 0), b), -2 if ranks[1] > 1 else 0)
    if ranks[1] == 1:
        return without_axis(matmul(a, with_axis(b, 1)), -1)
    owner = b.value.owner
    if isinstance(owner, array.TransposeOp):
        perm = list(owner.perm.get_values())
        if perm == [*range(ranks[1] - 2), ranks[1] - 1, ranks[1] - 2]:
            return a.matmul(Array(a.function, owner.input), transpose_b=True)
    return a.matmul(b)


def linear(x: Array, weight: Array, bias: Array | None) -> Array:
    """x times the transposed weight [out, in], plus the bias; x has any number of leading axes."""
    if len(shape_of(x.value)) == 1:
        return without_axis(linear(with_axis(x, 0), weight, bias), 0)
    product = x.matmul(weight, transpose_b=True)
    return product if bias is None else product + bias


def attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    mask: Array | None = None,
    causal: bool = False,
    scale: float | None = None,
) -> Array:
    """Attention over [..., heads, rows, size]; the mask holds truth values, or floats that are added.

    Heads of k and v that were repeated for groups of queries are taken as they were before.
    """
    if len(shape_of(q.value)) < 3:
        q, k, v = (with_axis(x, 0) for x in (q, k, v))
        return without_axis(attention(q, k, v, mask=mask, causal=causal, scale=scale), 0)
    k, v = _unrepeated(k, v)
    bias = None
    if mask is not None and element_type_of(mask.value) != i1:
        mask, bias = None, mask
        if element_type_of(bias.value) != f32:
            bias = converted(bias, element_type_of(q.value))
    return q.function.attention(q, k, v, bias=bias, mask=mask, scale=scale, causal=causal)


def _unrepeated(k: Array, v: Array) -> tuple[Array, Array]:
    before = _before_repeat(k), _before_repeat(v)
    heads = [shape_of(x.value)[-3] for x in before]
    return before if heads[0] == heads[1] else (k, v)


def _before_repeat(x: Array) -> Array:
    """[B, G, N, D] of [B, G*R, N, D] that was made by repeating each head R times."""
    merge = x.value.owner
    if not isinstance(merge, array.ReshapeOp) or not isinstance(merge.input.owner, array.BroadcastOp):
        return x
    wide, source = list(shape_of(merge.input)), list(shape_of(merge.input.owner.input))
    if len(wide) != 5 or len(source) != 5 or source[2] != 1:
        return x
    heads = [*source[:2], *source[3:]]
    if heads != [*wide[:2], *wide[3:]] or DYNAMIC in wide[1:3]:
        return x
    if list(shape_of(x.value)) != [wide[0], wide[1] * wide[2], *wide[3:]]:
        return x
    return reshaped(Array(x.function, merge.input.owner.input), heads)


@dataclass(frozen=True)
class Windows:
    """Numbers of a convolution, one for each axis of the image."""

    stride: Sequence[int]
    low: Sequence[int]
    high: Sequence[int]
    dilation: Sequence[int]
    groups: int = 1


def convolution(x: Array, weight: Array, bias: Array | None, windows: Windows) -> Array:
    """A convolution of [batch, channels, *image] with [out, channels / groups, *kernel].

    Windows that lie side by side are one matrix product; others are a sum of products, one for each element
    of the kernel. Raises Unsupported for an image of unknown extents.
    """
    _, channels, *image = shape_of(x.value)
    if DYNAMIC in (channels, *image):
        raise Unsupported("a convolution over unknown extents")
    if windows.groups != 1:
        return _grouped(x, weight, bias, windows)
    if any(windows.low) or any(windows.high):
        x = x.pad([0, 0, *windows.low], [0, 0, *windows.high])
        image = list(shape_of(x.value)[2:])
    kernel = list(shape_of(weight.value)[2:])
    ones = [1] * len(kernel)
    side_by_side = list(windows.stride) == kernel and list(windows.dilation) == ones
    rows = _patches(x, weight) if side_by_side else _taps(x, weight, windows)
    rows = rows if bias is None else rows + bias
    axes = range(1, len(kernel) + 1)
    return permuted(rows, [0, len(kernel) + 1, *axes])


def _grouped(x: Array, weight: Array, bias: Array | None, windows: Windows) -> Array:
    """Each group of channels by itself, side by side in the result."""
    groups = windows.groups
    sizes = [shape_of(x.value)[1] // groups, shape_of(weight.value)[0] // groups]
    alone = Windows(windows.stride, windows.low, windows.high, windows.dilation)
    found = [
        convolution(
            part(x, 1, group * sizes[0], sizes[0]),
            part(weight, 0, group * sizes[1], sizes[1]),
            None if bias is None else part(bias, 0, group * sizes[1], sizes[1]),
            alone,
        )
        for group in range(groups)
    ]
    return concatenated(found, 1)


def _patches(x: Array, weight: Array) -> Array:
    """[batch, *counts, out]: one product with the image cut into patches."""
    batch, channels, *image = shape_of(x.value)
    out, _, *kernel = shape_of(weight.value)
    counts = [extent // size for extent, size in zip(image, kernel, strict=True)]
    for axis, (count, size) in enumerate(zip(counts, kernel, strict=True), 2):
        x = part(x, axis, 0, count * size)
    x = reshaped(x, [batch, channels, *[e for pair in zip(counts, kernel, strict=True) for e in pair]])
    places = range(2, 2 + 2 * len(counts), 2)
    x = permuted(x, [0, *places, 1, *[place + 1 for place in places]])
    size = channels * math.prod(kernel)
    return reshaped(x, [batch, *counts, size]).matmul(reshaped(weight, [out, size]), transpose_b=True)


def _taps(x: Array, weight: Array, windows: Windows) -> Array:
    """[batch, *counts, out]: a sum of products, one for each element of the kernel."""
    _, _, *image = shape_of(x.value)
    _, _, *kernel = shape_of(weight.value)
    spans = [(size - 1) * far + 1 for size, far in zip(kernel, windows.dilation, strict=True)]
    counts = [(e - span) // step + 1 for e, span, step in zip(image, spans, windows.stride, strict=True)]
    rows = permuted(x, [0, *range(2, len(image) + 2), 1])
    total: Array | None = None
    for tap in range(math.prod(kernel)):
        place, taken, matrix = tap, rows, weight
        for axis in reversed(range(len(kernel))):
            place, index = divmod(place, kernel[axis])
            step = windows.stride[axis]
            taken = part(taken, axis + 1, index * windows.dilation[axis], (counts[axis] - 1) * step + 1)
            taken = strided(taken, axis + 1, step)
            matrix = part(matrix, axis + 2, index, 1)
        product = taken.matmul(reshaped(matrix, shape_of(weight.value)[:2]), transpose_b=True)
        total = product if total is None else total + product
    assert total is not None
    return total


def transposed_matrix(x: Array) -> Array:
    """The last two axes exchanged."""
    return swapped(x, -2, -1)
