"""Extents, blocks and windows of a kernel as CUDA C++ expressions, and sizes that the host computes too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

from ....dialects import block, kernel
from ..block_names import BlockNames, block_offset, block_width
from ..names import Names

LARGEST_INT = 2**31 - 1


@dataclass(frozen=True)
class Dim(BlockNames):
    """The names of a dim and its blocks, their known extents, and the CUDA C++ that declares them."""

    ends_early: bool = False
    """True if a loop over its blocks ends at some row of another dim."""

    @property
    def is_static(self) -> bool:
        return self.declared.static_extent is not None

    @property
    def block_length(self) -> int | None:
        """The number of elements of a block, if known."""
        extent, size = self.declared.static_extent, self.declared.block_size
        if size is None:
            return extent
        return size if extent is None else min(size, extent)

    @property
    def always_full(self) -> bool:
        """True if all blocks have the same number of elements."""
        extent, length = self.declared.static_extent, self.block_length
        return extent is not None and bool(length) and extent % (length or 1) == 0

    def fills(self, length: int) -> bool:
        """True if every block has exactly the given number of elements."""
        return self.always_full and self.block_length == length

    def declarations(self) -> list[str]:
        """The lines that declare numbers common to all blocks; the extent only if it is no argument."""
        extent, size = self.declared.static_extent, self.declared.block_size
        const = "constexpr" if extent is not None else "const"
        own = [f"{self.extent} = {extent}"] if extent is not None else []
        if self.declared.is_batch:
            return [f"{const} int {', '.join(own)};"] if own else []
        if self.declared.is_whole:
            own += [f"{self.size} = {self.extent}", f"{self.blocks} = 1"]
            return [f"{const} int {', '.join([*own, f'{self.start} = 0', f'{self.width} = {self.extent}'])};"]
        assert size is not None
        if extent is not None:
            size = min(size, extent)
        return [
            *(f"{const} int {each};" for each in own),
            f"constexpr int {self.size} = {size};",
            f"{const} int {self.blocks} = ({self.extent} + {self.size} - 1) / {self.size};",
        ]

    def first_block(self) -> str:
        """The line that makes the first block the current one, for code outside of a loop over the dim."""
        return f"const int {self.start} = 0, {self.width} = min({self.size}, {self.extent});"

    def position(self, end: str | None = None) -> list[str]:
        """The line that declares the position of the current block, from its number; none for a batch dim.

        `end` is the end of the loop over the dim, if that is not the end of the dim.
        """
        if self.declared.is_batch:
            return []
        width = self.size if self.always_full and end is None else None
        if width is None:
            width = f"min({self.size}, {end or self.extent} - {self.start})"
        return [f"const int {self.start} = {self.number} * {self.size}, {self.width} = {width};"]


def name_dims(names: Names, dims: Mapping[str, block.DimAttr], parallel: kernel.ParallelOp) -> dict[str, Dim]:
    """Names for the dims of a kernel."""
    early = {
        op.dim_names[0] for op in parallel.walk() if isinstance(op, kernel.ForOp) and op.until_dim is not None
    }
    return {name: Dim(names.claim(name, *Dim.SUFFIXES), dim, name in early) for name, dim in dims.items()}


Length = int | tuple[str, str]
"""A number, or (kind, dim): the `extent`, the `block` length or the number of `blocks` of a dim."""


@dataclass(frozen=True)
class Size:
    """A number of bytes: a product, whose factors the host and the kernel both know."""

    factors: tuple[Length, ...]
    ALIGNMENT = 16

    def text(self, dims: Mapping[str, Dim]) -> str:
        """As an expression of the kernel, a multiple of 16."""
        product = " * ".join(["(long long)1", *(length_text(factor, dims) for factor in self.factors)])
        return f"({product} + 15) / 16 * 16"

    def bytes(self, dims: Mapping[str, block.DimAttr], extents: Mapping[str, int]) -> int:
        """The number for the extents of a call."""
        number = prod(_length(factor, dims, extents) for factor in self.factors)
        return -(-number // self.ALIGNMENT) * self.ALIGNMENT

    @property
    def static(self) -> int | None:
        """The number, if the program gives all extents in it; else None."""
        known = [factor for factor in self.factors if isinstance(factor, int)]
        if len(known) != len(self.factors):
            return None
        return -(-prod(known) // self.ALIGNMENT) * self.ALIGNMENT


def length_text(length: Length, dims: Mapping[str, Dim]) -> str:
    """A factor as an expression."""
    if isinstance(length, int):
        return str(length)
    what, name = length
    return {"extent": dims[name].extent, "block": dims[name].size, "blocks": dims[name].trips}[what]


def _length(length: Length, dims: Mapping[str, block.DimAttr], extents: Mapping[str, int]) -> int:
    if isinstance(length, int):
        return length
    what, name = length
    size, extent = dims[name].block_size, extents[name]
    if what == "extent" or size is None:
        return 1 if what == "blocks" and dims[name].is_whole else extent
    # A block is as long as its size where the extent is an argument.
    static = dims[name].static_extent
    return -(-extent // size) if what == "blocks" else size if static is None else min(size, static)


def block_length(name: str, dims: Mapping[str, block.DimAttr]) -> Length:
    """The number of elements of a tile along a dim."""
    dim = dims[name]
    extent, size = dim.static_extent, dim.block_size
    if size is None:
        return extent if extent is not None else ("extent", name)
    return size if extent is None else min(size, extent)


def extent_length(name: str, dims: Mapping[str, block.DimAttr]) -> Length:
    """The extent of a dim."""
    extent = dims[name].static_extent
    return extent if extent is not None else ("extent", name)


def blocks_length(name: str, dims: Mapping[str, block.DimAttr]) -> Length:
    """The number of blocks of a dim."""
    dim = dims[name]
    extent, size = dim.static_extent, dim.block_size
    if dim.is_whole:
        return 1
    if extent is None:
        return ("blocks", name)
    return extent if size is None else -(-extent // size)


def buffer_lengths(op: kernel.BufferOp, dims: Mapping[str, block.DimAttr]) -> list[Length]:
    """The extents of a buffer's axes."""
    found: list[Length] = []
    for name in op.axis_dims:
        if name in op.here_dims:
            found.append(block_length(name, dims))
        elif name in op.block_dims:
            found.append(blocks_length(name, dims))
        else:
            found.append(extent_length(name, dims))
    return found


