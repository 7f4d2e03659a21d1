"""Operations that only move elements: broadcast, transpose, reshape, slice, concat."""

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    IntegerAttr,
)
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.pattern_rewriter import RewritePattern

from .base import ARRAY, INTEGER, INTEGERS, ArrayOp, integers
from .shapes import (
    AxisGroup,
    broadcast_error,
    concat_shape,
    element_type_of,
    normalize_axis,
    reshape_groups,
    shape_of,
    slice_shape,
    transpose_shape,
    unknown_extent_axis,
    with_shape,
)


@irdl_op_definition
class BroadcastOp(ArrayOp, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """Repeats along new leading axes and along axes of extent 1, the numpy way."""

    name = "array.broadcast"
    input = operand_def(ARRAY)
    result = result_def(ARRAY)
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue | Operation, shape: Sequence[int]):
        input = SSAValue.get(input)
        super().__init__(operands=[input], result_types=[with_shape(input, shape)])

    def verify_array(self) -> None:
        source, target = shape_of(self.input), shape_of(self.result)
        self.expect_element_type(self.result, element_type_of(self.input))
        if (problem := broadcast_error(source, target)) is not None:
            raise self.error(problem)
        if (axis := unknown_extent_axis([source], target)) is not None:
            raise self.error(
                f"result axis {axis} has extent ?, but the operand has no extent ? there to tell it"
            )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.input,) if self.input.type == self.result.type else None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import BroadcastOfBroadcast

        return (BroadcastOfBroadcast(),)


@irdl_op_definition
class TransposeOp(ArrayOp, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """Permutes axes: result axis `i` is input axis `perm[i]`."""

    name = "array.transpose"
    input = operand_def(ARRAY)
    perm = prop_def(INTEGERS)
    result = result_def(ARRAY)
    assembly_format = "$input `perm` $perm attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue | Operation, perm: Sequence[int]):
        """Negative axes count from the back."""
        input = SSAValue.get(input)
        shape = shape_of(input)
        perm = [normalize_axis(axis, len(shape)) for axis in perm]
        super().__init__(
            operands=[input],
            result_types=[with_shape(input, transpose_shape(shape, perm))],
            properties={"perm": integers(perm)},
        )

    def verify_array(self) -> None:
        self.expect_element_type(self.result, element_type_of(self.input))
        self.expect_shape(self.result, transpose_shape(shape_of(self.input), self.perm.get_values()))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        perm = self.perm.get_values()
        return (self.input,) if perm == tuple(range(len(perm))) else None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import TransposeOfTranspose

        return (TransposeOfTranspose(),)


@irdl_op_definition
class ReshapeOp(ArrayOp, HasFolderInterface, HasCanonicalizationPatternsInterface):
    """Splits and merges adjacent axes, inserts and removes axes of extent 1; elements keep their order."""

    name = "array.reshape"
    input = operand_def(ARRAY)
    result = result_def(ARRAY)
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue | Operation, shape: Sequence[int]):
        input = SSAValue.get(input)
        super().__init__(operands=[input], result_types=[with_shape(input, shape)])

    @property
    def groups(self) -> list[AxisGroup]:
        """Aligned groups of input and result axes, see `reshape_groups`."""
        return reshape_groups(shape_of(self.input), shape_of(self.result))

    def verify_array(self) -> None:
        self.expect_element_type(self.result, element_type_of(self.input))
        reshape_groups(shape_of(self.input), shape_of(self.result))

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.input,) if self.input.type == self.result.type else None

    @classmethod
    def get_canonicalization_patterns(cls) -> tuple[RewritePattern, ...]:
        from .canonicalize import ReshapeOfReshape

        return (ReshapeOfReshape(),)


@irdl_op_definition
class SliceOp(ArrayOp, HasFolderInterface):
    """A box of `sizes` elements from `offsets`; a size of -1 is the rest of its axis."""

    name = "array.slice"
    input = operand_def(ARRAY)
    offsets = prop_def(INTEGERS)
    sizes = prop_def(INTEGERS)
    result = result_def(ARRAY)
    assembly_format = "$input `offsets` $offsets `sizes` $sizes attr-dict `:` type($input) `->` type($result)"

    def __init__(self, input: SSAValue | Operation, offsets: Sequence[int], sizes: Sequence[int]):
        input = SSAValue.get(input)
        super().__init__(
            operands=[input],
            result_types=[with_shape(input, slice_shape(shape_of(input), offsets, sizes))],
            properties={"offsets": integers(offsets), "sizes": integers(sizes)},
        )

    def verify_array(self) -> None:
        self.expect_element_type(self.result, element_type_of(self.input))
        self.expect_shape(
            self.result, slice_shape(shape_of(self.input), self.offsets.get_values(), self.sizes.get_values())
        )

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        starts_at_zero = not any(self.offsets.get_values())
        return (self.input,) if starts_at_zero and self._takes_all() else None

    def _takes_all(self) -> bool:
        extents = zip(shape_of(self.input), self.sizes.get_values(), strict=True)
        return all(size in (-1, extent) for extent, size in extents)


@irdl_op_definition
class ConcatOp(ArrayOp, HasFolderInterface):
    """Joins arrays along one axis."""

    name = "array.concat"
    inputs = var_operand_def(ARRAY)
    axis = prop_def(INTEGER)
    result = result_def(ARRAY)
    assembly_format = "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($result)"

    def __init__(self, inputs: Sequence[SSAValue | Operation], axis: int):
        """A negative axis counts from the back."""
        values = [SSAValue.get(value) for value in inputs]
        shapes = [shape_of(value) for value in values]
        if shapes:
            axis = normalize_axis(axis, len(shapes[0]))
        shape = concat_shape(shapes, axis)
        super().__init__(
            operands=[values],
            result_types=[with_shape(values[0], shape)],
            properties={"axis": IntegerAttr(axis, 64)},
        )

    def verify_array(self) -> None:
        shape = concat_shape([shape_of(value) for value in self.inputs], self.axis.value.data)
        for number, value in enumerate(self.inputs):
            self.expect_element_type(value, element_type_of(self.inputs[0]), f"operand {number}")
        self.expect_element_type(self.result, element_type_of(self.inputs[0]))
        self.expect_shape(self.result, shape)

    def fold(self) -> Sequence[SSAValue | Attribute] | None:
        return (self.inputs[0],) if len(self.inputs) == 1 else None
