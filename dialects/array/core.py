"""Core operations on whole arrays: few and orthogonal, with numpy's semantics."""

from collections.abc import Callable, Sequence
from enum import auto
from typing import ClassVar, Self

from xdsl.builder import Builder
from xdsl.dialect_interfaces.constant_materialization import ConstantMaterializationInterface
from xdsl.dialects.builtin import (
    AnyFloat,
    AnyTensorType,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
)
from xdsl.dialects.utils import AbstractYieldOperation, EnumAttribute, parse_assignment, print_assignment
from xdsl.interfaces import HasCanonicalizationPatternsInterface, HasFolderInterface
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AnyAttr,
    ParamAttrConstraint,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint
from xdsl.traits import ConstantLike, HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa
from xdsl.utils.str_enum import StrEnum

from ..scalar import is_float, verify_scalar_region
from .base import ARRAY, INTEGER, INTEGERS, ArrayOp, integers
from .shapes import (
    DYNAMIC,
    AxisGroup,
    array_type,
    broadcast_error,
    broadcast_shapes,
    check_axes,
    concat_shape,
    element_type_of,
    matmul_shape,
    normalize_axis,
    reduce_shape,
    reshape_groups,
    shape_of,
    shape_text,
    slice_shape,
    transpose_shape,
    unknown_extent_axis,
    with_shape,
)


def default_accumulator(element_type: Attribute) -> Attribute:
    """The type in which sums of `element_type` are kept by default: f32 for 16-bit floats, else itself."""
    return f32 if is_float(element_type) and bit_width(element_type) < 32 else element_type


def bit_width(element_type: Attribute) -> int:
    """Bits of an element type."""
    assert isinstance(element_type, FixedBitwidthType)
    return element_type.bitwidth


def check_accumulator(op: ArrayOp, element_type: Attribute, accumulator: Attribute) -> None:
    """Raise unless sums of `element_type` may be kept in `accumulator`."""
    if element_type == IntegerType(1):
        raise op.error("cannot add elements of type i1, expected floating point, i32 or i64")
    same_kind = is_float(element_type) == is_float(accumulator)
    wider = same_kind and bit_width(accumulator) > bit_width(element_type)
    if accumulator != element_type and not wider:
        raise op.error(
            f"accumulates {element_type} in {accumulator}, "
            f"expected {element_type} or a wider type of its kind"
        )


