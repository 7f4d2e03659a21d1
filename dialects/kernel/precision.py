"""The types that kernels compute in."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import f64, i32, i64
from xdsl.ir import Attribute

from ..diagnostics import OpError
from .structure import FuncOp
from .types import CursorType, TileType


def computes_in_double(element_types: Iterable[Attribute]) -> bool:
    """True if a kernel with such items computes in f64: for f64, and for integers that f32 would round.

    Otherwise it computes in f32, which holds every 16-bit float.
    """
    return any(type in (f64, i32) for type in element_types)


def kernel_computes_in_double(function: FuncOp) -> bool:
    """True if a kernel has f64 values, or integers that float would round. Raises OpError for i64 items."""
    types: set[Attribute] = set()
    for op in function.walk():
        for value in op.results:
            if isinstance(value.type, TileType | CursorType):
                if value.type.element_type == i64:
                    raise OpError(op, "has elements of type i64, which a CPU kernel does not compute with")
                types.add(value.type.element_type)
    return computes_in_double(types)
