"""The machine instructions of a cubin, by NVIDIA's disassembler, and how many there are of each kind."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from .diagnostics import CudaCompilerError

_SECTION = re.compile(r"^\s*\.section\s+\.text\.([\w$.]+)", re.MULTILINE)
_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]+)")
_LIMIT = 60.0


def find_disassembler() -> Path | None:
    """The `nvdisasm` of the Python package nvidia-cuda-nvdisasm, or the one on PATH."""
    try:
        for path in files("nvidia-cuda-nvdisasm") or ():
            if path.name == "nvdisasm" and (found := Path(str(path.locate()))).is_file():
                return found
    except PackageNotFoundError:
        pass
    other = shutil.which("nvdisasm")
    return Path(other) if other is not None else None


def instruction_counts(cubin: bytes) -> dict[str, Counter[str]]:
    """For each function of a cubin, how often each opcode (`LDG.E.128`) stands in it.

    Raises CudaCompilerError where there is no disassembler, or it fails.
    """
    tool = find_disassembler()
    if tool is None:
        raise CudaCompilerError(
            "counting machine instructions needs nvdisasm: pip install 'bb-compiler[cuda-check]' installs it"
        )
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        try:
            done = subprocess.run(
                [str(tool), "-c", file.name], capture_output=True, text=True, timeout=_LIMIT, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CudaCompilerError(f"nvdisasm cannot be run: {error}") from error
    if done.returncode != 0:
        raise CudaCompilerError(f"nvdisasm refuses the cubin: {done.stderr.strip()[:200]}")
    parts = _SECTION.split(done.stdout)
    return {
        name: Counter(_INSTRUCTION.findall(text)) for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


KINDS = {
    "HMMA": r"HMMA\b",
    "HGMMA": r"HGMMA\b",
    "LDSM": r"LDSM\b",
    "STSM": r"STSM\b",
    "LDGSTS": r"LDGSTS\b",
    "LDG.128": r"LDG\b.*\.128\b",
    "LDG": r"LDG\b",
    "STG.128": r"STG\b.*\.128\b",
    "STG": r"STG\b",
    "LDS.128": r"LDS\b.*\.128\b",
    "LDS": r"LDS\b",
    "STS.128": r"STS\b.*\.128\b",
    "STS": r"STS\b",
    "LDL": r"LDL\b",
    "STL": r"STL\b",
    "SHFL": r"SHFL\b",
    "MUFU": r"MUFU\b",
    "BAR": r"BAR\b",
    "UTMALDG": r"UTMALDG\b",
    "SYNCS": r"SYNCS\b",
}
"""The classes of a report, and the pattern at the start of an opcode. `LDG` counts `LDG.128` as well."""


def count_kinds(opcodes: Mapping[str, int]) -> dict[str, int]:
    """The instructions of each class of `KINDS`, and all of them as `total`."""
    counts = {
        kind: sum(count for opcode, count in opcodes.items() if re.match(pattern, opcode))
        for kind, pattern in KINDS.items()
    }
    return {**counts, "total": sum(opcodes.values())}
