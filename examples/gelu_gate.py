"""Bias, exact GELU and a gate: out = gelu(x + bias) * gate, gelu(z) = z (1 + erf(z / sqrt(2))) / 2."""

import math
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 140, "N": 72}
DYNAMIC = ("M", "N")


def reference(x: Array, bias: Array, gate: Array) -> Array:
    z = x + bias
    return z * (1 + np.vectorize(math.erf)(z / np.sqrt(2))) / 2 * gate


REFERENCES: dict[str, Callable[..., Array]] = {"gelu_gate": reference}


def inputs(rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "gelu_gate") -> list[Array]:
    m, n = dims["M"], dims["N"]
    return [rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal((m, n))]
