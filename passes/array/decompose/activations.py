"""Activations: each becomes one element-wise operation."""

import math

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from ....dialects.array import GeluForm, GeluOp, ReluOp, SigmoidOp, SiluOp
from ....dialects.scalar_builder import ScalarBuilder
from .expansion import Decomposition


def _relu(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    return s.maximum(x, s.constant(0.0, x.type))


def _sigmoid(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    one = s.constant(1.0, x.type)
    return s.divide(one, s.add(one, s.exp(s.negate(x))))


def _silu(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    return s.multiply(x, _sigmoid(s, x))


def _half(s: ScalarBuilder, x: SSAValue, factor: SSAValue) -> SSAValue:
    """0.5 x (1 + factor)."""
    half = s.multiply(s.constant(0.5, x.type), x)
    return s.multiply(half, s.add(s.constant(1.0, x.type), factor))


def _gelu_exact(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    return _half(s, x, s.erf(s.multiply(x, s.constant(math.sqrt(0.5), x.type))))


def _gelu_tanh(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    cube = s.multiply(s.multiply(x, x), x)
    inner = s.add(x, s.multiply(s.constant(0.044715, x.type), cube))
    return _half(s, x, s.tanh(s.multiply(s.constant(math.sqrt(2 / math.pi), x.type), inner)))


class DecomposeRelu(Decomposition):
    """relu(x) = max(x, 0)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReluOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        expansion.type = expansion.element_type  # a maximum rounds nothing
        expansion.finish(expansion.elementwise("relu", [op.input], _relu))


class DecomposeSigmoid(Decomposition):
    """sigmoid(x) = 1 / (1 + exp(-x))."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SigmoidOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        expansion.finish(expansion.elementwise("sigmoid", [op.input], _sigmoid, expansion.element_type))


class DecomposeSilu(Decomposition):
    """silu(x) = x * sigmoid(x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SiluOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        expansion.finish(expansion.elementwise("silu", [op.input], _silu, expansion.element_type))


class DecomposeGelu(Decomposition):
    """gelu(x) = x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GeluOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        function = _gelu_exact if op.form.data is GeluForm.EXACT else _gelu_tanh
        expansion.finish(expansion.elementwise("gelu", [op.input], function, expansion.element_type))
