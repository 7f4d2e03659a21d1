"""Kernels that take rows for ordinary, and do their work once more where a row is not."""

from __future__ import annotations

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from bb.dialects import kernel
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.executable.executable import Executable

pytestmark = pytest.mark.long

ROWS, COLUMNS, OUT = 70, 96, 40

# Whole rows, and rows in blocks of 32 columns, whose products do not wait for the scale.
ROW_NORMS = """
func.func @rms(%x: tensor<70x96xTYPE>) -> tensor<70x96xTYPE> {
  %y = array.rms_norm %x eps 1.0e-6 : tensor<70x96xTYPE>
  func.return %y : tensor<70x96xTYPE>
}
func.func @layer(%x: tensor<70x96xTYPE>) -> tensor<70x96xTYPE> {
  %y = array.layer_norm %x eps 1.0e-5 : tensor<70x96xTYPE>
  func.return %y : tensor<70x96xTYPE>
}
"""
PRODUCTS = """
func.func @rms_matmul(%x: tensor<70x96xTYPE>, %w: tensor<40x96xTYPE>) -> tensor<70x40xTYPE> {
  %n = array.rms_norm %x eps 1.0e-6 : tensor<70x96xTYPE>
  %y = array.matmul %n, %w transpose_b : tensor<70x96xTYPE>, tensor<40x96xTYPE> -> tensor<70x40xTYPE>
  func.return %y : tensor<70x40xTYPE>
}
func.func @layer_matmul(%x: tensor<70x96xTYPE>, %w: tensor<40x96xTYPE>) -> tensor<70x40xTYPE> {
  %n = array.layer_norm %x eps 1.0e-5 : tensor<70x96xTYPE>
  %y = array.matmul %n, %w transpose_b : tensor<70x96xTYPE>, tensor<40x96xTYPE> -> tensor<70x40xTYPE>
  func.return %y : tensor<70x40xTYPE>
}
"""
CUT = PIPELINES["cpu"].replace("block-shapes,", "block-shapes{M=32 N=32},")
NAMES = ("rms", "layer", "rms_matmul", "layer_matmul")
TYPES: dict[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}
FAR = {5: 1e30, 40: 3e37, 69: 1e25}
"""Rows whose squares overflow, with their size: one in each block of 32 rows."""


@cache
def executables(type: str) -> dict[str, Executable]:
    rows = compile_all(ROW_NORMS.replace("TYPE", type), pipeline=PIPELINES["cpu"], counting=True)
    return rows | compile_all(PRODUCTS.replace("TYPE", type), pipeline=CUT, counting=True)


def inputs(name: str, type: str) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((ROWS, COLUMNS)).astype(TYPES[type])
    w = rng.standard_normal((OUT, COLUMNS)).astype(TYPES[type])
    return [x, w] if name.endswith("matmul") else [x]


def scaled(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The rows, with those of `FAR` at their sizes."""
    wide = x.astype(np.float64)
    for row, size in FAR.items():
        wide[row] *= size
    return wide.astype(x.dtype)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", NAMES)
def test_ordinary_rows_keep_their_bits_beside_far_ones(name: str, type: str) -> None:
    executable, (x, *rest) = executables(type)[name], inputs(name, type)
    ordinary = np.asarray(executable(x, *rest))
    got = np.asarray(executable(scaled(x), *rest))
    others = [row for row in range(ROWS) if row not in FAR]
    assert got[others].tobytes() == ordinary[others].tobytes()
    # A norm does not depend on the size of its row. (Its epsilon does, by a millionth.)
    tolerance = 2e-5 if type == "f32" else 4e-2
    wanted = ordinary.astype(np.float64)
    largest = np.abs(wanted).max(axis=1, keepdims=True)
    assert (np.abs(got.astype(np.float64) - wanted) <= tolerance * largest).all()


@pytest.mark.parametrize("name", NAMES)
def test_blocks_of_ordinary_rows_are_read_once(name: str) -> None:
    executable, (x, *rest) = executables("f32")[name], inputs(name, "f32")

    def bytes_loaded(*arrays: np.ndarray[Any, Any]) -> int:
        executable.library.counts()
        executable(*arrays)
        return executable.library.counts().bytes_loaded

    once = bytes_loaded(x, *rest)
    pivots = ROWS * 32 * 4 if name == "layer_matmul" else 0  # the first block of each row
    weights = 3 * OUT * COLUMNS * 4 if rest else 0  # for each block of rows
    assert once == x.nbytes + pivots + weights
    assert bytes_loaded(scaled(x), *rest) > once + 0.04 * x.nbytes


def test_all_norms_speculate() -> None:
    for source, pipeline, loops in ((ROW_NORMS, PIPELINES["cpu"], 0), (PRODUCTS, CUT, 1)):
        module = parse_module(source.replace("TYPE", "f32"), "norms.mlir")
        PassPipeline(pipeline).run(module)
        for function in kernel.kernels_of(module):
            redos = [op for op in function.walk() if isinstance(op, kernel.RedoOp)]
            ordinary = [op for op in function.walk() if not kernel.in_redo(op)]
            assert len(redos) == 1
            assert sum(isinstance(op, kernel.ForOp) for op in ordinary) == loops
