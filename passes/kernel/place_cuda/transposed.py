"""Contractions whose operands are exchanged by transposition: (a b^T)^T = b a^T.

Warps keep rows of their results, and read right operands from arrays. If a weight is the left operand of a
contraction with computed rows, or with rows that are loaded, the transposed product has these rows as its
own. The tiles that are computed from it are then transposed too, up to the arrays where they are stored.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from ....dialects import kernel
from ....dialects.kernel import Output
from .right_operands import is_only_right_operand
from .rows import contiguous_axis


def transpose_contractions(parallel: kernel.ParallelOp) -> None:
    """Transpose all contractions that need it and allow it, in place."""
    for op in list(parallel.walk()):
        if not isinstance(op, kernel.ContractOp) or not isinstance(op.lhs.type, kernel.CursorType):
            continue
        if op.kept is not None:
            continue  # a careful run needs the mask over the left operand
        if _must_be_left_operand(op):
            tiles = _turned_with(op.accumulator)
            if tiles is not None:
                _turn(tiles)


def _must_be_left_operand(op: kernel.ContractOp) -> bool:
    """True if the right operand of a contraction has to be the left one: it is computed from rows, or it is
    the only one with rows that are contiguous in memory.
    """
    if isinstance(op.rhs.type, kernel.TileType):
        return not _is_loaded(op.rhs) or contiguous_axis(op.lhs) == 0
    return contiguous_axis(op.lhs) == 0 and contiguous_axis(op.rhs) == 1


def _is_loaded(tile: SSAValue) -> bool:
    """True if a tile is only a loaded block of an array."""
    return all(isinstance(writer, kernel.LoadOp) for writer in kernel.writers(tile))


def _turned_with(start: SSAValue) -> list[SSAValue] | None:
    """The tiles that must be transposed together with one; None if one of them cannot be."""
    found = [start]
    for tile in found:
        for use in tile.uses:
            op = use.operation
            if isinstance(op, kernel.SweepOp):
                if any(kind is not Output.Each for kind in op.output_kinds):
                    return None
                found += [
                    other for other in op.operands if other not in found and len(kernel.dims_of(other)) == 2
                ]
            elif isinstance(op, kernel.ContractOp):
                if op.accumulator is not tile or op.scale is not None:
                    return None
            elif isinstance(op, kernel.MoveOp):
                # A right operand stays as it is: it is in shared memory, where it may be written either way.
                found += [
                    other for other in op.operands if other not in found and not is_only_right_operand(other)
                ]
            elif isinstance(op, kernel.ForOp):
                if op.merge is not None and tile in op.carried:
                    return None
            elif not isinstance(op, kernel.FillOp | kernel.LoadOp | kernel.StoreOp):
                return None
    return found


def _turn(tiles: list[SSAValue]) -> None:
    users = list(dict.fromkeys(use.operation for tile in tiles for use in tile.uses))
    for tile in tiles:
        type = tile.type
        assert isinstance(type, kernel.TileType)
        turned = kernel.TileType(type.dims[::-1], type.element_type, type.lanes.data, type.space.data)
        Rewriter.replace_value_with_new_type(tile, turned)
    for op in users:
        match op:
            case kernel.SweepOp():
                op.properties["axes"] = ArrayAttr(list(op.axes)[::-1])
            case kernel.ContractOp():
                op.operands[1], op.operands[2] = op.rhs, op.lhs
            case kernel.LoadOp():
                op.operands[1] = _turned_cursor(op.source)
            case kernel.StoreOp():
                op.operands[0] = _turned_cursor(op.target)
            case _:
                pass


def _turned_cursor(cursor: SSAValue) -> SSAValue:
    """A transposed cursor at the same place."""
    owner, item = cursor.owner, cursor.type
    assert isinstance(owner, kernel.CursorOp)
    assert isinstance(item, kernel.CursorType)
    turned = kernel.CursorOp(
        owner.array,
        owner.axis_dims,
        kernel.CursorType(item.dims[::-1], item.element_type),
        owner.first_dims,
        owner.here_dims,
    )
    turned.result.name_hint = cursor.name_hint
    turned.location = owner.location
    parent = owner.parent
    assert parent is not None
    parent.insert_op_after(turned, owner)
    return turned.result
