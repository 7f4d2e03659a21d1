"""Laws of views: the parts of its operands that an operation needs for a part of its result.

`slice(f(x)) = f(slice(x))`, one law for each operation. A law returns a `Step`: the needed parts of the
operands, and a function that builds the part of the result from them. It returns None if it does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import SSAValue

from ....dialects import array
from ....dialects.array import DYNAMIC, element_type_of, shape_of
from ....dialects.array.shapes import concat_shape
from ....dialects.scalar import is_float
from ....dialects.scalar_builder import ScalarBuilder
from .cuts import (
    WHOLE,
    Cut,
    Empty,
    Request,
    can_reshape,
    cut_shape,
    distribute,
    interval,
    make_cut,
    restrict,
    whole,
    within,
)
from .parts import Node, Step, Writer


def law(value: SSAValue, request: Request) -> Step | None:
    """Return the step that makes a part of `value`, which is no source."""
    match value.owner:
        case array.ElementwiseOp() as op:
            return of_elementwise(op, value, request)
        case array.BroadcastOp() as op:
            return of_broadcast(op, request)
        case array.TransposeOp() as op:
            return of_transpose(op, request)
        case array.MatmulOp() | array.MaskedMatmulOp() as op:
            return of_matmul(op, request)
        case array.ReduceOp() as op:
            return of_reduce(op, request)
        case array.SliceOp() as op:
            return of_slice(op, request)
        case array.ConcatOp() as op:
            return of_concat(op, request)
        case array.ReshapeOp() as op:
            return of_reshape(op, request)
        case array.ConstantOp() as op:
            return of_constant(op, request)
        case array.IotaOp() as op:
            return of_iota(op, request)
        case _:
            return None


def broadcast_axes(own: Sequence[int], shape: Sequence[int], request: Request) -> Request:
    """Return the request for an operand of shape `own` that is broadcast to `shape`, from one for the
    result.
    """
    skipped = len(shape) - len(own)
    return tuple(
        WHOLE if extent == 1 and shape[skipped + axis] != 1 else request[skipped + axis]
        for axis, extent in enumerate(own)
    )


def of_elementwise(op: array.ElementwiseOp, value: SSAValue, request: Request) -> Step:
    """slice(f(x, …)) = f(slice(x), …)."""
    index = [*op.results].index(value)  # pyright: ignore[reportArgumentType]

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        copy = array.ElementwiseOp(operands, op.body.clone(), shape=cut_shape(op.shape, request))
        writer.add(copy, op.results[0].name_hint)
        for before, after in zip(op.results, copy.results, strict=True):
            after.name_hint = before.name_hint
        return copy.results[index]

    needed = [broadcast_axes(shape_of(operand), op.shape, request) for operand in op.inputs]
    return Step([Node.of(*pair) for pair in zip(op.inputs, needed, strict=True)], build)


def of_broadcast(op: array.BroadcastOp, request: Request) -> Step:
    """slice(broadcast(x)) = broadcast(slice(x)); an axis that is new or stretched only gets shorter."""
    shape = shape_of(op.result)

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        wanted = cut_shape(shape, request)
        if shape_of(operands[0]) == wanted:
            return operands[0]
        return writer.add(array.BroadcastOp(operands[0], wanted), op.result.name_hint)

    return Step([Node.of(op.input, broadcast_axes(shape_of(op.input), shape, request))], build)


def of_transpose(op: array.TransposeOp, request: Request) -> Step:
    """slice(transpose(x)) = transpose(slice(x))."""
    perm = op.perm.get_values()
    inner = [WHOLE] * len(perm)
    for axis, source in enumerate(perm):
        inner[source] = request[axis]

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        return writer.add(array.TransposeOp(operands[0], perm), op.result.name_hint)

    return Step([Node.of(op.input, tuple(inner))], build)


Product = array.MatmulOp | array.MaskedMatmulOp


def matmul_requests(op: Product, request: Request, contracted: Cut = WHOLE) -> list[Node]:
    """Return what a product needs of its operands for a part of its result, and for a part of the sum."""
    rank = len(request)
    nodes: list[Node] = []
    for operand, own, own_last in (
        (op.a, request[-2], op.transpose_a is not None),
        (op.b, request[-1], op.transpose_b is None),
    ):
        outer = shape_of(operand)[:-2]
        batch = broadcast_axes(outer, shape_of(op.result)[: rank - 2], request[: rank - 2])
        nodes.append(Node.of(operand, (*batch, *((contracted, own) if own_last else (own, contracted)))))
    if isinstance(op, array.MaskedMatmulOp):
        pairs = (*request[:-1], contracted)
        for value in op.inputs:
            nodes.append(Node.of(value, broadcast_axes(shape_of(value), op.pair_shape, pairs)))
    return nodes


def of_matmul(op: Product, request: Request) -> Step:
    """Rows of a product are rows of its left operand, columns those of its right one."""

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        return writer.add(part_of_matmul(op, operands), op.result.name_hint)

    return Step(matmul_requests(op, request), build)


def part_of_matmul(op: Product, operands: Sequence[SSAValue], *, rounded: bool = True) -> Product:
    """The same product of parts of the operands; in the accumulator's type where it is not to be rounded."""
    result = element_type_of(op.result) if rounded else op.accumulator
    a, b, *inputs = operands
    if isinstance(op, array.MaskedMatmulOp):
        return op.with_operands(a, b, inputs, op.body.clone(), result)
    return array.MatmulOp(
        a,
        b,
        transpose_a=op.transpose_a is not None,
        transpose_b=op.transpose_b is not None,
        acc=op.acc,
        result_element_type=result,
    )


