"""Findings of the CUDA emulator as text: a sentence, and the lines of the source that it names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from ...runtime.cuda.emulator import Finding, LaunchReport
from ...runtime.cuda.emulator.findings import OtherAccess, SourceLocation

_CONTEXT = 1
"""Lines that are shown around one that a finding names."""


def distinct(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for each kind and pair of places: other threads and other schedules find the same again."""
    seen: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        other = finding.other.location if finding.other is not None else None
        key = (finding.kind, finding.location, finding.buffer, other, finding.access)
        seen.setdefault(key, finding)
    return list(seen.values())


def print_finding(console: Console, finding: Finding, file_name: str, source: Sequence[str]) -> None:
    """The finding's sentence and, where its lines are in `source`, an excerpt with marks under them."""
    where = "" if finding.location is None else f"{finding.location}: "
    console.print(Text.assemble((where, "bold"), (f"{finding.kind}:", "bold red"), " ", _sentence(finding)))
    marks: dict[int, tuple[str, str]] = {}
    if (other := finding.other) is not None and other.location is not None:
        _mark(marks, other.location, file_name, _other_text(other), "yellow")
    if finding.location is not None:
        who = "" if finding.thread is None else f" by thread {_index(finding.thread)}"
        _mark(marks, finding.location, file_name, f"{finding.access or finding.kind}{who}", "bold red")
    _excerpt(console, source, marks)


def _sentence(finding: Finding) -> str:
    who = ""
    if finding.block is not None:
        who = f" [block {_index(finding.block)}"
        who += f" thread {_index(finding.thread)}]" if finding.thread is not None else "]"
    return f"{finding.message}{who}".lstrip()


def _index(index: Sequence[int]) -> str:
    return f"({','.join(str(each) for each in index)})"


def _other_text(other: OtherAccess) -> str:
    return f"{other.access} by thread {_index(other.thread)} of block {_index(other.block)}"


def _mark(
    marks: dict[int, tuple[str, str]], place: SourceLocation, file_name: str, text: str, style: str
) -> None:
    if place.file == file_name and place.line > 0:
        before = marks.get(place.line)
        marks[place.line] = (f"{before[0]}; {text}" if before is not None else text, style)


def _excerpt(console: Console, source: Sequence[str], marks: dict[int, tuple[str, str]]) -> None:
    shown = sorted(
        {
            number
            for line in marks
            for number in range(line - _CONTEXT, line + _CONTEXT + 1)
            if 1 <= number <= len(source)
        }
    )
    width = len(str(shown[-1])) if shown else 0
    previous = 0
    for number in shown:
        if previous and number > previous + 1:
            console.print(Text(f" {'':{width}} ┆", "dim"))
        previous = number
        line = source[number - 1].expandtabs(4)
        text, style = marks.get(number, ("", ""))
        console.print(Text.assemble((f" {number:{width}} │ ", "dim"), (line, "bold" if text else "")))
        if text:
            indent = len(line) - len(line.lstrip())
            console.print(
                Text.assemble((f" {'':{width}} │ ", "dim"), (f"{' ' * indent}^ {text}", style or "red"))
            )
    if shown:
        console.print()


def as_json(report: LaunchReport, findings: Sequence[Finding]) -> dict[str, object]:
    """A launch's report of plain values; `findings` stand in place of the report's own."""
    return {
        "kernel": report.kernel,
        "finished": report.finished,
        "schedule": report.schedule,
        "seed": report.seed,
        "findings": [{**asdict(finding), "message": finding.message} for finding in findings],
        "counters": asdict(report.counters),
        "buffers": [asdict(buffer) for buffer in report.buffers],
        "shared": {**asdict(report.shared), "conflict_factor": report.shared.conflict_factor},
        "output": report.output,
    }
