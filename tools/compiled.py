"""`bb-run --target cpu`: the functions of a program compiled, run on arrays and timed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..dialects import kernel
from ..runtime.executable import Executable, compile_all, compile_program
from ..runtime.kernel_library import CompileOptions, KernelLibrary
from ..runtime.machine_limits import machine_limits
from ..runtime.profile import Profile
from ..runtime.scalar_semantics import Array
from ..runtime.threads import thread_count
from ..runtime.timing import interleaved
from ..runtime.work import needs_double, work_of
from .benchmark import Measurement
from .files import ToolError
from .roofline import check_plot

INTERPRETER_ONLY = ("block", "block_size", "float64")
CPU_ONLY = ("source", "bench", "profile", "profile_json", "roofline", "threads", "no_cache")
NOT_WITH_SOURCE = (
    *("input", "random", "extent", "check", "bench", "profile", "profile_json", "roofline"),
    *("threads", "output", "no_cache"),
)
ONLY_WITH_PROFILE = ("profile_json", "roofline")


def check_options(options: argparse.Namespace) -> None:
    """Raise ToolError for options that have no meaning together."""
    on_cpu = options.target == "cpu"
    for name in INTERPRETER_ONLY if on_cpu else CPU_ONLY:
        if _given(options, name):
            own = "interpreter" if on_cpu else "cpu"
            hint = "; block sizes are set by block-shapes{M=64} in -p" if name.startswith("block") else ""
            raise ToolError(f"{_option(name)} belongs to the target {own}, not to {options.target}{hint}")
    for name in NOT_WITH_SOURCE if options.source else ():
        if _given(options, name):
            raise ToolError(
                f"--source prints the source and runs nothing: {_option(name)} has no meaning with it"
            )
    for name in ONLY_WITH_PROFILE if not options.profile else ():
        if _given(options, name):
            raise ToolError(f"{_option(name)} writes a profile, so it needs --profile")
    if options.roofline is not None:
        check_plot(options.roofline)


def _given(options: argparse.Namespace, name: str) -> bool:
    value: object = getattr(options, name)
    # Seed 0 is a seed, too.
    return value is not None and value is not False and value != []


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def source_of(program: ModuleOp, options: argparse.Namespace) -> str:
    """The C++ source of the kernels, which no compiler has seen. Raises what the passes raise."""
    library = KernelLibrary(program, CompileOptions(options.entry, options.passes or None), build=False)
    if not kernel.kernels_of(library.module):
        raise ToolError("there is no source to print: nothing of the program becomes a kernel")
    return library.source


class Compiled:
    """Some functions of a program, compiled for the CPU with the options of the command line."""

    def __init__(self, program: ModuleOp, functions: Sequence[FuncOp], options: argparse.Namespace):
        self.program = program
        self.use_cache = not options.no_cache
        self.threads = thread_count(options.threads)
        pipeline: str | None = options.passes or None
        self.executables: Mapping[str, Executable]
        if options.entry is not None:
            names = [function.sym_name.data for function in functions]
            self.executables = {
                name: compile_program(program, entry=name, pipeline=pipeline, use_cache=self.use_cache)
                for name in names
            }
        else:
            self.executables = compile_all(program, pipeline=pipeline, use_cache=self.use_cache)

    def run(self, name: str, arrays: Sequence[Array]) -> list[Array]:
        """The results of a function. Raises InputError."""
        found = self.executables[name](*arrays, threads=self.threads)
        return list(found) if isinstance(found, tuple) else [found]

    def profile(self, name: str, arrays: Sequence[Array]) -> Profile | None:
        """Where the time of a function's calls goes; None where it has no kernels."""
        executable = self.executables[name]
        if not any(isinstance(op, kernel.LaunchOp) for op in executable.function.body.block.ops):
            return None
        return executable.profile(*arrays, threads=self.threads)

    def measure(self, cases: Sequence[tuple[str, Sequence[Array]]]) -> list[Measurement]:
        """The times of functions on their arrays; they take turns, and write to the same arrays always."""

        def call(name: str, arrays: Sequence[Array], outputs: list[Array]) -> None:
            self.executables[name](*arrays, out=outputs, threads=self.threads)

        limits = machine_limits(self.threads, self.use_cache)
        double = needs_double(self.program)
        results = [
            # What a call gives may be read-only: a view of something else.
            [np.empty(result.shape, result.dtype) for result in self.run(name, arrays)]
            for name, arrays in cases
        ]
        calls = [
            partial(call, name, arrays, outputs)
            for (name, arrays), outputs in zip(cases, results, strict=True)
        ]
        return [
            Measurement(seconds, work_of(self.program, name, arrays, outputs), limits, double)
            for seconds, (name, arrays), outputs in zip(interleaved(calls), cases, results, strict=True)
        ]
