"""Every operation on 16-bit floats rounds its result, on every target: what is stored is what is used."""

from __future__ import annotations

import functools
from typing import Any

import bb
import numpy as np
import pytest
from bb.runtime.api import compile_all
from bb.runtime.arrays.dtypes import BFLOAT16, to_dtype

pytestmark = pytest.mark.long

INFINITY = {"f16": "0x7C00", "bf16": "0x7F80"}


def _program(type: str) -> str:
    wide, row, mask = f"tensor<24x40x{type}>", f"tensor<24x1x{type}>", "tensor<24x40xi1>"
    return f"""
func.func @infinite(%x: {wide}) -> ({wide}, {mask}) {{
  %y, %z = array.elementwise (%a = %x) : {wide} -> {wide}, {mask} {{
    %s = arith.mulf %a, %a : {type}
    %c = arith.constant {INFINITY[type]} : {type}
    %i = arith.cmpf oeq, %s, %c : {type}
    array.yield %s, %i : {type}, i1
  }}
  func.return %y, %z : {wide}, {mask}
}}
func.func @largest(%x: {wide}) -> ({wide}, {row}, {mask}) {{
  %y = array.elementwise (%a = %x) : {wide} -> {wide} {{
    %c = arith.constant 3.333300e-01 : {type}
    %s = arith.mulf %a, %c : {type}
    %t = arith.addf %s, %a : {type}
    array.yield %t : {type}
  }}
  %m = array.reduce max %y axes [1] keepdims : {wide} -> {row}
  %z = array.elementwise (%a = %y, %b = %m) : {wide}, {row} -> {mask} {{
    %i = arith.cmpf oeq, %a, %b : {type}
    array.yield %i : i1
  }}
  func.return %y, %m, %z : {wide}, {row}, {mask}
}}
func.func @chain(%x: {wide}, %y: {wide}) -> {wide} {{
  %z = array.elementwise (%a = %x, %b = %y) : {wide}, {wide} -> {wide} {{
    %p = arith.mulf %a, %b : {type}
    %q = arith.addf %p, %a : {type}
    %r = arith.divf %q, %b : {type}
    %c = arith.cmpf olt, %q, %r : {type}
    %s = arith.subf %q, %r : {type}
    %t = arith.select %c, %s, %p : {type}
    %n = arith.negf %t : {type}
    %u = arith.maximumf %n, %q : {type}
    array.yield %u : {type}
  }}
  func.return %z : {wide}
}}
func.func @casts(%x: tensor<24x40xf32>) -> (tensor<24x40xf32>, {mask}) {{
  %y, %z = array.elementwise (%a = %x) : tensor<24x40xf32> -> tensor<24x40xf32>, {mask} {{
    %n = arith.truncf %a : f32 to {type}
    %w = arith.extf %n : {type} to f32
    %d = arith.subf %a, %w : f32
    %c = arith.cmpf oeq, %a, %w : f32
    array.yield %d, %c : f32, i1
  }}
  func.return %y, %z : tensor<24x40xf32>, {mask}
}}
func.func @integers(%i: tensor<24x40xi32>) -> ({wide}, {mask}) {{
  %y, %z = array.elementwise (%a = %i) : tensor<24x40xi32> -> {wide}, {mask} {{
    %f = arith.sitofp %a : i32 to {type}
    %one = arith.constant 1.0 : {type}
    %g = arith.addf %f, %one : {type}
    %c = arith.cmpf oeq, %f, %g : {type}
    array.yield %g, %c : {type}, i1
  }}
  func.return %y, %z : {wide}, {mask}
}}
func.func @residual(%x: {wide}, %y: {wide}) -> ({wide}, {wide}) {{
  %s = array.elementwise (%a = %x, %b = %y) : {wide}, {wide} -> {wide} {{
    %c = arith.addf %a, %b : {type}
    array.yield %c : {type}
  }}
  %d = array.elementwise (%a = %s, %b = %y) : {wide}, {wide} -> {wide} {{
    %c = arith.subf %a, %b : {type}
    array.yield %c : {type}
  }}
  func.return %s, %d : {wide}, {wide}
}}
"""


@functools.cache
def _compiled(type: str, target: str) -> dict[str, Any]:
    return compile_all(_program(type), target=target)


def _values(type: str, rng: np.random.Generator) -> Any:
    """Numbers whose squares may overflow (without denormal ones, which GPUs flush), NaN and infinities."""
    dtype, largest = (np.float16, 4.8) if type == "f16" else (BFLOAT16, 38.0)
    values = rng.standard_normal((24, 40)) * 10.0 ** rng.uniform(-min(largest / 2, 15), largest, (24, 40))
    values[rng.random((24, 40)) < 0.01] = np.nan
    values[rng.random((24, 40)) < 0.01] = -np.inf
    with np.errstate(all="ignore"):
        return to_dtype(values, dtype)


@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_every_operation_rounds(target: str, type: str):
    program = bb.parse(_program(type))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x, y = _values(type, rng), _values(type, rng)
        inputs: dict[str, list[Any]] = {
            "infinite": [x],
            "largest": [to_dtype(rng.standard_normal((24, 40)), x.dtype)],
            "chain": [to_dtype(rng.standard_normal((24, 40)), x.dtype), y],
            "casts": [rng.standard_normal((24, 40)).astype(np.float32)],
            "integers": [rng.integers(-60000, 60000, (24, 40), dtype=np.int32)],
            "residual": [x, y],
        }
        for name, arrays in inputs.items():
            with np.errstate(all="ignore"):
                expected = bb.run(program, arrays, entry=name)
                found = _compiled(type, target)[name](*arrays)
            pairs = [(found, expected)] if name == "chain" else list(zip(found, expected, strict=True))
            for own, wanted in pairs:
                np.testing.assert_array_equal(
                    np.asarray(own, np.float64), np.asarray(wanted, np.float64), err_msg=f"{name}, {seed}"
                )


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_result_is_what_the_call_compared(target: str):
    x = np.full((24, 40), 300.0, np.float16)
    with np.errstate(all="ignore"):
        square, infinite = _compiled("f16", target)["infinite"](x)
    assert np.isinf(square).all()
    assert np.asarray(infinite).all()
