"""Evaluation of a function, of arrays or of blocks, over a field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from ....dialects import block
from ....dialects.array.composite import AttentionOp, GeluOp, NormOp, SoftmaxOp, UnaryOp
from ....dialects.diagnostics import one_sentence
from ....passes.array.decompose import decompose_patterns
from ...errors import InputError, InterpreterError
from ...program.functions import select_function
from .array_ops import evaluate_array_op
from .block_ops import BlockEvaluator, CutDims, Values
from .field import Field
from .residues import Value

COMPOSITES = (UnaryOp, GeluOp, SoftmaxOp, NormOp, AttentionOp)
MOST_CALLS = 50


@dataclass
class Program:
    """A function without composite array operations; `module` has the functions that it calls."""

    function: FuncOp
    module: ModuleOp | None
    callees: dict[str, Program] = field(default_factory=dict[str, "Program"])

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    def callee(self, op: CallOp) -> Program:
        """The function that is called. Raises InterpreterError."""
        name = op.callee.root_reference.data
        if name not in self.callees:
            if self.module is None:
                raise InterpreterError(f"'func.call': there is no function '{name}'", op)
            try:
                called = select_function(self.module, name)
            except InputError as error:
                raise InterpreterError(f"'func.call': {error}", op) from error
            self.callees[name] = prepare(called)
        return self.callees[name]


def prepare(function: FuncOp) -> Program:
    """A function for the exact check: itself, or a copy with composite array operations decomposed."""
    top = function.get_toplevel_object()
    module = top if isinstance(top, ModuleOp) else None
    if any(isinstance(op, COMPOSITES) for op in function.walk()):
        function = function.clone()
        walker = PatternRewriteWalker(GreedyRewritePatternApplier(decompose_patterns(), dce_enabled=False))
        walker.rewrite_module(ModuleOp([function]))
    return Program(function, module)


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
    values: dict[SSAValue, Values] = dict(zip(body.args, inputs, strict=True))
    # A dim of unknown extent may be iterated over before the array that gives its extent is cut.
    for op in body.ops:
        if isinstance(op, block.PartitionOp) and op.tensor in values:
            dims.bind(op, cast("Value", values[op.tensor]).shape)
    for op in body.ops:
        if isinstance(op, ReturnOp):
            return [cast("Value", values[value]) for value in op.arguments]
        try:
            if op.name.startswith("block."):
                blocks.evaluate(op, values)
                continue
            operands = [cast("Value", values[value]) for value in op.operands]
            if isinstance(op, CallOp):
                if depth > MOST_CALLS:
                    callee = op.callee.root_reference.data
                    message = f"call of '{callee}' is nested too deeply; recursion is not supported"
                    raise InterpreterError(message, op)
                results = evaluate(program.callee(op), field, operands, pieces, depth=depth + 1)
            else:
                results = evaluate_array_op(field, op, operands)
        except ValueError as error:  # numpy's, for shapes that do not fit
            raise InterpreterError(
                f"'{op.name}' cannot be evaluated: {one_sentence(str(error))}", op
            ) from error
        values.update(zip(op.results, results, strict=True))
    return []
