"""Comparisons of indices in sweeps, such as causal masks, that are true for all elements of most blocks."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ....dialects.array.core import bit_width
from ....dialects.kernel import Quantity


@dataclass(frozen=True)
class Bounds:
    """Expressions of the first index along each dim of a sweep, and of the number of indices."""

    dims: tuple[str, ...]
    starts: tuple[str, str]
    counts: tuple[str, int]


@dataclass(frozen=True)
class _Index:
    """An integer of a sweep that is an index along a dim plus a constant."""

    dim: str
    offset: int


def whole_block_masks(op: kernel.SweepOp, bounds: Bounds) -> dict[Operation, str]:
    """Return the comparisons of a row with a column, and the condition under which each is true for a whole
    block.
    """
    if len(bounds.dims) != 2:
        return {}
    found: dict[Operation, str] = {}
    for inner in op.body.block.ops:
        if isinstance(inner, arith.CmpiOp) and (condition := _condition(inner, bounds)) is not None:
            found[inner] = condition
    return found


def _condition(op: arith.CmpiOp, bounds: Bounds) -> str | None:
    predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    left, right = _index(op.lhs), _index(op.rhs)
    if left is None or right is None or predicate not in ("sle", "slt", "sge", "sgt"):
        return None
    low, high = (left, right) if predicate in ("sle", "slt") else (right, left)
    if {low.dim, high.dim} != set(bounds.dims):
        return None
    strict = 1 if predicate in ("slt", "sgt") else 0
    offset = _plus(low.offset - high.offset + strict)
    (row_start, column_start), (rows, columns) = bounds.starts, bounds.counts
    if low.dim == bounds.dims[1]:
        # The last column is not above the first row of the warp.
        return f"{column_start} + {columns - 1}{offset} <= {row_start}"
    return f"{row_start} + {rows} - 1{offset} <= {column_start}"


def _plus(number: int) -> str:
    return f" + {number}" if number > 0 else f" - {-number}" if number < 0 else ""


def _index(value: SSAValue) -> _Index | None:
    """The index along a dim, and the constant added to it, if an integer has this form."""
    offset = 0
    while True:
        match value.owner:
            case arith.IndexCastOp(input=operand):
                value = operand
            case kernel.QuantityOp() as op if op.kind.data is Quantity.Index:
                return _Index(op.dim_name, offset)
            case arith.AddiOp(lhs=lhs, rhs=rhs) if (added := _constant(rhs)) is not None:
                value, offset = lhs, offset + added
            case arith.AddiOp(lhs=lhs, rhs=rhs) if (added := _constant(lhs)) is not None:
                value, offset = rhs, offset + added
            case arith.SubiOp(lhs=lhs, rhs=rhs) if (taken := _constant(rhs)) is not None:
                value, offset = lhs, offset - taken
            case _:
                return None


def _constant(value: SSAValue) -> int | None:
    op = value.owner
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, IntegerAttr):
        return None
    is_integer = isinstance(op.result.type, IndexType) or bit_width(op.result.type) > 1
    return op.value.value.data if is_integer else None
