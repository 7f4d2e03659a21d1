"""Placement attributes of operations, as the emitter reads them."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ....dialects import kernel
from ....dialects.diagnostics import OpError
from ....dialects.kernel.placement import (
    ASYNC_ATTRIBUTE,
    GROUP_ATTRIBUTE,
    OFFSET_ATTRIBUTE,
    STAGES_ATTRIBUTE,
    SWIZZLED_ATTRIBUTE,
    THREADS_ATTRIBUTE,
    WARPS_ATTRIBUTE,
    integer,
)


def threads_of(parallel: kernel.ParallelOp) -> int:
    """Threads of a block. Raises OpError for a loop that has not been placed."""
    found = integer(parallel, THREADS_ATTRIBUTE)
    if found is None:
        raise OpError(parallel, "has no places for its tiles yet; run kernel-place-cuda first")
    return found


def group_of(parallel: kernel.ParallelOp) -> int | None:
    """Number of threads that hold a row together; None for a kernel that does not hold whole rows in
    registers.
    """
    return integer(parallel, GROUP_ATTRIBUTE)


def holds_tiles(parallel: kernel.ParallelOp) -> bool:
    """True if warps hold tiles in registers."""
    return WARPS_ATTRIBUTE in parallel.attributes


def stages_of(op: Operation) -> int | None:
    """Stages of a tile's ring buffer, or of the loop that fetches ahead; None without a ring."""
    return integer(op, STAGES_ATTRIBUTE)


def stages_of_tile(tile: SSAValue) -> int | None:
    """Stages of a tile's ring buffer; None without a ring."""
    return stages_of(tile.owner) if isinstance(tile.owner, Operation) else None


def offset_of(op: Operation) -> int | None:
    """First byte in shared memory of a tile, or of the memory that an operation needs for itself."""
    return integer(op, OFFSET_ATTRIBUTE)


def is_swizzled(tile: kernel.TileOp) -> bool:
    """True for a tile whose 16-byte pieces are permuted in each row."""
    return SWIZZLED_ATTRIBUTE in tile.attributes


def is_async(op: Operation) -> bool:
    """True for a load that copies a block to shared memory without waiting for it."""
    return isinstance(op, kernel.LoadOp) and ASYNC_ATTRIBUTE in op.attributes


def is_fetched_ahead(op: Operation) -> bool:
    """True for a load whose block earlier iterations of its loop fetch."""
    return isinstance(op, kernel.LoadOp) and is_async(op) and stages_of_tile(op.target) is not None


def loops_that_fetch_ahead(parallel: kernel.ParallelOp) -> int:
    """Number of loops that fetch the blocks of later iterations."""
    return sum(stages_of(op) is not None for op in parallel.walk() if isinstance(op, kernel.ForOp))
