"""Softmax along the rows: probs = exp(x - max(x)) / sum(exp(x - max(x)))."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 150, "N": 96}
DYNAMIC = ("M", "N")


def reference(x: Array) -> Array:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


REFERENCES: dict[str, Callable[..., Array]] = {"softmax": reference}


def inputs(rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "softmax") -> list[Array]:
    return [2 * rng.standard_normal((dims["M"], dims["N"]))]
