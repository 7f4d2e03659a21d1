"""The types that kernels compute in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects.builtin import IndexType, f64, i64
from xdsl.ir import Attribute, Block, SSAValue

from ..block.dims import DIMS, parse_dims
from ..block.types import DimAttr
from .integer_ranges import I32_RANGE, LARGEST_EXTENT, IntegerRanges, is_within, type_range
from .structure import FuncOp
from .sweeps import QuantityOp, SweepOp
from .types import CursorType, TileType


def needs_wide_lanes(element_types: Iterable[Attribute]) -> bool:
    """True if a kernel with such items computes in lanes of 64 bits, that is, with f64 and i64."""
    return any(type in (f64, i64) for type in element_types)


def has_wide_lanes(function: FuncOp) -> bool:
    """True if a CPU kernel computes in lanes of 64 bits: f64, and integers that may need more than 32 bits.

    Otherwise its lanes have 32 bits: f32, which holds every 16-bit float, and i32. An index, or an i64 that a
    sweep computes from indices, has 32 bits wherever its range is known to fit.
    """
    dims = parse_dims(function.attributes[DIMS])
    return any(
        needs_wide_lanes(
            value.type.element_type for value in op.results if isinstance(value.type, TileType | CursorType)
        )
        or (isinstance(op, SweepOp) and is_wide_body(op.body.block, dims))
        for op in function.walk()
    )


def is_wide_body(body: Block, dims: Mapping[str, DimAttr]) -> bool:
    """True if a body computes f64, or integers for which 32 bits may be too few."""
    computes_f64 = any(value.type == f64 and value.uses for op in body.ops for value in op.results)
    return computes_f64 or bool(_beyond_32_bits(body, dims, LARGEST_EXTENT))


def _beyond_32_bits(body: Block, dims: Mapping[str, DimAttr], largest_extent: int) -> set[SSAValue]:
    """The indices and i64 of a body that may need more than 32 bits."""
    ranges = IntegerRanges.of(body, dims, largest_extent)
    return {
        value
        for op in body.ops
        for value in op.results
        if (isinstance(value.type, IndexType) or value.type == i64)
        and value.uses
        and not is_within(ranges[value], I32_RANGE)
    }


def largest_extent(function: FuncOp) -> int:
    """The largest extent, of those that are known only at a call, for which a kernel's indices are right."""
    dims = parse_dims(function.attributes[DIMS])
    bodies = [op.body.block for op in function.walk() if isinstance(op, SweepOp)]
    bodies = [body for body in bodies if any(isinstance(op, QuantityOp) for op in body.ops)]
    if not bodies:
        return type_range(i64)[1]
    relies = any(
        _beyond_32_bits(body, dims, I32_RANGE[1]) - _beyond_32_bits(body, dims, LARGEST_EXTENT)
        for body in bodies
    )
    return LARGEST_EXTENT if relies else I32_RANGE[1]
