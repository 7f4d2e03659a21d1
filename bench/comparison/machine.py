"""The machine, the versions and the commit of a measurement, as a record holds them."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bb.runtime.compilation.host_compiler import find_compiler
from bb.runtime.host.processor import describe_processor
from bb.runtime.host.threads import usable_cpus

from .contenders import CONTENDERS

ROOT = Path(__file__).resolve().parents[2]

_PACKAGES = {"bb": "bb-compiler"}
"""Names of distributions that are not those of their imports."""

_FEATURES = ("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve")


def machine() -> dict[str, Any]:
    """Processor, vector features, CPUs, memory, system and C++ compiler. Raises HostCompilerError."""
    facts = dict(line.partition(": ")[::2] for line in describe_processor().splitlines()[1:])
    flags = facts.get("flags", facts.get("Features", "")).split()
    model = facts.get("model name", platform.machine())
    if facts.get("cpu family"):
        model += f" (family {facts['cpu family']}, model {facts['model']})"
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": model,
        "features": [feature for feature in _FEATURES if feature in flags],
        "cpus": usable_cpus(),
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}, {' '.join(platform.libc_ver())}".strip(" ,"),
        "compiler": _compiler_name(),
    }


def _compiler_name() -> str:
    """The first line of `c++ --version`, for the compiler that kernels are compiled with."""
    command = [*find_compiler().command, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return next(iter(done.stdout.splitlines()), "unknown")


def versions(names: Iterable[str]) -> dict[str, str]:
    """The versions of Python and of the contenders' packages."""
    found = {"python": platform.python_version()}
    for package in dict.fromkeys([*(CONTENDERS[name].package for name in names), "numpy"]):
        try:
            found[package] = version(_PACKAGES.get(package, package))
        except PackageNotFoundError:
            found[package] = "unknown"
    return found


def commit() -> str:
    """The commit of the repository, with `+` after it where files have changed since; else `unknown`."""
    try:
        head = _git("rev-parse", "--short=12", "HEAD")
        # Results of a run are written between its pieces.
        changed = _git(
            "status", "--porcelain", "--untracked-files=no", "--", ".", ":!bench/results", ":!docs"
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}+" if re.search(r"\S", changed) else head


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
