"""`bb-run` for the targets that programs are compiled for: functions compiled, run and timed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

from ...dialects import kernel
from ...lowering.pipelines.choices import Choice
from ...passes.analysis.ranges import declare_ranges
from ...passes.analysis.traffic.arrays import difference_lines
from ...passes.analysis.traffic.kernel import moves_of_module
from ...passes.kernel.traffic import table_text
from ...runtime.api import compile_all
from ...runtime.arrays.dtypes import Array
from ...runtime.calls.compile_options import TIERS, CompileOptions, CudaOptions
from ...runtime.calls.library import Library
from ...runtime.calls.target import Target
from ...runtime.cuda.compile.resources import resource_table
from ...runtime.cuda.target import cuda_source
from ...runtime.executable.executable import Executable
from ...runtime.executable.ranges import extents_of
from ...runtime.executable.targets import INTERPRETER, listed_targets, source_of, target_named, targets_with
from ...runtime.host.threads import thread_count
from ...runtime.host.timing import duration, interleaved
from ...runtime.machine.limits import machine_limits
from ...runtime.profile.report import Profile
from ...runtime.profile.work import needs_double, work_of
from ...runtime.program.functions import public_functions, select_function
from ...runtime.tuning.choosing import choice_for
from ...runtime.tuning.keys import key_of
from ...runtime.tuning.request import Request
from ...runtime.tuning.store import find
from ..shared.files import ToolError
from .bench import Measurement
from .roofline import check_plot

INTERPRETER_ONLY = ("block", "block_size", "float64")
_TRAITS: Sequence[tuple[tuple[str, ...], Callable[[Target], bool]]] = (
    (("source", "no_cache"), lambda target: True),
    (("bench", "profile", "profile_json", "roofline"), lambda target: target.can_profile),
    (("threads",), lambda target: target.has_threads),
    (("tune", "choose"), lambda target: target.can_tune),
    (("report", "arch", "tf32"), lambda target: target.has_cuda_kernels),
    (("tier", "check_accesses"), lambda target: target.is_emulated),
)
"""Options, and the trait that a target must have for them."""
NOT_WITH_SOURCE = (
    *("input", "random", "extent", "check", "bench", "profile", "profile_json", "roofline"),
    *("threads", "output", "no_cache", "tier", "check_accesses", "tune"),
)
NOT_WITH_PASSES = ("tune", "choose")
ONLY_WITH_PROFILE = ("profile_json", "roofline")


def check_options(options: argparse.Namespace) -> None:
    """Raise ToolError for options that have no meaning together."""
    for name, targets in _targets_of_options().items():
        if _given(options, name) and options.target not in targets:
            own = listed_targets(targets)
            hint = "; block sizes are set by block-shapes{M=64} in -p" if name.startswith("block") else ""
            raise ToolError(f"{_option(name)} belongs to {own}, not to {options.target}{hint}")
    if options.report and options.source:
        raise ToolError("--source and --report both print and run nothing: ask for one")
    if options.report:
        for name in NOT_WITH_SOURCE:
            if _given(options, name) and name != "no_cache":
                raise ToolError(f"--report compiles and runs nothing: {_option(name)} has no meaning with it")
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


def _targets_of_options() -> dict[str, tuple[str, ...]]:
    """Return the names of the targets that options belong to, by the names of the options."""
    found: dict[str, tuple[str, ...]] = dict.fromkeys(INTERPRETER_ONLY, (INTERPRETER,))
    for names, trait in _TRAITS:
        found |= dict.fromkeys(names, targets_with(trait))
    return found


def _given(options: argparse.Namespace, name: str) -> bool:
    value: object = getattr(options, name)
    # Seed 0 is a seed, too.
    return value is not None and value is not False and value != []


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def cuda_options(options: argparse.Namespace) -> CudaOptions:
    """Return the options for compiling and running kernels for a GPU. Raises InputError."""
    return CudaOptions(
        arch=options.arch,
        tier=options.tier or TIERS[0],
        check=bool(options.check_accesses),
        tf32=bool(options.tf32),
    )


def _compile_options(program: ModuleOp, options: argparse.Namespace) -> CompileOptions:
    """Return the options for lowering a program to source. Raises what the choice of a pipeline raises."""
    functions = public_functions(program)
    entry: str | None = options.entry or (functions[0].sym_name.data if len(functions) == 1 else None)
    choice = None
    if target_named(options.target).can_tune and entry is not None and not options.passes:
        choice = _choice(program, entry, options)
    return CompileOptions(
        options.entry,
        options.passes or None,
        use_cache=not options.no_cache,
        target=options.target,
        cuda=cuda_options(options),
        choice=choice,
    )


def _check_kernels(library: Library) -> None:
    """Raise ToolError for a program without kernels."""
    if not kernel.kernels_of(library.module):
        raise ToolError("there is no source to print: nothing of the program becomes a kernel")


def source_text(program: ModuleOp, options: argparse.Namespace) -> str:
    """Return the source of the kernels: C++, or CUDA C++. Raises what the passes raise."""
    library = source_of(program, _compile_options(program, options))
    _check_kernels(library)
    return library.source


def resources_of(program: ModuleOp, options: argparse.Namespace) -> str:
    """Return tables of the kernels' resources and traffic, for a target with CUDA kernels.

    Raises CudaCompilerError, and what the passes raise.
    """
    pipeline = target_named(options.target).pipeline
    library = cuda_source(program, _compile_options(program, options), pipeline)
    _check_kernels(library)
    console = Console(width=120)
    with console.capture() as captured:
        console.print(resource_table(library.resources()))
    return captured.get() + "\n" + _traffic_of(library)


def _traffic_of(library: Library) -> str:
    """Return the kernels' traffic as text, with the differences from the block program."""
    moves = moves_of_module(library.module)
    text = table_text(moves)
    of_kernel = {each.name: each for each in moves}
    functions = [] if library.blocks is None else public_functions(library.blocks)
    for function in functions:
        launched = [
            of_kernel[op.kernel_name]
            for op in select_function(library.module, function.sym_name.data).walk()
            if isinstance(op, kernel.LaunchOp)
        ]
        if lines := difference_lines(function, launched):
            text += f"\nread by the kernels of @{function.sym_name.data}, and by their block program:\n"
            text += "".join(f"  {line}\n" for line in lines)
    return text


