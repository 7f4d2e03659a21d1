"""`array-decompose`: composite array operations become core operations.

Softmax is the numerically safe one (maximum, difference, exponential, sum, quotient); layer_norm takes the
variance of the centred row. Statistics and exponentials of 16-bit floats are computed in f32, unless
`accumulate` says otherwise. A row of `array.attention` whose scores are all -inf gives NaN when decomposed,
although the operation is defined as 0 there.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import TypeAttribute
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker, RewritePattern

from ....dialects.array import MaskedMatmulOp, MatmulOp, ReduceOp, ReductionKind, element_type_of
from ....dialects.scalar import is_float
from .activations import DecomposeGelu, DecomposeRelu, DecomposeSigmoid, DecomposeSilu
from .attention import DecomposeAttention
from .expansion import ACCUMULATE, computing_type
from .normalisations import DecomposeLayerNorm, DecomposeRmsNorm, DecomposeSoftmax

__all__ = ["ArrayDecomposePass", "decompose_patterns"]


def decompose_patterns(accumulate: str = "f32") -> list[RewritePattern]:
    """One pattern for each composite operation."""
    return [
        pattern(accumulate)
        for pattern in (
            DecomposeRelu,
            DecomposeSigmoid,
            DecomposeSilu,
            DecomposeGelu,
            DecomposeSoftmax,
            DecomposeLayerNorm,
            DecomposeRmsNorm,
            DecomposeAttention,
        )
    ]


@dataclass(frozen=True)
class ArrayDecomposePass(ModulePass):
    """Rewrites composite array operations (softmax, layer_norm, attention, …) into core ones.

    `accumulate` is the type in which composites compute their statistics and exponentials, and in which sums
    and contractions are kept whose operation does not say (`acc`): f32 (the default; f64 stays f64), f64, or
    input, the type of the operands.
    """

    name = "array-decompose"

    accumulate: str = "f32"

    def __post_init__(self) -> None:
        if self.accumulate not in ACCUMULATE:
            raise ValueError(f"option 'accumulate' must be f32, f64 or input, got {self.accumulate!r}")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = decompose_patterns(self.accumulate)
        PatternRewriteWalker(GreedyRewritePatternApplier(patterns, dce_enabled=False)).rewrite_module(op)
        for inner in op.walk():
            if isinstance(inner, MatmulOp | MaskedMatmulOp | ReduceOp):
                self._accumulate(inner)

    def _accumulate(self, op: MatmulOp | MaskedMatmulOp | ReduceOp) -> None:
        """Say where a sum is kept, if the operation does not and the default is another type."""
        element_type = element_type_of(op.operands[0])
        is_sum = not isinstance(op, ReduceOp) or op.kind.data is ReductionKind.SUM
        if not is_sum or not is_float(element_type) or op.acc is not None:
            return
        wanted = computing_type(element_type, self.accumulate)
        fits = element_type_of(op.result) in (element_type, wanted)
        if wanted != op.accumulator and fits and isinstance(wanted, TypeAttribute):
            op.acc = wanted
