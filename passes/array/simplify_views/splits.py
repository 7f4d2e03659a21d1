"""Operations at which the pieces of a concat can be handled separately: sums over the concatenated axis.

A concat is followed through all operations that use it to those that sum over its axis, matmuls and
reductions. These are split: the product with a concat is the sum of the products with its pieces, and a
reduction combines the reductions of the pieces. The parts of the operands are then requested as for slices.
These requests end at the pieces themselves, so the concat is not needed any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use
from xdsl.utils.hints import isa

from ....dialects import array
from ....dialects.array import DYNAMIC, ReductionKind, element_type_of, shape_of
from ....dialects.array.core import bit_width
from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from .cuts import (
    Cut,
    Empty,
    Request,
    distribute,
    interval,
    make_cut,
    restrict,
    whole,
)
from .laws import Product, add, matmul_requests, part_of_matmul, part_of_reduce, pieces_of, reduce_request
from .parts import Node, Step, Writer

Partition: TypeAlias = tuple[Cut, ...]
"""Cuts of one axis that take each of its elements once."""


@dataclass(frozen=True)
class Split:
    """A split of an operation: along `axis` of a reduction's operand (0 for a matmul), into `cuts`."""

    axis: int
    cuts: Partition


@dataclass(frozen=True)
class _Place:
    """The pieces of a concat along an axis of a value."""

    value: SSAValue
    axis: int
    cuts: Partition


@dataclass
class _Destinations:
    """Uses of the pieces at a place: other places, and operations to split."""

    places: list[_Place] = field(default_factory=list[_Place])
    splits: list[tuple[Operation, Split]] = field(default_factory=list[tuple[Operation, Split]])


class Refused(Exception):
    """Some operation needs a concat as a whole."""


class Splits:
    """The concats, among `concats`, that are not needed if `slices` are pushed up, and the operations to
    split for that.

    Operations of `whole` must not be split.
    """

    def __init__(
        self, concats: Sequence[array.ConcatOp], slices: set[Operation], whole: set[Operation], block: Block
    ):
        self.ops: dict[Operation, Split] = {}
        self.concats: list[array.ConcatOp] = []
        self._destinations: dict[_Place, _Destinations | None] = {}
        starts = {concat: start for concat in concats if (start := _start(concat)) is not None}
        queue = list(starts.values())
        while queue:
            place = queue.pop()
            if place not in self._destinations:
                destinations = self._destinations[place] = _destinations_of(place, slices, whole, block)
                queue.extend(destinations.places if destinations is not None else ())
        order = {op: index for index, op in enumerate(block.ops)}
        self._places = sorted(self._destinations, key=lambda place: order[_owner(place)])
        while not self._collect(list(starts.values())):
            pass
        self.concats = [concat for concat, start in starts.items() if self._destinations[start] is not None]

    def _collect(self, starts: Sequence[_Place]) -> bool:
        """Find the operations to split; False if some place turned out to need all pieces."""
        for place in reversed(self._places):
            destinations = self._destinations[place]
            if destinations is not None and any(
                self._destinations[following] is None for following in destinations.places
            ):
                self._destinations[place] = None
        self.ops = {}
        reached = set(starts)
        for place in self._places:
            destinations = self._destinations[place]
            if destinations is None or place not in reached:
                continue
            reached.update(destinations.places)
            for op, split in destinations.splits:
                known = self.ops.get(op)
                merged = split if known is None else _merged(known, split)
                if merged is None:
                    self._destinations[place] = None
                    return False
                self.ops[op] = merged
        return True


def _owner(place: _Place) -> Operation:
    assert isinstance(place.value.owner, Operation)
    return place.value.owner


def _start(concat: array.ConcatOp) -> _Place | None:
    axis = concat.axis.value.data
    pieces = pieces_of(concat)
    if pieces is None:
        return None
    extent = shape_of(concat.result)[axis]
    return _Place(concat.result, axis, tuple(interval(extent, *piece) for piece in pieces))


def _destinations_of(
    place: _Place, slices: set[Operation], whole: set[Operation], block: Block
) -> _Destinations | None:
    """Return the uses of the pieces at a place; None if one needs them together."""
    destinations = _Destinations()
    for use in place.value.uses:
        op = use.operation
        if op.parent is not block or op in whole or (isinstance(op, array.SliceOp) and op not in slices):
            return None
        try:
            following = _follow(place, use)
        except Refused:
            return None
        if isinstance(following, Split):
            destinations.splits.append((op, following))
        else:
            destinations.places.extend(following)
    return destinations


