"""Clean-up after rewrites, which is no law: removal of dead code, of loads of what was just stored, and of
unused results and inputs of maps.
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
    """Erase an operation of the dialect whose results are not used; all of them are pure. An unused
    `array.extent` is erased too, because it would keep the nest that makes its array.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        ours = op.name.startswith("block.") or isinstance(op, ExtentOp)
        if ours and op.results and not any(result.uses for result in op.results):
            rewriter.erase(op)


def dead_code_patterns() -> tuple[RewritePattern, ...]:
    """Return the patterns that remove operations, and results and inputs of maps, that are not read."""
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
