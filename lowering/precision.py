"""In which type kernels compute."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import f64, i32
from xdsl.ir import Attribute


def computes_in_double(element_types: Iterable[Attribute]) -> bool:
    """Whether a kernel of such items computes in f64: for f64, and for integers that f32 would round.

    Else it computes in f32, of which 16-bit floats are a part.
    """
    return any(type in (f64, i32) for type in element_types)
