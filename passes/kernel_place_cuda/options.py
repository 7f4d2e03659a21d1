"""The names of what a placement says, and its defaults."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

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
    """Whether the tiles of a kernel have their places on a GPU."""
    return THREADS_ATTRIBUTE in parallel.attributes


def integer(op: Operation, name: str) -> int | None:
    """An attribute that is a number; None if there is none."""
    value = op.attributes.get(name)
    return value.value.data if isinstance(value, IntegerAttr) else None