@dataclass(frozen=True)
class Array:
    """An array: a pointer, and the expression of the stride of each axis, in elements.

    `aligned`: the pointer and all strides but the last one, which is 1, are multiples of 16 bytes.
    """

    pointer: str
    strides: tuple[str, ...]
    aligned: bool = False


@dataclass(frozen=True)
class Window:
    """The current block of an array: a pointer to its first element; stride and width of each axis."""

    pointer: str
    strides: tuple[str, ...]
    widths: tuple[str, ...]
    vector: int = 1
    """Elements along the columns that one access may move."""
    lengths: tuple[int | None, ...] = ()
    """Elements of a block along each axis, where they are known."""
    origin: str = ""
    """Expression with which `pointer` is declared; empty if it is the array's own."""

    @property
    def unit_columns(self) -> bool:
        """True if the elements of a row are contiguous."""
        return len(self.strides) == 2 and self.strides[1] == "1"

    def element(self, *places: str) -> str:
        """The element at a row and column (or at one of them, or the only one)."""
        terms = [self.distance(axis, place) for axis, place in enumerate(places)]
        return f"{self.pointer}[{' + '.join(terms) or '0'}]"

    def distance(self, axis: int, place: str) -> str:
        """Expression of the elements from the first one of the window to a place on an axis: of 32 bits where
        the block is known to be small enough.
        """
        stride = self.strides[axis]
        if stride == "1":
            return place
        length = self.lengths[axis] if self.lengths else None
        is_small = length is not None and stride.isdecimal() and length * int(stride) <= LARGEST_INT
        return f"{'' if is_small else '(long long)'}{place} * {stride}"


def window_of(cursor: kernel.CursorOp, array: Array, dims: Mapping[str, Dim], name: str) -> Window:
    """The current block of a cursor, with a pointer called `name` unless it is the array's own."""
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    strides, offsets = dim_strides(cursor, array, dims), list[str]()
    for dim, stride in strides.items():
        offset = block_offset(cursor, dim, item.dims, dims)
        if offset is not None:
            offsets.append(_times(offset, stride))
    widths = tuple(block_width(cursor, dim, dims, "min") for dim in item.dims)
    own_strides = tuple(strides[dim] for dim in item.dims)
    lengths = tuple(dims[dim].block_length for dim in item.dims)
    if not offsets:
        return Window(array.pointer, own_strides, widths, lengths=lengths)
    return Window(
        name, own_strides, widths, lengths=lengths, origin=f"{array.pointer} + {' + '.join(offsets)}"
    )


def dim_strides(cursor: kernel.CursorOp, array: Array, dims: Mapping[str, Dim]) -> dict[str, str]:
    """The stride of each dim of a cursor's array: of its elements, or of its blocks."""
    strides: dict[str, str] = {}
    for axis, stride in zip(cursor.axis_dims, array.strides, strict=True):
        for position, dim in enumerate(axis):
            factors = [dims[later].extent for later in axis[position + 1 :]]
            own = [] if stride == "1" and factors else [stride]
            strides[dim] = " * ".join([*own, *factors])
    return strides


def non_item_offsets(
    cursor: kernel.CursorOp, array: Array, dims: Mapping[str, Dim]
) -> tuple[dict[str, str], list[str]]:
    """The strides of a cursor's dims, and the offsets from the array's start to the matrix of its blocks: one
    for each dim that is no axis of the matrix.
    """
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    strides = dim_strides(cursor, array, dims)
    offsets: list[str] = []
    for dim, stride in strides.items():
        if dim not in item.dims and (offset := block_offset(cursor, dim, item.dims, dims)) is not None:
            offsets.append(_times(offset, stride))
    return strides, offsets


def item_offset(cursor: kernel.CursorOp, name: str, dims: Mapping[str, Dim]) -> str:
    """The first element of a block along one of its dims."""
    return block_offset(cursor, name, (name,), dims) or "0"


def _times(offset: str, stride: str) -> str:
    return offset if stride == "1" else f"(long long){offset} * {stride}"


def row_stride(stride: str) -> str:
    """A stride as an argument of a tile function: a product is formed in 64 bits."""
    return f"(long long){stride}" if " * " in stride and not stride.startswith("(long long)") else stride


def product_text(lengths: Iterable[Iterable[str]]) -> str:
    """A product of extents; numbers are multiplied."""
    constant, factors = 1, list[str]()
    for axis in lengths:
        for factor in axis:
            if factor.isdecimal():
                constant *= int(factor)
            else:
                factors.append(factor)
    if not factors:
        return str(constant)
    known = [str(constant)] if constant != 1 else []
    return f"(long long){' * '.join([*factors, *known])}" if len(factors) + len(known) > 1 else factors[0]
