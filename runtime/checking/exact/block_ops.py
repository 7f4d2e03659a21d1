"""The meaning of block programs over a field: every item is a small array, every list a Python list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import block
from ....dialects.block import Kind
from ...arrays.dtypes import numpy_dtype
from ...errors import InterpreterError
from ...interpreter.blocks import Blocking, Dims, Nested, Window, mapped_list, positions
from .array_ops import custom, of_integers
from .field import Field
from .residues import Residues, Value, Whole, joined
from .scalar import coefficient, evaluate_region

Values: TypeAlias = "Nested[Value]"


@dataclass
class CutDims(Dims):
    """Dims whose open block sizes cut each of them into `pieces` blocks, the last one ragged."""

    pieces: int = 3

    def size(self, dim: str, op: Operation) -> int:
        declared = self.declared[dim]
        if declared.is_batch or declared.is_whole or declared.block_size:
            return super().size(dim, op)
        extent = self.extent(dim, op)
        return extent // self.pieces + 1 if extent > self.pieces else 1


_COMBINE = {Kind.Sum: np.add, Kind.Max: np.maximum, Kind.Min: np.minimum}


class BlockEvaluator:
    """Evaluates the operations of the `block` dialect in one function."""

    def __init__(self, field: Field, dims: Dims):
        self.field = field
        self.dims = dims

    def evaluate(self, op: Operation, values: dict[SSAValue, Values]) -> None:
        """Evaluate one operation, reading its operands from `values` and putting its results there."""
        match op:
            case block.PartitionOp():
                values[op.result] = self._partition(op, _item(values[op.tensor]))
            case block.AssembleOp():
                values[op.result] = self._assemble(op, values[op.list])
            case block.MapOp():
                values.update(zip(op.results_, self._map(op, values), strict=True))
            case block.ReduceOp():
                items = cast("list[Value]", values[op.list])
                total: Value = items[0]
                for item in items[1:]:
                    total = self._combine(op, op.kind.data, total, item)
                values[op.result] = total
            case block.FirstOp():
                values[op.result] = cast("list[Values]", values[op.list])[0]
            case block.CustomOp():
                operands = [_item(values[value]) for value in op.inputs]
                name = op.callback.root_reference.data
                shapes = [self._shape(cast("block.ItemType", value.type), op) for value in op.results_]
                values.update(zip(op.results_, custom(self.field, op, name, operands, shapes), strict=True))
            case _:
                values[op.results[0]] = self._local(op, [_item(values[value]) for value in op.operands])

    # Views

    def _partition(self, op: block.PartitionOp, tensor: Value) -> Values:
        self.dims.bind(op, tensor.shape)
        blocking = Blocking.of(self.dims, op, op.result)
        extents, order = blocking.extents, blocking.item_order
        array = tensor.view(lambda part: part.reshape(extents))

        def cut(window: Window) -> Value:
            return array.view(lambda part: np.asarray(part[window]).transpose(order))

        return blocking.cut(cut)

    def _assemble(self, op: block.AssembleOp, blocks: Values) -> Value:
        blocking = Blocking.of(self.dims, op, op.list)
        extents, order, shape = blocking.extents, blocking.window_order, blocking.shape
        found = list(blocking.windows(blocks))

        def fill(parts: list[NDArray[Any]]) -> NDArray[Any]:
            array = np.empty(extents, parts[0].dtype)
            for (window, _), part in zip(found, parts, strict=True):
                array[window] = part
            return array

        result = joined([value.view(lambda part: part.transpose(order)) for _, value in found], fill)
        return result.view(lambda part: part.reshape(shape))

    # Iteration

    def _map(self, op: block.MapOp, values: dict[SSAValue, Values]) -> list[Values]:
        dim = op.dim_name
        trips, size = self.dims.trips(dim, op), self.dims.size(dim, op)
        collected: list[list[Values]] = [[] for _ in op.kinds]
        lists = [mapped_list(op, trips, values[value]) for value in op.inputs]
        for trip in range(trips):
            self.dims.offsets[dim] = trip * size
            for mapped, argument in zip(lists, op.body.block.args, strict=True):
                values[argument] = mapped[trip]
            self._run(op.body.block, values)
            self._collect(op, collected, [values[value] for value in op.yield_op.arguments])
        del self.dims.offsets[dim]
        return [
            parts if kind is Kind.Stack else parts[0]
            for kind, parts in zip(op.result_kinds, collected, strict=True)
        ]

    def _run(self, body: Block, values: dict[SSAValue, Values]) -> None:
        for op in body.ops:
            if op.results:
                self.evaluate(op, values)

    def _collect(self, op: block.MapOp, collected: list[list[Values]], yielded: Sequence[Values]) -> None:
        """Combine the yields of one iteration with those of the iterations before."""
        pivots = {pivot for pivot in op.result_pivots if pivot is not None}
        # The maxima as they were, before this iteration moves them.
        before = {pivot: _item(collected[pivot][0]) for pivot in pivots if collected[pivot]}
        for index, (kind, pivot) in enumerate(zip(op.result_kinds, op.result_pivots, strict=True)):
            parts, value = collected[index], yielded[index]
            if kind is Kind.Stack:
                parts.append(value)
            elif kind is Kind.Any or not parts:
                parts[:] = [value]
            elif pivot is None:
                parts[:] = [self._combine(op, kind, _item(parts[0]), _item(value))]
            else:
                old, new = before[pivot], _item(yielded[pivot])
                top = self._combine(op, Kind.Max, old, new)
                terms = [self._rescaled(parts[0], old, top), self._rescaled(value, new, top)]
                parts[:] = [self.field.add(*terms)]

    def _rescaled(self, significand: Values, exponent: Value, top: Value) -> Residues:
        """significand · exp(exponent - top), row by row."""
        item = _residues(_item(significand))
        exponent, top = _residues(exponent), _residues(top)
        _, same = self.field.compare(exponent, top)
        factor = self.field.exp(self.field.sub(exponent, top))
        factor = self.field.where(same, self.field.number(1), factor)
        missing = len(item.shape) - len(factor.shape)
        return self.field.mul(item, factor.view(lambda part: part.reshape(part.shape + (1,) * missing)))

    def _combine(self, op: Operation, kind: Kind, total: Value, value: Value) -> Value:
        if isinstance(total, Residues) and isinstance(value, Residues):
            if kind is Kind.Sum:
                return self.field.add(total, value)
            return self.field.extreme_of(total, value, largest=kind is Kind.Max)
        return of_integers(op, _COMBINE[kind], total, value)

    # Items

    def _shape(self, type: block.ItemType, op: Operation) -> tuple[int, ...]:
        return tuple(self.dims.current_block(dim, op) for dim in type.dims)

    def _local(self, op: Operation, operands: Sequence[Value]) -> Value:
        match op:
            case block.LoadOp() | block.StoreOp():
                return operands[0]
            case block.ElementwiseOp():
                return self._elementwise(op, operands)
            case block.LinearOp():
                return self._linear(op, operands)
            case block.MonomialOp():
                return self._monomial(op, operands)
            case block.DotOp() if op.kept is not None:
                return self._masked_dot(op, operands)
            case _ if any(isinstance(operand, Whole) for operand in operands):
                return self._integers(op, operands)
            case _:
                return self._plain(op, [_residues(operand) for operand in operands])

    def _plain(self, op: Operation, operands: Sequence[Residues]) -> Value:
        field, a, b = self.field, operands[0], operands[-1]
        match op:
            case block.RowSumOp():
                return field.total(a, (-1,))
            case block.RowMaxOp() | block.RowMinOp():
                return field.extreme(a, largest=isinstance(op, block.RowMaxOp))
            case block.DotOp():
                return field.matmul(a, b.view(np.transpose))
            case block.AddOp() | block.ColShiftOp():
                return field.add(a, b)
            case block.SubOp():
                return field.sub(a, b)
            case block.MulOp() | block.ColScaleOp():
                return field.mul(a, b)
            case block.RowShiftOp():
                return field.add(a, b.view(_as_column))
            case block.RowScaleOp():
                return field.mul(a, b.view(_as_column))
            case block.OuterOp():
                return field.mul(a.view(_as_column), b)
            case _:
                raise InterpreterError(f"'{op.name}' has no meaning in the exact check", op)

    def _masked_dot(self, op: block.DotOp, operands: Sequence[Value]) -> Value:
        a, b, kept = _residues(operands[0]), _residues(operands[1]), operands[2]
        assert isinstance(kept, Whole)
        zero = self.field.number(0)
        if op.masked is op.lhs:
            a = self.field.where(kept, a, zero)
        else:
            b = self.field.where(kept, b, zero)
        return self.field.matmul(a, b.view(np.transpose))

    def _integers(self, op: Operation, operands: Sequence[Value]) -> Value:
        """Operators on blocks of integers."""
        dtype = numpy_dtype(block.element_type_of(op.results[0].type))
        match op:
            case block.RowSumOp():
                function = partial(np.sum, axis=-1, dtype=dtype)
            case block.RowMaxOp():
                function = partial(np.max, axis=-1)
            case block.RowMinOp():
                function = partial(np.min, axis=-1)
            case block.DotOp():
                function = _dot
                operands = [operand.view(lambda part: part.astype(dtype)) for operand in operands]
            case block.AddOp() | block.ColShiftOp():
                function = np.add
            case block.SubOp():
                function = np.subtract
            case block.MulOp() | block.ColScaleOp():
                function = np.multiply
            case block.RowShiftOp():
                function, operands = np.add, [operands[0], operands[1].view(_as_column)]
            case block.RowScaleOp():
                function, operands = np.multiply, [operands[0], operands[1].view(_as_column)]
            case block.OuterOp():
                function = np.outer
            case _:
                raise InterpreterError(f"'{op.name}' of integers has no meaning in the exact check", op)
        return of_integers(op, function, *operands)

    def _linear(self, op: block.LinearOp, operands: Sequence[Value]) -> Residues:
        total: Residues | None = None
        for operand, factor in zip(operands, op.coefficients, strict=True):
            term = _residues(operand)
            if factor.value != 1:
                term = self.field.mul(term, coefficient(self.field, factor.value))
            for quantity in factor.factors:
                term = self.field.mul(term, self.field.number(self.dims.quantity(quantity, op)))
            total = term if total is None else self.field.add(total, term)
        assert total is not None
        return total

    def _monomial(self, op: block.MonomialOp, operands: Sequence[Value]) -> Residues:
        result: Residues | None = None
        for operand, (_, exponent) in zip(operands, op.pairs, strict=True):
            power = self.field.power(_residues(operand), exponent)
            result = power if result is None else self.field.mul(result, power)
        assert result is not None
        return result

    def _elementwise(self, op: block.ElementwiseOp, operands: Sequence[Value]) -> Value:
        type = cast("block.ItemType", op.result.type)
        spread: list[Value] = []
        for value, operand in zip(op.inputs, operands, strict=True):
            own = cast("block.ItemType", value.type).dims
            missing = tuple(axis for axis, dim in enumerate(type.dims) if dim not in own)
            spread.append(operand.view(lambda part, missing=missing: np.expand_dims(part, missing)))
        shape = self._shape(type, op)

        def position(inner: Operation) -> Whole:
            assert isinstance(inner, block.DimScalarOp)
            return Whole(positions(self.dims, inner, type, shape))

        (result,) = evaluate_region(self.field, op.body, spread, position)
        return result.view(lambda part: np.broadcast_to(part, shape))


def _item(value: Values) -> Value:
    assert not isinstance(value, list)
    return value


def _residues(value: Value) -> Residues:
    assert isinstance(value, Residues)
    return value


def _dot(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return a @ b.T


def _as_column(part: NDArray[Any]) -> NDArray[Any]:
    return part[:, None]
