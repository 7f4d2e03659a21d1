"""Arrays that come from no other array's elements: iota, constant, extent."""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyTensorType,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    TensorType,
    f32,
)
from xdsl.interfaces import HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    ParamAttrConstraint,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import ConstantLike
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from .base import ARRAY, INTEGER, ArrayOp
from .shapes import (
    DYNAMIC,
    array_type,
    check_axes,
    element_type_of,
    normalize_axis,
    shape_of,
    shape_text,
)


def _check_counting_type(op: ArrayOp, type: Attribute) -> None:
    if type == IntegerType(1):
        raise op.error("result has element type i1, expected a type that can count")


@irdl_op_definition
class IotaOp(ArrayOp):
    """Each element is its own position along `axis`; `like` gives the extents where the result has `?`."""

    name = "array.iota"
    axis = prop_def(INTEGER)
    like = opt_operand_def(ARRAY)
    result = result_def(ARRAY)
    assembly_format = "`axis` $axis attr-dict (`like` $like^ `:` type($like) `->`) : (`:`)? type($result)"

    def __init__(
        self, axis: int, type: AnyTensorType | None = None, *, like: SSAValue | Operation | None = None
    ):
        """Give `type` for a static iota; with `like`, `type` may be left out (then i32 of the same shape)."""
        like = SSAValue.get(like) if like is not None else None
        if type is None:
            if like is None:
                raise VerifyException(f"'{self.name}' expected a result type or an array whose shape to take")
            type = TensorType(IntegerType(32), shape_of(like))
        axis = normalize_axis(axis, len(type.get_shape()))
        super().__init__(operands=[like], result_types=[type], properties={"axis": IntegerAttr(axis, 64)})

    def verify_array(self) -> None:
        _check_counting_type(self, element_type_of(self.result))
        shape = shape_of(self.result)
        check_axes(self.name, (self.axis.value.data,), len(shape))
        if self.like is not None:
            self.expect_shape(self.result, shape_of(self.like))
        elif DYNAMIC in shape:
            raise self.error(f"result has shape {shape_text(shape)}, expected static extents without 'like'")


@irdl_op_definition
class ConstantOp(ArrayOp, HasFolderInterface):
    """A static array of given values."""

    name = "array.constant"
    T: ClassVar = VarConstraint("T", ARRAY)
    value = prop_def(ParamAttrConstraint(DenseIntOrFPElementsAttr, (T, AnyAttr())))
    result = result_def(T)
    assembly_format = "$value attr-dict"
    traits = traits_def(ConstantLike())

    def __init__(self, value: DenseIntOrFPElementsAttr):
        super().__init__(result_types=[value.type], properties={"value": value})

    def verify_array(self) -> None:
        if self.value.get_type() != self.result.type:
            raise self.error(
                f"result has type {self.result.type}, expected the value's {self.value.get_type()}"
            )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.value,)


def dense_splat(type: AnyTensorType, value: float) -> DenseIntOrFPElementsAttr:
    """The dense attribute of a static array type with one value everywhere."""
    if isa(type, TensorType[AnyFloat]):
        return DenseIntOrFPElementsAttr.from_list(type, [float(value)])
    assert isa(type, TensorType[IntegerType])
    return DenseIntOrFPElementsAttr.from_list(type, [int(value)])


class ArrayConstants(ConstantMaterializationInterface):
    """Lets folders give their results as dense attributes."""

    def materialize_constant(self, value: Attribute, type: Attribute) -> Operation | None:
        if isa(value, DenseIntOrFPElementsAttr) and value.get_type() == type:
            return ConstantOp(value)
        return None


@irdl_op_definition
class ExtentOp(ArrayOp, HasFolderInterface):
    """The extent of one axis, as an array of rank 0."""

    name = "array.extent"
    input = operand_def(ARRAY)
    axis = prop_def(INTEGER)
    result = result_def(ARRAY)
    assembly_format = "$input `axis` $axis attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue | Operation, axis: int, element_type: Attribute = f32):
        """A negative axis counts from the back."""
        input = SSAValue.get(input)
        super().__init__(
            operands=[input],
            result_types=[TensorType(element_type, [])],
            properties={"axis": IntegerAttr(normalize_axis(axis, len(shape_of(input))), 64)},
        )

    def verify_array(self) -> None:
        check_axes(self.name, (self.axis.value.data,), len(shape_of(self.input)))
        self.expect_shape(self.result, ())
        _check_counting_type(self, element_type_of(self.result))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        extent = shape_of(self.input)[self.axis.value.data]
        if extent == DYNAMIC:
            return None
        return (dense_splat(array_type(self.result), extent),)
