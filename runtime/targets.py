"""What compiles and runs kernels, by the name of the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from .array_memory import ArrayMemory, HostMemory
from .arrays import ArrayView
from .call_plan import CallPlans
from .interpreter import InputError
from .kernel_library import KernelLibrary
from .lowered_program import CompileOptions

if TYPE_CHECKING:
    from .cuda_library import CudaLibrary

COMPILED = ("cpu", "cuda", "emulator")
"""The targets that programs are compiled for."""


def library_of(program: ModuleOp, options: CompileOptions) -> KernelLibrary | CudaLibrary:
    """The kernels of a program, ready to be launched on a target.

    Raises InputError where a target is unknown or has no device here, and what passes and compilers raise.
    """
    if options.target == "cpu":
        return KernelLibrary(program, options)
    if options.target == "emulator":
        from .emulated_library import EmulatedLibrary

        return EmulatedLibrary(program, options)
    if options.target == "cuda":
        from .cuda_device import DeviceLibrary

        return DeviceLibrary(program, options)
    raise InputError(
        f"programs are compiled for the targets {', '.join(COMPILED)}, not for '{options.target}'"
    )


def plans_of(
    options: CompileOptions,
    bound: Mapping[SSAValue, ArrayView] | None = None,
    known: Mapping[SSAValue, ArrayView] | None = None,
) -> CallPlans:
    """What remembers the calls of an executable; `bound` and `known` are the arrays that are there before."""
    if options.target == "cuda":
        from .device_plan import DevicePlans

        return DevicePlans(bound or {}, known or {})
    return CallPlans(bound or {}, known or {})


def memory_of(options: CompileOptions) -> ArrayMemory:
    """Where the arrays of a target's calls lie."""
    if options.target == "cuda":
        from .cuda_memory import CudaMemory

        return CudaMemory()
    return HostMemory()
