"""The matrix product of which a mask leaves out pairs of factors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from xdsl.builder import Builder
from xdsl.dialects.builtin import TensorType, i1
from xdsl.dialects.utils import parse_assignment, print_assignment
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, region_def, result_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint

from ..scalar import verify_scalar_region
from .base import ARRAY, ArrayOp
from .core import YieldOp, check_accumulator, default_accumulator
from .shapes import Shape, broadcast_error, element_type_of, matmul_shape, shape_of


@irdl_op_definition
class MaskedMatmulOp(ArrayOp):
    """`[..., M, K] x [..., K, N] -> [..., M, N]` of the pairs that a region keeps; leading axes broadcast.

    `array.masked_matmul %a, %b keeps (%m = %mask) : … -> … { … array.yield %kept : i1 }`

    The region gets an element of each of the arrays after `keeps`, which broadcast to [..., M, K]. Where it
    yields 0, a[m, k]·b[k, n] counts as 0, whatever both factors are: NaN and infinity too. In all else the
    operation is `array.matmul`: attention multiplies so with its values, of which a mask hides some.
    """

    name = "array.masked_matmul"
    a = operand_def(ARRAY)
    b = operand_def(ARRAY)
    inputs = var_operand_def(ARRAY)
    acc = opt_prop_def(TypeAttribute)
    result = result_def(ARRAY)
    body = region_def("single_block")

    def __init__(
        self,
        a: SSAValue | Operation,
        b: SSAValue | Operation,
        inputs: Sequence[SSAValue | Operation],
        body: Region,
        *,
        acc: TypeAttribute | None = None,
        result_element_type: Attribute | None = None,
    ):
        a, b = SSAValue.get(a), SSAValue.get(b)
        shape = matmul_shape(shape_of(a), shape_of(b))
        super().__init__(
            operands=[a, b, [SSAValue.get(value) for value in inputs]],
            result_types=[TensorType(result_element_type or element_type_of(a), shape)],
            properties={"acc": acc},
            regions=[body],
        )

    @classmethod
    def from_function(
        cls,
        a: SSAValue,
        b: SSAValue,
        inputs: Sequence[SSAValue],
        function: Callable[..., SSAValue],
        *,
        acc: TypeAttribute | None = None,
    ) -> Self:
        """`function(builder, *elements)` gets an element of each input; it returns an i1, true to keep."""
        block = Block(arg_types=[element_type_of(value) for value in inputs])
        for argument, value in zip(block.args, inputs, strict=True):
            argument.name_hint = value.name_hint
        kept = function(Builder(InsertPoint.at_end(block)), *block.args)
        block.add_op(YieldOp(kept))
        return cls(a, b, inputs, Region(block), acc=acc)

    def with_operands(
        self,
        a: SSAValue,
        b: SSAValue,
        inputs: Sequence[SSAValue],
        body: Region,
        result_element_type: Attribute,
    ) -> MaskedMatmulOp:
        """The same product of other operands, with this one's accumulator and attributes."""
        product = MaskedMatmulOp(a, b, inputs, body, acc=self.acc, result_element_type=result_element_type)
        product.attributes |= self.attributes
        return product

    @property
    def transpose_a(self) -> None:
        """Operands are never transposed."""

    @property
    def transpose_b(self) -> None:
        """Operands are never transposed."""

    @property
    def accumulator(self) -> Attribute:
        """The type in which products are summed."""
        return self.acc if self.acc is not None else default_accumulator(element_type_of(self.a))

    @property
    def pair_shape(self) -> Shape:
        """[..., M, K]: the shape of what the region says."""
        return (*shape_of(self.result)[:-1], shape_of(self.a)[-1])

    @property
    def kept(self) -> SSAValue:
        """The value that the region yields."""
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last.operands[0]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        factors = [parser.parse_unresolved_operand()]
        parser.parse_punctuation(",")
        factors.append(parser.parse_unresolved_operand())
        parser.parse_keyword("keeps")
        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: parse_assignment(parser))
        acc = parser.parse_type() if parser.parse_optional_keyword("acc") is not None else None
        attributes = parser.parse_optional_attr_dict_with_keyword()
        parser.parse_punctuation(":")
        position = parser.pos
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        parser.parse_punctuation("->")
        result = parser.parse_type()
        operands = parser.resolve_operands([*factors, *(value for _, value in pairs)], types, position)
        for type in types:
            if not isinstance(type, TensorType):
                parser.raise_error(f"'{cls.name}' expected a ranked tensor, got {type}", position, parser.pos)
        arguments = [
            argument.resolve(element_type_of(type))
            for (argument, _), type in zip(pairs, types[2:], strict=True)
        ]
        body = parser.parse_region(arguments)
        return cls.create(
            operands=operands,
            result_types=[result],
            properties={} if acc is None else {"acc": acc},
            attributes=attributes.data if attributes is not None else {},
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_list((self.a, self.b), printer.print_operand)
        printer.print_string(" keeps ")
        with printer.in_parens():
            printer.print_list(
                zip(self.body.block.args, self.inputs, strict=True),
                lambda pair: print_assignment(printer, *pair),
            )
        if self.acc is not None:
            printer.print_string(" acc ")
            printer.print_attribute(self.acc)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" : ")
        printer.print_list(self.operand_types, printer.print_attribute)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)

    def verify_array(self) -> None:
        element_type = element_type_of(self.a)
        self.expect_float(self.a, "left operand")
        self.expect_element_type(self.b, element_type, "right operand")
        check_accumulator(self, element_type, self.accumulator)
        self.expect_shape(self.result, matmul_shape(shape_of(self.a), shape_of(self.b)))
        if element_type_of(self.result) not in (element_type, self.accumulator):
            raise self.error(
                f"result has element type {element_type_of(self.result)}, expected the operands' "
                f"{element_type} or the accumulator's {self.accumulator}"
            )
        for number, value in enumerate(self.inputs):
            if (problem := broadcast_error(shape_of(value), self.pair_shape)) is not None:
                raise self.error(f"operand {number} of the region: {problem}")
        elements = [element_type_of(value) for value in self.inputs]
        verify_scalar_region(self, self.body, elements, YieldOp, [i1])
