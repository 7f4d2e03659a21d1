"""Blocks of arrays on their way to swizzled tiles in shared memory, for fragments to be read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from ...dialects import kernel
from ...dialects.kernel.placement import ASYNC_ATTRIBUTE, STAGES_ATTRIBUTE
from .geometry import Array, Dim, Window, item_offset, non_item_offsets
from .scalars import element_bytes, storage_type


@dataclass(frozen=True)
class Staged:
    """A swizzled tile in shared memory, of one stage or several."""

    name: str
    type_name: str
    type: kernel.TileType
    rows: int
    columns: int
    stages: int
    in_tf32: bool = False
    """Whether it is multiplied in tf32."""

    @property
    def rows_contiguous(self) -> bool:
        """Whether the rows of the block lie along the tile's own rows: of [N, K], K x N."""
        return self.type.rows_in_lanes

    def declarations(self, offset: int) -> list[str]:
        """The lines that declare it."""
        element = "bb::tf32" if self.in_tf32 else storage_type(self.type.element_type)
        lines = [f"using {self.type_name} = bb::shared_tile<{element}, {self.rows}, {self.columns}>;"]
        where = f"bb_shared + {offset}"
        kind = self.type_name if self.stages == 1 else f"bb::ring<{self.type_name}, {self.stages}>"
        dims = ", ".join((self.type.outer_dim or "", self.type.lane_dim or ""))
        return [*lines, f"const {kind} {self.name}{{{where}}};  // [{dims}]"]


def fetch_lines(
    op: kernel.LoadOp,
    staged: Staged,
    to: str,
    array: Array,
    dims: Mapping[str, Dim],
    ends: Mapping[str, str],
    threads: int,
    thread: str,
) -> list[str]:
    """The lines that copy the block at hand of a cursor to a stage, called `to`: asynchronously where the
    array allows it. `thread` is what the thread's number is called; empty for `threadIdx.x`.
    """
    cursor = op.source.owner
    assert isinstance(cursor, kernel.CursorOp)
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    strides, offsets = non_item_offsets(cursor, array, dims)
    outer, lane = staged.type.outer_dim, staged.type.lane_dim
    assert outer is not None
    assert lane is not None
    matrix = " + ".join([array.pointer, *offsets])
    row, col = (item_offset(cursor, name, dims) for name in (outer, lane))
    rows, cols = (
        # Of a list of the thread block's own there is only the block at hand.
        dims[name].width
        if name in cursor.here_dims and not dims[name].declared.is_whole
        else _end(dims[name], start, end, length)
        for name, start, end, length in (
            (outer, row, ends.get(outer, dims[outer].extent), staged.rows),
            (lane, col, dims[lane].extent, staged.columns),
        )
    )
    vector = vector_of(cursor, lane, array, dims, threads, staged.columns)
    if strides[lane] == "1" and vector is not None:
        over = [
            kind
            for kind, name, length in (("rows", outer, staged.rows), ("cols", lane, staged.columns))
            if name in ends or not dims[name].fills(length)
        ]
        checked = "" if len(over) == 2 else f", bb::ends::{over[0] if over else 'none'}"
        kind = f"bb::reader<{staged.type_name}, THREADS, {vector}{checked}>"
        own = f", {thread}" if thread else ""
        return [f"{kind}({matrix}, {strides[outer]}, {row}, {col}, {rows}, {cols}{own}).load({to});"]
    element = storage_type(staged.type.element_type)
    source = f"from[(long long)({row} + row) * {strides[outer]} + (long long)({col} + col) * {strides[lane]}]"
    return [
        "{",
        f"  const auto* from = {matrix};",
        f"  for (int i = threadIdx.x; i < {staged.rows} * {staged.columns}; i += THREADS) {{",
        f"    const int row = i / {staged.columns}, col = i % {staged.columns};",
        f"    const bool inside = {row} + row < {rows} && {col} + col < {cols};",
        f"    {to}(row, col) = inside ? {source} : {element}(0.0f);",
        "  }",
        "}",
    ]


