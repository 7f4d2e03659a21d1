"""Causal self-attention, one per head: out = softmax(q k^T / sqrt(D) where j <= i, else -inf) v."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"H": 4, "S": 150, "D": 48}
DYNAMIC = ("S",)


def reference(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    visible = np.tri(scores.shape[-2], scores.shape[-1], dtype=bool)
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


REFERENCES: dict[str, Callable[..., Array]] = {"attention_causal": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "attention_causal"
) -> list[Array]:
    shape = tuple(dims[name] for name in "HSD")
    return [rng.standard_normal(shape) for _ in range(3)]
