"""RMSNorm and SwiGLU in the spelling a framework emits, silu as x * logistic(x):

out = (silu(y w_gate) * (y w_up)) w_down, y = x / sqrt(mean(x^2) + eps) * gamma.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 130, "D": 64, "F": 96}
DYNAMIC = ("M",)
FIXED = ("D",)  # the text holds 1 / D


def reference(x: Array, gamma: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    y = x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * gamma
    gate = y @ w_gate
    return (gate / (1 + np.exp(-gate)) * (y @ w_up)) @ w_down


REFERENCES: dict[str, Callable[..., Array]] = {"rmsnorm_ffn_swiglu_decomposed": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "rmsnorm_ffn_swiglu_decomposed"
) -> list[Array]:
    m, d, f = (dims[name] for name in "MDF")
    return [
        rng.standard_normal((m, d)),
        1 + 0.1 * rng.standard_normal(d),
        rng.standard_normal((d, f)) / np.sqrt(d),
        rng.standard_normal((d, f)) / np.sqrt(d),
        rng.standard_normal((f, d)) / np.sqrt(f),
    ]
