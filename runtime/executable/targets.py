"""The table of targets: a new one is a module such as `runtime/cpu/target.py`, and a row here."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.dialects.builtin import ModuleOp

from ..calls.compile_options import CompileOptions
from ..calls.library import Library
from ..calls.target import Target
from ..cpu.target import CPU
from ..cuda.emulator_target import EMULATOR
from ..cuda.target import CUDA
from ..errors import InputError

TARGETS: dict[str, Target] = {target.name: target for target in (CPU, CUDA, EMULATOR)}
"""The targets that programs are compiled for, by name."""

INTERPRETER = "interpreter"
"""The name of the interpreter, which runs programs of arrays or blocks without compiling them."""


def target_named(name: str) -> Target:
    """Return the target of a name. Raises InputError for an unknown name."""
    if name not in TARGETS:
        raise InputError(f"programs are compiled for the targets {', '.join(TARGETS)}, not for '{name}'")
    return TARGETS[name]


def check_target(name: str) -> None:
    """Raise InputError for a name that is neither a target nor the interpreter."""
    names = names_of_targets()
    if name not in names:
        raise InputError(f"target '{name}' is unknown; programs run on: {', '.join(names)}")


def names_of_targets() -> tuple[str, ...]:
    """Names of everything that can run programs: the interpreter, and the targets."""
    return INTERPRETER, *TARGETS


def targets_with(trait: Callable[[Target], bool]) -> tuple[str, ...]:
    """Names of the targets that have a trait."""
    return tuple(target.name for target in TARGETS.values() if trait(target))


def listed_targets(names: Iterable[str]) -> str:
    """Return the names of targets for a sentence: `the target cpu`, `the targets cuda and emulator`."""
    *others, last = names
    return f"the targets {', '.join(others)} and {last}" if others else f"the target {last}"


def library_of(program: ModuleOp, options: CompileOptions) -> Library:
    """Compile the kernels of a program for a target, ready to be launched.

    Raises InputError if the target is unknown or has no device here, and what passes and compilers raise.
    """
    target = _checked(options)
    return target.library(program, options, target.pipeline)


def source_of(program: ModuleOp, options: CompileOptions) -> Library:
    """Lower a program to a target's source, without compiling it. Raises what the passes raise."""
    target = _checked(options)
    return target.source(program, options, target.pipeline)


def _checked(options: CompileOptions) -> Target:
    target = target_named(options.target)
    if options.cuda.tf32 and not target.has_cuda_kernels:
        able = listed_targets(targets_with(lambda each: each.has_cuda_kernels))
        raise InputError(f"tf32 belongs to {able}: a CPU multiplies f32 exactly")
    return target
