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


_COUNTING = """\
#define BB_COUNTING
"""


def emit_cpp(kernels: Iterable[kernel.FuncOp], *, counting: bool = False) -> str:
    """One C++ source with a function for each kernel. Raises OpError for what has no form on a CPU.

    Each function takes the kernel's arrays in order (pointers, and strides in elements), the extents of its
    dims in the order of `dims_in_order`, and the number of threads; it returns 0, or 1 when memory runs out.
    With `counting` they count what they move between arrays and tiles, and `bbk_take_counts` gives and resets
    the numbers of loads and stores and of the bytes loaded and stored.
    """
    preamble = f"{_COUNTING}{_PREAMBLE}" if counting else _PREAMBLE
    sources = [KernelEmitter(function, counting=counting).source() for function in kernels]
    return "\n".join([preamble, *sources])
