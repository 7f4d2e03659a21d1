"""The meaning of `array` operations that look elements up by index, sum prefixes or pad."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import Operation

from ...dialects.array import CumsumOp, GatherElementsOp, GatherOp, PadOp, element_type_of
from ...dialects.scalar import is_float
from ..arrays.dtypes import Array, numpy_dtype
from ..errors import InterpreterError

INDEXING = (GatherOp, GatherElementsOp, CumsumOp, PadOp)
"""The operations that `evaluate_indexing` knows."""


def evaluate_indexing(op: Operation, arrays: Sequence[Array], float64: bool) -> Array:
    """The result of one of `INDEXING`. Raises InterpreterError for an index outside of its axis."""
    match op:
        case GatherOp():
            table, indices = arrays
            axis = op.axis.value.data
            return np.take(table, _checked(op, indices, table.shape[axis]), axis=axis)
        case GatherElementsOp():
            values, indices = arrays
            axis = op.axis.value.data
            if any(
                a != b for i, (a, b) in enumerate(zip(values.shape, indices.shape, strict=True)) if i != axis
            ):
                raise InterpreterError(
                    f"'{op.name}' indices have shape {list(indices.shape)}, expected the extents of "
                    f"{list(values.shape)} on every axis but {axis}",
                    op,
                )
            return np.take_along_axis(values, _checked(op, indices, values.shape[axis]), axis=axis)
        case CumsumOp():
            dtype = numpy_dtype(op.accumulator, float64)
            return np.cumsum(arrays[0], axis=op.axis.value.data, dtype=dtype)
        case PadOp():
            return _pad(op, arrays[0], float64)
        case _:
            raise InterpreterError(f"'{op.name}' looks nothing up by index", op)


def _checked(op: Operation, indices: Array, extent: int) -> Array:
    """Return the indices. Raises InterpreterError for one outside of the axis."""
    outside = indices[(indices < -extent) | (indices >= extent)]
    if outside.size:
        raise InterpreterError(
            f"'{op.name}' has the index {int(outside[0])}, expected -{extent} to {extent - 1} "
            f"for an axis of extent {extent}",
            op,
        )
    return indices


def _pad(op: PadOp, array: Array, float64: bool) -> Array:
    type = element_type_of(op.result)
    widths = list(zip(op.low.get_values(), op.high.get_values(), strict=True))
    fill = np.asarray(op.number).astype(numpy_dtype(type, float64 and is_float(type)))
    return np.pad(array, widths, constant_values=fill)
