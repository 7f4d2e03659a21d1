"""Element-wise regions as operators on items.

Each scalar operation becomes the equivalent structural operator on items, if there is one (a product with a
statistic of the rows is a `row_scale`), and a `block.elementwise` of its own otherwise. Scalars that depend
on no item (constants, indices) are computed inside the regions that use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import final

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects import block
from ...dialects.scalar import is_float


@final
@dataclass(frozen=True, eq=False)
class Scalar:
    """A scalar that depends on no item: `write` writes its computation into a region, from its `operands`
    there.

    `dims` are those along which its value changes, as for an index.
    """

    write: Callable[[RegionWriter, Sequence[SSAValue]], SSAValue]
    dims: frozenset[str] = frozenset()
    operands: tuple[Scalar, ...] = ()


Value = SSAValue | Scalar
"""The value of a scalar of an array region: an item, or a scalar that is computed where it is used."""


class RegionWriter:
    """Writes the region of one `block.elementwise`; each scalar is written once."""

    def __init__(self, block_: Block):
        self.block = block_
        self._written: dict[Scalar, SSAValue] = {}

    def write(self, op: Operation) -> SSAValue:
        self.block.add_op(op)
        return op.results[0]

    def scalar(self, scalar: Scalar) -> SSAValue:
        pending = [scalar]
        while pending:
            current = pending[-1]
            missing = next((each for each in current.operands if each not in self._written), None)
            if missing is not None:
                pending.append(missing)
                continue
            pending.pop()
            if current not in self._written:
                operands = [self._written[each] for each in current.operands]
                self._written[current] = current.write(self, operands)
        return self._written[scalar]


def dims_of(item: SSAValue) -> tuple[str, ...]:
    """The dims of an item's axes."""
    assert isinstance(item.type, block.ItemType)
    return item.type.dims


def _dims_of_value(value: Value) -> Iterable[str]:
    return dims_of(value) if isinstance(value, SSAValue) else value.dims


@dataclass
class ItemWriter:
    """Writes operators on items into a block; `dims` are the axes, in order, of the items being computed."""

    block: Block
    dims: tuple[str, ...]
    statistics: set[SSAValue] = field(default_factory=set[SSAValue])
    """The items that wait for a reduction."""

    def add(self, op: Operation, hint: str | None = None) -> SSAValue:
        self.block.add_op(op)
        if not self.statistics.isdisjoint(op.operands):
            self.statistics.update(op.results)
        op.results[0].name_hint = hint
        return op.results[0]

    def elementwise(
        self,
        operands: Sequence[Value],
        element_type: Attribute,
        function: Callable[[RegionWriter, list[SSAValue]], SSAValue],
        dims: tuple[str, ...] | None = None,
        hint: str | None = None,
    ) -> SSAValue:
        """Write a `block.elementwise` over the items among `operands`, with axes `dims` or else all of
        theirs.

        Scalars among the operands count with the dims along which they change.
        """
        items: list[SSAValue] = []
        for value in operands:
            if isinstance(value, SSAValue) and value not in items:
                items.append(value)
        if dims is None:
            used = {dim for value in operands for dim in _dims_of_value(value)}
            dims = tuple(dim for dim in self.dims if dim in used)
        body = block.scalar_block(items)
        for argument, item in zip(body.args, items, strict=True):
            argument.name_hint = item.name_hint
        writer = RegionWriter(body)
        arguments = [
            body.args[items.index(value)] if isinstance(value, SSAValue) else writer.scalar(value)
            for value in operands
        ]
        body.add_op(block.YieldOp(function(writer, arguments)))
        return self.add(block.ElementwiseOp(items, Region(body), block.item_type(dims, element_type)), hint)

    def materialize(
        self, value: Value, element_type: Attribute, dims: tuple[str, ...], hint: str | None = None
    ) -> SSAValue:
        """Return an item with exactly the axes `dims`; an item with fewer axes is broadcast."""
        if isinstance(value, SSAValue) and dims_of(value) == dims:
            return value
        return self.elementwise([value], element_type, lambda _, arguments: arguments[0], dims, hint)

    def unary(self, name: type[Operation], value: SSAValue, hint: str | None = None) -> SSAValue:
        element_type = block.element_type_of(value.type)
        return self.elementwise(
            [value],
            element_type,
            lambda region, arguments: region.write(
                name.create(operands=arguments, result_types=[element_type])
            ),
            hint=hint,
        )

    def negated(self, value: SSAValue) -> SSAValue:
        return self.unary(arith.NegfOp, value, "neg")

    def reciprocal(self, value: SSAValue) -> SSAValue:
        element_type = block.element_type_of(value.type)
        assert isinstance(element_type, AnyFloat)

        def divide(region: RegionWriter, arguments: list[SSAValue]) -> SSAValue:
            one = region.write(arith.ConstantOp(FloatAttr(1.0, element_type)))
            return region.write(arith.DivfOp(one, arguments[0]))

        return self.elementwise([value], element_type, divide, hint="inv")


