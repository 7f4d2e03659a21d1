"""Errors of the emulator: a kernel with findings, and one that does not compile."""

from __future__ import annotations

from .findings import SourceLocation
from .report import LaunchReport


class EmulationError(Exception):
    """A launch had findings; the message names the first ones, `report` has them all."""

    def __init__(self, report: LaunchReport):
        count = len(report.findings)
        shown = "\n".join(str(finding) for finding in report.findings[:5])
        rest = f"\n… and {count - 5} more" if count > 5 else ""
        super().__init__(f"{shown}{rest}")
        self.report = report

    def __reduce__(self) -> tuple[object, ...]:
        return (EmulationError, (self.report,))


class EmulatorBuildError(Exception):
    """A source does not compile for the emulator; the message is one sentence.

    `location` is the line where the first error is, if it is in a source of the user; `output` has all that
    the compiler printed.
    """

    def __init__(self, message: str, *, location: SourceLocation | None = None, output: str = ""):
        super().__init__(message)
        self.location = location
        self.output = output

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuilt, (str(self), self.location, self.output))


def _rebuilt(message: str, location: SourceLocation | None, output: str) -> EmulatorBuildError:
    return EmulatorBuildError(message, location=location, output=output)
