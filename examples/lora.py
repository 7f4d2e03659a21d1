"""A linear layer with a low-rank adapter: out = x w + 2 (x a) b."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 120, "K": 64, "N": 80, "R": 8}
DYNAMIC = ("M",)


def reference(x: Array, w: Array, a: Array, b: Array) -> Array:
    return x @ (w + 2 * a @ b)


REFERENCES: dict[str, Callable[..., Array]] = {"lora": reference}


def inputs(rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "lora") -> list[Array]:
    m, k, n, r = (dims[name] for name in "MKNR")
    return [
        rng.standard_normal((m, k)),
        rng.standard_normal((k, n)) / np.sqrt(k),
        rng.standard_normal((k, r)) / np.sqrt(k),
        rng.standard_normal((r, n)) / np.sqrt(r),
    ]
