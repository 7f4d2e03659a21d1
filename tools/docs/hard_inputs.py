"""Inputs at which floating point goes wrong: large, equal and masked logits, rows of zeros, large scales.

Logits are exactly representable in the element type wherever the width of the heads is a power of 4, so that
all the error there is comes from what follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MODERATE = "moderate logits"
LARGEST = "logits of ±3e38"
HIDDEN = "columns of -inf"
MASKED = "masked rows"
"""The inputs with rows that are masked everywhere by -inf."""


def _moderate(rng: np.random.Generator, count: int, step: float) -> Array:
    return rng.integers(-32, 32, count) / 4.0


def _large(rng: np.random.Generator, count: int, step: float) -> Array:
    return rng.choice([-1.0, 1.0], count) * (9984 - step * rng.integers(0, 4, count))


def _offset(rng: np.random.Generator, count: int, step: float) -> Array:
    return 9984 - step * rng.integers(0, 4, count)


def _largest(rng: np.random.Generator, count: int, step: float) -> Array:
    return rng.choice([-3e38, 3e38], count)


def _equal(rng: np.random.Generator, count: int, step: float) -> Array:
    return np.full(count, 9984.0)


def _outlier(rng: np.random.Generator, count: int, step: float) -> Array:
    values = _moderate(rng, count, step)
    values[rng.integers(count)] = 9984.0
    return values


def _denormal(rng: np.random.Generator, count: int, step: float) -> Array:
    return 1e-40 * rng.integers(-8, 8, count)


def _hidden(rng: np.random.Generator, count: int, step: float) -> Array:
    values = _moderate(rng, count, step)
    hidden = rng.random(count) < 0.5
    hidden[: count // 2] = True  # whole blocks of columns, the first ones among them
    hidden[-1] = False
    return np.where(hidden, -np.inf, values)


_ROWS: Mapping[str, Callable[[np.random.Generator, int, float], Array]] = {
    MODERATE: _moderate,
    "logits of ±1e4": _large,
    "logits near 1e4": _offset,
    LARGEST: _largest,
    "equal logits": _equal,
    "one outlier": _outlier,
    "denormal logits": _denormal,
    HIDDEN: _hidden,
}


def _step(bits: int) -> float:
    """The distance of representable numbers near 1e4, or 1 where that is smaller."""
    return max(1.0, 2.0 ** (14 - bits))


def logits(rng: np.random.Generator, rows: int, columns: int, bits: int) -> dict[str, Array]:
    """Arrays [rows, columns] of logits, exact in a type with `bits` bits of precision."""
    found = {
        name: np.stack([make(rng, columns, _step(bits)) for _ in range(rows)]) for name, make in _ROWS.items()
    }
    found[MASKED] = found[MODERATE].copy()
    found[MASKED][::3] = -np.inf
    return found


def queries_and_keys(
    rng: np.random.Generator, q: Array, k: Array, bits: int, root: float | None = None
) -> dict[str, tuple[Array, Array]]:
    """Pairs of arrays like `q` and `k` whose products, divided by `root`, are hard logits.

    By default that is the root of the width of the heads.
    """
    root, heads = root or np.sqrt(q.shape[-1]), k.shape[:-2]
    found: dict[str, tuple[Array, Array]] = {}
    for name, make in _ROWS.items():
        queries, keys = np.zeros_like(q), np.zeros_like(k)
        factors = [0.5, 1.0, 2.0] if name == HIDDEN else [-2.0, -1.0, -0.5, 0.5, 1.0, 2.0]
        values = [make(rng, k.shape[-2], _step(bits)) for _ in range(int(np.prod(heads)))]
        keys[..., 0] = np.reshape(values, k.shape[:-1])
        if name == LARGEST:
            queries[..., 0] = 1.0
        else:
            queries[..., 0] = rng.choice(factors, q.shape[:-1])
            keys *= root
        found[name] = queries, keys
    queries, keys = (array.copy() for array in found[MODERATE])
    keys[..., 0] = np.abs(keys[..., 0]) + 1
    queries[..., ::3, 0] = -np.inf
    found[MASKED] = queries, keys
    return found


def _attention(
    rng: np.random.Generator, ordinary: Sequence[Array], bits: int, root: float | None = None
) -> dict[str, list[Array]]:
    q, k, *others = ordinary
    pairs = queries_and_keys(rng, q, k, bits, root)
    return {name: [*pair, *others] for name, pair in pairs.items()}


def _causal_attention(
    rng: np.random.Generator, ordinary: Sequence[Array], bits: int
) -> dict[str, list[Array]]:
    found = _attention(rng, ordinary, bits)
    found[HIDDEN][1][..., 0, 0] = 0.0  # the only key that the first query sees
    return found


def _biased_attention(
    rng: np.random.Generator, ordinary: Sequence[Array], bits: int
) -> dict[str, list[Array]]:
    q, k, v, bias, mask = ordinary
    quarters = np.round(4 * bias) / 4
    found = {name: [*pair, v, 0 * bias, mask] for name, pair in queries_and_keys(rng, q, k, bits).items()}
    moderate = found[MODERATE][:2]
    found["moderate bias"] = [*moderate, v, quarters, mask]
    found["bias of ±1e4"] = [*moderate, v, 9984 * np.sign(bias), mask]
    found["finite mask"] = [*moderate, v, quarters, np.where(mask < 0, -9984.0, 0.0)]
    found["finite mask everywhere"] = [0 * q, k, v, 0 * bias, np.full_like(mask, -9984.0)]
    masked = quarters.copy()
    masked[..., ::3, :] = -np.inf
    found[MASKED] = [*moderate, v, masked, mask]
    return found


def _quarters(rng: np.random.Generator, ordinary: Sequence[Array], bits: int) -> dict[str, list[Array]]:
    return _attention(rng, ordinary, bits, root=4.0)


def _products(rng: np.random.Generator, ordinary: Sequence[Array], bits: int) -> dict[str, list[Array]]:
    found = _attention(rng, ordinary, bits, root=1.0)
    del found[MASKED]  # probabilities of 0 are logits of what follows
    return found


def _logits(rng: np.random.Generator, ordinary: Sequence[Array], bits: int) -> dict[str, list[Array]]:
    (x,) = ordinary
    rows, columns = x.shape
    return {name: [array] for name, array in logits(rng, rows, columns, bits).items()}


def _scaled(rng: np.random.Generator, ordinary: Sequence[Array], bits: int) -> dict[str, list[Array]]:
    """For norms: rows of zeros, and scales that a norm takes out again."""
    x, *others = ordinary
    zeros = x.copy()
    zeros[..., ::3, :] = 0
    return {
        "ordinary": [x, *others],
        "rows of zeros": [zeros, *others],
        "scale 1e-20": [1e-20 * x, *others],
        "scale 1e18": [1e18 * x, *others],
    }


def _shifted(rng: np.random.Generator, ordinary: Sequence[Array], bits: int) -> dict[str, list[Array]]:
    """For norms that centre: also constant rows, means far from 0, and numbers whose squares vanish."""
    x, *others = ordinary
    constant = x.copy()
    constant[::3] = 3.0
    return {
        **_scaled(rng, ordinary, bits),
        "constant rows": [constant, *others],
        "mean of 100 deviations": [x + 100, *others],
        "mean of 1e4 deviations": [x + 1e4, *others],
        "mean of 1e6 deviations": [x + 1e6, *others],
        "scale 1e-30": [1e-30 * (x + 1e4), *others],
    }


def _saturated(rng: np.random.Generator, ordinary: Sequence[Array], bits: int) -> dict[str, list[Array]]:
    x, *others = ordinary
    return {"ordinary": [x, *others], "scale 1e3": [1e3 * x, *others]}


_Maker = Callable[[np.random.Generator, Sequence[Array], int], dict[str, list[Array]]]

_MAKERS: Mapping[str, _Maker] = {
    "softmax_of_softmax": _products,
    "softmax": _logits,
    "logsumexp": _logits,
    "log_softmax": _logits,
    "attention_bias": _biased_attention,
    "attention_qknorm": _scaled,
    "attention_qk_layernorm": _scaled,
    "attention_spellings": _quarters,
    "attention_base_2": _quarters,
    "attention_causal": _causal_attention,
    "attention": _attention,
    "layernorm": _shifted,
    "rmsnorm": _scaled,
    "decoder": _scaled,
}
"""Makers by prefix of a program's name; the first that fits counts."""


def hard_inputs(name: str, ordinary: Sequence[Array], bits: int, seed: int = 0) -> dict[str, list[Array]]:
    """Hard inputs of a program, by name, made from ordinary ones for a type with `bits` bits of precision."""
    make = next((make for prefix, make in _MAKERS.items() if name.startswith(prefix)), _saturated)
    return make(np.random.default_rng(seed), ordinary, bits)


def error(got: NDArray[Any], wanted: NDArray[Any]) -> float:
    """The largest error of a result, relative to the largest element of its row; of the result without rows.

    Infinite where a result is NaN or infinite and the wanted one, rounded to the result's type, is not, or
    the other way round.
    """
    result = got.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = wanted.astype(got.dtype).astype(np.float64)
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    finite = np.isfinite(result) & np.isfinite(rounded)
    if not np.all(same | finite):
        return float("inf")
    rows = np.where(np.isfinite(rounded), np.abs(wanted), 0.0)
    scale = np.max(rows, axis=-1 if rows.ndim > 1 else None, keepdims=True, initial=0.0)
    with np.errstate(invalid="ignore"):
        distance = np.where(finite, np.abs(result - wanted), 0.0)
        return float(np.max(distance / np.where(scale == 0, 1.0, scale), initial=0.0))
