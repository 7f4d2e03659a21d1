"""Operations that look elements up by index, sum prefixes or pad: gather, gather_elements, cumsum, pad."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .base import ARRAY, INTEGER, INTEGERS, ArrayOp, integers
from .core import check_accumulator, default_accumulator
from .shapes import (
    DYNAMIC,
    Shape,
    check_axes,
    element_type_of,
    normalize_axis,
    shape_of,
    shape_text,
    with_shape,
)

NUMBER = FloatAttr.constr() | IntegerAttr.constr()


def gather_shape(table: Sequence[int], indices: Sequence[int], axis: int) -> Shape:
    """Shape of `array.gather`: the axes of `indices` take the place of `axis`."""
    check_axes("array.gather", (axis,), len(table))
    return (*table[:axis], *indices, *table[axis + 1 :])


def pad_shape(shape: Sequence[int], low: Sequence[int], high: Sequence[int]) -> Shape:
    """Shape of `array.pad`: each axis grows by its elements of `low` and `high`."""
    if len(low) != len(shape) or len(high) != len(shape):
        raise VerifyException(
            f"'array.pad' has {len(low)} numbers in 'low' and {len(high)} in 'high', "
            f"expected {len(shape)} of each, one for each axis of {shape_text(shape)}"
        )
    for axis, counts in enumerate(zip(low, high, strict=True)):
        if min(counts) < 0:
            raise VerifyException(
                f"'array.pad' axis {axis}: {counts[0]} elements before and {counts[1]} after, "
                "expected numbers of at least 0"
            )
    return tuple(
        DYNAMIC if extent == DYNAMIC else extent + before + after
        for extent, before, after in zip(shape, low, high, strict=True)
    )


def _check_indices(op: ArrayOp, indices: SSAValue) -> None:
    type = element_type_of(indices)
    if not isinstance(type, IntegerType) or type == i1:
        raise op.error(f"indices have element type {type}, expected i32 or i64")


@irdl_op_definition
class GatherOp(ArrayOp):
    """Slices of `table` along `axis`, looked up by index, as numpy's `take`: rows of an embedding table.

    The axes of `indices` (i32 or i64) take the place of `axis`. An index of -1 is the last slice; an index
    outside of the table is an error of the call.
    """

    name = "array.gather"
    table = operand_def(ARRAY)
    indices = operand_def(ARRAY)
    axis = prop_def(INTEGER)
    result = result_def(ARRAY)
    assembly_format = (
        "$table `,` $indices `axis` $axis attr-dict `:` type($table) `,` type($indices) `->` type($result)"
    )

    def __init__(self, table: SSAValue | Operation, indices: SSAValue | Operation, axis: int = 0):
        """A negative axis counts from the back."""
        table, indices = SSAValue.get(table), SSAValue.get(indices)
        axis = normalize_axis(axis, len(shape_of(table)))
        super().__init__(
            operands=[table, indices],
            result_types=[with_shape(table, gather_shape(shape_of(table), shape_of(indices), axis))],
            properties={"axis": IntegerAttr(axis, 64)},
        )

    def verify_array(self) -> None:
        _check_indices(self, self.indices)
        self.expect_element_type(self.result, element_type_of(self.table))
        shape = gather_shape(shape_of(self.table), shape_of(self.indices), self.axis.value.data)
        self.expect_shape(self.result, shape)


@irdl_op_definition
class GatherElementsOp(ArrayOp):
    """Elements of `input`, each looked up along `axis` by its own index, as numpy's `take_along_axis`.

    `indices` (i32 or i64) has the shape of the result, and off `axis` that of `input`. An index of -1 is the
    last element; an index outside of the axis is an error of the call.
    """

    name = "array.gather_elements"
    input = operand_def(ARRAY)
    indices = operand_def(ARRAY)
    axis = prop_def(INTEGER)
    result = result_def(ARRAY)
    assembly_format = (
        "$input `,` $indices `axis` $axis attr-dict `:` type($input) `,` type($indices) `->` type($result)"
    )

    def __init__(self, input: SSAValue | Operation, indices: SSAValue | Operation, axis: int):
        """A negative axis counts from the back."""
        input, indices = SSAValue.get(input), SSAValue.get(indices)
        super().__init__(
            operands=[input, indices],
            result_types=[with_shape(input, shape_of(indices))],
            properties={"axis": IntegerAttr(normalize_axis(axis, len(shape_of(input))), 64)},
        )

    def verify_array(self) -> None:
        _check_indices(self, self.indices)
        shape, wanted, axis = shape_of(self.input), shape_of(self.indices), self.axis.value.data
        check_axes(self.name, (axis,), len(shape))
        if len(shape) != len(wanted) or any(
            a != b for i, (a, b) in enumerate(zip(shape, wanted, strict=True)) if i != axis
        ):
            raise self.error(
                f"indices have shape {shape_text(wanted)}, expected the extents of {shape_text(shape)} "
                f"on every axis but {axis}"
            )
        self.expect_element_type(self.result, element_type_of(self.input))
        self.expect_shape(self.result, wanted)


@irdl_op_definition
class CumsumOp(ArrayOp):
    """Sums of all elements up to each one along `axis`, itself included; kept in the accumulator type."""

    name = "array.cumsum"
    input = operand_def(ARRAY)
    axis = prop_def(INTEGER)
    acc = opt_prop_def(TypeAttribute)
    result = result_def(ARRAY)
    assembly_format = "$input `axis` $axis (`acc` $acc^)? attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue | Operation, axis: int, *, acc: TypeAttribute | None = None):
        """A negative axis counts from the back."""
        input = SSAValue.get(input)
        super().__init__(
            operands=[input],
            result_types=[input.type],
            properties={"axis": IntegerAttr(normalize_axis(axis, len(shape_of(input))), 64), "acc": acc},
        )

    @property
    def accumulator(self) -> Attribute:
        """The type in which elements are summed."""
        return self.acc if self.acc is not None else default_accumulator(element_type_of(self.input))

    def verify_array(self) -> None:
        check_axes(self.name, (self.axis.value.data,), len(shape_of(self.input)))
        check_accumulator(self, element_type_of(self.input), self.accumulator)
        self.expect_element_type(self.result, element_type_of(self.input))
        self.expect_shape(self.result, shape_of(self.input))


@irdl_op_definition
class PadOp(ArrayOp):
    """`input` with `low` elements before and `high` after it on each axis, all of them `value`."""

    name = "array.pad"
    input = operand_def(ARRAY)
    low = prop_def(INTEGERS)
    high = prop_def(INTEGERS)
    value = prop_def(NUMBER)
    result = result_def(ARRAY)
    assembly_format = (
        "$input `low` $low `high` $high `value` $value attr-dict `:` type($input) `->` type($result)"
    )

    def __init__(
        self, input: SSAValue | Operation, low: Sequence[int], high: Sequence[int], value: float = 0
    ):
        input = SSAValue.get(input)
        type = element_type_of(input)
        number: Attribute
        if isa(type, AnyFloat):
            number = FloatAttr(float(value), type)
        else:
            assert isa(type, IntegerType)
            number = IntegerAttr(int(value), type)
        super().__init__(
            operands=[input],
            result_types=[TensorType(type, pad_shape(shape_of(input), low, high))],
            properties={"low": integers(low), "high": integers(high), "value": number},
        )

    def verify_array(self) -> None:
        type = element_type_of(self.input)
        if self.value.get_type() != type:
            raise self.error(f"value is {self.value}, expected a number of type {type}")
        self.expect_element_type(self.result, type)
        shape = pad_shape(shape_of(self.input), self.low.get_values(), self.high.get_values())
        self.expect_shape(self.result, shape)

    @property
    def number(self) -> int | float:
        """The value, as Python has it."""
        return self.value.value.data
