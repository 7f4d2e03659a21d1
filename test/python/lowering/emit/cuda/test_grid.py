"""Kernels that a grid of warps does: wide products and whole feed-forward layers."""

from __future__ import annotations

import re

import bb
import numpy as np
import pytest
from bb.dialects import kernel
from bb.dialects.diagnostics import OpError
from bb.lowering.pipelines import PIPELINES
from bb.runtime.calls.compile_options import CompileOptions, CudaOptions
from bb.runtime.cuda.compile import cuda_compiler_problem
from bb.runtime.cuda.library import CudaLibrary
from cuda_evidence import rows, run, traffic_complaints

pytestmark = pytest.mark.long

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason="NVRTC is not installed")


def ffn(m: int, d: int, f: int, n: int, type: str) -> str:
    """RMSNorm and SwiGLU, from d features by f hidden ones to n."""
    x, g, w, z, v = (f"tensor<{dims}x{type}>" for dims in (f"{m}x{d}", d, f"{d}x{f}", f"{m}x{f}", f"{f}x{n}"))
    y = f"tensor<{m}x{n}x{type}>"
    return f"""
func.func @ffn(%x: {x}, %gamma: {g}, %w1: {w}, %w2: {w}, %w3: {v}) -> {y} {{
  %y = array.rms_norm %x scale(%gamma : {g}) eps 1.000000e-06 : {x}
  %g = array.matmul %y, %w1 : {x}, {w} -> {z}
  %u = array.matmul %y, %w2 : {x}, {w} -> {z}
  %s = array.silu %g : {z}
  %z = array.elementwise (%a = %s, %b = %u) : {z}, {z} -> {z} {{
    %p = arith.mulf %a, %b : {type}
    array.yield %p : {type}
  }}
  %o = array.matmul %z, %w3 : {z}, {v} -> {y}
  func.return %o : {y}
}}
"""


def layernorm_matmul(m: int, k: int, n: int, type: str) -> str:
    x, g, w, y = (f"tensor<{dims}x{type}>" for dims in (f"{m}x{k}", k, f"{k}x{n}", f"{m}x{n}"))
    return f"""
func.func @layernorm_matmul(%x: {x}, %gamma: {g}, %beta: {g}, %w: {w}) -> {y} {{
  %n = array.layer_norm %x scale(%gamma : {g}) shift(%beta : {g}) eps 1.000000e-05 : {x}
  %y = array.matmul %n, %w : {x}, {w} -> {y}
  func.return %y : {y}
}}
"""


