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
        "%out: 160x96xf32, min ",
        "check %out: worst error ",
        "bound 1.0e-05 (f32): ok",
    ]
    places = [done.stdout.find(stage) for stage in stages]
    assert -1 not in places, dict(zip(stages, places, strict=True))
    assert places == sorted(places)
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
    assert "\x1b[1;34mblock.map\x1b[0m" in capsys.readouterr().out
