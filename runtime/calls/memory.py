"""Memory of a call's arrays: the operations of a compiled program on it, outside of kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Protocol, cast

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from ...dialects import kernel
from ..arrays.dtypes import Array, numpy_dtype
from ..arrays.limits import allocate, allocate_on_large_pages
from ..arrays.views import ArrayView, input_view, output_view, view_of
from ..interpreter.arrays import Callback, evaluate_array_op
from .call_plan import result_array


class ArrayMemory(Protocol):
    """The memory of a program's arrays. Labels name arrays in error messages."""

    def session(self, values: Iterable[object]) -> AbstractContextManager[object]:
        """Return the context that a call with these arrays runs in."""
        ...

    def from_host(self, array: Array) -> Any:
        """Return a numpy array as an argument."""
        ...

    def as_host(self, array: Any) -> Array:
        """Return a result as a numpy array."""
        ...

    def input(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        """Return the view of an argument. Raises InputError."""
        ...

    def constant(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        """Return the view of an argument that is the same in every call, or of a copy that kernels can read.

        Raises InputError.
        """
        ...

    def synchronize(self) -> None:
        """Wait for everything that was launched in this session."""
        ...

    def output(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        """Return the view of an array that takes a result. Raises InputError."""
        ...

    def new(self, label: str, shape: Sequence[int], tensor: TensorType[Attribute]) -> ArrayView:
        """Return a new array, in the layout of a tensor's type. Raises InputError where it is too large."""
        ...

    def evaluate(
        self, op: Operation, operands: Sequence[ArrayView], callbacks: Mapping[str, Callback], copy: bool
    ) -> list[ArrayView]:
        """Return the results of an operation on whole arrays; without `copy`, views of operands if
        possible.
        """
        ...

    def result(self, view: ArrayView) -> Any:
        """Return the object that the caller gets for an array."""
        ...

    def copied(self, view: ArrayView) -> Any:
        """Return the object that the caller gets for a copy of an array."""
        ...

    def assign(self, target: ArrayView, source: ArrayView) -> None:
        """Copy the elements of an array to another one."""
        ...


class HostMemory:
    """Arrays in the CPU's memory, numpy's among them."""

    def session(self, values: Iterable[object]) -> AbstractContextManager[object]:
        return nullcontext()

    def from_host(self, array: Array) -> Array:
        return array

    def as_host(self, array: Any) -> Array:
        return cast(Array, array)

    def input(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        return input_view(value, label, dtype, shape)

    def constant(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        return input_view(value, label, dtype, shape)

    def synchronize(self) -> None:
        """Do nothing: launches return when their kernels have ended."""

    def output(self, value: object, label: str, dtype: np.dtype[Any], shape: Sequence[int]) -> ArrayView:
        return output_view(value, label, dtype, shape)

    def new(self, label: str, shape: Sequence[int], tensor: TensorType[Attribute]) -> ArrayView:
        dtype = numpy_dtype(tensor.element_type, False)
        layout = tensor.encoding
        if not isinstance(layout, kernel.PackedAttr):
            return view_of(allocate(label, shape, dtype), label)
        memory = allocate_on_large_pages(label, [layout.elements(shape)], dtype)
        # Only kernels look into it, which know the layout.
        return replace(view_of(memory, label), shape=tuple(shape), strides=(0,) * len(shape))

    def evaluate(
        self, op: Operation, operands: Sequence[ArrayView], callbacks: Mapping[str, Callback], copy: bool
    ) -> list[ArrayView]:
        arrays = [view.numpy() for view in operands]
        results = evaluate_array_op(op, arrays, callbacks=callbacks, copy=copy)
        return [
            view_of(array, f"%{value.name_hint or 'value'}")
            for value, array in zip(op.results, results, strict=True)
        ]

    def result(self, view: ArrayView) -> Array:
        return result_array(view)

    def copied(self, view: ArrayView) -> Array:
        return result_array(view).copy()

    def assign(self, target: ArrayView, source: ArrayView) -> None:
        target.numpy()[...] = source.numpy()
