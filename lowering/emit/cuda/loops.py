"""Bounds of loops over the blocks of a dim: all blocks, blocks up to an end, or a part of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ....dialects import kernel
from ..names import Names
from .geometry import Dim


@dataclass(frozen=True)
class Bounds:
    """The first iteration of a loop, the end of its iterations, and the lines that declare them."""

    first: str
    trips: str
    end: str | None
    """The variable with the element at which the loop ends, if that is before the end of its dim."""
    lines: tuple[str, ...]


def plan_bounds(op: kernel.ForOp, dims: Mapping[str, Dim], names: Names) -> Bounds:
    """Name the bounds of a loop that are variables."""
    dim = dims[op.dim_names[0]]
    first, trips, end, lines = "0", dim.trips, None, list[str]()
    if op.until_dim is not None:
        end = names.claim(f"{dim.extent}end")
        after = dims[op.until_dim].after(op.until_offset)
        lines.append(f"const int {end} = min({dim.extent}, {after});  // the rest is masked")
        trips = end if dim.declared.is_batch else f"({end} + {dim.size} - 1) / {dim.size}"
    if op.part_dim is not None:
        first, trips, declared = _plan_part(op, trips, dims, names)
        lines += declared
    return Bounds(first, trips, end, tuple(lines))


def _plan_part(
    op: kernel.ForOp, trips: str, dims: Mapping[str, Dim], names: Names
) -> tuple[str, str, list[str]]:
    """The first iteration of a part, the end of its iterations, and the lines that declare them."""
    dim, part = dims[op.dim_names[0]], dims[op.part_dim or ""]
    first, length, after = (names.claim(f"{dim.extent}{word}") for word in ("first", "length", "after"))
    extent, parts = dim.declared.static_extent or 1, part.declared.static_extent or 1
    is_even = op.until_dim is None and extent % (parts * (dim.block_length or 1)) == 0 and dim.is_static
    last = f"{first} + {length}" if is_even else f"min({first} + {length}, {trips})"
    return (
        first,
        after,
        [
            f"const int {length} = ({trips} + {part.extent} - 1) / {part.extent};  // of each part",
            f"const int {first} = {part.number} * {length}, {after} = {last};",
        ],
    )
