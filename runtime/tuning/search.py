"""Search by measurement: the default, no fusion, and the model's best candidates are measured in turns."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from ...lowering.pipelines.choices import DEFAULT, Choice
from ..host.threads import usable_cpus
from .candidates import CandidatePipeline

COMPILING = 0.6
"""The part of the time after which no further pipeline is compiled."""

LEAST_ROUNDS = 3
SLOWEST = {1: 1.5, 3: 1.25, 6: 1.1, 12: 1.05}
"""After so many rounds, pipelines that take so many times as long as the best one are dropped, which leaves
more time for the others.
"""

TURN = 0.005
"""Seconds of a turn: one call that does not count, then at least two calls."""

WORTH = 0.98
"""Another pipeline must take less than this part of the default's time; a smaller gain may be noise."""

Progress = Callable[[str, float], None]
"""Called with the current step, and the part of the time that has passed."""

Call = Callable[[], object]


class Compile(Protocol):
    """Compiles a program by a choice; returns a function that calls it, or None if the code equals that of
    another choice.
    """

    def __call__(self, choice: Choice) -> Call | None: ...


@dataclass
class Measured:
    """A pipeline, and the seconds of the fastest call of each of its turns."""

    pipeline: CandidatePipeline
    call: Call
    turns: list[float] = field(default_factory=list[float])

    @property
    def time(self) -> float:
        """Seconds of a call: the lower quartile of the turns, because other work of the machine only adds to
        them.
        """
        return sorted(self.turns)[(len(self.turns) - 1) // 4]

    def ratio_to(self, other: Measured) -> float:
        """Return the ratio of its time to that of another pipeline, as the median over turns of the same
        round, in which the machine was in the same state.
        """
        return statistics.median(own / its for own, its in zip(self.turns, other.turns, strict=False))


@dataclass(frozen=True)
class Outcome:
    """The pipelines that were measured, the best one first."""

    measured: tuple[Measured, ...]

    @property
    def best(self) -> Measured:
        """The fastest pipeline; the default if that is as fast within the accuracy of the times."""
        first, default = self.measured[0], self.of(DEFAULT)
        if default is None or max(first.time / default.time, first.ratio_to(default)) < WORTH:
            return first
        return default

    def of(self, fusion: str) -> Measured | None:
        """Return the default, or the pipeline without fusion; None if it was not measured."""
        return next((each for each in self.measured if each.pipeline.choice.fusion == fusion), None)


def search(
    pipelines: Iterator[CandidatePipeline],
    compile: Compile,
    seconds: float,
    most: int,
    progress: Progress = lambda what, part: None,
) -> Outcome:
    """Compile pipelines in order, at most `most`, until most of the time is over, then measure them in turns.

    The first three are measured however long they take to compile. Raises what compiling the first one
    raises; others that do not compile are left out.
    """
    start = time.monotonic()

    def part() -> float:
        return min(1.0, (time.monotonic() - start) / seconds)

    ready: list[Measured] = []
    workers = usable_cpus()
    with ThreadPoolExecutor(workers) as pool:
        pending: dict[Future[Call | None], tuple[int, CandidatePipeline]] = {}
        given = 0
        exhausted = False
        while pending or not exhausted:
            while not exhausted and len(pending) < workers:
                wanted = given < 3 or (part() < COMPILING and given < most)
                pipeline = next(pipelines, None) if wanted else None
                if pipeline is None:
                    exhausted = True
                    break
                pending[pool.submit(compile, pipeline.choice)] = given, pipeline
                given += 1
            progress(f"compiling, {len(ready)} of {given} ways ready", part())
            done, _ = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
            for future in done:
                number, pipeline = pending.pop(future)
                try:
                    call = future.result()
                except Exception:
                    if number == 0:
                        raise
                    continue
                if call is not None:
                    ready.append(Measured(pipeline, call))
    _take_turns(ready, start + seconds, progress, part)
    return Outcome(tuple(sorted(ready, key=lambda each: each.time)))


def _take_turns(
    ready: Sequence[Measured], deadline: float, progress: Progress, part: Callable[[], float]
) -> None:
    number = 0
    running = list(ready)
    while (len(running) > 1 and (number < LEAST_ROUNDS or time.monotonic() < deadline)) or number == 0:
        shift = number % len(running)
        for each in (*running[shift:], *running[:shift]):
            _turn(each)
        number += 1
        best = min(each.time for each in running)
        slowest = min(factor for rounds, factor in SLOWEST.items() if number >= rounds)
        running = [each for each in running if each.time <= slowest * best]
        progress(f"measuring {len(running)} ways, round {number}", part())


def _turn(each: Measured) -> None:
    each.call()
    seconds: list[float] = []
    while len(seconds) < 2 or sum(seconds) < TURN:
        start = time.perf_counter()
        each.call()
        seconds.append(time.perf_counter() - start)
    each.turns.append(min(seconds))


@contextmanager
def progress_bar(name: str, wanted: bool | None) -> Generator[Progress]:
    """A bar on the terminal; none where standard error is no terminal, unless it is wanted."""
    if wanted is False or (wanted is None and (sys.stderr is None or not sys.stderr.isatty())):
        yield lambda what, part: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("tuning {task.fields[name]}", markup=False), BarColumn(), TimeElapsedColumn())
    with Bars(
        *columns,
        TextColumn("{task.fields[what]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    ) as bars:
        task = bars.add_task("", total=1.0, name=name, what="")
        yield lambda what, part: bars.update(task, completed=part, what=what)
