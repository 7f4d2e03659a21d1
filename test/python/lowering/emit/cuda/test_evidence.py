"""The evidence for kernels of GPUs, from the emulator and from NVRTC: results, findings, bytes of each array,
widths of accesses, bank conflicts of each loop, tensor cores in each contraction, and no spilled registers.
"""

from __future__ import annotations

import re

import bb
import numpy as np
import pytest
from bb.lowering.emit.cuda import Layout, emit_cuda
from bb.lowering.pipelines import PIPELINES
from bb.passes.analysis.traffic.arrays import array_traffic, difference_lines
from bb.passes.analysis.traffic.kernel import moves_of_module
from bb.runtime.calls.compile_options import CompileOptions, CudaOptions
from bb.runtime.cuda.compile import compile_cuda, cuda_compiler_problem, kernel_resources
from bb.runtime.cuda.emulator.native_files import device_directory
from bb.runtime.cuda.library import CudaLibrary
from bb.runtime.program.functions import select_function
from cuda_evidence import EXAMPLES, attention, complaints, run, text_of
from example_programs import odd_sizes, resized

pytestmark = pytest.mark.long

needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason="NVRTC is not installed")

CORE = [
    ("attention_causal", "bf16"),
    ("attention_gqa", "f16"),
    ("layernorm_matmul", "f16"),
    ("rmsnorm_ffn_swiglu", "bf16"),
    ("softmax", "bf16"),
    ("logsumexp", "f32"),
    ("rmsnorm_matmul", "f32"),
    ("attention_causal", "tf32"),
]


@pytest.mark.parametrize(("example", "type"), CORE)
def test_examples(example: str, type: str):
    assert complaints(run(text_of(example, type), type), type) == []


def odd_text(example: str, type: str, which: str) -> str:
    """An example at extents of which most divide nothing; tf32 is a type of products."""
    return resized(example, odd_sizes(example)[which], type.removeprefix("t"))[0]


def test_odd_extents_of_an_example():
    assert complaints(run(odd_text("attention_causal", "f16", "past_block"), "f16"), "f16") == []


def context(queries: int, length: int, width: int, head: int, type: str) -> str:
    """Attention to a short context. Values are divided by themselves: past its end they are no numbers."""
    q, x, w = (f"tensor<{a}x{b}x{type}>" for a, b in ((queries, head), (length, width), (width, head)))
    v = f"tensor<{length}x{head}x{type}>"
    return f"""
func.func @context(%q: {q}, %x: {x}, %w_k: {w}, %w_v: {w}) -> {q} {{
  %y = array.rms_norm %x eps 1.000000e-06 : {x}
  %keys = array.matmul %y, %w_k : {x}, {w} -> {v}
  %rows = array.matmul %x, %w_v : {x}, {w} -> {v}
  %values = array.elementwise (%a = %rows) : {v} -> {v} {{
    %one = arith.divf %a, %a : {type}
    %b = arith.addf %one, %a : {type}
    array.yield %b : {type}
  }}
  %out = array.attention %q, %keys, %values : {q}, {v}, {v} -> {q}
  func.return %out : {q}
}}
"""


@pytest.mark.parametrize("type", ["f32", "bf16"])
def test_right_operands_that_a_kernel_computes(type: str):
    outcome = run(context(60, 10, 24, 16, type), type)
    assert complaints(outcome, type) == []
    assert len(outcome.reports) == 1


def library(text: str, entry: str | None = None) -> CudaLibrary:
    return CudaLibrary(bb.parse(text), CompileOptions(entry, target="cuda"))


@pytest.mark.parametrize("example", ["attention", "softmax"])
def test_kernels_move_what_the_block_program_does(example: str):
    """Holds for examples without invariants of loops and without masks."""
    compiled = library(text_of(example, "bf16"))
    assert compiled.blocks is not None
    function = select_function(compiled.blocks, example)
    (moves,) = moves_of_module(compiled.module)
    modelled = array_traffic(function)
    for each in moves.arrays:
        assert (str(each.read), str(each.written)) == tuple(str(bytes) for bytes in modelled[each.name])
    assert difference_lines(function, [moves]) == []


