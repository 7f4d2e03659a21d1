"""Kernels as CUDA C++ source, from the same `kernel` dialect as the CPU's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ....dialects import kernel
from .kernels import write_kernel
from .layouts import Layout
from .plan import CudaKernel, entry_name
from .planner import plan_kernel

__all__ = ["CudaKernel", "CudaSource", "Layout", "emit_cuda", "entry_name"]

_PREAMBLE = """\
#include <bb/cuda.cuh>
#include <bb/cuda/scalar.cuh>

extern __shared__ __align__(1024) unsigned char bb_shared[];
"""


@dataclass(frozen=True)
class CudaSource:
    """Generated source, and the functions in it that each kernel launches one after the other."""

    text: str
    kernels: dict[str, tuple[CudaKernel, ...]]


def emit_cuda(kernels: Iterable[kernel.FuncOp], layouts: Sequence[Layout] = ()) -> CudaSource:
    """One CUDA C++ source with a function for each parallel loop of each kernel, for sm_80 and later.

    The tiles must have places (`kernel-place-cuda`). A function takes the kernel's arrays in order as
    pointers; the strides of their axes in elements (`long long`) as far as `layouts`, of the arrays of each
    kernel, leaves them open (without any, all arrays lie in row-major order); the extents of dims that the
    program leaves open (`int`); and, if its blocks need memory of their own, that memory, its bytes for each
    block, and the number of iterations.

    Raises OpError for what has no form on a GPU.
    """
    texts: list[str] = []
    found: dict[str, tuple[CudaKernel, ...]] = {}
    for function in kernels:
        launches: list[CudaKernel] = []
        for part, parallel in enumerate(function.body.block.ops):
            assert isinstance(parallel, kernel.ParallelOp)
            plan = plan_kernel(function, parallel, part, tuple(layouts))
            texts.append(write_kernel(plan))
            launches.append(plan.launch)
        found[function.sym_name.data] = tuple(launches)
    return CudaSource("\n".join([_PREAMBLE, *texts]), found)
