"""Modules of CUDA source, as cupy.RawModule has them."""

from __future__ import annotations

from typing import Unpack

from .base_module import KernelModule, ModuleOptions
from .options import parse_options
from .program import Program
from .source_program import build_source_program


class EmulatedModule(KernelModule):
    """CUDA C++ source for the emulator, compiled by the host's C++ compiler; see `ModuleOptions`.

    `flush_denormals` is NVRTC's `-ftz`, which CuPy sets. Raises ValueError for an option or schedule that
    there is not.
    """

    without_linkage = ' (kernels that are not extern "C" are reached by name_expressions)'

    def __init__(self, code: str, *, flush_denormals: bool = True, **options: Unpack[ModuleOptions]):
        super().__init__(code, flush_denormals=flush_denormals, **options)
        self._compile_options = parse_options(self.options)

    def _build(self) -> Program:
        return build_source_program(
            self.code,
            self._compile_options,
            name_expressions=self.name_expressions,
            file_name=self.file_name,
            check=self.check,
            use_cache=self.use_cache,
        )
