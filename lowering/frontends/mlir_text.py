"""Programs for scripts: from text or from a file, verified, with errors that show the place."""

from __future__ import annotations

import os
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import DiagnosticException, ParseError

from ...dialects.context import make_context
from ...dialects.diagnostics import Diagnostic, Place
from ...dialects.parsing import parse_module
from ...dialects.verification import verify

TEXT_NAME = "<text>"
"""File name in the locations of a program that came as text."""


class ProgramError(ValueError):
    """A program that cannot be read; printed with its place, the source line and a caret.

    `message` is one sentence; `place` has the file, line and column, or is None.
    """

    def __init__(self, message: str, place: Place | None = None, shown: str | None = None):
        self.message = message
        self.place = place
        super().__init__(shown or message)


def parse(source: str | os.PathLike[str]) -> ModuleOp:
    """Read a program and verify it, dominance included.

    A str that has a line break or a brace is the text of a program; any other str, or a path, names a
    file. Raises ProgramError for what is no valid program, OSError for a file that cannot be read.
    """
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return parse_text(source, TEXT_NAME)
    path = Path(source)
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"'{path}' is no MLIR text: line {line} holds bytes that are not UTF-8"
        raise ProgramError(message) from error
    return parse_text(text, str(path))


def parse_text(text: str, name: str) -> ModuleOp:
    """Read a program from its text and verify it; `name` stands in the locations. Raises ProgramError."""
    try:
        module = parse_module(text, name, make_context())
        verify(module)
    except (ParseError, DiagnosticException) as error:
        found = Diagnostic.of(error)
        assert found is not None
        raise ProgramError(found.message, found.place, found.render({name: text})) from error
    except RecursionError:
        raise ProgramError(f"the program '{name}' is nested too deeply") from None
    return module
