"""Plan for a kernel that a grid of warps computes: each warp keeps some rows and columns of the results.

For each product such a warp reads less of both operands than one that keeps whole rows. It holds only a part
of each row. Left operands, of which a contraction reads whole rows, therefore lie in shared memory, and so do
vectors that have one number for each row.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel
from .rows import RowPlan, contiguous_axis, row_plan

WIDEST_IN_GRID = 1024
"""Columns of a tile that warps in a grid hold at most."""


def grid_plan(parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr]) -> RowPlan | None:
    """Return a plan by which a grid of warps computes a kernel, or None."""
    rows = row_plan(parallel, dims, WIDEST_IN_GRID)
    if rows is None:
        return None
    held = _computed(parallel)
    swept = [tile for tile in rows.held if tile not in held and len(kernel.dims_of(tile)) == 2]
    plan = replace(rows, held=tuple(tile for tile in rows.held if tile in held), swept=tuple(swept))
    if not held <= {*rows.held} or not all(_fits_swept(tile, plan) for tile in plan.swept):
        return None
    return plan if all(_fits(op, plan) for op in parallel.walk()) else None


def _computed(parallel: kernel.ParallelOp) -> set[SSAValue]:
    """The results of contractions, and the blocks that sweeps and moves compute from them."""
    held = {op.accumulator for op in parallel.walk() if isinstance(op, kernel.ContractOp)}
    while True:
        found = set(held)
        for op in parallel.walk():
            if isinstance(op, kernel.SweepOp | kernel.MoveOp):
                blocks = {value for value in op.operands if len(kernel.dims_of(value)) == 2}
                if blocks & found:
                    found |= blocks
        if found == held:
            return held
        held = found


def _fits_swept(tile: SSAValue, plan: RowPlan) -> bool:
    """True if a block can lie in shared memory as a left operand does."""
    type = tile.type
    assert isinstance(type, kernel.TileType)
    loads = [op for op in kernel.writers(tile) if isinstance(op, kernel.LoadOp)]
    return (
        type.element_type == plan.multiply
        and not type.rows_in_lanes
        and len(loads) <= 1
        and all(
            contiguous_axis(op.source) == 1 and kernel.element_type_of(op.source) == plan.multiply
            for op in loads
        )
        and all(
            isinstance(use.operation, kernel.LoadOp | kernel.SweepOp | kernel.ContractOp) for use in tile.uses
        )
    )


def _fits(op: Operation, plan: RowPlan) -> bool:
    match op:
        case kernel.ContractOp():
            if op.kept is not None or op.rhs in plan.swept:
                return False
            if op.lhs in plan.held:
                return isinstance(_writer(op.lhs), kernel.SweepOp)
            return op.lhs in plan.swept or isinstance(op.lhs.type, kernel.CursorType)
        case kernel.ForOp():
            return op.merge is None
        case _:
            return True


def _writer(tile: SSAValue) -> Operation | None:
    """The one operation that writes a tile."""
    found = kernel.writers(tile)
    return found[0] if len(found) == 1 else None
