"""`bb-run --target cpu`, `cuda` and `emulator`: the functions of a program compiled, run and timed."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from rich.console import Console
from xdsl.dialects.builtin import ModuleOp

from ..dialects import kernel
from ..lowering.choices import Choice
from ..passes.array_traffic import difference_lines
from ..passes.kernel_moves import moves_of_module
from ..passes.kernel_traffic import table_text
from ..passes.ranges import declare_ranges
from ..runtime.cuda_compile.resources import resource_table
from ..runtime.cuda_library import CudaLibrary
from ..runtime.executable import Executable, compile_all
from ..runtime.interpreter import public_functions, select_function
from ..runtime.kernel_library import KernelLibrary
from ..runtime.lowered_program import DEFAULT_ARCH, TIERS, CompileOptions, CudaOptions
from ..runtime.machine_limits import machine_limits
from ..runtime.profile import Profile
from ..runtime.ranged import extents_of
from ..runtime.scalar_semantics import Array
from ..runtime.threads import thread_count
from ..runtime.timing import duration, interleaved
from ..runtime.tuning.choosing import Request, choice_for
from ..runtime.tuning.keys import key_of
from ..runtime.tuning.store import find
from ..runtime.work import needs_double, work_of
from .benchmark import Measurement
from .files import ToolError
from .roofline import check_plot

INTERPRETER_ONLY = ("block", "block_size", "float64")
COMPILED_ONLY = ("source", "no_cache")
CPU_ONLY = ("bench", "profile", "profile_json", "roofline", "threads", "tune", "choose")
GPU_ONLY = ("report", "arch", "tf32")
EMULATOR_ONLY = ("tier", "check_accesses")
_BELONG: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(INTERPRETER_ONLY, ("interpreter",)),
    **dict.fromkeys(COMPILED_ONLY, ("cpu", "cuda", "emulator")),
    **dict.fromkeys(CPU_ONLY, ("cpu",)),
    **dict.fromkeys(GPU_ONLY, ("cuda", "emulator")),
    **dict.fromkeys(EMULATOR_ONLY, ("emulator",)),
}
"""Targets that each option belongs to."""
NOT_WITH_SOURCE = (
    *("input", "random", "extent", "check", "bench", "profile", "profile_json", "roofline"),
    *("threads", "output", "no_cache", "tier", "check_accesses", "tune"),
)
NOT_WITH_PASSES = ("tune", "choose")
ONLY_WITH_PROFILE = ("profile_json", "roofline")


def check_options(options: argparse.Namespace) -> None:
    """Raise ToolError for options that have no meaning together."""
    for name, targets in _BELONG.items():
        if _given(options, name) and options.target not in targets:
            own = " and ".join(filter(None, (", ".join(targets[:-1]), targets[-1])))
            plural = "s" if len(targets) > 1 else ""
            hint = "; block sizes are set by block-shapes{M=64} in -p" if name.startswith("block") else ""
            raise ToolError(
                f"{_option(name)} belongs to the target{plural} {own}, not to {options.target}{hint}"
            )
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


def _lowered(program: ModuleOp, options: argparse.Namespace) -> KernelLibrary | CudaLibrary:
    """The kernels as source, which no compiler has seen. Raises what the passes raise."""
    functions = public_functions(program)
    entry: str | None = options.entry or (functions[0].sym_name.data if len(functions) == 1 else None)
    choice = None
    if options.target == "cpu" and entry is not None and not options.passes:
        choice = _choice(program, entry, options)
    compile_options = CompileOptions(
        options.entry,
        options.passes or None,
        use_cache=not options.no_cache,
        target=options.target,
        cuda=cuda_options(options),
        choice=choice,
    )
    library: KernelLibrary | CudaLibrary
    if options.target == "cpu":
        library = KernelLibrary(program, compile_options, build=False)
    else:
        library = CudaLibrary(program, compile_options)
    if not kernel.kernels_of(library.module):
        raise ToolError("there is no source to print: nothing of the program becomes a kernel")
    return library


def source_of(program: ModuleOp, options: argparse.Namespace) -> str:
    """The source of the kernels: C++, or CUDA C++. Raises what the passes raise."""
    return _lowered(program, options).source


def resources_of(program: ModuleOp, options: argparse.Namespace) -> str:
    """Return tables of the kernels' resources and traffic. Raises CudaCompilerError, and what the
    passes raise.
    """
    library = _lowered(program, options)
    assert isinstance(library, CudaLibrary)
    console = Console(width=120)
    with console.capture() as captured:
        console.print(resource_table(library.resources()))
    return captured.get() + "\n" + _traffic_of(library)


def _traffic_of(library: CudaLibrary) -> str:
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
        self.target: str = options.target
        self.cuda = cuda_options(options)
        pipeline: str | None = options.passes or None
        names = list(arrays)
        self.program, self.choices = program, dict[str, Choice | None]()
        if self.target == "cpu" and not pipeline:
            meant = _for_extents(program, arrays)
            self.choices = {name: _choice(meant, name, options) for name in names}
            # Where nothing is chosen for these extents, it stays a program for all.
            chosen = options.tune is not None or options.choose is not None or any(self.choices.values())
            if chosen or meant is program:
                self.program = meant
            else:
                self.choices = {name: _choice(program, name, options) for name in names}
        program = self.program
        self.executables: Mapping[str, Executable]
        if options.entry is None and not any(self.choices.values()):
            self.executables = compile_all(
                program, pipeline=pipeline, use_cache=self.use_cache, target=self.target, cuda=self.cuda
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
                    target=self.target,
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
        match self.target:
            case "cpu":
                return f"the cpu, {self.threads} thread{'s' if self.threads > 1 else ''}"
            case "emulator":
                tier = "PTX of " + (self.cuda.arch or DEFAULT_ARCH) if self.cuda.tier == "ptx" else "source"
                return f"the emulator ({tier} tier, {'check' if self.cuda.check else 'fast'} mode): emulated"
            case _:
                return "the GPU"

    def run(self, name: str, arrays: Sequence[Array]) -> list[Array]:
        """The results of a function. Raises InputError."""
        executable = self.executables[name]
        if self.target == "cuda":
            return executable.run_on_host_arrays(arrays)
        found = executable(*arrays, threads=self.threads)
        return list(found) if isinstance(found, tuple) else [found]

    def profile(self, name: str, arrays: Sequence[Array]) -> Profile | None:
        """Return the profile of a function's calls; None if it has no kernels."""
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
