"""The meaning of every `array` operation on numpy arrays: the reference for compiled programs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i1,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from ...dialects.array import (
    DYNAMIC,
    BroadcastOp,
    ConcatOp,
    ConstantOp,
    CustomOp,
    ElementwiseOp,
    ExtentOp,
    IotaOp,
    MaskedMatmulOp,
    MatmulOp,
    ReduceOp,
    ReductionKind,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    array_type,
    element_type_of,
    shape_of,
    shape_text,
)
from ...dialects.scalar import is_float
from ..arrays.dtypes import BFLOAT16, Array, numpy_dtype, to_dtype, widen
from ..errors import InterpreterError
from .composite_semantics import evaluate_composite
from .indexing import INDEXING, evaluate_indexing
from .masked_products import masked_product
from .scalar_semantics import evaluate_scalar_region, numbers_of

__all__ = ["Callback", "InterpreterError", "evaluate_array_op", "numpy_dtype"]

Callback: TypeAlias = Callable[..., Any]
"""Callback of `array.custom`: `callback(*arrays, **attributes)` returns one array or a sequence of arrays."""


def evaluate_array_op(
    op: Operation,
    operands: Sequence[Array],
    *,
    float64: bool = False,
    callbacks: Mapping[str, Callback] | None = None,
    copy: bool = True,
) -> list[Array]:
    """The results of one core or composite operation of the `array` dialect.

    `operands` must have the shapes of the operand types (any extent for `?`) and are converted to their
    dtypes; results have the dtypes of the result types. With `float64`, every float type is float64. Sums are
    kept in the accumulator type. Results are in row-major order; with `copy=False` they may be views of
    operands, with any strides. Raises InterpreterError.
    """
    arrays = [_operand(op, number, array, float64) for number, array in enumerate(operands)]
    if len(arrays) != len(op.operands):
        raise InterpreterError(f"'{op.name}' got {len(arrays)} arrays, expected {len(op.operands)}", op)
    with np.errstate(all="ignore"):
        results = _evaluate(op, arrays, float64, callbacks or {})
        return [_result(op, number, array, float64, copy) for number, array in enumerate(results)]


def _check_shape(op: Operation, what: str, array: Array, type: Attribute) -> None:
    shape = shape_of(type)
    if len(shape) != array.ndim or any(
        expected not in (DYNAMIC, extent) for expected, extent in zip(shape, array.shape, strict=True)
    ):
        raise InterpreterError(
            f"'{op.name}' {what} has shape {list(array.shape)}, expected {shape_text(shape)}", op
        )


def _operand(op: Operation, number: int, array: Array, float64: bool) -> Array:
    array = np.asarray(array)
    if number >= len(op.operands):
        return array
    type = op.operands[number].type
    _check_shape(op, f"operand {number}", array, type)
    dtype = numpy_dtype(element_type_of(type), float64)
    if array.dtype != dtype and (
        not _is_number(array.dtype) or (_is_real(array.dtype) and not _is_real(dtype))
    ):
        raise InterpreterError(f"'{op.name}' operand {number} has dtype {array.dtype}, expected {dtype}", op)
    return to_dtype(array, dtype)


def _is_real(dtype: np.dtype[Any]) -> bool:
    return dtype == BFLOAT16 or np.issubdtype(dtype, np.floating)


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype == np.bool_ or np.issubdtype(dtype, np.integer) or _is_real(dtype)


def _result(op: Operation, number: int, array: Array, float64: bool, copy: bool) -> Array:
    type = op.results[number].type
    _check_shape(op, f"result {number}", array, type)
    result = to_dtype(array, numpy_dtype(element_type_of(type), float64))
    return np.ascontiguousarray(result).reshape(array.shape) if copy else result


def _evaluate(
    op: Operation, arrays: Sequence[Array], float64: bool, callbacks: Mapping[str, Callback]
) -> Sequence[Array]:
    match op:
        case MatmulOp():
            return [_matmul(op, *arrays, float64=float64)]
        case MaskedMatmulOp():
            return [_masked_matmul(op, arrays, float64)]
        case ElementwiseOp():
            return _elementwise(op, arrays, float64)
        case ReduceOp():
            return [_reduce(op, arrays[0], float64)]
        case BroadcastOp():
            return [np.broadcast_to(arrays[0], _broadcast_extents(op, arrays, shape_of(op.result)))]
        case TransposeOp() | ReshapeOp() | SliceOp():
            return [move_elements(op, arrays[0])]
        case ConcatOp():
            return [_concat(op, arrays)]
        case IotaOp():
            return [_iota(op, arrays)]
        case ConstantOp():
            return [_constant(op, float64)]
        case ExtentOp():
            return [np.asarray(arrays[0].shape[op.axis.value.data])]
        case CustomOp():
            return call_back(op, op.callback_name, arrays, callbacks)
        case _ if isinstance(op, INDEXING):
            return [evaluate_indexing(op, arrays, float64)]
        case _:
            result = evaluate_composite(op, arrays)
            if result is None:
                raise InterpreterError(f"'{op.name}' is no array operation that can be evaluated", op)
            return [result]


def _broadcast_extents(op: Operation, arrays: Sequence[Array], shape: Sequence[int]) -> tuple[int, ...]:
    """The run-time extents of the declared `shape`, to which operands broadcast; `?` never does."""
    extents = list(shape)
    for number, array in enumerate(arrays):
        declared = shape_of(op.operands[number])
        for axis, extent in zip(range(len(shape) - len(declared), len(shape)), array.shape, strict=True):
            if declared[axis - len(shape)] != DYNAMIC:
                continue
            if extents[axis] not in (DYNAMIC, extent):
                raise InterpreterError(
                    f"'{op.name}' operand {number} has extent {extent} where the result has {extents[axis]} "
                    f"(result axis {axis}), expected equal extents because ? does not broadcast",
                    op,
                )
            extents[axis] = extent
    return tuple(extents)


def _matmul(op: MatmulOp, a: Array, b: Array, *, float64: bool) -> Array:
    dtype = numpy_dtype(op.accumulator, float64)
    a = np.swapaxes(a, -1, -2) if op.transpose_a is not None else a
    b = np.swapaxes(b, -1, -2) if op.transpose_b is not None else b
    if a.shape[-1] != b.shape[-2]:
        raise InterpreterError(
            f"'{op.name}' contracts extent {a.shape[-1]} of the left operand with extent {b.shape[-2]} "
            "of the right one, expected equal extents",
            op,
        )
    try:
        np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise InterpreterError(
            f"'{op.name}' batch extents {list(a.shape[:-2])} and {list(b.shape[:-2])} "
            "do not broadcast together",
            op,
        ) from None
    return np.matmul(a.astype(dtype, copy=False), b.astype(dtype, copy=False))


def _masked_matmul(op: MaskedMatmulOp, arrays: Sequence[Array], float64: bool) -> Array:
    a, b, *inputs = arrays
    dtype = numpy_dtype(op.accumulator, float64)
    (kept,) = evaluate_scalar_region(op.body, inputs, float64=float64)
    return masked_product(a.astype(dtype, copy=False), b.astype(dtype, copy=False), kept)


def _elementwise(op: ElementwiseOp, arrays: Sequence[Array], float64: bool) -> list[Array]:
    shape = _broadcast_extents(op, arrays, op.shape)
    yielded = evaluate_scalar_region(op.body, arrays, float64=float64)
    return [np.broadcast_to(array, shape) for array in yielded]


def _reduce(op: ReduceOp, array: Array, float64: bool) -> Array:
    axes, keepdims = op.axes.get_values(), op.keepdims is not None
    if op.kind.data is ReductionKind.SUM:
        dtype = numpy_dtype(op.accumulator, float64)
        return np.sum(array, axis=axes, keepdims=keepdims, dtype=dtype)
    array = widen(array)
    smallest, largest = (
        (np.iinfo(array.dtype).min, np.iinfo(array.dtype).max)
        if np.issubdtype(array.dtype, np.integer)
        else (-np.inf, np.inf)
    )
    if op.kind.data is ReductionKind.MAX:
        return np.max(array, axis=axes, keepdims=keepdims, initial=smallest)
    return np.min(array, axis=axes, keepdims=keepdims, initial=largest)


def move_elements(op: TransposeOp | ReshapeOp | SliceOp, array: Any) -> Any:
    """The result of an operation that computes nothing, for an array of numpy's or of a library like it: a
    view where that library makes one. Raises InterpreterError.
    """
    match op:
        case TransposeOp():
            return array.transpose([int(axis) for axis in op.perm.get_values()])
        case ReshapeOp():
            return array.reshape(_reshape_extents(op, array.shape))
        case SliceOp():
            return _slice(op, array)


def _reshape_extents(op: ReshapeOp, shape: Sequence[int]) -> list[int]:
    """The run-time extents of a reshape's result: each `?` from the elements of its group."""
    extents = list(shape_of(op.result))
    for inputs, outputs in op.groups:
        elements = int(np.prod([shape[axis] for axis in inputs], dtype=np.int64))
        known = int(np.prod([extents[axis] for axis in outputs if extents[axis] != DYNAMIC], dtype=np.int64))
        unknown = [axis for axis in outputs if extents[axis] == DYNAMIC]
        if elements % known or (not unknown and elements != known):
            raise InterpreterError(
                f"'{op.name}' cannot make axes {outputs} of {shape_text(shape_of(op.result))} "
                f"out of {elements} elements",
                op,
            )
        for axis in unknown:
            extents[axis] = elements // known
    return extents


