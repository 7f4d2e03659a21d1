"""Arrays as generated code takes them: an address, extents and strides, without copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from ...dialects.array import DYNAMIC, shape_text
from ..errors import InputError
from .dlpack import DLPackArray, read_dlpack
from .dtypes import BFLOAT16, Array
from .limits import allocate as allocate
from .limits import data_address

_OVERLAP_WORK = 100_000
"""Steps of numpy's search for an element that two strided arrays share."""


@dataclass(frozen=True, eq=False)
class ArrayView:
    """An array in the CPU's memory: address of its first element, extents, strides in elements.

    `label` names it in sentences (`argument %q of 'attention'`); `owner` keeps the memory alive.
    """

    label: str
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writable: bool
    owner: object

    @cached_property
    def byte_range(self) -> tuple[int, int]:
        """Addresses of the first byte, and of the byte after the last one; equal if there is none."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        low, high = 0, 1
        for extent, stride in zip(self.shape, self.strides, strict=True):
            reach = (extent - 1) * stride
            if reach < 0:
                low += reach
            else:
                high += reach
        size = self.dtype.itemsize
        return self.pointer + low * size, self.pointer + high * size

    def numpy(self) -> Array:
        """A numpy array on the same memory, which it keeps alive."""
        raw = np.asarray(_Memory(self)).view(self.dtype)
        return raw.reshape(self.shape) if 0 in self.shape else raw


class _Memory:
    """The memory of a view for numpy, as bytes of the item's size."""

    def __init__(self, view: ArrayView):
        self.view = view
        size = view.dtype.itemsize
        self.__array_interface__ = {
            "version": 3,
            "data": (view.pointer, not view.writable),
            "shape": view.shape,
            "strides": tuple(stride * size for stride in view.strides),
            "typestr": f"|V{size}",
        }


def view_of(value: object, label: str) -> ArrayView:
    """Return the view of a numpy array or scalar, or of any array in the CPU's memory that has `__dlpack__`.

    Raises InputError, naming `label`: no such object, another device, foreign byte order, strides that are no
    multiple of the item size, elements at odd addresses.
    """
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise InputError(f"{label} is a masked array, whose mask would be lost; pass an ordinary one")
        return _of_numpy(cast(Array, value), label)
    if isinstance(value, np.generic):
        return _of_numpy(np.asarray(cast(Any, value)), label)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        refuse_lazy(value, label)
        tensor = read_dlpack(cast(DLPackArray, value), label)
        strides = _row_major(tensor.shape) if tensor.strides is None else tensor.strides
        writable = not (tensor.read_only or tensor.copied)
        return _aligned(label, tensor.address, tensor.shape, strides, tensor.dtype, writable, tensor.owner)
    raise InputError(
        f"{label} is of type '{type(value).__name__}', expected a numpy array or one with __dlpack__"
    )


def refuse_lazy(value: object, label: str) -> None:
    """Raise InputError for a torch tensor whose memory holds other values than its elements: one that is
    negated or conjugated only when it is read, which DLPack does not say.
    """
    for query, what, method in (
        ("is_neg", "negated", "resolve_neg"),
        ("is_conj", "conjugated", "resolve_conj"),
    ):
        asked = getattr(value, query, None)
        if callable(asked) and asked():
            raise InputError(
                f"{label} is a view that is {what} when it is read, which DLPack cannot pass on; "
                f"its method {method}() gives an array that is {what} already"
            )


def device_view(value: object, label: str, *, stream: int) -> ArrayView:
    """The view of an array on a GPU that has `__dlpack__`; see `read_dlpack`. Raises InputError."""
    refuse_lazy(value, label)
    tensor = read_dlpack(cast(DLPackArray, value), label, stream=stream)
    strides = _row_major(tensor.shape) if tensor.strides is None else tensor.strides
    writable = not (tensor.read_only or tensor.copied)
    return _aligned(label, tensor.address, tensor.shape, strides, tensor.dtype, writable, tensor.owner)


def _of_numpy(array: Array, label: str) -> ArrayView:
    dtype = array.dtype
    if not dtype.isnative:
        raise InputError(f"{label} has dtype {dtype.str}, whose byte order is not this machine's")
    if dtype.hasobject or dtype.itemsize == 0:
        raise InputError(f"{label} has dtype {dtype}, expected numbers")
    flags = array.flags
    strides = _row_major(array.shape) if flags.c_contiguous else _element_strides(array, label)
    return _aligned(label, data_address(array), array.shape, strides, dtype, bool(flags.writeable), array)


