"""Tiles in shared or global memory: the expressions of their elements, and the lines that declare them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....dialects import kernel
from ..source_text import comment_text
from .geometry import Dim, Length, Size, length_text, product_text
from .scalars import storage_type


@dataclass(frozen=True)
class Tile:
    """A tile in shared or global memory: rows of lanes, `stride` elements apart."""

    pointer: str
    stride: str
    type: kernel.TileType

    def element(self, row: str, col: str) -> str:
        """Expression of the element at a row and a column; a vector has rows only."""
        if not self.type.dims:
            return f"{self.pointer}[0]"
        if len(self.type.dims) == 1:
            return f"{self.pointer}[{row}]"
        outer, lane = (col, row) if self.type.rows_in_lanes else (row, col)
        return f"{self.pointer}[{outer} * {self.stride} + {lane}]"


@dataclass(frozen=True, kw_only=True)
class SwizzledTile(Tile):
    """A swizzled tile in shared memory, of one stage or several; its C++ type computes the places of
    elements.

    `pointer` is the current stage of one with several.
    """

    name: str
    type_name: str
    rows: int
    columns: int
    stages: int
    in_tf32: bool
    """True if it is multiplied in tf32."""

    @property
    def rows_contiguous(self) -> bool:
        """True if the rows of the block lie along the tile's own rows: of [N, K], K x N."""
        return self.type.rows_in_lanes

    def element(self, row: str, col: str) -> str:
        """Expression of the element at a row and a column."""
        outer, lane = (col, row) if self.type.rows_in_lanes else (row, col)
        return f"{self.pointer}({outer}, {lane})"

    def declarations(self, offset: int) -> list[str]:
        """The lines that declare its type and, at an offset of shared memory, the tile."""
        element = "bb::tf32" if self.in_tf32 else storage_type(self.type.element_type)
        kind = self.type_name if self.stages == 1 else f"bb::ring<{self.type_name}, {self.stages}>"
        dims = ", ".join((self.type.outer_dim or "", self.type.lane_dim or ""))
        return [
            f"using {self.type_name} = bb::shared_tile<{element}, {self.rows}, {self.columns}>;",
            f"const {kind} {self.name}{{bb_shared + {offset}}};  // [{dims}]",
        ]


@dataclass(frozen=True)
class SharedPlace:
    """A place at an offset of shared memory."""

    offset: int

    def lines(self, name: str, dims: Mapping[str, Dim]) -> list[str]:
        """The lines that compute the place, before the declaration that uses it: none."""
        return []

    def pointer(self, name: str) -> str:
        """Expression of the first byte."""
        return f"bb_shared + {self.offset}"


@dataclass(frozen=True)
class OwnPlace:
    """A place in the block's own part of global memory, after those already taken."""

    start: str

    def lines(self, name: str, dims: Mapping[str, Dim]) -> list[str]:
        """The lines that compute the place, before the declaration that uses it."""
        return [f"const long long {name}_at = {self.start};"]

    def pointer(self, name: str) -> str:
        """Expression of the first byte."""
        return f"own_scratch + {name}_at"

    def end(self, name: str, size: Size, dims: Mapping[str, Dim]) -> str:
        """Expression of the first byte after it."""
        return f"{name}_at + {size.text(dims)}"


@dataclass(frozen=True, kw_only=True)
class TileDeclaration:
    """The declaration of a tile that is not swizzled."""

    tile: Tile
    lanes: Length | None
    """Elements from row to row; None for a vector or a number."""
    place: SharedPlace | OwnPlace
    stages: int | None

    def lines(self, dims: Mapping[str, Dim]) -> list[str]:
        """The lines of text."""
        tile, type = self.tile, self.tile.type
        lines: list[str] = []
        if self.lanes is not None:
            const = "constexpr" if isinstance(self.lanes, int) else "const"
            lines.append(f"{const} int {tile.stride} = {length_text(self.lanes, dims)};")
        lines += self.place.lines(tile.pointer, dims)
        notes = [f"[{', '.join(comment_text(dim) for dim in type.dims)}]"]
        notes += ["rows contiguous"] if type.rows_in_lanes else []
        notes += ["in global memory"] if isinstance(self.place, OwnPlace) else []
        notes += [] if self.stages is None else [f"{self.stages} stages"]
        name = tile.pointer if self.stages is None else f"{tile.pointer}_stages"
        element = storage_type(type.element_type)
        where = self.place.pointer(tile.pointer)
        return [*lines, f"{element}* const {name} = ({element}*)({where});  // {', '.join(notes)}"]


@dataclass(frozen=True, kw_only=True)
class SwizzledDeclaration:
    """The declaration of a swizzled tile at an offset of shared memory."""

    tile: SwizzledTile
    offset: int

    def lines(self, dims: Mapping[str, Dim]) -> list[str]:
        """The lines of text."""
        return self.tile.declarations(self.offset)


@dataclass(frozen=True, kw_only=True)
class BufferDeclaration:
    """The declaration of a list in the block's own part of global memory."""

    op: kernel.BufferOp
    name: str
    place: OwnPlace

    def lines(self, dims: Mapping[str, Dim]) -> list[str]:
        """The lines of text."""
        type = self.op.result.type
        assert isinstance(type, kernel.ArrayType)
        element = storage_type(type.element_type)
        axes = ", ".join(comment_text(dim) for dim in self.op.axis_dims)
        where = self.place.pointer(self.name)
        return [
            *self.place.lines(self.name, dims),
            f"{element}* const {self.name} = ({element}*)({where});  // list [{axes}]",
        ]


def buffer_strides(lengths: list[Length], dims: Mapping[str, Dim]) -> tuple[str, ...]:
    """Expressions of the strides of a buffer's axes, from their extents."""
    texts = [length_text(length, dims) for length in lengths]
    return tuple(product_text([[text] for text in texts[axis + 1 :]]) for axis in range(len(texts)))
