"""`array-decompose{accumulate=…}`: where sums are kept and statistics computed, in f16, bf16 and f32."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from bb.dialects import array, block
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.array.decompose import ArrayDecomposePass
from bb.runtime.arrays.dtypes import BFLOAT16, to_dtype
from bb.runtime.interpreter.functions import interpret
from bb.tools.docs.hard_inputs import error
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

Array = NDArray[Any]

M, K, N = 12, 1040, 8
DTYPES: Mapping[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": BFLOAT16,
    "f32": np.dtype(np.float32),
}
ROUNDING = {"f16": 2e-3, "bf16": 1e-2, "f32": 4e-6}
BODIES = {
    "softmax": f"%n = array.softmax %x axis 1 : tensor<{M}x{K}xT>",
    "layer_norm": f"%n = array.layer_norm %x eps 1.0e-5 : tensor<{M}x{K}xT>",
    "rms_norm": f"%n = array.rms_norm %x eps 1.0e-5 : tensor<{M}x{K}xT>",
}
TEXT = f"""
func.func @f(%x: tensor<{M}x{K}xT>, %w: tensor<{K}x{N}xT>) -> tensor<{M}x{N}xT> {{
  BODY
  %y = array.matmul %n, %w : tensor<{M}x{K}xT>, tensor<{K}x{N}xT> -> tensor<{M}x{N}xT>
  func.return %y : tensor<{M}x{N}xT>
}}
"""
ATTENTION = f"""
func.func @f(%q: tensor<{M}x16xT>, %k: tensor<{K}x16xT>, %v: tensor<{K}x{N}xT>) -> tensor<{M}x{N}xT> {{
  %y = array.attention %q, %k, %v
    : tensor<{M}x16xT>, tensor<{K}x16xT>, tensor<{K}x{N}xT> -> tensor<{M}x{N}xT>
  func.return %y : tensor<{M}x{N}xT>
}}
"""
CASES = (*BODIES, "attention")


def source(case: str, element_type: str) -> ModuleOp:
    text = ATTENTION if case == "attention" else TEXT.replace("BODY", BODIES[case])
    return parse_module(text.replace("xT>", f"x{element_type}>"), "test.mlir")


@cache
def program(case: str, element_type: str, accumulate: str) -> ModuleOp:
    option = f"{{accumulate={accumulate}}}" if accumulate else ""
    module = source(case, element_type)
    PassPipeline(f"array-decompose{option},array-to-block,block-fuse,block-stabilize").run(module)
    verify(module)
    return module


def inputs(case: str, element_type: str) -> list[Array]:
    rng = np.random.default_rng(0)
    shapes = [(M, 16), (K, 16), (K, N)] if case == "attention" else [(M, K), (K, N)]
    # Positive weights, so that sums are long.
    arrays = [*(rng.standard_normal(shape) for shape in shapes[:-1]), 1 + rng.random(shapes[-1])]
    return [to_dtype(array, DTYPES[element_type]) for array in arrays]


def worst(case: str, element_type: str, accumulate: str) -> float:
    arrays = inputs(case, element_type)
    wanted = interpret(source(case, element_type), arrays, float64=True).results[0]
    got = interpret(program(case, element_type, accumulate), arrays, default_block_size=64).results[0]
    assert got.dtype == DTYPES[element_type]
    return error(got, wanted)


def accumulators(module: ModuleOp) -> set[str]:
    return {str(op.accumulator) for op in module.walk() if isinstance(op, block.DotOp | block.RowSumOp)}


@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_every_sum_is_kept_where_the_option_says(case: str, element_type: str):
    for accumulate, wanted in (("", "f32"), ("f32", "f32"), ("f64", "f64"), ("input", element_type)):
        module = program(case, element_type, accumulate)
        assert accumulators(module) == {wanted}
        assert f" acc {wanted} " in str(module)


@pytest.mark.parametrize("element_type", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_errors(case: str, element_type: str):
    """By default no more than the rounding of operands and results; 16-bit sums of 1040 terms lose digits."""
    for accumulate in ("", "f32", "f64"):
        assert worst(case, element_type, accumulate) <= ROUNDING[element_type], accumulate
    if element_type != "f32" and case != "rms_norm" and case != "layer_norm":
        assert worst(case, element_type, "input") > 2 * worst(case, element_type, "f32")
    if element_type == "f32":
        assert worst(case, element_type, "f64") <= worst(case, element_type, "f32")


@pytest.mark.parametrize("accumulate", ["f32", "f64", "input"])
@pytest.mark.parametrize("case", CASES)
def test_the_choice_changes_no_value_in_float64(case: str, accumulate: str):
    arrays = inputs(case, "bf16")
    wanted = interpret(source(case, "bf16"), arrays, float64=True).results[0]
    got = interpret(program(case, "bf16", accumulate), arrays, float64=True, default_block_size=64)
    assert error(got.results[0], wanted) <= 1e-9


EXPLICIT = """
func.func @f(%x: tensor<8x4xbf16>, %y: tensor<6x4xbf16>)
    -> (tensor<8x6xbf16>, tensor<8x6xf32>, tensor<8xbf16>) {
  %a = array.matmul %x, %y transpose_b acc bf16 : tensor<8x4xbf16>, tensor<6x4xbf16> -> tensor<8x6xbf16>
  %b = array.matmul %x, %y transpose_b : tensor<8x4xbf16>, tensor<6x4xbf16> -> tensor<8x6xf32>
  %c = array.reduce sum %x axes [1] : tensor<8x4xbf16> -> tensor<8xbf16>
  %d = array.reduce max %x axes [1] : tensor<8x4xbf16> -> tensor<8xbf16>
  func.return %a, %b, %c : tensor<8x6xbf16>, tensor<8x6xf32>, tensor<8xbf16>
}
"""


@pytest.mark.parametrize(
    ("accumulate", "wanted"),
    [
        ("f32", ["bf16", "f32", "f32", "bf16"]),
        ("f64", ["bf16", "f32", "f64", "bf16"]),
        ("input", ["bf16", "f32", "bf16", "bf16"]),
    ],
)
def test_what_an_operation_says_itself_counts_more(accumulate: str, wanted: list[str]):
    """Its `acc`, or a result in the type of the accumulator."""
    module = PassPipeline([ArrayDecomposePass(accumulate=accumulate)]).run(parse_module(EXPLICIT))
    verify(module)
    ops = [op for op in module.walk() if isinstance(op, array.MatmulOp | array.ReduceOp)]
    assert [str(op.accumulator) for op in ops] == wanted


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="option 'accumulate' must be f32, f64 or input, got 'f16'"):
        ArrayDecomposePass(accumulate="f16")


def test_f64_stays_f64():
    module = PassPipeline("array-decompose,array-to-block").run(source("softmax", "f64"))
    assert accumulators(module) == {"f64"}
