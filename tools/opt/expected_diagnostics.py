"""``--verify-diagnostics``: comments in a program that say which errors and warnings it must produce.

``// expected-error {{part of the message}}`` on the line itself, or with ``@+N``, ``@-N`` (lines
below and above), ``@above``, ``@below`` (the next line without such a comment) or ``@unknown``
(no place known) after the word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...dialects.diagnostics import Diagnostic, Place

_DESIGNATOR = re.compile(
    r"expected-(?P<severity>error|warning)\s*(?:@(?P<at>[+-]\d+|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)
_ATTEMPT = re.compile(r"\bexpected-[A-Za-z]+")


@dataclass(frozen=True)
class Expectation:
    """An expected diagnostic: its comment's place, the line it must come on (None: no place), its text."""

    comment: Place
    severity: str
    line: int | None
    text: str

    def matches(self, diagnostic: Diagnostic) -> bool:
        if diagnostic.severity != self.severity or self.text not in diagnostic.message:
            return False
        if diagnostic.place is None:
            return self.line is None
        return diagnostic.place.file == self.comment.file and diagnostic.place.line == self.line


def check_expectations(
    text: str, file: str, first_line: int, found: Sequence[Diagnostic]
) -> list[Diagnostic]:
    """The differences between the diagnostics found and those that comments in the text expect."""
    expectations, faults = _expectations(text, file, first_line)
    for diagnostic in found:
        match = next((expected for expected in expectations if expected.matches(diagnostic)), None)
        if match is None:
            faults.append(
                Diagnostic(
                    "error", f"unexpected {diagnostic.severity}: {diagnostic.message}", diagnostic.place
                )
            )
        else:
            expectations.remove(match)
    for expected in expectations:
        message = f'expected {expected.severity} "{expected.text}" was not produced'
        faults.append(Diagnostic("error", message, expected.comment))
    return faults


def _expectations(text: str, file: str, first_line: int) -> tuple[list[Expectation], list[Diagnostic]]:
    lines = text.split("\n")
    bare = [_ATTEMPT.search(line.partition("//")[2]) is None for line in lines]
    expectations: list[Expectation] = []
    faults: list[Diagnostic] = []
    for index, line in enumerate(lines):
        if bare[index]:
            continue
        matches = list(_DESIGNATOR.finditer(line))
        if not matches:
            place = Place(file, first_line + index, line.index("expected-") + 1)
            message = (
                "malformed expectation: expected-error or expected-warning, perhaps @place, then {{text}}"
            )
            faults.append(Diagnostic("error", message, place))
        for match in matches:
            place = Place(file, first_line + index, match.start() + 1)
            target = _target(match["at"], index, bare)
            line_number = None if target is None else first_line + target
            expectations.append(Expectation(place, match["severity"], line_number, match["text"]))
    return expectations, faults


def _target(at: str | None, index: int, bare: Sequence[bool]) -> int | None:
    """Return the index of the line that a designator refers to."""
    match at:
        case None:
            return index
        case "unknown":
            return None
        case "above" | "below":
            step = -1 if at == "above" else 1
            line = index + step
            while 0 <= line < len(bare) and not bare[line]:
                line += step
            return line
        case offset:
            return index + int(offset)
