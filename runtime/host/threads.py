"""Number of threads that a program may use."""

from __future__ import annotations

import math
import operator
import os
from functools import cache
from pathlib import Path
from typing import SupportsIndex, cast

from .control_groups import CGROUP_ROOT, OWN_CGROUP, own_cgroups
from .settings import SettingError, setting

THREADS_VARIABLE = "BB_NUM_THREADS"
MOST_THREADS = 4096


def thread_count(threads: SupportsIndex | None = None) -> int:
    """The number of threads: the argument, else BB_NUM_THREADS, else the CPUs that this process may use.

    Raises SettingError for anything but 1 to 4096.
    """
    if threads is not None:
        return _checked(threads)
    text = setting(THREADS_VARIABLE)
    if text is not None:
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise SettingError(f"{THREADS_VARIABLE} is {text!r}, expected a number of threads")
        return _in_range(int(text), THREADS_VARIABLE)
    return min(usable_cpus(), MOST_THREADS)


def _checked(threads: object) -> int:
    what = "the number of threads"
    # numpy's integers count, too; booleans do not.
    index = getattr(type(threads), "__index__", None)
    if index is None or isinstance(threads, bool):
        raise SettingError(f"{what} is {threads!r}, expected an integer")
    return _in_range(operator.index(cast(SupportsIndex, threads)), what)


def _in_range(count: int, what: str) -> int:
    if not 1 <= count <= MOST_THREADS:
        raise SettingError(f"{what} is {count}, expected 1 to {MOST_THREADS}")
    return count


def usable_cpus() -> int:
    """The CPUs in this process's affinity mask, or what a container's quota allows, if less; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = _own_quota()
    if quota is not None:
        count = min(count, math.ceil(quota))
    return max(count, 1)


@cache
def _own_quota() -> float | None:
    return cpu_quota()  # reading it takes longer than a small program, and it hardly ever changes


def cpu_quota(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUP) -> float | None:
    """The CPUs (a fraction is possible) that the control groups of this process grant; None: no limit."""
    quotas = [quota for folder in own_cgroups("cpu", root, own) if (quota := _quota(folder)) is not None]
    return min(quotas, default=None)


def _quota(folder: Path) -> float | None:
    try:
        if (folder / "cpu.max").exists():
            quota, period = (folder / "cpu.max").read_text().split()[:2]
        else:
            quota = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
        if quota in ("max", "-1") or int(quota) <= 0 or int(period) <= 0:
            return None
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None
