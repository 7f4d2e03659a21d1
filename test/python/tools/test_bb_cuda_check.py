"""bb-cuda-check: findings with excerpts, wrong results, exit statuses, and sentences for bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from bb.runtime.cuda.compile import cuda_compiler_problem
from bb.tools.bb_cuda_check import main
from bb.tools.cuda_check.arguments import kernel_arguments
from bb.tools.shared.files import ToolError
from paths import ROOT

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples" / "cuda" / "row_sums.cu"
BARRIER = "    // __syncthreads() belongs here"
ARGUMENTS = ["--grid", "4", "--arg", "x=in:x.npy", "--arg", "sums=out:f32:4", "--arg", "i32:1000"]
needs_nvrtc = pytest.mark.skipif(cuda_compiler_problem() is not None, reason=str(cuda_compiler_problem()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the example, its repaired version, its input and its expected output."""
    monkeypatch.chdir(tmp_path)
    text = EXAMPLE.read_text()
    (tmp_path / "race.cu").write_text(text)
    (tmp_path / "good.cu").write_text(text.replace(BARRIER, "    __syncthreads();" + BARRIER))
    x = np.random.default_rng(1).standard_normal((4, 1000)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "sums.npy", x.astype(np.float64).sum(1))
    return tmp_path


def test_a_race_is_shown_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["race.cu", *ARGUMENTS]) == 1
    output = capsys.readouterr().out
    assert output.startswith("race.cu:11: race: ")
    assert " 11 │       partial[threadIdx.x] += partial[threadIdx.x + half];\n" in output
    assert "    │       ^ " in output
    assert output.endswith(
        "1 finding in kernel 'row_sums' (source tier, check mode, fifo schedule, emulated)\n"
    )


def test_a_correct_kernel(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["good.cu", *ARGUMENTS, "--expect", "sums.npy", "--seeds", "3"]) == 0
    summary = "no finding in kernel 'row_sums' (source tier, check mode, pct schedule, 3 runs, emulated)\n"
    assert capsys.readouterr().out == summary


def test_wrong_results(folder: Path, capsys: pytest.CaptureFixture[str]):
    expected = np.load("sums.npy")
    expected[2] += 1
    np.save("wrong.npy", expected)
    for expect in ("wrong.npy", "sums=wrong.npy"):
        assert main(["good.cu", *ARGUMENTS, "--expect", expect]) == 1
        output = capsys.readouterr().out
        assert output.startswith("wrong result: 1 of 4 values of 'sums' differ: the first, [2], is ")


def test_json(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["race.cu", *ARGUMENTS, "--json"]) == 1
    (finding,) = (found := json.loads(capsys.readouterr().out))["findings"]
    assert (finding["kind"], finding["location"]) == ("race", {"file": "race.cu", "line": 11})
    assert (found["kernel"], found["runs"], found["wrong_results"]) == ("row_sums", 1, [])
    assert found["buffers"][0]["bytes_read"] == 16000


@needs_nvrtc
def test_ptx_and_report(folder: Path, capsys: pytest.CaptureFixture[str]):
    arguments = [*ARGUMENTS, "--ptx", "sm_90", "--report", "sm_80,sm_90", "--profile"]
    assert main(["good.cu", *arguments, "--expect", "sums.npy"]) == 0
    output = capsys.readouterr().out
    assert "│ static shared bytes" in output
    assert re.search(r"│ x +│ +16,000 │", output)
    assert output.endswith(
        "no finding in kernel 'row_sums' (PTX of sm_90, check mode, fifo schedule, emulated)\n"
    )


def test_macros_headers_and_printf(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "by.cuh").write_text("#define OFFSET 1\n")
    source = """#include "by.cuh"
template <class T> __global__ void add(T* x) {
  x[threadIdx.x] += OFFSET * TIMES;
  printf("[red]%d\\n", TIMES);
}"""
    (folder / "add.cu").write_text(source)
    np.save("expected.npy", np.full(1, 3.0))
    arguments = ["--kernel", "add<float>", "--block", "1", "--arg", "x=zeros:f32:1", "-D", "TIMES=3"]
    assert main(["add.cu", *arguments, "--expect", "x=expected.npy"]) == 0
    assert capsys.readouterr().out.startswith("[red]3\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["none.cu"], "cannot read 'none.cu': no such file or directory"),
        (["race.cu"], "kernel 'row_sums' has 3 parameters, 0 arguments given"),
        (["race.cu", "--kernel", "other"], "there is no kernel 'other' in race.cu"),
        (["race.cu", "--kernel", "a;b()"], "is no expression that names a kernel"),
        (["race.cu", "--grid", "4,x"], "takes one to three positive integers such as 4,2, not '4,x'"),
        (["race.cu", "--block", "2000", *ARGUMENTS], "a block has at most 1,024 threads"),
        (["race.cu", "--shared", "-1"], "takes a number of bytes, not '-1'"),
        (["race.cu", "--shared", "300000", *ARGUMENTS], "more than any device has"),
        (
            ["race.cu", "--ptx", "sm_80", "--shared", "200000", *ARGUMENTS],
            "200000 bytes of dynamic shared memory are more than a block of this architecture has (166912)",
        ),
        (["race.cu", "--arg", "zeros:f32:8x8@4x4/128"], "a row of the box has 16 bytes, and the swizzle 128"),
        (["race.cu", "--arg", "i32:8@4x4"], "a box is one of an array"),
        (["race.cu", "--arg", "x=zeros:f32:8x8@4x4", *ARGUMENTS[-4:]], "is a tensor map, which the kernel"),
        (["race.cu", "--arg", "out:f33:4"], "'f33' is no type"),
        (["race.cu", "--arg", "out:f32:4x"], "'4x' is no shape such as 2x128x64"),
        (["race.cu", "--arg", "out:f64:99999999999"], "an array has at most 4 GiB"),
        (["race.cu", "--arg", "i8:300"], "'300' is no number of type i8"),
        (["race.cu", "--arg", "in:race.cu"], "cannot read 'race.cu': it is no .npy file of numbers"),
        (["race.cu", "--arg", "a=null", "--arg", "a=null"], "two arguments are called 'a'"),
        (["race.cu", "--seeds", "2", "--schedule", "fifo"], "--seeds is for the schedule pct"),
        (["race.cu", "--arg", "x=in:x.npy", "--arg", "f32:1", "--arg", "i32:1"], "is a pointer"),
        (["good.cu", *ARGUMENTS, "--expect", "other=sums.npy"], "cannot read 'other=sums.npy'"),
        (["good.cu", *ARGUMENTS, "--expect", "x.npy"], "'sums' has 4 values, the expected file 4000"),
        (["bad.cu"], "bad.cu:2: "),
        (["race.cu", "--ptx", "sm_1", *ARGUMENTS], "'compute_1' names no architecture"),
    ],
)
def test_bad_input_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
):
    (folder / "bad.cu").write_text('extern "C" __global__ void k() {\n  undeclared();\n}\n')
    if "--ptx" in arguments and cuda_compiler_problem() is not None:
        pytest.skip("needs NVRTC")
    assert main(arguments) == 2
    message = capsys.readouterr()
    assert message.out == ""
    assert message.err.startswith("bb-cuda-check: error: ")
    assert sentence in message.err
    assert message.err.count("\n") == 1


