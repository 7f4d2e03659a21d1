"""The kernel arguments of `bb-cuda-check`: `--arg Q=in:q.npy`, `--arg out:f32:2x128x64`, `--arg i32:5`."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ...runtime.cuda.emulator import TensorMap
from ..shared.files import ToolError

Array: TypeAlias = npt.NDArray[Any]

DTYPES: dict[str, npt.DTypeLike] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "bool": np.bool_,
}
LARGEST = 2**32
"""Bytes that one array may have."""

_FORMS = "in:FILE, in:TYPE:FILE, out:TYPE:SHAPE, zeros:TYPE:SHAPE, random:TYPE:SHAPE, TYPE:NUMBER or null"


@dataclass(frozen=True)
class KernelArgument:
    """One argument: an array, a numpy scalar, or None for a null pointer.

    An `undefined` array is written by the kernel, and reading it first is a finding. With a box
    (`in:a.npy@64x64/128`) the kernel gets a tensor map of the array.
    """

    name: str
    value: Array | np.generic | TensorMap | None
    undefined: bool = False

    @property
    def array(self) -> Array | None:
        if isinstance(self.value, TensorMap):
            return self.value.array
        return self.value if isinstance(self.value, np.ndarray) else None


def kernel_arguments(texts: list[str]) -> list[KernelArgument]:
    """The arguments that `--arg` options describe, in their order. Raises ToolError."""
    found = [_argument(text, index) for index, text in enumerate(texts)]
    names = [argument.name for argument in found]
    for name in names:
        if names.count(name) > 1:
            raise ToolError(f"two arguments are called '{name}'")
    return found


def _argument(text: str, index: int) -> KernelArgument:
    name, equals, form = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        name, form = "", text
    box = re.fullmatch(r"(.+)@(\d+(?:x\d+)*)(?:/(\d+))?", form)
    if box is not None:
        plain = _argument(f"{name}={box[1]}" if name else box[1], index)
        if plain.array is None:
            raise ToolError(f"--arg {text}: a box is one of an array")
        try:
            extents = tuple(int(extent) for extent in box[2].split("x"))
            return replace(plain, value=TensorMap(plain.array, extents, int(box[3] or 0)))
        except ValueError as error:
            raise ToolError(f"--arg {text}: {error}") from None
    kind, _, rest = form.partition(":")
    given = name or f"argument {index}"
    if form == "null":
        return KernelArgument(given, None)
    if kind == "in" and rest:
        dtype, _, path = rest.partition(":")
        dtype, path = (dtype, path) if path and dtype in DTYPES else ("", rest)
        return KernelArgument(name or os.path.splitext(os.path.basename(path))[0], _load(path, dtype))
    if kind in ("out", "zeros", "random"):
        dtype, _, shape = rest.partition(":")
        return KernelArgument(given, _made(kind, dtype, shape, text, index), kind == "out")
    if kind in DTYPES and rest:
        return KernelArgument(given, _scalar(kind, rest, text))
    raise ToolError(f"--arg {text}: an argument is {_FORMS}, with NAME= before it if you like")


def load_array(path: str) -> Array:
    """The array of a .npy file. Raises ToolError."""
    try:
        loaded: object = np.load(path, allow_pickle=False)
    except OSError as error:
        raise ToolError(f"cannot read '{path}': {(error.strerror or str(error)).lower()}") from error
    except (ValueError, EOFError) as error:
        raise ToolError(f"cannot read '{path}': it is no .npy file of numbers") from error
    if not isinstance(loaded, np.ndarray):
        raise ToolError(f"cannot read '{path}': it holds several arrays")
    array: Array = np.ascontiguousarray(cast(Array, loaded))
    return array


def _load(path: str, dtype: str) -> Array:
    array = load_array(path)
    wanted = np.dtype(DTYPES[dtype]) if dtype else array.dtype
    if array.dtype == wanted:
        return array
    if array.dtype.kind in "Vu" and array.dtype.itemsize == wanted.itemsize:
        return array.view(wanted)  # numpy's files have no name for bf16
    return array.astype(wanted)


def _made(kind: str, dtype: str, shape: str, text: str, index: int) -> Array:
    if dtype not in DTYPES:
        raise ToolError(f"--arg {text}: '{dtype}' is no type; {', '.join(DTYPES)} are")
    if re.fullmatch(r"\d+(x\d+)*", shape, re.ASCII) is None:
        raise ToolError(f"--arg {text}: '{shape}' is no shape such as 2x128x64")
    extents = tuple(int(extent) for extent in shape.split("x"))
    wanted = np.dtype(DTYPES[dtype])
    if math.prod(extents) * wanted.itemsize > LARGEST:
        raise ToolError(f"--arg {text}: an array has at most {LARGEST >> 30} GiB")
    if kind != "random":
        return np.zeros(extents, wanted)
    source = np.random.default_rng(index)
    if wanted.kind in "iu":
        return source.integers(0, 100, extents).astype(wanted)
    return source.standard_normal(extents).astype(wanted)


def _scalar(kind: str, number: str, text: str) -> np.generic:
    wanted = np.dtype(DTYPES[kind])
    try:
        value = int(number, 0) if wanted.kind in "iu" else float(number)
        with np.errstate(over="ignore"):
            made: Array = np.asarray(value, wanted)
    except (ValueError, OverflowError):
        raise ToolError(f"--arg {text}: '{number}' is no number of type {kind}") from None
    return cast(np.generic, made[()])
