"""Pieces of textual syntax that several ops of the dialect share."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer

from .types import AxesAttr, axes_attr


def parse_operands(parser: Parser) -> list[UnresolvedOperand]:
    """`%a, %b`"""
    return parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_unresolved_operand)


def parse_operand_types(parser: Parser, operands: Sequence[UnresolvedOperand]) -> list[SSAValue]:
    """`: type, type`, one for each operand."""
    parser.parse_punctuation(":")
    return parse_types_of(parser, operands, parser.Delimiter.NONE)


def parse_types_of(
    parser: Parser, operands: Sequence[UnresolvedOperand], delimiter: Parser.Delimiter
) -> list[SSAValue]:
    """The types of `operands`, and the operands of these types."""
    position = parser.pos
    types = parser.parse_comma_separated_list(delimiter, parser.parse_type)
    if len(types) != len(operands):
        parser.raise_error(
            f"expected a type for each of {len(operands)} operands, got {len(types)}", position, parser.pos
        )
    return list(parser.resolve_operands(operands, types, position))


def parse_binding(parser: Parser) -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
    """`%a = %x`: an argument of a region, and the operand that it stands for."""
    argument = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    return argument, parser.parse_unresolved_operand()


def print_bindings(printer: Printer, arguments: Sequence[SSAValue], operands: Sequence[SSAValue]) -> None:
    """`(%a = %x, %b = %y)`"""

    def binding(pair: tuple[SSAValue, SSAValue]) -> None:
        printer.print_ssa_value(pair[0])
        printer.print_string(" = ")
        printer.print_ssa_value(pair[1])

    printer.print_string("(")
    printer.print_list(zip(arguments, operands, strict=True), binding)
    printer.print_string(")")


def parse_attributes(parser: Parser) -> dict[str, Attribute]:
    """An optional `{name = value}`."""
    return parser.parse_optional_attr_dict()


def print_types(printer: Printer, values: Sequence[SSAValue]) -> None:
    """` : type, type`"""
    printer.print_string(" : ")
    printer.print_list(values, lambda value: printer.print_attribute(value.type))


def print_operands(printer: Printer, op: Operation) -> None:
    """` %a, %b`"""
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_operand)


def print_attributes(printer: Printer, op: Operation) -> None:
    """The attributes that are no part of the op's own syntax."""
    if op.attributes:
        printer.print_string(" ")
        printer.print_attr_dict(op.attributes)


def parse_axes(parser: Parser) -> AxesAttr:
    """The dims of a tensor's axes, `[M, (H, E), 1]`: a product in parentheses, `1` where there is none."""

    def dim() -> str:
        return parser.parse_identifier(context_msg=" as the name of a dim")

    def axis() -> list[str]:
        if parser.parse_optional_punctuation("(") is not None:
            dims = parser.parse_comma_separated_list(parser.Delimiter.NONE, dim)
            parser.parse_punctuation(")")
            return dims
        position = parser.pos
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if number is None:
            return [dim()]
        if number != 1:
            parser.raise_error("expected a dim, or 1 for an axis without one", position, parser.pos)
        return []

    return axes_attr(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, axis))


def print_axes(printer: Printer, axes: AxesAttr) -> None:
    """Print what `parse_axes` reads."""

    def axis(dims: Sequence[StringAttr]) -> str:
        names = [dim.data for dim in dims]
        if not names:
            return "1"
        return names[0] if len(names) == 1 else f"({', '.join(names)})"

    printer.print_string(f"[{', '.join(axis(dims.data) for dims in axes)}]")
