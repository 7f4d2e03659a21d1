"""A kernel's arguments: arrays become buffers of the emulated device, other values are passed as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from .program import KernelSignature, Parameter
from .tensor_map import POINTER_OFFSET, TensorMap

Array: TypeAlias = npt.NDArray[Any]

PAGE = 4096


@dataclass(frozen=True)
class StridedArray:
    """An argument for a pointer to the first element of a strided array. Strides are multiples of the
    element's size, and not negative.
    """

    array: Array


@dataclass
class Buffer:
    """One allocation of the device. Arrays that share memory share a buffer."""

    name: str
    address: int
    size: int
    read_only: bool
    undefined: bool
    arrays: list[Array] = field(default_factory=list[Array])
    undefined_arrays: list[Array] = field(default_factory=list[Array])
    """Those of `arrays` whose elements have no value before the launch."""


@dataclass(frozen=True)
class Pointer:
    """An argument that points into a buffer, `offset` bytes from its beginning.

    `inside` is the value that holds the pointer, `at` bytes from its beginning; empty for a pointer alone.
    """

    buffer: int
    offset: int
    inside: bytes = b""
    at: int = 0


@dataclass(frozen=True)
class Arguments:
    """All arguments of a launch: buffers, and for each parameter a pointer or the bytes of its value."""

    buffers: tuple[Buffer, ...]
    values: tuple[Pointer | bytes, ...]


def pack_arguments(
    signature: KernelSignature, args: Sequence[object], names: Sequence[str], undefined: Sequence[int]
) -> Arguments:
    """Match arguments with a kernel's parameters. `names` are for messages, by argument.

    Raises TypeError for an argument of the wrong type or size, ValueError for an array that is not
    contiguous, for other strides of a StridedArray, for a wrong number of arguments, and for an index in
    `undefined` that is no array.
    """
    parameters = signature.parameters
    if len(args) != len(parameters):
        raise ValueError(
            f"kernel '{signature.name}' has {len(parameters)} parameters, {len(args)} arguments given"
        )
    arrays: dict[int, Array] = {}
    values: list[bytes] = []
    for index, (value, parameter) in enumerate(zip(args, parameters, strict=True)):
        if isinstance(value, np.ndarray) and parameter.is_pointer:
            array = cast(Array, value)
            if not array.flags.c_contiguous:
                raise ValueError(f"argument {index} of kernel '{signature.name}' is not C-contiguous")
            arrays[index] = array
            values.append(b"")
        elif isinstance(value, StridedArray) and parameter.is_pointer:
            if any(stride < 0 or stride % value.array.itemsize for stride in value.array.strides):
                raise ValueError(
                    f"argument {index} of kernel '{signature.name}' has strides {value.array.strides} bytes, "
                    f"expected multiples of {value.array.itemsize} that are not negative"
                )
            arrays[index] = value.array
            values.append(b"")
        elif isinstance(value, TensorMap):
            values.append(_map_bytes(signature.name, index, value, parameter))
            arrays[index] = value.array
        else:
            values.append(_value_bytes(signature.name, index, cast(object, value), parameter))
    for index in undefined:
        if index not in arrays:
            raise ValueError(
                f"argument {index} of kernel '{signature.name}' is no array: it cannot be undefined"
            )
    buffers, pointers = _buffers(arrays, parameters, names, undefined)
    for index, value in enumerate(values):
        if index in pointers and value:
            pointers[index] = replace(pointers[index], inside=value, at=POINTER_OFFSET)
    return Arguments(
        tuple(buffers),
        tuple(pointers.get(index, value) for index, value in enumerate(values)),
    )


def _map_bytes(kernel: str, index: int, value: TensorMap, parameter: Parameter) -> bytes:
    data = value.encoded()
    if parameter.is_pointer or parameter.size != len(data):
        raise TypeError(
            f"argument {index} of kernel '{kernel}' is a tensor map, which the kernel takes as "
            f"'const __grid_constant__ BbTensorMap'"
        )
    return data


def _value_bytes(kernel: str, index: int, value: object, parameter: Parameter) -> bytes:
    where = f"argument {index} of kernel '{kernel}'"
    if parameter.is_pointer:
        if value is None:
            return bytes(parameter.size)
        raise TypeError(f"{where} is a pointer: pass a numpy array or None, not {type(value).__name__}")
    if isinstance(value, np.ndarray | np.generic):
        given = cast("Array | np.generic", value)
        data = given.tobytes()
        kind = str(given.dtype)
    elif isinstance(value, bool | int | float):
        # As CuPy: Python's numbers are eight bytes wide, a bool is one.
        packed = np.asarray(value)
        data = packed.tobytes()
        kind = f"{type(value).__name__}, passed as {packed.dtype}"
    elif isinstance(value, bytes):
        data, kind = value, "bytes"
    else:
        raise TypeError(f"{where} is of type {type(value).__name__}: pass a numpy scalar")
    if len(data) != parameter.size:
        raise TypeError(f"{where} has {len(data)} bytes ({kind}), the kernel's parameter {parameter.size}")
    return data


def _buffers(
    arrays: dict[int, Array], parameters: Sequence[Parameter], names: Sequence[str], undefined: Sequence[int]
) -> tuple[list[Buffer], dict[int, Pointer]]:
    """Buffers in the order of the arguments; arrays that overlap lie in one."""
    groups: list[tuple[int, int, list[int]]] = []
    for index in sorted(arrays, key=lambda i: _address(arrays[i])):
        begin = _address(arrays[index])
        end = begin + reach(arrays[index])
        if groups and begin < groups[-1][1]:
            first, last, members = groups[-1]
            groups[-1] = (first, max(last, end), [*members, index])
        else:
            groups.append((begin, end, [index]))
    groups.sort(key=lambda group: min(group[2]))
    buffers: list[Buffer] = []
    pointers: dict[int, Pointer] = {}
    for number, (begin, end, members) in enumerate(groups):
        first = min(members)
        name = names[first] if first < len(names) and names[first] else f"argument {first}"
        buffers.append(
            Buffer(
                name,
                begin,
                end - begin,
                read_only=all(parameters[i].to_const or not arrays[i].flags.writeable for i in members),
                undefined=any(i in undefined for i in members),
                arrays=[arrays[i] for i in sorted(members)],
                undefined_arrays=[arrays[i] for i in sorted(members) if i in undefined],
            )
        )
        for i in members:
            pointers[i] = Pointer(number, _address(arrays[i]) - begin)
    return buffers, pointers


def reach(array: Array) -> int:
    """Return the bytes from the first element of an array to the end of its last one."""
    if array.size == 0:
        return 0
    steps = zip(array.shape, array.strides, strict=True)
    return array.itemsize + sum((extent - 1) * stride for extent, stride in steps)


def _address(array: Array) -> int:
    return int(array.ctypes.data)
