"""The meaning of block programs on numpy arrays: every item is a small array, every list a Python list.

The interpreter counts traffic and work as it runs; the counts are those that `block-traffic` predicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from typing import TypeAlias, TypeVar, cast

import numpy as np
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import block
from ...dialects.block import Kind
from ...passes.analysis.traffic.block import algebra_flops, item_bytes, scalar_flops
from ..arrays.dtypes import Array, numpy_dtype, to_dtype, widen
from ..errors import InterpreterError
from .arrays import Callback, call_back
from .masked_products import masked_product
from .scalar_semantics import evaluate_scalar_region

Item = TypeVar("Item")
Nested: TypeAlias = "Item | list[Nested[Item]]"
"""An array or item, or a list of items or lists."""
Value: TypeAlias = "Nested[Array]"
Window: TypeAlias = "tuple[slice | int, ...]"
"""The place of a block in an array."""

DEFAULT_BLOCK_SIZE = 64
"""Elements of a block if a program does not say."""


@dataclass
class Counts:
    """Bytes moved between the tiers and flops computed in a run; comparable with `block-traffic`."""

    loads: int = 0
    stores: int = 0
    bytes_loaded: int = 0
    bytes_stored: int = 0
    flops: int = 0


@dataclass
class Dims:
    """The dims of a function at run time: extents and block sizes in elements."""

    declared: Mapping[str, block.DimAttr]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    default_size: int = DEFAULT_BLOCK_SIZE
    extents: dict[str, int] = field(default_factory=dict[str, int])
    offsets: dict[str, int] = field(default_factory=dict[str, int])
    """The first element of the current block along each dim that a map around runs over."""

    def __post_init__(self) -> None:
        for name, dim in self.declared.items():
            if dim.static_extent is not None:
                self.extents[name] = dim.static_extent

    def bind(self, op: block.ViewOp, shape: Sequence[int]) -> None:
        """Learn the extents that an array of this shape gives the dims of its axes."""
        for extent, axis in zip(shape, op.axes, strict=True):
            unknown = [dim.data for dim in axis if dim.data not in self.extents]
            known = 1
            for dim in axis:
                known *= self.extents.get(dim.data, 1)
            if len(unknown) == 1 and extent % known == 0:
                self.extents[unknown[0]] = extent // known
            elif unknown or known != extent:
                text = " * ".join(f"{d.data} = {self.extents.get(d.data, '?')}" for d in axis) or "1"
                raise InterpreterError(f"'{op.name}' axis has extent {extent}, expected {text}", op)

    def extent(self, dim: str, op: Operation) -> int:
        if dim not in self.extents:
            raise InterpreterError(
                f"'{op.name}' needs the extent of dim {dim}, which no array has given yet", op
            )
        return self.extents[dim]

    def size(self, dim: str, op: Operation) -> int:
        """Elements a block of the dim."""
        declared = self.declared[dim]
        if declared.is_batch:
            return 1
        if declared.is_whole:
            return self.extent(dim, op)
        return declared.block_size or self.sizes.get(dim) or self.default_size

    def trips(self, dim: str, op: Operation) -> int:
        return -(-self.extent(dim, op) // self.size(dim, op))

    def full_block(self, dim: str, op: Operation) -> int:
        """Elements of the dim's blocks, except for a ragged last one."""
        return min(self.size(dim, op), self.extent(dim, op))

    def current_block(self, dim: str, op: Operation) -> int:
        """Elements of the dim's current block; the last one may have fewer than the others."""
        return min(self.size(dim, op), self.extent(dim, op) - self.offsets.get(dim, 0))

    def quantity(self, factor: block.DimQuantity, op: Operation) -> int:
        match factor.quantity:
            case "extent":
                return self.extent(factor.dim, op)
            case "blocks":
                return self.trips(factor.dim, op)
            case _:
                return self.current_block(factor.dim, op)


