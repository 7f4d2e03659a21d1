"""Statements and their layout in lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias

WIDTH = 100
"""Columns of a line."""
INDENT = 4
WIDEST_ALIGNMENT = 14
"""The most columns that aligning the signs of equality may add to a line."""


@dataclass(frozen=True)
class Assign:
    """`o += dot(p, v)`; `sign` is what stands before the sign of equality, or nothing."""

    target: str
    value: str
    sign: str = ""

    def text(self, width: int = 0) -> str:
        """The line, with the sign of equality in column `width` at least."""
        return f"{self.target.ljust(width - len(self.sign) - 1)} {self.sign}= {self.value}"

    @property
    def width(self) -> int:
        """The column of the sign of equality."""
        return len(self.target) + 1 + len(self.sign)


@dataclass(frozen=True)
class Line:
    """Anything else on one line."""

    text: str


@dataclass(frozen=True)
class Loop:
    """`forall m in M, l in L:` with what it repeats; the note stands at the end."""

    keyword: str
    ranges: tuple[str, ...]
    body: list[Statement] = field(default_factory=list["Statement"])
    note: str = ""


Statement: TypeAlias = Assign | Line | Loop


def rendered(statements: Sequence[Statement], depth: int = 0) -> list[str]:
    """The lines of a program."""
    margin = " " * (INDENT * depth)
    lines: list[str] = []
    for kind, group in groupby(statements, type):
        if kind is Assign:
            lines += [margin + line for line in _aligned(group)]
            continue
        for statement in group:
            if isinstance(statement, Loop):
                if not statement.body:
                    continue
                loop = _merged(statement)
                note = f"  // {loop.note}" if loop.note else ""
                lines.append(f"{margin}{loop.keyword} {', '.join(loop.ranges)}:{note}")
                lines += rendered(loop.body, depth + 1)
            elif isinstance(statement, Line):
                lines.append(margin + statement.text)
    return lines


def _merged(loop: Loop) -> Loop:
    """Perfectly nested loops of one kind as one."""
    while len(loop.body) == 1 and not loop.note:
        inner = loop.body[0]
        if not isinstance(inner, Loop) or inner.keyword != loop.keyword or inner.note:
            break
        loop = Loop(loop.keyword, loop.ranges + inner.ranges, inner.body)
    return loop


def _aligned(group: Iterable[Statement]) -> list[str]:
    runs: list[list[Assign]] = []
    for assign in group:
        assert isinstance(assign, Assign)
        widths = [assign.width, *(other.width for other in runs[-1])] if runs else []
        if runs and max(widths) - min(widths) <= WIDEST_ALIGNMENT:
            runs[-1].append(assign)
        else:
            runs.append([assign])
    return [assign.text(max(other.width for other in run)) for run in runs for assign in run]


def wrapped(head: str, parts: Sequence[str], tail: str) -> list[str]:
    """`head` and comma-separated `parts` on as few lines as fit, aligned at the end of the head."""
    indent = " " * len(head)
    lines = [head]
    for index, part in enumerate(parts):
        last = index + 1 == len(parts)
        piece = part + (tail if last else ", ")
        if len(lines[-1]) + len(piece.rstrip()) > WIDTH and lines[-1].strip() and lines[-1] != head:
            lines[-1] = lines[-1].rstrip()
            lines.append(indent)
        lines[-1] += piece
    if not parts:
        lines[-1] += tail
    return lines
