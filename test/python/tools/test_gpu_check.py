"""`bb.tools.gpu_check`, all of it, on a device and a torch that are not there."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import bb
import numpy as np
import pytest
from bb.runtime.calls.compile_options import CompileOptions
from bb.runtime.cuda.compile import compile_cuda, cuda_compiler_problem
from bb.runtime.cuda.emulator import EmulatorBuildError
from bb.runtime.cuda.library import CudaLibrary
from bb.tools.gpu_check import __main__ as gpu_check
from bb.tools.gpu_check import cases as gpu_cases
from bb.tools.gpu_check import expected as gpu_expected
from bb.tools.gpu_check import times as gpu_times
from bb.tools.gpu_check import worker as gpu_worker
from bb.tools.gpu_check.supervisor import supervise
from fake_cupy import FakeCupy, RawKernel, with_cupy
from fake_torch import FakeTorch, with_torch
from paths import HELPERS

pytestmark = pytest.mark.long

SMALL = [
    gpu_cases.attention(2, 32, 16, causal=True),
    gpu_cases.norm_matmul("layer_norm", 32, 32, 16),
    gpu_cases.ffn(16, 32, 32, down=True),
]


def device(monkeypatch: pytest.MonkeyPatch, *, torch: bool = True) -> FakeCupy:
    """A device, with the small programs to time on it, and few rounds."""
    cupy = FakeCupy()
    with_cupy(monkeypatch, cupy)
    with_torch(monkeypatch, FakeTorch(cupy, gpu=torch))
    for module in (gpu_check, gpu_worker):
        monkeypatch.setattr(module, "cases", lambda: SMALL)
    monkeypatch.setattr(gpu_times, "ROUNDS", 2)
    monkeypatch.setattr(gpu_check, "TYPES", ("f32",))
    return cupy


def run(capsys: pytest.CaptureFixture[str], file: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    status = gpu_check.main(["--one-process", "--json", str(file), *options])
    return status, capsys.readouterr().out, json.loads(file.read_text())


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with_cupy(monkeypatch, FakeCupy(devices=0))
    assert gpu_check.main([]) == 0
    assert "nothing to check: the target cuda needs an NVIDIA GPU" in capsys.readouterr().out


def test_all_of_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    monkeypatch.setenv("COLUMNS", "200")
    cupy = device(monkeypatch)
    status, printed, figures = run(capsys, tmp_path / "a.json", "--only", "softmax|attention 2|norm . ")
    assert figures["wrong"] == []
    assert status == 0
    assert figures["checks"] == {"softmax in f32": []}
    assert figures["device"]["name"] == "Fake GPU"
    assert figures["left_out"] == []
    attention, norm, ffn = figures["rows"]
    assert list(attention["milliseconds"]) == ["ours", "unfused", "flash"]
    assert attention["refused"] == {"cudnn": "RuntimeError: No available kernel. Aborting execution."}
    for row in (norm, ffn):
        assert row["milliseconds"] == {"ours": 0.5, "unfused": 0.5, "compile": 0.5}
    for row in figures["rows"]:
        assert 0 <= row["difference"] < 0.05
        assert row["exposed"] == []
    assert "1 of 1 examples agree with float64 and with the emulator" in printed
    assert (
        "- cudnn: RuntimeError: No available kernel. Aborting execution. (attention 2x32x16 causal)"
        in printed
    )
    assert any(line.startswith("bb_spin(") for line in cupy.log)


def test_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """And where the GPU is done before Python is, and where there is no time for the rest."""
    cupy = device(monkeypatch, torch=False)
    cupy.done = True
    _, printed, figures = run(capsys, tmp_path / "a.json", "--time-only", "--only", "attention")
    (row,) = figures["rows"]
    assert list(row["milliseconds"]) == ["ours"]
    assert row["exposed"] == ["ours"]
    assert "without rivals: torch sees no GPU" in printed
    assert "the time of ours has Python's in it" in printed
    _, printed, figures = run(capsys, tmp_path / "b.json", "--seconds", "0", "--only", "softmax|attention 2")
    assert figures["left_out"] == ["check of softmax in f32", "times of attention 2x32x16 causal"]
    assert "left out: times of attention 2x32x16 causal" in printed


def test_what_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    device(monkeypatch)
    monkeypatch.setattr(gpu_worker, "BOUNDS", {"f32": 1e-12})
    monkeypatch.setattr(gpu_check, "FURTHEST", -1.0)

    def fail(*arguments: object) -> None:
        raise EmulatorBuildError("no C++ compiler")

    expected = gpu_expected.expected

    def expect(*arguments: Any) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(gpu_expected.Executable, "run_on_host_arrays", fail)
            return expected(*arguments)

    monkeypatch.setattr(gpu_expected, "expected", expect)
    status, printed, figures = run(capsys, tmp_path / "a.json", "--only", "softmax|layer_norm")
    assert status == 1
    off, row = figures["wrong"]
    assert "not compared with the emulator: no C++ compiler" in printed
    assert off.startswith("softmax in f32: @softmax is off by")
    assert row.startswith("layer_norm + matmul 32x32x16: the result is off torch's by")
    assert f"wrong: {off}"[:60] in printed


def test_a_kernel_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    """The rivals are timed all the same."""
    device(monkeypatch)

    def fail(*arguments: object, **options: object) -> None:
        raise RuntimeError("CUDA_ERROR_ILLEGAL_ADDRESS")

    monkeypatch.setattr(RawKernel, "__call__", fail)
    status, _, figures = run(capsys, tmp_path / "a.json", "--time-only", "--only", "layer_norm")
    assert status == 1
    (row,) = figures["rows"]
    assert list(row["milliseconds"]) == ["unfused", "compile"]
    assert "cannot be launched: CUDA_ERROR_ILLEGAL_ADDRESS" in row["refused"]["ours"]


WORKER = """
import json, os, sys, time
request = json.load(sys.stdin)
print(json.dumps({"device": {"name": "it"}}), flush=True)
for task in request["tasks"]:
    print(json.dumps({"begin": task}), flush=True)
    if task == "time 1":
        print("Segmentation fault", file=sys.stderr)
        os._exit(11)
    if task == "time 2":
        time.sleep(60)
    if task == "time 4":
        print(json.dumps({"done": task, "refused": {"ours": "no"}}), flush=True)
        sys.exit(3)
    print(json.dumps({"done": task}), flush=True)
