"""Scaled dot-product attention, one head: out = softmax(q k^T / sqrt(D)) v."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 160, "N": 192, "D": 64, "L": 96}
DYNAMIC = ("M", "N")


def reference(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.T / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


REFERENCES: dict[str, Callable[..., Array]] = {"attention": reference}


def inputs(rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "attention") -> list[Array]:
    m, n, d, width = (dims[name] for name in "MNDL")
    return [rng.standard_normal((m, d)), rng.standard_normal((n, d)), rng.standard_normal((n, width))]
