"""Running programs from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ..lowering.programs import parse
from .array_interpreter import Callback
from .block_interpreter import DEFAULT_BLOCK_SIZE
from .inputs import check_block_sizes, ordered_inputs
from .inputs import random_inputs as random_inputs_of
from .interpreter import InputError, interpret, select_function
from .scalar_semantics import Array

TARGETS: tuple[str, ...] = ("interpreter", "cpu", "cuda", "emulator")
"""What programs run on."""


def check_target(target: str) -> None:
    """Raise InputError for a target that there is not."""
    if target not in TARGETS:
        raise InputError(f"target '{target}' is unknown; programs run on: {', '.join(TARGETS)}")


def run(
    module: ModuleOp | str | os.PathLike[str],
    inputs: Sequence[object] | Mapping[str, object] = (),
    target: str = "interpreter",
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
    if target != "interpreter":
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
    from .executable import compile_program

    executable = compile_program(program, target=target, entry=function.sym_name.data, callbacks=callbacks)
    if target == "cuda":  # arrays on the device stay there
        if not isinstance(inputs, Mapping):
            return executable(*inputs)
        return executable(*(inputs[name] for name in executable.argument_names if name in inputs))
    return executable(*ordered_inputs(function, inputs))


def random_inputs(
    module: ModuleOp | str | os.PathLike[str],
    seed: int = 0,
    *,
    entry: str | None = None,
    extents: Mapping[str, int] | None = None,
) -> list[Array]:
    """Random arrays for the arguments of a function, as `bb-run --random` makes them.

    `extents` gives extents that are unknown: `{"q.0": 33}` for axis 0 of argument `q`, or `{"M": 33}` for the
    dim of that name. Raises InputError.
    """
    program = module if isinstance(module, ModuleOp) else parse(module)
    return random_inputs_of(select_function(program, entry), seed, extents)
