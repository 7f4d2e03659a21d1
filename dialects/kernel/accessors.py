"""What the type of a value says, where it is known to be a tile or a cursor."""

from __future__ import annotations

from xdsl.ir import Attribute, SSAValue

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
