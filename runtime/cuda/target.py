"""The target `cuda`: CUDA C++ for an NVIDIA GPU, on arrays in its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...lowering.pipelines import PIPELINES
from ..calls.call_plan import CallPlans, Views
from ..calls.compile_options import CompileOptions, CudaOptions
from ..calls.memory import ArrayMemory
from ..calls.target import Target

if TYPE_CHECKING:  # what compiles for CPUs need not wait for it
    from .library import CudaLibrary


def cuda_source(program: ModuleOp, options: CompileOptions, pipeline: str) -> CudaLibrary:
    """Lower a program to CUDA C++; no device is needed."""
    from .library import CudaLibrary

    return CudaLibrary(program, options, pipeline)


def _library(program: ModuleOp, options: CompileOptions, pipeline: str) -> CudaLibrary:
    from .device import DeviceLibrary

    return DeviceLibrary(program, options, pipeline)


def _memory() -> ArrayMemory:
    from .memory import CudaMemory

    return CudaMemory()


def _plans(bound: Views, known: Views) -> CallPlans:
    from .call_plan import DevicePlans

    return DevicePlans(bound, known)


def _place(threads: int, cuda: CudaOptions) -> str:
    return "the GPU"


CUDA = Target(
    name="cuda",
    pipeline=PIPELINES["cuda"],
    library=_library,
    source=cuda_source,
    place=_place,
    memory=_memory,
    plans=_plans,
    host_arrays=False,
    has_cuda_kernels=True,
)
