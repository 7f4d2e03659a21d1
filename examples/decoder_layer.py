"""One decoder layer: r = x + attention(rms_norm(x)) w_o, out = r + swiglu(rms_norm(r)).

The attention is causal with rotary positions, H query heads on G key and value heads. Rotary by halves:
feature p of a head turns with feature P + p, (a, b) -> (a cos - b sin, b cos + a sin).
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

DIMS: dict[str, int] = {
    "S": 104, "D": 72, "H": 6, "G": 2, "P": 16, "E": 32, "HE": 192, "GE": 64, "F": 88,
}  # fmt: skip
DERIVED = {"H": ("G", 3), "E": ("P", 2), "HE": ("H", "E"), "GE": ("G", "E")}
DYNAMIC = ("S",)


def rms_norm(x: Array, gamma: Array) -> Array:
    return x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + 1e-6) * gamma


def rotate(head: Array, cos: Array, sin: Array) -> Array:
    half = head.shape[-1] // 2
    turned = (head[:, :half] + 1j * head[:, half:]) * (cos + 1j * sin)
    return np.concatenate([turned.real, turned.imag], axis=-1)


def causal_attention(q: Array, k: Array, v: Array) -> Array:
    scores = q @ k.T / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights @ v / weights.sum(axis=-1, keepdims=True)


def reference(
    x: Array,
    cos: Array,
    sin: Array,
    attention_gamma: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    ffn_gamma: Array,
    w_gate: Array,
    w_up: Array,
    w_down: Array,
) -> Array:
    width = 2 * cos.shape[-1]
    shared_by = w_q.shape[-1] // w_k.shape[-1]
    y = rms_norm(x, attention_gamma)
    heads: list[Array] = []
    for head in range(w_q.shape[-1] // width):
        own = slice(head * width, (head + 1) * width)
        shared = slice(head // shared_by * width, (head // shared_by + 1) * width)
        q, k, v = y @ w_q[:, own], y @ w_k[:, shared], y @ w_v[:, shared]
        heads.append(causal_attention(rotate(q, cos, sin), rotate(k, cos, sin), v))
    r = x + np.concatenate(heads, axis=-1) @ w_o
    z = rms_norm(r, ffn_gamma)
    gate = z @ w_gate
    return r + (gate / (1 + np.exp(-gate)) * (z @ w_up)) @ w_down


REFERENCES: dict[str, Callable[..., Array]] = {"decoder_layer": reference}


def inputs(
    rng: np.random.Generator, dims: Mapping[str, int] = DIMS, entry: str = "decoder_layer"
) -> list[Array]:
    s, d, p, f, he, ge = (dims[name] for name in ("S", "D", "P", "F", "HE", "GE"))
    angles = np.arange(s)[:, None] / 10000 ** (np.arange(p) / p)

    def weight(rows: int, columns: int) -> Array:
        return rng.standard_normal((rows, columns)) / np.sqrt(rows)

    return [
        rng.standard_normal((s, d)),
        np.cos(angles),
        np.sin(angles),
        1 + 0.1 * rng.standard_normal(d),
        weight(d, he),
        weight(d, ge),
        weight(d, ge),
        weight(he, d),
        1 + 0.1 * rng.standard_normal(d),
        weight(d, f),
        weight(d, f),
        weight(f, d),
    ]
