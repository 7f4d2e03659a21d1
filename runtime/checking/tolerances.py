"""Allowed differences of results from the float64 reference: one table for all checks, and the comparison.

The error of a result is the largest absolute difference from the reference, divided by the largest absolute
value of the reference (by 1 if that is 0). The bound is that of the narrowest float type in the function: an
f32 result of bf16 values need only be as accurate as bf16. Integers and booleans must be equal. If the
reference is NaN or infinite, the result must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import AnyTensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from ...dialects.block import ItemType, ListType, element_type_of
from ...dialects.scalar import is_float
from ..arrays.dtypes import Array

BOUNDS: dict[str, float] = {"f64": 1e-12, "f32": 1e-5, "tf32": 5e-3, "f16": 5e-3, "bf16": 4e-2}
"""Largest error by element type, widest first; for 16 bits, ten times the rounding error of an operation.
tf32, to which contractions may round operands of f32, has the fraction of f16.
"""


def narrowest_float(function: FuncOp, *, tf32: bool = False) -> str:
    """The float type of a function with the fewest bits of precision; f64 where there is no float. With
    `tf32` contractions of f32 multiply in that.
    """
    found = {str(type) for type in _element_types(function)}
    if tf32 and "f32" in found:
        found.add("tf32")
    return next((name for name in reversed(BOUNDS) if name in found), "f64")


def _element_types(function: FuncOp) -> Iterator[Attribute]:
    for op in function.walk():
        types = [result.type for result in op.results]
        types += [argument.type for region in op.regions for body in region.blocks for argument in body.args]
        for type in types:
            if isinstance(type, ItemType | ListType):
                type = element_type_of(type)
            elif isa(type, AnyTensorType):
                type = type.element_type
            if is_float(type):
                yield type


@dataclass(frozen=True)
class Comparison:
    """Comparison of a result with its reference: the worst errors and the bound for the relative one."""

    absolute: float
    relative: float
    bound: float

    @property
    def within(self) -> bool:
        return self.relative <= self.bound


def compare(result: Array, reference: Array, bound: float) -> Comparison:
    """Compare a result with its reference; a wrong shape, NaN or infinity is an infinite error."""
    if result.shape != reference.shape:
        return Comparison(float("inf"), float("inf"), bound)
    if reference.dtype.kind in "biu":
        different = np.abs(result.astype(np.float64) - reference.astype(np.float64))
        worst = float(different.max(initial=0.0))
        # Beyond 2**53 neighbours look equal as floats.
        if worst == 0.0 and not np.array_equal(result, reference):
            worst = 1.0
        return Comparison(worst, worst, 0.0)
    found, wanted = result.astype(np.float64), reference.astype(np.float64)
    ordinary = np.isfinite(wanted)
    same = np.array_equal(found[~ordinary], wanted[~ordinary], equal_nan=True)
    if not same or not np.isfinite(found[ordinary]).all():
        return Comparison(float("inf"), float("inf"), bound)
    absolute = float(np.abs(found[ordinary] - wanted[ordinary]).max(initial=0.0))
    scale = float(np.abs(wanted[ordinary]).max(initial=0.0)) or 1.0
    return Comparison(absolute, absolute / scale, bound)
