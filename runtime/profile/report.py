"""Profiles of functions: for people as tables, and for programs as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from ...lowering.emit.cpp import Category
from ..host.timing import duration
from ..machine.limits import MachineLimits
from .records import KernelTime, StatementTime, contraction_rate, contraction_share
from .work import Work

LEAST_SHARE = 0.002
"""Of the thread time of a kernel; statements that take less share one line."""


@dataclass(frozen=True)
class Profile:
    """Times of a function's calls, by kernel and by statement; `print` shows them as tables.

    `seconds` is a call of the instrumented build, `plain_seconds` the median call of the usual one. `work` is
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
        """Share of a call that the timers add; noise can make it negative."""
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
        """Return the profile for JSON: seconds, flops, bytes, and shares from 0 to 1."""
        return record_of(self)

    def __str__(self) -> str:
        """Return the tables that `bb-run --profile` prints."""
        return report(self)


def report(profile: Profile, *, color: bool = False) -> str:
    """Return the tables: kernels, categories, statements of each kernel. With `color`, for a terminal."""
    stream = StringIO()
    console = Console(
        file=stream,
        width=10_000,
        color_system="auto" if color else None,
        force_terminal=color,
        highlight=False,
        markup=False,
    )
    for line in _head(profile):
        console.print(line, soft_wrap=True)
    clock = _clock(profile.seconds)
    for table in (
        _kernels(profile, clock),
        _categories(profile, clock),
        *(_statements(kernel, _clock(kernel.seconds)) for kernel in profile.kernels),
    ):
        console.print()
        console.print(table)
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"


Clock = Callable[[float], str]
"""Seconds for people."""


def _clock(seconds: float) -> Clock:
    """Return a writer of seconds, in a unit that makes about so many a number of two or three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= 2 * size:
            return lambda seconds: f"{seconds / size:.2f} {unit}"
    return lambda seconds: f"{seconds / 1e-6:.2f} µs"


def _head(profile: Profile) -> list[str]:
    threads = f"{profile.threads} thread{'s' if profile.threads > 1 else ''}"
    lines = [
        f"profile of @{profile.function}, {threads}: {duration(profile.seconds)} a call, "
        f"{duration(profile.plain_seconds)} without probes ({100 * profile.overhead:+.1f} %); "
        f"the middle half of {profile.runs} runs"
    ]
    if not any(kernel.flops for kernel in profile.kernels):
        lines.append("no contraction: GFLOP/s are those of the operations in sweeps, an exponential as one")
    return lines


def _table(*columns: str) -> Table:
    """Return a table whose first column is text, and the others numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left", no_wrap=True)
    return table


def _kernels(profile: Profile, clock: Clock) -> Table:
    table = _table("kernel", "time", "share", "GFLOP/s", "GB/s", "flop/byte", "roof", "of roof")
    for kernel in profile.kernels:
        roof = kernel.roof
        unit = "GFLOP/s" if roof.by == "compute" else "GB/s"
        table.add_row(
            kernel.name,
            clock(kernel.seconds),
            _percent(kernel.seconds, profile.seconds),
            _rate(kernel.arithmetic / kernel.seconds),
            _rate(kernel.bytes / kernel.seconds),
            f"{kernel.intensity:.3g}",
            f"{roof.by}, {roof.rate / 1e9:.4g} {unit}",
            f"{100 * kernel.share_of_roof:.1f} %",
        )
    table.add_row("outside of kernels", clock(profile.outside), _percent(profile.outside, profile.seconds))
    return table


def _categories(profile: Profile, clock: Clock) -> Table:
    table = _table("thread time", "a call", "share", "while it runs")
    for category, seconds in profile.categories.items():
        note = ""
        if category is Category.CONTRACTION and seconds:
            rate, share = contraction_rate(profile.kernels), contraction_share(profile.kernels)
            note = f"{rate / 1e9:.4g} GFLOP/s, {100 * share:.1f} % of multiply-adds"
        if seconds or category in (Category.OTHER, Category.WAITING):
            table.add_row(category.value, clock(seconds), _percent(seconds, profile.thread_seconds), note)
    table.add_section()
    table.add_row("all threads", clock(profile.thread_seconds), "100.0 %")
    return table


