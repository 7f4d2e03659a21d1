"""Rows that carry an exponent of their own past a rounding."""

from __future__ import annotations

import bb
import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.runtime.interpreter.functions import interpret

PROGRAM = """
func.func @rows(%x: tensor<24x8xf32>, %w: tensor<8x8xf16>) -> tensor<24x8xf32> attributes {
    block.dims = {M = #block.dim<24, block = 4>, N = #block.dim<8, whole>, K = #block.dim<8, block = 4>}} {
  %X = block.partition %x [M, K] : tensor<24x8xf32> -> !block.list<M, K, block<M x K x f32>>
  %W = block.partition %w [N, K] : tensor<8x8xf16> -> !block.list<K, block<N x K x f16>>
  %Y = block.map @M (%X_m = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %sum = block.map @K (%X_k = %X_m, %W_k = %W) -> (sum) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f16>> {
      %a = block.load %X_k : !block.block<M x K x f32, global>
      %b = block.load %W_k : !block.block<N x K x f16, global>
      %h = block.elementwise (%e = %a) : !block.block<M x K x f32> -> !block.block<M x K x f16> attributes {bb.own_exponentKIND} {
        %0 = arith.truncf %e : f32 to f16
        block.yield %0 : f16
      }
      %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
      block.yield %dot : !block.block<M x N x f32>
    }
    %y = block.store %sum : !block.block<M x N x f32>
    block.yield %y : !block.block<M x N x f32, global>
  }
  %y = block.assemble %Y [M, N] : !block.list<M, block<M x N x f32>> -> tensor<24x8xf32>
  func.return %y : tensor<24x8xf32>
}
"""  # noqa: E501


@pytest.mark.parametrize(("kind", "unit"), [(' = "power of two"', 2.0**-16), ("", 2.0**-11)])
def test_powers_of_two_leave_numbers_of_the_type_as_they_are(kind: str, unit: float):
    """Products with 1 give back numbers of f16 times a power of two, but for the last bits of exp in f32."""
    module = bb.PassPipeline("block-stabilize").run(parse_module(PROGRAM.replace("KIND", kind)))
    rng = np.random.default_rng(5)
    numbers = rng.standard_normal((24, 8)).astype(np.float16).astype(np.float32)
    x = np.ldexp(numbers, np.linspace(-60, 60, 24).astype(int)[:, None])
    found = interpret(module, [x, np.eye(8, dtype=np.float16)]).results[0]
    error = np.abs(found - x).max(1) / np.abs(x).max(1)
    assert np.isfinite(error).all()
    assert error.max() < unit
    if not kind:
        assert error.max() > 2.0**-16  # other scales round