def matmul(m: int, k: int, n: int, type: str) -> str:
    x, w, y = (f"tensor<{dims}x{type}>" for dims in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"))
    return f"""
func.func @matmul(%x: {x}, %w: {w}) -> {y} {{
  %y = array.matmul %x, %w : {x}, {w} -> {y}
  func.return %y : {y}
}}
"""


def matmul_norm(m: int, k: int, n: int, type: str) -> str:
    """Rows that are reduced after the contraction, by warps side by side."""
    x, w, y = (f"tensor<{dims}x{type}>" for dims in (f"{m}x{k}", f"{k}x{n}", f"{m}x{n}"))
    return f"""
func.func @matmul_norm(%x: {x}, %w: {w}) -> {y} {{
  %y = array.matmul %x, %w : {x}, {w} -> {y}
  %n = array.rms_norm %y eps 1.000000e-06 : {y}
  func.return %n : {y}
}}
"""


def warps(module: bb.Module) -> list[tuple[int, ...]]:
    """The grids of warps of a program's kernels."""
    found: list[tuple[int, ...]] = []
    for op in module.walk():
        if isinstance(op, kernel.ParallelOp) and "warps" in op.attributes:
            found.append(tuple(map(int, re.findall(r"(\d+) :", str(op.attributes["warps"])))))
    return found


def test_a_whole_feed_forward_layer_is_one_kernel():
    outcome = run(ffn(35, 70, 40, 300, "f16"), "f16")
    (report,), (function,) = outcome.reports, kernel.kernels_of(outcome.executable.module)
    assert warps(outcome.executable.module) == [(2, 4)]
    assert not any(isinstance(op, kernel.BufferOp) for op in function.walk())
    assert outcome.within, outcome.error
    assert outcome.conflicts <= 1.1
    assert traffic_complaints(report, function) == []
    # An mma adds 16 products to 16 x 8 sums: 64 rows, 2 x 64 features of 2 x 64, 512 columns of 48 features.
    first, second = 2 * (64 * 64 * 128), 64 * 512 * 48
    assert outcome.mma == (first + second) // (16 * 8 * 16)
    assert outcome.executable.source.count("bb::contract2_kn(") == 1


def test_rows_across_warps_and_any_strides():
    function = bb.compile(
        matmul_norm(40, 64, 96, "f16"), target="emulator", cuda=CudaOptions(check=True, seed=3)
    )
    assert warps(function.module) == [(1, 4)]
    x, w = rows(0, 80, 64).astype(np.float16)[::-2], np.asfortranarray(rows(1, 64, 96).astype(np.float16))
    y = x.astype(np.float64) @ w.astype(np.float64)
    wanted = y / np.sqrt((y**2).mean(axis=1, keepdims=True) + 1e-6)
    assert np.abs(function(x, w) - wanted).max() < 0.01


def test_a_cpu_refuses_a_grid_of_warps():
    module = bb.parse(matmul(16, 64, 256, "bf16"))
    bb.PassPipeline(PIPELINES["cuda"]).run(module)
    assert warps(module) == [(1, 4)]
    with pytest.raises(OpError, match="has its tile in shared memory, which is a GPU's"):
        bb.compile(module)


# The long grid: `make test-emulator-full`

WIDE = [
    ("ffn", (1, 16, 16, 129)),
    ("ffn", (129, 70, 67, 251)),
    ("ffn", (65, 128, 130, 512)),
    ("ffn", (33, 37, 97, 1021)),
    ("ffn", (130, 100, 70, 1100)),
    ("layernorm_matmul", (129, 131, 512)),
    ("layernorm_matmul", (37, 64, 257)),
    ("layernorm_matmul", (37, 64, 264)),
    ("matmul", (1, 100, 301)),
    ("matmul", (129, 72, 6151)),
    ("matmul_norm", (17, 33, 127)),
    ("matmul_norm", (64, 200, 64)),
]
PROGRAMS = {"ffn": ffn, "layernorm_matmul": layernorm_matmul, "matmul": matmul, "matmul_norm": matmul_norm}


@pytest.mark.emulator_full
@pytest.mark.parametrize("tier", ["source", "ptx"])
@pytest.mark.parametrize("type", ["f32", "tf32", "f16", "bf16"])
@pytest.mark.parametrize(("program", "extents"), WIDE)
def test_odd_extents(program: str, extents: tuple[int, ...], type: str, tier: str):
    outcome = run(PROGRAMS[program](*extents, type.removeprefix("t")), type, tier=tier)
    assert outcome.within, outcome.error
    assert (outcome.mma > 0) == (type != "f32")
    assert outcome.conflicts <= 1.1
    for report, function in zip(outcome.reports, kernel.kernels_of(outcome.executable.module), strict=True):
        assert traffic_complaints(report, function) == []


LARGE = [
    ("ffn", (4096, 1024, 4096, 256)),
    ("ffn", (4096, 1024, 4096, 512)),
    ("ffn", (4096, 1024, 4096, 1024)),
    ("ffn", (4096, 1024, 4096, 4096)),
    ("layernorm_matmul", (4096, 1024, 4096)),
    ("matmul", (16, 4096, 6144)),
    ("matmul", (4096, 4096, 4096)),
]


@pytest.mark.emulator_full
@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("type", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(("program", "extents"), LARGE)
def test_resources(program: str, extents: tuple[int, ...], type: str, arch: str):
    library = CudaLibrary(bb.parse(PROGRAMS[program](*extents, type)), CompileOptions(target="cuda"))
    # Every block that is fetched ahead comes 16 bytes at a time.
    assert set(re.findall(r"bb::reader<\w+, THREADS, (\d)[,>]", library.source)) == {
        "4" if type == "f32" else "8"
    }
    resources = library.resources(arch)
    split = {found.kernel.removesuffix("_parts") for found in resources if found.kernel.endswith("_parts")}
    for found in resources:
        assert (found.spill_stores, found.spill_loads) == (0, 0)
        assert found.occupancy is None or found.occupancy.blocks > 0
        if found.instructions and found.kernel not in split:  # those add up what parts have computed
            assert (found.instructions["HMMA"] > 0) == (type != "f32")
            assert found.instructions["LDGSTS"] > 0
            if type != "f32" and not found.kernel.endswith("_parts"):  # sums go in pairs of f32
                assert found.instructions["STG"] == found.instructions["STG.128"]
