"""Functions timed side by side, and times for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

LEAST_RUNS = 20
LEAST_SECONDS = 0.5
MOST_SECONDS = 10.0
"""After this many seconds of one function, three runs are enough."""


def interleaved(
    calls: Sequence[Callable[[], object]], runs: int | None = None, least: float | None = None
) -> list[list[float]]:
    """The seconds of each run of some functions that take turns, so that a slow moment meets them all.

    Each gets two runs to warm up, and then at least as many as `runs` that take `least` seconds together; by
    default `LEAST_RUNS` and `LEAST_SECONDS`.
    """
    runs = LEAST_RUNS if runs is None else runs
    least = LEAST_SECONDS if least is None else least
    for call in calls:
        call()
        call()
    seconds: list[list[float]] = [[] for _ in calls]
    totals = [0.0] * len(calls)
    unfinished = list(range(len(calls)))
    while unfinished:
        for index in unfinished:
            start = time.perf_counter()
            calls[index]()
            taken = time.perf_counter() - start
            seconds[index].append(taken)
            totals[index] += taken
        done = {
            index
            for index in unfinished
            if (len(seconds[index]) >= runs and totals[index] >= least)
            or (len(seconds[index]) >= 3 and totals[index] >= MOST_SECONDS)
        }
        unfinished = [index for index in unfinished if index not in done]
    return seconds


def duration(seconds: float) -> str:
    """Seconds for people: `1.234 ms`."""
    return f"{seconds:.4g} s" if seconds >= 1 else f"{seconds * 1e3:.4g} ms"