def _arrange(a: SSAValue, b: SSAValue) -> str | None:
    """Relation of two operands: `same` axes, a block and a vector by its `row`s or `col`umns, `outer`, or
    None.
    """
    dims_a, dims_b = dims_of(a), dims_of(b)
    if dims_a == dims_b:
        return "same"
    if len(dims_a) == 2 and len(dims_b) == 1:
        return "row" if dims_a[0] == dims_b[0] else "col"
    if len(dims_a) == len(dims_b) == 1:
        return "outer"
    return None


def _combine(writer: ItemWriter, op: Operation, a: SSAValue, b: SSAValue) -> SSAValue | None:
    """Write a structural operator for `op` on two items; None if there is none."""
    swapped = len(dims_of(a)) < len(dims_of(b))
    arrangement = _arrange(b, a) if swapped else _arrange(a, b)
    match op, arrangement:
        case arith.AddfOp(), "same":
            return writer.add(block.AddOp(a, b))
        case arith.SubfOp(), "same":
            return writer.add(block.SubOp(a, b))
        case arith.MulfOp(), "same":
            return writer.add(block.MulOp(a, b))
        case arith.MulfOp(), "outer":
            first, second = sorted((a, b), key=lambda item: writer.dims.index(dims_of(item)[0]))
            return writer.add(block.OuterOp(first, second))
        case arith.AddfOp() | arith.SubfOp(), "row" | "col":
            if isinstance(op, arith.SubfOp):
                b = writer.negated(b)
            tall, flat = (b, a) if swapped else (a, b)
            return writer.add((block.RowShiftOp if arrangement == "row" else block.ColShiftOp)(tall, flat))
        case arith.MulfOp() | arith.DivfOp(), "row" | "col":
            if isinstance(op, arith.DivfOp):
                # The reciprocal can overflow where the quotient does not; only a statistic is worth it, since
                # a scale by one can move past a contraction that would wait for it.
                if swapped or b not in writer.statistics:
                    return None
                b = writer.reciprocal(b)
            tall, flat = (b, a) if swapped else (a, b)
            return writer.add((block.RowScaleOp if arrangement == "row" else block.ColScaleOp)(tall, flat))
        case _:
            return None


def _copy(op: Operation, operands: Sequence[SSAValue]) -> Operation:
    """The same scalar operation on other operands."""
    return type(op).create(
        operands=operands,
        result_types=op.result_types,
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
    )


def _scalar(op: Operation, operands: Sequence[Scalar]) -> Scalar:
    return Scalar(
        lambda region, written: region.write(_copy(op, written)),
        frozenset[str]().union(*(operand.dims for operand in operands)),
        tuple(operands),
    )


def _wants_index(body: Block, items: set[SSAValue]) -> bool:
    """True if an index is computed from an item; an index has no element type and can be no item."""
    dependent = set(items)
    for op in body.ops:
        if dependent.isdisjoint(op.operands):
            continue
        dependent.update(op.results)
        if any(isinstance(result.type, IndexType) for result in op.results):
            return True
    return False


def translate_region(body: Block, inputs: Sequence[Value], yielded: SSAValue, writer: ItemWriter) -> Value:
    """Write the computation of `yielded` in the region `body` of an element-wise array operation.

    `inputs` are the items (or scalars) of its arguments.
    """
    values: dict[SSAValue, Value] = dict(zip(body.args, inputs, strict=True))
    if _wants_index(body, {argument for argument, value in values.items() if isinstance(value, SSAValue)}):
        return _whole_region(body, inputs, yielded, writer)
    for op in body.ops:
        if not op.results:
            continue
        operands = [values[operand] for operand in op.operands]
        values[op.results[0]] = _translate(op, operands, writer)
    return values[yielded]


def _translate(op: Operation, operands: list[Value], writer: ItemWriter) -> Value:
    scalars = [operand for operand in operands if not isinstance(operand, SSAValue)]
    if len(scalars) == len(operands):
        return _scalar(op, scalars)
    result = op.results[0]
    if not scalars and len(operands) == 2 and is_float(result.type):
        a, b = operands
        assert isinstance(a, SSAValue)
        assert isinstance(b, SSAValue)
        combined = _combine(writer, op, a, b)
        if combined is not None:
            combined.name_hint = result.name_hint
            return combined
    return writer.elementwise(
        operands,
        result.type,
        lambda region, arguments: region.write(_copy(op, arguments)),
        hint=result.name_hint or op.name.rpartition(".")[2].removesuffix("f"),
    )


def _whole_region(body: Block, inputs: Sequence[Value], yielded: SSAValue, writer: ItemWriter) -> SSAValue:
    def write(region: RegionWriter, arguments: list[SSAValue]) -> SSAValue:
        values: dict[SSAValue, SSAValue] = dict(zip(body.args, arguments, strict=True))
        for op in body.ops:
            if op.results:
                values[op.results[0]] = region.write(_copy(op, [values[operand] for operand in op.operands]))
        return values[yielded]

    return writer.elementwise(list(inputs), yielded.type, write)
