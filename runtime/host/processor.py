"""Identity of the processor: code compiled for one may stop with an illegal instruction on another."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")

_WANTED = {
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "flags",
    "CPU implementer",
    "CPU architecture",
    "CPU variant",
    "CPU part",
    "Features",
    "isa",
}


def describe_processor(cpuinfo: Path = CPUINFO) -> str:
    """Return the facts that `-march=native` depends on: architecture, model, features of the first CPU."""
    lines = [platform.machine()]
    try:
        with cpuinfo.open(encoding="utf-8", errors="replace") as text:
            # The kernel makes this file while it is read, slowly where there are hundreds of processors.
            for line in text:
                key, colon, value = line.partition(":")
                if not colon and len(lines) > 1:
                    break
                if key.strip() in _WANTED:
                    lines.append(f"{key.strip()}: {value.strip()}")
    except OSError:
        pass
    if len(lines) == 1:
        lines.append(platform.processor())
    return "\n".join(lines)


@cache
def cpu_identity() -> str:
    """`describe_processor` of this machine, read once."""
    return describe_processor()
