"""Extents that are equal in every call: axes of arrays, and dims, that one `?` ties together.

An array that is read along dim M and along dim L has one extent for both. Each operation ties axes of its
operands and results in the same way.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...dialects import array, block
from ...dialects.array.composite import NormOp, UnaryOp
from ...dialects.array.shapes import shape_of

_Product = array.MatmulOp | array.MaskedMatmulOp


class EqualExtents:
    """Classes of axes `(value, axis)` and of dims, by name, that have the same extent."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, Hashable] = {}

    def find(self, member: Hashable) -> Hashable:
        """The representative of a member's class."""
        root = member
        while (above := self._parents.get(root, root)) != root:
            root = above
        while member != root:
            self._parents[member], member = root, self._parents[member]
        return root

    def tie(self, *members: Hashable) -> None:
        """Record that members have the same extent."""
        for one, other in pairwise(members):
            self._parents[self.find(one)] = self.find(other)

    def tie_view(
        self, value: SSAValue, axes: Iterable[Iterable[str]], dims: Mapping[str, block.DimAttr]
    ) -> None:
        """Record that an array is cut along dims: those that are axes of it, or have the same product with
        known extents.
        """
        for number, axis in enumerate(axes):
            unknown, known = list[str](), 1
            for name in axis:
                extent = dims[name].static_extent
                if extent is None:
                    unknown.append(name)
                else:
                    known *= extent
            if len(unknown) == 1:
                place = (value, number) if known == 1 else (value, number, known)
                self.tie(unknown[0], place)

    def tie_arrays(self, op: Operation) -> None:
        """Record what an operation on arrays says of the axes of its operands and results."""
        match op:
            case array.MatmulOp():
                self._tie_matmul(op, op.transpose_a is not None, op.transpose_b is not None)
            case array.MaskedMatmulOp():
                self._tie_matmul(op, False, False)
                for value in op.inputs:
                    self._tie_pairs(value, op)
            case array.ElementwiseOp():
                for value in (*op.inputs, *op.outputs[1:]):
                    self._tie_broadcast(value, op.outputs[0])
            case array.BroadcastOp():
                self._tie_broadcast(op.input, op.result)
            case array.ReduceOp():
                self._tie_reduce(op)
            case array.TransposeOp():
                for axis, source in enumerate(op.perm.get_values()):
                    self.tie((op.result, axis), (op.input, source))
            case array.ReshapeOp():
                for sources, targets in op.groups:
                    if len(sources) == len(targets) == 1:
                        self.tie((op.input, sources[0]), (op.result, targets[0]))
            case array.SliceOp():
                for axis, (offset, size) in enumerate(
                    zip(op.offsets.get_values(), op.sizes.get_values(), strict=True)
                ):
                    if offset == 0 and size == -1:
                        self.tie((op.input, axis), (op.result, axis))
            case array.ConcatOp():
                joined = op.axis.value.data
                for axis in set(range(len(shape_of(op.result)))) - {joined}:
                    self.tie((op.result, axis), *((value, axis) for value in op.inputs))
            case array.GatherOp():
                self._tie_gather(op)
            case array.GatherElementsOp():
                self._tie_broadcast(op.indices, op.result)
                for axis in set(range(len(shape_of(op.result)))) - {op.axis.value.data}:
                    self.tie((op.input, axis), (op.result, axis))
            case array.CumsumOp():
                self._tie_broadcast(op.input, op.result)
            case array.PadOp():
                for axis, ends in enumerate(zip(op.low.get_values(), op.high.get_values(), strict=True)):
                    if not any(ends):
                        self.tie((op.input, axis), (op.result, axis))
            case array.IotaOp() if op.like is not None:
                self._tie_broadcast(op.like, op.result)
            case array.AttentionOp():
                self._tie_attention(op)
            case UnaryOp() | array.GeluOp() | array.SoftmaxOp() | array.CumsumOp() | NormOp():
                for value in op.operands:
                    self._tie_broadcast(value, op.results[0])
            case _:
                pass

    def _tie_broadcast(self, operand: SSAValue, result: SSAValue) -> None:
        shape, rank = shape_of(operand), len(shape_of(result))
        for axis, extent in enumerate(shape):
            if extent != 1:
                self.tie((operand, axis), (result, rank - len(shape) + axis))

    def _tie_matmul(self, op: _Product, transpose_a: bool, transpose_b: bool) -> None:
        a, b, rank = len(shape_of(op.a)), len(shape_of(op.b)), len(shape_of(op.result))
        row, contracted = (a - 1, a - 2) if transpose_a else (a - 2, a - 1)
        column, contracted_b = (b - 2, b - 1) if transpose_b else (b - 1, b - 2)
        self.tie((op.a, row), (op.result, rank - 2))
        self.tie((op.b, column), (op.result, rank - 1))
        self.tie((op.a, contracted), (op.b, contracted_b))
        for value in (op.a, op.b):
            shape = shape_of(value)[:-2]
            for axis, extent in enumerate(shape):
                if extent != 1:
                    self.tie((value, axis), (op.result, rank - 2 - len(shape) + axis))

    def _tie_gather(self, op: array.GatherOp) -> None:
        axis, indices = op.axis.value.data, len(shape_of(op.indices))
        for own in range(len(shape_of(op.table))):
            if own != axis:
                self.tie((op.table, own), (op.result, own if own < axis else own - 1 + indices))
        for own in range(indices):
            self.tie((op.indices, own), (op.result, axis + own))

    def _tie_pairs(self, value: SSAValue, op: array.MaskedMatmulOp) -> None:
        """Tie an array that broadcasts to [..., M, K]."""
        shape, rank = shape_of(value), len(shape_of(op.result))
        for axis, extent in enumerate(shape, rank - len(shape)):
            if extent != 1:
                place = (op.a, len(shape_of(op.a)) - 1) if axis == rank - 1 else (op.result, axis)
                self.tie((value, axis - rank + len(shape)), place)

    def _tie_reduce(self, op: array.ReduceOp) -> None:
        gone = op.axes.get_values()
        kept = [axis for axis in range(len(shape_of(op.input))) if axis not in gone]
        for number, axis in enumerate(kept):
            self.tie((op.input, axis), (op.result, axis if op.keepdims is not None else number))

    def _tie_attention(self, op: array.AttentionOp) -> None:
        rank = len(shape_of(op.q))
        q, k, v, result = op.q, op.k, op.v, op.result
        self.tie((q, rank - 2), (result, rank - 2))
        self.tie((k, rank - 2), (v, rank - 2))
        self.tie((q, rank - 1), (k, rank - 1))
        self.tie((v, rank - 1), (result, rank - 1))
        for axis in range(rank - 2):
            self.tie((q, axis), (result, axis))
            self.tie((k, axis), (v, axis))
            # Heads may be shared by a group of query heads, but not where one of them is unknown.
            if axis < rank - 3 or array.DYNAMIC in (shape_of(q)[axis], shape_of(k)[axis]):
                self.tie((q, axis), (k, axis))
        for value in (op.bias, op.mask):
            shape = shape_of(value) if value is not None else ()
            for axis, extent in enumerate(shape, rank - len(shape)):
                if extent != 1:
                    source = (k, rank - 2) if axis == rank - 1 else (q, axis)
                    self.tie((value, axis - rank + len(shape)), source)


