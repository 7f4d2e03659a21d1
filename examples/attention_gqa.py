"""Grouped-query attention, 16 query heads on 4: out[h] = softmax(q[h] k[h // 4]^T / sqrt(D)) v[h // 4]."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"H": 16, "G": 4, "M": 112, "N": 136, "D": 32, "L": 40}
DERIVED = {"H": ("G", 4)}
DYNAMIC = ("M", "N")


def reference(q: Array, k: Array, v: Array) -> Array:
    shared_by = q.shape[0] // k.shape[0]
    heads: list[Array] = []
    for head, queries in enumerate(q):
        keys, values = k[head // shared_by], v[head // shared_by]
        scores = queries @ keys.T / np.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads.append(weights @ values / weights.sum(axis=-1, keepdims=True))
    return np.stack(heads)


REFERENCES: dict[str, Callable[..., Array]] = {"attention_gqa": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "attention_gqa"
) -> list[Array]:
    h, g, m, n, d, width = (dims[name] for name in "HGMNDL")
    return [
        rng.standard_normal((h, m, d)),
        rng.standard_normal((g, n, d)),
        rng.standard_normal((g, n, width)),
    ]