@dataclass(frozen=True)
class Blocking:
    """The blocks of a list as windows of an array that has an axis for each dim of a view."""

    dims: Dims
    op: block.ViewOp
    nest: tuple[str, ...]
    """The dims of the list, outermost first; none for an item in the global tier."""
    item: block.ItemType

    @staticmethod
    def of(dims: Dims, op: block.ViewOp, blocks: SSAValue) -> Blocking:
        type = blocks.type
        if isinstance(type, block.ListType):
            return Blocking(dims, op, type.dims, type.item)
        assert isinstance(type, block.ItemType)
        return Blocking(dims, op, (), type)

    @property
    def axes(self) -> list[str]:
        return [dim.data for axis in self.op.axes for dim in axis]

    @property
    def extents(self) -> list[int]:
        """The extents of the array with an axis for each dim."""
        return [self.dims.extent(dim, self.op) for dim in self.axes]

    @property
    def shape(self) -> list[int]:
        """The shape of the array that the view is of."""
        return [int(np.prod([self.dims.extent(dim.data, self.op) for dim in axis])) for axis in self.op.axes]

    @property
    def item_order(self) -> list[int]:
        """The axes of a window in the order of an item's dims."""
        return [self._kept.index(dim) for dim in self.item.dims]

    @property
    def window_order(self) -> list[int]:
        """The axes of an item in the order of a window's."""
        return [self.item.dims.index(dim) for dim in self._kept]

    @property
    def _kept(self) -> list[str]:
        return [dim for dim in self.axes if dim in self.item.dims]

    def cut(self, block_at: Callable[[Window], Item]) -> Nested[Item]:
        """The list of the blocks at all windows."""
        axes = self.axes

        def level(nest: tuple[str, ...], where: dict[str, slice | int]) -> Nested[Item]:
            if not nest:
                return block_at(tuple(where.get(dim, slice(None)) for dim in axes))
            dim, inner = nest[0], nest[1:]
            return [
                level(inner, {**where, dim: self._place(dim, trip)})
                for trip in range(self.dims.trips(dim, self.op))
            ]

        return level(self.nest, {})

    def windows(self, blocks: Nested[Item]) -> Iterator[tuple[Window, Item]]:
        """Each block of a list with the window that it fills."""
        axes = self.axes
        for trips in product(*(range(self.dims.trips(dim, self.op)) for dim in self.nest)):
            value, where = blocks, dict[str, slice | int]()
            for dim, trip in zip(self.nest, trips, strict=True):
                value = cast("list[Nested[Item]]", value)[trip]
                where[dim] = self._place(dim, trip)
            yield tuple(where.get(dim, slice(None)) for dim in axes), cast("Item", value)

    def _place(self, dim: str, trip: int) -> slice | int:
        size = self.dims.size(dim, self.op)
        return slice(trip * size, (trip + 1) * size) if dim in self.item.dims else trip


def mapped_list(op: block.MapOp, trips: int, value: Nested[Item]) -> list[Nested[Item]]:
    """The list that a map runs over. Raises InterpreterError if it does not have an item for each
    iteration.
    """
    found = cast("list[Nested[Item]]", value)
    if not isinstance(value, list) or len(found) != trips:
        raise InterpreterError(
            f"'{op.name}' @{op.dim_name} runs {trips} times, but a mapped list has another length", op
        )
    return found


def positions(dims: Dims, op: block.DimScalarOp, type: block.ItemType, shape: Sequence[int]) -> Array:
    """The values of an operation on dims in the body of an elementwise operation that gives such an item."""
    if isinstance(op, block.ExtentOp):
        return np.asarray(dims.extent(op.dim_name, op), np.int64)
    offset = dims.offsets.get(op.dim_name, 0)
    if op.dim_name not in type.dims:
        return np.asarray(offset, np.int64)
    axis = type.dims.index(op.dim_name)
    index = offset + np.arange(shape[axis], dtype=np.int64)
    return index.reshape([-1 if other == axis else 1 for other in range(len(shape))])


Step: TypeAlias = Callable[[dict[SSAValue, Value]], None]
"""Evaluates one operation, reading its operands from the values and putting its results there."""

_COMBINE = {Kind.Sum: np.add, Kind.Max: np.maximum, Kind.Min: np.minimum}


