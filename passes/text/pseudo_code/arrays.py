"""Operations on whole arrays as assignments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, OptOperandDef
from xdsl.utils.hints import isa

from ....dialects import array
from ....dialects.array.shapes import shape_of
from .expressions import Call, Expr, Name
from .scalars import Share, constant, region_expressions

UNKNOWN_EXTENT = "?"

Describe = Callable[[SSAValue], str]
"""Gives the text for a value."""


def array_expressions(
    op: Operation, describe: Describe, prefix: str, share: Share, ascii: bool
) -> list[Expr]:
    """Return the results of an array operation: one expression for each result, or one for all of them.

    `prefix` precedes the names of operations.
    """
    operands: list[Expr] = [Name(describe(value)) for value in op.operands]
    match op:
        case array.ElementwiseOp():
            return region_expressions(op.body.block, operands, {}, share)
        case array.MatmulOp():
            flags = (op.transpose_a, op.transpose_b)
            mark = ".T" if ascii else "ᵀ"
            factors = zip(op.operands, flags, strict=True)
            texts = [describe(value) + (mark if flag else "") for value, flag in factors]
            return [Call(f"{prefix}matmul", tuple(map(Name, texts)))]
        case array.MaskedMatmulOp():
            (kept,) = region_expressions(op.body.block, operands[2:], {}, share)
            return [Call(f"{prefix}matmul", (*operands[:2], Name(f"where={kept.text()}")))]
        case array.ReduceOp():
            keep = [Name("keepdims")] if op.keepdims is not None else []
            axes = _keyword("axes", op.axes)
            return [Call(f"{prefix}{op.kind.data}", (*operands, Name(axes), *keep))]
        case array.SliceOp():
            boxes = zip(op.offsets.get_values(), op.sizes.get_values(), shape_of(op.input), strict=True)
            ranges = ", ".join(_range(*box) for box in boxes)
            return [Name(f"{operands[0].text()}[{ranges}]")]
        case array.CustomOp():
            return [Call(f"@{op.callback_name}", tuple(operands))]
        case array.ReshapeOp() | array.BroadcastOp() | array.IotaOp():
            own = [Name(_keyword("axis", op.axis))] if isinstance(op, array.IotaOp) else []
            shape = Name(f"[{', '.join(extents(op.result.type))}]")
            return [Call(_name(op, prefix), (*operands[: 0 if own else 1], *own, shape))]
        case array.ConstantOp():
            return [_constant(op, prefix)]
        case _:
            return [Call(_name(op, prefix), (*_operands(op, describe), *_properties(op)))]


def _name(op: Operation, prefix: str) -> str:
    return prefix + op.name.removeprefix("array.") if op.name.startswith("array.") else op.name


def _range(start: int, size: int, extent: int) -> str:
    to_end = size < 0 or start + size == extent
    return f"{start or ''}:{'' if to_end else start + size}"


def _constant(op: array.ConstantOp, prefix: str) -> Expr:
    value, shape = op.value, extents(op.result.type)
    element = constant(next(iter(value.iter_attrs()))) if value.is_splat() else Name("...")
    arguments = (element, Name(f"[{', '.join(shape)}]")) if shape else (element,)
    return Call(f"{prefix}constant", arguments)


def _operands(op: Operation, describe: Describe) -> Sequence[Expr]:
    """The operands, the optional ones with their names."""
    if not isinstance(op, IRDLOperation):
        return [Name(describe(value)) for value in op.operands]
    optional: dict[SSAValue, str] = {}
    for name, definition in type(op).get_irdl_definition().operands:
        value = getattr(op, name) if isinstance(definition, OptOperandDef) else None
        if isinstance(value, SSAValue):
            optional[value] = name
    return [
        Name(f"{optional[value]}={describe(value)}" if value in optional else describe(value))
        for value in op.operands
    ]


def _properties(op: Operation) -> list[Expr]:
    hidden = ("operandSegmentSizes", "acc")
    attributes = {**op.properties, **op.attributes}
    return [Name(_keyword(name, value)) for name, value in attributes.items() if name not in hidden]


def _keyword(name: str, value: Attribute) -> str:
    return name if isinstance(value, UnitAttr) else f"{name}={_value(value)}"


def _value(value: Attribute) -> str:
    match value:
        case IntegerAttr() | FloatAttr():
            return constant(value).text()
        case _ if isa(value, DenseArrayBase[IntegerType]):
            return f"[{', '.join(map(str, value.get_values()))}]"
        case ArrayAttr():
            return f"[{', '.join(map(_value, value))}]"
        case StringAttr():
            return value.data
        case SymbolRefAttr():
            return f"@{value.root_reference.data}"
        case _:
            data = getattr(value, "data", None)
            return str(data) if isinstance(data, str) else str(value)


def extents(type: Attribute) -> list[str]:
    """The extents of an array, for people."""
    if not isinstance(type, TensorType):
        return []
    return [UNKNOWN_EXTENT if extent < 0 else str(extent) for extent in type.get_shape()]
