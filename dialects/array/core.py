"""Operations that compute: matmul, elementwise, reduce, custom."""

from collections.abc import Callable, Sequence
from enum import auto
from typing import Self

from xdsl.builder import Builder
from xdsl.dialects.builtin import (
    FixedBitwidthType,
    FlatSymbolRefAttrConstr,
    IntegerType,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f32,
)
from xdsl.dialects.utils import AbstractYieldOperation, EnumAttribute, parse_assignment, print_assignment
from xdsl.ir import Attribute, Block, Operation, Region, SpacedOpaqueSyntaxAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint
from xdsl.traits import IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from ..scalar import is_element_type, is_float, verify_scalar_region
from .base import ARRAY, INTEGERS, ArrayOp, integers
from .shapes import (
    broadcast_error,
    broadcast_shapes,
    element_type_of,
    matmul_shape,
    normalize_axis,
    reduce_shape,
    shape_of,
    shape_text,
    unknown_extent_axis,
    with_shape,
)


def default_accumulator(element_type: Attribute) -> Attribute:
    """The type in which sums of `element_type` are kept by default: f32 for 16-bit floats, else that type
    itself.
    """
    return f32 if is_float(element_type) and bit_width(element_type) < 32 else element_type


def bit_width(element_type: Attribute) -> int:
    """Bits of an element type."""
    assert isinstance(element_type, FixedBitwidthType)
    return element_type.bitwidth


def check_accumulator(op: ArrayOp, element_type: Attribute, accumulator: Attribute) -> None:
    """Raise unless sums of `element_type` may be kept in `accumulator`."""
    if element_type == IntegerType(1):
        raise op.error("cannot add elements of type i1, expected floating point, i32 or i64")
    same_kind = is_element_type(accumulator) and is_float(element_type) == is_float(accumulator)
    wider = same_kind and bit_width(accumulator) > bit_width(element_type)
    if accumulator != element_type and not wider:
        raise op.error(
            f"accumulates {element_type} in {accumulator}, "
            f"expected {element_type} or a wider type of its kind"
        )


@irdl_op_definition
class MatmulOp(ArrayOp):
    """`[..., M, K] x [..., K, N] -> [..., M, N]`; leading axes broadcast; sums kept in the accumulator type.

    The result has the operands' element type, or the accumulator's type; then sums are not rounded.
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


_PARENTS_OF_YIELD = ("array.elementwise", "array.masked_matmul")


@irdl_op_definition
class YieldOp(AbstractYieldOperation[Attribute]):
    """Ends the region of `array.elementwise` with the scalars of one element of each result.

    Also that of `array.masked_matmul`, with an i1.
    """

    name = "array.yield"
    traits = traits_def(IsTerminator(), Pure())

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is None or parent.name not in _PARENTS_OF_YIELD:
            names = ", ".join(f"'{name}'" for name in _PARENTS_OF_YIELD)
            raise VerifyException(f"'{self.name}' expects parent op to be one of {names}")


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
    """Monoid by which `array.reduce` combines elements."""

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
