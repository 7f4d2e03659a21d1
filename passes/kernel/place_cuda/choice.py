"""Choice among the placements that keep the sums of a kernel in the registers of warps."""

from __future__ import annotations

from collections.abc import Callable

from ....dialects import block, kernel
from ....dialects.kernel.tile_layouts import length_of, padded
from .general import drop_merges
from .grid import PIPELINES, Grid, Pipeline, grids_for, place_in_grid
from .grid_plan import grid_plan
from .recomputed import recompute_in_readers
from .right_operands import share_right_operands
from .rows import row_plan
from .transposed import transpose_contractions
from .warps import LARGEST_SHARED, MOST_REGISTERS, Staging, held_at_once, place_by_warps

THREADS_OF_TWO = 128
"""Threads of a block up to which two blocks fit the registers of a multiprocessor."""
SHARED_OF_TWO = 80 * 1024
"""Bytes of shared memory for each of two blocks on a multiprocessor."""
FEWEST_WARPS = 4
"""Number of warps that hide each other's latencies; with rows for fewer warps, columns are divided as
well.
"""


def place_by_any_warps(function: kernel.FuncOp, parallel: kernel.ParallelOp, shared_memory: int) -> bool:
    """Place the tiles of one parallel loop; return False, and change nothing, if no placement fits.

    Warps hold whole rows, 32 each, if the registers suffice for all that a kernel computes, and if there are
    enough rows. Else they form a grid, if the kernel allows it. Else they hold 16 rows each.
    """
    dims = block.parse_dims(function.attributes[block.DIMS])
    largest = max(shared_memory, LARGEST_SHARED)

    def by_rows(staging: Staging) -> Callable[[kernel.ParallelOp], bool]:
        def place(trial: kernel.ParallelOp) -> bool:
            plan = row_plan(trial, dims)
            return plan is not None and place_by_warps(function, trial, plan, shared_memory, staging)

        return place

    def by_grid(grid: Grid, pipeline: Pipeline, budget: int) -> Callable[[kernel.ParallelOp], bool]:
        def place(trial: kernel.ParallelOp) -> bool:
            recompute_in_readers(trial)
            plan = grid_plan(trial, dims)
            return plan is not None and place_in_grid(trial, plan, dims, grid, pipeline, budget)

        return place

    attempts: list[Callable[[kernel.ParallelOp], bool]] = []
    for grid in _grids(function, parallel, dims):
        budgets = (largest,) if grid.threads > THREADS_OF_TWO else (SHARED_OF_TWO, largest)
        attempts += [by_grid(grid, pipeline, budget) for budget in budgets for pipeline in PIPELINES]
    rows = [by_rows(staging) for staging in Staging]
    attempts = [*rows, *attempts] if _is_best_by_rows(function, parallel, dims) else [*attempts, *rows]
    return any(_tried(function, parallel, place_copy) for place_copy in attempts)


def _grids(
    function: kernel.FuncOp, parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr]
) -> list[Grid]:
    found: list[Grid] = []

    def look(trial: kernel.ParallelOp) -> bool:
        recompute_in_readers(trial)
        plan = grid_plan(trial, dims)
        if plan is not None:
            found.extend(grids_for(trial, plan, dims))
        return False

    _tried(function, parallel, look)
    return found


def _is_best_by_rows(
    function: kernel.FuncOp, parallel: kernel.ParallelOp, dims: dict[str, block.DimAttr]
) -> bool:
    found: list[bool] = []

    def look(trial: kernel.ParallelOp) -> bool:
        plan = row_plan(trial, dims)
        if plan is not None:
            rows = max(padded(length_of(dims, name) or 0) for name in plan.rows)
            fits = held_at_once(trial, plan, dims) <= MOST_REGISTERS
            found.append(fits and rows >= 32 * FEWEST_WARPS)
        return False

    _tried(function, parallel, look)
    return found == [True]


def _tried(
    function: kernel.FuncOp, parallel: kernel.ParallelOp, place_copy: Callable[[kernel.ParallelOp], bool]
) -> bool:
    """Try a placement on a copy, which replaces the loop if it fits."""
    trial = parallel.clone()
    function.body.block.insert_op_before(trial, parallel)
    drop_merges(trial)
    transpose_contractions(trial)
    share_right_operands(trial)
    placed = place_copy(trial)
    rejected = parallel if placed else trial
    rejected.detach()
    rejected.erase()
    return placed
