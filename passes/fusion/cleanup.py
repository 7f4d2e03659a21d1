"""Clean-up after rewrites that is no law: dead code, loads of what was just stored, unused results
and inputs of maps.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from ...dialects import block
from ...dialects.array import ExtentOp
from ...dialects.block.canonicalize import (
    DropDuplicateMapInputs,
    DropUnusedMapInputs,
    DropUnusedMapResults,
    LoadOfStore,
    PartitionOfAssemble,
)


class EraseDead(RewritePattern):
    """An operation of the dialect whose results are not used is erased; all of them are pure. So is an
    extent, which would keep the nest that makes its array alive.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        ours = op.name.startswith("block.") or isinstance(op, ExtentOp)
        if ours and op.results and not any(result.uses for result in op.results):
            rewriter.erase(op)


def dead_code_patterns() -> tuple[RewritePattern, ...]:
    """Return what removes operations, and results and inputs of maps, that are not read."""
    return EraseDead(), DropUnusedMapResults(), DropUnusedMapInputs()


def cleanup_patterns() -> list[tuple[RewritePattern, tuple[type[Operation], ...]]]:
    """The patterns, cheapest first, with the operations at which they look."""
    return [
        (EraseDead(), (Operation,)),
        (LoadOfStore(), (block.LoadOp,)),
        (PartitionOfAssemble(), (block.PartitionOp,)),
        (DropUnusedMapResults(), (block.MapOp,)),
        (DropUnusedMapInputs(), (block.MapOp,)),
        (DropDuplicateMapInputs(), (block.MapOp,)),
    ]
