"""The placement of kernels on a grid of warps: sums in registers, all else in shared memory.

A left operand that was computed in registers goes through a swizzled tile, because the warps that multiply
with a row are not those that computed it. Sweeps over blocks of left operands go over the shared tile. Its
rows are divided among all threads, so that each statistic of a row is computed once in a block.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel
from ....dialects.array.core import bit_width
from ....dialects.kernel import Space
from ....dialects.kernel.placement import WARP, warps_attr
from ....dialects.kernel.tile_layouts import FRAGMENT, length_of, padded
from .general import set_space
from .right_operands import copy_to_shared
from .rows import RowPlan
from .vectors import fetch_vectors
from .warps import MOST_ROWS, StagedOperands, assign_offsets, held_at_once

GRIDS = ((1, 4), (2, 2), (1, 8), (2, 4), (4, 2))
"""Warps along the rows and along the columns."""
MOST_SUMS = 192
"""Elements of tiles in registers that a thread holds at a time."""
COMFORTABLE_SUMS = 160
"""The same, if functions of the sums are to find registers as well."""
ROWS_OF_A_WARP = 64


@dataclass(frozen=True)
class Grid:
    """Warps along the rows and along the columns of the tiles that they share out."""

    rows: int
    columns: int

    @property
    def threads(self) -> int:
        return WARP * self.rows * self.columns


@dataclass(frozen=True)
class Pipeline:
    """Number of iterations whose blocks fit shared memory; larger blocks have room for one."""

    stages: int
    largest: int


PIPELINES = (Pipeline(3, 1 << 20), Pipeline(2, 1 << 20), Pipeline(2, 1 << 14))
"""The best one first."""


def grids_for(parallel: kernel.ParallelOp, plan: RowPlan, dims: dict[str, block.DimAttr]) -> list[Grid]:
    """Return the grids for which a kernel's tiles have enough rows, columns and registers, the best one
    first.

    Among those that leave registers free, the best one needs the fewest reads of fragments for an instruction
    of tensor cores.
    """
    lengths = [padded(length_of(dims, name) or 0) for name in plan.rows]
    widths = {_columns(tile, dims) for tile in plan.held}
    sums = held_at_once(parallel, plan, dims) * max(lengths)
    if not widths or max(lengths) > MOST_ROWS:
        return []
    results = [op.accumulator for op in parallel.walk() if isinstance(op, kernel.ContractOp)]

    def reads(grid: Grid) -> float:
        return sum(
            grid.rows / max(lengths) + grid.columns / _columns(accumulator, dims) for accumulator in results
        )

    fitting = [
        grid
        for grid in (Grid(*each) for each in GRIDS)
        if sums <= MOST_SUMS * grid.threads
        and all(FRAGMENT * grid.rows <= length <= ROWS_OF_A_WARP * grid.rows for length in lengths)
        and all(FRAGMENT * grid.columns <= width for width in widths)
    ]
    return sorted(
        fitting, key=lambda grid: (sums > COMFORTABLE_SUMS * grid.threads, reads(grid), grid.threads)
    )


def place_in_grid(
    parallel: kernel.ParallelOp,
    plan: RowPlan,
    dims: dict[str, block.DimAttr],
    grid: Grid,
    pipeline: Pipeline,
    shared_memory: int,
) -> bool:
    """Place the tiles of one parallel loop; False if they do not fit, and the loop is then half placed."""
    _cross_through_shared(parallel, plan)
    _GridOperands(parallel, plan, dims, grid.rows, pipeline).insert()
    _fetch_early(parallel)
    for tile in plan.swept:
        if tile.uses:
            set_space(tile, Space.Shared)
            assert isinstance(tile.owner, kernel.TileOp)
            tile.owner.swizzled = UnitAttr()
    for tile in plan.held:
        if tile.uses:
            set_space(tile, Space.Register)
    fetch_vectors(parallel, (Space.Scratch, Space.Shared))
    if assign_offsets(parallel, dims, grid.rows, grid.columns) > shared_memory:
        return False
    parallel.threads = IntegerAttr(grid.threads, i64)
    parallel.warps = warps_attr(grid.rows, grid.columns)
    return True


def _columns(tile: SSAValue, dims: dict[str, block.DimAttr]) -> int:
    type = tile.type
    assert isinstance(type, kernel.TileType)
    return padded(length_of(dims, type.dims[1]) or 0)


def _cross_through_shared(parallel: kernel.ParallelOp, plan: RowPlan) -> None:
    """Move left operands that were computed in registers to shared tiles, and multiply from there."""
    for held in plan.held:
        users = [op for op in kernel.readers(held) if isinstance(op, kernel.ContractOp) and op.lhs is held]
        if not users:
            continue
        (writer,) = kernel.writers(held)
        tile = copy_to_shared(held, plan.multiply, writer, parallel)
        tile.swizzled = UnitAttr()
        for op in users:
            op.operands[1] = tile.result


class _GridOperands(StagedOperands):
    """Choice of the blocks that are loaded to shared memory."""

    def __init__(
        self,
        parallel: kernel.ParallelOp,
        plan: RowPlan,
        dims: dict[str, block.DimAttr],
        warps: int,
        pipeline: Pipeline,
    ):
        super().__init__(parallel, plan, dims, warps)
        self.pipeline = pipeline
        fetched = [cursor.owner for cursor in self.cursors]
        self.around = {
            loop
            for owner in fetched
            if isinstance(owner, kernel.CursorOp)
            for loop in _loops_around(owner)[1:]
        }
        """Loops around others that fetch ahead."""

    def stages(self, cursor: SSAValue) -> int:
        """One if a loop inside fetches ahead: its first block and this one are then waited for together."""
        owner, item = cursor.owner, cursor.type
        assert isinstance(owner, kernel.CursorOp)
        assert isinstance(item, kernel.CursorType)
        rows, columns = (padded(length_of(self.dims, name) or 0) for name in item.dims)
        is_large = rows * columns * bit_width(item.element_type) // 8 > self.pipeline.largest
        alone = is_large or owner.parent_op() in self.around
        return 1 if alone or super().stages(cursor) == 1 else self.pipeline.stages


def _loops_around(op: Operation) -> list[Operation]:
    found: list[Operation] = []
    scope = op.parent_op()
    while scope is not None and not isinstance(scope, kernel.ParallelOp):
        found.append(scope)
        scope = scope.parent_op()
    return found


def _fetch_early(parallel: kernel.ParallelOp) -> None:
    """Let the copies that an iteration makes for itself overlap its computation with other blocks."""
    for loop in list(parallel.walk()):
        if not isinstance(loop, kernel.ForOp):
            continue
        body = loop.body.block
        first = next((op for op in body.ops if isinstance(op, kernel.ForOp | kernel.ContractOp)), None)
        for op in list(body.ops):
            if first is None or not isinstance(op, kernel.LoadOp) or op.is_async is None:
                continue
            cursor, tile = op.source.owner, op.target.owner
            assert isinstance(cursor, kernel.CursorOp)
            assert isinstance(tile, kernel.TileOp)
            if tile.stages is None and first.is_before_in_block(op):
                for each in (cursor, op):
                    each.detach()
                    body.insert_op_before(each, first)