def _element_strides(array: Array, label: str) -> tuple[int, ...]:
    size = array.dtype.itemsize
    strides: list[int] = []
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        if extent > 1 and stride % size:
            raise InputError(
                f"{label} has a stride of {stride} bytes on axis {axis}, "
                f"expected a multiple of the item size of {size}"
            )
        strides.append(stride // size)
    return tuple(strides)


def _aligned(
    label: str,
    pointer: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    writable: bool,
    owner: object,
) -> ArrayView:
    if pointer % dtype.alignment:
        raise InputError(f"{label} starts at an address that is no multiple of {dtype.alignment} bytes")
    # A stride that is never taken may be anything; code that looks for contiguous rows should not see it.
    if 1 in shape or 0 in shape:
        strides = tuple(
            other if extent <= 1 else stride
            for extent, stride, other in zip(shape, strides, _row_major(shape), strict=True)
        )
    return ArrayView(label, pointer, shape, strides, dtype, writable, owner)


def _row_major(shape: Sequence[int]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def input_view(value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
    """Return the view of an argument of known dtype and extents (DYNAMIC for any extent).

    Two-byte elements without a type, which is how numpy saves bfloat16, count as bfloat16. Raises InputError
    for another dtype or shape and for an extent of 0; see also `view_of`.
    """
    return check_input(view_of(_with_type(value, dtype), label), label, dtype, shape)


def check_input(view: ArrayView, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
    """Return the view if it has that dtype and those extents. Raises InputError."""
    if view.dtype != dtype:
        raise InputError(f"{label} has dtype {view.dtype}, expected {dtype}")
    if view.shape == shape and 0 not in shape:
        return view
    if len(view.shape) != len(shape):
        raise InputError(f"{label} has rank {len(view.shape)}, expected {len(shape)}: {shape_text(shape)}")
    for axis, (extent, wanted) in enumerate(zip(view.shape, shape, strict=True)):
        if wanted not in (DYNAMIC, extent):
            raise InputError(
                f"{label} has extent {extent} on axis {axis}, expected {wanted}: {shape_text(shape)}"
            )
        if extent == 0:
            raise InputError(f"{label} has extent 0 on axis {axis}, expected at least 1")
    return view


def output_view(value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
    """The view of an array that takes a result: as `input_view`, and it must be writable.

    Raises InputError also where elements of it share memory, as those of a broadcast array do.
    """
    view = input_view(value, label, dtype, shape)
    if not view.writable:
        raise InputError(f"{label} is read-only, expected an array that can be written to")
    refuse_shared_elements(view)
    return view


def _with_type(value: object, dtype: np.dtype[Any]) -> object:
    if not isinstance(value, np.ndarray):
        return value
    array = cast(Array, value)
    return array.view(BFLOAT16) if array.dtype == np.dtype("V2") and dtype == BFLOAT16 else array


def refuse_shared_elements(view: ArrayView) -> None:
    """Raise InputError where elements of a view share memory, as those of a broadcast array do."""
    reach = 0
    steps = zip(view.strides, view.shape, strict=True)
    for step, extent in sorted((abs(stride), extent) for stride, extent in steps if extent > 1):
        if step <= reach:
            raise InputError(f"elements of {view.label} share memory (strides {list(view.strides)})")
        reach += step * (extent - 1)


def refuse_overlap(outputs: Sequence[ArrayView], inputs: Sequence[ArrayView]) -> None:
    """Raise InputError where an output shares an element with an input or with another output."""
    for position, output in enumerate(outputs):
        for other in (*inputs, *outputs[:position]):
            if _overlap(output, other):
                raise InputError(
                    f"{output.label} shares memory with {other.label}, expected an array of its own"
                )


def _overlap(one: ArrayView, other: ArrayView) -> bool:
    (low, high), (other_low, other_high) = one.byte_range, other.byte_range
    if high <= other_low or other_high <= low or low == high or other_low == other_high:
        return False
    shares_memory = cast(Any, np.shares_memory)  # its stub knows no number of steps
    try:
        return bool(shares_memory(one.numpy(), other.numpy(), max_work=_OVERLAP_WORK))
    except np.exceptions.TooHardError:
        return True
