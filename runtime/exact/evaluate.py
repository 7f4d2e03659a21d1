"""Evaluating a function, of arrays or of blocks, over a field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from ...dialects import block
from ...passes.array_decompose import decompose_patterns
from ..interpreter import InputError, select_function
from ..scalar_semantics import InterpreterError
from .array_ops import evaluate_array_op
from .block_ops import BlockEvaluator, CutDims, Nested
from .field import Field
from .residues import Value

MOST_CALLS = 50


@dataclass(frozen=True)
class Program:
    """A function to evaluate, in a module of its own without composite array operations."""

    module: ModuleOp
    function: FuncOp

    @property
    def name(self) -> str:
        return self.function.sym_name.data


def prepare(function: FuncOp) -> Program:
    """A copy of a function, and of the module that it is in, with composite array operations decomposed."""
    module = function.get_toplevel_object()
    if isinstance(module, ModuleOp):
        copy = module.clone()
        copied = select_function(copy, function.sym_name.data)
    else:
        copied = function.clone()
        copy = ModuleOp([copied])
    walker = PatternRewriteWalker(GreedyRewritePatternApplier(decompose_patterns(), dce_enabled=False))
    walker.rewrite_module(copy)
    return Program(copy, copied)


def evaluate(
    program: Program, field: Field, inputs: Sequence[Value], pieces: int, *, depth: int = 0
) -> list[Value]:
    """The results of a program. Dims of open block size are cut into `pieces` blocks.

    Raises InterpreterError for a program that has no meaning, Exhausted where no modulus is left.
    """
    function = program.function
    if len(function.body.blocks) != 1:
        raise InterpreterError(f"function '{program.name}' must have one block to be evaluated", function)
    attribute = function.attributes.get(block.DIMS)
    dims = CutDims(block.parse_dims(attribute) if attribute is not None else {}, pieces=pieces)
    blocks = BlockEvaluator(field, dims)
    body = function.body.block
    values: dict[SSAValue, Nested] = dict(zip(body.args, inputs, strict=True))
    # A dim of unknown extent may be iterated over before the array that gives its extent is cut.
    for op in body.ops:
        if isinstance(op, block.PartitionOp) and op.tensor in values:
            dims.bind(op, cast("Value", values[op.tensor]).shape)
    for op in body.ops:
        if isinstance(op, ReturnOp):
            return [cast("Value", values[value]) for value in op.arguments]
        if op.name.startswith("block."):
            blocks.evaluate(op, values)
            continue
        operands = [cast("Value", values[value]) for value in op.operands]
        if isinstance(op, CallOp):
            results = _call(program, op, field, operands, pieces, depth)
        else:
            results = evaluate_array_op(field, op, operands)
        values.update(zip(op.results, results, strict=True))
    return []


def _call(
    program: Program, op: CallOp, field: Field, operands: Sequence[Value], pieces: int, depth: int
) -> list[Value]:
    callee = op.callee.root_reference.data
    if depth > MOST_CALLS:
        raise InterpreterError(f"call of '{callee}' is nested too deeply; recursion is not supported", op)
    called = Program(program.module, _callee(program, op, callee))
    return evaluate(called, field, operands, pieces, depth=depth + 1)


def _callee(program: Program, op: Operation, name: str) -> FuncOp:
    try:
        return select_function(program.module, name)
    except InputError as error:
        raise InterpreterError(f"'func.call': {error}", op) from error
