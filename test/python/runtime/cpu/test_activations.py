"""Activations on CPUs at the ends of their range: infinities, NaN, zeros of both signs, and large numbers."""

from __future__ import annotations

import math
from typing import Any

import bb
import ml_dtypes
import numpy as np
import pytest

pytestmark = pytest.mark.long

VALUES = [0.0, -0.0, 1.0, -1.0, 5.0, -5.0, 20.0, -20.0, 88.0, -88.0, 90.0, -90.0, 104.0, -104.0]
VALUES += [6e4, -6e4, 1e19, -1e19, 3.38e38, -3.38e38, math.inf, -math.inf, math.nan]
COUNT = len(VALUES)

SOFTPLUS = """
  %zero = arith.constant 0.0 : TYPE
  %size = math.absf %a : TYPE
  %minus = arith.negf %size : TYPE
  %small = math.exp %minus : TYPE
  %log = math.log1p %small : TYPE
  %positive = arith.maximumf %a, %zero : TYPE
  %softplus = arith.addf %log, %positive : TYPE
"""
MISH = """
  %weight = math.tanh %softplus : TYPE
  %mish = arith.mulf %a, %weight : TYPE
"""
ELU = """
  %zero = arith.constant 0.0 : TYPE
  %negative = math.expm1 %a : TYPE
  %is_positive = arith.cmpf ogt, %a, %zero : TYPE
  %elu = arith.select %is_positive, %a, %negative : TYPE
"""


def elementwise(name: str, body: str) -> str:
    return (
        f"%{name}s = array.elementwise (%a = %x) : TENSOR -> TENSOR {{ {body} array.yield %{name} : TYPE }}"
    )


PROGRAM = f"""
func.func @activations(%x: TENSOR) -> (TENSOR, TENSOR, TENSOR, TENSOR, TENSOR, TENSOR, TENSOR) {{
  %sigmoid = array.sigmoid %x : TENSOR
  %silu = array.silu %x : TENSOR
  %exact = array.gelu exact %x : TENSOR
  %tanh = array.gelu tanh %x : TENSOR
  {elementwise("softplus", SOFTPLUS)}
  {elementwise("mish", SOFTPLUS + MISH)}
  {elementwise("elu", ELU)}
  func.return %sigmoid, %silu, %exact, %tanh, %softpluss, %mishs, %elus
    : TENSOR, TENSOR, TENSOR, TENSOR, TENSOR, TENSOR, TENSOR
}}
"""


def wanted(x: float) -> list[float]:
    """Each activation in float64, in a form that neither overflows nor cancels."""
    if math.isnan(x):
        return [math.nan] * 7
    tail = math.exp(-abs(x))
    softplus = math.log1p(tail) + max(x, 0.0)
    # With less than -1e200 the cube is infinite, and tanh is at its end long before.
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    sigmoid = 1 / (1 + tail) if x >= 0 else tail / (1 + tail)
    weights = [sigmoid, 0.5 * math.erfc(-x / math.sqrt(2)), 0.5 * (1 + math.tanh(inner)), math.tanh(softplus)]
    silu, exact, tanh, mish = (x * weight for weight in weights)
    return [sigmoid, silu, exact, tanh, softplus, mish, x if x > 0 else math.expm1(x)]


@pytest.mark.parametrize(
    ("type", "dtype"), [("f32", np.float32), ("bf16", ml_dtypes.bfloat16), ("f16", np.float16)]
)
def test_special_values(type: str, dtype: Any):
    with np.errstate(over="ignore"):
        x = np.array(VALUES).astype(dtype)
    text = PROGRAM.replace("TENSOR", f"tensor<{COUNT}x{type}>").replace("TYPE", type)
    found = bb.compile(text, target="cpu")(x)
    epsilon = float(ml_dtypes.finfo(dtype).eps)
    for index, value in enumerate(x.astype(float)):
        right = np.array(wanted(float(value)))
        with np.errstate(over="ignore"):
            right = right.astype(dtype).astype(float)
        for result, expected in zip(found, right, strict=True):
            got = float(result[index])
            # Activations that are a sum of 1 and nearly -1 are right to the rounding of the 1.
            assert got == pytest.approx(expected, rel=2 * epsilon, abs=1e-6, nan_ok=True), value
            if value == 0 and expected == 0:
                assert math.copysign(1, got) == math.copysign(1, expected), value
