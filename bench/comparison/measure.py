"""Measuring: all contenders of a row in turns, so that a slow moment of the machine meets them all."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .contenders import CONTENDERS
from .floors import Limits
from .process import ContenderDied, Process, busy_seconds
from .records import Row, Timing
from .worker import save_case
from .workloads import BOUNDS, Workload

BUILD_TIMEOUT = 300.0
TURN_TIMEOUT = 120.0

ENOUGH_ROUNDS = 3
TOO_SLOW = 4.0
"""A contender that is so many times as slow as the fastest sits out the rounds after `ENOUGH_ROUNDS`."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run."""

    threads: int
    rounds: int
    seconds: float
    """The length of a turn: one call that does not count, then calls for so long, at least one."""


@dataclass
class _Standing:
    """A contender that is ready for the current row."""

    process: Process
    error: float
    build_seconds: float
    variant: str
    seconds: list[float] = field(default_factory=list[float])


class Measurer:
    """The processes of all contenders, and rows measured with them one after the other."""

    def __init__(
        self,
        names: Sequence[str],
        settings: Settings,
        limits: Limits,
        caches: Path,
        tell: Callable[[str], None],
    ):
        self.names, self.settings, self.limits = names, settings, limits
        self.caches, self.tell = caches, tell
        self.processes: dict[str, Process] = {}
        caches.mkdir(parents=True, exist_ok=True)

    def begin(self, workloads: Sequence[Workload]) -> None:
        """Start the processes that some rows need. They load their libraries at the same time."""
        modules = {
            CONTENDERS[name].module: None
            for name in self.names
            if any(CONTENDERS[name].takes(workload) for workload in workloads)
        }
        for module in modules:
            self._process(module).start({"do": "begin"})
        for module in modules:
            with suppress(ContenderDied):  # which the first row finds out, and tells
                self.processes[module].finish(BUILD_TIMEOUT)

    def close(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            process.end()
        self.processes.clear()

    def row(self, workload: Workload, *, timed: bool = True) -> Row:
        """Build and check every contender of a row, then time them in turns, unless only that is wanted."""
        names = [name for name in self.names if CONTENDERS[name].takes(workload)]
        timings: dict[str, Timing] = {}
        start = time.perf_counter()
        # In memory where the system has a place for that: every process reads the arrays once.
        memory = Path("/dev/shm")
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
            inputs = workload.inputs()
            save_case(Path(folder), inputs, workload.reference(inputs))
            del inputs
            standing = self._build(workload, names, Path(folder), timings)
        built = time.perf_counter()
        busy, own = busy_seconds(), self._own_seconds()
        if timed:
            self._take_turns(workload, standing, timings)
        elapsed = time.perf_counter() - built
        foreign = max(0.0, (busy_seconds() - busy - self._own_seconds() + own) / elapsed)
        for name, each in standing.items():
            if name not in timings:
                timings[name] = (
                    Timing.of(each.seconds, each.error, each.build_seconds, each.variant)
                    if each.seconds
                    else Timing(error=each.error, build_seconds=each.build_seconds, variant=each.variant)
                )
        self._forget(names)
        took = f"built in {built - start:.1f} s, measured in {time.perf_counter() - built:.1f} s"
        self.tell(f"{workload.name} ({workload.size}): {len(standing)} of {len(names)} {took}")
        self.limits.watch(workload)
        floor = self.limits.floor(workload)
        return Row(
            name=workload.name,
            kind=workload.kind,
            dtype=workload.dtype,
            extents=dict(workload.extents),
            causal=workload.causal,
            flops=workload.flops,
            bytes=workload.bytes,
            floor_ms=floor.ms,
            floor_by=floor.by,
            contenders={name: timings[name] for name in names},
            foreign=round(foreign, 2) if timed else 0.0,
        )

    def _own_seconds(self) -> float:
        """Processor time of this process and of all contenders'."""
        times = os.times()
        return times.user + times.system + sum(each.cpu_seconds() for each in self.processes.values())

    def _build(
        self, workload: Workload, names: Sequence[str], folder: Path, timings: dict[str, Timing]
    ) -> dict[str, _Standing]:
        opened: set[Process] = set()
        standing: dict[str, _Standing] = {}
        for name in names:
            try:
                process = self._process(CONTENDERS[name].module)
                if process not in opened:
                    request = {
                        "do": "open",
                        "workload": asdict(workload),
                        "folder": str(folder),
                        "threads": self.settings.threads,
                    }
                    _done(process.ask(request, BUILD_TIMEOUT))
                    opened.add(process)
                found = _done(process.ask({"do": "ready", "name": name}, BUILD_TIMEOUT))
            except ContenderDied as failure:
                timings[name] = Timing(failed=str(failure))
                self.tell(f"{workload.name}: {name} is left out: {failure}")
                for other in [other for other, each in standing.items() if not each.process.alive]:
                    del standing[other]
                    timings[other] = Timing(failed=f"lost with {name}, which shares its process")
                continue
            bound = BOUNDS[workload.dtype]
            if not found["error"] <= bound:
                wrong = f"its result is off by {found['error']:.1e}, more than {bound:.0e}"
                timings[name] = Timing(error=found["error"], failed=wrong)
                self.tell(f"{workload.name}: {name} is left out: {wrong}")
                continue
            standing[name] = _Standing(process, found["error"], found["build_seconds"], found["variant"])
        return standing

    def _process(self, module: str) -> Process:
        process = self.processes.get(module)
        if process is None or not process.alive:
            log = self.caches / f"{module}.log"
            process = self.processes[module] = Process(module, self.settings.threads, self.caches, log)
        return process

    def _take_turns(
        self, workload: Workload, standing: Mapping[str, _Standing], timings: dict[str, Timing]
    ) -> None:
        for number in range(self.settings.rounds):
            if number in (0, self.settings.rounds // 2):
                self.limits.watch(workload)
            names = [name for name, each in standing.items() if name not in timings]
            if number >= ENOUGH_ROUNDS:
                names = in_the_running({name: standing[name].seconds for name in names})
            start = number % max(1, len(names))
            for name in names[start:] + names[:start]:
                request = {"do": "time", "name": name, "seconds": self.settings.seconds}
                try:
                    found = _done(standing[name].process.ask(request, TURN_TIMEOUT))
                    standing[name].seconds.extend(found["seconds"])
                except ContenderDied as failure:
                    timings[name] = Timing(error=standing[name].error, failed=str(failure))

    def _forget(self, names: Sequence[str]) -> None:
        for module in {CONTENDERS[name].module for name in names}:
            process = self.processes.get(module)
            if process is not None and process.alive:
                try:
                    _done(process.ask({"do": "close"}, BUILD_TIMEOUT))
                except ContenderDied:
                    process.end()


def in_the_running(seconds: Mapping[str, Sequence[float]]) -> list[str]:
    """The contenders that are not much slower than the fastest."""
    medians = {name: statistics.median(times) for name, times in seconds.items() if times}
    best = min(medians.values(), default=0.0)
    return [name for name, median in medians.items() if median <= TOO_SLOW * best]


def _done(reply: dict[str, Any]) -> dict[str, Any]:
    if "failed" in reply:
        raise ContenderDied(reply["failed"])
    return reply
