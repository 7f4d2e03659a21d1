"""`array-decompose`: composite array operations become core operations.

Softmax is the numerically safe one (maximum, difference, exponential, sum, quotient), layer_norm takes the
variance of the centred row. Statistics and exponentials of 16-bit floats are computed in f32. A row of
`array.attention` whose scores are all -inf gives NaN when decomposed, where the operation's contract says 0.
"""

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker, RewritePattern

from .activations import DecomposeGelu, DecomposeRelu, DecomposeSigmoid, DecomposeSilu
from .attention import DecomposeAttention
from .normalisations import DecomposeLayerNorm, DecomposeRmsNorm, DecomposeSoftmax

__all__ = ["ArrayDecomposePass", "decompose_patterns"]


def decompose_patterns() -> list[RewritePattern]:
    """One pattern for each composite operation."""
    return [
        DecomposeRelu(),
        DecomposeSigmoid(),
        DecomposeSilu(),
        DecomposeGelu(),
        DecomposeSoftmax(),
        DecomposeLayerNorm(),
        DecomposeRmsNorm(),
        DecomposeAttention(),
    ]


@dataclass(frozen=True)
class ArrayDecomposePass(ModulePass):
    """Rewrites composite array operations (softmax, layer_norm, attention, …) into core ones."""

    name = "array-decompose"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        applier = GreedyRewritePatternApplier(decompose_patterns(), dce_enabled=False)
        PatternRewriteWalker(applier).rewrite_module(op)
