"""Gated feed-forward layers: out = (act(x w_gate) * (x w_up)) w_down, one function for each activation."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {"M": 110, "D": 48, "F": 72}
DYNAMIC = ("M",)


def sigmoid(z: Array) -> Array:
    return 1 / (1 + np.exp(-z))


def gelu_tanh(z: Array) -> Array:
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def glu(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    return (sigmoid(x @ w_gate) * (x @ w_up)) @ w_down


def bilinear(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    return ((x @ w_gate) * (x @ w_up)) @ w_down


def reglu(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    return (np.maximum(x @ w_gate, 0) * (x @ w_up)) @ w_down


def geglu(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    return (gelu_tanh(x @ w_gate) * (x @ w_up)) @ w_down


def swiglu(x: Array, w_gate: Array, w_up: Array, w_down: Array) -> Array:
    gate = x @ w_gate
    return (gate * sigmoid(gate) * (x @ w_up)) @ w_down


REFERENCES: dict[str, Callable[..., Array]] = {
    "glu": glu,
    "bilinear": bilinear,
    "reglu": reglu,
    "geglu": geglu,
    "swiglu": swiglu,
}


def inputs(rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "swiglu") -> list[Array]:
    m, d, f = (dims[name] for name in "MDF")
    return [
        rng.standard_normal((m, d)),
        rng.standard_normal((d, f)) / np.sqrt(d),
        rng.standard_normal((d, f)) / np.sqrt(d),
        rng.standard_normal((f, d)) / np.sqrt(f),
    ]
