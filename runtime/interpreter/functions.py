"""The reference interpreter: runs the functions of a module, of arrays and of blocks, on numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import block
from ...dialects.array import DYNAMIC, shape_text
from ...dialects.block import DIMS
from ..arrays.dtypes import Array, numpy_dtype, to_dtype
from ..errors import InputError, InterpreterError
from ..program.functions import select_function
from .arrays import Callback, evaluate_array_op
from .blocks import DEFAULT_BLOCK_SIZE, BlockInterpreter, Counts, Dims, Value

__all__ = ["Counts", "Run", "interpret"]


@dataclass
class Run:
    """Outcome of a run of one function: results, counts, and the dims' extents and block sizes."""

    results: list[Array]
    counts: Counts = field(default_factory=Counts)
    extents: dict[str, int] = field(default_factory=dict[str, int])
    block_sizes: dict[str, int] = field(default_factory=dict[str, int])


def interpret(
    module: ModuleOp,
    inputs: Sequence[object],
    *,
    entry: str | None = None,
    float64: bool = False,
    block_sizes: Mapping[str, int] | None = None,
    default_block_size: int = DEFAULT_BLOCK_SIZE,
    callbacks: Mapping[str, Callback] | None = None,
    padded: bool = False,
) -> Run:
    """Run a function on arrays, one for each argument.

    Arrays are converted to the arguments' element types. With `float64`, every float type is computed as
    float64. `block_sizes` and `default_block_size` cut the dims whose block size the program leaves open.
    Raises InputError for arrays that do not fit the arguments, and InterpreterError for a program that cannot
    be evaluated.
    """
    function = select_function(module, entry)
    for dim, size in (("every dim", default_block_size), *(block_sizes or {}).items()):
        if size < 1:
            raise InputError(f"the block size of {dim} must be at least 1, got {size}")
    machine = _Machine(module, float64, block_sizes or {}, default_block_size, callbacks or {}, padded)
    return machine.call(function, _check_inputs(function, inputs, float64))


def _check_inputs(function: FuncOp, inputs: Sequence[object], float64: bool) -> list[Array]:
    name, types = function.sym_name.data, function.function_type.inputs.data
    if len(inputs) != len(types):
        raise InputError(f"'{name}' takes {len(types)} arrays, got {len(inputs)}")
    extents: list[Array] = []
    for index, (array, type) in enumerate(zip(inputs, types, strict=True)):
        argument = f"argument {index} of '{name}'"
        hint = function.body.block.args[index].name_hint
        if hint:
            argument = f"argument %{hint} of '{name}'"
        if not isinstance(type, TensorType):
            raise InputError(f"{argument} has type {type}, only arrays can be given")
        tensor = cast("TensorType[Attribute]", type)
        try:
            value = np.asarray(array)
        except ValueError as error:
            raise InputError(f"{argument} is no array: {error}") from error
        shape = tensor.get_shape()
        if value.ndim != len(shape) or any(
            extent not in (DYNAMIC, given) for extent, given in zip(shape, value.shape, strict=True)
        ):
            raise InputError(f"{argument} has shape {list(value.shape)}, expected {shape_text(shape)}")
        if value.size == 0:
            raise InputError(
                f"{argument} is empty (shape {list(value.shape)}), every extent must be at least 1"
            )
        if value.dtype.kind not in "fiubV" or (value.dtype.kind == "V" and value.dtype.fields is not None):
            raise InputError(f"{argument} has dtype {value.dtype}, expected numbers")
        extents.append(to_dtype(value, numpy_dtype(tensor.element_type, float64)))
    return extents


@dataclass
class _Machine:
    module: ModuleOp
    float64: bool
    block_sizes: Mapping[str, int]
    default_block_size: int
    callbacks: Mapping[str, Callback]
    padded: bool
    depth: int = 0

    def call(self, function: FuncOp, arguments: Sequence[Array]) -> Run:
        if len(function.body.blocks) != 1:
            raise InterpreterError(
                f"function '{function.sym_name.data}' must have one block to be interpreted", function
            )
        attribute = function.attributes.get(DIMS)
        dims = Dims(
            block.parse_dims(attribute) if attribute is not None else {},
            self.block_sizes,
            self.default_block_size,
        )
        blocks = BlockInterpreter(dims, float64=self.float64, callbacks=self.callbacks, padded=self.padded)
        body = function.body.block
        values: dict[SSAValue, Value] = dict(zip(body.args, arguments, strict=True))
        # A dim of unknown extent may be iterated over before the array that gives its extent is cut.
        for op in body.ops:
            if isinstance(op, block.PartitionOp) and op.tensor in values:
                dims.bind(op, cast(Array, values[op.tensor]).shape)
        run = Run([], blocks.counts, dims.extents)
        for op in body.ops:
            if isinstance(op, ReturnOp):
                run.results = [
                    np.ascontiguousarray(cast(Array, values[v])).reshape(np.shape(values[v]))
                    for v in op.arguments
                ]
                break
            self._evaluate(op, values, blocks)
        run.block_sizes = {name: dims.size(name, function) for name in dims.declared if name in dims.extents}
        return run

    def _evaluate(self, op: Operation, values: dict[SSAValue, Value], blocks: BlockInterpreter) -> None:
        if op.name.startswith("block."):
            blocks.evaluate(op, values)
            return
        operands = [cast(Array, values[value]) for value in op.operands]
        if isinstance(op, CallOp):
            results = self._call(op, operands, blocks.counts)
        else:
            results = evaluate_array_op(op, operands, float64=self.float64, callbacks=self.callbacks)
        values.update(zip(op.results, results, strict=True))

    def _call(self, op: CallOp, operands: Sequence[Array], counts: Counts) -> list[Array]:
        callee = op.callee.root_reference.data
        if self.depth > 50:
            raise InterpreterError(f"call of '{callee}' is nested too deeply; recursion is not supported", op)
        try:
            function = select_function(self.module, callee)
        except InputError as error:
            raise InterpreterError(f"'func.call': {error}", op) from error
        self.depth += 1
        try:
            run = self.call(function, operands)
        finally:
            self.depth -= 1
        for name, amount in vars(run.counts).items():
            setattr(counts, name, getattr(counts, name) + amount)
        return run.results
