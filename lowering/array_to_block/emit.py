"""Writer of the nests of a plan: maps over parallel dims, maps and reductions over reduced ones, and
items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.builder import Builder
from xdsl.dialects.builtin import i1
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ...dialects import array, block
from ...dialects.array.shapes import array_type, element_type_of
from ...dialects.attributes import HIDDEN_ARE_ZERO
from ...dialects.scalar_builder import ScalarBuilder
from .analysis import Analysis
from .elementwise import ItemWriter, RegionWriter, Value, translate_region
from .generators import cast, generator
from .plan import Generated, Layout, Nest, Operand, Plan, Spec, Viewed, Whole

_REDUCTIONS = {
    array.ReductionKind.SUM: block.Kind.Sum,
    array.ReductionKind.MAX: block.Kind.Max,
    array.ReductionKind.MIN: block.Kind.Min,
}


Source = SSAValue | Generated
"""Source of an operand: a list or an item of it, or a scalar that needs no array."""


def list_name(hint: str | None) -> str | None:
    """The name of the list of an array's blocks: the array's with a capital."""
    return hint[:1].upper() + hint[1:] if hint else None


@dataclass
class Emitter:
    """Writes a function's new body. `arrays` maps each old array value to the new one, as far as it
    exists.
    """

    analysis: Analysis
    plan: Plan
    body: Block
    arrays: dict[SSAValue, SSAValue]
    statistics: frozenset[SSAValue] = frozenset()
    """The old array values that wait for a reduction."""
    lists: dict[tuple[Whole, Layout], SSAValue] = field(default_factory=dict[tuple[Whole, Layout], SSAValue])
    views: dict[tuple[SSAValue, Spec, Layout], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Spec, Layout], SSAValue]
    )

    def emit(self, nest: Nest) -> None:
        """Write one nest at the end of the body."""
        operands = [self.read(operand) for operand in nest.operands]
        before = self.body.last_op
        value = _NestWriter(self, nest).write(self.body, operands)
        value.name_hint = list_name(nest.key.value.name_hint)
        self.lists[nest.key, nest.layout] = value
        self._locate(before, nest.op)

    def read(self, operand: Operand) -> Source:
        """Return the list of an operand, in the required layout."""
        provider, layout = operand.provider, operand.layout
        match provider:
            case Generated():
                return provider
            case Viewed():
                return self.view(provider.value, provider.spec, layout)
            case Whole():
                known = self.lists.get((provider, layout))
                if known is None:
                    known = self.lists[provider, layout] = self._other_layout(provider, layout)
                return known

    def view(self, value: SSAValue, spec: Spec, layout: Layout) -> SSAValue:
        """A view of an array along `spec`."""
        known = self.views.get((value, spec, layout))
        if known is None:
            tensor = self.array(value)
            known = self.views[value, spec, layout] = self._partition(tensor, spec, layout)
            known.name_hint = list_name(value.name_hint)
        return known

    def _partition(self, tensor: SSAValue, spec: Spec, layout: Layout) -> SSAValue:
        item = block.item_type(layout.item, element_type_of(tensor))
        op = block.PartitionOp(tensor, spec, block.list_type(layout.nest, item))
        self._add(op, tensor.owner if isinstance(tensor.owner, Operation) else None)
        return op.result

    def _add(self, op: Operation, like: Operation | None) -> None:
        if like is not None:
            op.location = like.location
        self.body.add_op(op)

    def _other_layout(self, key: Whole, layout: Layout) -> SSAValue:
        # A view of a view: assembling and cutting again moves nothing.
        nest = self.plan.nests[key]
        value = self.lists[key, nest.layout]
        assembled = block.AssembleOp(value, key.spec, array_type(key.value))
        self._add(assembled, nest.op)
        assembled.result.name_hint = key.value.name_hint
        view = self._partition(assembled.result, key.spec, layout)
        view.name_hint = value.name_hint
        return view

    def array(self, value: SSAValue) -> SSAValue:
        """A value of the old body as an array of the new one."""
        pending = [value]
        while pending:
            current = pending[-1]
            if current not in self.arrays:
                provider = self._list_of(current)
                owner = current.owner
                assert isinstance(owner, Operation)
                missing = [each for each in owner.operands if each not in self.arrays]
                if provider is None and missing:
                    pending.append(missing[0])
                    continue
                self.arrays[current] = self._made(current, owner, provider)
            pending.pop()
        return self.arrays[value]

    def _list_of(self, value: SSAValue) -> Whole | None:
        """The list that has exactly the elements of an array, if there is one."""
        spec = self.analysis.spec(value)
        provider = self.plan.resolve(value, spec)
        same_elements = isinstance(provider, Whole) and {d for axis in provider.spec for d in axis} == {
            d for axis in spec for d in axis
        }
        if isinstance(provider, Whole) and same_elements and _covers(value, spec):
            return provider
        return None

    def _made(self, value: SSAValue, owner: Operation, provider: Whole | None) -> SSAValue:
        """Write the array: a list assembled, or else the operation that makes it, on arrays."""
        if provider is not None:
            nest = self.plan.nests[provider]
            blocks = self.lists[provider, nest.layout]
            op: Operation = block.AssembleOp(blocks, self.analysis.spec(value), array_type(value))
        else:
            op = _rebuilt(owner, [self.arrays[operand] for operand in owner.operands])
        self._add(op, owner)
        op.results[0].name_hint = value.name_hint
        return op.results[0]

    def _locate(self, before: Operation | None, source: Operation) -> None:
        op = self.body.first_op if before is None else before.next_op
        while op is not None:
            for inner in op.walk():
                inner.location = source.location
            op = op.next_op


def _covers(value: SSAValue, spec: Spec) -> bool:
    """True if the product of the dims of each axis is its extent; false if the array is broadcast along an
    axis.
    """
    return all(axis or extent == 1 for axis, extent in zip(spec, array_type(value).get_shape(), strict=True))


def _rebuilt(op: Operation, operands: Sequence[SSAValue]) -> Operation:
    copy = op.clone()
    copy.operands = list(operands)
    return copy


class _NestWriter:
    """Writes one nest."""

    def __init__(self, emitter: Emitter, nest: Nest):
        self.emitter = emitter
        self.nest = nest
        self.hint = nest.key.value.name_hint
        self.blocked = tuple(dim for dim in nest.reduced if not emitter.analysis.is_batch(dim))
        self._names: dict[SSAValue, tuple[str, str]] = {}

    def write(self, body: Block, operands: Sequence[Source]) -> SSAValue:
        return self._parallel(body, 0, operands)

    def _parallel(self, body: Block, level: int, operands: Sequence[Source]) -> SSAValue:
        nest = self.nest.layout.nest
        if level == len(nest):
            return _store(body, self._finish(body, self._reduced(body, 0, operands)))
        value = self._map(
            body, nest[level], operands, lambda inner, values: self._parallel(inner, level + 1, values)
        )
        if self.hint:
            value.name_hint = self._subscripted(self.hint, nest[:level])
        return value

    def _reduced(self, body: Block, level: int, operands: Sequence[Source]) -> SSAValue:
        if level == len(self.nest.reduced):
            return self._compute(body, operands)
        parts = self._map(
            body,
            self.nest.reduced[level],
            operands,
            lambda inner, values: _store(inner, self._reduced(inner, level + 1, values)),
        )
        parts.name_hint = "parts"
        op = self.nest.op
        op = block.ReduceOp(
            _REDUCTIONS[op.kind.data] if isinstance(op, array.ReduceOp) else block.Kind.Sum, parts
        )
        body.add_op(op)
        op.result.name_hint = self.hint
        return op.result

    def _map(
        self,
        body: Block,
        dim: str,
        operands: Sequence[Source],
        write: Callable[[Block, Sequence[Source]], SSAValue],
    ) -> SSAValue:
        """A map over `dim` that stacks what `write` yields; lists over `dim` are mapped, others captured."""
        elements: dict[SSAValue, BlockArgument] = {}
        inner = Block()
        for value in operands:
            if not isinstance(value, SSAValue) or value in elements:
                continue
            if isinstance(value.type, block.ListType) and value.type.dim.data == dim:
                elements[value] = inner.insert_arg(value.type.element, len(inner.args))
                self._name_element(value, elements[value], dim)
        values = [elements.get(value, value) if isinstance(value, SSAValue) else value for value in operands]
        inner.add_op(block.YieldOp(write(inner, values)))
        self._drop_unused(inner, elements, dim)
        op = block.MapOp(dim, list(elements), [block.Kind.Stack], Region(inner))
        body.add_op(op)
        return op.results_[0]

    def _drop_unused(self, inner: Block, elements: dict[SSAValue, BlockArgument], dim: str) -> None:
        """Drop inputs of maps that are not read, except one that tells an unknown extent."""
        unused = [value for value, element in elements.items() if not element.uses]
        if len(unused) == len(elements) and self.emitter.analysis.names.leaf(dim).extent is None:
            unused = unused[1:]
        for value in unused:
            inner.erase_arg(elements.pop(value))

    def _name_element(self, value: SSAValue, element: SSAValue, dim: str) -> None:
        base, dims = self._names.get(value, (value.name_hint, ""))
        if base is not None:
            self._names[element] = base, dims + dim.lower()
            element.name_hint = f"{base}_{dims}{dim.lower()}"

    @staticmethod
    def _subscripted(hint: str, dims: Sequence[str]) -> str | None:
        name = list_name(hint)
        return f"{name}_{''.join(dims).lower()}" if dims else name

    def _load(self, body: Block, value: Source) -> Value:
        if isinstance(value, Generated):
            return generator(value)
        op = block.LoadOp(value)
        body.add_op(op)
        base, _ = self._names.get(value, (value.name_hint, ""))
        op.result.name_hint = base[:1].lower() + base[1:] if base else None
        return op.result

    def _finish(self, body: Block, item: SSAValue) -> SSAValue:
        """Round a sum from its accumulation type to the type of the result."""
        wanted = element_type_of(self.nest.key.value)
        if block.element_type_of(item.type) != wanted:
            item = cast(ItemWriter(body, self.nest.layout.item), item, wanted)
        item.name_hint = self.hint
        return item

    def _compute(self, body: Block, operands: Sequence[Source]) -> SSAValue:
        before = body.last_op
        result = self._computed(body, operands)
        # What only another result of the operation needs has been written too.
        op = body.last_op
        while op is not None and op is not before:
            previous = op.prev_op
            if result not in op.results and not any(value.uses for value in op.results):
                body.erase_op(op)
            op = previous
        return result

    def _computed(self, body: Block, operands: Sequence[Source]) -> SSAValue:
        writer = ItemWriter(body, (*self.nest.layout.item, *self.blocked))
        items = [self._load(body, value) for value in operands]
        match self.nest.op:
            case array.MatmulOp() | array.MaskedMatmulOp() as op:
                return self._dot(writer, op, items)
            case array.ReduceOp() as op:
                return self._row_reduce(writer, op, items[0])
            case array.ElementwiseOp() as op:
                yielded = op.body.block.last_op
                assert isinstance(yielded, array.YieldOp)
                statistics = self.emitter.statistics
                writer.statistics.update(
                    item
                    for item, operand in zip(items, op.operands, strict=True)
                    if isinstance(item, SSAValue) and operand in statistics
                )
                position = op.results.index(self.nest.key.value)  # pyright: ignore[reportArgumentType]
                value = translate_region(op.body.block, items, yielded.operands[position], writer)
                return writer.materialize(value, element_type_of(op.results[position]), self.nest.layout.item)
            case op:
                raise AssertionError(f"{op.name} is no computation")

    def _dot(
        self, writer: ItemWriter, op: array.MatmulOp | array.MaskedMatmulOp, items: Sequence[Value]
    ) -> SSAValue:
        axes = [self.emitter.plan.item_axes(self.nest, position) for position in range(2)]
        a, b = (
            writer.materialize(item, element_type_of(operand), dims)
            for item, operand, dims in zip(items[:2], (op.a, op.b), axes, strict=True)
        )
        kept = None
        if isinstance(op, array.MaskedMatmulOp):
            pairs = ItemWriter(writer.block, axes[0])
            kept = pairs.materialize(translate_region(op.body.block, items[2:], op.kept, pairs), i1, axes[0])
            if HIDDEN_ARE_ZERO not in op.attributes:
                a = _zero_where_hidden(pairs, a, kept)
        # The item's axes may be the transposed of the array's.
        if self.nest.layout.item != (axes[0][0], axes[1][0]):
            a, b = b, a
        return writer.add(block.DotOp(a, b, op.accumulator, kept), self.hint)

    def _row_reduce(self, writer: ItemWriter, op: array.ReduceOp, item: Value) -> SSAValue:
        element = element_type_of(op.input)
        accumulator = op.accumulator if op.kind.data is array.ReductionKind.SUM else element
        value = writer.materialize(item, element, (*self.nest.layout.item, *self.blocked))
        for _ in self.blocked:
            match op.kind.data:
                case array.ReductionKind.SUM:
                    value = writer.add(block.RowSumOp(value, accumulator), self.hint)
                case array.ReductionKind.MAX:
                    value = writer.add(block.RowMaxOp(value), self.hint)
                case array.ReductionKind.MIN:
                    value = writer.add(block.RowMinOp(value), self.hint)
        return value if block.element_type_of(value.type) == accumulator else cast(writer, value, accumulator)


def _zero_where_hidden(writer: ItemWriter, item: SSAValue, kept: SSAValue) -> SSAValue:
    """Return an item with 0 in place of the elements that a mask hides: targets multiply by them."""
    element_type = block.element_type_of(item.type)

    def write(region: RegionWriter, arguments: list[SSAValue]) -> SSAValue:
        scalars = ScalarBuilder(Builder(InsertPoint.at_end(region.block)))
        return scalars.select(arguments[0], arguments[1], scalars.constant(0, element_type))

    return writer.elementwise([kept, item], element_type, write, hint=item.name_hint)


def _store(body: Block, item: SSAValue) -> SSAValue:
    op = block.StoreOp(item)
    body.add_op(op)
    return op.result
