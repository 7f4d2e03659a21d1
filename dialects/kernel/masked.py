"""Contractions with masks, and the second, careful run of a kernel that has some.

A factor that a mask hides meets 0 in a contraction, which changes nothing unless the factor is NaN or
infinite: then the sum is NaN. So a kernel first runs as if there were no masks, at full speed. If a sum that
masks may have spoilt is NaN in the end, the body of the parallel loop runs again, carefully: only then are
the masks computed, by sweeps with the attribute `careful`, and contractions leave out what the masks hide.
On a GPU the careful run is a function of its own, so that it takes no registers of the first run.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from .contract import ContractOp
from .effects import writers
from .moves import FillOp
from .structure import ParallelOp


def masked_contractions(parallel: ParallelOp) -> list[ContractOp]:
    """The contractions of a parallel loop that have a mask."""
    return [op for op in parallel.walk() if isinstance(op, ContractOp) and op.kept is not None]


def masked_sums(parallel: ParallelOp) -> dict[Operation, list[SSAValue]]:
    """The accumulators of contractions with masks, by the operation after which each is complete.

    That is the operation, in the body where the accumulator is filled, that contains the contraction.
    """
    found: dict[Operation, list[SSAValue]] = {}
    for op in masked_contractions(parallel):
        fills = [writer.parent for writer in writers(op.accumulator) if isinstance(writer, FillOp)]
        around: Operation = op
        while fills and around.parent not in fills:
            outer = around.parent_op()
            if outer is None or isinstance(outer, ParallelOp):
                break
            around = outer
        sums = found.setdefault(around, [])
        if op.accumulator not in sums:
            sums.append(op.accumulator)
    return found
