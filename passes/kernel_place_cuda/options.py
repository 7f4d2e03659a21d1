"""The names of what a placement says, and its defaults."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, i64
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from ...dialects import kernel

THREADS = 128
"""Threads of a block."""
SHARED_MEMORY = 96 * 1024
"""Bytes of shared memory that a block takes at most: two fit on a multiprocessor of sm_90."""

THREADS_ATTRIBUTE = "threads"
"""Of `kernel.parallel`: how many threads of a block do an iteration together."""
OFFSET_ATTRIBUTE = "offset"
"""Of `kernel.tile` in shared memory: the byte where it begins."""


def is_placed(parallel: kernel.ParallelOp) -> bool:
    """True if the tiles of a kernel have their places on a GPU."""
    return THREADS_ATTRIBUTE in parallel.attributes


def integer(op: Operation, name: str) -> int | None:
    """An attribute that is a number; None if there is none."""
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None


WARPS_ATTRIBUTE = "warps"
"""Of `kernel.parallel`: how many warps share out the rows of tiles in registers; or, of warps in a grid, how
many share out the rows, and how many the columns.
"""
GROUP_ATTRIBUTE = "group"
"""Of `kernel.parallel`: how many threads hold a row of its tiles together."""
STAGES_ATTRIBUTE = "stages"
"""Of `kernel.for`: how many iterations' blocks are in shared memory or in flight. Of `kernel.tile`: how many
blocks it has room for.
"""
SWIZZLED_ATTRIBUTE = "swizzled"
"""Of `kernel.tile` in shared memory: 16-byte pieces of its rows lie in another order in each row, so that
fragments are read without bank conflicts. Rows are a power of two long, and what is missing is zero.
"""
ASYNC_ATTRIBUTE = "async"
"""Of `kernel.load`: the block is fetched asynchronously, ahead of the iteration that it is for."""


def warp_grid(parallel: Operation) -> tuple[int, int] | None:
    """Numbers of warps that share out the rows of tiles in registers, and the columns; None without such
    tiles.
    """
    value = parallel.attributes.get(WARPS_ATTRIBUTE)
    if isinstance(value, IntegerAttr):
        return value.value.data, 1
    if isa(value, ArrayAttr[IntegerAttr]) and len(value) == 2:
        return value.data[0].value.data, value.data[1].value.data
    return None


def warps_attr(rows: int, columns: int) -> ArrayAttr[IntegerAttr] | IntegerAttr:
    """The attribute of so many warps: a number where none shares out columns."""
    numbers = [IntegerAttr(each, i64) for each in (rows, columns)]
    return numbers[0] if columns == 1 else ArrayAttr(numbers)


FRAGMENT = 16
"""Rows, columns and depth of an mma instruction, or multiples of them."""


def padded(length: int) -> int:
    """The extent of a fragmented or swizzled tile along an axis of so many elements: a power of two."""
    return max(FRAGMENT, 1 << (length - 1).bit_length())
