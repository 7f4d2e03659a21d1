"""Kernels as C++ source for multicore CPUs, on the tile library `runtime/include/bb`."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from ....dialects import kernel
from ....dialects.kernel.precision import has_wide_lanes
from .kernels import KernelEmitter, dims_in_order, entry_name
from .probes import Category, Statement, probed

__all__ = ["Category", "Statement", "dims_in_order", "emit_cpp", "entry_name", "statements_of"]

_PREAMBLE = """\
#include <bb/cpu.hpp>
#include <bb/kernel.hpp>
"""


_COUNTING = """\
#define BB_COUNTING
"""


def emit_cpp(kernels: Iterable[kernel.FuncOp], *, counting: bool = False, profiling: bool = False) -> str:
    """One C++ source with a function for each kernel. Raises OpError for what has no form on a CPU.

    Each function takes the kernel's arrays in order (pointers, and strides in elements), the extents of its
    dims in the order of `dims_in_order`, and the number of threads; it returns 0, or 1 when memory runs out.
    With `counting` they count what they move between arrays and tiles, and `bbk_take_counts` gives and resets
    the numbers of loads and stores and of the bytes loaded and stored. With `profiling` the source is one to
    compile with BB_PROFILE: lines that start with `bb::profile::` are added in front of the statements that
    `statements_of` lists, which have their places in that list as numbers.
    """
    kernels = list(kernels)
    preamble = f"{_COUNTING}{_PREAMBLE}" if counting else _PREAMBLE
    numbers: dict[Operation, int] = {}
    if profiling:
        timed = [op for function in kernels for op in probed(function)]
        numbers = {op: number for number, op in enumerate(timed)}
        preamble += f"BB_STATEMENTS({len(numbers)})\n"
    sources = [KernelEmitter(function, counting=counting, numbers=numbers).source() for function in kernels]
    return "\n".join([preamble, *sources])


def statements_of(kernels: Iterable[kernel.FuncOp]) -> list[Statement]:
    """Return the statements that a profile tells apart, in source order. Raises OpError as `emit_cpp`."""
    return [
        statement for function in kernels for statement in probed(function, has_wide_lanes(function)).values()
    ]