def fetch_vector_lines(op: kernel.LoadOp, to: str, array: Array, dims: Mapping[str, Dim]) -> list[str]:
    """The line that copies the vector at hand of a cursor to shared memory: asynchronously where accesses may
    have 4 bytes or more.
    """
    cursor = op.source.owner
    assert isinstance(cursor, kernel.CursorOp)
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    (name,) = item.dims
    strides, offsets = non_item_offsets(cursor, array, dims)
    dim, start, vector = dims[name], item_offset(cursor, name, dims), 1
    count = dim.extent if dim.declared.is_whole else f"min({dim.size}, {dim.extent} - {start})"
    if start != "0":
        offsets.append(start)
    source = " + ".join([array.pointer, *offsets])
    if strides[name] != "1":
        element = f"({source})[(long long)i * {strides[name]}]"
        return [f"for (int i = threadIdx.x; i < {count}; i += THREADS) ({to})[i] = {element};"]
    vector = vector_of(cursor, name, array, dims) or 1
    return [f"bb::fetch_vector<THREADS, {vector}, {dim.size}>({to}, {source}, {count});"]


def _end(dim: Dim, start: str, end: str, length: int) -> str:
    """Where the elements along a dim end that a tile of some length takes: at the end of the block, where the
    tile is longer.
    """
    block = dim.block_length
    if dim.declared.is_whole or (block is not None and block >= length):
        return end
    return f"min({end}, {start} + {dim.size})"


def vector_of(
    cursor: kernel.CursorOp,
    lane: str,
    array: Array,
    dims: Mapping[str, Dim],
    threads: int = 0,
    columns: int = 0,
) -> int | None:
    """How many elements along a dim one access may move: all row starts and the end are multiples of it.

    None where the threads of a block cannot share out the rows of a tile so.
    """
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    width = element_bytes(item.element_type)
    multiples = _row_starts(cursor, lane, array, dims, 16 // width)
    for vector in (16 // width, 8 // width, 4 // width, 1):
        if vector < 1 or (vector > 1 and (multiples is None or any(each % vector for each in multiples))):
            continue
        if threads and columns // vector > threads:
            return None
        return vector
    return 1


def _row_starts(
    cursor: kernel.CursorOp, lane: str, array: Array, dims: Mapping[str, Dim], most: int
) -> list[int] | None:
    """Numbers that an access of at most so many elements must divide; None where they are not known."""
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    found: list[int] = []
    for axis, stride in zip(cursor.axis_dims, array.strides, strict=True):
        step = int(stride) if stride.isdecimal() else most if array.aligned else None
        for dim in reversed(axis):
            declared = dims[dim].declared
            if dim == lane:
                extent = declared.static_extent
                if extent is None or step != 1:
                    return None
                found += [extent, extent if declared.is_whole else declared.block_size or 1]
                step = step * extent
                continue
            if declared.static_extent == 1 or (declared.is_whole and dim not in item.dims):
                continue
            if step is None:
                return None
            found.append(step)
            step = None if declared.static_extent is None else step * declared.static_extent
    return found


def window_vector(window: Window, cursor: kernel.CursorOp, array: Array, dims: Mapping[str, Dim]) -> int:
    """How many elements along the columns of a window one access may move."""
    item = cursor.result.type
    assert isinstance(item, kernel.CursorType)
    if not item.dims or window.strides[-1] != "1":
        return 1
    return vector_of(cursor, item.dims[-1], array, dims) or 1


def is_async(op: Operation) -> bool:
    """Whether an operation copies a block to shared memory without waiting for it."""
    return isinstance(op, kernel.LoadOp) and ASYNC_ATTRIBUTE in op.attributes


def is_fetched_ahead(op: Operation) -> bool:
    """Whether a load is done by earlier iterations of the loop that it stands in."""
    if not isinstance(op, kernel.LoadOp) or not is_async(op):
        return False
    tile = op.target.owner
    return isinstance(tile, Operation) and STAGES_ATTRIBUTE in tile.attributes
