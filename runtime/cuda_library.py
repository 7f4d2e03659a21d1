"""The kernels of a program for NVIDIA's GPUs: as source anywhere, on a device, or on the emulator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..dialects import kernel
from ..lowering.emit_cuda import CudaKernel, CudaSource, emit_cuda
from ..lowering.pipelines import PassPipeline
from ..passes.kernel_place_cuda import KernelPlaceCudaPass, is_placed
from .arrays import ArrayView
from .call_plan import Notes
from .cuda_compile import KernelResources, compile_cuda, kernel_resources
from .cuda_emulator.native_files import device_directory
from .interpreter import InputError
from .launch_plan import Launch
from .lowered_program import DEFAULT_ARCH, CompileOptions, LoweredProgram

LARGEST_EXTENT = 2**31 - 1


class CudaLibrary(LoweredProgram):
    """The kernels of a program, lowered and written as CUDA C++: of one function of it, or of all."""

    profiler = None

    def __init__(self, program: ModuleOp, options: CompileOptions):
        super().__init__(program, options, "cuda")
        if not all(is_placed(op) for op in self.module.walk() if isinstance(op, kernel.ParallelOp)):
            PassPipeline([KernelPlaceCudaPass()]).run(self.module)
        self._sources: dict[bool, CudaSource] = {}
        self.entries: dict[str, Any] = dict.fromkeys((each.sym_name.data for each in self.kernels), None)
        self.reports: list[Any] = []
        """On the emulator: the reports of the launches of the last call, in order."""

    def written(self, dense: bool = True) -> CudaSource:
        """The source: for arrays in row-major order, or for any strides. Raises OpError."""
        if dense not in self._sources:
            self._sources[dense] = emit_cuda(self.kernels, dense=dense)
        return self._sources[dense]

    @property
    def source(self) -> str:
        """The CUDA C++ of the kernels, for arrays in row-major order."""
        return self.written().text

    @property
    def arch(self) -> str:
        """The architecture that is compiled for where no device says which."""
        return self.options.cuda.arch or DEFAULT_ARCH

    def resources(self, arch: str | None = None) -> list[KernelResources]:
        """What each function takes of a GPU, compiled by NVRTC for an architecture; no device is needed.

        Raises CudaCompilerError.
        """
        source = self.written()
        if not source.kernels:
            return []
        binary = compile_cuda(
            source.text,
            arch or self.arch,
            name=f"{self.options.entry or 'program'}.cu",
            include=[device_directory()],
            use_cache=self.options.use_cache,
        )
        return [
            row
            for functions in source.kernels.values()
            for function in functions
            for row in kernel_resources(
                binary, threads=function.threads, dynamic_shared=function.shared_bytes
            )
            if row.kernel == function.entry
        ]

    def check(self, launch: Launch, lengths: list[int], threads: int) -> None:
        """Raise InputError for extents that the kernels' 32-bit indices do not reach."""
        for name, extent in zip(launch.dims, lengths, strict=True):
            if extent > LARGEST_EXTENT:
                raise InputError(f"dim {name} has extent {extent}, a GPU kernel counts to {LARGEST_EXTENT}")

    def launch(
        self, launch: Launch, arrays: list[ArrayView], lengths: list[int], threads: int, notes: Notes
    ) -> None:
        """Run a kernel on arrays, with the extents of its dims in order."""
        notes.repeatable = False
        dense = all(_is_dense(view) for view in arrays)
        source = self.written(dense)
        extents = dict(zip(launch.dims, lengths, strict=True))
        for function in source.kernels[launch.name]:
            tasks = function.tasks(extents)
            if tasks > LARGEST_EXTENT:
                raise InputError(
                    f"'{launch.name}' has {tasks} iterations, a GPU has at most {LARGEST_EXTENT}"
                )
            if tasks == 0:
                continue
            strides = [] if dense else [stride for view in arrays for stride in view.strides]
            numbers: list[np.generic] = [np.int64(stride) for stride in strides]
            numbers += [np.int32(extents[name]) for name in function.dynamic_extents]
            scratch = function.scratch_bytes(extents)
            self.run(source, function, tasks, arrays, numbers, scratch, len(launch.op.results_))

    def run(
        self,
        source: CudaSource,
        function: CudaKernel,
        tasks: int,
        arrays: Sequence[ArrayView],
        numbers: Sequence[np.generic],
        scratch_bytes: int,
        outputs: int,
    ) -> None:
        """Run one function of a source."""
        raise NotImplementedError


def _is_dense(view: ArrayView) -> bool:
    """Whether an array lies in row-major order without gaps."""
    step = 1
    for extent, stride in reversed(list(zip(view.shape, view.strides, strict=True))):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return view.pointer % 16 == 0
