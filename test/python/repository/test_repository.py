"""House rules that a machine can check."""

import re
import subprocess
from pathlib import Path

import pytest
from paths import ROOT

SKIPPED = {
    ".git",
    ".venv",
    "__pycache__",
    "lit-out",
    "build",
    "dist",
    ".hypothesis",
    ".ruff_cache",
    ".pytest_cache",
}
LONGEST_FILE = 600

# Spelt in parts, so that this file does not hold what it forbids.
MACHINE_PATH = re.compile("(?:^|[^A-Za-z0-9_.])" + "/(?:work|farm|root|home|tmp|Users)" + "/[A-Za-z]")


def repository_files() -> list[Path]:
    """Files that git knows or would add; without git (an unpacked archive) all but those that builds make."""
    git = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if git.returncode == 0:
        return [ROOT / name for name in git.stdout.split("\0") if name and (ROOT / name).is_file()]
    found = (path for path in ROOT.rglob("*") if path.is_file())
    return [path for path in found if SKIPPED.isdisjoint(path.relative_to(ROOT).parts)]


FILES = repository_files()


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".py"], ids=shown)
def test_files_stay_short(path: Path):
    assert path.read_text().count("\n") <= LONGEST_FILE


def test_no_file_names_a_path_of_somebodys_machine():
    hits: list[str] = []
    for path in FILES:
        text = path.read_bytes().decode(errors="ignore")
        hits += [f"{shown(path)}: {line.strip()}" for line in text.splitlines() if MACHINE_PATH.search(line)]
    assert not hits


def test_the_root_holds_no_file_that_somebody_left_there():
    known = {"__init__.py", "py.typed", "pyproject.toml", "Makefile", "LICENSE"}
    at_root = {path.name for path in FILES if path.parent == ROOT}
    assert {name for name in at_root - known if not name.endswith(".md") and name[0] != "."} == set()


def test_licence_is_apache_with_the_llvm_exception():
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License\n" in text
    assert "END OF TERMS AND CONDITIONS" in text
    assert "---- LLVM Exceptions to the Apache 2.0 License ----" in text
