"""The target `emulator`: the kernels of the target `cuda`, run on the CPU by the emulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ..calls.compile_options import DEFAULT_ARCH, CompileOptions, CudaOptions
from ..calls.target import Target
from .target import CUDA, cuda_source

if TYPE_CHECKING:  # what compiles for CPUs need not wait for it
    from .library import CudaLibrary


def _library(program: ModuleOp, options: CompileOptions, pipeline: str) -> CudaLibrary:
    from .emulated import EmulatedLibrary

    return EmulatedLibrary(program, options, pipeline)


def _place(threads: int, cuda: CudaOptions) -> str:
    tier = f"PTX of {cuda.arch or DEFAULT_ARCH}" if cuda.tier == "ptx" else "source"
    return f"the emulator ({tier} tier, {'check' if cuda.check else 'fast'} mode): emulated"


EMULATOR = Target(
    name="emulator",
    pipeline=CUDA.pipeline,
    library=_library,
    source=cuda_source,
    place=_place,
    has_cuda_kernels=True,
    is_emulated=True,
)
