"""How many threads a program may use."""

from __future__ import annotations

import math
import operator
import os
from pathlib import Path

from .settings import SettingError, setting

THREADS_VARIABLE = "BB_NUM_THREADS"
MOST_THREADS = 4096

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")


def thread_count(threads: int | None = None) -> int:
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
    if isinstance(threads, bool):
        raise SettingError(f"{what} is {threads!r}, expected an integer")
    try:
        count = operator.index(threads)  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise SettingError(f"{what} is {threads!r}, expected an integer") from error
    return _in_range(count, what)


def _in_range(count: int, what: str) -> int:
    if not 1 <= count <= MOST_THREADS:
        raise SettingError(f"{what} is {count}, expected 1 to {MOST_THREADS}")
    return count


def usable_cpus() -> int:
    """The CPUs in this process's affinity mask, or what a container's quota allows, if less; at least 1."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    quota = cpu_quota()
    if quota is not None:
        count = min(count, math.ceil(quota))
    return max(count, 1)


def cpu_quota(root: Path = CGROUP_ROOT, own: Path = OWN_CGROUP) -> float | None:
    """The CPUs (a fraction is possible) that the control groups of this process grant; None: no limit."""
    quotas = [quota for folder in own_cgroups("cpu", root, own) if (quota := _quota(folder)) is not None]
    return min(quotas, default=None)


def own_cgroups(controller: str, root: Path, own: Path) -> list[Path]:
    """The directories of this process's control groups (version 1 or 2), each followed by those around it."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        top = root / controllers if controllers else root
        folder = top / path.lstrip("/")
        # Inside a container the path may be the host's, which is not mounted: its root is ours then.
        folder = folder if ".." not in folder.parts and folder.is_dir() else top
        while True:
            found.append(folder)
            if folder == top:
                break
            folder = folder.parent
    return found


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
