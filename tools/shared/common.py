"""Shared parts of the command lines: arguments whose errors are sentences, messages instead of tracebacks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from ...dialects.diagnostics import Diagnostic, one_sentence
from ...passes.text.output import detach
from .files import ToolError, write_stdout

_MOST_DIGITS = 18
_LONGEST_SHOWN = 40


class ArgumentParser(argparse.ArgumentParser):
    """argparse's, which raises ToolError in place of printing usage and exiting with status 2, and prints
    --help as other output.
    """

    def error(self, message: str) -> NoReturn:
        raise ToolError(f"{message}; --help lists the options")

    def _print_message(self, message: str, file: object = None) -> None:
        write_stdout(message)


def positive(text: str) -> int:
    """A positive integer, for `type=` of an argument."""
    if not _is_positive(text):
        raise argparse.ArgumentTypeError(f"takes {_positive_integer(text)}, not '{_shortened(text)}'")
    return int(text)


def _is_positive(text: str) -> bool:
    """True for the digits of a positive integer that fits into 64 bits."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS and int(text) > 0


def _positive_integer(text: str) -> str:
    """Words for what a text is not: the limit of digits only if the text has more."""
    too_long = text.isdecimal() and len(text) > _MOST_DIGITS
    return f"a positive integer of at most {_MOST_DIGITS} digits" if too_long else "a positive integer"


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


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
        if not _is_positive(text):
            raise ToolError(f"{option} {name}={_shortened(text)}: the size is {_positive_integer(text)}")
        if found.setdefault(name, int(text)) != int(text):
            raise ToolError(f"{option}: '{name}' is given twice")
    return found


def is_terminal() -> bool:
    """True if standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def print_error(text: str) -> None:
    """Write a line to standard error; nothing where that is closed."""
    if sys.stderr is None:
        return
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:  # the exit status has to tell
        detach(sys.stderr)


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