def equal_extents(function: FuncOp) -> EqualExtents:
    """Return the classes of a function on arrays or on blocks; dims are those that it declares."""
    classes = EqualExtents()
    dims = block.declared_dims(function) or {}
    for op in function.body.ops:
        if isinstance(op, block.PartitionOp | block.AssembleOp):
            value = op.tensor if isinstance(op, block.PartitionOp) else op.result
            classes.tie_view(value, ([dim.data for dim in axis] for axis in op.axes), dims)
        else:
            classes.tie_arrays(op)
    return classes


def tied_dims(function: FuncOp) -> dict[str, tuple[str, ...]]:
    """Return, for each dim of unknown extent that a block program declares, all that have its extent."""
    classes = equal_extents(function)
    unknown = [
        name for name, dim in (block.declared_dims(function) or {}).items() if dim.static_extent is None
    ]
    groups: dict[Hashable, list[str]] = {}
    for name in unknown:
        groups.setdefault(classes.find(name), []).append(name)
    return {name: tuple(group) for group in groups.values() for name in group}


def given_extents(
    classes: EqualExtents, values: Sequence[SSAValue], known: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], int]:
    """Return the extents of axes `(number of a value, axis)` that the known ones, and static ones, give."""
    found: dict[Hashable, int] = {}
    shapes = [shape_of(value) for value in values]
    for (number, axis), extent in known.items():
        found.setdefault(classes.find((values[number], axis)), extent)
    places = [(number, axis) for number, shape in enumerate(shapes) for axis in range(len(shape))]
    for number, axis in places:
        if shapes[number][axis] != array.DYNAMIC:
            found.setdefault(classes.find((values[number], axis)), shapes[number][axis])
    own = {place: found.get(classes.find((values[place[0]], place[1]))) for place in places}
    return {place: extent for place, extent in own.items() if extent is not None}
