"""The kernels of a program for NVIDIA's GPUs: as source anywhere, on a device, or on the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...dialects import kernel
from ...dialects.kernel.placement import is_placed
from ...lowering.emit.cuda import CudaKernel, CudaSource, Layout, emit_cuda
from ...lowering.pipelines import PIPELINES, PassPipeline
from ...passes.kernel.place_cuda import KernelPlaceCudaPass
from ..arrays.views import ArrayView
from ..calls.call_plan import CallRecord, Launched
from ..calls.compile_options import DEFAULT_ARCH, CompileOptions
from ..calls.launch_plan import Launch
from ..calls.lowered import LoweredProgram
from ..errors import InputError
from .compile import KernelResources, compile_cuda, kernel_resources
from .emulator.native_files import device_directory

LARGEST_EXTENT = 2**31 - 1
LARGEST_SCRATCH = 2**31 - 1
"""Bytes of a block's own memory, so that 32 bits count the elements of each tile there."""


@dataclass(frozen=True)
class FunctionLaunch:
    """One launch of a function of a source on arrays, in the order of its parameters.

    After the arrays the function takes `numbers`: strides, and extents. `tasks` is the number of iterations
    that its blocks divide among themselves. A function that needs memory of its own takes `scratch_bytes` for
    each block.
    """

    launch: Launch
    """The launch of the kernel that the function is a part of."""
    source: CudaSource
    function: CudaKernel
    tasks: int
    arrays: tuple[ArrayView, ...]
    numbers: tuple[np.generic, ...]
    scratch_bytes: int

    @property
    def inputs(self) -> int:
        """Number of the arrays that the kernel reads; after them come those that it writes."""
        return len(self.arrays) - len(self.launch.op.results_)


class CudaLibrary(LoweredProgram):
    """The kernels of a program, lowered and written as CUDA C++: of one function of it, or of all."""

    profiler = None

    def __init__(self, program: ModuleOp, options: CompileOptions, pipeline: str = PIPELINES["cuda"]):
        super().__init__(program, options, pipeline)
        if not all(is_placed(op) for op in self.module.walk() if isinstance(op, kernel.ParallelOp)):
            PassPipeline([KernelPlaceCudaPass()]).run(self.module)
        self._source: CudaSource | None = None
        self._strided: dict[tuple[str, tuple[Layout, ...]], CudaSource] = {}
        self.entries: dict[str, Any] = dict.fromkeys((each.sym_name.data for each in self.kernels), None)
        self.reports: list[Any] = []
        """On the emulator: the reports of the launches of the last call, in order."""
        self.launched: list[CudaSource] = []
        """On the emulator: the source that each of these launches was of."""

    def written(self) -> CudaSource:
        """The source for arrays in row-major order. Raises OpError."""
        if self._source is None:
            self._source = emit_cuda(self.kernels)
        return self._source

    def written_for(self, name: str, layouts: tuple[Layout, ...]) -> CudaSource:
        """The source of a kernel for arrays that lie in memory as given. Raises OpError."""
        if all(layout is Layout.Dense for layout in layouts):
            return self.written()
        key = name, layouts
        if key not in self._strided:
            found = [each for each in self.kernels if each.sym_name.data == name]
            self._strided[key] = emit_cuda(found, layouts)
        return self._strided[key]

    @property
    def source(self) -> str:
        """The CUDA C++ of the kernels, for arrays in row-major order."""
        return self.written().text

    @property
    def arch(self) -> str:
        """The architecture to compile for if no device decides it."""
        return self.options.cuda.arch or DEFAULT_ARCH

    def resources(self, arch: str | None = None) -> list[KernelResources]:
        """Return the resources of each function on a GPU, compiled by NVRTC for an architecture, without a
        device.

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

    def begin_call(self) -> None:
        """Forget what the emulator reported of the last call."""
        self.reports.clear()
        self.launched.clear()

    def check(self, launch: Launch, lengths: list[int], threads: int) -> None:
        """Raise InputError for extents that exceed the kernels' 32-bit indices."""
        launch.check_extents(lengths)
        for name, extent in zip(launch.dims, lengths, strict=True):
            if extent > LARGEST_EXTENT:
                raise InputError(f"dim {name} has extent {extent}, a GPU kernel counts to {LARGEST_EXTENT}")

    def launch(
        self, launch: Launch, arrays: list[ArrayView], lengths: list[int], threads: int, record: CallRecord
    ) -> None:
        """Run a kernel on arrays, with the extents of its dims in order."""
        layouts = tuple(layout_of(view) for view in arrays)
        source = self.written_for(launch.name, layouts)
        extents = dict(zip(launch.dims, lengths, strict=True))
        for function in source.kernels[launch.name]:
            tasks = function.tasks(extents)
            if tasks > LARGEST_EXTENT:
                raise InputError(
                    f"'{launch.name}' has {tasks} iterations, a GPU has at most {LARGEST_EXTENT}"
                )
            if tasks == 0:
                continue
            numbers: list[np.generic] = [
                np.int64(stride)
                for view, layout in zip(arrays, layouts, strict=True)
                for stride in view.strides[: layout.strides_passed(len(view.shape))]
            ]
            numbers += [np.int32(extents[name]) for name in function.dynamic_extents]
            scratch = function.scratch_bytes(extents)
            if scratch > LARGEST_SCRATCH:
                raise InputError(
                    f"'{launch.name}' needs {scratch} bytes of memory of its own for each block of threads, "
                    f"a GPU kernel counts to {LARGEST_SCRATCH}"
                )
            entry = self.run(
                FunctionLaunch(launch, source, function, tasks, tuple(arrays), tuple(numbers), scratch)
            )
            if entry is None:
                record.repeatable = False
                continue
            results = tuple(launch.op.results_)
            record.launched.append(Launched(launch.name, entry, tuple(arrays), tuple(lengths), results))

    def run(self, wanted: FunctionLaunch) -> Any:
        """Run one function of a source.

        Returns an object that runs it again on other arrays of the same layout, or None if that is
        impossible.
        """
        raise NotImplementedError


def layout_of(view: ArrayView) -> Layout:
    """Return the layout of an array in memory."""
    own = [(n, stride) for n, stride in zip(view.shape, view.strides, strict=True) if n != 1]
    step, dense = 1, True
    for extent, stride in reversed(own):
        dense &= stride == step
        step *= extent
    if view.pointer % 16:
        return Layout.Any
    if dense:
        return Layout.Dense
    contiguous = view.shape[-1] == 1 or view.strides[-1] == 1
    before = zip(view.shape[:-1], view.strides[:-1], strict=True)
    aligned = all(n == 1 or stride * view.dtype.itemsize % 16 == 0 for n, stride in before)
    return Layout.Rows if contiguous and aligned else Layout.Any
