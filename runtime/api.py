"""`bb.run` and `bb.compile`: programs run and compiled from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..lowering.frontends.mlir_text import parse
from .arrays.dtypes import Array
from .calls.compile_options import CompileOptions, CudaOptions
from .errors import InputError
from .executable.targets import (
    INTERPRETER,
    TARGETS,
    check_target,
    library_of,
    listed_targets,
    target_named,
    targets_with,
)
from .interpreter.arrays import Callback
from .interpreter.blocks import DEFAULT_BLOCK_SIZE
from .interpreter.functions import interpret
from .program.constants import declare_constants
from .program.functions import public_functions, select_function
from .program.hard_inputs import hard_inputs as hard_inputs_of
from .program.inputs import check_block_sizes, ordered_inputs
from .program.inputs import random_inputs as random_inputs_of
from .tuning.request import Request

if TYPE_CHECKING:  # what only interprets programs need not wait for it
    from .executable.executable import Executable
    from .executable.ranges import RangedExecutable, Ranges


def run(
    module: ModuleOp | str | os.PathLike[str],
    inputs: Sequence[object] | Mapping[str, object] = (),
    target: str = INTERPRETER,
    *,
    entry: str | None = None,
    float64: bool = False,
    block_sizes: Mapping[str, int] | None = None,
    default_block_size: int | None = None,
    callbacks: Mapping[str, Callback] | None = None,
) -> Array | tuple[Array, ...]:
    """Run a function of a program on arrays; returns one array, or a tuple where there is not one result.

    `target` is `interpreter`, which runs a program of arrays or blocks as it stands, or one that compiles it
    first, `cpu`, `cuda` or `emulator`; `bb.compile` gives what can be called again without that.

    `module` is a program, its text, or the path of its file. `inputs` are arrays in the order of the
    arguments, or a mapping from their names; they are rounded to the arguments' dtypes. `entry` names the
    function where there are several public ones. With `float64`, floats are computed as float64 (inputs are
    not rounded). `block_sizes` cuts dims whose block size the program leaves open, `default_block_size` the
    rest (64). These three are for the interpreter alone. `callbacks` are the functions that `array.custom`
    and `block.custom` call.

    Raises InputError for inputs that do not fit, InterpreterError for a program that cannot be evaluated, and
    what `parse` and, for `cpu`, `bb.compile` raise.
    """
    check_target(target)
    program = module if isinstance(module, ModuleOp) else parse(module)
    function = select_function(program, entry)
    if target in TARGETS:
        if float64:
            raise InputError("compiled code computes in the program's own types, not in float64")
        if block_sizes or default_block_size is not None:
            raise InputError(
                "block sizes are for the interpreter: compiled code has those of the pass block-shapes, "
                "as block-shapes{M=64} in the pipeline of bb.compile"
            )
        return _run_compiled(program, function, inputs, target, callbacks)
    check_block_sizes([function], block_sizes or {})
    found = interpret(
        program,
        ordered_inputs(function, inputs, float64=float64),
        entry=function.sym_name.data,
        float64=float64,
        block_sizes=block_sizes,
        default_block_size=DEFAULT_BLOCK_SIZE if default_block_size is None else default_block_size,
        callbacks=callbacks,
    )
    return found.results[0] if len(found.results) == 1 else tuple(found.results)


def _run_compiled(
    program: ModuleOp,
    function: FuncOp,
    inputs: Sequence[object] | Mapping[str, object],
    target: str,
    callbacks: Mapping[str, Callback] | None,
) -> Array | tuple[Array, ...]:
    executable = compile_program(program, target=target, entry=function.sym_name.data, callbacks=callbacks)
    if not target_named(target).host_arrays:  # arrays on a device stay there
        if not isinstance(inputs, Mapping):
            return executable(*inputs)
        return executable(*(inputs[name] for name in executable.argument_names if name in inputs))
    return executable(*ordered_inputs(function, inputs))


class CompileArguments(TypedDict, total=False):
    """Arguments of `compile_program` by name, but for `dims`, which decides what it returns."""

    target: str
    entry: str | None
    pipeline: str | None
    constants: Sequence[str]
    use_cache: bool
    callbacks: Mapping[str, Callback] | None
    choose: str | None
    tune: float | None
    progress: bool | None
    cuda: CudaOptions | None


@overload
def compile_program(
    module: ModuleOp | str | os.PathLike[str], *, dims: None = None, **arguments: Unpack[CompileArguments]
) -> Executable: ...
@overload
def compile_program(
    module: ModuleOp | str | os.PathLike[str], *, dims: Ranges, **arguments: Unpack[CompileArguments]
) -> RangedExecutable: ...
def compile_program(
    module: ModuleOp | str | os.PathLike[str],
    *,
    target: str = "cpu",
    entry: str | None = None,
    pipeline: str | None = None,
    constants: Sequence[str] = (),
    use_cache: bool = True,
    callbacks: Mapping[str, Callback] | None = None,
    choose: str | None = None,
    tune: float | None = None,
    progress: bool | None = None,
    cuda: CudaOptions | None = None,
    dims: Ranges | None = None,
) -> Executable | RangedExecutable:
    """Compile a function of a program for a target, `cpu`, `cuda` or `emulator`; `bb.compile`.

    `module` is a program, its text, or the path of its file, at any level: arrays, blocks or kernels. `entry`
    names the function where there are several public ones. `pipeline` replaces the target's default passes,
    of which a program on blocks or kernels gets those that it has not gone through. With `use_cache=False`
    the C++ is compiled for this process alone. `callbacks` are the functions that `array.custom` calls.
    `constants` names arguments that are the same in every call (as the attribute `bb.constant` on them does):
    what depends on them alone gets kernels of its own, which `Executable.prepare` runs once, and a call
    without it every time. `cuda` says how kernels for a GPU are compiled, and run on the emulator.

    How the program is fused and cut into blocks is what was measured to be best for it on this machine, if
    that is in the user's cache; else `tune` measures for about so many seconds, and keeps what it finds there
    (`progress=False`: without a bar on the terminal). Without either the default pipeline's rules decide, or
    with `choose="model"` the cost model; with `choose="rules"` they do whatever was measured.

    `dims` gives ranges to unknown extents, as `{"M": (1, 8)}` or `{"M": [(1, 8), (9, 512)]}`: the program is
    compiled once for each, as is best there, and a call takes what was compiled for its extents. A range from
    few rows to many is cut in two. Each range is tuned by itself, at its largest extent.

    Raises InputError (no such function or target, no device), PipelineError (passes that are unknown, or that
    leave something else than kernels), HostCompilerError (no C++ compiler, or it refuses the source), and
    what the passes and `parse` raise.
    """
    from .executable.executable import Executable
    from .executable.ranges import compile_ranges
    from .tuning.choosing import choice_for

    own = target_named(target)
    program = module if isinstance(module, ModuleOp) else parse(module)
    if constants:
        program = program.clone()
        declare_constants(select_function(program, entry), constants)
    if pipeline is not None and (tune is not None or choose is not None):
        raise InputError("tune and choose decide which passes run, so they have no meaning with a pipeline")
    if not own.can_tune and (tune is not None or choose is not None):
        able = listed_targets(targets_with(lambda each: each.can_tune))
        raise InputError(f"tune and choose belong to {able}, not to {target}")
    options = CompileOptions(entry, pipeline, use_cache=use_cache, target=target, cuda=cuda or CudaOptions())
    request = Request(entry, choose, tune, use_cache, progress, callbacks)

    def compiled(program: ModuleOp) -> Executable:
        choice = choice_for(program, request) if own.can_tune and pipeline is None else None
        return Executable(program, replace(options, choice=choice), callbacks)

    return compiled(program) if dims is None else compile_ranges(program, entry, dims, compiled)


def compile_all(
    module: ModuleOp | str | os.PathLike[str],
    *,
    pipeline: str | None = None,
    sanitize: Sequence[str] = (),
    use_cache: bool = True,
    counting: bool = False,
    target: str = "cpu",
    cuda: CudaOptions | None = None,
) -> dict[str, Executable]:
    """Compile all public functions of a program into one library; the functions by name. See
    `compile_program`.
    """
    from .executable.executable import Executable

    program = module if isinstance(module, ModuleOp) else parse(module)
    options = CompileOptions(
        None, pipeline, tuple(sanitize), use_cache, counting, target=target, cuda=cuda or CudaOptions()
    )
    library = library_of(program, options)
    names = [function.sym_name.data for function in public_functions(library.module)]
    return {name: Executable(program, replace(options, entry=name), library=library) for name in names}


def random_inputs(
    module: ModuleOp | str | os.PathLike[str],
    seed: int = 0,
    *,
    entry: str | None = None,
    extents: Mapping[str, int] | None = None,
) -> list[Array]:
    """Return random arrays for the arguments of a function, as `bb-run --random` makes them.

    `extents` gives extents that are unknown: `{"q.0": 33}` for axis 0 of argument `q`, or `{"M": 33}` for the
    dim of that name. Raises InputError.
    """
    program = module if isinstance(module, ModuleOp) else parse(module)
    return random_inputs_of(select_function(program, entry), seed, extents)


def hard_inputs(
    module: ModuleOp | str | os.PathLike[str],
    seed: int = 0,
    *,
    entry: str | None = None,
    extents: Mapping[str, int] | None = None,
) -> dict[str, list[Array]]:
    """Return arrays at which floating point and integers go wrong, as `bb-run --random hard:SEED` makes them.

    The keys say what is hard about the arrays: outliers, large and tiny numbers, NaN and infinities, garbage
    that masks hide, and so on. The first one, `ordinary`, has those of `random_inputs`. Raises InputError.
    """
    program = module if isinstance(module, ModuleOp) else parse(module)
    cases = hard_inputs_of(select_function(program, entry), seed, extents)
    return {case.name: case.arrays for case in cases}
