"""The record of a target: functions that compile for it and run its kernels, and its traits."""

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

    `pipeline` is the passes from arrays to kernels, if a caller gives none. `library` compiles a program.
    `source` only lowers it: the result has a source, but no kernels to call. Both should import the modules
    that they need when they are called, so that other targets do not wait for these imports. `place` returns
    text for people that says where a function ran, from its threads and options.
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
    """True if calls take numpy arrays, and objects that numpy can convert."""
    has_threads: bool = False
    """True if kernels run on as many threads of the CPU as a call asks for."""
    can_tune: bool = False
    """True if fusion and block sizes can be chosen by measurements, or by the cost model."""
    can_profile: bool = False
    """True if calls can be timed, and compared with the limits of the CPU."""
    has_cuda_kernels: bool = False
    """True if the kernels are CUDA C++: NVRTC compiles them, and tensor cores may multiply in tf32."""
    is_emulated: bool = False
    """True if the kernels run on the emulator."""
