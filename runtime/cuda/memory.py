"""Arrays on a GPU: of CuPy, of torch, and of any other library with DLPack, without copies."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from ...dialects import kernel
from ...dialects.array import ReshapeOp, SliceOp, TransposeOp
from ..arrays.dlpack import CPU_DEVICES, GPU_DEVICES, device_of
from ..arrays.dtypes import BFLOAT16, Array, numpy_dtype
from ..arrays.views import ArrayView, check_input, device_view, input_view, refuse_shared_elements
from ..errors import InputError
from ..interpreter.arrays import Callback, evaluate_array_op, move_elements
from .device import DeviceError, cupy_module, new_array, raw_dtype


def is_torch_on_gpu(value: object) -> bool:
    """True if an object is a torch tensor on a GPU; does not import torch."""
    return type(value).__module__.partition(".")[0] == "torch" and bool(getattr(value, "is_cuda", False))


class CudaMemory:
    """The memory of the current device. Work goes to CuPy's current stream, or torch's for torch tensors."""

    def __init__(self) -> None:
        self._cupy: Any = cupy_module()

    def session(self, values: Iterable[object]) -> AbstractContextManager[object]:
        """Return the context of a call: the stream of the library that its arrays come from."""
        if not any(is_torch_on_gpu(value) for value in values):
            return nullcontext()
        import torch  # the caller has imported it  # pyright: ignore[reportMissingImports]

        return self._on(cast(Any, torch).cuda.current_stream())

    @contextmanager
    def _on(self, foreign: object) -> Generator[None]:
        """Work on the stream of another library, after CuPy's current stream so far, and before its later
        work.

        Arrays of CuPy may be among the arguments, and results are some.
        """
        cuda = self._cupy.cuda
        outer, stream = cuda.get_current_stream(), _stream_of_torch(cuda, foreign)
        if stream.ptr == outer.ptr:
            yield
            return
        # A stream that is captured as a graph must not wait for others.
        is_captured = stream.is_capturing()
        if not is_captured:
            stream.wait_event(outer.record(cuda.Event(disable_timing=True)))
        with stream:
            yield
        if not is_captured:
            outer.wait_event(stream.record(cuda.Event(disable_timing=True)))

    def synchronize(self) -> None:
        try:
            self._cupy.cuda.get_current_stream().synchronize()
        except Exception as error:  # CuPy's own, of whatever was launched before
            raise DeviceError(f"the GPU failed: {error}") from error

    def from_host(self, array: Array) -> Any:
        moved = self._cupy.asarray(_bits(array))
        return moved.view(array.dtype) if array.dtype == BFLOAT16 else moved

    def as_host(self, array: Any) -> Array:
        if array.dtype == BFLOAT16:
            return cast(Array, self._cupy.asnumpy(array.view(raw_dtype(BFLOAT16)))).view(BFLOAT16)
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
        device, index = device_of(value, label)
        current = int(self._cupy.cuda.Device().id)
        # Managed memory is everywhere, and some say it is on GPU 0.
        if GPU_DEVICES.get(device) == "CUDA" and index != current:
            raise InputError(f"{label} is on GPU {index}, expected one on the current GPU, {current}")
        stream = self._cupy.cuda.get_current_stream().ptr
        # DLPack's word for the default stream of the CUDA runtime is 1.
        return check_input(device_view(value, label, stream=stream or 1), label, dtype, shape)

    def constant(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        on_host = isinstance(value, np.ndarray | np.generic)
        if not on_host and not (hasattr(value, "__dlpack__") and device_of(value, label)[0] in CPU_DEVICES):
            return self.input(value, label, dtype, shape)
        view = input_view(cast(object, value), label, dtype, shape)
        return self._view(self._copied_to_device(view.numpy(), label), label, dtype)

    def output(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        view = self.input(value, label, dtype, shape)
        if not view.writable:
            raise InputError(f"{label} is read-only, expected an array that can be written to")
        refuse_shared_elements(view)
        return view

    def new(self, label: str, shape: Sequence[int], tensor: TensorType[Attribute]) -> ArrayView:
        if isinstance(tensor.encoding, kernel.PackedAttr):
            raise InputError(f"{label} is packed, which is for CPUs")
        dtype = numpy_dtype(tensor.element_type, False)
        return self._view(new_array(self._cupy, label, shape, dtype), label, dtype)

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
            self._view(self._copied_to_device(array, label), label, array.dtype)
            for label, array in zip(labels, found, strict=True)
        ]

    def to_host(self, view: ArrayView) -> Array:
        """Return a copy in the CPU's memory."""
        return cast(Array, self._cupy.asnumpy(self.array(view))).view(view.dtype)

    def array(self, view: ArrayView) -> Any:
        """Return a CuPy array on the memory of a view; for bfloat16, its bits."""
        low, high = view.byte_range
        device = int(self._cupy.cuda.Device().id)
        memory = self._cupy.cuda.UnownedMemory(low, high - low, view.owner, device)
        pointer = self._cupy.cuda.MemoryPointer(memory, view.pointer - low)
        dtype = raw_dtype(view.dtype)
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

    def _copied_to_device(self, array: Array, label: str) -> Any:
        try:
            return self._cupy.asarray(_bits(array), order="C")
        except MemoryError as error:
            raise DeviceError(f"{label} does not fit into the GPU's memory: {error}") from error

    def _view(self, array: Any, label: str, dtype: np.dtype[Any]) -> ArrayView:
        own = array.view(dtype) if dtype == BFLOAT16 and array.dtype != dtype else array
        strides = tuple(int(stride) // dtype.itemsize for stride in array.strides)
        return ArrayView(label, int(array.data.ptr), tuple(array.shape), strides, dtype, True, own)


@dataclass(frozen=True)
class _StreamProtocol:
    """CUDA's stream protocol for a stream of torch before 2.10, which has only the address."""

    stream: Any

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self.stream.cuda_stream)


def _stream_of_torch(cuda: Any, foreign: Any) -> Any:
    """CuPy's stream for a stream of torch: by the protocol, which CuPy has from version 14 on, or by its
    address.
    """
    from_external = getattr(cuda.Stream, "from_external", None)
    if from_external is None:
        return cuda.ExternalStream(int(foreign.cuda_stream))
    return from_external(foreign if hasattr(foreign, "__cuda_stream__") else _StreamProtocol(foreign))


def _bits(array: Array) -> Array:
    return array.view(raw_dtype(BFLOAT16)) if array.dtype == BFLOAT16 else array
