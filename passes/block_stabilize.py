"""`block-stabilize`: exponentials that fusion freed from their maximum are carried as significand and exponent."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from .cleanup import cleanup_patterns
from .stabilize.needs import has_block_program, is_exp, wants_pair
from .stabilize.translate import Translator


@dataclass(frozen=True)
class BlockStabilizePass(ModulePass):
    """Carry exponentials as pairs of significand and exponent, so that none overflows that float64 would keep.

    Sums of pairs become sums relative to a maximum, an associative reduction; exponents that cancel are removed; logarithms stay
    unevaluated sums until they are subtracted. Runs after fusion; what is bounded already is left alone.
    """

    name = "block-stabilize"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and has_block_program(function) and _has_work(function):
                Translator(function).run()
                patterns = [pattern for pattern, _ in cleanup_patterns()]
                PatternRewriteWalker(GreedyRewritePatternApplier(patterns, dce_enabled=False)).rewrite_region(function.body)


def _has_work(function: FuncOp) -> bool:
    from ..dialects.block import ElementwiseOp

    return any(isinstance(op, ElementwiseOp) and is_exp(op) and wants_pair(op) for op in function.walk())
