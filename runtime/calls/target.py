"""Description of a target: what compiles a program for it, and what runs the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from .call_plan import CallPlans, Views
from .compile_options import CompileOptions, CudaOptions
from .library import Library
from .memory import ArrayMemory, HostMemory

MakeLibrary = Callable[[ModuleOp, CompileOptions, str], Library]
"""Makes the kernels of a program, by options and the target's pipeline."""


@dataclass(frozen=True)
class Target:
    """A kind of machine that programs are compiled for.

    `pipeline` is the passes from arrays to kernels, where a caller gives none. `library` compiles a program,
    `source` only lowers it: what that gives has a source, and nothing to call. Both should import what they
    need when they are called: what compiles for one target need not wait for the others. `place` tells
    people where a function ran, by its threads and options.
    """

    name: str
    pipeline: str
    library: MakeLibrary
    source: MakeLibrary
    place: Callable[[int, CudaOptions], str]
    memory: Callable[[], ArrayMemory] = HostMemory
    """Makes the memory that the arrays of an executable's calls lie in."""
    plans: Callable[[Views, Views], CallPlans] = CallPlans
    """Makes the plans of an executable's repeated calls, from bound arrays and what was computed of them."""
    host_arrays: bool = True
    """True if calls take numpy arrays, and what can be made one."""
    has_threads: bool = False
    """True if kernels run on as many threads of the CPU as a call asks for."""
    can_tune: bool = False
    """True if fusion and block sizes can be chosen by measurements, or by the cost model."""
    can_profile: bool = False
    """True if calls can be timed, and compared with what the CPU can do at best."""
    has_cuda_kernels: bool = False
    """True if the kernels are CUDA C++: NVRTC compiles them, and tensor cores may multiply in tf32."""
    is_emulated: bool = False
    """True if the kernels run on the emulator."""
