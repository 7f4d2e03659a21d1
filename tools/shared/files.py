"""Reading programs from files and writing results: every failure is one ToolError."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ...passes.text.output import detach, os_reason, print_text, replace_file

STDIN_NAME = "<stdin>"
DEFAULT_LIMIT_MIB = 32

_SPLIT_MARKER = re.compile(r"^[ \t]*// -----[ \t]*\r?$", re.MULTILINE)


class ToolError(Exception):
    """A failure of a command line tool that has no place in a program: one sentence for its user."""


def read_text(path: str, limit_mib: int = DEFAULT_LIMIT_MIB) -> tuple[str, str]:
    """The name (for messages) and the text of a file, or of standard input for ``-``.

    Raises ToolError if it cannot be read, is larger than the limit or is no UTF-8 text.
    """
    name = STDIN_NAME if path == "-" else path
    limit = min(limit_mib * 2**20, sys.maxsize - 1)
    try:
        if path == "-":
            if sys.stdin is None:
                raise ToolError("standard input is closed; name an input file")
            data = sys.stdin.buffer.read(limit + 1)
        else:
            if os.path.isdir(path):
                raise ToolError(f"cannot read '{path}': it is a directory")
            with open(path, "rb") as file:
                data = file.read(limit + 1)
    except OSError as error:
        raise ToolError(f"cannot read '{name}': {os_reason(error)}") from error
    if len(data) > limit:
        raise ToolError(f"'{name}' is larger than {limit_mib} MiB; --max-input-size raises the limit")
    return name, _decode(data, name)


def _decode(data: bytes, name: str) -> str:
    if data.startswith(b"ML\xefR"):
        raise ToolError(f"'{name}' is MLIR bytecode; only MLIR text can be read")
    try:
        text = data.decode("utf-8-sig")
        nul = text.find("\0")
        if nul < 0:
            return text
        line, what = text.count("\n", 0, nul) + 1, "a NUL byte"
    except UnicodeDecodeError as error:
        line, what = (
            data.count(b"\n", 0, error.start) + 1,
            f"byte 0x{data[error.start]:02x}, which is not UTF-8",
        )
    raise ToolError(f"'{name}' is no MLIR text: line {line} holds {what}")


@dataclass(frozen=True)
class Chunk:
    """A part of an input file and the number of its first line."""

    text: str
    first_line: int


def split_chunks(text: str) -> Iterator[Chunk]:
    """The parts between lines that read ``// -----``."""
    start, line = 0, 1
    for marker in _SPLIT_MARKER.finditer(text):
        yield Chunk(text[start : marker.start()], line)
        line += text.count("\n", start, marker.end())
        start = marker.end()
    yield Chunk(text[start:], line)


def write_text(path: str, text: str) -> None:
    """Write a file in one step: an existing file is replaced whole or left as it was. Raises ToolError."""
    try:
        if os.path.isdir(path):
            raise ToolError(f"cannot write '{path}': it is a directory")
        replace_file(path, text.encode())
    except OSError as error:
        raise ToolError(f"cannot write '{path}': {os_reason(error)}") from error


def write_stdout(text: str) -> None:
    """Write to standard output, as UTF-8, and flush it. Raises ToolError; ClosedPipe for a closed pipe."""
    if sys.stdout is None:
        raise ToolError("standard output is closed")
    try:
        print_text(text)
    except OSError as error:
        detach(sys.stdout)
        raise ToolError(f"cannot write to standard output: {os_reason(error)}") from error


def reserve_standard_streams() -> None:
    """Open the null device in place of standard streams that are closed, so that no file gets the number of
    one of them, and with it the messages of libraries.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free
