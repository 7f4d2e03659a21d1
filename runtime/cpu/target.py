"""The target `cpu`: C++ for this machine, on numpy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from ...lowering.pipelines import PIPELINES
from ..calls.compile_options import CompileOptions, CudaOptions
from ..calls.target import Target

if TYPE_CHECKING:  # what only interprets programs need not wait for it
    from .library import KernelLibrary


def _library(program: ModuleOp, options: CompileOptions, pipeline: str) -> KernelLibrary:
    from .library import KernelLibrary

    return KernelLibrary(program, options, pipeline)


def _source(program: ModuleOp, options: CompileOptions, pipeline: str) -> KernelLibrary:
    from .library import KernelLibrary

    return KernelLibrary(program, options, pipeline, build=False)


def _place(threads: int, cuda: CudaOptions) -> str:
    return f"the cpu, {threads} thread{'s' if threads > 1 else ''}"


CPU = Target(
    name="cpu",
    pipeline=PIPELINES["cpu"],
    library=_library,
    source=_source,
    place=_place,
    has_threads=True,
    can_tune=True,
    can_profile=True,
)