"""


def test_a_worker_that_does_not_survive(tmp_path: Path):
    """One task ends the process, one hangs, one breaks the device: the others are done."""
    answers: list[dict[str, Any]] = []
    tasks = [f"time {number}" for number in range(6)]
    until = time.monotonic() + 120
    left = supervise(
        [sys.executable, "-c", WORKER], tasks, tmp_path, until, lambda one: answers.append(dict(one)), 2.0
    )
    assert left == []
    done = {answer["done"]: answer for answer in answers if "done" in answer}
    assert {*tasks, "time 1 rivals", "time 2 rivals", "time 4 rivals"} == set(done)
    assert done["time 1"]["failed"] == "its process ended with status 11: Segmentation fault"
    assert done["time 2"]["failed"] == "it took more than 2 s"
    assert all("failed" not in done[task] for task in ("time 0", "time 3", "time 5", "time 1 rivals"))


ITSELF = """
import sys
import pytest
from bb.tools.gpu_check import cases as gpu_cases
from bb.tools.gpu_check import worker as gpu_worker
from fake_cupy import FakeCupy, with_cupy
patch = pytest.MonkeyPatch()
with_cupy(patch, FakeCupy())
patch.setattr(gpu_worker, "cases", lambda: [gpu_cases.norm_matmul("layer_norm", 32, 32, 16)])
patch.setitem(sys.modules, "torch", None)
sys.exit(gpu_worker.main())
"""


def test_the_worker_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    answers: list[dict[str, Any]] = []
    command, until = [sys.executable, "-c", ITSELF], time.monotonic() + 60
    assert (
        supervise(command, ["check no f32", "time 0"], tmp_path, until, lambda one: answers.append(dict(one)))
        == []
    )
    device, check, row = answers
    assert "torch cannot be imported" in device["device"]["without"]
    assert check["failed"].startswith("FileNotFoundError")
    assert row["milliseconds"] == {"ours": 0.5}


def test_a_worker_that_cannot_begin(tmp_path: Path):
    answers: list[dict[str, Any]] = []
    command = [sys.executable, "-c", "raise SystemExit('no driver')"]
    assert (
        supervise(command, ["time 0"], tmp_path, time.monotonic() + 60, lambda one: answers.append(dict(one)))
        == []
    )
    assert answers == [{"done": "time 0", "failed": "its process ended with status 1: no driver"}]


def test_a_row_that_took_two_processes():
    report = gpu_check.Report(None)
    name = gpu_cases.cases()[0].name
    report.take({"done": "time 0", "failed": "it took more than 45 s"})
    assert report.wrong == [f"{name}: it took more than 45 s"]
    rivals = {"milliseconds": {"flash": 1.0}, "launch_microseconds": {}, "refused": {}, "difference": None}
    report.take({"done": "time 0 rivals", "flops": 1e9, "bytes": 1e6, **rivals})
    assert report.wrong == [f"{name}: it took more than 45 s"]
    assert gpu_check.table(report).row_count == 1


def test_programs_that_are_timed_compile():
    cases = gpu_cases.cases()
    assert len({case.name for case in cases}) == len(cases) == 22
    for case in cases[::5]:
        library = CudaLibrary(bb.parse(case.text), CompileOptions(target="cuda"))
        assert "bb::contract" in library.source, case.name


@pytest.mark.skipif(cuda_compiler_problem() is not None, reason="NVRTC is not installed")
def test_the_kernel_that_waits_compiles():
    assert "%clock64" in compile_cuda(gpu_times.SPIN, "sm_80").ptx


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_what_torch_is_asked_for(case: gpu_cases.Case):
    """The real one, on the CPU: the words are there, and the rivals compute what our program does."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    host = [rng.standard_normal(shape).astype(np.float32) / 4 for shape in case.shapes]
    tensors = [torch.from_numpy(array).to(torch.bfloat16) for array in host]
    import ml_dtypes

    wanted = bb.run(bb.parse(case.text), [array.astype(ml_dtypes.bfloat16) for array in host], float64=True)
    names = [name for name in case.rivals if name in ("unfused", "flash")]
    for name in names:
        found = case.rivals[name](torch, tensors)().float().numpy()
        assert np.abs(found - wanted).max() < 0.05 * np.abs(wanted).max()
