"""Placement of the lists of a kernel in local memory.

A list that only one iteration of the parallel loop uses may stay in the caches of its core, if it fits
together with the tiles. Each such list gets an allotment of local memory; a larger list goes to global
memory.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i64

from ...dialects import block, kernel
from ...dialects.kernel.precision import has_wide_lanes
from ...dialects.kernel.sizes import buffer_elements, tile_elements

LOCAL_MEMORY = 1 << 20
"""Bytes of local memory for each worker, by default: the second-level cache of a core."""


def place_lists(function: kernel.FuncOp, local_memory: int) -> None:
    """Allot local memory to the buffers of a kernel that have no allotment yet.

    The tiles come first. Lists with known extents get the bytes that they need, the smallest first, as long
    as there are enough. The rest is divided among lists with unknown extents. The others get nothing.
    """
    buffers = [op for op in function.walk() if isinstance(op, kernel.BufferOp) and op.local is None]
    if not buffers:
        return
    dims = dict(block.parse_dims(function.attributes[block.DIMS]))
    tiles = [op.result.type for op in function.walk() if isinstance(op, kernel.TileOp)]
    width = 8 if has_wide_lanes(function) else 4

    def extent(name: str) -> int | None:
        return dims[name].static_extent

    left = local_memory - width * sum(tile_elements(tile, dims, extent) or 0 for tile in tiles)
    sizes = {buffer: buffer_elements(buffer, dims, extent) for buffer in buffers}
    known = [(width * size, buffer) for buffer, size in sizes.items() if size is not None]
    for bytes, buffer in sorted(known, key=lambda pair: pair[0]):
        fits = bytes <= left
        _allot(buffer, bytes if fits else 0)
        left -= bytes if fits else 0
    unknown = [buffer for buffer, size in sizes.items() if size is None]
    for buffer in unknown:
        _allot(buffer, max(0, left) // len(unknown))


def _allot(buffer: kernel.BufferOp, bytes: int) -> None:
    buffer.local = IntegerAttr(bytes, i64)