def _follow(place: _Place, use: Use) -> Split | list[_Place]:
    """Return the place to which a use passes the pieces, or its split. Raises Refused if it needs all of
    them.
    """
    axis, cuts, op = place.axis, place.cuts, use.operation
    match op:
        case array.ElementwiseOp() | array.BroadcastOp():
            shift = len(shape_of(op.results[0])) - len(shape_of(place.value))
            return [_Place(result, axis + shift, cuts) for result in op.results]
        case array.TransposeOp():
            return [_Place(op.result, op.perm.get_values().index(axis), cuts)]
        case array.ReshapeOp():
            return [_through_reshape(op, axis, cuts)]
        case array.SliceOp():
            return _through_slice(op, axis, cuts)
        case array.ConcatOp():
            return [_through_concat(op, use.index, axis, cuts)]
        case array.ReduceOp():
            axes = op.axes.get_values()
            if axis in axes:
                return Split(axis, cuts)
            removed = 0 if op.keepdims is not None else sum(other < axis for other in axes)
            return [_Place(op.result, axis - removed, cuts)]
        case array.MatmulOp() | array.MaskedMatmulOp():
            return _through_matmul(op, use.index, place)
        case _:
            raise Refused


def _through_matmul(op: Product, index: int, place: _Place) -> Split | list[_Place]:
    rank, result = len(shape_of(place.value)), len(shape_of(op.result))
    if index > 1 and place.axis < rank - 1:  # what says which pairs a masked product keeps
        return [_Place(op.result, place.axis + result - rank, place.cuts)]
    if index > 1:
        return Split(0, place.cuts)
    flag = op.transpose_a if index == 0 else op.transpose_b
    if place.axis == rank - (1 if (index == 0) == (flag is None) else 2):
        return Split(0, place.cuts)
    if place.axis < rank - 2:
        return [_Place(op.result, place.axis + result - rank, place.cuts)]
    return [_Place(op.result, result - (2 if index == 0 else 1), place.cuts)]


def _merged(a: Split, b: Split) -> Split | None:
    """Two splits of an operation as one; None if their common cuts are not known."""
    cuts = _refined(a.cuts, b.cuts) if a.axis == b.axis else None
    return None if cuts is None else Split(a.axis, cuts)


def _refined(a: Partition, b: Partition) -> Partition | None:
    """The coarsest partition that refines both `a` and `b`; None if it is not known."""
    if a == b:
        return a
    cuts: list[Cut] = []
    for x in a:
        for y in b:
            both = _intersection(x, y)
            if both is None:
                return None
            if not isinstance(both, Empty):
                cuts.append(both)
    return tuple(cuts)


def _intersection(a: Cut, b: Cut) -> Cut | Empty | None:
    if len(a) != 1 or len(b) != 1 or a[0].extent != b[0].extent:
        return None
    (factor,) = a
    own = restrict(b, factor.extent, factor.offset, factor.size)
    if own is None or isinstance(own, Empty):
        return own
    if not own:
        return a
    return interval(factor.extent, factor.offset + own[0].offset, own[0].size)


def _through_reshape(op: array.ReshapeOp, axis: int, cuts: Partition) -> _Place:
    source, target = shape_of(op.input), shape_of(op.result)
    inputs, outputs = next(group for group in op.groups if axis in group[0])
    if len(inputs) > 1:  # merged: the other axes are whole factors before and after
        before = [whole(source[i]) for i in inputs if i < axis]
        after = [whole(source[i]) for i in inputs if i > axis]
        merged = tuple(make_cut([*before, *cut, *after]) for cut in cuts)
        return _Place(op.result, outputs[0], merged)
    parts = [distribute(cut, [target[i] for i in outputs]) for cut in cuts]
    places = {(outputs[i]) for part in parts if part is not None for i, cut in enumerate(part) if cut}
    if None in parts or len(places) != 1:
        raise Refused
    (place,) = places
    position = outputs.index(place)
    return _Place(op.result, place, tuple(part[position] for part in parts if part is not None))


def _through_slice(op: array.SliceOp, axis: int, cuts: Partition) -> list[_Place]:
    extent = shape_of(op.input)[axis]
    offset, size = op.offsets.get_values()[axis], op.sizes.get_values()[axis]
    if size == -1:
        size = DYNAMIC if extent == DYNAMIC else extent - offset
    left = [restrict(cut, extent, offset, size) for cut in cuts]
    if None in left:
        raise Refused
    inside = tuple(cut for cut in left if cut is not None and not isinstance(cut, Empty))
    return [_Place(op.result, axis, inside)] if len(inside) > 1 else []


