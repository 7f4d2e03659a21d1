"""Numpy formulas of the composite `array` operations, written independently of `array-decompose`.

Operands come in the dtype of their elements (float64 in float64 mode); 16-bit floats are computed in float32.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation

from ...dialects.array import (
    AttentionOp,
    GeluForm,
    GeluOp,
    LayerNormOp,
    ReluOp,
    RmsNormOp,
    SigmoidOp,
    SiluOp,
    SoftmaxOp,
)
from ..arrays.dtypes import Array, widen
from ..errors import InterpreterError
from .masked_products import masked_product
from .scalar_semantics import erf


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _relu(op: ReluOp, x: Array) -> Array:
    return np.maximum(x, 0)


def _logistic(op: SigmoidOp, x: Array) -> Array:
    return _sigmoid(widen(x))


def _silu(op: SiluOp, x: Array) -> Array:
    x = widen(x)
    return x * _sigmoid(x)


def _gelu(op: GeluOp, x: Array) -> Array:
    x = widen(x)
    if op.form.data is GeluForm.EXACT:
        return 0.5 * x * (1 + erf(x * np.sqrt(0.5).astype(x.dtype)))
    inner = np.sqrt(2 / np.pi).astype(x.dtype) * (x + np.asarray(0.044715, x.dtype) * x**3)
    return 0.5 * x * (1 + np.tanh(inner))


def _softmax(op: SoftmaxOp, x: Array) -> Array:
    axis = op.axis.value.data
    x = widen(x)
    weights = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return weights / np.sum(weights, axis=axis, keepdims=True)


def _layer_norm(op: LayerNormOp, x: Array, *vectors: Array) -> Array:
    rest = [widen(vector) for vector in vectors]
    x = widen(x)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    result = centred / np.sqrt(variance + np.asarray(op.eps.value.data, x.dtype))
    if op.scale is not None:
        result = result * rest.pop(0)
    return result + rest.pop(0) if op.shift is not None else result


def _rms_norm(op: RmsNormOp, x: Array, scale: Array | None = None) -> Array:
    x = widen(x)
    square = np.mean(x * x, axis=-1, keepdims=True)
    result = x / np.sqrt(square + np.asarray(op.eps.value.data, x.dtype))
    return result if scale is None else result * widen(scale)


def _attention(op: AttentionOp, q: Array, k: Array, v: Array, *others: Array) -> Array:
    rest = list(others)
    q, k, v = widen(q), widen(k), widen(v)
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise InterpreterError(
            f"'{op.name}' q, k and v have shapes {q.shape}, {k.shape} and {v.shape}, "
            "expected the head size of q in k and as many values as keys",
            op,
        )
    if q.ndim > 2 and q.shape[-3] != k.shape[-3]:
        k, v = (np.repeat(x, q.shape[-3] // k.shape[-3], axis=-3) for x in (k, v))
    if q.shape[:-2] != k.shape[:-2] or k.shape[:-2] != v.shape[:-2]:
        raise InterpreterError(
            f"'{op.name}' leading extents of q, k and v are {q.shape[:-2]}, {k.shape[:-2]} "
            f"and {v.shape[:-2]} (key heads repeated), expected equal ones",
            op,
        )
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * np.asarray(op.scale_value, q.dtype)
    visible = np.ones((), np.bool_)
    try:
        if op.bias is not None:
            scores = scores + np.broadcast_to(widen(rest.pop(0)), scores.shape)
        if op.mask is not None:
            visible = np.broadcast_to(rest.pop(0), scores.shape)
    except ValueError:
        raise InterpreterError(
            f"'{op.name}' bias or mask does not broadcast to the scores' {scores.shape}", op
        ) from None
    if op.causal is not None:
        visible = visible & np.tri(q.shape[-2], k.shape[-2], dtype=np.bool_)  # column <= row
    scores = np.where(visible, scores, -np.inf)
    largest = np.max(scores, axis=-1, keepdims=True)
    weights = np.exp(scores - np.where(largest == -np.inf, 0, largest)).astype(q.dtype)
    total = np.sum(weights, axis=-1, keepdims=True)
    return masked_product(weights / np.where(total == 0, 1, total), v, visible)


Formula: TypeAlias = Callable[..., Array]

_FORMULAS: Mapping[type[Operation], Formula] = {
    ReluOp: _relu,
    SigmoidOp: _logistic,
    SiluOp: _silu,
    GeluOp: _gelu,
    SoftmaxOp: _softmax,
    LayerNormOp: _layer_norm,
    RmsNormOp: _rms_norm,
    AttentionOp: _attention,
}


def evaluate_composite(op: Operation, operands: Sequence[Array]) -> Array | None:
    """The result of a composite operation, not yet rounded to its element type; None for others."""
    formula = _FORMULAS.get(type(op))
    return None if formula is None else formula(op, *operands)
