"""The benchmarks run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from paths import ROOT

BENCH = ROOT / "bench"


def test_fusion_speed(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    command = [sys.executable, str(BENCH / "fusion_speed.py"), "--quick", "--json", str(file)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    rows = json.loads(file.read_text())
    assert [row["array_ops"] for row in rows] == [56, 56, 112, 11, 22, 44]
    assert all(row["seconds"] > 0 for row in rows)
    assert all(row["what"] in run.stdout for row in rows)
