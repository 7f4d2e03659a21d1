"""Numbers in MLIR text: hexadecimal digits as the bits of floats, and limits of what types can hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isinf
from typing import TypeVar

from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    RankedStructure,
    i1,
)
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import AttrParser, Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind

from .float_bits import float_of_literal, literal_at

_T = TypeVar("_T")
_INTEGER_TYPE = re.compile(r"[su]?i([0-9]{1,100})")
_STRING_OF_OTHERS = re.compile(r'<\s*"(?!0x)')
_BYTES_OF_BOOLEANS = frozenset((0, 1, 255))

MOST_CHARACTERS = {MLIRTokenKind.INTEGER_LIT: 300, MLIRTokenKind.FLOAT_LIT: 2000}
"""Length of the longest numbers: any longer integer is too large for f64, and takes long to convert."""

WIDEST_INTEGER = 2**24 - 1
"""Bits, as in MLIR."""

LARGEST_EXTENT = 2**63 - 1
"""Extents are numbers of 64 bits with a sign."""


class NumberLexer(MLIRLexer):
    """xDSL's lexer, which refuses numbers that no type can hold."""

    def _lex_number(self, start_pos: int) -> MLIRToken:
        token = super()._lex_number(start_pos)
        text = token.span.text
        if len(text) > MOST_CHARACTERS[token.kind]:
            raise ParseError(token.span, f"a number of {len(text)} characters is too long")
        if token.kind is MLIRTokenKind.FLOAT_LIT and isinf(float(text)):
            raise ParseError(token.span, f"{text} is too large for a number of 64 bits")
        return token


@dataclass
class _DenseNumber(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element of a dense literal, which knows its spelling until its type is read."""

    literal: str

    def to_type(self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType):
        if isinstance(type, AnyFloat) and self.literal:
            try:
                return float_of_literal(self.literal, type)
            except ValueError as error:
                parser.raise_error(str(error), at_position=self.span)
        value = super().to_type(parser, type)
        if isinstance(type, IntegerType) and isinstance(value, int) and type.normalized_value(value) is None:
            parser.raise_error(_out_of_range(value, type), at_position=self.span)
        return value


def _out_of_range(value: int, type: IntegerType) -> str:
    low, high = type.value_range()
    return f"{value} is out of range for {type}, whose numbers go from {low} to {high - 1}"


class NumberParser(Parser):
    """xDSL's parser, with MLIR's meaning of hexadecimal digits for floats, and with limits."""

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        literal = literal_at(self.lexer.input.content, self.pos)
        found = super()._parse_tensor_literal_element()
        return _DenseNumber(found.is_negative, found.value, found.span, literal)

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[IntegerType | IndexType | AnyFloat | ComplexType] | None
    ) -> DenseIntOrFPElementsAttr:
        start = self.pos
        if _STRING_OF_OTHERS.match(self.lexer.input.content, start):
            self.raise_error(
                'a string of a dense literal is "0x…", the bytes of its elements', start, self.pos + 1
            )
        found = super().parse_dense_int_or_fp_elements_attr(type)
        element, data = found.get_element_type(), found.data.data
        if len(data) % element.compile_time_size:
            self.raise_error(
                f"{len(data)} bytes are no whole number of elements of {element}", start, self.pos
            )
        if element == i1 and not _BYTES_OF_BOOLEANS.issuperset(data):
            self.raise_error("a byte of an element of i1 is 00, 01 or FF", start, self.pos)
        return found

    def parse_optional_builtin_int_or_float_attr(self) -> IntegerAttr | FloatAttr | None:
        start = self.pos
        literal = literal_at(self.lexer.input.content, start)
        found = super().parse_optional_builtin_int_or_float_attr()
        if isinstance(found, FloatAttr):
            value = self._at(lambda: float_of_literal(literal, found.type), start, len(literal))
            return FloatAttr(value, found.type)
        return found

    def _parse_builtin_densearray_attr(self) -> DenseArrayBase | None:
        start = self.pos
        if not isinstance(type := self._type_of_dense_array(), AnyFloat):
            self._resume_from(start)
            return super()._parse_builtin_densearray_attr()
        values: list[float] = []
        if self.parse_optional_punctuation(">") is None:
            self.parse_punctuation(":", " in dense array")
            values = self.parse_comma_separated_list(self.Delimiter.NONE, lambda: self._float_of(type))
            self.parse_punctuation(">", " in dense array")
        return DenseArrayBase.from_list(type, values)

    def _type_of_dense_array(self) -> Attribute:
        self.parse_punctuation("<", " in dense array")
        return self.parse_attribute()

    def _float_of(self, type: AnyFloat) -> float:
        start = self.pos
        literal = literal_at(self.lexer.input.content, start)
        self.parse_number(context_msg=" in dense array")
        return self._at(lambda: float_of_literal(literal, type), start, len(literal))

    def _at(self, read: Callable[[], _T], start: int, length: int) -> _T:
        """The result of a function; its ValueError becomes a ParseError at a part of the text."""
        try:
            return read()
        except ValueError as error:
            self.raise_error(str(error), start, start + length)

    # Limits

    def parse_optional_integer(self, allow_boolean: bool = True, allow_negative: bool = True) -> int | None:
        start = self.pos
        value = super().parse_optional_integer(allow_boolean, allow_negative)
        is_typed = self._current_token.kind is MLIRTokenKind.COLON  # its type has the last word
        if value is not None and not is_typed and not -(2**63) <= value < 2**64:
            self.raise_error(f"{value} is too large for a number of 64 bits", start, start + len(str(value)))
        return value

    def parse_optional_type(self) -> TypeAttribute | None:
        width = _INTEGER_TYPE.fullmatch(self._current_token.text)
        if width is not None and int(width[1]) > WIDEST_INTEGER:
            self.raise_error(f"an integer of {width[1]} bits is too wide: {WIDEST_INTEGER} is the most")
        return super().parse_optional_type()

    def parse_shape_dimension(self, allow_dynamic: bool = True) -> int:
        start = self.pos
        extent = super().parse_shape_dimension(allow_dynamic)
        if extent > LARGEST_EXTENT:
            self.raise_error(
                f"an extent of {extent} is too large: {LARGEST_EXTENT} is the most",
                start,
                start + len(str(extent)),
            )
        return extent
