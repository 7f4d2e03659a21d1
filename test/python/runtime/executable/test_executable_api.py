"""Properties of what `bb.compile` returns: source, traffic, trace; and the arguments it takes and refuses."""

import pickle
from pathlib import Path

import bb
import numpy as np
import pytest
from bb.lowering.pipelines import PIPELINES, split_after
from bb.lowering.pipelines.levels import remaining_passes
from bb.passes.analysis.traffic.report import traffic_of_module
from bb.passes.fusion.trace.explain import explain
from bb.runtime.compilation.directory import DIRECTORY_VARIABLE
from bb.runtime.compilation.errors import HostCompilerError
from bb.runtime.compilation.host_compiler import HostCompiler
from bb.tools.bb_run import main as bb_run
from numpy.typing import NDArray

pytestmark = pytest.mark.long

SOFTMAX = """func.func @softmax(%x: tensor<30x20xf32>) -> tensor<30x20xf32> {
  %y = array.softmax %x axis 1 : tensor<30x20xf32>
  func.return %y : tensor<30x20xf32>
}
"""
TWO = """func.func @double(%x: tensor<7xf32>) -> tensor<7xf32> {
  %y = array.elementwise (%a = %x) : tensor<7xf32> -> tensor<7xf32> {
    %0 = arith.addf %a, %a : f32
    array.yield %0 : f32
  }
  func.return %y : tensor<7xf32>
}
func.func @same(%x: tensor<7xf32>) -> tensor<7xf32> {
  func.return %x : tensor<7xf32>
}
"""
X = np.random.default_rng(0).standard_normal((30, 20)).astype(np.float32)


def softmax(x: NDArray[np.float32]) -> NDArray[np.float64]:
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def compiled() -> bb.Executable:
    return bb.compile(SOFTMAX)


