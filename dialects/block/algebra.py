"""Canonical sums and products of items: what `add`, `sub`, `mul`, negation, reciprocals and constant factors
become in fusion.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..scalar import is_float
from .coefficient import CoefficientAttr
from .dims import require_declared
from .syntax import parse_attributes, print_attributes
from .types import ItemType, element_type_of, is_local


def _verify_terms(op: IRDLOperation, operands: Sequence[SSAValue], count: int, result: SSAValue) -> None:
    if not operands:
        raise VerifyException(f"{op.name}: expected at least one operand")
    if count != len(operands):
        raise VerifyException(f"{op.name}: {count} factors are given for {len(operands)} operands")
    for value in (*operands, result):
        if not isinstance(value.type, ItemType) or not is_local(value.type):
            raise VerifyException(f"{op.name}: expected an item in the local tier, got {value.type}")
        if value.type != result.type:
            raise VerifyException(
                f"{op.name}: all operands must have the type of the result {result.type}, got {value.type}"
            )
    if not is_float(element_type_of(result.type)):
        raise VerifyException(
            f"{op.name}: the element type must be a float, got {element_type_of(result.type)}"
        )


@irdl_op_definition
class LinearOp(IRDLOperation):
    """A linear form in items of one type: `%v = block.linear 1/96 * %q + -1 * %m : !block.vector<M x f32>`

    Coefficients are exact; they may contain extents, block counts and widths of dims: `2 width(K) * %c`.
    """

    name = "block.linear"
    coefficients: ArrayAttr[CoefficientAttr] = prop_def(ArrayAttr[CoefficientAttr])
    terms = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, terms: Sequence[tuple[CoefficientAttr, SSAValue]]):
        super().__init__(
            operands=[[value for _, value in terms]],
            result_types=[terms[0][1].type],
            properties={"coefficients": ArrayAttr([coefficient for coefficient, _ in terms])},
        )

    @property
    def pairs(self) -> list[tuple[CoefficientAttr, SSAValue]]:
        """Each coefficient with its item."""
        return list(zip(self.coefficients, self.terms, strict=True))

    def verify_(self) -> None:
        _verify_terms(self, self.terms, len(self.coefficients), self.result)
        for coefficient in self.coefficients:
            require_declared(self, tuple(factor.dim for factor in coefficient.factors))

    @classmethod
    def parse(cls, parser: Parser) -> LinearOp:
        coefficients, unresolved = list[CoefficientAttr](), list[UnresolvedOperand]()
        while True:
            coefficients.append(CoefficientAttr.parse_text(parser))
            parser.parse_punctuation("*")
            unresolved.append(parser.parse_unresolved_operand())
            if parser.parse_optional_punctuation("+") is None:
                break
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        terms = [parser.resolve_operand(operand, type) for operand in unresolved]
        op = cls(list(zip(coefficients, terms, strict=True)))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        def term(pair: tuple[CoefficientAttr, SSAValue]) -> None:
            printer.print_string(f"{pair[0]} * ")
            printer.print_operand(pair[1])

        printer.print_string(" ")
        printer.print_list(self.pairs, term, " + ")
        print_attributes(printer, self)
        printer.print_string(f" : {self.result.type}")


@irdl_op_definition
class MonomialOp(IRDLOperation):
    """A product of powers of items of a type: `%p = block.monomial %q * %c ** -1 : !block.vector<M x f32>`"""

    name = "block.monomial"
    exponents: ArrayAttr[IntAttr] = prop_def(ArrayAttr[IntAttr])
    factors = var_operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def __init__(self, factors: Sequence[tuple[SSAValue, int]]):
        super().__init__(
            operands=[[value for value, _ in factors]],
            result_types=[factors[0][0].type],
            properties={"exponents": ArrayAttr([IntAttr(exponent) for _, exponent in factors])},
        )

    @property
    def pairs(self) -> list[tuple[SSAValue, int]]:
        """Each item with its exponent."""
        return [(value, exponent.data) for value, exponent in zip(self.factors, self.exponents, strict=True)]

    def verify_(self) -> None:
        _verify_terms(self, self.factors, len(self.exponents), self.result)
        if any(exponent.data == 0 for exponent in self.exponents):
            raise VerifyException("block.monomial: an exponent must not be 0")

    @classmethod
    def parse(cls, parser: Parser) -> MonomialOp:
        unresolved, exponents = list[UnresolvedOperand](), list[int]()
        while True:
            unresolved.append(parser.parse_unresolved_operand())
            exponents.append(1)
            if parser.parse_optional_punctuation("*") is None:
                break
            if parser.parse_optional_punctuation("*") is not None:
                exponents[-1] = parser.parse_integer(allow_boolean=False)
                if parser.parse_optional_punctuation("*") is None:
                    break
        attributes = parse_attributes(parser)
        parser.parse_punctuation(":")
        type = parser.parse_type()
        factors = [parser.resolve_operand(operand, type) for operand in unresolved]
        op = cls(list(zip(factors, exponents, strict=True)))
        op.attributes.update(attributes)
        return op

    def print(self, printer: Printer) -> None:
        def factor(pair: tuple[SSAValue, int]) -> None:
            printer.print_operand(pair[0])
            if pair[1] != 1:
                printer.print_string(f" ** {pair[1]}")

        printer.print_string(" ")
        printer.print_list(self.pairs, factor, " * ")
        print_attributes(printer, self)
        printer.print_string(f" : {self.result.type}")
