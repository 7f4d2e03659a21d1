"""Diagnostics of NVRTC and ptxas, as sentences with a place in the CUDA source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ....dialects.diagnostics import one_sentence

_NVRTC = re.compile(
    r"^(?:(?P<file>[^\n]*?)\((?P<line>\d+)\): |At end of source: )?"
    r"(?P<severity>(?:catastrophic |internal )?error|warning)(?: #[\w-]+)?: (?P<text>.*)$"
)
_PTXAS = re.compile(
    r"^ptxas (?:[^,;\n]*, line (?P<line>\d+); )?\s*(?P<severity>error|fatal|warning)\s*: (?P<text>.*)$"
)
_OPTION = re.compile(r"^nvrtc: error: (?P<text>.*)$")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"\n]*)"', re.MULTILINE)
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")


@dataclass(frozen=True)
class CudaDiagnostic:
    """One message of the compiler. `line` and `column` count from 1; 0 where they are not known."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    severity: str = "error"

    def __str__(self) -> str:
        place = ":".join([self.file, *(str(number) for number in (self.line, self.column) if number)])
        return f"{place}: {self.severity}: {self.message}" if place else f"{self.severity}: {self.message}"


class CudaCompilerError(Exception):
    """CUDA source was refused, or there is nothing to compile it with; the message is one sentence.

    `diagnostics` has all errors of the compiler, `log` all that it printed.
    """

    def __init__(self, message: str, *, diagnostics: Sequence[CudaDiagnostic] = (), log: str = ""):
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        self.log = log

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuilt, (str(self), self.diagnostics, self.log))


def _rebuilt(message: str, diagnostics: Sequence[CudaDiagnostic], log: str) -> CudaCompilerError:
    return CudaCompilerError(message, diagnostics=diagnostics, log=log)


def file_names(ptx: str, name: str) -> dict[str, str]:
    """File number of `.loc` -> file, where NVRTC compiled the program `name` with `/` as directory."""
    own = "/" + name.lstrip("/")
    return {number: name if path in (name, own) else path for number, path in _FILE.findall(ptx)}


def source_of_ptx_line(ptx: str, line: int, name: str) -> tuple[str, int]:
    """The file and line of the CUDA source that line `line` of its PTX came from; `("", 0)` if unknown."""
    for text in reversed(ptx.split("\n")[:line]):
        if (found := _LOC.match(text)) is not None:
            return file_names(ptx, name).get(found[1], name), int(found[2])
    return "", 0


def parse_log(log: str, name: str, ptx: str = "") -> list[CudaDiagnostic]:
    """The errors and warnings in the log of NVRTC; `ptx` (with line information) places those of ptxas."""
    found: list[CudaDiagnostic] = []
    lines = log.split("\n")
    for index, text in enumerate(lines):
        if (match := _PTXAS.match(text)) is not None:
            if "aborted due to errors" in match["text"] and found:
                continue
            place = source_of_ptx_line(ptx, int(match["line"]), name) if match["line"] else ("", 0)
            severity = "warning" if match["severity"] == "warning" else "error"
            found.append(CudaDiagnostic(f"ptxas: {one_sentence(match['text'])}", *place, severity=severity))
        elif (match := _OPTION.match(text)) is not None:
            found.append(CudaDiagnostic(one_sentence(match["text"])))
        elif (match := _NVRTC.match(text)) is not None:
            severity = "warning" if match["severity"] == "warning" else "error"
            caret = lines[index + 2] if index + 2 < len(lines) else ""
            # The source line is shown two columns to the right, and a caret below it.
            column = caret.index("^") - 1 if match["file"] and caret.strip() == "^" else 0
            file = (match["file"] or "").removeprefix("/") if match["file"] == f"/{name}" else match["file"]
            line = int(match["line"]) if match["line"] else 0
            found.append(CudaDiagnostic(one_sentence(match["text"]), file or "", line, column, severity))
    return found


def compile_error(log: str, name: str, arch: str, refused: str, ptx: str) -> CudaCompilerError:
    """The error for a source that NVRTC refused."""
    errors = [entry for entry in parse_log(log, name, ptx) if entry.severity == "error"]
    if not errors:
        last = next((text for text in reversed(log.splitlines()) if text.strip()), refused)
        errors = [CudaDiagnostic(f"NVRTC refused it: {one_sentence(last)}", name)]
    first = errors[0]
    text = str(first) if first.file else f"{name}: {first}"
    more = f" (and {len(errors) - 1} more for {arch})" if len(errors) > 1 else f" (for {arch})"
    return CudaCompilerError(text + more, diagnostics=errors, log=log)
