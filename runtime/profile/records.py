"""Records of a profile: times of kernels and their statements, beside the limits of the machine.

The model of the machine is the roofline: Williams, Waterman and Patterson, doi 10.1145/1498765.1498785.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...lowering.emit.cpp import Category, Statement
from ..machine.limits import MachineLimits


@dataclass(frozen=True)
class StatementTime:
    """Time and work of one statement of a kernel in a call, or of the packing of operands within it.

    `seconds` are those of all threads together; `entries` is how often a thread gets there. `flops` counts a
    multiply-add as two, and in a sweep each operation on an element as one. `bytes` move between arrays and
    tiles, or are operands of a contraction in arrays, each element once for every entry.
    """

    statement: Statement
    category: Category
    seconds: float
    entries: int
    flops: int
    bytes: int


@dataclass(frozen=True)
class Roof:
    """The least time in which a machine can do some work, in seconds, and what limits it."""

    seconds: float
    by: str
    """`compute` or `memory`."""
    rate: float
    """Flops per second, or bytes per second."""


@dataclass(frozen=True)
class KernelTime:
    """Time and work of one launch of a kernel in a call.

    `seconds` is from its begin to its end, `other` and `waiting` are of all threads, as those of the
    statements. `bytes` are those of every array that the kernel reads or writes, each once.
    """

    name: str
    seconds: float
    threads: int
    statements: tuple[StatementTime, ...]
    other: float
    waiting: float
    bytes: int
    limits: MachineLimits

    @property
    def thread_seconds(self) -> float:
        """The time of all its threads."""
        return self.threads * self.seconds

    @property
    def categories(self) -> dict[Category, float]:
        """The seconds of all threads by what they do; together they are `thread_seconds`."""
        found = dict.fromkeys(Category, 0.0)
        for each in self.statements:
            found[each.category] += each.seconds
        found[Category.OTHER] += self.other
        found[Category.WAITING] += self.waiting
        return found

    @property
    def flops(self) -> int:
        """Flops of the contractions, as they are done: without what a mask lets a kernel leave out."""
        return sum(each.flops for each in self._contractions)

    @property
    def operations(self) -> int:
        """Operations of the sweeps: each on an element as one, an exponential too."""
        return sum(each.flops for each in self.statements) - self.flops

    @property
    def arithmetic(self) -> int:
        """The flops of the contractions, or the operations of the sweeps where there is no contraction."""
        return self.flops or self.operations

    @property
    def intensity(self) -> float:
        """Arithmetic for each byte."""
        return self.arithmetic / self.bytes if self.bytes else 0.0

    @property
    def roof(self) -> Roof:
        """Time of the contractions at the speed of multiply-adds, or of the bytes at that of memory."""
        compute = sum(each.flops / self.limits.peak(each.statement.type) for each in self._contractions)
        speed = self.limits.bandwidth(self.bytes)
        if compute >= self.bytes / speed and self.flops:
            return Roof(compute, "compute", self.flops / compute)
        return Roof(self.bytes / speed, "memory", speed)

    @property
    def share_of_roof(self) -> float:
        """The least time over the time that it takes."""
        return self.roof.seconds / self.seconds

    @property
    def contraction_rate(self) -> float:
        """Flops per second of the contractions while they run on all threads, without packing; 0 for none."""
        return contraction_rate([self])

    @property
    def contraction_share(self) -> float:
        """The share of the speed of multiply-adds that the contractions reach while they run."""
        return contraction_share([self])

    @property
    def _contractions(self) -> list[StatementTime]:
        return [each for each in self.statements if each.category is Category.CONTRACTION]


def contraction_rate(kernels: Sequence[KernelTime]) -> float:
    """Flops per second of the contractions of some kernels while they run on all threads; 0 for none."""
    seconds = sum(each.categories[Category.CONTRACTION] / each.threads for each in kernels)
    return sum(each.flops for each in kernels) / seconds if seconds else 0.0


def contraction_share(kernels: Sequence[KernelTime]) -> float:
    """The share of the speed of multiply-adds that contractions reach while they run."""
    seconds = sum(each.categories[Category.CONTRACTION] / each.threads for each in kernels)
    least = sum(
        part.flops / each.limits.peak(part.statement.type)
        for each in kernels
        for part in each.statements
        if part.category is Category.CONTRACTION
    )
    return least / seconds if seconds else 0.0
