"""Minimal work of a program on given arrays: flops of contractions, and bytes that it must touch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ...dialects import block
from ...lowering.pipelines import PassPipeline
from ...lowering.pipelines.levels import functions_of, is_block_program, is_launcher
from ...passes.analysis.traffic.block import contraction_flops, values_for
from ..arrays.dtypes import Array
from ..interpreter.blocks import DEFAULT_BLOCK_SIZE, Dims
from ..program.functions import select_function

TO_BLOCKS = "array-decompose,array-to-block"


@dataclass(frozen=True)
class Work:
    """Flops of contractions, a multiply-add as two; bytes of every input once and every result once.

    Repeated work of fusion, and work that a mask saves, are not considered. `flops` is None if it is unknown:
    for a program that was given as kernels.
    """

    flops: int | None
    bytes: int


def work_of(program: ModuleOp, entry: str, inputs: Sequence[Array], results: Sequence[Array]) -> Work:
    """Return the work of a function of a program, before any fusion, on some inputs.

    Raises what the passes from arrays to blocks raise.
    """
    function = select_function(program, entry)
    if is_launcher(function):
        flops = None
    else:
        if not is_block_program(function):
            program = PassPipeline(TO_BLOCKS).run(program.clone())
            function = select_function(program, entry)
        flops = _flops(function, inputs)
    return Work(flops, sum(array.nbytes for array in (*inputs, *results)))


def _flops(function: FuncOp, inputs: Sequence[Array]) -> int | None:
    dims = Dims(block.declared_dims(function) or {}, {}, DEFAULT_BLOCK_SIZE)
    arrays: dict[SSAValue, Array] = dict(zip(function.body.block.args, inputs, strict=True))
    for op in function.body.block.ops:
        if isinstance(op, block.PartitionOp) and op.tensor in arrays:
            dims.bind(op, arrays[op.tensor].shape)
    sizes = {name: dims.size(name, function) for name in dims.declared if name in dims.extents}
    try:
        return contraction_flops(function).evaluate(values_for(dims.extents, sizes))
    except KeyError:  # the extent of a dim that no argument has
        return None


def needs_double(program: ModuleOp) -> bool:
    """True if a program has arrays in float64, which are computed at half the speed."""
    types = (str(type) for function in functions_of(program) for type in function.function_type.inputs)
    return any(type.endswith("f64>") for type in types)
