"""Targets: one record and one row make a new one, and what a target cannot do is refused by its traits."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import bb
import numpy as np
import pytest
from bb.lowering.pipelines import PIPELINES
from bb.runtime.api import CompileArguments
from bb.runtime.arrays.views import ArrayView
from bb.runtime.calls.call_plan import CallRecord
from bb.runtime.calls.compile_options import CompileOptions, CudaOptions
from bb.runtime.calls.counters import Profiler
from bb.runtime.calls.launch_plan import Launch
from bb.runtime.calls.lowered import LoweredProgram
from bb.runtime.calls.target import Target
from bb.runtime.executable.targets import TARGETS, listed_targets, names_of_targets, source_of, targets_with
from bb.runtime.interpreter.functions import interpret
from bb.tools import bb_run
from xdsl.dialects.builtin import ModuleOp

PROGRAM = """func.func @rows(%x: tensor<?x40xf32>) -> tensor<?x40xf32> {
  %y = array.softmax %x axis 1 : tensor<?x40xf32>
  func.return %y : tensor<?x40xf32>
}
"""
TWICE = PROGRAM.replace("return %y", "return %z").replace(
    "  func.return", "  %z = array.softmax %y axis 0 : tensor<?x40xf32>\n  func.return"
)
X = np.random.default_rng(0).standard_normal((6, 40)).astype(np.float32)


class ToyLibrary(LoweredProgram):
    """Kernels that the interpreter runs, by the block program that they were made from."""

    source = "what the toy runs"
    profiler: Profiler | None = None

    def __init__(self, program: ModuleOp, options: CompileOptions, pipeline: str):
        super().__init__(program, options, pipeline)
        self.entries = {each.sym_name.data: None for each in self.kernels}
        self.launches = 0

    def begin_call(self) -> None:
        self.launches = 0

    def check(self, launch: Launch, lengths: list[int], threads: int) -> None:
        pass

    def launch(
        self, launch: Launch, arrays: list[ArrayView], lengths: list[int], threads: int, record: CallRecord
    ) -> None:
        assert self.blocks is not None
        self.launches += 1
        record.repeatable = False
        *inputs, result = (view.numpy() for view in arrays)
        (found,) = interpret(self.blocks, inputs).results
        result[...] = found


def place(threads: int, cuda: CudaOptions) -> str:
    return "the toy"


TOY = Target("toy", PIPELINES["cpu"], library=ToyLibrary, source=ToyLibrary, place=place)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one row of a new target."""
    monkeypatch.setitem(TARGETS, TOY.name, TOY)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "rows.mlir"
    path.write_text(PROGRAM)
    return path


def test_a_new_target_compiles_and_runs():
    wanted = bb.run(PROGRAM, [X], float64=True)
    executable = bb.compile(PROGRAM, target="toy")
    for _ in range(2):
        np.testing.assert_allclose(executable(X), wanted, atol=1e-6)
        assert executable.library.launches == 1
    out = np.empty_like(X)
    assert executable(x=X, out=out) is out
    np.testing.assert_allclose(out, wanted, atol=1e-6)
    np.testing.assert_allclose(bb.run(PROGRAM, [X], "toy"), wanted, atol=1e-6)
    np.testing.assert_allclose(bb.run(PROGRAM, {"x": X.astype(np.float64)}, "toy"), wanted, atol=1e-6)


def test_a_new_target_refuses_what_it_cannot_do():
    for options in ({"tune": 1}, {"choose": "model"}):
        with pytest.raises(bb.InputError, match=r"^tune and choose belong to the target cpu, not to toy$"):
            bb.compile(PROGRAM, target="toy", **options)
    with pytest.raises(bb.InputError, match=r"^tf32 belongs to the targets cuda and emulator: a CPU mult"):
        bb.compile(PROGRAM, target="toy", cuda=bb.CudaOptions(tf32=True))
    with pytest.raises(bb.InputError, match="'rows' has no kernels to profile"):
        bb.compile(PROGRAM, target="toy").profile(X)


def test_bb_run_takes_a_new_target(program: Path, capsys: pytest.CaptureFixture[str]):
    given = [str(program), "--target", "toy"]
    assert bb_run.main([*given, "--random", "0", "--extent", "x.0=5", "--check"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("@rows on the toy\n")
    assert "check %y" in printed.out
    assert bb_run.main([*given, "--source"]) == 0
    assert capsys.readouterr().out == ToyLibrary.source


@pytest.mark.parametrize(
    ("option", "belongs"),
    [
        (["--tune", "5"], "--tune belongs to the target cpu, not to toy"),
        (["--bench"], "--bench belongs to the target cpu, not to toy"),
        (["--threads", "2"], "--threads belongs to the target cpu, not to toy"),
        (["--report"], "--report belongs to the targets cuda and emulator, not to toy"),
        (["--tier", "ptx"], "--tier belongs to the target emulator, not to toy"),
        (["--float64"], "--float64 belongs to the target interpreter, not to toy"),
    ],
)
def test_bb_run_refuses_options_by_traits(
    program: Path, option: list[str], belongs: str, capsys: pytest.CaptureFixture[str]
):
    assert bb_run.main([str(program), "--target", "toy", "--random", "0", *option]) == 1
    assert capsys.readouterr().err == f"bb-run: error: {belongs}\n"


def test_unknown_targets_are_told_those_that_there_are(program: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(bb.InputError, match="for the targets cpu, cuda, emulator, toy, not for 'tpu'"):
        bb.compile(PROGRAM, target="tpu")
    with pytest.raises(bb.InputError, match=r"run on: interpreter, cpu, cuda, emulator, toy$"):
        bb.run(PROGRAM, [X], "tpu")
    assert names_of_targets() == ("interpreter", "cpu", "cuda", "emulator", "toy")
    assert bb_run.main([str(program), "--target", "tpu"]) == 1
    assert "programs run on: interpreter, cpu, cuda, emulator, toy" in capsys.readouterr().err


def test_targets_in_sentences():
    assert listed_targets(["cpu"]) == "the target cpu"
    assert listed_targets(["cpu", "cuda", "toy"]) == "the targets cpu, cuda and toy"
    assert targets_with(lambda target: target.has_cuda_kernels) == ("cuda", "emulator")


def test_a_target_may_have_a_pipeline_of_its_own(monkeypatch: pytest.MonkeyPatch):
    plain = replace(TARGETS["cpu"], name="plain", pipeline=PIPELINES["cpu-unfused"])
    monkeypatch.setitem(TARGETS, plain.name, plain)

    def source(**options: str) -> str:
        return source_of(bb.parse(TWICE), CompileOptions(**options)).source

    assert source(target="plain") == source(pipeline=PIPELINES["cpu-unfused"]) != source()


def test_what_compiles_for_cpus_waits_for_no_cuda():
    code = (
        "import sys, bb; from bb.runtime.executable.targets import TARGETS; assert 'cuda' in TARGETS\n"
        f"bb.compile({PROGRAM!r})\n"
        "print(sorted(name for name in sys.modules if name.startswith('bb.')\n"
        "  and ('cuda_' in name or 'emulat' in name or 'ptx' in name) and not name.endswith('_target')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_compile_names_its_parameters():
    parameters = inspect.signature(bb.compile).parameters
    assert set(parameters) == {"module", "dims", *CompileArguments.__annotations__}
    assert all(each.kind is each.KEYWORD_ONLY for name, each in parameters.items() if name != "module")