def _choice(program: ModuleOp, name: str, options: argparse.Namespace) -> Choice | None:
    """Return the choice for a function, from measurements or the model; None for the default."""
    request = Request(name, options.choose, options.tune, not options.no_cache)
    return choice_for(program, request)


def _for_extents(program: ModuleOp, arrays: Mapping[str, Sequence[Array]]) -> ModuleOp:
    """Return the program with ranges for the extents of the given arrays; itself, if none is unknown."""
    found = {name: extents_of(program, name, own) for name, own in arrays.items()}
    if not any(found.values()):
        return program
    program = program.clone()
    for name, extents in found.items():
        if extents:
            ranges = {dim: (extent, extent) for dim, extent in extents.items()}
            declare_ranges(select_function(program, name), ranges)
    return program


class Compiled:
    """Some functions of a program, compiled with the options of the command line."""

    def __init__(self, program: ModuleOp, arrays: Mapping[str, Sequence[Array]], options: argparse.Namespace):
        self.use_cache = not options.no_cache
        self.threads = thread_count(options.threads)
        self.target = target_named(options.target)
        self.cuda = cuda_options(options)
        pipeline: str | None = options.passes or None
        names = list(arrays)
        self.program, self.choices = program, dict[str, Choice | None]()
        if self.target.can_tune and not pipeline:
            meant = _for_extents(program, arrays)
            self.choices = {name: _choice(meant, name, options) for name in names}
            # Without a choice for these extents, it stays a program for all.
            chosen = options.tune is not None or options.choose is not None or any(self.choices.values())
            if chosen or meant is program:
                self.program = meant
            else:
                self.choices = {name: _choice(program, name, options) for name in names}
        program = self.program
        self.executables: Mapping[str, Executable]
        if options.entry is None and not any(self.choices.values()):
            self.executables = compile_all(
                program, pipeline=pipeline, use_cache=self.use_cache, target=self.target.name, cuda=self.cuda
            )
            return
        self.executables = {
            name: Executable(
                program,
                CompileOptions(
                    name,
                    pipeline,
                    (),
                    self.use_cache,
                    choice=self.choices.get(name),
                    target=self.target.name,
                    cuda=self.cuda,
                ),
            )
            for name in names
        }

    def chosen(self, name: str) -> list[str]:
        """Return lines on the choice made in place of the default, and on its measured gain."""
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

    @property
    def where(self) -> str:
        """Name of the device that runs the functions, for people."""
        return self.target.place(self.threads, self.cuda)

    def run(self, name: str, arrays: Sequence[Array]) -> list[Array]:
        """Return the results of a function. Raises InputError."""
        return self.executables[name].run_on_host_arrays(arrays, threads=self.threads)

    def profile(self, name: str, arrays: Sequence[Array]) -> Profile | None:
        """Return the profile of a function's calls; None if it has no kernels."""
        executable = self.executables[name]
        if not any(isinstance(op, kernel.LaunchOp) for op in executable.function.body.block.ops):
            return None
        return executable.profile(*arrays, threads=self.threads)

    def measure(self, cases: Sequence[tuple[str, Sequence[Array]]]) -> list[Measurement]:
        """Measure functions on their arrays; they take turns, and write to the same arrays always."""

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