def test_arguments(tmp_path: Path):
    np.save(tmp_path / "b.npy", np.array([0x3F80], np.uint16))
    texts = [f"in:bf16:{tmp_path}/b.npy", "n=i32:-0x10", "f16:1.5", "random:f32:2x3", "null", "bool:1"]
    made = kernel_arguments(texts)
    assert [argument.name for argument in made] == ["b", "n", *(f"argument {i}" for i in range(2, 6))]
    b, n, half, noise, null, flag = (argument.value for argument in made)
    assert (float(b[0]), n, half, noise.shape, null, bool(flag)) == (1.0, -16, 1.5, (2, 3), None, True)
    assert (n.dtype, half.dtype, flag.dtype) == (np.int32, np.float16, np.bool_)
    with pytest.raises(ToolError, match=r"--arg x: an argument is in:FILE"):
        kernel_arguments(["x"])


MISBEHAVIOUR = """
extern "C" __global__ void scribbles(int* x) { for (long i = 0;; --i) ((volatile char*)x)[i] = 1; }
extern "C" __global__ void loops(int* x) { for (;;) atomicAdd(x, 1); }
extern "C" __global__ void divides(int* x) { x[1] = 5 / x[0]; }
__device__ int deeper(int* x, int n) { return n == x[0] - 1 ? 0 : 1 + deeper(x, n + 1) * x[1]; }
extern "C" __global__ void recurses(int* x) { x[0] = deeper(x, 0); }
extern "C" __global__ void prints(int* x) { for (;;) printf("%0999d", x[0]); }
extern "C" __global__ void aborts(int* x) { __trap(); }
"""


@pytest.mark.parametrize("tier", [[], ["--fast"], ["--ptx", "sm_90"]], ids=" ".join)
def test_whatever_a_kernel_does_is_a_finding(
    folder: Path, capsys: pytest.CaptureFixture[str], tier: list[str]
):
    if tier[:1] == ["--ptx"] and cuda_compiler_problem() is not None:
        pytest.skip("needs NVRTC")
    (folder / "bad.cu").write_text(MISBEHAVIOUR)
    for kernel, kinds in [
        ("scribbles", ("out of bounds", "illegal address")),
        ("loops", ("time limit",)),
        # NVRTC's PTX divides as the hardware does: by zero without a trap.
        ("divides", ("no finding",) if "--ptx" in tier else ("division by zero",)),
        ("recurses", ("stack overflow",)),
        ("prints", ("too much output", "time limit")),
        ("aborts", ("trap",)),
    ]:
        given = ["--kernel", kernel, "--block", "1", "--arg", "x=zeros:i32:2", "--time-limit", "0.5"]
        status = main(["bad.cu", *given, *tier])
        message = capsys.readouterr()
        assert status == (0 if kinds == ("no finding",) else 1), message
        assert any(kind in message.out for kind in kinds), message.out[-500:]
        assert "Traceback" not in message.out + message.err


@needs_nvrtc
@pytest.mark.parametrize("tier", [[], ["--ptx", "sm_90a"]], ids=["source", "ptx"])
def test_tensor_maps(folder: Path, capsys: pytest.CaptureFixture[str], tier: list[str]):
    source = np.random.default_rng(0)
    a, b = (source.standard_normal((rows, 192)).astype(ml_dtypes.bfloat16) for rows in (100, 44))
    for name, array in (("a", a), ("b", b)):
        np.save(f"{name}.npy", array.view(np.uint16))
    np.save("c.npy", a.astype(np.float64) @ b.astype(np.float64).T)
    path = EXAMPLE.parents[2] / "test" / "cuda" / "matmul_hopper.cu"
    arguments = ["in:bf16:a.npy@64x64/128", "in:bf16:b.npy@32x64/128", "out:f32:100x44@64x32", "i32:192"]
    options = ["--grid", "2,2", "--block", "160", "--shared", "65536", "--expect", "c.npy"]
    for argument in arguments:
        options += ["--arg", argument]
    assert main([str(path), *options, *tier]) == 0
    assert capsys.readouterr().out.startswith("no finding in kernel 'matmul_hopper' (")
