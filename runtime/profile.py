"""Where the time of a compiled program goes, by kernel, by statement and by category, and how near that is to
what the machine can do: `Executable.profile`.

The kernels are compiled a second time, with a reading of the processor's clock between their statements. Runs
of that build and of the usual one take turns. A figure is the mean over the middle half of the former, by
their time: a run that was disturbed is not among them. The model of the machine is the roofline: Williams,
Waterman and Patterson, doi 10.1145/1498765.1498785.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ..dialects import kernel
from ..lowering.emit_cpp import Category, Statement
from ..passes.traffic import item_bytes
from .arrays import ArrayView
from .interpreter import InputError
from .launch_plan import Launch, plan_of
from .machine_limits import MachineLimits, machine_limits
from .profiler import BYTES, ENTRIES, FIRST, FLOPS, OTHER, TICKS, WAITING, Profiler, Watched
from .scalar_semantics import Array
from .timing import interleaved
from .work import Work, work_of

if TYPE_CHECKING:
    from .executable import Executable

_ALONE = Lock()
"""Two profiles at once would count for each other, where they are of the same program."""


@dataclass(frozen=True)
class StatementTime:
    """What one statement of a kernel takes in a call, or the packing of operands within it.

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
    """The least time in which a machine can do some work, in seconds, and what sets it."""

    seconds: float
    by: str
    """`compute` or `memory`."""
    rate: float
    """Flops per second, or bytes per second."""


@dataclass(frozen=True)
class KernelTime:
    """What one launch of a kernel takes in a call.

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
        """Of the contractions, as they are done: what a mask lets a kernel leave out is not among them."""
        return sum(each.flops for each in self._contractions)

    @property
    def operations(self) -> int:
        """Of the sweeps: each on an element as one, an exponential too."""
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
        """The flops of the contractions at the speed of multiply-adds, or the bytes at that of memory."""
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


@dataclass(frozen=True)
class Profile:
    """Where the time of a function's calls goes.

    `seconds` is a call of the build that tells, `plain_seconds` the median call of the usual one. `work` is
    that of the program as given: what the kernels do is in `kernels`, in the order of their launches.
    """

    function: str
    threads: int
    runs: int
    seconds: float
    plain_seconds: float
    kernels: tuple[KernelTime, ...]
    work: Work
    limits: MachineLimits

    @property
    def overhead(self) -> float:
        """How much longer a call takes for the probes, as a share; noise can make it negative."""
        return self.seconds / self.plain_seconds - 1

    @property
    def outside(self) -> float:
        """Seconds of a call in no kernel: what the host computes, and Python."""
        return max(0.0, self.seconds - sum(each.seconds for each in self.kernels))

    @property
    def thread_seconds(self) -> float:
        """The time of all threads in kernels."""
        return sum(each.thread_seconds for each in self.kernels)

    @property
    def categories(self) -> dict[Category, float]:
        """The seconds of all threads by what they do; together they are `thread_seconds`."""
        found = dict.fromkeys(Category, 0.0)
        for each in self.kernels:
            for category, seconds in each.categories.items():
                found[category] += seconds
        return found

    def record(self) -> dict[str, Any]:
        """The profile for JSON: seconds, flops, bytes, and shares from 0 to 1."""
        from .profile_report import record_of

        return record_of(self)

    def __str__(self) -> str:
        """The tables that `bb-run --profile` prints."""
        from .profile_report import report

        return report(self)


def profile_of(
    executable: Executable,
    plain: Callable[..., Array | tuple[Array, ...]],
    watched: Callable[..., object],
    given: Mapping[str, object],
    views: Mapping[SSAValue, ArrayView],
    threads: int,
    runs: int | None = None,
) -> Profile:
    """The profile of calls of an executable with the arrays `given`: of `plain`, it or what it prepared, and
    of `watched`, the same for the build that tells. `views` has all arguments, bound ones too.

    Raises InputError where there are no kernels, and what calls raise.
    """
    function, profiler = executable.function, executable.watched.library.profiler
    name = function.sym_name.data
    launches = [step for step in plan_of(executable.module, function).steps if isinstance(step, Launch)]
    if profiler is None or not launches:
        raise InputError(f"'{name}' has no kernels to profile: all of it stays on whole arrays")
    arrays = list(given.values())
    results = plain(*arrays, threads=threads)
    # New ones, for what a call gives may be read-only.
    outputs = [np.empty_like(each) for each in (results if isinstance(results, tuple) else (results,))]
    inputs = [views[argument].numpy() for argument in function.body.block.args]
    return profile_calls(
        name,
        lambda: plain(*arrays, out=outputs, threads=threads),
        lambda: watched(*arrays, out=outputs, threads=threads),
        profiler,
        launches,
        work_of(executable.library.given, name, inputs, outputs),
        machine_limits(threads, executable.use_cache),
        threads,
        runs,
    )


@dataclass(frozen=True)
class Run:
    """One call: its time, and the launches in it."""

    seconds: float
    launches: list[Watched]


def profile_calls(
    function: str,
    plain: Callable[[], object],
    watched: Callable[[], object],
    profiler: Profiler,
    launches: Sequence[Launch],
    work: Work,
    limits: MachineLimits,
    threads: int,
    runs: int | None = None,
) -> Profile:
    """The profile of two functions that do the same call, with the usual kernels and with watched ones.

    `launches` are those that the program may do, by the names of their kernels. Each function is called at
    least `runs` times, by default as often as `bb-run --bench` does.
    """
    taken: list[Run] = []

    def noted() -> None:
        profiler.forget()
        begin = time.perf_counter()
        watched()
        seconds = time.perf_counter() - begin - profiler.spent
        taken.append(Run(seconds, profiler.launches))

    with _ALONE:
        plain_seconds, own = interleaved([plain, noted], runs)
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
    """The middle half, by time."""
    ordered = sorted(runs, key=lambda run: run.seconds)
    cut = (len(ordered) + 1) // 4
    return ordered[cut : len(ordered) - cut]


def _kernel_time(
    launches: Sequence[Watched],
    launch: Launch,
    statements: Sequence[Statement],
    limits: MachineLimits,
    ticks_per_second: float,
) -> KernelTime:
    """The mean of launches of one kernel."""
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
    """The bytes of the arrays that a launch looks into, each once, from the extents of the kernel's dims."""
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
