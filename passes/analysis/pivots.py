"""Items that a pivot can be subtracted from, so that the sums of their rows and squares do not cancel.

`block-stabilize` gives them the pivot. Laws that take a square apart ask beforehand.
"""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.ir import Operation, SSAValue

from ...dialects import block
from .facts import computed_from, origin
from .items import POINTWISE


def may_get_pivot(item: SSAValue, shift: SSAValue) -> bool:
    """True if an item is computed element by element from arrays, and a shift of it from the item itself.

    Because this looks through lists, the answer is the same before and after maps are fused.
    """
    return _is_pointwise_in_arrays(item) and computed_from(shift, item)


def _is_pointwise_in_arrays(item: SSAValue) -> bool:
    pending, seen = [item], set[SSAValue]()
    while pending:
        value = origin(pending.pop())
        if value in seen:
            continue
        seen.add(value)
        owner = value.owner
        if not isinstance(value.type, block.BlockType) or not isinstance(owner, Operation):
            continue
        if not isinstance(owner, POINTWISE) or _has_exponential_or_index(owner):
            return False
        pending.extend(owner.operands)
    return True


def _has_exponential_or_index(op: Operation) -> bool:
    return any(isinstance(inner, math.ExpOp | math.Exp2Op | block.IndexOp) for inner in op.walk())
