"""User's message for a failed run of the host compiler: its first error, and the op it came from."""

from __future__ import annotations

import re
from pathlib import Path

from ...dialects.diagnostics import one_sentence
from ...lowering.emit.source_text import location_of_line

_ERROR = re.compile(
    r"^(?:(?P<where>[^\n:]+(?::\d+)*):\s+)?(?:fatal |internal compiler )?error: (?P<text>.*)$", re.MULTILINE
)
_LINKER = re.compile(r"^.*(?:undefined reference to|undefined symbol|cannot find).*$", re.MULTILINE)
_FILE_LIMIT = re.compile(r"File size limit exceeded|File too large|signal 25\b")
_SIGXFSZ = 25
_LONGEST = 400


class HostCompilerError(Exception):
    """There is no C++ compiler that works, or it refused a source; the message is one sentence.

    After a failed compilation `output` has all that the compiler printed, `source_path` is the file that was
    kept, and `location` is the place in the user's program that the failing line was generated for, if known.
    """

    def __init__(
        self,
        message: str,
        *,
        output: str = "",
        source_path: Path | None = None,
        location: str | None = None,
    ):
        super().__init__(message)
        self.output = output
        self.source_path = source_path
        self.location = location

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuilt, (str(self), self.output, self.source_path, self.location))


def _rebuilt(message: str, output: str, source_path: Path | None, location: str | None) -> HostCompilerError:
    return HostCompilerError(message, output=output, source_path=source_path, location=location)


def reason(error: OSError) -> str:
    """Return the system's reason for an error, for the middle of a sentence: `permission denied`."""
    return (error.strerror or type(error).__name__).lower()


def first_error(output: str, status: int) -> str:
    """The first error line of a compiler or linker; where there is none, how the compiler ended."""
    if _FILE_LIMIT.search(output) or status == -_SIGXFSZ:
        return "a file would be larger than the system allows this process to write (ulimit -f)"
    if (linker := _LINKER.search(output)) is not None and (
        (found := _ERROR.search(output)) is None or found["text"].startswith("ld returned")
    ):
        text = linker[0]
    elif (found := _ERROR.search(output)) is not None:
        text = found[0]
    elif status == 0:
        text = "it reported success but made no object"
    elif status < 0:
        text = f"it was stopped by signal {-status}"
    else:
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "")
        said = f" and printed {one_sentence(last)!r} last" if last else ""
        text = f"it ended with status {status}{said}"
    text = one_sentence(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def first_line_in(output: str, file_name: str) -> int | None:
    """The line of the source to which the output refers first.

    An error inside a template of a header is traced to the line that instantiates it; `In file included
    from` lines, which lead to no statement, do not count.
    """
    found = re.search(rf"^{re.escape(file_name)}:(\d+)[:,]", output, re.MULTILINE)
    return int(found[1]) if found is not None else None


def compilation_error(
    name: str, source: str, file_name: str, kept: Path | None, output: str, status: int
) -> HostCompilerError:
    """The error for a failed compilation of `source`, which the compiler saw as `file_name`."""
    line = first_line_in(output, file_name)
    location = None if line is None else location_of_line(source, line)
    where = "" if location is None else f"{location}: "
    source_note = "" if kept is None else f"; its source is kept in {kept}"
    return HostCompilerError(
        f"{where}the C++ generated for '{name}' does not compile: {first_error(output, status)}{source_note}",
        output=output,
        source_path=kept,
        location=location,
    )
