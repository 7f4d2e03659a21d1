"""Layouts of buffers in memory, and tiles that are blocks of buffers.

Both are rows of lanes in the kernel's own memory. A tile that a sweep fills and a store copies to a buffer
can therefore be the block of the buffer, and so can a tile that is loaded from a buffer and then only read.
Neither is copied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum

from xdsl.ir import Block, Operation, SSAValue

from ....dialects import block, kernel
from .windows import DimNames

LANES = 16
"""A multiple of the lanes of every vector: a block that begins at a multiple of it begins with a whole
vector.
"""


class Arena(StrEnum):
    """Memory of tiles and buffers; the value is the emitted variable that counts its elements."""

    SCRATCH = "room"
    """Of the thread that does a task."""
    PER_THREAD = "kept"
    """Of each thread that computes a part of a task: merged at the end."""
    PER_TASK = "shared"
    """Of a task: all threads that compute parts of it share it."""
    PRIVATE_LISTS = "lists"
    """Lists of a thread in global memory."""
    SHARED_LISTS = "common"
    """Lists of a task in global memory."""

    @property
    def of_piece(self) -> str:
        """Expression of its first element, in a part of a task."""
        return "piece.memory" if self is Arena.SCRATCH else f"piece.{self}"

    @property
    def of_task(self) -> str:
        """Expression of its first element, in a task of one thread."""
        return "memory" if self is Arena.SCRATCH else str(self)


def buffer_layout(
    op: kernel.BufferOp, dims: Mapping[str, DimNames], *, pairs: bool = False
) -> tuple[list[str], str]:
    """The strides of a buffer's axes, row-major, and its size. `pairs` go along the first axis."""
    lengths: list[str] = []
    for name in op.axis_dims:
        dim = dims[name]
        if name in op.here_dims:
            lengths.append(dim.size)
        elif name in op.block_dims:
            lengths.append(dim.trips)
        else:
            lengths.append(dim.extent)
    if lengths:
        lengths[-1] = f"bb::plane_ld<T>({lengths[-1]})"
    if pairs:
        lengths[0] = f"bb::ceil_div({lengths[0]}, 2)"
    strides = [" * ".join(lengths[axis + 1 :]) or "1" for axis in range(len(lengths))]
    return strides, " * ".join(lengths) or "1"


def tiles_in_buffers(function: kernel.FuncOp, pairs: Collection[SSAValue]) -> dict[SSAValue, kernel.CursorOp]:
    """The tiles of a kernel that need no memory of their own, each with the cursor at the block that it is.

    `pairs` are the buffers that hold pairs of bf16 instead of rows of lanes.
    """
    dims = block.parse_dims(function.attributes[block.DIMS])
    found: dict[SSAValue, kernel.CursorOp] = {}
    for op in function.walk():
        if isinstance(op, kernel.StoreOp):
            tile, place = op.source, op.target.owner
        elif isinstance(op, kernel.LoadOp):
            tile, place = op.target, op.source.owner
        else:
            continue
        if not isinstance(place, kernel.CursorOp) or not isinstance(tile.owner, kernel.TileOp):
            continue
        if place.array in pairs or not _lies_alike(tile, place, dims):
            continue
        fits = _is_filled_by_a_sweep(tile, op) if isinstance(op, kernel.StoreOp) else _is_only_read(tile, op)
        if fits:
            found[tile] = place
    return found


def _lies_alike(tile: SSAValue, place: kernel.CursorOp, dims: Mapping[str, block.DimAttr]) -> bool:
    """True if a block of a buffer consists of whole rows of lanes, as the tile would."""
    buffer, type, item = place.array.owner, tile.type, place.result.type
    assert isinstance(type, kernel.TileType)
    assert isinstance(item, kernel.CursorType)
    if not isinstance(buffer, kernel.BufferOp) or buffer.block_dims or len(type.dims) != 2:
        return False
    if type.dims != item.dims or type.element_type != item.element_type:
        return False
    lane = type.lane_dim
    if lane is None or place.axis_dims[-1] != [lane]:
        return False
    declared = dims[lane]
    begins_whole = declared.is_whole or lane in buffer.here_dims or lane in place.first_dims
    return begins_whole or (declared.block_size or 1) % LANES == 0


def _is_filled_by_a_sweep(tile: SSAValue, op: kernel.StoreOp) -> bool:
    """True if a sweep of the same body writes a tile, only a store reads it, and nothing in that body reads
    the buffer before.
    """
    writers, body = kernel.writers(tile), op.parent
    assert body is not None
    if kernel.readers(tile) != [op] or len(writers) != 1 or op.in_place is not None:
        return False
    sweep = writers[0]
    if (
        not isinstance(sweep, kernel.SweepOp)
        or sweep.parent is not body
        or list(sweep.outputs).count(tile) != 1
    ):
        return False
    return sweep.is_before_in_block(op) and all(
        kernel.follows(user, op) for user in _users_in(body, op.target) if user is not op
    )


def _is_only_read(tile: SSAValue, op: kernel.LoadOp) -> bool:
    """True if only a load writes a tile, and its readers follow in the same body, which does not write the
    buffer.
    """
    body = op.parent
    assert body is not None
    if kernel.writers(tile) != [op] or op.in_place is not None:
        return False
    if not all(kernel.follows(reader, op) for reader in kernel.readers(tile)):
        return False
    return not any(isinstance(user, kernel.StoreOp) for user in _users_in(body, op.source))


def _users_in(body: Block, cursor: SSAValue) -> Iterator[Operation]:
    """The operations somewhere in a body that move or multiply blocks of the buffer of a cursor."""
    assert isinstance(cursor.owner, kernel.CursorOp)
    for use in cursor.owner.array.uses:
        if isinstance(use.operation, kernel.CursorOp):
            for each in use.operation.result.uses:
                if body.find_ancestor_op_in_block(each.operation) is not None:
                    yield each.operation
