"""Scalars that need no array, constants and indices, and casts between element types."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, f32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.utils.hints import isa

from ...dialects import array, block
from ...dialects.array.core import bit_width
from ...dialects.array.shapes import element_type_of
from .elementwise import ItemWriter, RegionWriter, Scalar, dims_of
from .plan import Generated


def generator(provided: Generated) -> Scalar:
    """Return the scalar that a generated operand is at the current element."""
    op = provided.op
    match op:
        case array.ConstantOp():
            value = next(iter(op.value.iter_attrs()))
            return Scalar(lambda region, _: region.write(arith.ConstantOp(value)))
        case array.IotaOp():
            dims = provided.spec[op.axis.value.data]
            return Scalar(lambda region, _: _index(region, dims, element_type_of(op.result)), frozenset(dims))
        case _:
            raise AssertionError(f"{op.name} generates nothing")


def _index(region: RegionWriter, dims: tuple[str, ...], element_type: Attribute) -> SSAValue:
    """The index along an axis that is the product of `dims`, as a number of `element_type`."""
    index: SSAValue | None = None
    for dim in dims:
        inner = region.write(block.IndexOp(dim))
        if index is not None:
            extent = _to_integer(region, region.write(block.ExtentOp(dim)), i64)
            outer = region.write(arith.MuliOp(_to_integer(region, index, i64), extent))
            inner = region.write(arith.AddiOp(outer, _to_integer(region, inner, i64)))
        index = inner
    if index is None:
        index = region.write(arith.ConstantOp(IntegerAttr(0, i64)))
    if isa(element_type, IntegerType):
        return _to_integer(region, index, element_type)
    assert isinstance(element_type, AnyFloat)
    return region.write(arith.SIToFPOp(_to_integer(region, index, i64), element_type))


def _to_integer(region: RegionWriter, value: SSAValue, type: IntegerType) -> SSAValue:
    if value.type == type:
        return value
    if isinstance(value.type, IndexType):
        return region.write(arith.IndexCastOp(value, type))
    return region.write(arith.TruncIOp(value, type))


def cast(writer: ItemWriter, item: SSAValue, element_type: Attribute) -> SSAValue:
    """An item rounded to, or represented in, another element type of its kind (float or integer)."""
    source = block.element_type_of(item.type)
    wider = bit_width(element_type) > bit_width(source)

    def write(region: RegionWriter, arguments: list[SSAValue]) -> SSAValue:
        argument = arguments[0]
        if isinstance(element_type, AnyFloat):
            if not wider and bit_width(source) == bit_width(element_type):
                # f16 and bf16 are no subsets of each other.
                argument = region.write(arith.ExtFOp(argument, f32))
            return region.write((arith.ExtFOp if wider else arith.TruncFOp)(argument, element_type))
        assert isa(element_type, IntegerType)
        return region.write((arith.ExtSIOp if wider else arith.TruncIOp)(argument, element_type))

    return writer.elementwise([item], element_type, write, dims_of(item), item.name_hint)
