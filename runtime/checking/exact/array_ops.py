"""The meaning of the core operations of the `array` dialect over a field; composites are decomposed first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.hints import isa

from ....dialects import array
from ....dialects.scalar import is_float
from ...arrays.dtypes import numpy_dtype, to_dtype
from ...errors import InterpreterError
from ...interpreter.arrays import constant_array
from .field import Field
from .residues import Residues, Value, Whole, joined, unknown_of
from .scalar import evaluate_region, number


def evaluate_array_op(field: Field, op: Operation, operands: Sequence[Value]) -> list[Value]:
    """The results of one core operation. Raises InterpreterError."""
    results = _evaluate(field, op, operands)
    for result, value in zip(op.results, results, strict=True):
        declared = array.shape_of(result.type)
        if len(declared) != len(value.shape) or any(
            extent not in (array.DYNAMIC, found) for extent, found in zip(declared, value.shape, strict=True)
        ):
            raise InterpreterError(
                f"'{op.name}' gives shape {list(value.shape)}, expected {array.shape_text(declared)}", op
            )
    return results


def _evaluate(field: Field, op: Operation, operands: Sequence[Value]) -> list[Value]:
    match op:
        case array.MatmulOp():
            return [_matmul(field, op, *operands)]
        case array.MaskedMatmulOp():
            a, b, *inputs = operands
            (kept,) = evaluate_region(field, op.body, inputs)
            assert isinstance(a, Residues)
            assert isinstance(b, Residues)
            assert isinstance(kept, Whole)
            return [field.matmul(field.where(kept, a, field.number(0)), b)]
        case array.ElementwiseOp():
            shape = _broadcast_extents(operands, [value.type for value in op.operands], op.shape)
            yielded = evaluate_region(field, op.body, operands)
            return [value.view(lambda part: np.broadcast_to(part, shape)) for value in yielded]
        case array.ReduceOp():
            return [_reduce(field, op, operands[0])]
        case array.BroadcastOp():
            shape = _broadcast_extents(operands, [op.input.type], array.shape_of(op.result))
            return [operands[0].view(lambda part: np.broadcast_to(part, shape))]
        case array.TransposeOp():
            return [operands[0].view(lambda part: np.transpose(part, op.perm.get_values()))]
        case array.ReshapeOp():
            extents = _reshape_extents(op, operands[0].shape)
            return [operands[0].view(lambda part: part.reshape(extents))]
        case array.SliceOp():
            window = tuple(
                slice(offset, None if size == -1 else offset + size)
                for offset, size in zip(op.offsets.get_values(), op.sizes.get_values(), strict=True)
            )
            return [operands[0].view(lambda part: part[window])]
        case array.ConcatOp():
            axis = op.axis.value.data
            return [joined(operands, lambda parts: np.concatenate(parts, axis))]
        case array.IotaOp():
            return [_iota(field, op, operands)]
        case array.ConstantOp():
            return [_constant(field, op)]
        case array.ExtentOp():
            extent = Whole(np.asarray(operands[0].shape[op.axis.value.data], np.int64))
            return [_as_type(field, extent, array.element_type_of(op.result))]
        case array.GatherOp() | array.GatherElementsOp():
            return [_gather(op, *operands)]
        case array.CumsumOp():
            return [_cumsum(field, op, operands[0])]
        case array.PadOp():
            return [_pad(field, op, operands[0])]
        case array.CustomOp():
            return custom(field, op, op.callback_name, operands, [_shape(op, v.type) for v in op.results])
        case _:
            raise InterpreterError(f"'{op.name}' has no meaning in the exact check", op)


def _as_type(field: Field, whole: Whole, element_type: Attribute) -> Value:
    """Exact integers as elements of a type."""
    if is_float(element_type):
        return field.integers(whole)
    return Whole(to_dtype(whole.values, numpy_dtype(element_type)), whole.unknown)


def _matmul(field: Field, op: array.MatmulOp, a: Value, b: Value) -> Value:
    def swap(value: Value) -> Value:
        return value.view(lambda part: np.swapaxes(part, -1, -2))

    a = swap(a) if op.transpose_a is not None else a
    b = swap(b) if op.transpose_b is not None else b
    if isinstance(a, Residues) and isinstance(b, Residues):
        return field.matmul(a, b)
    dtype = numpy_dtype(op.accumulator)
    return of_integers(op, np.matmul, *(value.view(lambda part: part.astype(dtype)) for value in (a, b)))


def of_integers(op: Operation, function: Callable[..., NDArray[Any]], *operands: Value) -> Whole:
    """A function of arrays of integers. Raises InterpreterError where they depend on opaque comparisons."""
    whole = [operand for operand in operands if isinstance(operand, Whole)]
    if len(whole) != len(operands) or unknown_of(*whole) is not None:
        raise InterpreterError(f"'{op.name}' of integers that are not known has no exact meaning", op)
    return Whole(np.asarray(function(*(operand.values for operand in whole))))


def _reduce(field: Field, op: array.ReduceOp, operand: Value) -> Value:
    axes, keepdims = op.axes.get_values(), op.keepdims is not None
    kind = op.kind.data
    if isinstance(operand, Whole):
        if kind is array.ReductionKind.SUM:
            total = partial(np.sum, axis=axes, keepdims=keepdims, dtype=numpy_dtype(op.accumulator))
            return of_integers(op, total, operand)
        extreme = np.max if kind is array.ReductionKind.MAX else np.min
        return of_integers(op, partial(extreme, axis=axes, keepdims=keepdims), operand)
    if kind is array.ReductionKind.SUM:
        return field.total(operand, tuple(axes), keepdims)
    kept = [axis for axis in range(len(operand.shape)) if axis not in axes]

    def rows(part: NDArray[Any]) -> NDArray[Any]:
        return np.transpose(part, [*kept, *axes]).reshape([*(part.shape[axis] for axis in kept), -1])

    result = field.extreme(operand.view(rows), kind is array.ReductionKind.MAX)
    return result.view(lambda part: np.expand_dims(part, tuple(axes))) if keepdims else result


def _broadcast_extents(
    operands: Sequence[Value], types: Sequence[Attribute], shape: Sequence[int]
) -> tuple[int, ...]:
    """The run-time extents of the declared `shape`, to which operands broadcast; `?` never does."""
    extents = list(shape)
    for value, type in zip(operands, types, strict=True):
        declared = array.shape_of(type)
        for axis, extent in zip(range(len(shape) - len(declared), len(shape)), value.shape, strict=True):
            if declared[axis - len(shape)] == array.DYNAMIC:
                extents[axis] = extent
    return tuple(extents)


def _reshape_extents(op: array.ReshapeOp, shape: Sequence[int]) -> list[int]:
    extents = list(array.shape_of(op.result))
    for inputs, outputs in op.groups:
        elements = int(np.prod([shape[axis] for axis in inputs], dtype=np.int64))
        found = [extents[axis] for axis in outputs if extents[axis] != array.DYNAMIC]
        known = int(np.prod(found, dtype=np.int64))
        for axis in outputs:
            if extents[axis] == array.DYNAMIC:
                extents[axis] = elements // known
    return extents


def _iota(field: Field, op: array.IotaOp, operands: Sequence[Value]) -> Value:
    shape = operands[0].shape if operands else array.shape_of(op.result)
    axis = op.axis.value.data
    positions = np.arange(shape[axis]).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    whole = Whole(np.broadcast_to(positions, shape))
    return _as_type(field, whole, array.element_type_of(op.result))


def _constant(field: Field, op: array.ConstantOp) -> Value:
    values = constant_array(op)
    element_type = array.element_type_of(op.result)
    if not isinstance(element_type, AnyFloat):
        return Whole(values)
    distinct, places = np.unique(values.astype(np.float64), return_inverse=True)
    numbers = [number(field, FloatAttr(float(value), element_type)) for value in distinct]
    if len(numbers) == 1:
        return numbers[0].view(lambda part: np.broadcast_to(part, values.shape))

    def spread(index: int) -> NDArray[np.int64]:
        parts = np.asarray([value.parts[index] for value in numbers])
        return parts[places].reshape(values.shape)

    marked = any(value.marked for value in numbers)
    return Residues(tuple(spread(index) for index in range(len(field.moduli))), marked=marked)


def _gather(op: array.GatherOp | array.GatherElementsOp, values: Value, indices: Value) -> Value:
    """Elements by index; indices of random inputs wrap around, so that each of them is one of the axis."""
    if not isinstance(indices, Whole) or unknown_of(indices) is not None:
        raise InterpreterError(f"'{op.name}' with indices that are not known has no exact meaning", op)
    axis = op.axis.value.data
    places = indices.values % values.shape[axis]
    if isinstance(op, array.GatherOp):
        return values.view(lambda part: np.take(part, places, axis=axis))
    return values.view(lambda part: np.take_along_axis(part, places, axis=axis))


def _cumsum(field: Field, op: array.CumsumOp, operand: Value) -> Value:
    axis = op.axis.value.data
    if isinstance(operand, Whole):
        return of_integers(op, partial(np.cumsum, axis=axis, dtype=numpy_dtype(op.accumulator)), operand)

    def up_to(place: int) -> Value:
        window = (*(slice(None),) * axis, slice(0, place + 1))
        return field.total(operand.view(lambda part: part[window]), (axis,), True)

    sums = [up_to(place) for place in range(operand.shape[axis])]
    return joined(sums, lambda parts: np.concatenate(parts, axis))


def _pad(field: Field, op: array.PadOp, operand: Value) -> Value:
    widths = list(zip(op.low.get_values(), op.high.get_values(), strict=True))
    type = array.element_type_of(op.result)
    if isa(type, AnyFloat):
        fill = number(field, FloatAttr(float(op.number), type))
    else:
        fill = Whole(np.asarray(op.number).astype(numpy_dtype(type)))
    result = operand
    for axis, ends in enumerate(widths):
        before, after = (
            fill.view(
                lambda part, n=n, axis=axis, shape=result.shape: np.broadcast_to(
                    part, (*shape[:axis], n, *shape[axis + 1 :])
                )
            )
            for n in ends
        )
        result = joined([before, result, after], lambda parts, axis=axis: np.concatenate(parts, axis))
    return result


def _shape(op: Operation, type: Attribute) -> tuple[int, ...]:
    shape = array.shape_of(type)
    if array.DYNAMIC in shape:
        raise InterpreterError(f"'{op.name}' must have results of known extents for the exact check", op)
    return shape


@cache
def _positions(shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.arange(int(np.prod(shape, dtype=np.int64)), dtype=np.int64).reshape(shape)


def custom(
    field: Field, op: Operation, name: str, operands: Sequence[Value], shapes: Sequence[tuple[int, ...]]
) -> list[Value]:
    """Results of an opaque operation: each element is a hash of all elements of all operands."""
    text = f"{name} {sorted((key, str(value)) for key, value in op.attributes.items())}"
    digest = Whole(np.zeros((), np.int64))
    spoilt = False
    for operand in operands:
        keys, unknown = field.hashes(text, [operand, Whole(_positions(operand.shape))])
        spoilt = spoilt or (unknown is not None and bool(unknown.any()))
        content = Whole(np.asarray(keys.sum(dtype=np.uint64)).astype(np.int64))
        digest = Whole(field.hashes(text, [digest, content])[0].astype(np.int64))
    results: list[Value] = []
    for index, (result, shape) in enumerate(zip(op.results, shapes, strict=True)):
        keys, _ = field.hashes(f"{text} {index}", [digest, Whole(_positions(shape))])
        element_type = cast("Any", result.type).element_type
        unknown = np.ones(shape, np.bool_) if spoilt else None
        if is_float(element_type):
            results.append(field.from_hashes(keys, unknown))
        else:
            small = (keys >> np.uint64(56)).astype(np.int64)
            results.append(Whole(to_dtype(small, numpy_dtype(element_type)), unknown))
    return results
