"""Programs for GPUs in the emulator: what they do with inputs, options and names, and how they are built."""

from __future__ import annotations

import re

import bb
import ml_dtypes
import numpy as np
import pytest
from bb.dialects.diagnostics import OpError
from bb.lowering.pipelines import PIPELINES
from bb.runtime.calls.compile_options import CompileOptions, CudaOptions
from bb.runtime.cuda.compile import cuda_compiler_problem
from bb.runtime.cuda.library import CudaLibrary
from cuda_evidence import attention, rows, run, text_of

pytestmark = pytest.mark.long

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason="NVRTC is not installed")


@pytest.mark.parametrize("type", ["f32", "bf16"])
def test_nan_goes_through_a_maximum(type: str):
    program = f"""
func.func @relu(%x: tensor<5x64x{type}>) -> tensor<5x64x{type}> {{
  %y = array.relu %x : tensor<5x64x{type}>
  func.return %y : tensor<5x64x{type}>
}}"""
    x = np.full((5, 64), -1, np.float32 if type == "f32" else ml_dtypes.bfloat16)
    x[2, 3], x[4, 0] = np.nan, np.inf
    y = bb.compile(program, target="emulator")(x).astype(np.float32)
    assert np.argwhere(np.isnan(y)).tolist() == [[2, 3]]
    assert y[4, 0] == np.inf
    assert np.count_nonzero(y) == 2


def test_masked_blocks_are_not_fetched():
    outcome = run(text_of("attention_causal", "bf16"), "bf16")
    traffic = outcome.executable.traffic
    assert traffic is not None
    assert outcome.moved[0] < (traffic.number(traffic.total.bytes_loaded) or 0)


@pytest.mark.parametrize(
    ("length", "width", "causal", "ends"),
    [
        (256, 64, False, {"none"}),
        (250, 64, False, {"rows"}),
        (256, 48, False, {"cols"}),
        (250, 48, False, {"both"}),
        # What a mask hides is not read: keys end at the diagonal, queries at a multiple of their blocks.
        (256, 64, True, {"none", "rows"}),
    ],
)
def test_only_ends_that_a_tile_may_go_over_are_checked(length: int, width: int, causal: bool, ends: set[str]):
    text = attention(2, length, width, "bf16", causal=causal)
    source = CudaLibrary(bb.parse(text), CompileOptions(target="cuda")).source
    readers = re.findall(r"bb::reader<\w+, THREADS, 8(?:, bb::ends::(\w+))?>", source)
    assert {found or "both" for found in readers} == ends


def test_f32_is_multiplied_exactly_unless_tf32_is_asked_for():
    """And a CPU says that it has no tf32, wherever it is asked for."""
    text = attention(2, 300, 72, "f32")
    exact, rounded = (
        CudaLibrary(bb.parse(text), CompileOptions(target="cuda", cuda=CudaOptions(tf32=tf32)))
        for tf32 in (False, True)
    )
    for library, product in ((exact, "float"), (rounded, "bb::tf32")):
        assert f"bb::contract_kn(out, bb::to_operand<{product}>(" in library.source.replace("out2", "out")
        # Q, K and V come in 16 bytes at a time, and only as many columns are multiplied as there are.
        assert set(re.findall(r"bb::reader<\w+, THREADS, (\d)[,>]", library.source)) == {"4"}
        assert len(re.findall(rf"bb::shared_tile<{product}, \d+, 128>", library.source)) == 3
        assert "bb::contract<72>(" in library.source
    with pytest.raises(bb.InputError, match="tf32 belongs to the targets cuda and emulator"):
        bb.compile(text, cuda=CudaOptions(tf32=True))
    pipeline = PIPELINES["cuda"].replace("lanes=cols", "lanes=cols multiply=f32")
    with pytest.raises(bb.InputError, match="tf32 contradicts the pipeline"):
        bb.compile(text, target="emulator", pipeline=pipeline, cuda=CudaOptions(tf32=True))
    with pytest.raises(bb.InputError, match="tf32 has no meaning for a program on kernels"):
        bb.compile(exact.module, target="emulator", cuda=CudaOptions(tf32=True))
    module = bb.parse(text)
    bb.PassPipeline(PIPELINES["cpu"].replace("block-to-kernel", "block-to-kernel{multiply=tf32}")).run(module)
    with pytest.raises(OpError, match="multiplies in tf32, which only GPUs do"):
        bb.compile(module)


@needs_nvrtc
@pytest.mark.parametrize(("example", "type"), [("attention_causal", "bf16"), ("softmax", "f16")])
def test_what_nvrtc_makes_of_it(example: str, type: str):
    outcome = run(text_of(example, type), type, tier="ptx")
    assert outcome.within, outcome.error
    assert outcome.conflicts <= 1.1


@needs_nvrtc
@pytest.mark.parametrize("width", [64, 128])
def test_attention_is_built_as_flash_attention_2(width: int):
    library = CudaLibrary(
        bb.parse(attention(16, 1024, width, "bf16", causal=True)), CompileOptions(target="cuda")
    )
    source = library.source
    # Q is fetched before the loop, K and V in two stages, P goes from registers to the second contraction.
    fetch, loop = source.index("// fetch q"), source.index("for (int ")
    assert fetch < loop
    assert len(re.findall(r"bb::ring<\w+, 2>", source)) == 2
    assert re.search(r"bb::contract_kn\(\w+, bb::to_operand<bb::bf16>\(exp\), v\w*\[\w+\], 0\)", source)
    (found,) = library.resources("sm_80")
    assert (found.spill_stores, found.spill_loads) == (0, 0)
    assert found.occupancy is not None
    assert found.occupancy.blocks == 2
    assert found.instructions.get("HMMA", 1) > 0


