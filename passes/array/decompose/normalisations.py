"""Softmax and the normalisations over the last axis."""

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from ....dialects.array import LayerNormOp, RmsNormOp, SoftmaxOp
from ....dialects.scalar_builder import ScalarBuilder
from .expansion import Decomposition, Expansion


class DecomposeSoftmax(Decomposition):
    """softmax(x) = exp(x - max x) / sum exp(x - max x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SoftmaxOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        expansion.finish(expansion.softmax(expansion.widen(op.input), op.axis.value.data))


def _reciprocal_deviation(expansion: Expansion, mean_square: SSAValue, epsilon: float) -> SSAValue:
    """1 / sqrt(mean_square + epsilon)."""

    def body(s: ScalarBuilder, x: SSAValue) -> SSAValue:
        return s.rsqrt(s.add(x, s.constant(epsilon, x.type)))

    return expansion.elementwise("rstd", [mean_square], body)


def _square(s: ScalarBuilder, x: SSAValue) -> SSAValue:
    return s.multiply(x, x)


class DecomposeLayerNorm(Decomposition):
    """layer_norm(x) = (x - mean) * rsqrt(mean((x - mean)^2) + eps) * scale + shift."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LayerNormOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        wide = expansion.widen(op.input)
        mean = expansion.mean("mean", wide)
        centred = expansion.elementwise("centred", [wide, mean], ScalarBuilder.subtract)
        square = expansion.elementwise("square", [centred], _square)
        rstd = _reciprocal_deviation(expansion, expansion.mean("var", square), op.eps.value.data)
        steps = [("normed", ScalarBuilder.multiply, rstd)]
        if op.scale is not None:
            steps.append(("scaled", ScalarBuilder.multiply, op.scale))
        if op.shift is not None:
            steps.append(("shifted", ScalarBuilder.add, op.shift))
        result = centred
        for number, (hint, function, operand) in enumerate(steps, 1):
            rounded = expansion.element_type if number == len(steps) else None
            result = expansion.elementwise(hint, [result, operand], function, rounded)
        expansion.finish(result)


class DecomposeRmsNorm(Decomposition):
    """rms_norm(x) = x * rsqrt(mean(x^2) + eps) * scale."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: RmsNormOp, rewriter: PatternRewriter, /) -> None:
        expansion = self.expansion(op, rewriter)
        wide = expansion.widen(op.input)
        square = expansion.elementwise("square", [wide], _square)
        rstd = _reciprocal_deviation(expansion, expansion.mean("mean_square", square), op.eps.value.data)
        rounded = expansion.element_type if op.scale is None else None
        result = expansion.elementwise("normed", [wide, rstd], ScalarBuilder.multiply, rounded)
        if op.scale is not None:
            result = expansion.elementwise(
                "scaled", [result, op.scale], ScalarBuilder.multiply, expansion.element_type
            )
        expansion.finish(result)
