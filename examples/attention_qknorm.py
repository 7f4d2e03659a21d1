"""QK-norm attention: out = softmax(rms_norm(q) rms_norm(k)^T / sqrt(D)) v, rms_norm(x) = x gamma / rms(x)."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"H": 4, "M": 108, "N": 132, "D": 48}
DYNAMIC = ("M", "N")


def rms_norm(x: Array, gamma: Array) -> Array:
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * gamma


def reference(q: Array, k: Array, v: Array, q_gamma: Array, k_gamma: Array) -> Array:
    q, k = rms_norm(q, q_gamma), rms_norm(k, k_gamma)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


REFERENCES: dict[str, Callable[..., Array]] = {"attention_qknorm": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "attention_qknorm"
) -> list[Array]:
    h, m, n, d = (dims[name] for name in "HMND")
    return [
        rng.standard_normal((h, m, d)),
        rng.standard_normal((h, n, d)),
        rng.standard_normal((h, n, d)),
        1 + 0.1 * rng.standard_normal(d),
        1 + 0.1 * rng.standard_normal(d),
    ]
