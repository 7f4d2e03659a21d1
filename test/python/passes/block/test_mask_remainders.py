"""`block-mask-remainders`: with tiles filled up with zeros, masked programs give what unpadded ones do."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from array_programs import ArrayProgram, array_programs
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.dialects.verification import verify
from bb.lowering.pipelines import PassPipeline
from bb.passes.analysis.padding import is_ragged
from bb.passes.block.mask_remainders import mask_remainders
from bb.runtime.interpreter.functions import interpret
from fusion import FusionCase, fusion_cases
from hypothesis import HealthCheck, given, settings
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.utils.exceptions import DiagnosticException

pytestmark = pytest.mark.long

STAGES = {"blocks": "", "fused": "block-fuse", "stabilised": "block-fuse,block-stabilize"}
CASES = {str(case): case for case in fusion_cases()}


def function_of(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


@cache
def staged(name: str, stage: str) -> ModuleOp:
    return PassPipeline(STAGES[stage]).run(ModuleOp([CASES[name].blocks().clone()]))


def masked(module: ModuleOp) -> tuple[ModuleOp, int]:
    """A copy of a program with masks, and how many operands got one."""
    copy = module.clone()
    count = mask_remainders(function_of(copy))
    verify(copy)
    return copy, count


def worst(module: ModuleOp, inputs: list[np.ndarray], wanted: list[np.ndarray], size: int) -> float:
    run = interpret(module, inputs, float64=True, default_block_size=size, padded=True)
    return max(
        float(np.max(np.abs(got - expected))) / max(1e-300, float(np.max(np.abs(expected))))
        for got, expected in zip(run.results, wanted, strict=True)
    )


def awkward_size(case: FusionCase) -> int:
    """A block size that divides hardly any extent."""
    return 53 if case.block_size() > 20 else 4


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", CASES)
def test_padded_programs_with_masks_are_right(name: str, stage: str):
    case = CASES[name]
    inputs = case.inputs()
    wanted = interpret(ModuleOp([case.arrays().clone()]), inputs, float64=True).results
    program, _ = masked(staged(name, stage))
    assert worst(program, inputs, wanted, awkward_size(case)) < 1e-9
    assert masked(program)[1] == 0, "a masked program needs no more masks"


NEGATIVE = "softmax_spellings-safe", "attention_spellings-safe", "logsumexp"


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", NEGATIVE)
def test_without_masks_padding_shows(name: str, stage: str):
    """Zeros in the padding of scores far below zero are far above them: the exponentials vanish."""
    case = CASES[name]
    inputs = case.inputs()
    if name.startswith("attention"):
        inputs[0], inputs[1] = -2000 * np.abs(inputs[0]) - 2000, np.abs(inputs[1]) + 1
    else:
        inputs[0] = inputs[0] - 2000
    module = staged(name, stage)
    wanted = interpret(ModuleOp([case.arrays().clone()]), inputs, float64=True).results
    with np.errstate(all="ignore"):
        bare = worst(module, inputs, wanted, awkward_size(case))
    assert not bare < 1e-3
    if stage != "fused":  # which overflows anyhow
        assert worst(masked(module)[0], inputs, wanted, awkward_size(case)) < 1e-9


@pytest.mark.parametrize(
    ("name", "stage", "count"),
    [
        ("attention", "blocks", 1),  # the maximum; what pads the rest of it is harmless
        ("attention", "fused", 1),  # exp(0) is 1, for the sum and the contraction with v
        ("attention", "stabilised", 1),  # the maximum sees -inf, so that the exponentials are 0
        ("layernorm_matmul", "blocks", 0),
        ("layernorm_matmul", "fused", 0),
        # The pivot is added to zeros: in both windows of the sums, and in what the contraction reads.
        ("layernorm_matmul", "stabilised", 3),
        ("rmsnorm_ffn_swiglu", "stabilised", 0),
        ("ffn_glu_variants-geglu", "stabilised", 0),
        ("matmul_chain", "fused", 0),
    ],
)
def test_how_many_masks(name: str, stage: str, count: int):
    assert masked(staged(name, stage))[1] == count


@pytest.mark.parametrize(
    ("extent", "size", "ragged"),
    [
        ("32", ", block = 16", False),
        ("33", ", block = 16", True),
        ("32", "", True),
        ("?", ", block = 16", True),
    ],
    ids=["divisible", "ragged", "no-block-size", "unknown"],
)
def test_masks_only_where_the_last_block_may_be_short(extent: str, size: str, ragged: bool):
    text = f"""func.func @f(%x: tensor<16x{extent}xf32>) -> tensor<16xf32>
    attributes {{block.dims = {{M = #block.dim<16, block = 16>, N = #block.dim<{extent}{size}>}}}} {{
  %X = block.partition %x [M, N] : tensor<16x{extent}xf32> -> !block.list<M, N, block<M x N x f32>>
  %Y = block.map @M (%r = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {{
    %t = block.map @N (%e = %r) -> (max) : !block.list<N, block<M x N x f32>> {{
      %a = block.load %e : !block.block<M x N x f32, global>
      %m = block.row_max %a : !block.block<M x N x f32>
      block.yield %m : !block.vector<M x f32>
    }}
    %s = block.store %t : !block.vector<M x f32>
    block.yield %s : !block.vector<M x f32, global>
  }}
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<16xf32>
  func.return %y : tensor<16xf32>
}}
"""
    module = parse_module(text, "program.mlir")
    dims = block.parse_dims(function_of(module).attributes[block.DIMS])
    assert is_ragged(dims["N"]) is ragged
    program, count = masked(module)
    assert count == int(ragged)
    rng = np.random.default_rng(0)
    x = -5 - rng.random((16, 32 if extent == "?" else int(extent)))
    assert worst(program, [x], [x.max(axis=1)], 16) == 0


@pytest.mark.parametrize(
    ("kind", "type"), [(k, t) for k in ("max", "min", "sum") for t in ("i32", "i64", "f32")]
)
def test_reductions_of_integers_and_minima(kind: str, type: str):
    text = f"""func.func @f(%x: tensor<10x14x{type}>) -> tensor<10x{type}> {{
  %r = array.reduce {kind} %x axes [1] : tensor<10x14x{type}> -> tensor<10x{type}>
  func.return %r : tensor<10x{type}>
}}
"""
    module = PassPipeline("array-decompose,array-to-block,block-fuse").run(parse_module(text, "program.mlir"))
    program, count = masked(module)
    assert count == (0 if kind == "sum" else 1)
    rng = np.random.default_rng(0)
    for sign in (1, -1):
        x = sign * rng.integers(3, 90, (10, 14))
        wanted = getattr(x, kind)(axis=1)
        run = interpret(program, [x], float64=True, default_block_size=4, padded=True)
        assert np.array_equal(run.results[0], wanted)


@pytest.mark.fuzz
@settings(suppress_health_check=list(HealthCheck), deadline=None, max_examples=5)
@given(array_programs())
def test_random_programs(drawn: ArrayProgram):
    module = drawn.module
    wanted = interpret(module, drawn.inputs, float64=True).results
    for passes in ("array-to-block", "array-to-block,block-fuse{extend=false},block-stabilize"):
        passes = "array-decompose,array-simplify-views," + passes
        try:
            program = PassPipeline(f"{passes},block-mask-remainders").run(module.clone())
        except DiagnosticException as error:
            if "no block program" not in str(error):
                raise
            continue  # nothing but views
        run = interpret(program, drawn.inputs, float64=True, default_block_size=2, padded=True)
        for got, expected in zip(run.results, wanted, strict=True):
            assert np.allclose(got, expected, rtol=1e-8, atol=1e-8, equal_nan=True)
