"""Buffers and tiles that hold bf16 in pairs along k, as `runtime/include/bb/pairs.hpp` defines them.

Other tiles keep bf16 as f32. If only contractions that multiply in bf16 read a buffer or a tile, each of them
would have to form the pairs again. So the pairs are formed once, when elements are stored, and take half the
memory.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from xdsl.dialects.builtin import BFloat16Type
from xdsl.ir import Operation, SSAValue

from ....dialects import block, kernel


def buffers_of_pairs(function: kernel.FuncOp) -> set[SSAValue]:
    """The buffers of a kernel that lie in pairs: their axes are k, and the rows that run along lanes."""
    dims = block.parse_dims(function.attributes[block.DIMS])
    return {
        op.result for op in function.walk() if isinstance(op, kernel.BufferOp) and _lies_in_pairs(op, dims)
    }


def are_rounded_when_stored(tile: SSAValue, pairs: Collection[SSAValue]) -> bool:
    """True if the elements of a tile only go to arrays or pairs, where they are rounded to their type."""
    readers = kernel.readers(tile)
    return bool(readers) and all(
        isinstance(op, kernel.StoreOp)
        and isinstance(op.target.owner, kernel.CursorOp)
        and (kernel.is_output(op.target.owner.array) or op.target.owner.array in pairs)
        for op in readers
    )


def tiles_of_pairs(function: kernel.FuncOp) -> set[SSAValue]:
    """The tiles of a kernel that lie in pairs: rows run along lanes, pairs along the columns, which are k.

    They are loaded from bf16, or written by sweeps alone, one such tile by each.
    """
    found: set[SSAValue] = set()
    for op in function.walk():
        if isinstance(op, kernel.TileOp) and _is_made_of_pairs(op.result):
            writers = kernel.writers(op.result)
            if not any(
                _writes_pairs(writer, found) for writer in writers if isinstance(writer, kernel.SweepOp)
            ):
                found.add(op.result)
    return found


def _writes_pairs(op: kernel.SweepOp, found: set[SSAValue]) -> bool:
    return any(tile in found for tile in op.outputs)


def _is_made_of_pairs(tile: SSAValue) -> bool:
    type = tile.type
    assert isinstance(type, kernel.TileType)
    if len(type.dims) != 2 or not type.rows_in_lanes or not isinstance(type.element_type, BFloat16Type):
        return False
    read = False
    for use in tile.uses:
        op = use.operation
        if _makes(op, tile, use.index):
            continue
        if not _multiplies(op, use.index):
            return False
        read = True
    return read


def _makes(op: Operation, tile: SSAValue, index: int) -> bool:
    """True if an operation only writes a tile, all of it: a load of bf16, or a sweep over its elements."""
    if isinstance(op, kernel.LoadOp):
        cursor = op.source.type
        array = op.source.owner
        return (
            op.in_place is None
            and isinstance(array, kernel.CursorOp)
            and not isinstance(array.array.owner, kernel.BufferOp)
            and isinstance(cursor, kernel.CursorType)
            and isinstance(cursor.element_type, BFloat16Type)
        )
    if not isinstance(op, kernel.SweepOp) or index < len(op.inputs):
        return False
    type = tile.type
    assert isinstance(type, kernel.TileType)
    kinds = [kind for each, kind in zip(op.outputs, op.output_kinds, strict=True) if each is tile]
    return tuple(op.dims) == type.dims and op.rows_in_lanes and kinds == [kernel.Output.Each]


def _lies_in_pairs(op: kernel.BufferOp, dims: Mapping[str, block.DimAttr]) -> bool:
    assert isinstance(op.result.type, kernel.ArrayType)
    if not isinstance(op.result.type.element_type, BFloat16Type) or len(op.axis_dims) != 2 or op.block_dims:
        return False
    summed, rows = op.axis_dims
    size = dims[summed].block_size
    if dims[summed].is_batch or (not dims[summed].is_whole and (size is None or size % 2)):
        return False  # a block would begin amid a pair
    readers = 0
    for use in op.result.uses:
        cursor = use.operation
        if not isinstance(cursor, kernel.CursorOp) or cursor.first_dims:
            return False
        item = cursor.result.type
        assert isinstance(item, kernel.CursorType)
        if item.dims != (rows, summed):
            return False
        users = [(each.operation, each.index) for each in cursor.result.uses]
        if not all(_writes(user) or _multiplies(user, index) for user, index in users):
            return False
        readers += sum(not _writes(user) for user, _ in users)
    return readers > 0


def _writes(op: Operation) -> bool:
    """True if it is a plain store of a tile with its rows in lanes."""
    if not isinstance(op, kernel.StoreOp) or op.in_place is not None or op.stream is not None:
        return False
    tile = op.source.type
    return isinstance(tile, kernel.TileType) and tile.rows_in_lanes


def _multiplies(op: Operation, index: int) -> bool:
    """True if it is a contraction that takes its left operand, and that operand alone, as pairs."""
    if not isinstance(op, kernel.ContractOp) or not isinstance(op.multiply, BFloat16Type):
        return False
    if op.kept is not None and not op.masks_left:
        return False  # a careful run copies the operand without a mask, element by element
    tile, packed = op.accumulator.type, op.rhs.owner
    if not isinstance(tile, kernel.TileType) or not tile.rows_in_lanes or op.operands[index] is op.rhs:
        return False
    layout = packed.packed if isinstance(packed, kernel.CursorOp) else None
    return layout is None or layout.depth.data == 2