def _statements(kernel: KernelTime, clock: Clock) -> Table:
    table = _table(kernel.name, "what", "times", "thread time", "share", "while it runs")
    table.columns[1].justify = "left"
    small: list[StatementTime] = []
    for each in kernel.statements:
        if each.seconds < LEAST_SHARE * kernel.thread_seconds:
            small.append(each)
            continue
        packing = each.category is Category.PACKING is not each.statement.category
        table.add_row(
            f"  pack for {each.statement.text}" if packing else each.statement.text,
            each.category.value,
            f"{each.entries:,}",
            clock(each.seconds),
            _percent(each.seconds, kernel.thread_seconds),
            _speed(each, kernel),
        )
    seconds = sum(each.seconds for each in small)
    if small:
        table.add_row(
            f"{len(small)} of less than {100 * LEAST_SHARE:g} %",
            "",
            f"{sum(each.entries for each in small):,}",
            clock(seconds),
            _percent(seconds, kernel.thread_seconds),
        )
    for category in (Category.OTHER, Category.WAITING):
        seconds = kernel.other if category is Category.OTHER else kernel.waiting
        table.add_row(f"({category.value})", "", "", clock(seconds), _percent(seconds, kernel.thread_seconds))
    return table


def _speed(each: StatementTime, kernel: KernelTime) -> str:
    """Return the rates that a statement reaches while it runs on all threads."""
    seconds = each.seconds / kernel.threads
    if not seconds:
        return ""
    parts: list[str] = []
    if each.flops and _contracts(each):
        share = each.flops / seconds / kernel.limits.peak(each.statement.type)
        parts.append(f"{_rate(each.flops / seconds)} GFLOP/s, {100 * share:.1f} %")
    elif each.flops:
        parts.append(f"{_rate(each.flops / seconds)} Gop/s")
    if each.bytes:
        parts.append(f"{_rate(each.bytes / seconds)} GB/s")
    return ", ".join(parts)


def _contracts(each: StatementTime) -> bool:
    return each.category is Category.CONTRACTION


def _rate(rate: float) -> str:
    return f"{rate / 1e9:.4g}"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else ""


def record_of(profile: Profile) -> dict[str, Any]:
    """Return the profile for JSON: seconds, flops, bytes, and shares from 0 to 1."""
    return {
        "function": profile.function,
        "threads": profile.threads,
        "runs": profile.runs,
        "seconds": profile.seconds,
        "plain_seconds": profile.plain_seconds,
        "outside_seconds": profile.outside,
        "work": {"flops": profile.work.flops, "bytes": profile.work.bytes},
        "limits": {
            "flops_per_second": {type: profile.limits.peak(type) for type in ("f32", "f64", "bf16")},
            "bytes_per_second": {str(size): speed for size, speed in profile.limits.bandwidths},
        },
        "thread_seconds": _seconds(profile.categories),
        "contraction": {
            "flops_per_second": contraction_rate(profile.kernels),
            "share": contraction_share(profile.kernels),
        },
        "kernels": [_kernel_record(kernel) for kernel in profile.kernels],
    }


def _kernel_record(kernel: KernelTime) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "seconds": kernel.seconds,
        "threads": kernel.threads,
        "flops": kernel.flops,
        "operations": kernel.operations,
        "bytes": kernel.bytes,
        "intensity": kernel.intensity,
        "roof": {"by": kernel.roof.by, "seconds": kernel.roof.seconds, "share": kernel.share_of_roof},
        "thread_seconds": _seconds(kernel.categories),
        "statements": [
            {
                "text": each.statement.text,
                "place": each.statement.place,
                "type": each.statement.type,
                "category": each.category.value,
                "entries": each.entries,
                "thread_seconds": each.seconds,
                "flops": each.flops,
                "bytes": each.bytes,
            }
            for each in kernel.statements
        ],
    }


def _seconds(categories: Mapping[Category, float]) -> dict[str, float]:
    return {category.value: seconds for category, seconds in categories.items()}
