"""Layouts of tiles in the registers and the shared memory of a GPU: extents, padding and bytes."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ..array.core import bit_width
from ..block.types import DimAttr
from .accessors import tile_type
from .contract import ContractOp
from .effects import readers, writers
from .moves import MoveOp
from .placement import ACCESS_ALIGNMENT
from .sizes import block_length, tile_elements
from .sweeps import Output, SweepOp
from .types import TileType

FRAGMENT = 16
"""Rows, columns and depth of a fragment: of an mma instruction, or multiples of them."""
BANK = 4
"""Bytes of a word: a bank of shared memory delivers one word at a time."""


def length_of(dims: dict[str, DimAttr], name: str) -> int | None:
    """The number of elements of a block of a dim; None if it is not known."""
    return block_length(dims[name], dims[name].static_extent)


def padded(length: int) -> int:
    """The extent of a fragmented or swizzled tile along an axis with the given number of elements: a power of
    two.
    """
    return max(FRAGMENT, 1 << (length - 1).bit_length())


def tile_shape(type: TileType) -> tuple[str | None, str | None]:
    """The dims of a tile's rows of lanes, and of its lanes."""
    return type.outer_dim, type.lane_dim


def lane_padding(lanes: int, width: int) -> int:
    """The distance between rows of `lanes` elements of `width` bytes: an odd number of words, so that a warp
    that reads down a column meets every bank.
    """
    if width == 1:
        return lanes
    words = -(-lanes * width // BANK)
    unit = max(1, width // BANK)
    words = -(-words // unit) | 1 if unit > 1 else words | 1
    return words * max(BANK, width) // width


def tile_bytes(tile: SSAValue, dims: dict[str, DimAttr]) -> int | None:
    """The bytes of a tile in shared memory that is not swizzled, where they are known."""
    type = tile_type(tile)
    width = max(1, bit_width(type.element_type) // 8)
    outer, lane = tile_shape(type)

    def extent(name: str) -> int | None:
        return dims[name].static_extent

    if lane is None:
        return width
    if outer is None:
        count = tile_elements(type, dims, extent)
        return None if count is None else count * width
    rows, lanes = length_of(dims, outer), length_of(dims, lane)
    if rows is None or lanes is None:
        return None
    return rows * lane_padding(lanes, width) * width


def stage_bytes(tile: SSAValue, dims: dict[str, DimAttr]) -> int:
    """The bytes of one stage of a tile that is not swizzled, a multiple of 16."""
    return -(-(tile_bytes(tile, dims) or 0) // ACCESS_ALIGNMENT) * ACCESS_ALIGNMENT


def fragment_rows(length: int, warps: int) -> int:
    """The rows of tiles in registers along a dim with blocks of that length: at least 16 for each warp."""
    return max(padded(length), FRAGMENT * warps)


def is_right_operand(tile: SSAValue) -> bool:
    """True if a tile is the right operand of a contraction."""
    return any(isinstance(op, ContractOp) and op.rhs is tile for op in readers(tile))


def swizzled_shape(tile: SSAValue, dims: dict[str, DimAttr], warps: int) -> tuple[int, int]:
    """The extents of a swizzled tile: its rows of lanes, and its lanes. A tile whose rows are divided among
    warps has at least as many rows as all the warps together.
    """
    type = tile_type(tile)
    rows, columns = (length_of(dims, name) or 0 for name in type.dims)
    if is_right_operand(tile):
        outer, lane = (columns, rows) if type.rows_in_lanes else (rows, columns)
        is_put = any(isinstance(op, MoveOp) for op in writers(tile))
        return fragment_rows(outer, warps) if is_put else padded(outer), padded(lane)
    height, width = fragment_rows(rows, warps), padded(columns)
    return (width, height) if type.rows_in_lanes else (height, width)


def swizzled_bytes(tile: SSAValue, dims: dict[str, DimAttr], warps: int, width: int) -> int:
    """The bytes of one stage of a swizzled tile of elements of so many bytes."""
    rows, columns = swizzled_shape(tile, dims, warps)
    return rows * columns * width


def exchange_bytes(op: SweepOp, dims: dict[str, DimAttr], warps: int, columns: int) -> int:
    """The bytes by which warps in `columns` columns exchange what they reduce of their rows, f32 numbers."""
    reductions = sum(kind is not Output.Each for kind in op.output_kinds)
    return 4 * reductions * columns * fragment_rows(length_of(dims, op.dims[0]) or 0, warps)
