"""Compilations for tests, and shell scripts that stand in for a compiler and note how they were called."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bb.runtime.compilation.shared_objects import compile_shared_object, load_shared_object

ADD = 'extern "C" __attribute__((visibility("default"))) int add(int a, int b) { return a + b; }\n'
OLD = 1_000_000_000
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


def build(source: str = ADD, **options: Any) -> Path:
    return compile_shared_object(source, name=options.pop("name", "add"), **options)


def works(path: Path) -> bool:
    return load_shared_object(path).add(2, 3) == 5


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def age(path: Path, seconds_after_old: int) -> None:
    os.utime(path, (OLD + seconds_after_old, OLD + seconds_after_old))
