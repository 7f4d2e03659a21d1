"""Sizes of the tiles and buffers of a kernel, where extents are known."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ..block.types import DimAttr
from .storage import BufferOp
from .types import TileType

Extent = Callable[[str], int | None]
"""The extent of a dim; None for one that is not known."""


def tile_elements(tile: TileType, dims: dict[str, DimAttr], extent: Extent) -> int | None:
    """The elements of a tile: as many as a block has."""
    return _product([block_length(dims[name], extent(name)) for name in tile.dims])


def buffer_elements(buffer: BufferOp, dims: dict[str, DimAttr], extent: Extent) -> int | None:
    """The elements of a buffer, of one iteration of the loops around."""
    lengths: list[int | None] = []
    for name in buffer.axis_dims:
        dim, known = dims[name], extent(name)
        if name in buffer.here_dims:
            lengths.append(block_length(dim, known))
        elif name in buffer.block_dims and dim.block_size is not None:
            lengths.append(None if known is None else -(-known // dim.block_size))
        elif name in buffer.block_dims and dim.is_whole:
            lengths.append(1)
        else:
            lengths.append(known)
    return _product(lengths)


def block_length(dim: DimAttr, extent: int | None) -> int | None:
    """The elements of a block along a dim; of the first one."""
    size = dim.block_size
    if size is None:
        return extent
    return size if extent is None else min(size, extent)


def _product(factors: list[int | None]) -> int | None:
    known = [factor for factor in factors if factor is not None]
    return prod(known) if len(known) == len(factors) else None
