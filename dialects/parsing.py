"""Parsing of MLIR text with source locations on every operation and a position for every error."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import NoReturn, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    ComplexType,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    IndexType,
    IntAttr,
    IntegerType,
    ModuleOp,
    RankedStructure,
    StringAttr,
)
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.parser import UnresolvedOperand
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRToken

from .context import make_context
from .diagnostics import did_you_mean
from .number_parsing import NumberLexer, NumberParser

_T = TypeVar("_T")
_A = TypeVar("_A", bound=Attribute)
_DenseElement = IntegerType | IndexType | AnyFloat | ComplexType

MOST_DENSE_ELEMENTS = 2**24
"""Largest ``dense<..>`` literal: xDSL expands a splat to a list, so a short text can ask for any memory."""


class _Lexer(NumberLexer):
    # xDSL's pattern is not possessive ("++"): a quote that is never closed takes exponential time.
    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')

    def _lex_string_literal(self, start_pos: int) -> MLIRToken:
        try:
            return super()._lex_string_literal(start_pos)
        except ParseError as error:
            error.msg = "this string is not closed on its line, or holds an unknown escape sequence"
            raise


class LocatedParser(NumberParser):
    """xDSL's parser, which records the position of each operation and of every failure.

    An operation without an explicit ``loc(...)`` gets the position of its name. An exception that is raised
    while a type, an attribute or an operation is built becomes a ParseError at its text. ``first_line`` is
    the line number of the text's first line, for texts cut from a larger file.
    """

    def __init__(self, ctx: Context, text: str, name: str = "<unknown>", *, first_line: int = 1):
        self._line_offset = first_line - 1
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._file = StringAttr(name)
        self._op_names: list[Span | None] = []
        self._first_uses: dict[str, Span] = {}
        super().__init__(ctx, "", name)
        self._parser_state = ParserState(_Lexer(Input(text, name)))

    # Locations

    def parse_operation(self) -> Operation:
        start = self.pos
        self._op_names.append(None)
        try:
            op = super().parse_operation()
        except (ParseError, RecursionError, MemoryError):
            raise
        except Exception as error:
            self._fail(error, self._op_names[-1] or Span(start, start + 1, self.lexer.input))
        name = self._op_names.pop()
        if op.location == UNKNOWN_LOC:
            op.location = self._location(start if name is None else name.start)
        return op

    def _parse_op_result_list(self) -> list[tuple[Span, int]]:
        results = super()._parse_op_result_list()
        self._op_names[-1] = self._current_token.span
        return results

    def _location(self, position: int) -> FileLineColLoc:
        line = bisect_right(self._line_starts, position)
        column = position - self._line_starts[line - 1] + 1
        return FileLineColLoc(self._file, IntAttr(line + self._line_offset), IntAttr(column))

    # Positions for errors

    def parse_optional_type(self) -> TypeAttribute | None:
        return self._positioned(super().parse_optional_type)

    def parse_optional_attribute(self) -> Attribute | None:
        return self._positioned(super().parse_optional_attribute)

    def _positioned(self, parse: Callable[[], _T]) -> _T:
        start = self.pos
        try:
            return parse()
        except (ParseError, RecursionError, MemoryError):
            raise
        except Exception as error:
            self._fail(error, Span(start, max(start + 1, self.pos), self.lexer.input))

    def _fail(self, error: Exception, span: Span) -> NoReturn:
        if isinstance(error, VerifyException):
            raise ParseError(span, str(error)) from error
        # xDSL answers some malformed texts with whatever Python raised: still the text's fault, with a place.
        raise ParseError(span, f"cannot be parsed ({type(error).__name__}: {error})") from error

    def _parse_dense_literal_type(self) -> RankedStructure[_DenseElement]:
        start = self.pos
        type = super()._parse_dense_literal_type()
        self._limit_elements(type, start)
        return type

    def parse_dense_int_or_fp_elements_attr(
        self, type: RankedStructure[_DenseElement] | None
    ) -> DenseIntOrFPElementsAttr:
        if type is not None:
            self._limit_elements(type, self.pos)
        return super().parse_dense_int_or_fp_elements_attr(type)

    def _limit_elements(self, type: RankedStructure[_DenseElement], start: int) -> None:
        if (count := prod(type.get_shape())) > MOST_DENSE_ELEMENTS:
            self.raise_error(
                f"a dense literal of {count} elements is too large: {MOST_DENSE_ELEMENTS} is the most",
                start,
                self.pos,
            )

    def _get_op_by_name(self, name: str) -> type[Operation]:
        if (
            found := self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        ) is not None:
            return found
        self.raise_error(self._unknown_op(name), self._op_names[-1])

    def _unknown_op(self, name: str) -> str:
        dialect, dot, _ = name.partition(".")
        known = set(self.ctx.registered_dialect_names) | {"builtin"}
        if dot and dialect not in known:
            hint = did_you_mean(dialect, known)
            return f"operation '{name}' is not registered: there is no dialect '{dialect}'{hint}"
        hint = did_you_mean(name, [op.name for op in self.ctx.loaded_ops])
        return f"operation '{name}' is not registered{hint}"

    def resolve_operand(self, operand: UnresolvedOperand, type: _A) -> SSAValue[_A]:
        if operand.operand_name not in self.ssa_values:
            self._first_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        """Parse the whole text; a text without any operation is an empty module. Raises ParseError."""
        try:
            if allow_implicit_module and self._current_token.kind is self._current_token.kind.EOF:
                module = ModuleOp([])
            else:
                module = super().parse_module(allow_implicit_module)
            if module.location == UNKNOWN_LOC:  # the text had no explicit module
                module.location = self._location(0)
            return module
        except RecursionError:
            deepest = Span(self.pos, self.pos + 1, self.lexer.input)
            error = ParseError(deepest, "the program is nested too deeply to be parsed")
        except ParseError as raised:
            error = raised
            undefined = [name for name in self.forward_ssa_references if name in self._first_uses]
            if undefined and error.msg.startswith("values used but not defined"):
                # xDSL reports these at the end of the file.
                error = ParseError(
                    self._first_uses[undefined[0]], f"value %{undefined[0]} is used but never defined"
                )
        error.span = replace(error.span, line_offset=self._line_offset)
        raise error


def parse_module(
    text: str, name: str = "<unknown>", ctx: Context | None = None, *, first_line: int = 1
) -> ModuleOp:
    """Parse a program; ``name`` is the file name for locations and errors.

    Raises xDSL's ParseError with its position. The result is not verified: see ``verification.verify``.
    """
    context = make_context() if ctx is None else ctx
    try:
        parser = LocatedParser(context, text, name, first_line=first_line)
    except ParseError as error:  # the lexer reads the first token at once
        error.span = replace(error.span, line_offset=first_line - 1)
        raise
    return parser.parse_module()
