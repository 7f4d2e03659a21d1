"""Addresses of an emulated program as lines of source, and places in its memory as names of variables."""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from .findings import SourceLocation
from .native_files import cuda_directory, device_directory, hooks_directory
from .program import KERNEL_FILE, Program

_EXPLICIT = 1 << 63


def locate(program: Program, sites: Collection[int], base: int) -> dict[int, SourceLocation | None]:
    """The source lines of sites: explicit ones, or addresses in a program that was loaded at `base`."""
    found: dict[int, SourceLocation | None] = {}
    addresses: list[int] = []
    for site in sites:
        if site & _EXPLICIT:
            number, line = site >> 32 & 0x7FFFFFFF, site & 0xFFFFFFFF
            known = number < len(program.source_files) and line > 0
            found[site] = SourceLocation(program.source_files[number], line) if known else None
        elif site > base > 0:
            addresses.append(site)
        else:
            found[site] = None
    found.update(_lines_of(program, addresses, base))
    return found


def _lines_of(program: Program, sites: list[int], base: int) -> dict[int, SourceLocation | None]:
    found: dict[int, SourceLocation | None] = dict.fromkeys(sites)
    tool = shutil.which("addr2line") or shutil.which("llvm-addr2line")
    if not sites or tool is None:
        return found
    # Sites are return addresses; the call is before.
    command = [tool, "-a", "-i", "-e", str(program.path), *(hex(site - base - 1) for site in sites)]
    text = _output(command)
    frames: list[list[str]] = []
    for line in text.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames.append([])
        elif frames:
            frames[-1].append(line)
    for site, chain in zip(sites, frames, strict=False):
        found[site] = next((place for frame in chain if (place := _user_place(program, frame))), None)
    return found


def _user_place(program: Program, frame: str) -> SourceLocation | None:
    """The place of a frame, if it is in a source of the user."""
    match = re.match(r"(.+):(\d+)(?: \(.*\))?$", frame)
    if match is None or match[2] == "0":
        return None
    path = Path(match[1])
    if path.name == KERNEL_FILE:
        return SourceLocation(program.source_files[0], int(match[2]))
    ours = (hooks_directory(), cuda_directory(), device_directory(), Path(__file__).parent / "native")
    if any(path.is_relative_to(folder) for folder in ours) or path.is_relative_to("/usr"):
        return None
    return SourceLocation(str(path), int(match[2])) if path.exists() else None


def name_of_shared(program: Program, offset: int) -> tuple[str, int] | None:
    """The __shared__ variable at an offset in the program's shared memory, and the offset in it."""
    return _named(_symbols(program.path, "TLS"), offset)


def name_of_global(program: Program, offset: int) -> tuple[str, int] | None:
    """Return the __device__ variable at an offset in the program, and the offset in it, in bytes."""
    return _named(_symbols(program.path, "OBJECT"), offset)


def _named(symbols: tuple[tuple[int, int, str], ...], offset: int) -> tuple[str, int] | None:
    at = bisect_right(symbols, (offset, 1 << 62, "")) - 1
    if at < 0:
        return None
    begin, size, name = symbols[at]
    return (name, offset - begin) if offset < begin + max(size, 1) else None


@lru_cache(maxsize=64)
def _symbols(path: Path, kind: str) -> tuple[tuple[int, int, str], ...]:
    tool = shutil.which("readelf")
    if tool is None:
        return ()
    symbols: set[tuple[int, int, str]] = set()
    for line in _output([tool, "-sWC", str(path)]).splitlines():
        match = re.match(rf"\s*\d+: ([0-9a-f]+)\s+(\S+) {kind}\s+\S+\s+\S+\s+(\d+)\s+(.+)$", line)
        if match is not None:
            # A variable of a function is `function(…)::name`.
            symbols.add((int(match[1], 16), int(match[2], 0), match[4].rpartition("::")[2]))
    return tuple(sorted(symbols))


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
