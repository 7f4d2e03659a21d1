"""numpy: contractions by its BLAS, everything else element by element, in place where that is easy."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .contenders import Case, Ready
from .workloads import LAYER_NORM_EPS, RMS_NORM_EPS, Array, visible


def _softmax(x: Array) -> Array:
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x


def _scaled(x: Array, eps: float) -> Array:
    """Rows over the root of their mean square."""
    return x / np.sqrt(np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1]) + np.float32(eps))


def ready(name: str, case: Case) -> Ready:
    """The row as numpy's functions, in float32. Raises ImportError where erf is needed and scipy missing."""
    return Ready(_KINDS[case.workload.kind](case), np.asarray)


def _attention(case: Case) -> Callable[[], Array]:
    q, k, v = case.inputs.values()
    extents = case.workload.extents
    scale, mask = np.float32(extents["D"] ** -0.5), None
    if case.workload.causal:
        mask = np.where(visible(extents["M"], extents["N"]), 0, -np.inf).astype(np.float32)

    def run() -> Array:
        scores = q @ k.transpose(0, 2, 1)
        scores *= scale
        if mask is not None:
            scores += mask
        return _softmax(scores) @ v

    return run


def _layernorm_matmul(case: Case) -> Callable[[], Array]:
    x, gamma, beta, w, bias = case.inputs.values()
    return lambda: (_scaled(x - x.mean(axis=-1, keepdims=True), LAYER_NORM_EPS) * gamma + beta) @ w + bias


def _swiglu(case: Case) -> Callable[[], Array]:
    x, gamma, w_gate, w_up, w_down = case.inputs.values()

    def run() -> Array:
        y = _scaled(x, RMS_NORM_EPS) * gamma
        gate = y @ w_gate
        hidden = np.exp(-gate)
        hidden += 1
        np.divide(gate, hidden, out=hidden)
        hidden *= y @ w_up
        return hidden @ w_down

    return run


def _gelu_gate(case: Case) -> Callable[[], Array]:
    from scipy.special import erf  # numpy has none

    x, bias, gate = case.inputs.values()

    def run() -> Array:
        z = x + bias
        out = z * np.float32(math.sqrt(0.5))
        erf(out, out=out)
        out += 1
        out *= z
        out *= np.float32(0.5)
        out *= gate
        return out

    return run


_KINDS: dict[str, Callable[[Case], Callable[[], Array]]] = {
    "attention": _attention,
    "layernorm_matmul": _layernorm_matmul,
    "swiglu": _swiglu,
    "softmax": lambda case: lambda: _softmax(case.inputs["x"].copy()),
    "rms_norm": lambda case: lambda: _scaled(case.inputs["x"], RMS_NORM_EPS) * case.inputs["gamma"],
    "gelu_gate": _gelu_gate,
}
