"""The lit format of the filecheck tests: what it runs itself, and which misspellings it reports."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from paths import FILECHECK


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("forking_format", FILECHECK / "forking_format.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


forking_format = load()


@pytest.mark.parametrize(
    ("line", "tools"),
    [
        ("bb-opt a.mlir | filecheck a.mlir", [["bb-opt", "filecheck"]]),
        ("not bb-opt a.mlir 2>&1 | filecheck a.mlir", [["bb-opt", "filecheck"]]),
        ("bb-opt a -o b && bb-opt b > c && filecheck a < c", [["bb-opt"], ["bb-opt"], ["filecheck"]]),
        ("bb-opt 'a b' 2> errors", [["bb-opt"]]),
        ("bb-opt a -p 'x{y=1 z=\"q\"}' | filecheck a", [["bb-opt", "filecheck"]]),
        ("bb-opt a || true", None),
        ("cat a | bb-opt", None),
        ("bb-opt a; bb-opt b", None),
        ("bb-opt $HOME", None),
        ("env X=1 bb-opt a", None),
        ("bb-opt a >> b", None),
        ("bb-opt 'unfinished", None),
    ],
)
def test_lines_that_run_in_a_fork(line: str, tools: list[list[str]] | None):
    plan = forking_format.parse_line(line)
    assert (plan and [[command.argv[0] for command in pipeline] for pipeline in plan]) == tools


@pytest.mark.parametrize(
    ("line", "reported"),
    [
        ("// CHECK: a", False),
        ("// CHECK-NEXT: a", False),
        ("// CHECK-COUNT-3: a", False),
        ("// CHECK{LITERAL}: a", False),
        ("// OTHER-DAG: a", False),
        ("// A comment: with a colon", False),
        ("// GQA: sixteen heads", False),
        ("// NOTE: something", False),
        ("// CHECK-NXT: a", True),
        ("// CHECK_NEXT: a", True),
        ("// CHCEK: a", True),
        ("// CHECK a", True),
        ("// CHECK-NEXT a", True),
        ("// OTHER-NEX: a", True),
    ],
)
def test_misspelt_directives(line: str, reported: bool):
    text = f"// RUN: bb-opt %s | filecheck %s --check-prefixes=CHECK,OTHER\n{line}\n"
    assert bool(forking_format.misspelt_directives(text)) is reported


PROGRAM = "func.func @f() {\n  func.return\n}\n"
CASES = {
    "passes": ("// RUN: bb-opt %s | filecheck %s\n// CHECK: func.func @f\n", "PASS"),
    "fails": ("// RUN: bb-opt %s | filecheck %s\n// CHECK: func.func @g\n", "FAIL"),
    "first-command-fails": (
        "// RUN: bb-opt %s -p nope | filecheck %s --allow-empty\n// CHECK-NOT: x\n",
        "FAIL",
    ),
    "not-inverts": ("// RUN: not bb-opt %s -p nope\n", "PASS"),
    "not-of-success": ("// RUN: not bb-opt %s\n", "FAIL"),
    "streams-are-apart": (
        "// RUN: not bb-opt %s -p nope | filecheck %s --allow-empty\n// CHECK-NOT: error\n",
        "PASS",
    ),
    "streams-join": (
        "// RUN: not bb-opt %s -p nope 2>&1 | filecheck %s\n// CHECK: error: there is no pass\n",
        "PASS",
    ),
    "expected-failure": ("// XFAIL: *\n// RUN: bb-opt %s -p nope\n", "XFAIL"),
    "shell": ("// RUN: cat %s | bb-opt | filecheck %s\n// CHECK: func.func @f\n", "PASS"),
    "misspelt": ("// RUN: bb-opt %s | filecheck %s\n// CHECK: func\n// CHECK-NXT: nothing\n", "FAIL"),
}


@pytest.mark.parametrize("processes", [0, 1], ids=["forks", "processes"])
def test_results(tmp_path: Path, processes: int):
    for name in ("lit.cfg.py", "forking_format.py"):
        (tmp_path / name).write_text((FILECHECK / name).read_text())
    for name, (head, _) in CASES.items():
        (tmp_path / f"{name}.mlir").write_text(head + PROGRAM)
    command = [
        sys.executable,
        "-c",
        "from lit.main import main; main()",
        "-v",
        "-j1",
        f"--param=processes={processes}",
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIT_")}
    done = subprocess.run([*command, tmp_path], capture_output=True, text=True, env=environment, check=False)
    results: dict[str, str] = {}
    for line in done.stdout.splitlines():
        code, _, rest = line.partition(": bb :: ")
        if rest:
            results[rest.split(".mlir")[0]] = code
    assert results == {name: code for name, (_, code) in CASES.items()}, done.stdout
