"""Arrays that wait for a reduction. A division by one of them becomes a scale by its reciprocal."""

from __future__ import annotations

from xdsl.ir import Block, SSAValue

from ...dialects import array

_ELEMENT_BY_ELEMENT = (
    array.ElementwiseOp
    | array.BroadcastOp
    | array.TransposeOp
    | array.ReshapeOp
    | array.SliceOp
    | array.ConcatOp
)
"""Operations whose results wait only for what their operands wait for."""


def statistics(body: Block) -> frozenset[SSAValue]:
    """Return the arrays in the body of a function that depend on a reduction or a product of matrices."""
    found: set[SSAValue] = set()
    for op in body.ops:
        match op:
            case array.ReduceOp() | array.MatmulOp():
                found.update(op.results)
            case _ if isinstance(op, _ELEMENT_BY_ELEMENT):
                if not found.isdisjoint(op.operands):
                    found.update(op.results)
            case _:
                pass
    return frozenset(found)
