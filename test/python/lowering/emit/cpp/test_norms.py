"""Compiled norms over rows of unknown extent."""

from __future__ import annotations

import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.runtime.api import compile_all

LAYERNORM = """func.func @f(%x: tensor<?x?xf32>, %w: tensor<?x12xf32>) -> tensor<?x12xf32> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<?x?xf32>
  %y = array.matmul %n, %w : tensor<?x?xf32>, tensor<?x12xf32> -> tensor<?x12xf32>
  func.return %y : tensor<?x12xf32>
}
"""
PIPELINE = "array-decompose,array-to-block,block-shapes,block-fuse,block-stabilize,block-to-kernel"


@pytest.mark.parametrize("ratio", [0.0, 1e4, 1e6])
def test_layernorm_keeps_its_precision(ratio: float) -> None:
    """The extent is asked for once, before the one kernel, and its rows get a pivot."""
    module = PassPipeline(PIPELINE).run(parse_module(LAYERNORM, "program.mlir"))
    rng = np.random.default_rng(0)
    x = (ratio + rng.standard_normal((24, 40))).astype(np.float32)
    w = rng.standard_normal((40, 12)).astype(np.float32)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    wanted = centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) @ w
    got = compile_all(module)["f"](x, w)
    assert np.max(np.abs(got - wanted)) <= 2e-6 * np.max(np.abs(wanted))
