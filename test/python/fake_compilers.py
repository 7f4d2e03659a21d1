"""Shell scripts that stand in for a C++ compiler: they write down how they were called, then do as told."""

import shutil
from pathlib import Path

import pytest

REAL = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++") or ""
needs_compiler = pytest.mark.skipif(not REAL, reason="needs a C++ compiler")


def fake_compiler(folder: Path, before: str = "", name: str = "c++") -> Path:
    """A compiler that runs shell lines and then the real one; `calls` beside it has a line for each call.

    In the lines, `$kind` is `version`, `probe`, or `compile`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(
        f"""#!/bin/sh
kind=compile
for word in "$@"; do
  case "$word" in
    --version) kind=version ;;
    probe.cpp) kind=probe ;;
  esac
done
echo "$kind $*" >> "{folder}/calls"
{before}
exec "{REAL}" "$@"
"""
    )
    path.chmod(0o755)
    return path


def calls(folder: Path, kind: str = "compile") -> list[str]:
    """The calls of one kind so far."""
    path = folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    return [line for line in lines if line.startswith(f"{kind} ")]