def reduce_request(op: array.ReduceOp, request: Request) -> list[Cut]:
    """Return what a reduction needs of its operand for a part of its result."""
    axes, kept = set(op.axes.get_values()), iter(request)
    if op.keepdims is not None:
        return [WHOLE if axis in axes else cut for axis, cut in enumerate(request)]
    return [WHOLE if axis in axes else next(kept) for axis in range(len(shape_of(op.input)))]


def of_reduce(op: array.ReduceOp, request: Request) -> Step:
    """slice(reduce(x)) = reduce(slice(x)) along the axes that remain."""

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        return writer.add(part_of_reduce(op, operands[0]), op.result.name_hint)

    return Step([Node.of(op.input, tuple(reduce_request(op, request)))], build)


def part_of_reduce(op: array.ReduceOp, operand: SSAValue) -> array.ReduceOp:
    """The same reduction of a part of the operand; one that is in the accumulator's type needs no `acc`."""
    return array.ReduceOp(
        op.kind.data,
        operand,
        op.axes.get_values(),
        keepdims=op.keepdims is not None,
        acc=op.acc if element_type_of(operand) == element_type_of(op.input) else None,
    )


def request_of(op: array.SliceOp) -> Request:
    """Return the part of its operand that a slice takes."""
    taken = zip(shape_of(op.input), op.offsets.get_values(), op.sizes.get_values(), strict=True)
    return tuple(interval(*part) for part in taken)


def of_slice(op: array.SliceOp, request: Request) -> Step | None:
    """slice(slice(x)) = slice(x)."""
    inner: list[Cut] = []
    taken = zip(shape_of(op.input), op.offsets.get_values(), op.sizes.get_values(), strict=True)
    for cut, (extent, offset, size) in zip(request, taken, strict=True):
        composed = within(cut, extent, offset, size)
        if composed is None:
            return None
        inner.append(composed)
    return Step([Node.of(op.input, tuple(inner))], lambda writer, operands: operands[0])


def pieces_of(op: array.ConcatOp) -> list[tuple[int, int]] | None:
    """Offset and size of each piece of a concat; None if an unknown extent comes before another."""
    axis = op.axis.value.data
    pieces: list[tuple[int, int]] = []
    offset = 0
    for value in op.inputs:
        if offset == DYNAMIC:
            return None
        size = shape_of(value)[axis]
        pieces.append((offset, size))
        offset = DYNAMIC if size == DYNAMIC else offset + size
    return pieces


