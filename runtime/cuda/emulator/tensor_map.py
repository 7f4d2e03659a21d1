"""Tensor maps: descriptions of an array and of the box that a bulk copy (TMA) of sm_90 moves."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

# BbEmuTensorMap of bb/cuda_emulator/hooks.hpp.
_LAYOUT = struct.Struct("<QQ2I3Q3I68x")
_MAGIC = 0x70616D726F736E74
_LARGEST_BOX = 256

POINTER_OFFSET = 8
"""Offset of the array's address in a map, in bytes."""


@dataclass(frozen=True, eq=False)
class TensorMap:
    """An argument for a parameter `const __grid_constant__ BbTensorMap map` (`<bb/cuda/hopper.cuh>`).

    `array` has one or two dimensions of 1, 2, 4 or 8-byte elements and is C-contiguous. `box` is the shape of
    what one copy moves, in the order of the array's shape. `swizzle` (0, 32, 64 or 128 bytes) is how rows of
    the box are laid out in shared memory; with one, a row of the box has so many bytes. On a GPU the same is
    said to `cuTensorMapEncodeTiled`, in the opposite order of dimensions.

    Raises ValueError for what that function refuses, too: rows that are not multiples of 16 bytes, a box of
    more than 256 elements in a dimension, a row of the box that does not fit the swizzle.
    """

    array: npt.NDArray[Any]
    box: tuple[int, ...]
    swizzle: int = 0

    def __post_init__(self) -> None:
        array, box = self.array, self.box
        if array.ndim not in (1, 2) or len(box) != array.ndim:
            raise ValueError(
                f"a tensor map has one or two dimensions and a box of as many, not {array.shape} and {box}"
            )
        if not array.flags.c_contiguous or array.size == 0:
            raise ValueError("the array of a tensor map is C-contiguous and has elements")
        if array.itemsize not in (1, 2, 4, 8) or array.dtype.kind in "OSUMm":
            raise ValueError(f"elements of a tensor map have 1, 2, 4 or 8 bytes, not those of {array.dtype}")
        if not all(1 <= extent <= _LARGEST_BOX for extent in box):
            raise ValueError(f"a box has from 1 to {_LARGEST_BOX} elements in each dimension, not {box}")
        if self.swizzle not in (0, 32, 64, 128):
            raise ValueError(f"a swizzle has 0, 32, 64 or 128 bytes, not {self.swizzle}")
        row = box[-1] * array.itemsize
        if row % 16 != 0:
            raise ValueError(f"a row of the box has {row} bytes, no multiple of 16")
        if self.swizzle and row != self.swizzle:
            raise ValueError(f"a row of the box has {row} bytes, and the swizzle {self.swizzle}")
        if array.ndim == 2 and array.strides[0] % 16 != 0:
            raise ValueError(f"rows of the array are {array.strides[0]} bytes apart, no multiple of 16")

    @property
    def box_bytes(self) -> int:
        """Number of bytes of one copy, which an mbarrier must expect."""
        return int(np.prod(self.box)) * self.array.itemsize

    def encoded(self) -> bytes:
        """The 128 bytes that the emulator reads, with 0 for the array's address."""
        array = self.array
        rows = array.shape[0] if array.ndim == 2 else 1
        box_rows = self.box[0] if array.ndim == 2 else 1
        return _LAYOUT.pack(
            *(_MAGIC, 0, array.ndim, array.itemsize, array.shape[-1], rows),
            *(array.shape[-1] * array.itemsize, self.box[-1], box_rows, self.swizzle),
        )
