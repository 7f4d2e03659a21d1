"""Measurement of the time of a compiled program by statement: `Executable.profile`.

The kernels are compiled a second time, with a reading of the processor's clock between their statements. Runs
of that build and of the usual one take turns. A figure is the mean over the middle half of the instrumented
runs, by their time, so that disturbed runs do not count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ...dialects import kernel
from ...lowering.emit.cpp import Category, Statement
from ...passes.analysis.traffic.block import item_bytes
from ..arrays.dtypes import Array
from ..calls.counters import BYTES, ENTRIES, FIRST, FLOPS, OTHER, TICKS, WAITING, Profiler, TimedLaunch
from ..calls.launch_plan import Launch, Plan
from ..errors import InputError
from ..host.timing import interleaved
from ..machine.limits import MachineLimits, machine_limits
from .records import KernelTime, StatementTime
from .report import Profile
from .work import work_of

_ALONE = Lock()
"""Held by a profile: two profiles of the same program at once would count for each other."""


class Build(Protocol):
    """One build of a function's kernels, to be called with arrays for its arguments."""

    @property
    def plan(self) -> Plan:
        """The steps of a call."""
        ...

    @property
    def program(self) -> ModuleOp:
        """The program before the passes."""
        ...

    @property
    def use_cache(self) -> bool:
        """True if what is compiled is kept in the user's cache."""
        ...

    @property
    def profiler(self) -> Profiler | None:
        """Reader of the timers in the kernels, if they were built with any."""
        ...

    def inputs(self, arrays: tuple[object, ...]) -> list[Array]:
        """Return all arguments of a call as numpy arrays, bound ones too."""
        ...

    def run(self, arrays: tuple[object, ...], out: object, threads: int | None) -> Array | tuple[Array, ...]:
        """Run the function. Raises InputError and MemoryError."""
        ...


def profile_of(
    plain: Build, instrumented: Build, arrays: tuple[object, ...], threads: int, runs: int | None = None
) -> Profile:
    """Measure calls of a function with some arrays, by two builds of it that take turns.

    Each is called at least `runs` times, by default as often as `bb-run --bench` does. Raises InputError
    where there are no kernels, and what calls raise.
    """
    name = plain.plan.function.sym_name.data
    launches = {step.name: step for step in plain.plan.steps if isinstance(step, Launch)}
    profiler = instrumented.profiler
    if profiler is None or not launches:
        raise InputError(f"'{name}' has no kernels to profile: all of it stays on whole arrays")
    results = plain.run(arrays, None, threads)
    # New ones, for what a call gives may be read-only.
    outputs = [np.empty_like(each) for each in (results if isinstance(results, tuple) else (results,))]
    work = work_of(plain.program, name, plain.inputs(arrays), outputs)
    limits = machine_limits(threads, plain.use_cache)
    times = _timed(
        lambda: plain.run(arrays, outputs, threads),
        lambda: instrumented.run(arrays, outputs, threads),
        profiler,
        runs,
    )
    middle = middle_of(times.instrumented)
    kernels = tuple(
        _kernel_time(
            [run.launches[number] for run in middle],
            launches[first.kernel],
            profiler.statements,
            limits,
            times.ticks_per_second,
        )
        for number, first in enumerate(middle[0].launches)
    )
    return Profile(
        name,
        threads,
        len(times.instrumented),
        statistics.fmean(run.seconds for run in middle),
        statistics.median(times.plain),
        kernels,
        work,
        limits,
    )


@dataclass(frozen=True)
class Run:
    """One call: its time, and the launches in it."""

    seconds: float
    launches: list[TimedLaunch]


@dataclass(frozen=True)
class _Times:
    """The seconds of calls of the usual build, and the calls of the instrumented one."""

    plain: list[float]
    instrumented: list[Run]
    ticks_per_second: float


def _timed(
    plain: Callable[[], object], instrumented: Callable[[], object], profiler: Profiler, runs: int | None
) -> _Times:
    """Run two functions in turns, with the usual kernels and with instrumented ones."""
    taken: list[Run] = []

    def recorded() -> None:
        profiler.forget()
        begin = time.perf_counter()
        instrumented()
        seconds = time.perf_counter() - begin - profiler.spent
        taken.append(Run(seconds, profiler.launches))

    with _ALONE:
        plain_seconds, own = interleaved([plain, recorded], runs)
        rate = profiler.ticks_per_second
        profiler.forget()
    return _Times(list(plain_seconds), taken[-len(own) :], rate)


def middle_of(runs: Sequence[Run]) -> list[Run]:
    """Return the middle half of the runs, by time."""
    ordered = sorted(runs, key=lambda run: run.seconds)
    cut = (len(ordered) + 1) // 4
    return ordered[cut : len(ordered) - cut]


def _kernel_time(
    launches: Sequence[TimedLaunch],
    launch: Launch,
    statements: Sequence[Statement],
    limits: MachineLimits,
    ticks_per_second: float,
) -> KernelTime:
    """Return the mean of launches of one kernel."""
    first = launches[0]
    slots: NDArray[np.float64] = np.mean([each.slots for each in launches], axis=0)
    seconds = statistics.fmean(each.ticks for each in launches) / ticks_per_second
    slots[:, TICKS] /= ticks_per_second
    busy = float(slots[:, TICKS].sum() - slots[WAITING, TICKS])
    parts: list[StatementTime] = []
    for number, statement in enumerate(statements):
        place = FIRST + 2 * number
        for slot, category in ((place, statement.category), (place + 1, Category.PACKING)):
            row = slots[slot]
            if row[ENTRIES]:
                flops, bytes = round(float(row[FLOPS])), round(float(row[BYTES]))
                parts.append(
                    StatementTime(
                        statement, category, float(row[TICKS]), round(float(row[ENTRIES])), flops, bytes
                    )
                )
    return KernelTime(
        launch.name,
        seconds,
        first.threads,
        tuple(parts),
        float(slots[OTHER, TICKS]),
        # Also of threads that had nothing to do, which say nothing.
        max(0.0, first.threads * seconds - busy),
        array_bytes(launch, first.lengths),
        limits,
    )


def array_bytes(launch: Launch, lengths: Sequence[int]) -> int:
    """Return the bytes of the arrays that a launch looks into, each once, by the extents of its dims."""
    extents = dict(zip(launch.dims, lengths, strict=True))
    total = 0
    for uses, argument in zip(launch.uses, launch.function.body.block.args, strict=True):
        type = argument.type
        assert isinstance(type, kernel.ArrayType)
        if not uses:
            continue
        use = uses[0]
        shape = [
            prod(_extent(launch, name, name in use.block_counts, extents) for name in axis)
            for axis in use.axes
        ]
        elements = prod(shape) if type.packed is None else type.packed.elements(shape)
        total += elements * item_bytes(type.element_type)
    return total


def _extent(launch: Launch, name: str, counts_blocks: bool, extents: Mapping[str, int]) -> int:
    size = launch.dims[name].block_size
    return -(-extents[name] // size) if counts_blocks and size is not None else extents[name]
