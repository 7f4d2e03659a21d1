"""ATen operations that move elements or make arrays: views, slices, joins, constants, counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i32

from ....dialects.array import DYNAMIC, shape_of
from ....dialects.builder import Array
from ...shared import scalars, views
from ...shared.elementwise import compare, pointwise, where
from ...shared.errors import Unsupported
from .context import Context, Converter, same_extent


def _reshape(c: Context, x: Array, *_: Any) -> Array:
    return views.reshaped(x, c.shape)


def _permute(c: Context, x: Array, dims: Sequence[int]) -> Array:
    return views.permuted(x, dims)


def _transpose(c: Context, x: Array, a: int = 0, b: int = 1) -> Array:
    return views.swapped(x, a, b) if len(shape_of(x.value)) > 1 else x


def _matrix_transpose(c: Context, x: Array) -> Array:
    return views.swapped(x, -2, -1)


def _reversed_axes(c: Context, x: Array) -> Array:
    return views.permuted(x, range(len(shape_of(x.value)))[::-1])


def _expand(c: Context, x: Array, *_: Any, **__: Any) -> Array:
    if DYNAMIC not in c.shape:
        return views.expanded(x, c.shape)
    return c.broadcast(x)


def _repeat(c: Context, x: Array, repeats: Sequence[Any]) -> Array:
    counts = [count for count in repeats if isinstance(count, int)]
    if len(counts) < len(repeats):
        raise Unsupported("it repeats a number of times that is known only at run time")
    return views.tiled(x, counts)


def _slice(c: Context, x: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Array:
    source, result = c.operand(0).shape[dim], c.meta.shape[dim]
    if step == 1 and same_extent(source, result):
        return x
    if not isinstance(start or 0, int) or not (end is None or isinstance(end, int)):
        raise Unsupported("a slice with bounds that are known only at run time")
    return views.sliced(x, dim, start, end, step)


def _select(c: Context, x: Array, dim: int, index: Any) -> Array:
    if not isinstance(index, int):
        raise Unsupported("it selects an index that is known only at run time")
    return views.selected(x, dim % len(shape_of(x.value)), index)


def _narrow(c: Context, x: Array, dim: int, start: Any, length: Any) -> Array:
    if not isinstance(start, int) or not isinstance(length, int):
        raise Unsupported("a slice with bounds that are known only at run time")
    return views.sliced(x, dim, start, start + length)


def _cat(c: Context, tensors: Sequence[Array], dim: int = 0) -> Array:
    """Empty tensors of one axis are left out, as torch does."""
    return views.concatenated([c.same(x) for x in tensors if shape_of(x.value) != (0,)], dim)


def _stack(c: Context, tensors: Sequence[Array], dim: int = 0) -> Array:
    dim %= len(shape_of(tensors[0].value)) + 1
    return views.concatenated([views.with_axis(c.same(x), dim) for x in tensors], dim)


def _split(c: Context, x: Array, sizes: Any, dim: int = 0) -> list[Array]:
    parts: list[Array] = []
    start = 0
    for meta in c.metas:
        size = meta.shape[dim]
        if not isinstance(size, int):
            raise Unsupported("it splits an unknown extent")
        parts.append(views.part(x, dim, start, size))
        start += size
    return parts


def _unbind(c: Context, x: Array, dim: int = 0) -> list[Array]:
    return [views.selected(x, dim % len(shape_of(x.value)), index) for index in range(len(c.metas))]


def _pad(c: Context, x: Array, pad: Sequence[Any], value: float = 0) -> Array:
    """`pad` counts from the last axis; negative numbers cut."""
    if not all(isinstance(each, int) for each in pad):
        raise Unsupported("padding that is known only at run time")
    rank = len(shape_of(x.value))
    low, high = [0] * rank, [0] * rank
    for number, axis in enumerate(range(rank - 1, rank - 1 - len(pad) // 2, -1)):
        before, after = pad[2 * number : 2 * number + 2]
        if before < 0 or after < 0:
            x = views.sliced(x, axis, max(-before, 0), after if after < 0 else None)
        low[axis], high[axis] = max(before, 0), max(after, 0)
    return x.pad(low, high, value)


def _roll(c: Context, x: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Array:
    for shift, dim in zip(shifts, dims, strict=True):
        extent = shape_of(x.value)[dim]
        if extent == DYNAMIC:
            raise Unsupported("it rolls an axis of unknown extent")
        if shift % extent:
            cut = extent - shift % extent
            x = views.concatenated([views.part(x, dim, cut, -1), views.part(x, dim, 0, cut)], dim)
    return x


def _value(value: Any) -> float:
    if not isinstance(value, int | float):
        raise Unsupported("a value that is known only at run time")
    return value


def _full(position: int) -> Converter:
    """A constant whose value is the argument at a position."""

    def convert(c: Context, *args: Any, **_: Any) -> Array:
        return c.filled(_value(args[position]))

    return convert


def _constant(value: float) -> Converter:
    def convert(c: Context, *_: Any, **__: Any) -> Array:
        return c.filled(value)

    return convert


def _arange(c: Context, *bounds: Any, **_: Any) -> Array:
    start = _value(bounds[0] if len(bounds) > 1 else 0)
    step = _value(bounds[2] if len(bounds) > 2 else 1)
    return c.counted(c.meta.shape[0], c.type, start, step)


def _tril(keep: scalars.Comparison) -> Converter:
    """Elements with `column - row` at most (tril) or at least (triu) the diagonal; zero elsewhere."""

    def convert(c: Context, x: Array, diagonal: int = 0) -> Array:
        rows, columns = (c.counted(extent, i32) for extent in c.meta.shape[-2:])
        first = pointwise(lambda s, i: scalars.plus(s, i, diagonal), (views.with_axis(rows, 1),), i32)
        kept = compare(keep, columns, first, i32)
        return where(kept, x, 0, c.type)

    return convert


def _scalar_tensor(c: Context, value: Any, **_: Any) -> Array:
    return c.filled(_value(value))


VIEWS: dict[str, Converter] = {
    **dict.fromkeys(
        (
            *("view.default", "_unsafe_view.default", "view_copy.default", "reshape.default"),
            *("_reshape_alias.default", "_reshape_copy.default", "flatten.using_ints", "unflatten.int"),
            *("unsqueeze.default", "squeeze.default", "squeeze.dim", "squeeze.dims"),
        ),
        _reshape,
    ),
    **dict.fromkeys(("permute.default", "permute_copy.default"), _permute),
    **dict.fromkeys(("transpose.int", "t.default"), _transpose),
    "mT.default": _matrix_transpose,
    "numpy_T.default": _reversed_axes,
    **dict.fromkeys(("expand.default", "expand_copy.default", "broadcast_to.default"), _expand),
    "repeat.default": _repeat,
    **dict.fromkeys(("slice.Tensor", "slice_copy.Tensor"), _slice),
    **dict.fromkeys(("select.int", "select_copy.int"), _select),
    "narrow.default": _narrow,
    **dict.fromkeys(("cat.default", "concat.default"), _cat),
    "stack.default": _stack,
    **dict.fromkeys(("split_with_sizes.default", "split_with_sizes_copy.default"), _split),
    **dict.fromkeys(("split.Tensor", "split.sizes"), _split),
    "chunk.default": _split,
    "unbind.int": _unbind,
    "constant_pad_nd.default": _pad,
    "roll.default": _roll,
}

SOURCES: dict[str, Converter] = {
    **dict.fromkeys(("full.default", "full_like.default"), _full(1)),
    "new_full.default": _full(2),
    **{f"{name}.default": _constant(0) for name in ("zeros", "zeros_like", "new_zeros")},
    **{f"{name}.default": _constant(1) for name in ("ones", "ones_like", "new_ones")},
    "scalar_tensor.default": _scalar_tensor,
    **{f"arange.{form}": _arange for form in ("default", "start", "start_step")},
    "tril.default": _tril("le"),
    "triu.default": _tril("ge"),
}
