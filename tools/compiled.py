"""`bb-run --target cpu`: the functions of a program compiled, run on arrays and timed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..dialects import kernel
from ..lowering.choices import Choice
from ..passes.ranges import declare_ranges
from ..runtime.executable import Executable, compile_all
from ..runtime.interpreter import public_functions, select_function
from ..runtime.kernel_library import CompileOptions, KernelLibrary
from ..runtime.machine_limits import machine_limits
from ..runtime.profile import Profile
from ..runtime.scalar_semantics import Array
from ..runtime.threads import thread_count
from ..runtime.timing import duration, interleaved
from ..runtime.tuning.choosing import Request, choice_for
from ..runtime.tuning.keys import key_of
from ..runtime.tuning.store import find
from ..runtime.work import needs_double, work_of
from .benchmark import Measurement
from .common import sizes
from .files import ToolError
from .roofline import check_plot

INTERPRETER_ONLY = ("block", "block_size", "float64")
CPU_ONLY = ("source", "bench", "profile", "profile_json", "roofline", "threads", "no_cache", "tune", "choose")
NOT_WITH_SOURCE = (
    *("input", "random", "extent", "check", "bench", "profile", "profile_json", "roofline"),
    *("threads", "output", "no_cache", "tune"),
)
NOT_WITH_PASSES = ("tune", "choose")
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
    for name in NOT_WITH_PASSES if options.passes else ():
        if _given(options, name):
            raise ToolError(f"{_option(name)} decides which passes run, so it has no meaning with --passes")
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
    functions = public_functions(program)
    entry: str | None = options.entry or (functions[0].sym_name.data if len(functions) == 1 else None)
    choice = None if options.passes or entry is None else _choice(program, entry, options)
    asked = CompileOptions(options.entry, options.passes or None, choice=choice)
    library = KernelLibrary(program, asked, build=False)
    if not kernel.kernels_of(library.module):
        raise ToolError("there is no source to print: nothing of the program becomes a kernel")
    return library.source


def _choice(program: ModuleOp, name: str, options: argparse.Namespace) -> Choice | None:
    """How to compile a function: as was or is measured, or as the model says; None for the default."""
    request = Request(name, options.choose, options.tune, not options.no_cache)
    return choice_for(program, request)


def _for_extents(program: ModuleOp, functions: Sequence[FuncOp], options: argparse.Namespace) -> ModuleOp:
    """The program, meant for the extents that were given to its dims where these decide what is chosen."""
    given = {name: size for name, size in sizes(options.extent, "--extent").items() if name.isidentifier()}
    if not given or (options.tune is None and options.choose is None):
        return program
    program = program.clone()
    for function in functions:
        declare_ranges(
            select_function(program, function.sym_name.data), {n: (s, s) for n, s in given.items()}
        )
    return program


class Compiled:
    """Some functions of a program, compiled for the CPU with the options of the command line."""

    def __init__(self, program: ModuleOp, functions: Sequence[FuncOp], options: argparse.Namespace):
        self.program = _for_extents(program, functions, options)
        self.use_cache = not options.no_cache
        self.threads = thread_count(options.threads)
        pipeline: str | None = options.passes or None
        names = [function.sym_name.data for function in functions]
        program = self.program
        self.choices = {name: _choice(program, name, options) for name in names} if not pipeline else {}
        self.executables: Mapping[str, Executable]
        if options.entry is None and not any(self.choices.values()):
            self.executables = compile_all(program, pipeline=pipeline, use_cache=self.use_cache)
            return
        self.executables = {
            name: Executable(
                program,
                CompileOptions(name, pipeline, (), self.use_cache, choice=self.choices.get(name)),
            )
            for name in names
        }

    def chosen(self, name: str) -> list[str]:
        """What was chosen for a function in place of the default, and what that was found to be worth."""
        choice = self.choices.get(name)
        if choice is None:
            return []
        record = find(key_of(self.program, name)) if self.use_cache else None
        if record is None or record.choice != choice:
            return [f"  chosen: {choice}"]
        others = [("default", record.default_seconds), ("unfused", record.unfused_seconds)]
        times = [f"{what} {duration(seconds)}" for what, seconds in others if seconds is not None]
        found = f"{duration(record.seconds)}, the best of {record.measured} ways ({', '.join(times)})"
        return [f"  chosen: {choice}: {found}"]

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
