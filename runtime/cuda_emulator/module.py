"""Modules of CUDA source, as cupy.RawModule has them."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import EmulatorBuildError
from .kernel import EmulatedKernel
from .launch import LaunchSettings
from .options import parse_options
from .program import Program
from .source_program import build_source_program


class EmulatedModule:
    """CUDA C++ source for the emulator, compiled when its first kernel is asked for.

    `options` are NVRTC's; `name_expressions` name instances of templates. With `check` every access to memory
    is looked at, which takes some ten times as long. `schedule`, `seed`, `profile`, `time_limit` (seconds of
    CPU time) and `max_findings` hold for all launches, see `EmulatedKernel.launch`. `file_name` is for
    messages.

    Raises ValueError for an option or schedule that there is not.
    """

    def __init__(
        self,
        code: str,
        *,
        options: Sequence[str] = (),
        name_expressions: Sequence[str] = (),
        check: bool = False,
        schedule: str = "fifo",
        seed: int = 0,
        profile: bool = False,
        flush_denormals: bool = True,
        time_limit: float = 60.0,
        max_findings: int = 20,
        file_name: str = "kernel.cu",
        use_cache: bool = True,
    ):
        self.code = code
        self.name_expressions = tuple(name_expressions)
        self.check = check
        self.file_name = file_name
        self._options = parse_options(options)
        self._settings = LaunchSettings(schedule, seed, profile, flush_denormals, max_findings, time_limit)
        self._use_cache = use_cache
        self._program: Program | None = None

    def compile(self) -> Program:
        """The compiled program. Raises EmulatorBuildError for a source that does not compile here."""
        # A file of the cache may have been removed since.
        if self._program is None or not self._program.path.exists():
            self._program = build_source_program(
                self.code,
                self._options,
                name_expressions=self.name_expressions,
                file_name=self.file_name,
                check=self.check,
                use_cache=self._use_cache,
            )
        return self._program

    def get_function(self, name: str) -> EmulatedKernel:
        """A kernel by its name, which must be extern "C", or by one of the name expressions.

        Raises EmulatorBuildError for a source that does not compile, and where there is no such kernel.
        """
        program = self.compile()
        if name not in program.kernels:
            known = ", ".join(f"'{kernel}'" for kernel in program.kernels) or "none"
            raise EmulatorBuildError(
                f"there is no kernel '{name}' in {self.file_name}: it has {known} (kernels that are not "
                f'extern "C" are reached by name_expressions)'
            )
        return EmulatedKernel(self.compile, name, self._settings)
