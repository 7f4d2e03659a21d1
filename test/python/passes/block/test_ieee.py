"""Fusion and code generation keep NaN, infinities and the signs of zeros of element-wise programs."""

from __future__ import annotations

import bb
import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import PassPipeline
from bb.runtime.interpreter.functions import interpret
from hard_elementwise import ARGUMENTS, Array, HardProgram, differences, hard_program

pytestmark = pytest.mark.long

FUSED = (
    "array-decompose,array-simplify-views,array-inline-indices,array-to-block,block-fuse,block-stabilize,"
    "block-fuse-elementwise"
)


def assert_same(program: HardProgram, results: list[Array]) -> None:
    for index, (got, wanted) in enumerate(zip(results, program.expected, strict=True)):
        where = np.argwhere(differences(got, wanted))
        assert not len(where), (
            f"result {index} at {where[0]}: {got[tuple(where[0])]}, not {wanted[tuple(where[0])]}\n"
            f"{program.module}"
        )


@pytest.mark.parametrize("kind", ARGUMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_fused_blocks_keep_patterns(kind: str, seed: int):
    program = hard_program(seed, kind, operations=7)
    fused = PassPipeline(FUSED).run(program.module.clone())
    assert_same(program, list(interpret(fused, program.inputs, default_block_size=16).results))


@pytest.mark.parametrize("kind", ["mixed"])
def test_cpu_keeps_patterns(kind: str):
    program = hard_program(100, kind, operations=24)
    compiled = bb.compile(program.module.clone(), target="cpu")
    assert_same(program, [np.asarray(result) for result in compiled(*program.inputs)])


@pytest.mark.parametrize("kind", ["mixed"])
def test_emulated_kernels_keep_patterns(kind: str):
    """A GPU flushes denormal numbers, so none are drawn."""
    program = hard_program(100, kind, operations=24, small=False)
    compiled = bb.compile(program.module.clone(), target="emulator")
    assert_same(program, [np.asarray(result) for result in compiled(*program.inputs)])


STATISTIC = """
func.func @f(%x: tensor<6x9xf32>) -> tensor<6x1xf32> {
  %s = array.reduce KIND %x axes [1] keepdims : tensor<6x9xf32> -> tensor<6x1xf32>
  %y = array.elementwise (%a = %s) : tensor<6x1xf32> -> tensor<6x1xf32> {
    %two = arith.constant 2.0 : f32
    %zero = arith.constant 0.0 : f32
    BODY
    array.yield %r : f32
  }
  func.return %y : tensor<6x1xf32>
}
"""
BODIES = {
    "s - s": "%r = arith.subf %a, %a : f32",
    "s / s": "%r = arith.divf %a, %a : f32",
    "s * 0": "%r = arith.mulf %a, %zero : f32",
    "s * s / s": "%p = arith.mulf %a, %a : f32\n    %r = arith.divf %p, %a : f32",
    "2 s - s - s": "%p = arith.mulf %a, %two : f32\n    %q = arith.subf %p, %a : f32\n"
    "    %r = arith.subf %q, %a : f32",
    "exp(s) / exp(s)": "%p = math.exp %a : f32\n    %q = math.exp %a : f32\n    %r = arith.divf %p, %q : f32",
    "log(exp(s)) - s": "%p = math.exp %a : f32\n    %q = math.log %p : f32\n    %r = arith.subf %q, %a : f32",
}


@pytest.mark.parametrize("kind", ["sum"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_statistics_keep_nan(body: str, kind: str):
    """Rows with a NaN, with one and with both infinities, of zeros; the last two are ordinary."""
    module = parse_module(STATISTIC.replace("KIND", kind).replace("BODY", body), "statistic")
    x = np.random.default_rng(0).uniform(0.5, 1.0, (6, 9)).astype(np.float32)
    x[0, 3], x[1, 2], x[2, 0], x[2, 1], x[3] = np.nan, np.inf, np.inf, -np.inf, 0.0
    expected = interpret(module, [x]).results[0]
    fused = PassPipeline(FUSED).run(module)
    (actual,) = interpret(fused, [x], default_block_size=4).results
    np.testing.assert_array_equal(np.isfinite(actual), np.isfinite(expected))
    np.testing.assert_allclose(actual[np.isfinite(actual)], expected[np.isfinite(expected)], atol=1e-6)
