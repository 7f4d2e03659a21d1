"""Tiles of bf16 in pairs: queries that are loaded so, and probabilities that a sweep writes so."""

from functools import cache

import ml_dtypes
import numpy as np
import pytest
from bb.runtime.api import compile_all
from bb.runtime.executable.executable import Executable

pytestmark = pytest.mark.long

BF16 = np.dtype(ml_dtypes.bfloat16)
SCALE = 0.25

EXTENTS = {"plain": (65, 301, 33, 47), "causal": (129, 129, 64, 35)}
"""Queries, keys, the width of both, and that of the values."""


def program(name: str) -> str:
    queries, keys, width, features = EXTENTS[name]
    q, k, v, out = (
        f"tensor<{rows}x{columns}xbf16>"
        for rows, columns in ((queries, width), (keys, width), (keys, features), (queries, features))
    )
    word = "causal" if name == "causal" else ""
    return f"""
func.func @{name}(%q: {q}, %k: {k}, %v: {v}) -> {out} {{
  %out = array.attention %q, %k, %v scale {SCALE} {word} : {q}, {k}, {v} -> {out}
  func.return %out : {out}
}}
"""


@cache
def executables() -> dict[str, Executable]:
    return compile_all("".join(map(program, EXTENTS)))


def attention(name: str, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    wide_q, wide_k, wide_v = (x.astype(np.float64) for x in (q, k, v))
    scores = wide_q @ wide_k.T * SCALE
    if name == "causal":
        scores[np.arange(len(k)) > np.arange(len(q))[:, None]] = -np.inf
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ wide_v


def inputs(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    queries, keys, width, features = EXTENTS[name]
    q, k, v = (
        rng.normal(size=size).astype(BF16) for size in ((queries, width), (keys, width), (keys, features))
    )
    return q, k, v


@pytest.mark.parametrize("name", EXTENTS)
def test_the_source_has_pairs(name: str):
    source = executables()[name].source
    assert "bb::load_pairs<T>(" in source
    assert "bb::sweep_lanes_pairs<1, T>(" in source
    assert "bb::exp_near(" in source


@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
@pytest.mark.parametrize("name", EXTENTS)
def test_attention_at_odd_extents(name: str, layout: str):
    q, k, v = inputs(name)
    if layout == "columns":
        q, k, v = (np.asfortranarray(x) for x in (q, k, v))
    elif layout == "strided":
        q, k, v = np.repeat(q, 3, axis=1)[:, ::3], k[::-1], v[:, ::-1]
    want = attention(name, q, k, v)
    error = np.abs(executables()[name](q, k, v).astype(np.float64) - want).max()
    assert error <= 1e-2 * np.abs(want).max()


def test_hard_values():
    """Scores far apart, rows of equal scores, and NaN: as in the program, row by row."""
    q, k, v = inputs("plain")
    q[1] *= 3000
    q[2] = 0
    q[5, 3] = np.nan
    k[:, 7] = 0
    q[6, 7] = np.inf  # times 0
    q[8] = BF16.type(1e-39)  # denormal
    out = executables()["plain"](q, k, v).astype(np.float64)
    with np.errstate(invalid="ignore"):
        want = attention("plain", q, k, v)
    assert (np.isnan(out).any(axis=1) == np.isnan(want).any(axis=1)).all()
    assert sorted(np.flatnonzero(np.isnan(out).any(axis=1))) == [5, 6]
    finite = ~np.isnan(want).any(axis=1)
    assert np.abs(out - want)[finite].max() <= 1e-2 * np.abs(want[finite]).max()
