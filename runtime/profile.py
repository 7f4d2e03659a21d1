"""Measurement of where the time of a compiled program goes: `Executable.profile`.

The kernels are compiled a second time, with a reading of the processor's clock between their statements. Runs
of that build and of the usual one take turns. A figure is the mean over the middle half of the former, by
their time: a run that was disturbed is not among them.
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

from ..dialects import kernel
from ..lowering.emit_cpp import Category, Statement
from ..passes.traffic import item_bytes
from .interpreter import InputError
from .launch_plan import Launch, Plan
from .machine_limits import MachineLimits, machine_limits
from .profile_records import KernelTime, StatementTime
from .profile_report import Profile
from .profiler import BYTES, ENTRIES, FIRST, FLOPS, OTHER, TICKS, WAITING, Profiler, TimedLaunch
from .scalar_semantics import Array
from .timing import interleaved
from .work import Work, work_of

_ALONE = Lock()
"""Two profiles at once would count for each other, where they are of the same program."""


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

    def inputs(self, arrays: tuple[object, ...]) -> list[Array]:
        """Return all arguments of a call as numpy arrays, bound ones too."""
        ...

    def run(self, arrays: tuple[object, ...], out: object, threads: int | None) -> Array | tuple[Array, ...]:
        """Run the function. Raises InputError and MemoryError."""
        ...


def profile_of(
    plain: Build,
    instrumented: Build,
    profiler: Profiler | None,
    arrays: tuple[object, ...],
    threads: int,
    runs: int | None = None,
) -> Profile:
    """Measure calls of a function with some arrays, by two builds of it; `profiler` reads the timers of one.

    Raises InputError where there are no kernels, and what calls raise.
    """
    function = plain.plan.function
    name = function.sym_name.data
    launches = [step for step in plain.plan.steps if isinstance(step, Launch)]
    if profiler is None or not launches:
        raise InputError(f"'{name}' has no kernels to profile: all of it stays on whole arrays")
    results = plain.run(arrays, None, threads)
    # New ones, for what a call gives may be read-only.
    outputs = [np.empty_like(each) for each in (results if isinstance(results, tuple) else (results,))]
    return profile_calls(
        name,
        lambda: plain.run(arrays, outputs, threads),
        lambda: instrumented.run(arrays, outputs, threads),
        profiler,
        launches,
        work_of(plain.program, name, plain.inputs(arrays), outputs),
        machine_limits(threads, plain.use_cache),
        threads,
        runs,
    )


@dataclass(frozen=True)
class Run:
    """One call: its time, and the launches in it."""

    seconds: float
    launches: list[TimedLaunch]


def profile_calls(
    function: str,
    plain: Callable[[], object],
    instrumented: Callable[[], object],
    profiler: Profiler,
    launches: Sequence[Launch],
    work: Work,
    limits: MachineLimits,
    threads: int,
    runs: int | None = None,
) -> Profile:
    """Measure two functions that do the same call, with the usual kernels and with instrumented ones.

    `launches` are those that the program may do, by the names of their kernels. Each function is called at
    least `runs` times, by default as often as `bb-run --bench` does.
    """
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
    middle = middle_of(taken[-len(own) :])
    by_name = {launch.name: launch for launch in launches}
    kernels = tuple(
        _kernel_time(
            [run.launches[number] for run in middle],
            by_name[first.kernel],
            profiler.statements,
            limits,
            rate,
        )
        for number, first in enumerate(middle[0].launches)
    )
    return Profile(
        function,
        threads,
        len(own),
        statistics.fmean(run.seconds for run in middle),
        statistics.median(plain_seconds),
        kernels,
        work,
        limits,
    )


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
    for use, argument in zip(launch.uses, launch.function.body.block.args, strict=True):
        type = argument.type
        assert isinstance(type, kernel.ArrayType)
        if use is None:
            continue
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