def test_results(compiled: bb.Executable):
    assert isinstance(compiled, bb.Executable)
    assert compiled.argument_names == ["x"]
    np.testing.assert_allclose(compiled(X), softmax(X), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(compiled(x=X, threads=1), compiled(X))
    np.testing.assert_array_equal(bb.run(SOFTMAX, [X], target="cpu"), compiled(X))
    out = np.empty_like(X)
    assert np.shares_memory(compiled(X, out=out), out)


def test_source_is_that_of_its_kernels(compiled: bb.Executable):
    assert compiled.source.count("// kernel ") == 1
    assert "// kernel softmax_kernel1\n" in compiled.source


def test_traffic_is_that_of_the_fused_program(compiled: bb.Executable):
    blocks, _ = split_after(bb.PassPipeline(PIPELINES["cpu"]).passes, "block-fuse-elementwise")
    (wanted,) = traffic_of_module(bb.PassPipeline(blocks).run(bb.parse(SOFTMAX)))
    traffic = compiled.traffic
    assert traffic is not None
    assert traffic.total == wanted.total
    assert dict(traffic.dims) == dict(wanted.dims)
    assert len(traffic.nests) == 1
    assert traffic.number(traffic.total.bytes_loaded) == X.nbytes
    assert traffic.number(traffic.total.bytes_stored) == X.nbytes
    assert str(traffic).startswith("traffic of @softmax: M = 30 in blocks of 64, N = 20 (whole)\n")
    unfused = bb.compile(SOFTMAX, pipeline=PIPELINES["cpu-unfused"])
    assert unfused.traffic is not None
    assert len(unfused.traffic.nests) == 5


def test_trace_tells_of_the_fusion(compiled: bb.Executable):
    assert {record["function"] for record in compiled.trace} == {"softmax"}
    assert compiled.trace[0]["event"] == "program"
    assert {"fired", "snapshot"} <= {record["event"] for record in compiled.trace}
    assert explain(list(compiled.trace), programs=False).startswith("@softmax: 5 nests")
    assert bb.compile(SOFTMAX, pipeline=PIPELINES["cpu-unfused"]).trace == ()


def test_traffic_and_trace_are_of_one_function():
    executable = bb.compile(TWO, entry="double")
    np.testing.assert_array_equal(executable(np.ones(7, np.float32)), np.full(7, 2, np.float32))
    assert executable.traffic is not None
    assert executable.traffic.name == "double"
    same = bb.compile(TWO, entry="same")
    assert same.traffic is None
    assert "fired" not in {record["event"] for record in same.trace}
    assert same(np.ones(7, np.float32)).sum() == 7


@pytest.mark.parametrize(
    "stage", ["array-to-block", "block-fuse", "block-stabilize", "kernel-pack-constants"]
)
def test_programs_of_every_level(stage: str, compiled: bb.Executable):
    passes, rest = split_after(bb.PassPipeline(PIPELINES["cpu"]).passes, stage)
    module = bb.PassPipeline(passes).run(bb.parse(SOFTMAX))
    assert len(remaining_passes(module, bb.PassPipeline(PIPELINES["cpu"]).passes)) >= len(rest)
    executable = bb.compile(str(module))
    np.testing.assert_array_equal(executable(X), compiled(X))
    assert (executable.traffic is None) is (stage == "kernel-pack-constants")


def test_pickled(compiled: bb.Executable):
    again = pickle.loads(pickle.dumps(compiled))
    np.testing.assert_array_equal(again(X), compiled(X))
    assert str(again.traffic) == str(compiled.traffic)
    assert len(again.trace) == len(compiled.trace)


@pytest.mark.parametrize(
    ("passes", "missing"),
    [
        ("", "a program on arrays, but the target cpu runs kernels: array-to-block, block-shapes and"),
        (
            "array-decompose,array-to-block",
            "a program on blocks, but the target cpu runs kernels: block-shapes",
        ),
        ("array-decompose,array-to-block,block-shapes", "kernels: block-to-kernel is missing at the end"),
    ],
)
def test_passes_that_end_too_early(passes: str, missing: str):
    with pytest.raises(bb.PipelineError) as error:
        bb.compile(SOFTMAX, pipeline=passes)
    assert missing in str(error.value)


def test_nothing_to_compute_needs_no_kernel():
    """A program that array-to-block leaves on arrays, beside one that it does not, after passes on blocks."""
    module = bb.parse(NOTHING)
    bb.PassPipeline("array-decompose,array-to-block").run(module)
    turned = bb.compile(module, entry="turned", pipeline="block-shapes,block-fuse,block-to-kernel")
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(turned(x), x)
    assert not np.shares_memory(turned(x), x)


NOTHING = """func.func @turned(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = array.transpose %x perm [0, 1] : tensor<3x4xf32> -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
func.func @computed(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = array.relu %x : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}
"""


def test_refusals():
    with pytest.raises(bb.InputError, match="for the targets cpu, cuda, emulator, not for 'tpu'"):
        bb.compile(SOFTMAX, target="tpu")
    with pytest.raises(bb.InputError, match="there is no function 'f'"):
        bb.compile(SOFTMAX, entry="f")
    with pytest.raises(bb.InputError, match="there are 2 public functions"):
        bb.compile(TWO)
    with pytest.raises(bb.InputError, match="not in float64"):
        bb.run(SOFTMAX, [X], target="cpu", float64=True)
    with pytest.raises(bb.InputError, match=r"block-shapes\{M=64\}"):
        bb.run(SOFTMAX, [X], target="cpu", block_sizes={"M": 8})
    with pytest.raises(bb.InputError, match=r"block-shapes\{M=64\}"):
        bb.run(SOFTMAX, [X], target="cpu", default_block_size=8)


def test_no_compiler(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(bb.HostCompilerError, match="there is no program 'no-such-compiler' that can be run"):
        bb.compile(SOFTMAX)


def test_a_moved_program_is_not_compiled_again(tmp_path: Path, compiled: bb.Executable):
    path = tmp_path / "moved.mlir"
    path.write_text("// One line further down.\n\n" + SOFTMAX)
    moved = bb.compile(path)
    assert moved.source != compiled.source
    assert moved.library.path == compiled.library.path


def test_a_source_that_does_not_compile_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "cache"))
    flags = HostCompiler.compile_flags
    monkeypatch.setattr(
        HostCompiler, "compile_flags", lambda self, sanitize=(): (*flags(self, sanitize), "-DNn=+")
    )
    program = tmp_path / "softmax.mlir"
    program.write_text(SOFTMAX)
    assert bb_run([str(program), "--target", "cpu", "--random", "0"]) == 1
    captured = capsys.readouterr()
    (kept,) = (tmp_path / "cache" / "failed").iterdir()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("bb-run: error: ")
    assert "the C++ generated for 'program' does not compile" in captured.err
    assert captured.err.endswith(f"; its source is kept in {kept}\n")
    assert "// kernel softmax_kernel1" in kept.read_text()
    with pytest.raises(HostCompilerError):
        bb.compile(program)
