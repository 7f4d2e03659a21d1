"""Contractions with a mask that is an array of its own, in every type, with rows or columns in lanes."""

from __future__ import annotations

import numpy as np
import pytest
from bb.runtime.api import compile_all
from bb.runtime.arrays.dtypes import BFLOAT16
from numpy.typing import NDArray

pytestmark = pytest.mark.long

DTYPES = {"f16": np.float16, "bf16": BFLOAT16, "f32": np.float32, "f64": np.float64}
FUNCTION = """
func.func @of_TYPE(%p: tensor<20x13xTYPE>, %v: tensor<13x9xTYPE>, %m: tensor<20x13xi1>) -> tensor<20x9xTYPE> {
  %o = array.masked_matmul %p, %v keeps (%k = %m)
    : tensor<20x13xTYPE>, tensor<13x9xTYPE>, tensor<20x13xi1> -> tensor<20x9xTYPE> {
    array.yield %k : i1
  }
  func.return %o : tensor<20x9xTYPE>
}
"""
PIPELINE = "array-decompose,array-to-block,block-shapes,block-to-kernel{lanes=LANES},kernel-fuse-sweeps"


@pytest.mark.parametrize("lanes", ["cols", "rows"])
def test_hidden_factors_are_left_out(lanes: str) -> None:
    """The operands are small integers, so that every type holds the results exactly."""
    text = "".join(FUNCTION.replace("TYPE", name) for name in DTYPES)
    compiled = compile_all(text, pipeline=PIPELINE.replace("LANES", lanes))
    rng = np.random.default_rng(0)
    kept = rng.random((20, 13)) < 0.5
    kept[:, 4], kept[:5, 7] = False, False
    p, v = (np.asarray(rng.integers(-2, 3, shape), np.float64) for shape in ((20, 13), (13, 9)))
    spoilt = v.copy()
    spoilt[4], spoilt[7] = np.nan, np.inf
    wanted = np.where(kept, p, 0) @ v
    clean = ~kept[:, 7]
    for name, dtype in DTYPES.items():
        arrays: list[NDArray[np.generic]] = [p.astype(dtype), spoilt.astype(dtype), kept]
        found = np.asarray(compiled[f"of_{name}"](*arrays), np.float64)
        np.testing.assert_array_equal(found[clean], wanted[clean], err_msg=name)
        assert not np.isfinite(found[~clean & (p[:, 7] != 0)]).any(), name
