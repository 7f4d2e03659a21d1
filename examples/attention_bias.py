"""Evoformer row attention: out = softmax(q k^T / sqrt(D) + pair_bias + key_mask) v.

The mask holds 0 or -inf for each key of each row; `inputs` leaves at least one key visible in every row.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"B": 6, "H": 4, "M": 100, "N": 120, "D": 32}
DYNAMIC = ("M", "N")


def reference(q: Array, k: Array, v: Array, pair_bias: Array, key_mask: Array) -> Array:
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores = scores + pair_bias + key_mask[:, None, None, :]
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


REFERENCES: dict[str, Callable[..., Array]] = {"attention_bias": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "attention_bias"
) -> list[Array]:
    b, h, m, n, d = (dims[name] for name in "BHMND")
    hidden = rng.random((b, n)) < 0.25
    hidden[np.arange(b), rng.integers(n, size=b)] = False
    return [
        rng.standard_normal((b, h, m, d)),
        rng.standard_normal((b, h, n, d)),
        rng.standard_normal((b, h, n, d)),
        rng.standard_normal((h, m, n)),
        np.where(hidden, -np.inf, 0.0),
    ]
