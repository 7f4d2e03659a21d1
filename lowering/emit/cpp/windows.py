"""The extents, windows and strides of one kernel, as C++ expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from ....dialects import block, kernel
from ....dialects.array.core import bit_width
from ..block_names import BlockNames, block_offset, block_width
from ..names import Names


def storage_type(element_type: Attribute) -> str:
    """The C++ type of the elements of an array."""
    match element_type:
        case Float16Type():
            return "bb::f16"
        case BFloat16Type():
            return "bb::bf16"
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case IntegerType():
            return {1: "bool", 32: "std::int32_t", 64: "std::int64_t"}[bit_width(element_type)]
        case _:
            raise AssertionError(element_type)


def lane_type(element_type: Attribute) -> str:
    """The C++ type, in a kernel, of the elements of tiles and buffers."""
    return "Int" if element_type in (i32, i64) else "T"


@dataclass(frozen=True)
class DimNames(BlockNames):
    """The names of a dim and its blocks, and the C++ that declares them."""

    def declarations(self, index: int) -> list[str]:
        """The lines that declare what is the same for all blocks; `index` is the dim's place in `extents`."""
        extent = self.declared.static_extent
        const = "constexpr" if extent is not None else "const"
        value = str(extent) if extent is not None else f"extents[{index}]"
        lines = [f"{const} bb::idx {self.extent} = {value};"]
        if self.declared.is_batch:
            return lines
        if self.declared.is_whole:
            return [
                f"{const} bb::idx {self.extent} = {value}, {self.size} = {self.extent}, {self.blocks} = 1, "
                f"{self.start} = 0, {self.width} = {self.extent};"
            ]
        size = self.declared.block_size
        assert size is not None
        if extent is not None:
            size = min(size, extent)
        return [
            f"{const} bb::idx {self.extent} = {value}, {self.size} = {size}, "
            f"{self.blocks} = bb::ceil_div({self.extent}, {self.size});",
            # Outside its loop the first block is the current one.
            f"{const} bb::idx {self.start} = 0, {self.width} = std::min({self.size}, {self.extent});",
        ]

    def position(self, end: str | None = None) -> list[str]:
        """The line that declares the position of the current block, from its number; none for a batch dim.

        `end` is the end of the loop over the dim, if that is not the end of the dim.
        """
        if self.declared.is_batch:
            return []
        return [
            f"const bb::idx {self.start} = {self.number} * {self.size}, "
            f"{self.width} = std::min({self.size}, {end or self.extent} - {self.start});"
        ]


def name_dims(names: Names, dims: Mapping[str, block.DimAttr]) -> dict[str, DimNames]:
    """Names for the dims of a kernel."""
    return {name: DimNames(names.claim(name, *DimNames.SUFFIXES), dim) for name, dim in dims.items()}


@dataclass(frozen=True)
class Array:
    """An array: a pointer, and the expression of the stride of each axis."""

    pointer: str
    strides: tuple[str, ...]


@dataclass(frozen=True)
class Window:
    """The current block of an array: a pointer to its first element; stride and width of each axis.

    A block of a packed array has no strides.
    """

    pointer: str
    strides: tuple[str, ...]
    widths: tuple[str, ...]
    packed: kernel.PackedAttr | None = None


def window_of(
    cursor: kernel.CursorOp, array: Array, dims: Mapping[str, DimNames], pairs: bool = False
) -> Window:
    """Return the current block of a cursor: its pointer is an expression. With `pairs` the first axis goes in
    pairs.
    """
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    if cursor.packed is not None:
        return _packed_window(cursor.packed, item.dims, array, dims)
    strides: dict[str, str] = {}
    offsets: list[str] = []
    for number, (axis, stride) in enumerate(zip(cursor.axis_dims, array.strides, strict=True)):
        for position, name in enumerate(axis):
            factors = [dims[later].extent for later in axis[position + 1 :]]
            strides[name] = " * ".join([stride, *factors])
            offset = block_offset(cursor, name, item.dims, dims)
            if offset is not None:
                half = " / 2" if pairs and number == 0 else ""
                offsets.append(f"{offset}{half} * {strides[name]}")
    widths = [block_width(cursor, name, dims, "std::min") for name in item.dims]
    start = f"(bb::Pair*){array.pointer}" if pairs else array.pointer
    return Window(" + ".join([start, *offsets]), tuple(strides[name] for name in item.dims), tuple(widths))


def _packed_window(
    layout: kernel.PackedAttr, item: Sequence[str], array: Array, dims: Mapping[str, DimNames]
) -> Window:
    rows, columns = (dims[name] for name in item)
    numbers = ["0" if dim.declared.is_whole else dim.number for dim in (rows, columns)]
    number = f"{numbers[0]} * {columns.trips} + {numbers[1]}"
    return Window(
        f"{array.pointer} + ({number}) * {layout.elements_of_block}", (), (rows.width, columns.width), layout
    )


@dataclass(frozen=True)
class Plane:
    """A tile in scratch memory: `outer` x `lanes` elements, rows of lanes `stride` apart."""

    pointer: str
    stride: str
    type: kernel.TileType
    rows: str | None = None
    """The rows that sweeps read or write in its place, if those of the array may be used: see rows.hpp."""
    pairs: bool = False
    """True if two rows of lanes of bf16 share one row of words: see pairs.hpp."""

    @property
    def element(self) -> str:
        """The C++ type of an element: a lane of floats, or of integers; an i1 is 0 or 1 as a float."""
        return lane_type(self.type.element_type)

    def elements(self, rows: str = "stride") -> tuple[str, str]:
        """The strides along the rows and the columns of a block."""
        return ("1", self.stride) if self.type.rows_in_lanes else (self.stride, "1")


def plane_size(type: kernel.TileType, dims: Mapping[str, DimNames], pairs: bool = False) -> tuple[str, str]:
    """The distance of rows of lanes of a tile, and the number of elements, or of pairs, that it takes."""
    lane = type.lane_dim
    if lane is None:
        return "bb::W<T>", "bb::W<T>"
    stride = f"bb::plane_ld<T>({dims[lane].size})"
    outer = type.outer_dim
    if outer is None:
        return stride, stride
    rows = f"bb::ceil_div({dims[outer].size}, 2)" if pairs else dims[outer].size
    return stride, f"{rows} * {stride}"


def element_of(cursor: SSAValue) -> str:
    """The C++ type of the elements of the array or the buffer that a cursor goes over."""
    owner = cursor.owner
    assert isinstance(owner, kernel.CursorOp)
    assert isinstance(cursor.type, kernel.CursorType)
    if isinstance(owner.array.owner, kernel.BufferOp):
        return lane_type(cursor.type.element_type)
    return storage_type(cursor.type.element_type)
