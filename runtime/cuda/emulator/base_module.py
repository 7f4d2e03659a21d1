"""Base of both tiers' modules: compiled once, with kernels and variables found by their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from .errors import EmulatorBuildError
from .kernel import SHARED_LIMIT, EmulatedKernel
from .program import Program
from .settings import LaunchSettings
from .variables import ModuleVariables


class ModuleOptions(TypedDict, total=False):
    """Keyword arguments of a module.

    `options` are NVRTC's; `name_expressions` name instances of templates. With `check` every access to memory
    is looked at, which takes some ten times as long. `schedule`, `seed`, `profile`, `time_limit` (seconds of
    CPU time) and `max_findings` hold for all launches, see `EmulatedKernel.launch`. `file_name` is for
    messages.
    """

    options: Sequence[str]
    name_expressions: Sequence[str]
    check: bool
    schedule: str
    seed: int
    profile: bool
    time_limit: float
    max_findings: int
    file_name: str
    use_cache: bool


_SETTINGS = ("schedule", "seed", "profile", "time_limit", "max_findings")


class KernelModule(ABC):
    """CUDA C++ source, compiled when its first kernel or variable is asked for; see `ModuleOptions`."""

    kernel_type: type[EmulatedKernel] = EmulatedKernel
    without_linkage = ""
    """Text that the message for an unknown name adds."""

    def __init__(self, code: str, *, flush_denormals: bool, **options: Unpack[ModuleOptions]):
        self.code = code
        self.options = tuple(options.get("options", ()))
        self.name_expressions = tuple(options.get("name_expressions", ()))
        self.check = options.get("check", False)
        self.file_name = options.get("file_name", "kernel.cu")
        self.use_cache = options.get("use_cache", True)
        chosen: dict[str, Any] = {name: value for name, value in options.items() if name in _SETTINGS}
        self._settings = LaunchSettings(flush_denormals=flush_denormals, **chosen)
        self._program: Program | None = None
        self._variables = ModuleVariables(self.compile)

    def compile(self) -> Program:
        """The compiled program. Raises EmulatorBuildError for a source that does not compile here."""
        # A file of the cache may have been removed since.
        if self._program is None or not self._program.path.exists():
            self._program = self._build()
        return self._program

    @abstractmethod
    def _build(self) -> Program:
        """Compile the program."""

    def _symbol(self, name: str) -> str:
        """Return the program's symbol for a requested kernel."""
        return name

    def _shared_limit(self) -> int:
        """Bytes of shared memory that a block may have."""
        return SHARED_LIMIT

    def get_function(self, name: str) -> EmulatedKernel:
        """A kernel by its name, which must be extern "C", or by one of the name expressions.

        Raises EmulatorBuildError where there is no such kernel, and what `compile` raises.
        """
        kernels = self.compile().kernels
        symbol = self._symbol(name)
        if symbol not in kernels:
            known = ", ".join(f"'{kernel}'" for kernel in kernels) or "none"
            raise EmulatorBuildError(
                f"there is no kernel '{name}' in {self.file_name}: it has {known}{self.without_linkage}"
            )
        return self.kernel_type(self.compile, symbol, self._settings, self._variables, self._shared_limit())

    def get_global(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of a `__device__` or `__constant__` variable of the module, as an array of its own.

        `module.get_global("scale").view(numpy.float32)[:] = 2` sets it for the launches to come; after a
        launch the array holds what the kernel left there. (CuPy gives a pointer in place of the array; names
        are those of the PTX in both: variables in namespaces have mangled ones.) A launch that did not run to
        its end changes nothing.

        Raises EmulatorBuildError where there is no such variable (or a `static` or `const` one, which
        compilers may replace by its value), and what `compile` raises.
        """
        found = self._variables.arrays().get(name)
        if found is None:
            known = ", ".join(f"'{variable}'" for variable in self._variables.arrays()) or "none"
            raise EmulatorBuildError(f"there is no variable '{name}' in {self.file_name}: it has {known}")
        return found
