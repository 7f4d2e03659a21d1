"""Kernels as C++ source for multicore CPUs, on the tile library `runtime/include/bb`."""

from __future__ import annotations

from collections.abc import Iterable

from ...dialects import kernel
from .kernels import KernelEmitter, dims_in_order, entry_name

__all__ = ["dims_in_order", "emit_cpp", "entry_name"]

_PREAMBLE = """\
#include <bb/cpu.hpp>
#include <bb/kernel.hpp>
"""


def emit_cpp(kernels: Iterable[kernel.FuncOp]) -> str:
    """One C++ source with a function for each kernel. Raises OpError for what has no form on a CPU.

    Each function takes the kernel's arrays in order (pointers, and strides in elements), the extents of its
    dims in the order of `dims_in_order`, and the number of threads; it returns 0, or 1 when memory runs out.
    """
    return "\n".join([_PREAMBLE, *(KernelEmitter(function).source() for function in kernels)])
