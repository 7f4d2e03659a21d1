"""Matrix products of which a mask leaves out pairs of factors."""

from __future__ import annotations

import numpy as np

from ..arrays.dtypes import Array


def masked_product(a: Array, b: Array, kept: Array) -> Array:
    """Return a·b with a[..., m, k]·b[..., k, n] left out wherever `kept` is False, whatever both factors are.

    `a` has shape [..., M, K], `b` [..., K, N], and `kept`, of bools, broadcasts to the shape of `a` with the
    leading axes of the result. The result has the dtype of `a` and `b`.
    """
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    kept = np.broadcast_to(kept, (*batch, *a.shape[-2:]))
    shown = np.where(kept, a, np.zeros((), a.dtype))
    finite = np.isfinite(b)
    result = np.matmul(shown, np.where(finite, b, np.zeros((), b.dtype)))
    if finite.all():
        return result
    # A factor that is not finite meets few others: each row of b that has one is added by itself.
    b = np.broadcast_to(b, (*batch, *b.shape[-2:]))
    for k in np.flatnonzero(~finite.all(axis=(*range(finite.ndim - 2), -1))):
        row = np.where(np.isfinite(b[..., k, :]), np.zeros((), b.dtype), b[..., k, :])[..., None, :]
        added = np.where(row == 0, row, a[..., :, k, None] * row)
        result = result + np.where(kept[..., :, k, None], added, np.zeros((), b.dtype))
    return result