def _slice(op: SliceOp, array: Any) -> Any:
    window: list[slice] = []
    for axis, (offset, size) in enumerate(zip(op.offsets.get_values(), op.sizes.get_values(), strict=True)):
        extent = array.shape[axis]
        end = extent if size == -1 else offset + size
        if end > extent or offset >= extent:
            raise InterpreterError(
                f"'{op.name}' axis {axis}: offset {offset} and size {size} reach past the extent {extent}", op
            )
        window.append(slice(offset, end))
    return array[tuple(window)]


def _concat(op: ConcatOp, arrays: Sequence[Array]) -> Array:
    axis = op.axis.value.data
    others = [(*array.shape[:axis], *array.shape[axis + 1 :]) for array in arrays]
    if len(set(others)) > 1:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise InterpreterError(
            f"'{op.name}' operands have shapes {shapes}, expected equal extents off axis {axis}", op
        )
    return np.concatenate(arrays, axis=axis)


def _iota(op: IotaOp, arrays: Sequence[Array]) -> Array:
    shape = arrays[0].shape if arrays else shape_of(op.result)
    axis = op.axis.value.data
    positions = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(positions, shape)


def _constant(op: ConstantOp, float64: bool) -> Array:
    element_type = element_type_of(op.result)
    array = constant_array(op)
    return numbers_of(array, element_type) if float64 and is_float(element_type) else array


