"""LayerNorm then linear: out = ((x - mean(x)) / sqrt(var(x) + eps) * gamma + beta) w + bias."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 150, "K": 64, "N": 96}
DYNAMIC = ("M",)


def reference(x: Array, gamma: Array, beta: Array, w: Array, bias: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    normed = centred / np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    return (normed * gamma + beta) @ w + bias


REFERENCES: dict[str, Callable[..., Array]] = {"layernorm_matmul": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "layernorm_matmul"
) -> list[Array]:
    m, k, n = (dims[name] for name in "MKN")
    return [
        0.5 + rng.standard_normal((m, k)),
        1 + 0.1 * rng.standard_normal(k),
        0.1 * rng.standard_normal(k),
        rng.standard_normal((k, n)) / np.sqrt(k),
        rng.standard_normal(n),
    ]
