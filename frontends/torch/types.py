"""torch's dtypes as element types, and tensors as arrays in the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np
import torch
from xdsl.dialects.builtin import TensorType, bf16, f16, f32, f64, i1, i32, i64
from xdsl.ir import Attribute

from ...dialects.array import DYNAMIC
from ...runtime.arrays.dtypes import BFLOAT16, Array
from ..shared.errors import Unsupported

ELEMENT_TYPES: dict[torch.dtype, Attribute] = {
    torch.float16: f16,
    torch.bfloat16: bf16,
    torch.float32: f32,
    torch.float64: f64,
    torch.bool: i1,
    torch.int32: i32,
    torch.int64: i64,
}


def element_type(dtype: torch.dtype) -> Attribute:
    """The element type of a dtype. Raises Unsupported for one that the array dialect does not have."""
    found = ELEMENT_TYPES.get(dtype)
    if found is None:
        known = ", ".join(str(each).removeprefix("torch.") for each in ELEMENT_TYPES)
        raise Unsupported(f"elements of {str(dtype).removeprefix('torch.')}, expected one of {known}")
    return found


def extents(shape: Iterable[Any]) -> list[int]:
    """A shape of torch as one of the dialect: `?` for what is no number."""
    return [extent if isinstance(extent, int) else DYNAMIC for extent in shape]


def tensor_type(value: Any) -> TensorType[Attribute] | None:
    """The type of a tensor, which may be a fake one; None for anything else, and for other dtypes."""
    if (
        not isinstance(value, torch.Tensor)
        or value.dtype not in ELEMENT_TYPES
        or value.layout != torch.strided
    ):
        return None
    return TensorType(ELEMENT_TYPES[value.dtype], extents(value.shape))


def as_array(tensor: torch.Tensor) -> Any:
    """An array in the memory of a tensor: numpy's on the CPU, the tensor itself on a GPU."""
    tensor = tensor.detach()
    if tensor.device.type != "cpu":
        return tensor
    tensor = tensor.resolve_neg()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(BFLOAT16)
    return tensor.numpy()


def as_tensor(array: Any) -> torch.Tensor:
    """A tensor in the memory of an array of numpy, or of one with `__dlpack__` on a GPU."""
    if isinstance(array, torch.Tensor):
        return array
    if not isinstance(array, np.ndarray):
        return torch.from_dlpack(array)
    own = cast("Array", array)
    own = own if own.flags.writeable else own.copy()
    from_numpy: Callable[[Array], torch.Tensor] = cast("Any", torch).from_numpy
    if own.dtype == BFLOAT16:
        return from_numpy(own.view(np.int16)).view(torch.bfloat16)
    return from_numpy(own)
