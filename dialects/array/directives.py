"""Pieces of assembly syntax that several operations share."""

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


def float_text(value: float) -> str:
    """A finite float as MLIR reads it back exactly: `1.000000e-05` where six digits do, else all digits."""
    short = f"{value:.6e}"
    if float(short) == value:
        return short
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")


@irdl_custom_directive
class FloatNumber(CustomDirective):
    """An f64 property as a bare number; an integer is read as well."""

    value: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        self.value.set(state, FloatAttr(float(parser.parse_number(allow_boolean=False)), f64))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        value = self.value.get(op)
        assert isinstance(value, FloatAttr)
        state.print_whitespace(printer)
        printer.print_string(float_text(value.value.data))

    def is_anchorable(self) -> bool:
        return self.value.is_anchorable()

    def is_present(self, op: IRDLOperation) -> bool:
        return self.value.is_present(op)
