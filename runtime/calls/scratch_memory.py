"""The memory that a kernel needs for itself while it runs, checked before anything is allocated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ...dialects import block, kernel
from ...dialects.kernel.precision import has_wide_lanes
from ...dialects.kernel.sizes import buffer_elements, tile_elements
from ..arrays.limits import LARGEST_OFFSET, available_memory
from ..errors import InputError
from ..host.settings import binary_size

_ALWAYS = 2**24
"""Bytes that are allocated without a query of free memory."""


class ScratchMemory:
    """Memory of one kernel for its tiles and private lists."""

    def __init__(self, function: kernel.FuncOp):
        self._name = function.sym_name.data
        self._dims = dict(block.parse_dims(function.attributes[block.DIMS]))
        self._tiles = [op.result.type for op in function.walk() if isinstance(op, kernel.TileOp)]
        self._buffers = [op for op in function.walk() if isinstance(op, kernel.BufferOp)]
        self._grid = [
            name for op in function.walk() if isinstance(op, kernel.ParallelOp) for name in op.dim_names
        ]
        self._width = 8 if has_wide_lanes(function) else 4
        self._most = _ALWAYS
        self._checked: tuple[int, ...] = ()

    def check(self, lengths: Sequence[int], threads: int) -> None:
        """Raise InputError if that many threads need more memory than there is, or than 64 bits can count.

        `lengths` are the extents of the kernel's dims, in order.
        """
        if self._checked == (key := (threads, *lengths)):
            return
        self._check(dict(zip(self._dims, lengths, strict=True)), threads)
        self._checked = key

    def _check(self, extents: Mapping[str, int], threads: int) -> None:
        lists = [(self._bytes(buffer, extents), buffer) for buffer in self._buffers]
        worker = sum(size for size, _ in lists) + self._width * sum(
            tile_elements(tile, self._dims, extents.get) or 0 for tile in self._tiles
        )
        total = worker * min(threads, self._tasks(extents))
        if total <= self._most:
            return
        needed = f"'{self._name}' needs {binary_size(total)} of memory of its own"
        if lists:
            size, buffer = max(lists, key=lambda pair: pair[0])
            axes = " x ".join(buffer.axis_dims) or "one number"
            needed += f", {binary_size(size)} of them for a list over {axes}"
        if total > LARGEST_OFFSET // 2:
            raise InputError(f"{needed}: its offsets do not fit into 64 bits")
        available = available_memory()
        if available is not None and total > available:
            raise InputError(f"{needed}, but only {binary_size(available)} are available")
        self._most = total  # it may stay with the threads, and is no more available then

    def _bytes(self, buffer: kernel.BufferOp, extents: Mapping[str, int]) -> int:
        return self._width * (buffer_elements(buffer, self._dims, extents.get) or 0)

    def _tasks(self, extents: Mapping[str, int]) -> int:
        sizes = ((extents[name], self._dims[name].block_size) for name in self._grid)
        return prod(extent if size is None else -(-extent // size) for extent, size in sizes)
