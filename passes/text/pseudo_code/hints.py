"""Names of values: their own, or names that say how they are made."""

from __future__ import annotations

from xdsl.ir import OpResult, SSAValue

from ....dialects import block
from .names import SYNONYMS

LONGEST_JOINED_HINT = 14
"""Characters of a name made of the names of two operands."""


def hint_of(value: SSAValue, depth: int = 8) -> str | None:
    """Return a name for a value: its own, or one that says how it is made: `x_gamma`, `inv_total`."""
    if value.name_hint is not None:
        return value.name_hint
    if depth == 0:
        return None
    match value.owner:
        case block.MapOp() as op:
            return hint_of(op.yield_op.arguments[position(value)], depth - 1)
        case block.StoreOp() | block.LoadOp() as op:
            return hint_of(op.source, depth - 1)
        case block.RowSumOp() as op:
            hint = hint_of(op.operand, depth - 1)
            return f"{hint}_sum" if hint is not None and len(hint) < LONGEST_JOINED_HINT else None
        case block.BlockVectorOp() | block.MulOp() | block.DotOp() | block.OuterOp() as op:
            hints = [hint_of(operand, depth // 2) for operand in dict.fromkeys(op.operands)]
            joined = "_".join(filter(None, hints))
            return joined if all(hints) and len(joined) <= LONGEST_JOINED_HINT else None
        case block.MonomialOp() as op if len(op.pairs) == 1:
            (factor, exponent) = op.pairs[0]
            hint = hint_of(factor, depth // 2)
            if hint is None or exponent < -1:
                return None
            hint = SYNONYMS.get(hint, hint)
            return f"inv_{hint}" if exponent < 0 else f"{hint}{exponent}"
        case _:
            return None


def position(value: SSAValue) -> int:
    """Position of a value among the results of its operation."""
    assert isinstance(value, OpResult)
    return value.index
