"""`array-simplify-contractions`: a product with an array of equal elements becomes a sum.

`x @ ones` is the sum of each row of x, and `x @ (ones / K)` its mean. As sums they are statistics of rows,
which fuse where products do not. A factor other than 1 is multiplied into the elements before the sum,
in the type of the sums, as the contraction does: no intermediate value is larger than before.

A product with a row of an identity matrix is not turned into a slice, because it reads the other elements,
too: 0 times NaN or an infinity is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue, TypeAttribute
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from ...dialects.array import (
    DYNAMIC,
    BroadcastOp,
    ConstantOp,
    ElementwiseOp,
    MatmulOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    YieldOp,
    default_accumulator,
    element_type_of,
    shape_of,
)
from ...dialects.scalar import is_float

__all__ = ["ArraySimplifyContractionsPass", "simplify_contractions"]

_MOST = 16
"""Largest number of array operations to look through for the value of all elements of an array."""


@dataclass
class _Uniform:
    """An array whose elements are all equal: the array operations that compute one element, operands first,
    and arrays of one element that they read.
    """

    value: SSAValue
    steps: dict[SSAValue, None]
    leaves: dict[SSAValue, None]

    def constant(self) -> Attribute | None:
        """The element, if it is a constant that no step computes."""
        found: Attribute | None = None
        for step in self.steps:
            if isinstance(step.owner, ElementwiseOp):
                return None
            if isinstance(step.owner, ConstantOp):
                found = _element(step.owner)
        return found

    def is_one(self) -> bool:
        """True if all elements are 1."""
        constant = self.constant()
        return constant is not None and getattr(getattr(constant, "value", None), "data", None) == 1

    def write(self, body: Block, leaves: Sequence[SSAValue]) -> SSAValue:
        """Write the computation of one element at the end of a scalar region."""
        values: dict[SSAValue, SSAValue] = dict(zip(self.leaves, leaves, strict=True))
        for step in self.steps:
            owner = step.owner
            assert isinstance(owner, Operation)
            if isinstance(owner, ConstantOp):
                constant = arith.ConstantOp(_element(owner))  # pyright: ignore[reportArgumentType]
                body.add_op(constant)
                values[step] = constant.result
            elif isinstance(owner, ElementwiseOp):
                arguments = [values[value] for value in owner.inputs]
                scalars: dict[SSAValue, SSAValue] = dict(zip(owner.body.block.args, arguments, strict=True))
                for inner in owner.body.block.ops:
                    if isinstance(inner, YieldOp):
                        number = list(owner.outputs).index(step)  # pyright: ignore[reportArgumentType]
                        values[step] = scalars[inner.operands[number]]
                    else:
                        body.add_op(inner.clone(scalars))
            else:
                values[step] = values[owner.operands[0]]
        return values[self.value]


def _element(op: Operation) -> Attribute | None:
    """The element of a constant array of equal elements; None if they differ, bit by bit."""
    if not isinstance(op, ConstantOp):
        return None
    if 0 in shape_of(op.result) or not op.value.is_splat():
        return None
    return next(iter(op.value.iter_attrs()))


def _sources(op: Operation) -> Sequence[SSAValue] | None:
    """The operands that must have equal elements for an operation's results to have them; None if that is not
    enough.
    """
    match op:
        case ConstantOp():
            return () if _element(op) is not None else None
        case TransposeOp() | ReshapeOp() | BroadcastOp() | SliceOp():
            return op.operands
        case ElementwiseOp():
            return op.operands
        case _:
            return None


def _uniform(value: SSAValue) -> _Uniform | None:
    """Return how one element of an array is computed if all its elements are equal; None if they may
    differ.
    """
    steps, leaves = dict[SSAValue, None](), dict[SSAValue, None]()
    pending = [value]
    while pending:
        current = pending[-1]
        owner = current.owner
        if current in steps or current in leaves:
            pending.pop()
            continue
        sources = _sources(owner) if isinstance(owner, Operation) else None
        if sources is None:
            if current is value or any(extent != 1 for extent in shape_of(current)):
                return None
            leaves[current] = None
            pending.pop()
            continue
        missing = [source for source in sources if source not in steps and source not in leaves]
        pending.extend(missing)
        if len(pending) + len(steps) > _MOST:
            return None
        if not missing:
            steps[current] = None
            pending.pop()
    return _Uniform(value, steps, leaves)


def simplify_contractions(function: FuncOp) -> None:
    """Rewrite the body, one block, of a function."""
    for op in list(function.body.block.ops):
        if isinstance(op, MatmulOp):
            _simplify(op)


def _simplify(op: MatmulOp) -> None:
    for data, factor in ((op.a, op.b), (op.b, op.a)):
        uniform = _uniform(factor)
        # One element is no sum, and what is uniform along a known axis of the other array is left to it.
        if uniform is None or all(extent == 1 for extent in shape_of(factor)):
            continue
        if not _tells_extents(op, data):
            continue
        _Writer(op, data is op.a and factor is op.b).write(data, uniform)
        return


def _tells_extents(op: MatmulOp, data: SSAValue) -> bool:
    """True if the array that is summed gives all unknown extents of the product."""
    shape, result = list(shape_of(data)), shape_of(op.result)
    _, kept = _axes(op, data is op.a)
    place = len(result) - (2 if data is op.a else 1)
    known = {len(result) - len(shape) + axis for axis in range(len(shape) - 2) if shape[axis] == DYNAMIC}
    if shape[kept] == DYNAMIC:
        known.add(place)
    return all(extent != DYNAMIC or axis in known for axis, extent in enumerate(result))


def _axes(op: MatmulOp, left: bool) -> tuple[int, int]:
    """The axis of an operand that is contracted, and that which is kept, counted from the back."""
    transposed = (op.transpose_a if left else op.transpose_b) is not None
    return (-2, -1) if left is transposed else (-1, -2)


@dataclass
class _Writer:
    """Writes operations in place of a contraction; `left` says which of its operands is summed."""

    op: MatmulOp
    left: bool

    def insert(self, op: Operation) -> SSAValue:
        for inner in op.walk():
            inner.location = self.op.location
        assert self.op.parent is not None
        self.op.parent.insert_op_before(op, self.op)
        return op.results[0]

    def write(self, data: SSAValue, uniform: _Uniform) -> None:
        """Write the sum, and put it in place of the product."""
        result = self.op.result
        wanted, accumulator = element_type_of(result), self.op.accumulator
        own = element_type_of(data)
        if not uniform.is_one():
            data = self.scaled(data, uniform, accumulator)
        elif wanted != own:
            data = self.converted(data, accumulator)
        value = self.converted(self.summed(data, accumulator), wanted)
        if shape_of(value) != shape_of(result):
            value = self.insert(BroadcastOp(value, shape_of(result)))
        value.name_hint = result.name_hint
        made = [self.op.a, self.op.b]
        result.replace_all_uses_with(value)
        self.op.detach()
        self.op.erase()
        _erase_unread(made)

    def scaled(self, data: SSAValue, uniform: _Uniform, type: Attribute) -> SSAValue:
        """The products of the contraction, in the type of its sums."""
        rank = len(shape_of(data))
        leaves = [self.insert(ReshapeOp(leaf, [1] * rank)) for leaf in uniform.leaves]

        def body(builder: Builder, x: SSAValue, *arguments: SSAValue) -> SSAValue:
            block = x.owner
            assert isinstance(block, Block)
            c = uniform.write(block, arguments)
            x, c = _convert(builder, x, type), _convert(builder, c, type)
            return builder.insert((arith.MulfOp if is_float(type) else arith.MuliOp)(x, c)).result

        return self.insert(ElementwiseOp.from_function([data, *leaves], body))

    def converted(self, value: SSAValue, type: Attribute) -> SSAValue:
        if element_type_of(value) == type:
            return value

        def body(builder: Builder, x: SSAValue) -> SSAValue:
            return _convert(builder, x, type)

        return self.insert(ElementwiseOp.from_function([value], body))

    def summed(self, data: SSAValue, accumulator: Attribute) -> SSAValue:
        """The sum over the contracted axis, which becomes an axis of extent 1 of the product."""
        shape = shape_of(data)
        contracted, kept = _axes(self.op, self.left)
        in_place = (contracted == -1) is self.left
        default = default_accumulator(element_type_of(data)) == accumulator
        acc = accumulator if not default and isinstance(accumulator, TypeAttribute) else None
        total = self.insert(ReduceOp("sum", data, contracted, keepdims=in_place, acc=acc))
        if in_place:
            return total
        ends = (shape[kept], 1) if self.left else (1, shape[kept])
        return self.insert(ReshapeOp(total, (*shape[:-2], *ends)))


def _convert(builder: Builder, value: SSAValue, type: Attribute) -> SSAValue:
    """A scalar in a wider or narrower type of its kind."""
    source = value.type
    if source == type:
        return value
    if isa(source, AnyFloat) and isa(type, AnyFloat):
        wider = type.bitwidth > source.bitwidth
        return builder.insert((arith.ExtFOp if wider else arith.TruncFOp)(value, type)).result
    wider = type.width.data > source.width.data  # pyright: ignore
    return builder.insert((arith.ExtSIOp if wider else arith.TruncIOp)(value, type)).result  # pyright: ignore


def _erase_unread(values: Sequence[SSAValue]) -> None:
    """Erase the operations that made an array, as far as nothing reads them any more."""
    pending = list(values)
    while pending:
        owner = pending.pop().owner
        removable = isinstance(
            owner, ConstantOp | TransposeOp | ReshapeOp | BroadcastOp | SliceOp | ElementwiseOp
        )
        if removable and owner.parent is not None and not any(result.uses for result in owner.results):
            operands = list(owner.operands)
            owner.detach()
            owner.erase()
            pending.extend(operands)


@dataclass(frozen=True)
class ArraySimplifyContractionsPass(ModulePass):
    """Write products with arrays of equal elements, such as `x @ ones`, as sums.

    Needs `array-decompose` first, so that the sums are seen together with those of composites.
    """

    name = "array-simplify-contractions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                simplify_contractions(function)
