"""The PTX tier of the emulator: what NVRTC makes of a CUDA source, executed on the CPU.

The same calling convention and the same findings as `EmulatedModule`, which runs the source itself. What it
adds: inline assembly is executed, accesses have the widths that the compiler chose, its reordering is seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np

from ..compile.compile import CudaBinary, compile_cuda
from ..compile.occupancy import multiprocessor
from ..emulator.base_module import KernelModule, ModuleOptions
from ..emulator.kernel import EmulatedKernel
from ..emulator.native_files import device_directory
from ..emulator.program import KernelSignature, Program, build_program
from .parse import parse_ptx
from .translate import translate


class PtxKernel(EmulatedKernel):
    """A kernel of a `PtxModule`; PTX has no word for pointers, so that the arguments tell which they are."""

    def _signature_for(self, args: Sequence[object]) -> KernelSignature:
        parameters = self.signature.parameters
        if len(args) != len(parameters):
            return self.signature
        seen = [
            replace(each, is_pointer=each.size == 8 and not isinstance(value, np.generic | int | float))
            for each, value in zip(parameters, args, strict=True)
        ]
        return replace(self.signature, parameters=tuple(seen))


class PtxModule(KernelModule):
    """CUDA C++ source for the PTX tier; see `ModuleOptions`.

    `arch` is the architecture that NVRTC compiles for: `sm_80`, `sm_90`, `sm_90a`, `sm_100`. Denormals are
    flushed by the instructions that say so, which with CuPy's options are those on f32. Nothing is compiled
    until the first kernel is asked for.
    """

    kernel_type = PtxKernel

    def __init__(self, code: str, *, arch: str = "sm_90", **options: Unpack[ModuleOptions]):
        super().__init__(code, flush_denormals=False, **options)
        self.arch = arch
        self._binary: CudaBinary | None = None

    @property
    def binary(self) -> CudaBinary:
        """NVRTC's output for the source. Raises CudaCompilerError."""
        if self._binary is None:
            # PTX alone: the step to machine code takes longer and is not what runs here.
            self._binary = compile_cuda(
                self.code,
                re.sub(r"^sm_", "compute_", self.arch),
                name=self.file_name,
                include=[device_directory()],
                options=self.options,
                name_expressions=self.name_expressions,
                line_info=True,
                use_cache=self.use_cache,
            )
        return self._binary

    def compile(self) -> Program:
        """The compiled program.

        Raises CudaCompilerError for a source that NVRTC refuses, PtxError for PTX that cannot be executed
        here, HostCompilerError where there is no C++ compiler.
        """
        return super().compile()

    def _build(self) -> Program:
        translation = translate(parse_ptx(self.binary.ptx), self.binary.name)
        program = build_program(
            f"{self.file_name}.ptx.cpp",
            translation.source,
            name=f"{self.binary.name} for {self.arch}",
            check=self.check,
            # A kernel is one function of thousands of statements: -O2 takes twenty times as long, and
            # line tables double that, which the sites in the text make superfluous.
            extra_flags=("-Og", "-g0"),
            source_files=(self.file_name, *translation.files[1:]),
            use_cache=self.use_cache,
        )
        kernels = {name: self._with_constants(kernel) for name, kernel in program.kernels.items()}
        return replace(program, kernels=kernels, variables=translation.variables)

    def _symbol(self, name: str) -> str:
        return self.binary.lowered_names.get(name, name)

    def _shared_limit(self) -> int:
        try:
            return multiprocessor(self.arch).shared_per_block
        except ValueError:
            return super()._shared_limit()

    def _with_constants(self, kernel: KernelSignature) -> KernelSignature:
        """The signature, with the pointers to const that the source names: PTX does not."""
        found = re.search(rf"\b{re.escape(kernel.name)}\s*\(([^()]*)\)\s*\{{", self.code)
        texts = found[1].split(",") if found is not None else []
        if len(texts) != len(kernel.parameters):
            return kernel
        constant = re.compile(r"\s*(?:const\s+[\w:]+|[\w:]+\s+const)\s*\*[^*]*", re.DOTALL)
        parameters = [
            replace(parameter, to_const=parameter.size == 8 and constant.fullmatch(text) is not None)
            for parameter, text in zip(kernel.parameters, texts, strict=True)
        ]
        return replace(kernel, parameters=tuple(parameters))