def test_where_kernels_move_something_else():
    causal = library(text_of("attention_causal", "bf16"))
    assert causal.blocks is not None
    lines = difference_lines(
        select_function(causal.blocks, "attention_causal"), moves_of_module(causal.module)
    )
    assert lines == [f"{name}: 106,752 bytes of 115,200: a mask hides the rest" for name in ("k", "v")]
    gate = library(text_of("gelu_gate", "f32"))
    assert gate.blocks is not None
    lines = difference_lines(select_function(gate.blocks, "gelu_gate"), moves_of_module(gate.module))
    assert lines == ["bias: 20,736 bytes in place of 288: each block of threads, or each warp, for itself"]


def test_what_does_not_fit_into_registers_is_loaded_again():
    """The residual of a decoder layer is read before the attention, and once more after it."""
    pipeline = PIPELINES["cuda"].replace("device=gpu", "device=gpu N=64 F=64")
    text = odd_text("decoder_layer", "f16", "past_block")
    compiled = CudaLibrary(bb.parse(text), CompileOptions(target="cuda", pipeline=pipeline))
    (function,) = compiled.kernels
    (parallel,) = function.body.block.ops
    assert parallel.attributes["warps"].value.data == 8
    (moves,) = moves_of_module(compiled.module)
    (x,) = (each for each in moves.arrays if each.name == "x")
    assert str(x.read) == "4·B·K·N + 4·K·M"


def test_extents_of_a_call():
    """Formulas hold for extents that only a call knows."""
    text = text_of("softmax", "f32").replace("150x", "?x")
    (moves,) = moves_of_module(library(text).module)
    x = moves.arrays[0]
    assert moves.number(x.read) is None
    assert moves.number(x.read, {"M": 33}) == 33 * 96 * 4


def test_parts_of_arrays_are_read_in_16_bytes():
    """Layouts other than the dense one have kernels of their own: for aligned rows, and for any strides."""
    text = text_of("softmax", "f32").replace("150x96", "9x64")
    function = bb.compile(text, target="emulator", cuda=bb.CudaOptions(check=True, profile=True))
    whole = np.random.default_rng(0).standard_normal((9, 133)).astype(np.float32)
    for given, width in (
        (np.pad(whole, ((0, 0), (0, 3)))[:, 8:72], 16),
        (whole[:, 1:65], 4),
        (whole[:, :128:2], 4),
    ):
        result = function(given)
        wanted = np.exp(given) / np.exp(given).sum(axis=1, keepdims=True)
        assert np.allclose(result, wanted, atol=1e-6)
        (report,) = function.library.reports
        widths = report.buffer("x").load_widths
        assert widths[(1, 2, 4, 8, 16).index(width)] == given.size * 4


def spilled(compiled: CudaLibrary, arch: str, parts: bool = False) -> dict[str, tuple[int, int]]:
    """The bytes that functions spill, by their names; of kernels for parts of arrays, on request."""
    if parts:
        found = {}
        for each in compiled.kernels:
            source = emit_cuda([each], [Layout.Rows] * len(each.body.block.args))
            binary = compile_cuda(source.text, arch, name="parts.cu", include=[device_directory()])
            found |= {row.kernel: (row.spill_stores, row.spill_loads) for row in kernel_resources(binary)}
    else:
        found = {row.kernel: (row.spill_stores, row.spill_loads) for row in compiled.resources(arch)}
    return {name: bytes for name, bytes in found.items() if bytes != (0, 0)}


# The long grid: `make test-emulator-full`

EVERY = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
ODD = [
    attention(2, 37, 40, "bf16"),
    attention(1, 1, 64, "f16"),
    attention(2, 101, 128, "bf16", causal=True),
    attention(1, 200, 20, "f16", causal=True),
    text_of("layernorm_matmul", "bf16").replace("150", "33").replace("64", "51").replace("96", "45"),
    text_of("rmsnorm_ffn_swiglu", "f16").replace("130", "37").replace("64", "51").replace("96", "190"),
    text_of("rmsnorm_matmul", "bf16").replace("140", "129").replace("80", "333").replace("56", "170"),
    text_of("softmax", "bf16").replace("150x96", "7x4104"),
    text_of("softmax", "f16").replace("150x96", "9x131"),
    attention(2, 37, 40, "f32"),
    attention(1, 1, 64, "f32"),
    attention(1, 129, 128, "f32", causal=True),
    attention(1, 101, 23, "f32", causal=True),
    text_of("layernorm_matmul", "f32").replace("150", "33").replace("64", "51").replace("96", "45"),
    text_of("rmsnorm_ffn_swiglu", "f32").replace("130", "37").replace("64", "51").replace("96", "190"),
    text_of("rmsnorm_matmul", "f32").replace("140", "129").replace("80", "333").replace("56", "170"),
    text_of("lora", "f32").replace("80", "71").replace("64", "67"),
]


