"""ATen operations that combine elements: reductions, norms, products, attention, look-ups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from ....dialects.array import DYNAMIC, element_type_of, shape_of
from ....dialects.builder import Array
from ....dialects.scalar_builder import ScalarBuilder
from ...shared import contractions, elementwise, reductions, scalars, views
from ...shared.elementwise import binary, converted, pointwise
from ...shared.errors import Unsupported
from .context import Context, Converter

Axes = int | Sequence[int] | None


def _sum(c: Context, x: Array, dims: Axes = None, keepdim: bool = False, dtype: Any = None) -> Array:
    return reductions.total(x, reductions.axes_of(x, dims), keepdim, c.type)


def _mean(c: Context, x: Array, dims: Axes = None, keepdim: bool = False, dtype: Any = None) -> Array:
    return reductions.mean(x, reductions.axes_of(x, dims), keepdim, c.type)


def _extreme(kind: str) -> Converter:
    def convert(c: Context, x: Array, dims: Axes = None, keepdim: bool = False) -> Array:
        return reductions.extreme(kind, x, reductions.axes_of(x, dims), keepdim)

    return convert


def _truths(over: Any) -> Converter:
    def convert(c: Context, x: Array, dims: Axes = None, keepdim: bool = False) -> Array:
        return over(x, reductions.axes_of(x, dims), keepdim)

    return convert


def _variance(c: Context, x: Array, dims: Axes = None, correction: Any = 1, keepdim: bool = False) -> Array:
    axes = reductions.axes_of(x, dims)
    return reductions.variance(x, axes, keepdim, 1 if correction is None else correction)


def _variance_and_mean(
    c: Context, x: Array, dims: Axes = None, correction: Any = 1, keepdim: bool = False
) -> list[Array]:
    axes = reductions.axes_of(x, dims)
    spread = reductions.variance(x, axes, keepdim, 1 if correction is None else correction)
    return [spread, reductions.mean(x, axes, keepdim, element_type_of(x.value))]


def _norm(
    c: Context, x: Array, ord: float = 2, dims: Axes = None, keepdim: bool = False, dtype: Any = None
) -> Array:
    """The 1, 2 or maximum norm of vectors."""
    x, axes = c.same(x), reductions.axes_of(x, dims)
    if ord == 2:
        return elementwise.unary("sqrt", reductions.total(x * x, axes, keepdim, c.type))
    size = pointwise(scalars.absolute, (x,), c.type)
    if ord == 1:
        return reductions.total(size, axes, keepdim, c.type)
    if ord == math.inf:
        return reductions.extreme("max", size, axes, keepdim)
    raise Unsupported(f"the norm of order {ord}")


def _cumsum(c: Context, x: Array, dim: int, dtype: Any = None) -> Array:
    return reductions.cumulative_sum(x, dim, c.type)


def _softmax(c: Context, x: Array, dim: int, *_: Any, **__: Any) -> Array:
    return c.same(x).softmax(dim)


def _log_softmax(c: Context, x: Array, dim: int, *_: Any, **__: Any) -> Array:
    return reductions.log_softmax(c.same(x), dim)


def _vector(x: Array | None, count: int) -> Array | None:
    return None if x is None else reductions.norm_over(x, count)


def _layer_norm(
    c: Context,
    x: Array,
    normalized: Sequence[int],
    weight: Array | None = None,
    bias: Array | None = None,
    eps: float = 1e-5,
    *_: Any,
) -> Array:
    count = len(normalized)
    rows = reductions.norm_over(x, count)
    scale, shift = (v if v is None else converted(v, element_type_of(x.value)) for v in (weight, bias))
    result = rows.layer_norm(_vector(scale, count), _vector(shift, count), eps=eps)
    return views.reshaped(result, shape_of(x.value))


def _native_layer_norm(c: Context, x: Array, *args: Any) -> list[Array | None]:
    """Mean and rstd, the other results, are for training alone."""
    return [_layer_norm(c, x, *args), None, None]


def _rms_norm(
    c: Context, x: Array, normalized: Sequence[int], weight: Array | None = None, eps: float | None = None
) -> Array:
    count = len(normalized)
    rows = reductions.norm_over(x, count)
    epsilon = torch.finfo(c.metas[0].dtype).eps if eps is None else eps
    scale = None if weight is None else converted(weight, element_type_of(x.value))
    return views.reshaped(rows.rms_norm(_vector(scale, count), eps=epsilon), shape_of(x.value))


def _fused_rms_norm(c: Context, x: Array, *args: Any) -> list[Array | None]:
    return [_rms_norm(c, x, *args), None]


def _batch_norm(
    c: Context,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    variance: Array,
    *more: Any,
) -> list[Array | None]:
    """The norm of inference, with given statistics of each channel."""
    eps = more[-1]
    rank = len(shape_of(x.value))

    def channel(v: Array) -> Array:
        return views.reshaped(v, [shape_of(v.value)[0], *[1] * (rank - 2)])

    result = (x - channel(mean)) * channel((variance + eps).rsqrt())
    result = result if weight is None else result * channel(weight)
    result = result if bias is None else result + channel(bias)
    return [result, None, None]


def _matmul(c: Context, a: Array, b: Array) -> Array:
    return contractions.matmul(a, b)


def _addmm(c: Context, bias: Array, a: Array, b: Array, beta: float = 1, alpha: float = 1) -> Array:
    product = contractions.matmul(a, b)
    product = product if alpha == 1 else product * alpha
    return product + (bias if beta == 1 else bias * beta)


def _linear(c: Context, x: Array, weight: Array, bias: Array | None = None) -> Array:
    return contractions.linear(x, weight, bias)


def _each(value: Any, count: int) -> list[int]:
    """One number for each axis of an image."""
    values: list[int] = list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
    return values * count if len(values) == 1 else values


def _convolution(
    c: Context,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    *more: Any,
) -> Array:
    transposed, groups = (more[0], more[2]) if len(more) > 1 else (False, *more, 1)[:2]
    if transposed:
        raise Unsupported("a transposed convolution")
    kernel = shape_of(weight.value)[2:]
    dilations = _each(dilation, len(kernel))
    if padding == "same":
        whole = [(size - 1) * far for size, far in zip(kernel, dilations, strict=True)]
        low, high = [each // 2 for each in whole], [each - each // 2 for each in whole]
    else:
        low = high = _each(0 if padding == "valid" else padding, len(kernel))
    windows = contractions.Windows(_each(stride, len(kernel)), low, high, dilations, groups)
    return contractions.convolution(x, weight, bias, windows)


def _attention(
    c: Context,
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    dropout_p: float = 0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    if dropout_p:
        raise Unsupported("dropout while training, expected a module after eval()")
    return contractions.attention(q, k, v, mask=attn_mask, causal=is_causal, scale=scale)


def _flash_attention(
    c: Context,
    q: Array,
    k: Array,
    v: Array,
    dropout_p: float = 0,
    is_causal: bool = False,
    attn_mask: Array | None = None,
    scale: float | None = None,
) -> list[Array | None]:
    return [_attention(c, q, k, v, attn_mask, dropout_p, is_causal, scale), None]


def _embedding(c: Context, table: Array, indices: Array, *_: Any, **__: Any) -> Array:
    return table.gather(indices, 0)


def _index_select(c: Context, x: Array, dim: int, index: Array) -> Array:
    return x.gather(index, dim)


def _gather(c: Context, x: Array, dim: int, index: Array, **_: Any) -> Array:
    """The index may be smaller than the array off the axis, which is then cut."""
    dim %= len(shape_of(x.value))
    for axis, extent in enumerate(shape_of(index.value)):
        if axis != dim and extent not in (shape_of(x.value)[axis], DYNAMIC):
            x = views.part(x, axis, 0, extent)
    return x.gather_elements(index, dim)


def _index(c: Context, x: Array, indices: Sequence[Array | None]) -> Array:
    """x[i, :, ...]: one index array, or several that select single points of their axes."""
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if any(element_type_of(index.value) == i1 for _, index in given):
        raise Unsupported("an index of truth values: the number of elements depends on the data")
    if len(given) == 1:
        return x.gather(given[0][1], given[0][0])
    return _index_by_several(c, x, given)


def _index_by_several(c: Context, x: Array, given: list[tuple[int, Array]]) -> Array:
    """Adjacent axes with an index array each are merged into one axis, and so are their indices."""
    axes = [axis for axis, _ in given]
    shape = shape_of(x.value)
    if axes != list(range(axes[0], axes[0] + len(axes))):
        raise Unsupported("index arrays for axes that are not adjacent")
    if DYNAMIC in shape[axes[0] : axes[-1] + 1]:
        raise Unsupported("several index arrays for axes of unknown extents")
    position: Array | None = None
    for axis, index in given:
        place = _from_the_front(converted(index, i64), shape[axis])
        position = place if position is None else _advanced(position, place, shape[axis])
    assert position is not None
    product = math.prod(shape[axes[0] : axes[-1] + 1])
    merged = views.reshaped(x, [*shape[: axes[0]], product, *shape[axes[-1] + 1 :]])
    return merged.gather(position, axes[0])


def _from_the_front(index: Array, extent: int) -> Array:
    """Indices with the extent added to negative ones."""

    def function(s: ScalarBuilder, i: SSAValue) -> SSAValue:
        negative = scalars.compared(s, "lt", i, s.constant(0, i.type))
        return s.select(negative, scalars.plus(s, i, extent), i)

    return pointwise(function, (index,), i64)


def _advanced(position: Array, index: Array, extent: int) -> Array:
    """Positions in merged axes: the earlier ones times the extent, plus the index."""
    rows = pointwise(lambda s, p: s.insert(arith.MuliOp(p, s.constant(extent, i64))), (position,), i64)
    return binary("add", rows, index, i64)


COMPUTE: dict[str, Converter] = {
    **dict.fromkeys(("sum.default", "sum.dim_IntList"), _sum),
    **dict.fromkeys(("mean.default", "mean.dim"), _mean),
    **dict.fromkeys(("amax.default", "max.default"), _extreme("max")),
    **dict.fromkeys(("amin.default", "min.default"), _extreme("min")),
    **{f"any.{form}": _truths(reductions.any_true) for form in ("default", "dim", "dims")},
    **{f"all.{form}": _truths(reductions.all_true) for form in ("default", "dim", "dims")},
    "var.correction": _variance,
    "var_mean.correction": _variance_and_mean,
    "linalg_vector_norm.default": _norm,
    "cumsum.default": _cumsum,
    **dict.fromkeys(("softmax.int", "_softmax.default", "_safe_softmax.default"), _softmax),
    **dict.fromkeys(("log_softmax.int", "_log_softmax.default"), _log_softmax),
    "layer_norm.default": _layer_norm,
    "native_layer_norm.default": _native_layer_norm,
    "rms_norm.default": _rms_norm,
    "_fused_rms_norm.default": _fused_rms_norm,
    "_native_batch_norm_legit_no_training.default": _batch_norm,
    **dict.fromkeys(("mm.default", "bmm.default", "matmul.default", "mv.default", "dot.default"), _matmul),
    **dict.fromkeys(("addmm.default", "baddbmm.default"), _addmm),
    "linear.default": _linear,
    **dict.fromkeys(("conv1d.default", "conv2d.default", "conv3d.default"), _convolution),
    **dict.fromkeys(("conv1d.padding", "conv2d.padding", "convolution.default"), _convolution),
    "scaled_dot_product_attention.default": _attention,
    "_scaled_dot_product_flash_attention_for_cpu.default": _flash_attention,
    "embedding.default": _embedding,
    "index_select.default": _index_select,
    "gather.default": _gather,
    "index.Tensor": _index,
}
