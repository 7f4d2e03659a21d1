"""Errors and warnings about a program, tied to the place in its source text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException, ParseError, PassFailedException

Severity = Literal["error", "warning"]

WIDEST_EXCERPT = 160
"""Characters of a source line that are shown; longer lines are cut around the caret."""


def location_of(where: Operation | SSAValue) -> FileLineColLoc | None:
    """The source location of an operation or value: its own, else that of the nearest operation around it."""
    if isinstance(where, Operation):
        op: Operation | None = where
    elif isinstance(where, BlockArgument):
        if (own := _file_location(where.location)) is not None:
            return own
        op = where.owner.parent_op()
    else:
        owner = where.owner
        op = owner.parent_op() if isinstance(owner, Block) else owner
    while op is not None:
        if (found := _file_location(op.location)) is not None:
            return found
        op = op.parent_op()
    return None


def _file_location(location: Attribute) -> FileLineColLoc | None:
    """The first file location inside a possibly nested location attribute."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return _file_location(location.location)
        case CallSiteLoc():
            return _file_location(location.callee) or _file_location(location.caller)
        case FusedLoc(locations=ArrayAttr() as parts):
            return next((found for part in parts if (found := _file_location(part)) is not None), None)
        case _:
            return None


def one_sentence(message: str) -> str:
    """The message on one line: constraint errors of xDSL contain line breaks and indentation."""
    return " ".join(message.split())


def naming(op: Operation, message: str) -> str:
    """The message with the operation's name in front, unless it is mentioned already."""
    message = one_sentence(message)
    return message if op.name in message else f"'{op.name}' op {message}"


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """``; did you mean 'x'?`` for the known name most like the given one, else ``otherwise``."""
    import difflib  # only failures need it

    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else otherwise


class OpError(PassFailedException):
    """An error about one operation; it keeps the operation's name and source location.

    ``message`` is one sentence that names the operation. ``stage`` says during which step it was raised
    (``pass 'cse'``), if the caller set it.
    """

    def __init__(self, op: Operation, message: str):
        self.op_name = op.name
        self.message = naming(op, message)
        self.location = location_of(op)
        self.stage: str | None = None
        super().__init__(self.message)

    def __str__(self) -> str:
        where = "" if self.location is None else f"{Place.of(self.location)}: "
        stage = "" if self.stage is None else f"{self.stage}: "
        return f"{where}{stage}{self.message}"


class OpWarning(UserWarning):
    """A warning about one operation, for ``warnings.warn``; ``bb-opt`` prints it with the source line."""

    def __init__(self, op: Operation, message: str):
        self.message = naming(op, message)
        self.location = location_of(op)
        super().__init__(self.message)


@dataclass(frozen=True)
class Place:
    """A position in a named source text; line and column count from 1."""

    file: str
    line: int
    column: int

    @staticmethod
    def of(location: FileLineColLoc) -> Place:
        return Place(location.filename.data, location.line.data, location.column.data)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One message for the user, with its place where that is known."""

    severity: Severity
    message: str
    place: Place | None = None

    @staticmethod
    def of(error: BaseException) -> Diagnostic | None:
        """The diagnostic for an error about the user's program; None when it is some other exception."""
        match error:
            case ParseError():
                at = error.span.get_location()
                return Diagnostic("error", one_sentence(error.msg), Place(at.file, at.line, at.col))
            case OpError():
                stage = "" if error.stage is None else f"{error.stage}: "
                place = None if error.location is None else Place.of(error.location)
                return Diagnostic("error", stage + error.message, place)
            case OpWarning():
                place = None if error.location is None else Place.of(error.location)
                return Diagnostic("warning", error.message, place)
            case DiagnosticException():
                return Diagnostic("error", one_sentence(str(error)) or type(error).__name__)
            case _:
                return None

    def render(self, sources: Mapping[str, str]) -> str:
        """``file:line:col: error: message``; if ``sources`` has the file's text, also line and caret."""
        if self.place is None:
            return f"{self.severity}: {self.message}"
        head = f"{self.place}: {self.severity}: {self.message}"
        text = sources.get(self.place.file)
        line = None if text is None else _line(text, self.place.line)
        return head if line is None else f"{head}\n{_excerpt(line, self.place.column)}"


def _line(text: str, number: int) -> str | None:
    """Line ``number`` (from 1) of the text, without its line break."""
    start = 0
    for _ in range(number - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return None
    end = text.find("\n", start)
    return text[start : len(text) if end < 0 else end].removesuffix("\r")


def _excerpt(line: str, column: int) -> str:
    """The line and, under it, a caret at the column; tabs are kept so that the two line up."""
    before = min(column - 1, len(line))
    first = 0 if len(line) <= WIDEST_EXCERPT else max(0, before - WIDEST_EXCERPT // 2)
    shown = line[first : first + WIDEST_EXCERPT]
    if first > 0:
        shown = "..." + shown[3:]
    if first + WIDEST_EXCERPT < len(line):
        shown = shown[:-3] + "..."
    padding = "".join("\t" if char == "\t" else " " for char in line[first:before])
    return f"{shown}\n{padding}^"
