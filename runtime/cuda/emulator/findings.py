"""Findings of the emulator about a kernel: kind, place, and threads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

Index: TypeAlias = tuple[int, int, int]


class FindingKind(StrEnum):
    """Kinds of findings. Those up to `UNDEFINED_SHUFFLE` take check mode, the others fast mode finds too."""

    RACE = "race"
    UNINITIALISED = "uninitialised"
    ASYNC_IN_FLIGHT = "async in flight"
    MISSING_FENCE = "missing fence"
    UNDEFINED_SHUFFLE = "undefined shuffle"
    OUT_OF_BOUNDS = "out of bounds"
    MISALIGNED = "misaligned"
    WRITE_TO_CONST = "write to const"
    BARRIER_DIVERGENCE = "barrier divergence"
    WARP_DIVERGENCE = "warp divergence"
    DEADLOCK = "deadlock"
    TIME_LIMIT = "time limit"
    STACK_OVERFLOW = "stack overflow"
    ILLEGAL_ADDRESS = "illegal address"
    DIVISION_BY_ZERO = "division by zero"
    TRAP = "trap"
    INVALID_MASK = "invalid mask"
    INVALID_SHUFFLE = "invalid shuffle"
    INVALID_BARRIER = "invalid barrier"
    INVALID_MBARRIER = "invalid mbarrier"
    INVALID_COPY = "invalid copy"
    INVALID_WGMMA = "invalid wgmma"
    TOO_MUCH_OUTPUT = "too much output"
    CRASH = "crash"


@dataclass(frozen=True)
class SourceLocation:
    """A line of a source file; `file` as messages show it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class OtherAccess:
    """The access, or the thread that waits, with which a finding is in conflict."""

    block: Index
    thread: Index
    access: str
    location: SourceLocation | None

    def __str__(self) -> str:
        at = "" if self.location is None else f" at {self.location}"
        return f"{self.access}{at} by block {_index(self.block)} thread {_index(self.thread)}"


@dataclass(frozen=True)
class Finding:
    """One finding. `offset` and `size` are in bytes; what is not known is None.

    `access` is what the thread did (`read`, `write`, `atomic`, `async copy`, or an operation's name);
    `detail` adds what the kind does not say.
    """

    kind: FindingKind
    block: Index | None = None
    thread: Index | None = None
    access: str = ""
    location: SourceLocation | None = None
    buffer: str | None = None
    offset: int | None = None
    size: int | None = None
    other: OtherAccess | None = None
    detail: str = ""

    @property
    def message(self) -> str:
        """The finding without its place in the source and in the grid."""
        parts: list[str] = []
        if self.access:
            size = f" of {self.size} bytes" if self.size else ""
            parts.append(f"{self.access}{size}")
        if self.buffer is not None:
            sign = "" if self.offset is None else f"{self.offset:+d}"
            parts.append(f"{'to' if self.access == 'write' else 'at'} {self.buffer}{sign}")
        text = " ".join(parts)
        if self.detail:
            text = f"{text}: {self.detail}" if text else self.detail
        if self.other is not None:
            text += f"; conflicts with {self.other}"
        return text

    def __str__(self) -> str:
        where = "" if self.location is None else f"{self.location}: "
        position = ""
        if self.block is not None and self.thread is not None:
            position = f" [block {_index(self.block)} thread {_index(self.thread)}]"
        elif self.block is not None:
            position = f" [block {_index(self.block)}]"
        message = self.message
        return f"{where}{self.kind}{': ' if message else ''}{message}{position}"


def _index(index: Index) -> str:
    return f"({index[0]},{index[1]},{index[2]})"
