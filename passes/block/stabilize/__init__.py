"""`block-stabilize`: exponentials that fusion freed from their maximum become significand and exponent."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from ....dialects.attributes import STABILIZED
from ....dialects.block import is_stabilized
from ...analysis.programs import block_programs
from ...fusion.cleanup import cleanup_patterns
from .needs import has_own_maxima, has_work
from .rows import rows
from .scaling import stabilize_rows
from .translate import Translator
from .variance import guard_variances


@dataclass(frozen=True)
class BlockStabilizePass(ModulePass):
    """Carry exponentials as pairs of significand and exponent, so that none overflows.

    Sums of pairs become sums relative to a maximum, an associative reduction; exponents that cancel are
    removed; logarithms stay unevaluated sums until they are subtracted. What is shifted by its own maximum is
    bounded already and only guarded against rows of nothing but -inf. Runs after fusion; a function that is
    stabilised already is left alone.

    Sums of x and of x² get a pivot, the mean of a row or of its first block, wherever that provably changes
    nothing (a LayerNorm, but no RMSNorm); x is loaded, or computed from what is loaded beside it, as after a
    residual. `pivot=false` leaves x as it is. A variance that is computed from the sums is never negative.
    Rows whose squares overflow or vanish are scaled by a power of two where a root is taken of their sum.
    """

    name = "block-stabilize"

    pivot: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in block_programs(op):
            if is_stabilized(function):
                continue
            found = rows(function, pivot=self.pivot)
            if guard_variances(function) or found:
                function.attributes[STABILIZED] = UnitAttr()
            if found:
                stabilize_rows(function, found)
                clean_up(function)
            if has_work(function) or has_own_maxima(function):
                stabilize(function)


def stabilize(function: FuncOp) -> None:
    """Stabilise a block program that has exponentials to carry as pairs, or shifts by maxima."""
    Translator(function).run()
    clean_up(function)
    function.attributes[STABILIZED] = UnitAttr()


def clean_up(function: FuncOp) -> None:
    """Remove what is not used any more."""
    patterns = [pattern for pattern, _ in cleanup_patterns()]
    PatternRewriteWalker(GreedyRewritePatternApplier(patterns, dce_enabled=False)).rewrite_region(
        function.body
    )