def constant_array(op: ConstantOp) -> Array:
    """The value of an `array.constant` in the dtype of its elements."""
    element_type = array_type(op.result).element_type
    shape = shape_of(op.result)
    if element_type == i1:
        return (np.frombuffer(op.value.data.data, np.int8) & 1).astype(np.bool_).reshape(shape)
    return np.frombuffer(op.value.data.data, numpy_dtype(element_type)).reshape(shape)


def attribute_value(attribute: Attribute) -> object:
    """Return a callback's argument for an attribute: a number, a string, a list of them, or the attribute."""
    match attribute:
        case IntegerAttr():
            value = attribute.value.data
            return bool(value) if attribute.type == i1 else value
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case ArrayAttr():
            return [attribute_value(item) for item in attribute.data]
        case _ if isa(attribute, DenseArrayBase[IntegerType]) or isa(attribute, DenseArrayBase[AnyFloat]):
            return list(attribute.iter_values())
        case _:
            return attribute


def call_back(
    op: Operation, name: str, arrays: Sequence[Array], callbacks: Mapping[str, Callback]
) -> list[Array]:
    """The results of an opaque operation, one array each. Raises InterpreterError."""
    callback = callbacks.get(name)
    if callback is None:
        known = ", ".join(sorted(callbacks)) or "none"
        raise InterpreterError(f"'{op.name}' callback '{name}' is not known; known callbacks: {known}", op)
    returned = callback(*arrays, **{name: attribute_value(value) for name, value in op.attributes.items()})
    results = cast(Sequence[Any], returned if isinstance(returned, tuple | list) else [returned])
    if len(results) != len(op.results):
        raise InterpreterError(
            f"'{op.name}' callback '{name}' gave {len(results)} arrays, expected {len(op.results)}", op
        )
    return [np.asarray(result) for result in results]