@irdl_op_definition
class MatmulOp(ArrayOp):
    """`[..., M, K] x [..., K, N] -> [..., M, N]`; leading axes broadcast; sums kept in the accumulator type.

    The result has the operands' element type, or the accumulator's (then nothing is rounded on the way out).
    """

    name = "array.matmul"
    a = operand_def(ARRAY)
    b = operand_def(ARRAY)
    transpose_a = opt_prop_def(UnitAttr)
    transpose_b = opt_prop_def(UnitAttr)
    acc = opt_prop_def(TypeAttribute)
    result = result_def(ARRAY)
    assembly_format = (
        "$a `,` $b (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)? (`acc` $acc^)? attr-dict "
        "`:` type($a) `,` type($b) `->` type($result)"
    )

    def __init__(
        self,
        a: SSAValue | Operation,
        b: SSAValue | Operation,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        acc: TypeAttribute | None = None,
        result_element_type: Attribute | None = None,
    ):
        a, b = SSAValue.get(a), SSAValue.get(b)
        shape = matmul_shape(shape_of(a), shape_of(b), transpose_a, transpose_b)
        super().__init__(
            operands=[a, b],
            result_types=[TensorType(result_element_type or element_type_of(a), shape)],
            properties={
                "transpose_a": UnitAttr() if transpose_a else None,
                "transpose_b": UnitAttr() if transpose_b else None,
                "acc": acc,
            },
        )

    @property
    def accumulator(self) -> Attribute:
        """The type in which products are summed."""
        return self.acc if self.acc is not None else default_accumulator(element_type_of(self.a))

    def verify_array(self) -> None:
        element_type = element_type_of(self.a)
        self.expect_element_type(self.b, element_type, "right operand")
        check_accumulator(self, element_type, self.accumulator)
        shape = matmul_shape(
            shape_of(self.a), shape_of(self.b), self.transpose_a is not None, self.transpose_b is not None
        )
        self.expect_shape(self.result, shape)
        result_type = element_type_of(self.result)
        if result_type not in (element_type, self.accumulator):
            raise self.error(
                f"result has element type {result_type}, expected the operands' {element_type} "
                f"or the accumulator's {self.accumulator}"
            )


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends the region of `array.elementwise` with the scalars of one element of each result."""

    name = "array.yield"
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ElementwiseOp), Pure()))


@irdl_op_definition
class ElementwiseOp(ArrayOp):
    """A scalar region for every element of the result; operands broadcast to the result's shape."""

    name = "array.elementwise"
    inputs = var_operand_def(ARRAY)
    outputs = var_result_def(ARRAY)
    body = region_def("single_block")

    def __init__(
        self,
        inputs: Sequence[SSAValue | Operation],
        body: Region,
        *,
        shape: Sequence[int] | None = None,
    ):
        """Results have the element types that `body` yields, in `shape` or the operands' broadcast shape."""
        values = [SSAValue.get(value) for value in inputs]
        if shape is None:
            shape = broadcast_shapes(*(shape_of(value) for value in values))
            if shape is None:
                shapes = ", ".join(shape_text(shape_of(value)) for value in values)
                raise VerifyException(f"'{self.name}' operand shapes {shapes} do not broadcast together")
        terminator = body.block.last_op
        if terminator is None:
            raise VerifyException(f"'{self.name}' region: expected '{YieldOp.name}' as its last operation")
        super().__init__(
            operands=[values],
            result_types=[[TensorType(value.type, shape) for value in terminator.operands]],
            regions=[body],
        )

    @classmethod
    def from_function(
        cls,
        inputs: Sequence[SSAValue | Operation],
        function: Callable[..., SSAValue | Sequence[SSAValue]],
        *,
        shape: Sequence[int] | None = None,
    ) -> "ElementwiseOp":
        """Build the region by `function(builder, *arguments)`, which returns the scalar(s) to yield."""
        values = [SSAValue.get(value) for value in inputs]
        block = Block(arg_types=[element_type_of(value) for value in values])
        yielded = function(Builder(InsertPoint.at_end(block)), *block.args)
        block.add_op(YieldOp(*([yielded] if isinstance(yielded, SSAValue) else yielded)))
        return ElementwiseOp(values, Region(block), shape=shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of every result."""
        return shape_of(self.outputs[0])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_assignment(parser))
        attributes = parser.parse_optional_attr_dict_with_keyword()
        types: list[TypeAttribute] = []
        position = parser.pos
        if pairs:
            parser.parse_punctuation(":")
            types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
            if len(types) != len(pairs):
                parser.raise_error(
                    f"'{cls.name}' has {len(pairs)} operands but {len(types)} operand types",
                    position,
                    parser.pos,
                )
            for type in types:
                if not isinstance(type, TensorType):
                    parser.raise_error(
                        f"'{cls.name}' expected a ranked tensor, got {type}", position, parser.pos
                    )
        parser.parse_punctuation("->")
        results = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        unresolved: list[UnresolvedOperand] = [operand for _, operand in pairs]
        operands = parser.resolve_operands(unresolved, types, position)
        arguments = [
            argument.resolve(element_type_of(type)) for (argument, _), type in zip(pairs, types, strict=True)
        ]
        body = parser.parse_region(arguments)
        return cls.create(
            operands=operands,
            result_types=results,
            regions=[body],
            attributes=attributes.data if attributes is not None else {},
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(
                zip(self.body.block.args, self.inputs, strict=True),
                lambda pair: print_assignment(printer, *pair),
            )
        printer.print_op_attributes(self.attributes, print_keyword=True)
        if self.inputs:
            printer.print_string(" : ")
            printer.print_list(self.inputs.types, printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_list(self.outputs.types, printer.print_attribute)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_array(self) -> None:
        if not self.outputs:
            raise self.error("expected at least one result")
        for number, output in enumerate(self.outputs):
            self.expect_shape(output, self.shape, f"result {number}")
        shapes = [shape_of(value) for value in self.inputs]
        for number, shape in enumerate(shapes):
            if (problem := broadcast_error(shape, self.shape)) is not None:
                raise self.error(f"operand {number}: {problem}")
        if (axis := unknown_extent_axis(shapes, self.shape)) is not None:
            raise self.error(f"result axis {axis} has extent ?, but no operand has extent ? there to tell it")
        verify_scalar_region(
            self,
            self.body,
            [element_type_of(value) for value in self.inputs],
            YieldOp,
            [element_type_of(value) for value in self.outputs],
        )


class ReductionKind(StrEnum):
    """How `array.reduce` combines elements."""

    SUM = auto()
    MAX = auto()
    MIN = auto()


@irdl_attr_definition
class ReductionKindAttr(EnumAttribute[ReductionKind], SpacedOpaqueSyntaxAttribute):
    """`#array<reduction sum>`."""

    name = "array.reduction"


@irdl_op_definition
class ReduceOp(ArrayOp):
    """Sum, maximum or minimum over `axes`; a NaN among the elements is the result."""

    name = "array.reduce"
    kind = prop_def(ReductionKindAttr)
    input = operand_def(ARRAY)
    axes = prop_def(INTEGERS)
    keepdims = opt_prop_def(UnitAttr)
    acc = opt_prop_def(TypeAttribute)
    result = result_def(ARRAY)
    assembly_format = (
        "$kind $input `axes` $axes (`keepdims` $keepdims^)? (`acc` $acc^)? attr-dict "
        "`:` type($input) `->` type($result)"
    )

    def __init__(
        self,
        kind: ReductionKind | str,
        input: SSAValue | Operation,
        axes: int | Sequence[int],
        *,
        keepdims: bool = False,
        acc: TypeAttribute | None = None,
    ):
        """Negative axes count from the back."""
        input = SSAValue.get(input)
        shape = shape_of(input)
        numbers = sorted(
            normalize_axis(axis, len(shape)) for axis in ([axes] if isinstance(axes, int) else axes)
        )
        super().__init__(
            operands=[input],
            result_types=[with_shape(input, reduce_shape(shape, numbers, keepdims))],
            properties={
                "kind": ReductionKindAttr(ReductionKind(kind)),
                "axes": integers(numbers),
                "keepdims": UnitAttr() if keepdims else None,
                "acc": acc,
            },
        )

    @property
    def accumulator(self) -> Attribute:
        """The type in which a sum is kept; for max and min the element type."""
        element_type = element_type_of(self.input)
        if self.kind.data is not ReductionKind.SUM:
            return element_type
        return self.acc if self.acc is not None else default_accumulator(element_type)

    def verify_array(self) -> None:
        element_type = element_type_of(self.input)
        if element_type == IntegerType(1):
            raise self.error("cannot reduce elements of type i1, expected floating point, i32 or i64")
        if self.kind.data is ReductionKind.SUM:
            check_accumulator(self, element_type, self.accumulator)
        elif self.acc is not None:
            raise self.error(f"{self.kind.data} takes no accumulator type, expected 'acc' only with sum")
        axes = self.axes.get_values()
        if not axes:
            raise self.error("expected at least one axis")
        self.expect_shape(self.result, reduce_shape(shape_of(self.input), axes, self.keepdims is not None))
        self.expect_element_type(self.result, element_type)


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


@irdl_op_definition
class CustomOp(ArrayOp):
    """An opaque computation, known by the name of its callback; it must be pure. No pass looks inside."""

    name = "array.custom"
    callback = prop_def(FlatSymbolRefAttrConstr)
    inputs = var_operand_def(ARRAY)
    outputs = var_result_def(ARRAY)
    assembly_format = "$callback `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)"

    def __init__(
        self,
        callback: str | SymbolRefAttr,
        inputs: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        attributes: dict[str, Attribute] | None = None,
    ):
        super().__init__(
            operands=[inputs],
            result_types=[result_types],
            properties={"callback": SymbolRefAttr(callback) if isinstance(callback, str) else callback},
            attributes=attributes or {},
        )

    @property
    def callback_name(self) -> str:
        """The name under which the callback is registered."""
        return self.callback.root_reference.data
