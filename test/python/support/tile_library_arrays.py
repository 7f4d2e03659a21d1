"""Arrays in the layouts that the tile library takes, and bounds of the errors of its contractions."""

from __future__ import annotations

import math

import numpy as np

PLANE = {"f32": np.dtype(np.float32), "f64": np.dtype(np.float64)}


def aligned(shape: tuple[int, ...] | int, dtype: np.dtype = PLANE["f32"]) -> np.ndarray:
    """Zeros that begin at a multiple of 64 bytes."""
    shape = (shape,) if isinstance(shape, int) else shape
    size = math.prod(shape) * dtype.itemsize
    memory = np.zeros(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + size].view(dtype).reshape(shape)


def strides(array: np.ndarray) -> list[int]:
    return [stride // array.itemsize for stride in array.strides]


def laid_out(values: np.ndarray, kind: int) -> np.ndarray:
    """The same values laid out as rows, columns, strided, reversed, or broadcast along the last axis."""
    if kind == 0:
        return np.ascontiguousarray(values)
    if kind == 1:
        return np.ascontiguousarray(values.T).T
    if kind == 2:
        wide = np.zeros((values.shape[0], 2, values.shape[1], 3), values.dtype)
        wide[:, 1, :, 2] = values
        return wide[:, 1, :, 2]
    if kind == 3:
        return np.ascontiguousarray(values[::-1, ::-1])[::-1, ::-1]
    return np.broadcast_to(np.ascontiguousarray(values[:, :1]), values.shape)


def bound(a: np.ndarray, b: np.ndarray, c: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A forward error bound for a sum of products in any order, with one rounding a step."""
    steps = a.shape[1] + 3
    return steps * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b) + np.abs(c)) + np.finfo(dtype).tiny
