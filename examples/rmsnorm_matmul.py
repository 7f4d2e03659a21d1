"""RMSNorm then linear: out = (x / sqrt(mean(x^2) + eps) * gamma) w^T, the mean per row of x."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 140, "K": 80, "N": 56}
DYNAMIC = ("M",)


def reference(x: Array, gamma: Array, w: Array) -> Array:
    normed = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6)
    return (normed * gamma) @ w.T


REFERENCES: dict[str, Callable[..., Array]] = {"rmsnorm_matmul": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "rmsnorm_matmul"
) -> list[Array]:
    m, k, n = (dims[name] for name in "MKN")
    return [
        rng.standard_normal((m, k)),
        1 + 0.1 * rng.standard_normal(k),
        rng.standard_normal((n, k)) / np.sqrt(k),
    ]
