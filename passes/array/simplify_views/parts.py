"""Parts of values: nodes, the steps that make one from others, and the insertion of new operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from ....dialects import array
from ....dialects.array import DYNAMIC, AxisGroup, Shape, shape_of
from .cuts import Cut, Factor, Request, can_reshape, cut_shape, everything, resolve, whole


class Node(NamedTuple):
    """A part of a value."""

    value: SSAValue
    request: Request

    @staticmethod
    def of(value: SSAValue, request: Request | None = None) -> Node:
        """The part of `value` that a request takes, with extents as far as known; the whole value without
        one.
        """
        if request is None:
            return Node(value, everything(value))
        return Node(value, resolve(request, shape_of(value)))


@dataclass
class Writer:
    """Inserts new operations directly after the operation of whose result they make a part.

    At that point the parts of its operands exist already, and the users of its result come later. Operations
    on an argument get the location of `origin`, the operation for which they are made.
    """

    owner: Operation | Block
    origin: Operation
    _last: dict[Operation | Block, Operation] = field(default_factory=dict[Operation | Block, Operation])
    _factored: dict[tuple[SSAValue, Shape], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Shape], SSAValue]
    )

    def move(self, after: SSAValue, origin: Operation) -> None:
        """Go to the place after the operation of a value."""
        self.owner, self.origin = after.owner, origin

    def add(self, op: Operation, hint: str | None) -> SSAValue:
        """Insert an operation; returns its first result, named `hint`."""
        last = self._last.get(self.owner, self.owner)
        if isinstance(last, Operation):
            assert last.parent is not None
            last.parent.insert_op_after(op, last)
        elif last.first_op is not None:
            last.insert_op_before(op, last.first_op)
        self._last[self.owner] = op
        location = (self.owner if isinstance(self.owner, Operation) else self.origin).location
        for inner in op.walk():
            if inner is op or inner.location == UnknownLoc():
                inner.location = location
        op.results[0].name_hint = hint
        return op.results[0]

    def factored(self, value: SSAValue, shape: Shape) -> SSAValue:
        """An array with its axes split, directly after its own operation; one reshape for all its parts."""
        if len(shape) == len(shape_of(value)):
            return value
        known = self._factored.get((value, shape))
        if known is None:
            hint = value.name_hint and f"{value.name_hint}_factors"
            known = self._factored[value, shape] = self.add(array.ReshapeOp(value, shape), hint)
        return known


@dataclass(frozen=True)
class Step:
    """Parts of operands, and how to build a part of a result from them."""

    operands: list[Node]
    build: Callable[[Writer, Sequence[SSAValue]], SSAValue]


def is_view(op: Operation) -> bool:
    """True if an operation only rearranges how the elements of its operand are indexed."""
    return isinstance(op, array.SliceOp | array.ReshapeOp | array.TransposeOp)


def is_source(value: SSAValue) -> bool:
    """True if a value exists as an array: an argument, or the result of an opaque operation."""
    owner = value.owner
    if isinstance(owner, Block):
        return True
    if isinstance(owner, array.ConstantOp):
        return not owner.value.is_splat()
    return isinstance(owner, array.CustomOp) or not isinstance(owner, array.ArrayOp)


def is_view_of_source(value: SSAValue) -> bool:
    """True if a value is a source, or views of one."""
    while isinstance(value.owner, Operation) and is_view(value.owner):
        value = value.owner.operands[0]
    return is_source(value)


def of_source(value: SSAValue, request: Request) -> Step | None:
    """A part of an existing array: a view of it. Factors of a cut are split off first and merged again."""
    shape = shape_of(value)
    factors = [_known_factors(cut, extent) for cut, extent in zip(request, shape, strict=True)]
    flat = [factor for axis in factors for factor in axis]
    split, taken = tuple(factor.extent for factor in flat), [factor.size for factor in flat]
    target = cut_shape(shape, request)
    numbers, groups = iter(range(len(flat))), list[AxisGroup]()
    for axis, parts in enumerate(factors):
        groups.append(([axis], [next(numbers) for _ in parts]))
    merged: list[AxisGroup] = [(outputs, inputs) for inputs, outputs in groups]
    if not can_reshape(shape, split, groups) or not can_reshape(taken, target, merged):
        return None

    def build(writer: Writer, operands: Sequence[SSAValue]) -> SSAValue:
        hint = value.name_hint and f"{value.name_hint}_part"
        sizes = [-1 if factor.size == DYNAMIC else factor.size for factor in flat]
        part = array.SliceOp(writer.factored(operands[0], split), [factor.offset for factor in flat], sizes)
        result = writer.add(part, hint)
        return result if len(split) == len(shape) else writer.add(array.ReshapeOp(result, target), hint)

    return Step([Node.of(value)], build)


def _known_factors(cut: Cut, extent: int) -> list[Factor]:
    """The factors of a cut, with an unknown one among them where the extent is unknown."""
    factors = list(cut or (whole(extent),))
    if extent == DYNAMIC and all(factor.extent != DYNAMIC for factor in factors):
        factors[0] = factors[0]._replace(extent=DYNAMIC)
    return factors
