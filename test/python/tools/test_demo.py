"""``make demo``: every stage of attention, from any directory."""

import re
import subprocess
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from bb.tools.demo import __main__ as demo
from bb.tools.demo import cpu as demo_cpu
from bb.tools.docs.small_examples import example_module
from rich.console import Console

pytestmark = pytest.mark.long


def test_demo_from_another_directory(tmp_path: Path):
    command = [sys.executable, "-m", "bb.tools.demo"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    stages = [
        "%out = array.attention %q, %k, %v",
        "%Scores = block.map @M (",
        "%out_4 = block.assemble",
        "traffic of @attention: M = 160, N = 192, K = 64, L = 96",
        "total",
        "To snapshot 0, by the laws alone:",
        "exp-of-shift               shift out of exp: %exp at [M][N]",
        "To snapshot 1, the extension: extend the map over N into L",
        "The fused program",
        "store out[m, l] = row_scale(out, 1 / total)",
        "unfused  8 nests, 11 intermediate lists; 171 loads and 102 stores move 2.78 MB",
        "fused    1 nest, 0 intermediate lists; 54 loads and 6 stores move 823 kB",
        "%out: 160x96xf32, min ",
        "54 loads (761,856 bytes), 6 stores (61,440 bytes)",
        "check %out: worst error ",
        "bound 1.0e-05 (f32): ok",
        "Compiled for this machine",
        "rmsnorm_ffn_swiglu: M = 512, D = 1024, F = 2816",
        "kernels ",
        " 1 / 8 ",
        "\nMedians in float32 with ",
    ]
    place = 0
    for stage in stages:
        place = done.stdout.find(stage, place)
        assert place >= 0, f"{stage!r} is missing, or comes too early"
    assert "\x1b[" not in done.stdout


def test_demo_without_the_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(demo, "EXAMPLE", tmp_path / "attention.mlir")
    assert demo.main() == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("demo: error: there is no examples/attention.mlir")
    assert captured.err.count("\n") == 1


def test_demo_in_colour(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert demo.main() == 0
    shown = capsys.readouterr().out
    assert "\x1b[1;34mblock.map\x1b[0m" in shown
    assert "\x1b[1;34mforall\x1b[0m" in shown


SMALL = [
    demo_cpu.Workload("attention", {"M": 20, "N": 24, "D": 16, "L": 8}, demo_cpu.attention, heads=2),
    demo_cpu.Workload("layernorm_matmul", {"M": 20, "K": 16, "N": 12}, demo_cpu.layernorm_matmul),
    demo_cpu.Workload("rmsnorm_ffn_swiglu", {"M": 20, "D": 16, "F": 24}, demo_cpu.rmsnorm_ffn_swiglu),
]


def test_workloads_agree_with_the_examples():
    for workload in SMALL:
        inputs = [array.astype(np.float64) for array in workload.inputs()]
        reference = example_module(workload.name).REFERENCES[workload.name]
        found = workload.numpy(*inputs)
        if workload.heads is None:
            np.testing.assert_allclose(found, reference(*inputs), rtol=1e-12)
        else:
            each = [reference(*arrays) for arrays in zip(*inputs, strict=True)]
            np.testing.assert_allclose(found, each, rtol=1e-12)


def test_a_wrong_result_fails(monkeypatch: pytest.MonkeyPatch):
    console = Console(file=StringIO(), width=100)
    wrong = replace(SMALL[1], numpy=lambda *arrays: demo_cpu.layernorm_matmul(*arrays) + 1)
    assert demo_cpu.show(console, [SMALL[0], wrong]) == 1
    shown = console.file.getvalue()
    assert "layernorm_matmul is further from float64 than its bound allows" in shown
    assert "attention is further" not in shown
    assert re.search(r"attention +1 / 8 +[\d.e+-]+ ms +[\d.e+-]+ ms \([\d.]+x\) ", shown)


def test_demo_without_a_compiler(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert demo.main() == 0
    shown = capsys.readouterr().out
    assert "bound 1.0e-05 (f32): ok" in shown
    assert shown.rstrip().endswith(
        "Programs cannot be compiled for the CPU here: CXX is 'no-such-compiler', but there is no program "
        "'no-such-compiler' that can be run."
    )