def _through_concat(op: array.ConcatOp, index: int, axis: int, cuts: Partition) -> _Place:
    if op.axis.value.data != axis:
        return _Place(op.result, axis, cuts)
    pieces = pieces_of(op)
    if pieces is None or any(len(cut) != 1 for cut in cuts):
        raise Refused
    extent = shape_of(op.result)[axis]
    parts: list[Cut] = []
    for number, (offset, size) in enumerate(pieces):
        if number == index:
            parts.extend(interval(extent, offset + factor.offset, factor.size) for (factor,) in cuts)
        else:
            parts.append(interval(extent, offset, size))
    return _Place(op.result, axis, tuple(parts))


def split_step(op: Operation, split: Split, request: Request) -> Step:
    """Return the step that makes a part of the result of a split operation."""
    if isinstance(op, array.MatmulOp | array.MaskedMatmulOp):
        return _split_matmul(op, split, request)
    assert isinstance(op, array.ReduceOp)
    return _split_reduce(op, split, request)


def _split_matmul(op: Product, split: Split, request: Request) -> Step:
    """concat(a, b) c = a slice(c) + b slice(c), added in the accumulator's type."""
    nodes = [node for cut in split.cuts for node in matmul_requests(op, request, cut)]
    step = len(op.operands)

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        hint = op.result.name_hint
        parts = [
            writer.add(part_of_matmul(op, part, rounded=False), hint and f"{hint}_part")
            for part in zip(*(operands[first::step] for first in range(step)), strict=True)
        ]
        return _combined(writer, ReductionKind.SUM, parts, element_type_of(op.result), hint)

    return Step(nodes, build)


def _split_reduce(op: array.ReduceOp, split: Split, request: Request) -> Step:
    """reduce(concat(a, b)) = reduce(a) + reduce(b), or their maximum or minimum.

    Sums are added in the accumulator's type: parts of another type are converted first.
    """
    needed = reduce_request(op, request)
    nodes: list[Node] = []
    for cut in split.cuts:
        needed[split.axis] = cut
        nodes.append(Node.of(op.input, tuple(needed)))

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        hint = op.result.name_hint
        parts = [
            writer.add(
                part_of_reduce(op, _converted(writer, operand, op.accumulator)), hint and f"{hint}_part"
            )
            for operand in operands
        ]
        return _combined(writer, op.kind.data, parts, element_type_of(op.result), hint)

    return Step(nodes, build)


def _combined(
    writer: Writer, kind: ReductionKind, parts: Sequence[SSAValue], type: Attribute, hint: str | None
) -> SSAValue:
    """The sum, maximum or minimum of arrays of one shape, rounded to `type`."""

    def body(builder: Builder, *arguments: SSAValue) -> SSAValue:
        scalars = ScalarBuilder(builder)
        result = arguments[0]
        for argument in arguments[1:]:
            result = _combine(scalars, kind, result, argument)
        return _convert(scalars, result, type)

    return writer.add(array.ElementwiseOp.from_function(parts, body), hint)


def _combine(scalars: ScalarBuilder, kind: ReductionKind, a: SSAValue, b: SSAValue) -> SSAValue:
    if kind is ReductionKind.SUM:
        return add(scalars, a, b)
    if is_float(a.type):
        return scalars.insert((arith.MaximumfOp if kind is ReductionKind.MAX else arith.MinimumfOp)(a, b))
    return scalars.insert((arith.MaxSIOp if kind is ReductionKind.MAX else arith.MinSIOp)(a, b))


def _converted(writer: Writer, value: SSAValue, type: Attribute) -> SSAValue:
    if element_type_of(value) == type:
        return value

    def body(builder: Builder, argument: SSAValue) -> SSAValue:
        return _convert(ScalarBuilder(builder), argument, type)

    hint = value.name_hint
    return writer.add(array.ElementwiseOp.from_function([value], body), hint and f"{hint}_wide")


def _convert(scalars: ScalarBuilder, value: SSAValue, type: Attribute) -> SSAValue:
    if not isa(type, IntegerType):
        return scalars.convert(value, type)
    if value.type == type:
        return value
    wider = bit_width(value.type) < bit_width(type)
    return scalars.insert((arith.ExtSIOp if wider else arith.TruncIOp)(value, type))