def of_concat(op: array.ConcatOp, request: Request) -> Step | None:
    """A slice of a concat is the concat of slices of its pieces, without pieces that are not needed."""
    axis = op.axis.value.data
    cut = request[axis]
    needed: list[tuple[SSAValue, Cut]] = [(value, WHOLE) for value in op.inputs]
    if cut:
        pieces = pieces_of(op)
        if pieces is None:
            return None
        needed = []
        for value, (offset, size) in zip(op.inputs, pieces, strict=True):
            own = restrict(cut, shape_of(op.result)[axis], offset, size)
            if own is None:
                return None
            if not isinstance(own, Empty):
                needed.append((value, own))
    nodes = [Node.of(value, (*request[:axis], own, *request[axis + 1 :])) for value, own in needed]
    shapes = [cut_shape(shape_of(value), part) for value, part in nodes]
    if not nodes or concat_shape(shapes, axis) != cut_shape(shape_of(op.result), request):
        return None  # a piece that goes may be the only one to tell an extent

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        if len(operands) == 1:
            return operands[0]
        return writer.add(array.ConcatOp(operands, axis), op.result.name_hint)

    return Step(nodes, build)


def of_reshape(op: array.ReshapeOp, request: Request) -> Step | None:
    """slice(reshape(x)) = reshape(slice(x)), where the slice is a cut of the operand's axes."""
    source, target = shape_of(op.input), shape_of(op.result)
    inner: list[Cut] = [WHOLE] * len(source)
    groups = op.groups
    for inputs, outputs in groups:
        if len(inputs) == 1:
            inner[inputs[0]] = make_cut(
                [factor for axis in outputs for factor in request[axis] or (whole(target[axis]),)]
            )
            continue
        for axis in outputs:
            cuts = distribute(request[axis], [source[i] for i in inputs])
            if cuts is None:
                return None
            for i, cut in zip(inputs, cuts, strict=True):
                inner[i] = cut
    node = Node.of(op.input, tuple(inner))
    if not can_reshape(cut_shape(source, node.request), cut_shape(target, request), groups):
        return None

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        return writer.add(array.ReshapeOp(operands[0], cut_shape(target, request)), op.result.name_hint)

    return Step([node], build)


def of_constant(op: array.ConstantOp, request: Request) -> Step:
    """A part of a splat is a smaller splat."""

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        shape = cut_shape(shape_of(op.result), request)
        value = op.value
        element = value.data.data[: len(value.data.data) // len(value)]
        type = TensorType(value.get_element_type(), shape)
        dense = DenseIntOrFPElementsAttr(type, BytesAttr(element * math.prod(shape)))
        return writer.add(array.ConstantOp(dense), op.result.name_hint)

    return Step([], build)


def of_iota(op: array.IotaOp, request: Request) -> Step | None:
    """A part of an iota is a smaller one, with the offset added along its own axis."""
    axis = op.axis.value.data
    cut = request[axis]
    if len(cut) > 1:
        return None
    offset = cut[0].offset if cut else 0

    def shifted(builder: Builder, position: SSAValue) -> SSAValue:
        scalars = ScalarBuilder(builder)
        start = scalars.constant(offset, position.type)
        return add(scalars, position, start)

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        type = TensorType(element_type_of(op.result), cut_shape(shape_of(op.result), request))
        like = operands[0] if operands else None
        hint = op.result.name_hint
        smaller = writer.add(array.IotaOp(axis, type, like=like), hint)
        return writer.add(array.ElementwiseOp.from_function([smaller], shifted), hint) if offset else smaller

    return Step([Node.of(op.like, request)] if op.like is not None else [], build)


def add(scalars: ScalarBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """The sum of two scalars, floats or integers."""
    return scalars.add(a, b) if is_float(a.type) else scalars.insert(arith.AddiOp(a, b))
