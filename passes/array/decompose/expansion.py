"""Builders of the core operations that replace one composite."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.builder import Builder
from xdsl.dialects.builtin import Float64Type, f32, f64
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ....dialects.array import (
    DYNAMIC,
    ElementwiseOp,
    ExtentOp,
    ReduceOp,
    default_accumulator,
    element_type_of,
    shape_of,
)
from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder

ACCUMULATE = ("f32", "f64", "input")
"""Types of sums and of what composites compute: f32 at least, f64, or the type of the operands."""


def computing_type(element_type: Attribute, accumulate: str) -> Attribute:
    """The type for sums of `element_type`, and for what composites of such elements compute."""
    match accumulate:
        case "f64":
            return f64
        case "input":
            return element_type
        case _:
            return f64 if isinstance(element_type, Float64Type) else f32


class Decomposition(RewritePattern):
    """Base of the patterns; they compute where `accumulate` says."""

    def __init__(self, accumulate: str = "f32"):
        self.accumulate = accumulate

    def expansion(self, op: Operation, rewriter: PatternRewriter) -> Expansion:
        """Return the place to write what replaces a composite."""
        return Expansion(op, rewriter, self.accumulate)


class Expansion:
    """Inserts core operations before a composite, with its location, and finally replaces it.

    Computes in `type`: by default f32 for 16-bit floats, else the composite's own element type, which is
    `element_type`.
    """

    def __init__(self, op: Operation, rewriter: PatternRewriter, accumulate: str = "f32"):
        self.op = op
        self.rewriter = rewriter
        self.element_type = element_type_of(op.results[0])
        self.type = computing_type(self.element_type, accumulate)
        self._count: SSAValue | None = None

    def accumulator(self, operand: SSAValue) -> TypeAttribute | None:
        """Return the type to state for sums over an operand: none, if they are kept in `type` by default."""
        if default_accumulator(element_type_of(operand)) == self.type:
            return None
        assert isinstance(self.type, TypeAttribute)
        return self.type

    def insert(self, hint: str, op: Operation) -> SSAValue:
        """Insert `op` and name its first result."""
        for inner in op.walk():
            inner.location = self.op.location
        self.rewriter.insert(op)
        op.results[0].name_hint = hint
        return op.results[0]

    def elementwise(
        self,
        hint: str,
        inputs: Sequence[SSAValue],
        function: Callable[..., SSAValue],
        result: Attribute | None = None,
    ) -> SSAValue:
        """`function(scalars, *arguments)` of every element, float arguments converted to the computing type.

        The result is rounded to `result` (default: not rounded).
        """

        def body(builder: Builder, *arguments: SSAValue) -> SSAValue:
            scalars = ScalarBuilder(builder)
            values = [
                scalars.convert(argument, self.type) if is_float(argument.type) else argument
                for argument in arguments
            ]
            return scalars.convert(function(scalars, *values), result or self.type)

        return self.insert(hint, ElementwiseOp.from_function(inputs, body))

    def widen(self, value: SSAValue) -> SSAValue:
        """`value` in the computing type."""
        if element_type_of(value) == self.type:
            return value

        def body(s: ScalarBuilder, x: SSAValue) -> SSAValue:
            return x

        return self.elementwise("wide", [value], body)

    def multiply_by(self, hint: str, value: SSAValue, factor: float) -> SSAValue:
        """`value` times a constant."""

        def body(s: ScalarBuilder, x: SSAValue) -> SSAValue:
            return s.multiply(x, s.constant(factor, x.type))

        return self.elementwise(hint, [value], body)

    def reduce(self, kind: str, value: SSAValue, axis: int) -> SSAValue:
        """Sum or maximum over one axis, which stays with extent 1."""
        acc = self.accumulator(value) if kind == "sum" else None
        return self.insert(kind, ReduceOp(kind, value, axis, keepdims=True, acc=acc))

    def mean(self, hint: str, value: SSAValue) -> SSAValue:
        """The mean over the last axis, that of the composite's first operand, which stays with extent 1.

        The sum times 1/K.
        """
        total = self.reduce("sum", value, -1)
        extent = shape_of(value)[-1]
        if extent != DYNAMIC:
            return self.multiply_by(hint, total, 1 / extent)
        if self._count is None:
            # What is computed need not be stored to be asked for it.
            self._count = self.insert("extent", ExtentOp(self.op.operands[0], -1, self.type))

        def body(s: ScalarBuilder, x: SSAValue, k: SSAValue) -> SSAValue:
            return s.multiply(x, s.divide(s.constant(1.0, x.type), k))

        return self.elementwise(hint, [total, self._count], body)

    def softmax(self, value: SSAValue, axis: int) -> SSAValue:
        """The numerically safe softmax along `axis`, rounded to the element type."""
        largest = self.reduce("max", value, axis)
        shifted = self.elementwise("shifted", [value, largest], ScalarBuilder.subtract)
        weights = self.elementwise("exp", [shifted], ScalarBuilder.exp)
        total = self.reduce("sum", weights, axis)
        return self.elementwise("probs", [weights, total], ScalarBuilder.divide, self.element_type)

    def finish(self, value: SSAValue) -> None:
        """Put `value` in place of the composite's result; it takes over its name."""
        hint = self.op.results[0].name_hint
        if hint is not None:
            value.name_hint = hint
        self.rewriter.replace(self.op, [], [value])
