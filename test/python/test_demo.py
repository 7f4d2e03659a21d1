"""``make demo``: every stage of attention, from any directory."""

import subprocess
import sys
from pathlib import Path

import pytest
from bb.tools import demo


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
    assert demo.main() == 0
    shown = capsys.readouterr().out
    assert "\x1b[1;34mblock.map\x1b[0m" in shown
    assert "\x1b[1;34mforall\x1b[0m" in shown
