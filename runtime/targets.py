"""What compiles and runs kernels, by the name of the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp

from .array_memory import ArrayMemory, HostMemory
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


def memory_of(options: CompileOptions) -> ArrayMemory:
    """Where the arrays of a target's calls lie."""
    if options.target == "cuda":
        from .cuda_memory import CudaMemory

        return CudaMemory()
    return HostMemory()
