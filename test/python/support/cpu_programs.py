"""Many programs compiled for the CPU at once, and their results against the float64 interpreter.

One library for many functions costs little more than one for each: most of a compilation is the tile library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
from bb.dialects import block
from bb.dialects.parsing import parse_module
from bb.lowering.emit.cpp import stages
from bb.lowering.pipelines import PIPELINES, PassPipeline
from bb.runtime.api import compile_all
from bb.runtime.checking.tolerances import BOUNDS, compare
from bb.runtime.executable.executable import Executable
from bb.runtime.interpreter.functions import interpret
from bb.runtime.program.functions import public_functions
from bb.runtime.program.inputs import ordered_inputs
from example_programs import Case, cases, odd_sizes, resized
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

Array = NDArray[Any]

AFTER_BLOCKS = PIPELINES["cpu"].partition("array-to-block,")[2]
"""The passes of the CPU target for a program of blocks."""

SHAPES = ("given", "ones", "primes", "past_block")


@dataclass(frozen=True)
class Program:
    """A function of a module with many, its float64 inputs, and what makes it up."""

    name: str
    inputs: Sequence[Array]


@contextmanager
def shared_out_always() -> Iterator[None]:
    """Kernels that are compiled here share out the iterations of their loops, whatever their number."""
    with (
        mock.patch.object(stages, "PIECES", 40),
        mock.patch.object(stages, "PIECE_WORK", 1),
        mock.patch.object(stages, "REPEATED", 0),
    ):
        yield


def renamed(text: str, entry: str, name: str) -> FuncOp:
    """The function `entry` of a program, on its own and under another name."""
    for function in public_functions(parse_module(text)):
        if function.sym_name.data == entry:
            function.detach()
            function.sym_name = StringAttr(name)
            return function
    raise AssertionError(f"there is no function {entry}")


def example_programs(
    dtype: str, shape: str, names: Iterable[str] | None = None
) -> tuple[ModuleOp, list[Program]]:
    """All functions of the examples in one module: those at the extents of `shape`, in `dtype`."""
    functions: list[FuncOp] = []
    programs: list[Program] = []
    for case in cases():
        if names is not None and case.name not in names:
            continue
        sizes = {} if shape == "given" else odd_sizes(case.name)[shape]
        text, dims = resized(case.name, sizes, dtype)
        name = str(case).replace("-", "_")
        functions.append(renamed(text, case.entry, name))
        programs.append(Program(name, _inputs(case, dims)))
    return ModuleOp(functions), programs


def _inputs(case: Case, dims: Mapping[str, int]) -> list[Array]:
    # With most seeds the only element of one result nearly cancels where all extents are 1.
    return case.inputs(dims, seed=2)


@cache
def compiled_examples(
    dtype: str, shape: str, pipeline: str | None = None, block_size: int | None = None
) -> tuple[ModuleOp, list[Program], dict[str, Executable]]:
    """`example_programs`, and the executables by name; `block_size` is one for all dims but batches."""
    module, programs = example_programs(dtype, shape)
    if block_size is None:
        return module, programs, compile_all(module, pipeline=pipeline)
    blocks = as_blocks(module, block_size)
    return module, programs, compile_all(blocks, pipeline=pipeline or AFTER_BLOCKS)


def as_blocks(module: ModuleOp, block_size: int) -> ModuleOp:
    """An array program as a block program in which every dim is cut into blocks of one size."""
    blocks = module.clone()
    PassPipeline("array-decompose,array-to-block").run(blocks)
    for function in public_functions(blocks):
        dims = block.parse_dims(function.attributes[block.DIMS])
        sized = {name: dim if dim.is_batch else dim.with_block_size(block_size) for name, dim in dims.items()}
        function.attributes[block.DIMS] = block.dims_attr(sized)
    return blocks


def as_tuple(results: Array | tuple[Array, ...]) -> tuple[Array, ...]:
    return results if isinstance(results, tuple) else (results,)


def faults(module: ModuleOp, program: Program, executable: Executable, bound: float) -> list[str]:
    """Faults in the results of one program: too far from float64, or different on one thread."""
    inputs = ordered_inputs(executable.function, program.inputs, float64=False)
    results = as_tuple(executable(*inputs, threads=2))
    alone = as_tuple(executable(*inputs, threads=1))
    wanted = interpret(module, inputs, entry=program.name, float64=True).results
    found: list[str] = []
    for number, (got, serial, reference) in enumerate(zip(results, alone, wanted, strict=True)):
        comparison = compare(got, reference, bound)
        if not comparison.within:
            found.append(
                f"{program.name}: result {number} is off by {comparison.relative:.2e} (bound {bound:g})"
            )
        if got.tobytes() != serial.tobytes():
            found.append(f"{program.name}: result {number} differs between two threads and one")
    return found


def all_faults(
    dtype: str, shape: str, pipeline: str | None = None, block_size: int | None = None
) -> list[str]:
    """The faults of all examples."""
    module, programs, executables = compiled_examples(dtype, shape, pipeline, block_size)
    return [
        fault
        for program in programs
        for fault in faults(module, program, executables[program.name], BOUNDS[dtype])
    ]


def random_array(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)