@needs_nvrtc
def test_rows_move_in_16_bytes():
    text = text_of("softmax", "bf16").replace("150x96", "64x4096")
    (found,) = CudaLibrary(bb.parse(text), CompileOptions(target="cuda")).resources("sm_80")
    if found.instructions:
        assert found.instructions["LDG"] == found.instructions["LDG.128"]
        assert found.instructions["STG"] == found.instructions["STG.128"]


def test_indices_along_rows_that_are_cut():
    """A block of a long row counts its columns from where it begins."""
    program = """
func.func @ramp(%x: tensor<3x20480xf32>) -> tensor<3x20480xf32> {
  %i = array.iota axis 1 : tensor<3x20480xi32>
  %y = array.elementwise (%a = %x, %n = %i)
    : tensor<3x20480xf32>, tensor<3x20480xi32> -> tensor<3x20480xf32> {
    %f = arith.sitofp %n : i32 to f32
    %b = arith.addf %a, %f : f32
    array.yield %b : f32
  }
  func.return %y : tensor<3x20480xf32>
}"""
    function = bb.compile(program, target="emulator", cuda=CudaOptions(check=True))
    result = function(np.zeros((3, 20480), np.float32))
    assert "bb::row_piece<32, 4, 8>" in function.library.source
    assert np.array_equal(result, np.broadcast_to(np.arange(20480), (3, 20480)))


MATMUL = """
func.func @matmul(%x: tensor<?x72xf16>, %w: tensor<72x40xf16>) -> tensor<?x40xf16> {
  %out = array.matmul %x, %w : tensor<?x72xf16>, tensor<72x40xf16> -> tensor<?x40xf16>
  func.return %out : tensor<?x40xf16>
}
"""


def test_unknown_extents_and_any_strides():
    matmul = bb.compile(MATMUL, target="emulator", cuda=CudaOptions(check=True))
    x, w = (array.astype(np.float16) for array in (rows(0, 300, 72), rows(1, 72, 40)))
    for given, right in ((x[:33], w), (x[::-2], w), (x, np.asfortranarray(w)), (x[:1], w)):
        wanted = given.astype(np.float64) @ right.astype(np.float64)
        assert np.abs(matmul(given, right) - wanted).max() < 0.05
    with pytest.raises(bb.InputError, match="expected at least 1"):
        matmul(x[:0], w)


@pytest.mark.parametrize("form", ["auto", "general"])
def test_a_schedule_at_random(form: str):
    """Odd extents, threads in another order than they are numbered, and both forms of kernels."""
    text = "".join(
        f"func.func @f(%x: tensor<37x51x{type}>, %w: tensor<51x70x{type}>) -> tensor<37x70x{type}> {{\n"
        f"  %y = array.rms_norm %x eps 1.000000e-06 : tensor<37x51x{type}>\n"
        f"  %z = array.matmul %y, %w : tensor<37x51x{type}>, tensor<51x70x{type}> -> tensor<37x70x{type}>\n"
        f"  func.return %z : tensor<37x70x{type}>\n}}\n"
        for type in ("bf16",)
    )
    module = bb.parse(text)
    pipeline = PIPELINES["cuda"].replace("kernel-place-cuda", f"kernel-place-cuda{{form={form}}}")
    for seed in (1, 2):
        cuda = CudaOptions(check=True, seed=seed)
        function = bb.compile(module, target="emulator", pipeline=pipeline, cuda=cuda)
        arrays = bb.random_inputs(module, seed)
        wanted = bb.run(module, arrays, float64=True)
        assert np.abs(function(*arrays).astype(np.float64) - wanted).max() < 0.1
        assert (function.library.reports[0].counters.mma > 0) == (form == "auto")


def test_names_of_the_program_do_no_harm():
    """Keywords, built-in variables, the library's own words, and text that would end a comment."""
    text = (
        'func.func @"*/ #error \\22"(%threadIdx: tensor<4x32xf32>, %s: tensor<32xf32>) -> tensor<4x32xf32> '
        'attributes {bb.dims = [["THREADS", "Row"], ["Row"]]} {\n'
        "  %exp = array.elementwise (%a = %threadIdx, %row = %s) : tensor<4x32xf32>, tensor<32xf32> "
        "-> tensor<4x32xf32> { %lane = arith.addf %a, %row : f32 array.yield %lane : f32 }\n"
        "  func.return %exp : tensor<4x32xf32>\n}\n"
    )
    function = bb.compile(text, target="emulator", cuda=CudaOptions(check=True))
    x, v = rows(0, 4, 32), rows(1, 32)
    assert np.array_equal(function(x, v), x + v)
    assert all(line.startswith("#include") for line in function.source.splitlines() if line[:1] == "#")


def test_a_cpu_refuses_what_was_placed_for_a_gpu():
    module = bb.parse(text_of("softmax", "f32"))
    bb.PassPipeline("array-decompose,array-to-block,block-shapes,block-to-kernel,kernel-place-cuda").run(
        module
    )
    with pytest.raises(OpError, match=r"has its tile in \w+ memory, which is a GPU's"):
        bb.compile(module)


def test_kernels_by_hand_are_placed():
    """A program that is given as kernels gets places for its tiles, and nothing else."""
    module = bb.parse(text_of("softmax", "f32"))
    bb.PassPipeline("array-decompose,array-to-block,block-shapes,block-to-kernel").run(module)
    x = rows(0, 150, 96)
    wanted = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
    assert np.allclose(bb.compile(module, target="emulator")(x), wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"arch": "sm_70"}, "no architecture 'sm_70'; there are: sm_80"),
        ({"tier": "sass"}, "no tier 'sass'; there are: source, ptx"),
    ],
)
def test_bad_options(options: dict[str, str], message: str):
    with pytest.raises(bb.InputError, match=message):
        CudaOptions(**options)
