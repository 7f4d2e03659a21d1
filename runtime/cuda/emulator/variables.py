"""The variables of a module: they keep their values from launch to launch, each in its own process."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...compilation.errors import HostCompilerError
from .program import Program

_SYMBOL = re.compile(
    r"\s*\d+: ([0-9a-f]+)\s+(\S+) OBJECT\s+(?:GLOBAL|WEAK)\s+\S+\s+(\d+)\s+([^\s@]+)$", re.MULTILINE
)
# The C library's, the compiler's, the runtime's, and constants that PTX has no name for in the source.
_NOT_OF_USERS = re.compile(
    r"bb_emu_|_IO_|__|DW\.|_ZT[VIS]|_ZGV|_ZNK?6bb_emu|_ZN10BbEmuEntry|_ZN14BbEmuParameter|\$"
)


@dataclass(frozen=True)
class Variable:
    """A variable: its address in the executable as linked, and its bytes."""

    name: str
    address: int
    size: int


class ModuleVariables:
    """The state of a module's variables: the initial values at first, then what launches and users write."""

    def __init__(self, program: Callable[[], Program]):
        self._program = program
        self._arrays: dict[str, npt.NDArray[np.uint8]] | None = None
        self._addresses: dict[str, int] = {}

    def arrays(self) -> Mapping[str, npt.NDArray[np.uint8]]:
        """The values, by the names of the source. Raises HostCompilerError."""
        if self._arrays is None:
            program = self._program()
            variables = _variables_of(program)
            self._arrays = dict(zip((v.name for v in variables), _initial(program, variables), strict=True))
            self._addresses = {variable.name: variable.address for variable in variables}
        return self._arrays

    def addressed(self) -> list[tuple[int, npt.NDArray[np.uint8]]]:
        """The values with their addresses in the executable."""
        return [(self._addresses[name], array) for name, array in self.arrays().items()]


def _variables_of(program: Program) -> list[Variable]:
    found = _objects(program.path)
    if program.variables is not None:
        return [
            Variable(name, found[symbol].address, found[symbol].size)
            for name, symbol in program.variables.items()
            if symbol in found and not _NOT_OF_USERS.match(name)
        ]
    return [variable for variable in found.values() if not _NOT_OF_USERS.match(variable.name)]


@lru_cache(maxsize=64)
def _objects(path: Path) -> dict[str, Variable]:
    """The variables of an object file or executable that other files may use."""
    tool = shutil.which("readelf")
    if tool is None:
        return {}
    try:
        done = subprocess.run(
            [tool, "-sW", path],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    found = [
        Variable(m[4], int(m[1], 16), int(m[2], 0)) for m in _SYMBOL.finditer(done.stdout) if m[3] != "0"
    ]
    return {variable.name: variable for variable in found if variable.size > 0}


def _initial(program: Program, variables: list[Variable]) -> list[npt.NDArray[np.uint8]]:
    """Return the initial bytes of the program's variables."""
    if not variables:
        return []
    wanted = "".join(f"{variable.address} {variable.size}\n" for variable in variables)
    try:
        done = subprocess.run(
            [program.path, "--variables"], input=wanted.encode(), capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise HostCompilerError(f"the emulated program {program.path} cannot be run: {error}") from error
    data = np.frombuffer(done.stdout, np.uint8)
    if done.returncode != 0 or data.size != sum(variable.size for variable in variables):
        raise HostCompilerError(f"the emulated program {program.path} does not tell its variables")
    ends = np.cumsum([variable.size for variable in variables])
    return [data[end - each.size : end].copy() for end, each in zip(ends, variables, strict=True)]
