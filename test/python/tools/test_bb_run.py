"""``bb-run`` from the outside: inputs, outputs, checks and failures. Filecheck tests what it prints."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from bb.dialects.parsing import parse_module
from bb.lowering.pipelines import ALL_PASSES, PIPELINES, PassPipeline, register_pass
from bb.passes.text import output
from bb.runtime.checking.tolerances import BOUNDS, compare, narrowest_float
from bb.runtime.host.timing import interleaved
from bb.runtime.machine.limits import SIZES, MachineLimits, machine_limits
from bb.runtime.program.functions import public_functions
from bb.tools.bb_run import main
from example_programs import EXAMPLES, EXAMPLES_DIR, load
from xdsl.context import Context
from xdsl.dialects.arith import AddfOp, MulfOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

pytestmark = pytest.mark.long

SCALE = """func.func @scale(%x: tensor<?x4xf32>, %s: tensor<4xf32>) -> tensor<?x4xf32> {
  %y = array.elementwise (%a = %x, %b = %s) : tensor<?x4xf32>, tensor<4xf32> -> tensor<?x4xf32> {
    %0 = arith.mulf %a, %b : f32
    array.yield %0 : f32
  }
  func.return %y : tensor<?x4xf32>
}
"""
SAME = "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n  func.return %x : tensor<3xf32>\n}\n"


@dataclass
class Outcome:
    status: int
    output: str
    errors: str


BbRun = Callable[..., Outcome]


@pytest.fixture
def bb_run(capsys: pytest.CaptureFixture[str]) -> BbRun:
    def run(*arguments: object) -> Outcome:
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    path = tmp_path / "scale.mlir"
    path.write_text(SCALE)
    return path


def assert_one_message(outcome: Outcome, *parts: str):
    assert outcome.status == 1
    assert len(outcome.errors.splitlines()) == 1, outcome.errors
    for part in ("bb-run: error: ", *parts):
        assert part in outcome.errors


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_and_check(name: str, bb_run: BbRun):
    path = EXAMPLES_DIR / f"{name}.mlir"
    done = bb_run(path, "-p", "array-decompose,array-to-block", "--random", 0, "--check", "--block-size", 48)
    assert (done.status, done.errors) == (0, "")
    for entry in load(name)[1].REFERENCES:
        assert f"@{entry} on the interpreter" in done.output
    assert "loads (" in done.output


def test_inputs_and_outputs_are_npy_files(scale: Path, tmp_path: Path, bb_run: BbRun):
    x, s = np.arange(12, dtype=np.float64).reshape(3, 4), np.full(4, 2, np.int64)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "s.npy", s)
    inputs = ["--input", f"x={tmp_path}/x.npy", "--input", f"%s={tmp_path}/s.npy"]
    done = bb_run(scale, *inputs, "--output", tmp_path / "new" / "folder")
    assert done.status == 0
    found = np.load(tmp_path / "new" / "folder" / "scale.y.npy")
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, 2 * x)


def test_missing_inputs_are_made_and_known_extents_spread(tmp_path: Path, bb_run: BbRun):
    path = tmp_path / "sum.mlir"
    path.write_text(
        'func.func @f(%x: tensor<?xf32> {bb.dims = ["M"]}, %y: tensor<?xf32> {bb.dims = ["M"]})\n'
        "    -> tensor<?xf32> {\n"
        "  %z = array.elementwise (%a = %x, %b = %y) : tensor<?xf32>, tensor<?xf32> -> tensor<?xf32> {\n"
        "    %0 = arith.addf %a, %b : f32\n    array.yield %0 : f32\n  }\n"
        "  func.return %z : tensor<?xf32>\n}\n"
    )
    np.save(tmp_path / "x.npy", np.zeros(5))
    done = bb_run(path, "--input", f"x={tmp_path}/x.npy", "--random", 7, "--output", tmp_path)
    assert done.status == 0, done.errors
    wanted = np.random.default_rng([7, 1]).standard_normal(5).astype(np.float32)
    np.testing.assert_array_equal(np.load(tmp_path / "f.z.npy"), wanted)


def test_bfloat16_files(tmp_path: Path, bb_run: BbRun):
    path = tmp_path / "same.mlir"
    path.write_text(SAME.replace("f32", "bf16"))
    x = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
    np.save(tmp_path / "raw.npy", x)
    np.save(tmp_path / "wide.npy", x.astype(np.float32))
    for name in ("raw", "wide"):
        assert bb_run(path, "--input", f"x={tmp_path}/{name}.npy", "--output", tmp_path).status == 0
        found = np.load(tmp_path / "f.x.npy")
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, x.astype(np.float32))


def test_odd_names_make_safe_files(tmp_path: Path, bb_run: BbRun):
    path = tmp_path / "odd.mlir"
    path.write_text(SAME.replace("@f", '@"../odd name"'))
    assert bb_run(path, "--random", 0, "--output", tmp_path / "out").status == 0
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["..%2Fodd%20name.x.npy"]


def test_failed_write_keeps_the_existing_file(
    scale: Path, tmp_path: Path, bb_run: BbRun, monkeypatch: pytest.MonkeyPatch
):
    old = tmp_path / "scale.y.npy"
    old.write_bytes(b"old")

    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(output.os, "replace", full)
    done = bb_run(scale, "--random", 0, "--extent", "x.0=2", "--output", tmp_path)
    assert_one_message(done, "cannot write", "scale.y.npy': no space left on device")
    assert old.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["scale.mlir", "scale.y.npy"]


def test_output_that_is_no_folder(scale: Path, bb_run: BbRun):
    done = bb_run(scale, "--random", 0, "--extent", "x.0=2", "--output", scale)
    assert_one_message(done, f"cannot make the folder '{scale}'")


def save_bad_files(folder: Path) -> None:
    np.save(folder / "shape.npy", np.ones((3, 5)))
    np.save(folder / "complex.npy", np.ones((3, 4), complex))
    np.save(folder / "objects.npy", np.array([{}]), allow_pickle=True)
    with open(folder / "several.npy", "wb") as file:
        np.savez(file, a=np.ones(3))
    (folder / "text.npy").write_text("1 2 3")
    (folder / "cut.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{")
    good = folder / "long.npy"
    np.save(good, np.ones((3, 4)))
    # A header that promises far more than there is.
    good.write_bytes(good.read_bytes().replace(b"(3, 4), }      ", b"(3000000000, 4), }"[:15]))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shape", "argument %x of 'scale' has shape [3, 5], expected [?, 4]"),
        ("complex", "argument %x of 'scale' has dtype complex128, expected numbers"),
        ("objects", "holds no array that can be read"),
        ("several", "is no .npy file"),
        ("text", "is no .npy file"),
        ("cut", "holds no array that can be read"),
        ("long", "holds no array that can be read"),
        ("absent", "no such file or directory"),
    ],
)
def test_bad_input_files(name: str, message: str, scale: Path, tmp_path: Path, bb_run: BbRun):
    save_bad_files(tmp_path)
    done = bb_run(scale, "--random", 0, "--input", f"x={tmp_path}/{name}.npy")
    assert_one_message(done, message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "'scale' needs arrays for x, s"),
        (["--random", "x"], "argument --random: takes an integer from 0, 'hard' or 'hard:SEED', not 'x'"),
        (["--random", "0"], "axis 0 of argument %x of 'scale' has an unknown extent; give it as x.0"),
        (["--random", "0", "--extent", "x.0=99999999999999"], "is too large for the memory"),
        (
            ["--random", "0", "--extent", "x.0=9" + "9" * 30],
            "a positive integer of at most 18 digits",
        ),
        (["--extent", "x.0=2", "--extent", "x.0=3"], "--extent: 'x.0' is given twice"),
        (["--input", "x=a.npy", "--input", "x=b.npy"], "--input: 'x' is given twice"),
        (["--block-size", "0"], "argument --block-size: takes a positive integer, not '0'"),
        (["--target", "tpu"], "target 'tpu' is unknown; programs run on: interpreter, cpu, cuda, emulator"),
        (["--target", "cpu", "--tier", "ptx"], "--tier belongs to the target emulator, not to cpu"),
        (["--target", "cpu", "--report"], "--report belongs to the targets cuda and emulator, not to cpu"),
        (["--target", "cuda", "--report", "--source"], "ask for one"),
        (["--target", "cuda", "--report", "--check"], "--check has no meaning with it"),
        (["--target", "emulator", "--bench"], "--bench belongs to the target cpu, not to emulator"),
        (["--target", "cuda", "--arch", "sm_70"], "invalid choice: 'sm_70'"),
        (["--max-input-size", "1", "--bogus"], "unrecognized arguments: --bogus"),
        (["-p", "cse{"], "bad pipeline"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str, scale: Path, bb_run: BbRun):
    assert_one_message(bb_run(scale, *arguments), message)


def test_empty_program(tmp_path: Path, bb_run: BbRun):
    path = tmp_path / "empty.mlir"
    path.write_text("")
    assert_one_message(bb_run(path), f"'{path}' has no public function to run")


def test_extents_that_contradict_each_other_have_a_place(tmp_path: Path, bb_run: BbRun):
    path = tmp_path / "add.mlir"
    path.write_text(SCALE.replace("tensor<4xf32>", "tensor<?x4xf32>"))
    done = bb_run(path, "--random", 0, "--extent", "x.0=2", "--extent", "s.0=3")
    assert done.status == 1
    assert done.errors.startswith(f"{path}:2:8: error: 'array.elementwise'")
    assert done.errors.splitlines()[1:3] == [
        SCALE.splitlines()[1].replace("tensor<4xf32>", "tensor<?x4xf32>"),
        "       ^",
    ]


class BreakPass(ModulePass):
    """A wrong pass: products become sums."""

    name = "test-break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, MulfOp):
                Rewriter.replace_op(inner, AddfOp(inner.lhs, inner.rhs))


def test_check_finds_a_wrong_pass(scale: Path, tmp_path: Path, bb_run: BbRun):
    register_pass(BreakPass)
    try:
        arguments = ["--random", 0, "--extent", "x.0=5", "-p", "test-break", "--output", tmp_path]
        assert bb_run(scale, *arguments).status == 0
        done = bb_run(scale, *arguments, "--check")
    finally:
        del ALL_PASSES["test-break"]
    assert "bound 1.0e-05 (f32): OUTSIDE" in done.output
    assert_one_message(
        done, "result %y of @scale is further from the float64 reference than its bound allows"
    )


def test_bugs_are_one_sentence(scale: Path, bb_run: BbRun, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BB_DEBUG", raising=False)

    def broken(*arguments: object, **options: object) -> None:
        raise KeyError("key")

    monkeypatch.setattr("bb.tools.bb_run.interpret", broken)
    done = bb_run(scale, "--random", 0, "--extent", "x.0=2")
    assert_one_message(
        done, "internal error: KeyError: 'key' (this is a bug of bb-run; BB_DEBUG=1 shows the traceback)"
    )


def test_closed_pipe_and_module_entry(scale: Path):
    command = f"{sys.executable} -m bb.tools.bb_run {scale} --random 0 --extent x.0=2 > /dev/full"
    environment = {name: value for name, value in os.environ.items() if name != "BB_DEBUG"}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    assert done.stderr == "bb-run: error: cannot write to standard output: no space left on device\n"


# On the CPU


def test_cpu(scale: Path, tmp_path: Path, bb_run: BbRun):
    arguments = [scale, "--target", "cpu", "--random", 0, "--extent", "x.0=5", "--threads", 1]
    done = bb_run(*arguments, "--check", "--output", tmp_path)
    assert (done.status, done.errors) == (0, "")
    first, result, check = done.output.splitlines()
    assert first == "@scale on the cpu, 1 thread"
    assert result.startswith("  %y: 5x4xf32, min ")
    assert check.startswith("  check %y: worst error ")
    assert check.endswith(" relative, bound 1.0e-05 (f32): ok")
    expected = bb_run(scale, "--random", 0, "--extent", "x.0=5", "--output", tmp_path / "interpreted")
    assert expected.status == 0
    np.testing.assert_array_equal(
        np.load(tmp_path / "scale.y.npy"), np.load(tmp_path / "interpreted" / "scale.y.npy")
    )


def test_cpu_with_passes_of_the_users_own(scale: Path, bb_run: BbRun):
    register_pass(BreakPass)
    passes = "test-break,array-decompose,array-to-block,block-shapes{M=8},block-to-kernel"
    try:
        arguments = ["--target", "cpu", "--random", 0, "--extent", "x.0=5", "-p", passes, "--check"]
        done = bb_run(scale, *arguments)
    finally:
        del ALL_PASSES["test-break"]
    assert "bound 1.0e-05 (f32): OUTSIDE" in done.output
    assert_one_message(
        done, "result %y of @scale is further from the float64 reference than its bound allows"
    )


def test_cpu_check_needs_a_program_that_the_interpreter_runs(scale: Path, tmp_path: Path, bb_run: BbRun):
    kernels = tmp_path / "kernels.mlir"
    module = PassPipeline(PIPELINES["cpu"]).run(parse_module(scale.read_text()))
    kernels.write_text(str(module))
    arguments = [kernels, "--target", "cpu", "--random", 0, "--extent", "x.0=5"]
    assert bb_run(*arguments).status == 0
    assert_one_message(
        bb_run(*arguments, "--check"),
        "--check runs the program as given on the interpreter, which runs no kernels",
    )


@pytest.mark.parametrize("name", ["softmax", "lora"])
def test_bench(name: str, bb_run: BbRun, monkeypatch: pytest.MonkeyPatch):
    limits = MachineLimits(2, 1e9, 5e8, ((2**20, 4e9), (2**28, 1e9)))
    monkeypatch.setattr("bb.tools.run.compiled.machine_limits", lambda *_: limits)
    monkeypatch.setattr("bb.runtime.host.timing.LEAST_SECONDS", 0.0)
    done = bb_run(EXAMPLES_DIR / f"{name}.mlir", "--target", "cpu", "--random", 0, "--bench")
    assert (done.status, done.errors) == (0, "")
    *_, bench, floor = done.output.splitlines()
    rates = r"[\d.e+-]+ GB/s" if name == "softmax" else r"[\d.e+-]+ GFLOP/s, [\d.e+-]+ GB/s"
    assert re.fullmatch(rf"  bench: [\d.]+ ms \(median of 2\d runs\), {rates}", bench)
    why = "0.1152 MB at 4 GB/s" if name == "softmax" else r"[\d.]+ GFLOP at 1 GFLOP/s"
    assert re.fullmatch(rf"  floor: [\d.]+ ms \({why}\), which is [\d.e+]+% of the median", floor)


def test_bench_of_a_program_without_kernels(tmp_path: Path, bb_run: BbRun, monkeypatch: pytest.MonkeyPatch):
    limits = MachineLimits(2, 1e9, 5e8, ((2**20, 4e9),))
    monkeypatch.setattr("bb.tools.run.compiled.machine_limits", lambda *_: limits)
    monkeypatch.setattr("bb.runtime.host.timing.LEAST_SECONDS", 0.0)
    program = tmp_path / "iota.mlir"
    program.write_text(
        "func.func @f() -> tensor<4xi64> {\n  %i = array.iota axis 0 : tensor<4xi64>\n"
        "  func.return %i : tensor<4xi64>\n}\n"
    )
    done = bb_run(program, "--target", "cpu", "--bench", "--check", "--random", 0)
    assert (done.status, done.errors) == (0, "")
    assert "must be equal: ok" in done.output


def test_bench_lets_functions_take_turns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bb.runtime.host.timing.LEAST_SECONDS", 0.1)
    order: list[str] = []
    times = interleaved([lambda: order.append("a"), lambda: (order.append("b"), time.sleep(0.03))])
    assert order[:4] == ["a", "a", "b", "b"]
    assert order[4:10] == ["a", "b"] * 3
    assert len(times[1]) >= 17
    assert all(second >= 0.03 for second in times[1])


def test_floor():
    limits = MachineLimits(2, 1e9, 5e8, ((2**20, 4e9), (2**28, 1e9)))
    assert limits.floor(3_000_000_000, 1000) == 3
    assert limits.floor(3_000_000_000, 1000, double=True) == 6
    assert limits.floor(0, 2**20) == 2**20 / 4e9
    assert limits.floor(0, 2**21) == 2**21 / 1e9
    assert limits.floor(0, 2**30) == 2**30 / 1e9


def test_limits_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BB_CACHE_DIR", str(tmp_path))
    machine_limits.cache_clear()
    found = machine_limits(1)
    assert found.peak_float > 1.2 * found.peak_double > 0
    assert len(found.bandwidths) == len(SIZES)
    (kept,) = (tmp_path / "limits").iterdir()
    monkeypatch.setattr("bb.runtime.machine.limits.compile_shared_object", None)
    machine_limits.cache_clear()
    assert machine_limits(1) == found
    for text in ("{}", "no JSON", '{"peak_float": 1, "peak_double": 1, "bandwidths": []}'):
        kept.write_text(text)
        machine_limits.cache_clear()
        with pytest.raises(TypeError):  # it wants to measure again
            machine_limits(1)
    machine_limits.cache_clear()


def test_cache_that_cannot_be_used_is_a_warning(
    scale: Path, tmp_path: Path, bb_run: BbRun, monkeypatch: pytest.MonkeyPatch
):
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    monkeypatch.setenv("BB_CACHE_DIR", str(blocked))
    done = bb_run(scale, "--target", "cpu", "--random", 0, "--extent", "x.0=5")
    assert done.status == 0
    assert done.errors.startswith(f"bb-run: warning: the cache directory {blocked} cannot be made")
    assert done.errors.count("\n") == 1


# The comparison


@pytest.mark.parametrize(
    ("result", "reference", "absolute", "relative", "within"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0, 0, True),
        ([1.0, 2.1], [1.0, 2.0], 0.1, 0.05, False),
        ([1e-9], [0.0], 1e-9, 1e-9, True),
        ([np.nan, 2.0], [np.nan, 2.0], 0, 0, True),
        ([np.inf], [np.inf], 0, 0, True),
        ([-np.inf], [np.inf], np.inf, np.inf, False),
        ([np.nan], [1.0], np.inf, np.inf, False),
        ([1.0], [np.nan], np.inf, np.inf, False),
        ([1.0], [1.0, 2.0], np.inf, np.inf, False),
    ],
)
def test_compare(result: list[float], reference: list[float], absolute: float, relative: float, within: bool):
    found = compare(np.array(result), np.array(reference), 1e-5)
    assert found.absolute == pytest.approx(absolute)
    assert found.relative == pytest.approx(relative)
    assert found.within is within


def test_integers_must_be_equal():
    big = np.array([2**60], np.int64)
    assert compare(big, big, 1.0).within
    assert not compare(big + 1, big, 1.0).within
    assert not compare(np.array([True]), np.array([False]), 1.0).within


def test_bound_is_that_of_the_narrowest_type():
    text = (
        "func.func @f(%x: tensor<4xbf16>) -> tensor<4xf32> {\n"
        "  %y = array.elementwise (%a = %x) : tensor<4xbf16> -> tensor<4xf32> {\n"
        "    %0 = arith.extf %a : bf16 to f32\n    array.yield %0 : f32\n  }\n"
        "  func.return %y : tensor<4xf32>\n}"
    )
    for inside, narrowest in (("bf16", "bf16"), ("f16", "f16"), ("f32", "f32")):
        program = SCALE if inside == "f32" else text.replace("bf16", inside)
        (function,) = public_functions(parse_module(program))
        assert narrowest_float(function) == narrowest
    assert narrowest_float(function, tf32=True) == "tf32"
    assert list(BOUNDS) == ["f64", "f32", "tf32", "f16", "bf16"]
    assert sorted(BOUNDS.values()) == list(BOUNDS.values())
