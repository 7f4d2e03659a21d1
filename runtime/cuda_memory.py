"""Arrays on a GPU: CuPy's, torch's, and any other that DLPack gives, without copies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from ..dialects import kernel
from ..dialects.array import ReshapeOp, SliceOp, TransposeOp
from .array_interpreter import Callback, evaluate_array_op, move_elements
from .arrays import ArrayView, check_input, device_view
from .cuda_device import cupy_module
from .dlpack import GPU_DEVICES, DLPackArray
from .interpreter import InputError
from .scalar_semantics import BFLOAT16, Array, numpy_dtype

_RAW = np.dtype(np.uint16)
"""What the elements of bfloat16 arrays are to those who only move them."""


def is_torch(value: object) -> bool:
    """Whether something is a torch tensor; torch is not imported for it."""
    return type(value).__module__.partition(".")[0] == "torch"


class CudaMemory:
    """The memory of the current device. Work goes to CuPy's current stream, or torch's for torch tensors."""

    def __init__(self) -> None:
        self._cupy: Any = cupy_module()

    def session(self, values: Iterable[object]) -> AbstractContextManager[object]:
        """What a call runs in: the stream of the library that its arrays come from."""
        tensor = next((value for value in values if is_torch(value)), None)
        if tensor is None:
            return nullcontext()
        import torch  # the caller has imported it  # pyright: ignore[reportMissingImports]

        stream = cast(Any, torch).cuda.current_stream().cuda_stream
        return cast("AbstractContextManager[object]", self._cupy.cuda.ExternalStream(stream))

    def from_host(self, array: Array) -> Any:
        moved = self._cupy.asarray(_bits(array))
        return moved.view(array.dtype) if array.dtype == BFLOAT16 else moved

    def as_host(self, array: Any) -> Array:
        if array.dtype == BFLOAT16:
            return cast(Array, self._cupy.asnumpy(array.view(_RAW))).view(BFLOAT16)
        return cast(Array, self._cupy.asnumpy(array))

    def input(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        if isinstance(value, np.ndarray):
            raise InputError(
                f"{label} lies in the CPU's memory, expected an array on the GPU: "
                "cupy.asarray or .cuda() copy it"
            )
        if not hasattr(value, "__dlpack__"):
            raise InputError(
                f"{label} is of type '{type(value).__name__}', expected an array on the GPU with __dlpack__"
            )
        device, index = cast(DLPackArray, value).__dlpack_device__()
        if int(device) in GPU_DEVICES and int(index) != self._cupy.cuda.Device().id:
            current = self._cupy.cuda.Device().id
            raise InputError(f"{label} is on GPU {int(index)}, expected one on the current GPU, {current}")
        stream = self._cupy.cuda.get_current_stream().ptr
        # DLPack's word for the default stream of the CUDA runtime is 1.
        return check_input(device_view(value, label, stream=stream or 1), label, dtype, shape)

    def output(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        view = self.input(value, label, dtype, shape)
        if not view.writable:
            raise InputError(f"{label} is read-only, expected an array that can be written to")
        return view

    def new(self, label: str, shape: Sequence[int], tensor: TensorType[Attribute]) -> ArrayView:
        if isinstance(tensor.encoding, kernel.PackedAttr):
            raise InputError(f"{label} is packed, which is for CPUs")
        dtype = numpy_dtype(tensor.element_type, False)
        try:
            array = self._cupy.empty(tuple(shape), _raw(dtype))
        except self._cupy.cuda.memory.OutOfMemoryError as error:
            raise InputError(f"{label} does not fit into the GPU's memory: {error}") from error
        return self._view(array, label, dtype)

    def evaluate(
        self, op: Operation, operands: Sequence[ArrayView], callbacks: Mapping[str, Callback], copy: bool
    ) -> list[ArrayView]:
        labels = [f"%{value.name_hint or 'value'}" for value in op.results]
        if isinstance(op, ReshapeOp | TransposeOp | SliceOp):
            moved = move_elements(op, self.array(operands[0]))
            return [self._view(moved, labels[0], operands[0].dtype)]
        # What is left on whole arrays is rare, and small: masks, tables, what a callback computes.
        found = evaluate_array_op(op, [self.to_host(view) for view in operands], callbacks=callbacks)
        return [
            self._view(self._cupy.asarray(_bits(array)), label, array.dtype)
            for label, array in zip(labels, found, strict=True)
        ]

    def to_host(self, view: ArrayView) -> Array:
        """A copy in the CPU's memory."""
        return cast(Array, self._cupy.asnumpy(self.array(view))).view(view.dtype)

    def array(self, view: ArrayView) -> Any:
        """A CuPy array on the memory of a view; of bfloat16, its bits."""
        low, high = view.byte_range
        memory = self._cupy.cuda.UnownedMemory(low, high - low, view.owner)
        pointer = self._cupy.cuda.MemoryPointer(memory, view.pointer - low)
        dtype = _raw(view.dtype)
        strides = tuple(stride * dtype.itemsize for stride in view.strides)
        return self._cupy.ndarray(view.shape, dtype, pointer, strides=strides)

    def result(self, view: ArrayView) -> Any:
        owner = view.owner
        if isinstance(owner, tuple):  # what DLPack gave, and what it came from
            return cast("tuple[object, ...]", owner)[0]
        return owner

    def copied(self, view: ArrayView) -> Any:
        return self._view(self.array(view).copy(), view.label, view.dtype).owner

    def assign(self, target: ArrayView, source: ArrayView) -> None:
        self.array(target)[...] = self.array(source)

    def _view(self, array: Any, label: str, dtype: np.dtype[Any]) -> ArrayView:
        own = array.view(dtype) if dtype == BFLOAT16 else array
        strides = tuple(int(stride) // dtype.itemsize for stride in array.strides)
        return ArrayView(label, int(array.data.ptr), tuple(array.shape), strides, dtype, True, own)


def _raw(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return _RAW if dtype == BFLOAT16 else dtype


def _bits(array: Array) -> Array:
    return array.view(_RAW) if array.dtype == BFLOAT16 else array
