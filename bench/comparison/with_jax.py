"""jax: the row as jax.numpy, compiled by XLA ahead of the calls; 16-bit rows compute in float32 between
products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .contenders import Case, Ready
from .workloads import LAYER_NORM_EPS, RMS_NORM_EPS, Array, Workload, visible

Arrays = Mapping[str, jax.Array]


def ready(name: str, case: Case) -> Ready:
    """Compile a row; weights are arguments, for XLA packs none."""
    arrays = {name: jnp.asarray(array) for name, array in case.inputs.items()}
    compiled = jax.jit(_formula(case.workload)).lower(arrays).compile()
    return Ready(lambda: compiled(arrays).block_until_ready(), _array)


def _array(result: Any) -> Array:
    return np.asarray(result).astype(np.float32)


def _wide(array: jax.Array) -> jax.Array:
    return array.astype(jnp.float32)


def _product(a: jax.Array, b: jax.Array) -> jax.Array:
    return jnp.matmul(a, b, preferred_element_type=jnp.float32)


def _softmax(x: jax.Array) -> jax.Array:
    weights = jnp.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def _rms_norm(x: jax.Array, gamma: jax.Array) -> jax.Array:
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + RMS_NORM_EPS) * gamma


def _formula(workload: Workload) -> Callable[[Arrays], jax.Array]:
    def formula(a: Arrays) -> jax.Array:
        own = next(iter(a.values())).dtype
        if workload.kind == "attention":
            scores = _product(a["q"], a["k"].swapaxes(1, 2)) * (workload.extents["D"] ** -0.5)
            if workload.causal:
                seen = visible(workload.extents["M"], workload.extents["N"])
                scores = jnp.where(seen[None], scores, -jnp.inf)
            return _product(_softmax(scores).astype(own), a["v"]).astype(own)
        if workload.kind == "softmax":
            return _softmax(_wide(a["x"])).astype(own)
        if workload.kind == "gelu_gate":
            z = _wide(a["x"]) + _wide(a["bias"])
            opened = 0.5 * z * (1 + jax.scipy.special.erf(z * 0.5**0.5))
            return (opened * _wide(a["gate"])).astype(own)
        x, gamma = _wide(a["x"]), _wide(a["gamma"])
        if workload.kind == "rms_norm":
            return _rms_norm(x, gamma).astype(own)
        if workload.kind == "layernorm_matmul":
            centred = x - x.mean(-1, keepdims=True)
            normed = centred / jnp.sqrt((centred * centred).mean(-1, keepdims=True) + LAYER_NORM_EPS)
            normed = (normed * gamma + _wide(a["beta"])).astype(own)
            return (_product(normed, a["w"]) + _wide(a["bias"])).astype(own)
        y = _rms_norm(x, gamma).astype(own)
        gate = _product(y, a["w_gate"])
        hidden = (gate / (1 + jnp.exp(-gate)) * _product(y, a["w_up"])).astype(own)
        return _product(hidden, a["w_down"]).astype(own)

    return formula
