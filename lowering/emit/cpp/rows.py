"""Tiles that may be blocks of arrays, stores past the caches, and prefetches of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ....dialects import kernel
from ..names import Names
from .windows import DimNames, Plane, Window, storage_type


def ordered(type: kernel.TileType, pair: Sequence[str]) -> tuple[str, str]:
    """Return two values for rows and columns in the order of rows of lanes and lanes."""
    rows, columns = pair
    return (columns, rows) if type.rows_in_lanes else (rows, columns)


def _rows(type: kernel.TileType, pair: Sequence[str], alone: str) -> tuple[str, str]:
    """Like `ordered`; a vector is one row, for which `alone` stands."""
    return (alone, pair[0]) if len(type.dims) == 1 else ordered(type, pair)


def load_in_place(plane: Plane, window: Window, names: Names) -> tuple[str, Plane]:
    """The line of a load that may leave the block where it is, and the tile that it makes."""
    outer, lanes = _rows(plane.type, window.widths, "1")
    by_outer, by_lane = _rows(plane.type, window.strides, "0")
    name = names.claim(f"{plane.pointer}_rows")
    line = (
        f"const auto {name} = bb::load_in_place<{plane.element}>({plane.pointer}, {plane.stride}, "
        f"{outer}, {lanes}, {window.pointer}, {by_outer}, {by_lane});"
    )
    return line, Plane(plane.pointer, plane.stride, plane.type, rows=name)


def goes_past(cursor: kernel.CursorOp, dims: Mapping[str, DimNames]) -> str:
    """Expression that is true if the array of a cursor is written past the caches."""
    extents = [dims[name].extent for axis in cursor.axis_dims for name in axis]
    assert isinstance(cursor.result.type, kernel.CursorType)
    element = storage_type(cursor.result.type.element_type)
    return f"bb::past_caches({' * '.join([*extents, f'(bb::idx)sizeof({element})'])})"


def store_in_place(plane: Plane, window: Window, past: str, names: Names) -> tuple[str, Plane]:
    """The line that finds where a sweep writes its rows, and the tile that it writes."""
    _, lanes = _rows(plane.type, window.widths, "1")
    by_outer, by_lane = _rows(plane.type, window.strides, "0")
    name = names.claim(f"{plane.pointer}_rows")
    line = (
        f"const auto {name} = bb::store_in_place<{plane.element}>({plane.pointer}, {plane.stride}, {lanes}, "
        f"{window.pointer}, {by_outer}, {by_lane}, {past});"
    )
    return line, Plane(plane.pointer, plane.stride, plane.type, rows=name)


def finish(plane: Plane, window: Window, past: str) -> str:
    """The line of a store whose sweep may have written to the array already."""
    outer, lanes = _rows(plane.type, window.widths, "1")
    by_outer, by_lane = _rows(plane.type, window.strides, "0")
    return f"{plane.rows}.finish({window.pointer}, {by_outer}, {by_lane}, {outer}, {lanes}, {past});"


def fetched_ahead(
    op: kernel.SweepOp, windows: Mapping[SSAValue, Window], dims: Mapping[str, DimNames]
) -> list[str]:
    """Rows that a sweep prefetches while it computes: its share of the rows after the current ones.

    The first sweep over rows waits for them in any case. Among the later ones, the sweeps that compute
    longest, and leave memory idle, share the next rows. `windows` are those of the cursors so far. A row that
    is loaded later is not prefetched yet, and a row that is loaded twice is prefetched once.
    """
    body = op.parent
    assert body is not None
    lines: list[str] = []
    for load in body.ops:
        if not isinstance(load, kernel.LoadOp) or load.ahead is None or load.source not in windows:
            continue
        wanted = kernel.tile_type(load.target).dims
        sweeps = [each for each in body.ops if isinstance(each, kernel.SweepOp) and each.dims == wanted]
        sharing = [each for each in sweeps[1:] if _computes(each)] or sweeps[1:]
        if op not in sharing:
            continue
        window = windows[load.source]
        by_outer, _ = window.strides
        share = "l"
        if len(sharing) > 1:
            begin = sharing.index(op)
            width = dims[wanted[1]].width
            share = f"({f'{begin} * {width} + ' if begin else ''}l) / {len(sharing)}"
        lines.append(f"bb::prefetch<2>({window.pointer} + (o + 1) * {by_outer} + {share});")
    return list(dict.fromkeys(lines))


def widened(op: kernel.SweepOp, planes: Mapping[SSAValue, Plane]) -> dict[int, Plane]:
    """Return the outputs of a sweep that equal one of its inputs, read in place, in a wider type.

    The plane of either has the same elements, so a reader of such an output can read the input. The output
    must be written only here, and be read only by later sweeps of the same body. The keys are the numbers of
    outputs, the values the inputs' planes.
    """
    arguments = dict[SSAValue, SSAValue](zip(op.body.block.args, op.inputs, strict=True))
    found: dict[int, Plane] = {}
    for index, value in enumerate(op.yield_op.arguments):
        tile = op.outputs[index]
        if op.output_kinds[index] is not kernel.Output.Each or not isinstance(value.owner, arith.ExtFOp):
            continue
        source = arguments.get(value.owner.input)
        if (
            source is None
            or planes[source].rows is None
            or kernel.tile_type(source).dims != kernel.tile_type(tile).dims
        ):
            continue
        readers = kernel.readers(tile)
        later = all(
            isinstance(each, kernel.SweepOp) and each.parent is op.parent and op.is_before_in_block(each)
            for each in readers
        )
        if later and kernel.writers(tile) == [op]:
            found[index] = planes[source]
    return found


def _computes(op: kernel.SweepOp) -> bool:
    """True if a sweep has functions of many operations."""
    return any(inner.name.startswith("math.") for inner in op.body.block.ops)
