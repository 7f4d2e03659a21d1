"""Shared parts of the command lines: arguments whose errors are sentences, messages instead of tracebacks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from ...dialects.diagnostics import Diagnostic, one_sentence
from .files import ToolError


class ArgumentParser(argparse.ArgumentParser):
    """argparse's, which raises ToolError in place of printing usage and exiting with status 2."""

    def error(self, message: str) -> NoReturn:
        raise ToolError(f"{message}; --help lists the options")


def positive(text: str) -> int:
    """A positive integer, for `type=` of an argument."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"takes a positive integer, not '{text}'")
    return int(text)


def assignment(value: str) -> Callable[[str], tuple[str, str]]:
    """Return a parser of `NAME=VALUE` for `type=` of an argument; `value` describes what follows `=`."""

    def parse(text: str) -> tuple[str, str]:
        name, equals, given = text.partition("=")
        if not (name and equals and given):
            raise argparse.ArgumentTypeError(f"takes NAME={value}, not '{text}'")
        return name.removeprefix("%"), given

    return parse


def sizes(pairs: Sequence[tuple[str, str]], option: str) -> dict[str, int]:
    """The integers of `NAME=SIZE` arguments. Raises ToolError."""
    found: dict[str, int] = {}
    for name, text in pairs:
        if not text.isdecimal() or int(text) == 0:
            raise ToolError(f"{option} {name}={text}: the size is a positive integer")
        if found.setdefault(name, int(text)) != int(text):
            raise ToolError(f"{option}: '{name}' is given twice")
    return found


def print_error(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def message_for(tool: str, error: Exception, sources: Mapping[str, str]) -> str:
    """Return the message for an error: with its place in the program if it has one, never a traceback."""
    diagnostic = Diagnostic.of(error)
    if diagnostic is not None and diagnostic.place is not None:
        return diagnostic.render(sources)
    if diagnostic is not None:
        return f"{tool}: {diagnostic.render(sources)}"
    if os.environ.get("BB_DEBUG"):
        import traceback

        traceback.print_exc()
    hint = "" if os.environ.get("BB_DEBUG") else "; BB_DEBUG=1 shows the traceback"
    what = one_sentence(f"{type(error).__name__}: {error}")
    return f"{tool}: error: internal error: {what} (this is a bug of {tool}{hint})"
