"""Arrays of other libraries, read from their DLPack capsules, because numpy cannot read bfloat16 from DLPack.

The structures are those of dlpack.h, version 1 (https://dmlc.github.io/dlpack/latest/c_api.html); capsules
without a version have the structures before it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np

from ..errors import InputError
from .dtypes import BFLOAT16

CPU_DEVICES = {1: "CPU", 3: "CUDA host", 11: "ROCm host"}
"""Device types whose memory the CPU reads at the address given."""

GPU_DEVICES = {2: "CUDA", 13: "CUDA managed memory"}
"""Device types whose memory a kernel of an NVIDIA GPU reads at the address given."""

_OTHER_DEVICES = {
    1: "CPU",
    2: "CUDA",
    3: "CUDA host",
    4: "OpenCL",
    7: "Vulkan",
    8: "Metal",
    10: "ROCm",
    13: "CUDA managed memory",
    14: "oneAPI",
    15: "WebGPU",
    16: "Hexagon",
}
_MAJOR_VERSION = 1
_READ_ONLY = 1
_COPIED = 2

_KINDS = {0: "i", 1: "u", 2: "f", 5: "c"}
_BOOL, _BFLOAT = 6, 4


class DLPackArray(Protocol):
    """Protocol of objects that offer their memory by DLPack."""

    def __dlpack__(self, **options: Any) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _ManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class _VersionedTensor(ctypes.Structure):
    _fields_ = [
        ("version", _Version),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


@dataclass(frozen=True)
class DLPackTensor:
    """Contents of a capsule: address, extents, strides in elements (None: row-major), dtype.

    `owner` keeps the memory alive: the capsule frees it, because it is read but not taken over.
    """

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    dtype: np.dtype[Any]
    read_only: bool
    copied: bool
    owner: object


def device_of(value: object, label: str) -> tuple[int, int]:
    """Type and number of the device of an array with `__dlpack__`.

    Raises InputError, naming `label`, if the array does not say (a torch tensor without memory does not).
    """
    try:
        device, index = cast(DLPackArray, value).__dlpack_device__()
    except Exception as error:  # whatever the other library raises
        raise InputError(f"{label} cannot be read by DLPack: {error}") from error
    return int(device), int(index)


def read_dlpack(value: DLPackArray, label: str, *, stream: int | None = None) -> DLPackTensor:
    """Return the tensor that an object offers by DLPack, without a copy: in the CPU's memory, or with a
    stream (its address, or DLPack's number for a default stream) in a GPU's, ready for kernels that are
    launched to that stream.

    Raises InputError, naming `label`, for another device, for an element type that numpy and ml_dtypes do not
    have, and if the object refuses (a torch tensor that requires gradients does).
    """
    devices, place = (CPU_DEVICES, "in the CPU's memory") if stream is None else (GPU_DEVICES, "on the GPU")
    options: dict[str, Any] = {} if stream is None else {"stream": stream}
    device, _ = device_of(value, label)
    if device not in devices:
        name = _OTHER_DEVICES.get(device, f"DLPack device type {device}")
        raise InputError(f"{label} is on another device ({name}), expected an array {place}")
    try:
        try:
            capsule = value.__dlpack__(max_version=(_MAJOR_VERSION, 0), **options)
        except TypeError:  # from before DLPack 1.0
            capsule = value.__dlpack__(**options)
    except Exception as error:  # whatever the other library raises
        raise InputError(f"{label} cannot be read by DLPack: {error}") from error
    owner = (value, capsule)
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _VersionedTensor.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.version.major > _MAJOR_VERSION:
            raise InputError(
                f"{label} has DLPack version {versioned.version.major}, at most {_MAJOR_VERSION} can be read"
            )
        flags = int(versioned.flags)
        return _read(versioned.tensor, label, bool(flags & _READ_ONLY), bool(flags & _COPIED), owner)
    if _is_valid(capsule, b"dltensor"):
        managed = _ManagedTensor.from_address(_pointer(capsule, b"dltensor"))
        return _read(managed.tensor, label, False, False, owner)
    raise InputError(f"{label} gives no DLPack capsule")


def _pointer(capsule: object, name: bytes) -> int:
    return cast(int, _get_pointer(capsule, name))


def _read(tensor: _Tensor, label: str, read_only: bool, copied: bool, owner: object) -> DLPackTensor:
    rank = int(tensor.ndim)
    shape = tuple(int(tensor.shape[axis]) for axis in range(rank))
    strides = tuple(int(tensor.strides[axis]) for axis in range(rank)) if tensor.strides else None
    address = int(tensor.data or 0) + int(tensor.byte_offset)
    return DLPackTensor(address, shape, strides, _dtype(tensor.dtype, label), read_only, copied, owner)


def _dtype(type: _DataType, label: str) -> np.dtype[Any]:
    code, bits, lanes = int(type.code), int(type.bits), int(type.lanes)
    if lanes == 1 and bits % 8 == 0:
        if code == _BFLOAT and bits == 16:
            return BFLOAT16
        if code == _BOOL and bits == 8:
            return np.dtype(np.bool_)
        if code in _KINDS:
            try:
                return np.dtype(f"{_KINDS[code]}{bits // 8}")
            except TypeError:
                pass
    raise InputError(f"{label} has an element type that cannot be used (DLPack code {code}, {bits} bits)")
