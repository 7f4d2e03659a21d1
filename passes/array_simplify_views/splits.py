"""Where the pieces of a concat can part for good: sums over the concatenated axis.

A concat is followed through all operations that use it to those that sum over its axis, matmuls and
reductions. These are split: the product of a concat is the sum of the products of its pieces, and a reduction
combines the reductions of the pieces. The parts of the operands are then asked for like slices, which ends at
the pieces themselves, and nobody wants the concat any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue, Use
from xdsl.utils.hints import isa

from ...dialects import array
from ...dialects.array import DYNAMIC, ReductionKind, element_type_of, shape_of
from ...dialects.array.core import bit_width
from ...dialects.scalar import is_float
from ...dialects.scalar_builder import ScalarBuilder
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
from .laws import add, matmul_requests, part_of_matmul, part_of_reduce, pieces_of, reduce_request
from .parts import Node, Step, Writer

Partition: TypeAlias = tuple[Cut, ...]
"""Cuts of one axis that take each of its elements once."""


@dataclass(frozen=True)
class Split:
    """How an operation is split: along `axis` of a reduction's operand (0 for a matmul), into `cuts`."""

    axis: int
    cuts: Partition
    concats: frozenset[array.ConcatOp]


@dataclass(frozen=True)
class _Place:
    """The pieces of a concat along an axis of a value."""

    value: SSAValue
    axis: int
    cuts: Partition


class Refused(Exception):
    """A concat has a use that needs it whole."""


def find_split(concat: array.ConcatOp, slices: set[Operation], block: Block) -> dict[Operation, Split] | None:
    """The operations to split so that nothing needs `concat`, all `slices` being pushed up; else None."""
    pieces = pieces_of(concat)
    axis = concat.axis.value.data
    if pieces is None:
        return None
    extent = shape_of(concat.result)[axis]
    start = _Place(concat.result, axis, tuple(interval(extent, *piece) for piece in pieces))
    found: dict[Operation, Split] = {}
    known, queue = {start}, [start]
    try:
        while queue:
            place = queue.pop()
            for use in place.value.uses:
                if use.operation.parent is not block:
                    return None
                for following in _follow(place, use, slices, concat, found):
                    if following not in known:
                        known.add(following)
                        queue.append(following)
    except Refused:
        return None
    return found


def _follow(
    place: _Place, use: Use, slices: set[Operation], concat: array.ConcatOp, found: dict[Operation, Split]
) -> list[_Place]:
    """Where a use takes the pieces. Notes in `found` what it splits. Raises Refused."""
    axis, cuts, op = place.axis, place.cuts, use.operation
    match op:
        case array.ElementwiseOp() | array.BroadcastOp():
            shift = len(shape_of(op.results[0])) - len(shape_of(place.value))
            return [_Place(result, axis + shift, cuts) for result in op.results]
        case array.TransposeOp():
            return [_Place(op.result, op.perm.get_values().index(axis), cuts)]
        case array.ReshapeOp():
            return [_through_reshape(op, axis, cuts)]
        case array.SliceOp() if op in slices:
            return _through_slice(op, axis, cuts)
        case array.ConcatOp():
            return [_through_concat(op, use.index, axis, cuts)]
        case array.ReduceOp():
            axes = op.axes.get_values()
            if axis in axes:
                note(found, op, Split(axis, cuts, frozenset({concat})))
                return []
            gone = 0 if op.keepdims is not None else sum(other < axis for other in axes)
            return [_Place(op.result, axis - gone, cuts)]
        case array.MatmulOp():
            rank = len(shape_of(place.value))
            flag = op.transpose_a if use.index == 0 else op.transpose_b
            contracted = rank - (1 if (use.index == 0) == (flag is None) else 2)
            if axis == contracted:
                note(found, op, Split(0, cuts, frozenset({concat})))
                return []
            if axis < rank - 2:
                return [_Place(op.result, axis + len(shape_of(op.result)) - rank, cuts)]
            return [_Place(op.result, len(shape_of(op.result)) - (2 if use.index == 0 else 1), cuts)]
        case _:
            raise Refused


def note(found: dict[Operation, Split], op: Operation, split: Split) -> None:
    """Add a split to those known. Raises Refused where an operation would be split in two ways."""
    known = found.get(op)
    if known is None:
        found[op] = split
        return
    cuts = _refined(known.cuts, split.cuts) if known.axis == split.axis else None
    if cuts is None:
        raise Refused
    found[op] = Split(split.axis, cuts, known.concats | split.concats)


def _refined(a: Partition, b: Partition) -> Partition | None:
    """The partition that both `a` and `b` are made of; None where that is not known."""
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
    if len(inputs) > 1:  # merged: the other axes are whole factors before and behind
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
    """How to make a part of the result of an operation that is split."""
    if isinstance(op, array.MatmulOp):
        return _split_matmul(op, split, request)
    assert isinstance(op, array.ReduceOp)
    return _split_reduce(op, split, request)


def _split_matmul(op: array.MatmulOp, split: Split, request: Request) -> Step:
    """concat(a, b) c = a slice(c) + b slice(c), added in the accumulator's type."""
    nodes = [node for cut in split.cuts for node in matmul_requests(op, request, cut)]

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        hint = op.result.name_hint
        parts = [
            writer.add(part_of_matmul(op, pair, rounded=False), hint and f"{hint}_part")
            for pair in zip(operands[::2], operands[1::2], strict=True)
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
