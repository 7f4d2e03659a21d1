"""Types of values that are known to be tiles or cursors, or are required to be."""

from __future__ import annotations

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from .types import CursorType, TileType


def tile_type(value: SSAValue) -> TileType:
    """The type of a value that is a tile."""
    assert isinstance(value.type, TileType)
    return value.type


def dims_of(value: SSAValue) -> tuple[str, ...]:
    """The dims of the axes of a tile, or of the block that a cursor sees."""
    assert isinstance(value.type, TileType | CursorType)
    return value.type.dims


def element_type_of(value: SSAValue) -> Attribute:
    """The type of the elements of a tile, or of the array that a cursor goes over."""
    assert isinstance(value.type, TileType | CursorType)
    return value.type.element_type


def follows(later: Operation, earlier: Operation) -> bool:
    """True if an operation comes after another one: in the same body, or in the regions of one that does."""
    body = earlier.parent
    assert body is not None
    ancestor = body.find_ancestor_op_in_block(later)
    return ancestor is not None and earlier.is_before_in_block(ancestor)


def require_item(op: Operation, value: SSAValue) -> TileType | CursorType:
    """The type of an operand. Raises VerifyException unless it is a tile or a cursor."""
    if not isinstance(value.type, TileType | CursorType):
        raise VerifyException(f"{op.name}: expected a tile or a cursor, got {value.type}")
    return value.type


def require_tile(op: Operation, value: SSAValue) -> TileType:
    """The type of an operand. Raises VerifyException unless it is a tile."""
    if not isinstance(value.type, TileType):
        raise VerifyException(f"{op.name}: expected a tile, got {value.type}")
    return value.type
