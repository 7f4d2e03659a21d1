"""Pieces of assembly syntax that several operations share."""

from math import isfinite

from xdsl.dialects.builtin import FloatAttr, f64
from xdsl.irdl import IRDLOperation
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer

from ..float_bits import float_of_literal, literal_at


def float_text(value: float) -> str:
    """A float as MLIR reads it back exactly: `1.000000e-05` where six digits do, else all digits; the bits of
    an infinity or a NaN.
    """
    if not isfinite(value):
        return f"0x{f64.pack((value,))[::-1].hex().upper()}"
    short = f"{value:.6e}"
    if float(short) == value:
        return short
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")


def parse_f64(parser: Parser, context: str = "") -> float:
    """Read a bare number as an f64: decimal, or its bits in hexadecimal digits. Raises ParseError."""
    start = parser.pos
    literal = literal_at(parser.lexer.input.content, start)
    parser.parse_number(allow_boolean=False, context_msg=context)
    try:
        return float_of_literal(literal, f64)
    except ValueError as error:
        parser.raise_error(str(error), start, start + len(literal))


@irdl_custom_directive
class FloatNumber(CustomDirective):
    """An f64 property as a bare number; a decimal integer is read as well."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, FloatAttr(parse_f64(parser), f64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        value = self.value.get(op)
        assert isinstance(value, FloatAttr)
        state.print_whitespace(printer)
        printer.print_string(float_text(value.value.data))

    def is_anchorable(self) -> bool:
        return self.value.is_anchorable()

    def is_present(self, op: IRDLOperation) -> bool:
        return self.value.is_present(op)