class BlockInterpreter:
    """Evaluates the operations of the `block` dialect in one function.

    With `padded`, ragged blocks are filled with zeros to the size of the others, as a target with tiles of
    fixed size does. With `float64`, every float is computed as float64; bytes are counted in the program's
    own types all the same.
    """

    def __init__(
        self,
        dims: Dims,
        *,
        float64: bool = False,
        callbacks: Mapping[str, Callback] | None = None,
        padded: bool = False,
    ):
        self.dims = dims
        self.padded = padded
        self.float64 = float64
        self.callbacks = callbacks or {}
        self.counts = Counts()
        self._steps: dict[Block, list[Step]] = {}

    def evaluate(self, op: Operation, values: dict[SSAValue, Value]) -> None:
        """Evaluate one operation, reading its operands from `values` and putting its results there."""
        match op:
            case block.PartitionOp():
                values[op.result] = self._partition(op, _array(values[op.tensor]))
            case block.AssembleOp():
                values[op.result] = self._assemble(op, values[op.list])
            case block.MapOp():
                values.update(zip(op.results_, self._map(op, values), strict=True))
            case block.ReduceOp():
                values[op.result] = self._reduce(op, values[op.list])
            case block.FirstOp():
                items = values[op.list]
                assert isinstance(items, list)
                values[op.result] = items[0]
            case block.CustomOp():
                operands = [_array(values[value]) for value in op.inputs]
                values.update(zip(op.results_, self._custom(op, operands), strict=True))
            case _:
                self._item_step(op)(values)

    def _step(self, op: Operation) -> Step:
        """Return the function that evaluates an operation. Bodies run often, so they are analysed once."""
        if isinstance(op, block.MapOp | block.ReduceOp | block.FirstOp | block.CustomOp | block.PartitionOp):
            return lambda values: self.evaluate(op, values)
        return self._item_step(op)

    def _item_step(self, op: Operation) -> Step:
        operands, result = tuple(op.operands), op.results[0]
        dtype = self._dtype(result.type)
        counts = self.counts

        def on_items(values: dict[SSAValue, Value]) -> None:
            found = self._item(op, [_array(values[value]) for value in operands])
            values[result] = to_dtype(found, dtype)

        if self.padded or not isinstance(op, block.LoadOp | block.StoreOp):
            return on_items
        source, is_load = op.source, isinstance(op, block.LoadOp)
        width = item_bytes(block.element_type_of(source.type if is_load else op.result.type))

        def move(values: dict[SSAValue, Value]) -> None:
            item = _array(values[source])
            if is_load:
                counts.loads += 1
                counts.bytes_loaded += item.size * width
            else:
                counts.stores += 1
                counts.bytes_stored += item.size * width
            values[result] = to_dtype(item, dtype)

        return move

    def _dtype(self, type: Attribute) -> np.dtype:
        return numpy_dtype(block.element_type_of(type), self.float64)

    # Views

    def _partition(self, op: block.PartitionOp, tensor: Array) -> Value:
        self.dims.bind(op, tensor.shape)
        blocking = Blocking.of(self.dims, op, op.result)
        array, order = tensor.reshape(blocking.extents), blocking.item_order
        return blocking.cut(lambda window: array[window].transpose(order))

    def _assemble(self, op: block.AssembleOp, blocks: Value) -> Array:
        blocking = Blocking.of(self.dims, op, op.list)
        array, order = np.empty(blocking.extents, self._dtype(blocking.item)), blocking.window_order
        for window, value in blocking.windows(blocks):
            array[window] = value.transpose(order)
        return array.reshape(blocking.shape)

    # Iteration

    def _map(self, op: block.MapOp, values: dict[SSAValue, Value]) -> list[Value]:
        dim = op.dim_name
        trips, size = self.dims.trips(dim, op), self.dims.size(dim, op)
        kinds, pivots = op.result_kinds, op.result_pivots
        collected: list[list[Value]] = [[] for _ in kinds]
        body, arguments = op.body.block, tuple(op.yield_op.arguments)
        lists: list[tuple[SSAValue, list[Value]]] = []
        for value, argument in zip(op.inputs, body.args, strict=True):
            lists.append((argument, mapped_list(op, trips, values[value])))
        for trip in range(trips):
            self.dims.offsets[dim] = trip * size
            # SSA names are unique, so that each iteration may overwrite those of the one before.
            for argument, mapped in lists:
                values[argument] = mapped[trip]
            self._run(body, values)
            yielded = [values[value] for value in arguments]
            rescalings = self._rescalings(pivots, collected, yielded)
            for kind, pivot, parts, value in zip(kinds, pivots, collected, yielded, strict=True):
                self._collect(kind, pivot, parts, value, rescalings)
        del self.dims.offsets[dim]
        return [
            parts if kind is Kind.Stack else parts[0] for kind, parts in zip(kinds, collected, strict=True)
        ]

    def _rescalings(
        self, pivots: Sequence[int | None], collected: list[list[Value]], yielded: list[Value]
    ) -> dict[int, tuple[Array, Array]]:
        """For each pivot, the factors for the total and the new significand when its maximum grows."""
        factors: dict[int, tuple[Array, Array]] = {}
        for pivot in {pivot for pivot in pivots if pivot is not None}:
            new = _array(yielded[pivot])
            old = _array(collected[pivot][0]) if collected[pivot] else new
            top = np.maximum(widen(old), widen(new))
            factors[pivot] = _relative_exp(old, top), _relative_exp(new, top)
        return factors

    def _collect(
        self,
        kind: Kind,
        pivot: int | None,
        parts: list[Value],
        value: Value,
        rescalings: Mapping[int, tuple[Array, Array]],
    ) -> None:
        if kind is Kind.Stack:
            parts.append(value)
        elif kind is Kind.Any:
            parts[:] = [value]
        elif pivot is not None and parts:
            old, new = _array(parts[0]), _array(value)
            self.counts.flops += new.size
            with np.errstate(all="ignore"):
                total = _scaled(old, rescalings[pivot][0]) + _scaled(new, rescalings[pivot][1])
            parts[:] = [to_dtype(np.asarray(total), new.dtype)]
        else:
            parts[:] = [self._combine(kind, parts[0] if parts else None, _array(value))]

    def _combine(self, kind: Kind, total: Value | None, value: Array) -> Array:
        self.counts.flops += value.size
        if total is None:
            return value
        with np.errstate(all="ignore"):
            return to_dtype(np.asarray(_COMBINE[kind](widen(_array(total)), widen(value))), value.dtype)

    def _run(self, body: Block, values: dict[SSAValue, Value]) -> None:
        steps = self._steps.get(body)
        if steps is None:
            steps = self._steps[body] = [self._step(op) for op in body.ops if op.results]
        for step in steps:
            step(values)

    def _reduce(self, op: block.ReduceOp, items: Value) -> Value:
        assert isinstance(items, list)
        total: Value | None = None
        for item in items:
            self._count_load(op.result.type, _array(item))
            total = self._combine(op.kind.data, total, self._padded_item(op, _array(item)))
        assert total is not None
        return total

    def _padded_item(self, op: block.ReduceOp, item: Array) -> Array:
        type = op.result.type
        if not self.padded or not isinstance(type, block.ItemType):
            return item
        full = [self.dims.full_block(dim, op) for dim in type.dims]
        widths = [(0, size - extent) for size, extent in zip(full, item.shape, strict=True)]
        return np.pad(item, widths) if widths else item

    # Items

    def _count_load(self, type: Attribute, item: Array) -> None:
        self.counts.loads += 1
        self.counts.bytes_loaded += item.size * item_bytes(block.element_type_of(type))

    def _item(self, op: Operation, operands: list[Array]) -> Array:
        match op:
            case block.LoadOp():
                self._count_load(op.source.type, operands[0])
                return self._pad(operands[0], op) if self.padded else operands[0]
            case block.StoreOp():
                operands = [self._clip(operands[0], op)] if self.padded else operands
                self.counts.stores += 1
                self.counts.bytes_stored += operands[0].size * item_bytes(
                    block.element_type_of(op.result.type)
                )
                return operands[0]
            case block.ElementwiseOp():
                return self._elementwise(op, operands)
            case block.LinearOp() | block.MonomialOp():
                self.counts.flops += algebra_flops(op) * operands[0].size
                return self._algebra(op, [widen(operand) for operand in operands])
            case block.RowSumOp():
                self.counts.flops += operands[0].size
                with np.errstate(all="ignore"):
                    return np.sum(operands[0], axis=-1, dtype=self._dtype(op.result.type))
            case block.DotOp():
                a, b = (operand.astype(self._dtype(op.result.type), copy=False) for operand in operands[:2])
                self.counts.flops += 2 * a.shape[0] * a.shape[1] * b.shape[0]
                with np.errstate(all="ignore"):
                    if op.kept is None:
                        return a @ b.T
                    if op.masked is op.lhs:
                        return masked_product(a, b.T, operands[2])
                    return masked_product(b, a.T, operands[2]).T
            case _:
                with np.errstate(all="ignore"):
                    return self._plain(op, [widen(operand) for operand in operands])

    def _valid(self, op: block.LoadOp | block.StoreOp) -> list[tuple[int, int]]:
        """For each axis of an item, the elements that are in the array, and the elements of a full block."""
        type = op.source.type
        assert isinstance(type, block.ItemType)
        return [(self.dims.current_block(dim, op), self.dims.full_block(dim, op)) for dim in type.dims]

    def _pad(self, item: Array, op: block.LoadOp) -> Array:
        widths = [(0, full - valid) for valid, full in self._valid(op)]
        return np.pad(item, widths) if widths else item

    def _clip(self, item: Array, op: block.StoreOp) -> Array:
        return item[tuple(slice(valid) for valid, _ in self._valid(op))]

    def _plain(self, op: Operation, operands: list[Array]) -> Array:
        a, b = operands[0], operands[-1]
        match op:
            case block.RowMaxOp():
                result = np.max(a, axis=-1)
            case block.RowMinOp():
                result = np.min(a, axis=-1)
            case block.AddOp() | block.ColShiftOp():
                result = a + b
            case block.SubOp():
                result = a - b
            case block.MulOp() | block.ColScaleOp():
                result = a * b
            case block.RowShiftOp():
                result = a + b[:, None]
            case block.RowScaleOp():
                result = a * b[:, None]
            case block.OuterOp():
                result = np.outer(a, b)
            case _:
                raise InterpreterError(f"'{op.name}' has no meaning in a block program", op)
        self.counts.flops += a.size if isinstance(op, block.RowMaxOp | block.RowMinOp) else result.size
        return np.asarray(result)

    def _algebra(self, op: block.LinearOp | block.MonomialOp, operands: list[Array]) -> Array:
        with np.errstate(all="ignore"):
            if isinstance(op, block.MonomialOp):
                result = np.ones_like(operands[0])
                for operand, (_, exponent) in zip(operands, op.pairs, strict=True):
                    power = operand ** abs(exponent)
                    result = result * power if exponent > 0 else result / power
                return result
            terms: list[Array] = []
            for operand, coefficient in zip(operands, op.coefficients, strict=True):
                quantities = {factor: self.dims.quantity(factor, op) for factor in coefficient.factors}
                terms.append(operand.dtype.type(coefficient.evaluate(quantities)) * operand)
            return reduce(np.add, terms)  # not from 0, which would turn -0 to 0

    def _elementwise(self, op: block.ElementwiseOp, operands: list[Array]) -> Array:
        type = op.result.type
        assert isinstance(type, block.ItemType)
        extents: dict[str, int] = {}
        spread: list[Array] = []
        for value, operand in zip(op.inputs, operands, strict=True):
            assert isinstance(value.type, block.ItemType)
            extents.update(zip(value.type.dims, operand.shape, strict=True))
            missing = tuple(axis for axis, dim in enumerate(type.dims) if dim not in value.type.dims)
            spread.append(np.expand_dims(operand, missing))
        shape = tuple(extents[dim] if dim in extents else self._block_extent(dim, op) for dim in type.dims)

        def position(inner: Operation) -> Array:
            assert isinstance(inner, block.DimScalarOp)
            return positions(self.dims, inner, type, shape)

        (result,) = evaluate_scalar_region(op.body, spread, float64=self.float64, index_values=position)
        result = np.broadcast_to(result, shape)
        self.counts.flops += scalar_flops(op) * result.size
        return result

    def _block_extent(self, dim: str, op: Operation) -> int:
        """Number of elements of the current block along a dim; with padding, those of a full block."""
        return self.dims.full_block(dim, op) if self.padded else self.dims.current_block(dim, op)

    def _custom(self, op: block.CustomOp, operands: list[Array]) -> list[Array]:
        results = call_back(op, op.callback.root_reference.data, operands, self.callbacks)
        return [
            to_dtype(item, self._dtype(result.type))
            for item, result in zip(results, op.results_, strict=True)
        ]


def _array(value: Value) -> Array:
    assert not isinstance(value, list)
    return value


def _relative_exp(exponent: Array, top: Array) -> Array:
    """exp(exponent - top), and 1 if both are equal, so that no infinity is subtracted from itself."""
    exponent = widen(exponent)
    with np.errstate(all="ignore"):
        return np.where(exponent == top, exponent.dtype.type(1), np.exp(exponent - top))


def _scaled(item: Array, factors: Array) -> Array:
    """An item with each row multiplied by a factor."""
    item = widen(item)
    return item * factors.reshape(factors.shape + (1,) * (item.ndim - factors.ndim))