@pytest.mark.emulator_full
@pytest.mark.parametrize("tier", ["source", pytest.param("ptx", marks=needs_nvrtc)])
@pytest.mark.parametrize("type", ["f32", "tf32", "f16", "bf16"])
@pytest.mark.parametrize("example", EVERY)
def test_every_example(example: str, type: str, tier: str):
    text = text_of(example, type)
    for function in bb.parse(text).ops:
        outcome = run(text, type, function.sym_name.data, tier=tier)
        assert complaints(outcome, type, tier) == []


@pytest.mark.emulator_full
@pytest.mark.parametrize("which", ["primes", "past_block"])
@pytest.mark.parametrize("type", ["f32", "tf32", "f16", "bf16"])
@pytest.mark.parametrize("example", EVERY)
def test_every_example_at_odd_extents(example: str, type: str, which: str):
    text = odd_text(example, type, which)
    function = next(iter(bb.parse(text).ops))
    outcome = run(text, type, function.sym_name.data)
    assert complaints(outcome, type) == []


@pytest.mark.emulator_full
@pytest.mark.parametrize("tier", ["source", pytest.param("ptx", marks=needs_nvrtc)])
@pytest.mark.parametrize("type", ["f32", "tf32", "f16", "bf16"])
@pytest.mark.parametrize("extents", [(13, 11, 24, 16), (10, 60, 40, 32), (50, 50, 64, 48), (130, 33, 32, 64)])
def test_short_contexts(extents: tuple[int, int, int, int], type: str, tier: str):
    outcome = run(context(*extents, type.removeprefix("t")), type, tier=tier)
    assert complaints(outcome, type, tier) == []
    assert len(outcome.reports) == 1


@pytest.mark.emulator_full
@pytest.mark.parametrize("tier", ["source", pytest.param("ptx", marks=needs_nvrtc)])
@pytest.mark.parametrize("number", range(len(ODD)))
def test_odd_extents(number: int, tier: str):
    text = ODD[number]
    own = next(type for type in ("bf16", "f16", "f32") if f"x{type}" in text)
    for type in ("f32", "tf32") if own == "f32" else (own,):
        assert complaints(run(text, type, tier=tier), type, tier) == []


LARGE = [
    *(attention(4, 1024, width, "f32", causal=causal) for width in (64, 96, 128) for causal in (False, True)),
    text_of("rmsnorm_matmul", "f32").replace("140", "512").replace("80", "1024").replace("56", "512"),
    text_of("layernorm_matmul", "f32").replace("150", "512").replace("64", "1024").replace("96", "512"),
    text_of("rmsnorm_ffn_swiglu", "f32").replace("130", "512").replace("64", "512").replace("96", "1024"),
]


@pytest.mark.emulator_full
@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("number", range(len(LARGE)))
def test_whole_blocks_of_f32_spill_nothing(number: int, arch: str):
    for tf32 in (False, True):
        options = CompileOptions(target="cuda", cuda=CudaOptions(tf32=tf32))
        library = CudaLibrary(bb.parse(LARGE[number]), options)
        assert set(re.findall(r"bb::reader<\w+, THREADS, (\d)[,>]", library.source)) == {"4"}
        assert spilled(library, arch) == {}


@pytest.mark.emulator_full
@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("example", EVERY)
def test_every_example_on_every_architecture(example: str, arch: str):
    for type in ("f32", "f16", "bf16"):
        compiled = library(text_of(example, type))
        assert spilled(compiled, arch) == {}
        assert all(row.occupancy is None or row.occupancy.blocks for row in compiled.resources(arch))


@pytest.mark.emulator_full
@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_kernels_for_parts_of_arrays_spill_nothing(arch: str):
    """The decoder layer's second kernel gets parts of its weights, and has nine loops that fetch ahead."""
    assert spilled(library(text_of("decoder_layer", "bf16")), arch, parts=True) == {}


@pytest.mark.emulator_full
@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("which", ["primes", "past_block"])
@pytest.mark.parametrize("example", EVERY)
def test_every_example_at_odd_extents_spills_nothing(example: str, which: str, arch: str):
    for type in ("f32", "f16", "bf16"):
        assert spilled(library(odd_text(example, type, which)), arch) == {}
