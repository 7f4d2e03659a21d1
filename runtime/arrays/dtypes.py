"""Element types as numpy dtypes."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

from ...dialects.scalar import is_float

Array: TypeAlias = npt.NDArray[Any]


BFLOAT16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)


_DTYPES: dict[type[Attribute], np.dtype[Any]] = {
    Float16Type: np.dtype(np.float16),
    BFloat16Type: BFLOAT16,
    Float32Type: np.dtype(np.float32),
    Float64Type: np.dtype(np.float64),
    IndexType: np.dtype(np.int64),
}


_INTEGER_DTYPES: dict[Attribute, np.dtype[Any]] = {
    i1: np.dtype(np.bool_),
    i32: np.dtype(np.int32),
    i64: np.dtype(np.int64),
}


def numpy_dtype(element_type: Attribute, float64: bool = False) -> np.dtype[Any]:
    """The dtype that holds elements of this type; with `float64`, float64 for every float type.

    Raises TypeError for a type that arrays cannot hold.
    """
    if float64 and is_float(element_type):
        return np.dtype(np.float64)
    dtype = _INTEGER_DTYPES.get(element_type) or _DTYPES.get(type(element_type))
    if dtype is None:
        raise TypeError(f"no numpy dtype for element type {element_type}")
    return dtype


def compute_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """float32 for 16-bit floats, else `dtype` itself."""
    return np.dtype(np.float32) if dtype in (np.float16, BFLOAT16) else dtype


def widen(array: Array) -> Array:
    """16-bit floats as float32; others as they are."""
    return array.astype(compute_dtype(array.dtype), copy=False)


def to_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    """`array` rounded once to `dtype`; integers wrap around, to i1 the lowest bit is kept."""
    if dtype == np.bool_ and array.dtype != np.bool_:
        return (array & 1).astype(np.bool_)
    if dtype in (np.float16, BFLOAT16) and (array.dtype == np.float64 or array.dtype.kind in "iu"):
        array = _rounded_to_odd(array)  # numpy would round to f32 first, and then again
    return array.astype(dtype, copy=False)


def _rounded_to_odd(array: Array) -> Array:
    """Numbers as float32, of which the last bit is set where it is not exact.

    A second rounding, to a type of fewer bits, then gives what a single one would give.
    """
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        low = array & 0x7FF
        large = (array >= 1 << 53) | (array <= -(1 << 53) if array.dtype.kind == "i" else False)
        array = np.where(large & (low != 0), (array - low) | 0x400, array)
    exact = np.asarray(array, dtype=np.float64)
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32)
        bits = nearest.view(np.int32)
        toward_zero = bits - (np.abs(nearest) > np.abs(exact))
        odd = (toward_zero | 1).astype(np.int32).view(np.float32)
        return np.where((nearest == exact) | np.isnan(exact), nearest, odd)
