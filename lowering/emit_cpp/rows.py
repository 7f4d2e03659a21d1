"""Tiles that may be blocks of arrays, stores past the caches, and rows fetched ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from ...dialects import kernel
from .names import Names
from .windows import DimNames, Plane, Window, storage_type, tile_type


def ordered(type: kernel.TileType, pair: Sequence[str]) -> tuple[str, str]:
    """What is given for rows and columns, for rows of lanes and lanes."""
    rows, columns = pair
    return (columns, rows) if type.rows_in_lanes else (rows, columns)


def _rows(type: kernel.TileType, pair: Sequence[str], alone: str) -> tuple[str, str]:
    """As `ordered`; a vector is one row, for which `alone` stands."""
    return (alone, pair[0]) if len(type.dims) == 1 else ordered(type, pair)


def load_in_place(plane: Plane, window: Window, names: Names) -> tuple[str, Plane]:
    """The line of a load that may leave the block where it is, and the tile that it makes."""
    outer, lanes = _rows(plane.type, window.widths, "1")
    by_outer, by_lane = _rows(plane.type, window.strides, "0")
    name = names.claim(f"{plane.pointer}_rows")
    line = (
        f"const auto {name} = bb::load_in_place<T>({plane.pointer}, {plane.stride}, {outer}, {lanes}, "
        f"{window.pointer}, {by_outer}, {by_lane});"
    )
    return line, Plane(f"{name}.data", f"{name}.ld", plane.type)


def goes_past(cursor: kernel.CursorOp, dims: Mapping[str, DimNames]) -> str:
    """Whether the array of a cursor is written past the caches: an expression."""
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
        f"const auto {name} = bb::store_in_place<T>({plane.pointer}, {plane.stride}, {lanes}, "
        f"{window.pointer}, {by_outer}, {by_lane}, {past});"
    )
    return line, Plane(f"{name}.data", f"{name}.ld", plane.type, past=f"{name}.past")


def finish(plane: Plane, window: Window, past: str) -> str:
    """The line of a store whose sweep may have written to the array already."""
    outer, lanes = _rows(plane.type, window.widths, "1")
    by_outer, by_lane = _rows(plane.type, window.strides, "0")
    rows = plane.pointer.removesuffix(".data")
    return f"bb::finish_rows<T>({rows}, {window.pointer}, {by_outer}, {by_lane}, {outer}, {lanes}, {past});"


def fetched_ahead(
    op: kernel.SweepOp, windows: Mapping[SSAValue, Window], dims: Mapping[str, DimNames]
) -> list[str]:
    """What a sweep fetches while it computes: its share of the rows after those at hand.

    The first sweep over rows waits for them anyhow. Of those after it, the ones that compute longest, which
    leave memory idle, share the next rows. `windows` are those of the cursors so far: what is loaded later is
    not fetched yet, and what is loaded twice is fetched once.
    """
    body = op.parent
    assert body is not None
    lines: list[str] = []
    for load in body.ops:
        if not isinstance(load, kernel.LoadOp) or load.ahead is None or load.source not in windows:
            continue
        wanted = tile_type(load.target).dims
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


def _computes(op: kernel.SweepOp) -> bool:
    """Whether a sweep has functions of many operations."""
    return any(inner.name.startswith("math.") for inner in op.body.block.ops)
