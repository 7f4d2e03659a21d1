"""`array-inline-indices`: masks made of indices become part of the element-wise operations that read them.

A mask such as `j <= i + 184` is cheaper to recompute for every element, in registers, than to store as an
array and load. Also, a kernel can see which elements a mask hides only if the operation that applies the mask
computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects.array import (
    DYNAMIC,
    BroadcastOp,
    ConstantOp,
    ElementwiseOp,
    IotaOp,
    MaskedMatmulOp,
    ReshapeOp,
    YieldOp,
    element_type_of,
    shape_of,
)

__all__ = ["ArrayInlineIndicesPass", "inline_indices"]

_CHEAP = (
    *(arith.ConstantOp, arith.SelectOp, arith.CmpiOp, arith.CmpfOp),
    *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
    *(arith.MaxSIOp, arith.MinSIOp, arith.IndexCastOp, arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp),
    *(arith.SIToFPOp, arith.UIToFPOp),
)
"""Operations that vectors do in an instruction or two. Integer divisions are too slow. Float arithmetic is
left out because the fusion laws handle it better in its own operations.
"""

_MOST = 16
"""Largest number of operations, without constants, to repeat instead of storing an array. It also bounds
masks of masks.
"""


def is_index_arithmetic(op: Operation) -> bool:
    """True if an element-wise operation costs less to repeat in its readers than to load.

    It has few, cheap operations (`_CHEAP`, `_MOST`), and no operand is as large as its result: it reads
    indices, constants, and arrays with fewer axes of extent other than 1, such as the lengths of the
    sequences of a batch.
    """
    if not isinstance(op, ElementwiseOp):
        return False
    work = [inner for inner in op.body.block.ops if not isinstance(inner, YieldOp | arith.ConstantOp)]
    if len(work) > _MOST or not all(isinstance(inner, _CHEAP) for inner in work):
        return False
    return all(_is_generated(value) or _axes(value) < _axes(op.outputs[0]) for value in op.inputs)


def _is_generated(value: SSAValue) -> bool:
    op = value.owner
    if isinstance(op, ReshapeOp) and isinstance(op.input.owner, ConstantOp):
        op = op.input.owner
    return isinstance(op, IotaOp) or (isinstance(op, ConstantOp) and op.value.is_splat())


def _axes(value: SSAValue) -> int:
    """Number of axes that are not of extent 1."""
    return sum(extent != 1 for extent in shape_of(value))


def inline_indices(function: FuncOp) -> None:
    """Rewrite the body, one block, of a function."""
    for op in list(function.body.block.ops):
        match op:
            case BroadcastOp() | ReshapeOp() if is_index_arithmetic(_maker(op.input)):
                _compute_viewed(op)
            case ElementwiseOp() | MaskedMatmulOp():
                _inline_into(op)
            case _:
                pass


def _maker(value: SSAValue) -> Operation:
    """The operation that defines a value; for an argument, the operation that has it."""
    owner = value.owner
    if isinstance(owner, Operation):
        return owner
    function = owner.parent_op()
    assert function is not None
    return function


def _inline_into(op: ElementwiseOp | MaskedMatmulOp) -> None:
    """Copy into an operation the index arithmetic that computes its operands."""
    makers = list(dict.fromkeys(maker for maker in map(_maker, op.inputs) if is_index_arithmetic(maker)))
    if not makers:
        return
    inputs = list(
        dict.fromkeys(
            source
            for value in op.inputs
            for source in (_maker(value).operands if _maker(value) in makers else [value])
        )
    )
    body = Block(arg_types=[element_type_of(value) for value in inputs])
    elements = dict(zip(inputs, body.args, strict=True))
    scalars: dict[SSAValue, SSAValue] = {}
    for maker in makers:
        assert isinstance(maker, ElementwiseOp)
        yielded = _written(maker, [elements[value] for value in maker.inputs], body)
        scalars |= zip(maker.outputs, yielded, strict=True)
    for value, argument in zip(op.inputs, op.body.block.args, strict=True):
        element = elements.get(value)
        if element is not None:
            element.name_hint = argument.name_hint
    body.add_op(YieldOp(*_written(op, [scalars.get(v) or elements[v] for v in op.inputs], body)))
    _drop_unread(body)
    _replace(op, _with_region(op, inputs, Region(body)))
    for maker in makers:
        _erase_unread(maker)


def _with_region(
    op: ElementwiseOp | MaskedMatmulOp, inputs: Sequence[SSAValue], body: Region
) -> ElementwiseOp | MaskedMatmulOp:
    """Return the same operation with another region, and what that reads."""
    if isinstance(op, ElementwiseOp):
        return ElementwiseOp(inputs, body, shape=op.shape)
    return op.with_operands(op.a, op.b, inputs, body, element_type_of(op.result))


def _written(
    op: ElementwiseOp | MaskedMatmulOp, arguments: Sequence[SSAValue], body: Block
) -> list[SSAValue]:
    """Write the scalar operations of an operation at the end of a body; return what they yield."""
    values: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, arguments, strict=True))
    for argument, value in zip(op.body.block.args, arguments, strict=True):
        value.name_hint = value.name_hint or argument.name_hint
    yielded: Sequence[SSAValue] = ()
    for inner in op.body.block.ops:
        if isinstance(inner, YieldOp):
            yielded = inner.operands
        else:
            body.add_op(inner.clone(values))
    return [values[value] for value in yielded]


def _drop_unread(body: Block) -> None:
    """Drop scalar operations that only an unused result of an inlined operation needs."""
    for inner in reversed(list(body.ops)):
        if not isinstance(inner, YieldOp):
            _erase_unread(inner)


def _erase_unread(op: Operation) -> None:
    if not any(result.uses for result in op.results):
        op.detach()
        op.erase()


def _replace(op: Operation, new: ElementwiseOp | MaskedMatmulOp) -> None:
    """Put an operation in place of another one, with its location and the names of its results."""
    for inner in new.walk():
        inner.location = op.location
    assert op.parent is not None
    op.parent.insert_op_before(new, op)
    for before, after in zip(op.results, new.results, strict=True):
        after.name_hint = before.name_hint
        before.replace_all_uses_with(after)
    _erase_unread(op)


def _compute_viewed(op: BroadcastOp | ReshapeOp) -> None:
    """Compute index arithmetic in the shape in which a view shows it: broadcast, or with other axes of
    extent 1.
    """
    maker = _maker(op.input)
    assert isinstance(maker, ElementwiseOp)
    shape = shape_of(op.result)
    operands = list(maker.inputs)
    if isinstance(op, ReshapeOp):
        if [n for n in shape if n != 1] != [n for n in maker.shape if n != 1] or DYNAMIC in shape:
            return
        viewed = [_viewed(value, maker.shape, shape) for value in operands]
        operands = [value for value in viewed if value is not None]
        if len(operands) < len(viewed):
            return
        assert op.parent is not None
        made = [value.owner for value in operands if isinstance(value.owner, Operation)]
        op.parent.insert_ops_before([each for each in dict.fromkeys(made) if each.parent is None], op)
    number = list(maker.outputs).index(op.input)  # pyright: ignore[reportArgumentType]
    body = Block(arg_types=maker.body.block.arg_types)
    body.add_op(YieldOp(_written(maker, body.args, body)[number]))
    _drop_unread(body)
    _replace(op, ElementwiseOp(operands, Region(body), shape=shape))
    _erase_unread(maker)


def _viewed(value: SSAValue, before: Sequence[int], after: Sequence[int]) -> SSAValue | None:
    """Return the operand for shape `after` that corresponds to one for `before`; they differ in axes of
    extent 1.

    None if an index runs along an axis that is dropped: it is 0 there, and no iota of `after`.
    """
    own = [1] * (len(before) - len(shape_of(value))) + list(shape_of(value))
    kept = [axis for axis, extent in enumerate(before) if extent != 1]
    places = [axis for axis, extent in enumerate(after) if extent != 1]
    shape = [1] * len(after)
    for source, place in zip(kept, places, strict=True):
        shape[place] = own[source]
    match value.owner:
        case IotaOp() as iota if iota.like is None:
            axis = iota.axis.value.data + len(before) - len(shape_of(value))
            new = (
                IotaOp(places[kept.index(axis)], TensorType(element_type_of(value), shape))
                if axis in kept
                else None
            )
        case _:
            new = ReshapeOp(value, shape)
    if new is None:
        return None
    if isinstance(value.owner, Operation):
        new.location = value.owner.location
    new.results[0].name_hint = value.name_hint
    return new.results[0]


@dataclass(frozen=True)
class ArrayInlineIndicesPass(ModulePass):
    """Compute masks that are made of indices inside the element-wise operations that read them.

    Moves element-wise operations that do cheap arithmetic and comparisons, and read nothing as large as what
    they make. Masks that are arguments stay arrays. Needs `array-decompose` first: composites stay as they
    are.
    """

    name = "array-inline-indices"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and len(function.body.blocks) == 1:
                inline_indices(function)
