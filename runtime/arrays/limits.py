"""Size of memory, and arrays that fit it: sizes are checked before anything is allocated."""

from __future__ import annotations

import contextlib
import ctypes
import math
import mmap
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from ..errors import InputError
from ..host.control_groups import CGROUP_ROOT, OWN_CGROUP, own_cgroups
from ..host.settings import binary_size
from .dtypes import Array

ALIGNMENT = 64
"""Bytes: a cache line, and the widest vector register."""

LARGEST_OFFSET = 2**63 - 1

_LARGE_PAGE = 2**21
"""Bytes of a large page, and the alignment of its address."""

_ALWAYS = 2**24
"""Bytes that are allocated without a query of free memory, which takes longer than a small program runs."""

MEMINFO = Path("/proc/meminfo")


def available_memory(meminfo: Path = MEMINFO, root: Path = CGROUP_ROOT, own: Path = OWN_CGROUP) -> int | None:
    """Bytes that can be allocated without swapping, within the container's limit; None if the system does not
    say.
    """
    found = [_system_memory(meminfo), *(_group_memory(folder) for folder in own_cgroups("memory", root, own))]
    return min((count for count in found if count is not None), default=None)


def _system_memory(meminfo: Path) -> int | None:
    try:
        for line in meminfo.read_text().splitlines():
            key, _, value = line.partition(":")
            if key == "MemAvailable":
                return int(value.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, ValueError):  # macOS knows no free pages
        return None


def _group_memory(folder: Path) -> int | None:
    second = (folder / "memory.max").exists()
    limit_file, use_file = (
        ("memory.max", "memory.current") if second else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    )
    try:
        limit = (folder / limit_file).read_text().strip()
        if limit == "max":
            return None
        used = int((folder / use_file).read_text())
        # Files that were read count as use, and go when memory is needed.
        for line in (folder / "memory.stat").read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == ("inactive_file" if second else "total_inactive_file"):
                used -= int(value)
        return max(int(limit) - used, 0)
    except (OSError, ValueError):
        return None


def checked_bytes(label: str, shape: Sequence[int], itemsize: int) -> int:
    """Return the bytes of a compact array. Raises InputError if 64-bit offsets or the memory do not
    suffice.
    """
    count = math.prod(shape) * itemsize
    if any(extent < 0 for extent in shape):
        raise InputError(f"{label} has shape {list(shape)}, expected no negative extents")
    if count > LARGEST_OFFSET - ALIGNMENT:
        raise InputError(f"{label} of shape {list(shape)} is too large: its offsets do not fit into 64 bits")
    if count < _ALWAYS:
        return count
    available = available_memory()
    if available is not None and count > available:
        raise InputError(
            f"{label} of shape {list(shape)} needs {binary_size(count)}, "
            f"but only {binary_size(available)} of memory are available"
        )
    return count


def allocate(label: str, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """A new array, not initialised, in row-major order, aligned to 64 bytes.

    Raises InputError, naming `label`, where it is too large (see `checked_bytes`).
    """
    count = checked_bytes(label, shape, dtype.itemsize)
    try:
        raw = np.empty(count + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as error:
        raise InputError(f"{label} of shape {list(shape)} needs {binary_size(count)}: too much") from error
    start = -data_address(raw) % ALIGNMENT
    return np.ndarray(tuple(shape), dtype, raw, start)


def allocate_on_large_pages(label: str, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """A new array, zero, in row-major order, for data that is streamed: on large pages where the system has
    them and the array is worth it, else as `allocate` gives it.

    Raises InputError, naming `label`, where it is too large.
    """
    advice = getattr(mmap, "MADV_HUGEPAGE", None)
    count = checked_bytes(label, shape, dtype.itemsize)
    if advice is None or count < _LARGE_PAGE:
        array = allocate(label, shape, dtype)
        array.fill(0)
        return array
    try:
        memory = mmap.mmap(-1, count + _LARGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(f"{label} of shape {list(shape)} needs {binary_size(count)}: too much") from error
    with contextlib.suppress(OSError):  # a kernel without large pages
        memory.madvise(advice)
    raw = np.frombuffer(memory, np.uint8)
    start = -raw.ctypes.data % _LARGE_PAGE
    return raw[start : start + count].view(dtype).reshape(tuple(shape))


def _data_address(array: Array) -> int:
    return cast(int, array.__array_interface__["data"][0])  # `ctypes.data` is another address if it is empty


def _address_in_object(array: Array) -> int:
    """Read the address from the array object: in numpy's C API it is the first field after the head."""
    return ctypes.c_void_p.from_address(id(array) + object.__basicsize__).value or 0


def _reader_of_addresses() -> Callable[[Array], int]:
    """Return the reader of that field, which takes a fifth of the time, if it gives the right address
    here.
    """
    if sys.implementation.name == "cpython":
        probes = [np.empty(3), np.empty((4, 5), np.uint8)[1:, 2:]]
        if all(_address_in_object(probe) == _data_address(probe) for probe in probes):
            return _address_in_object
    return _data_address


data_address: Callable[[Array], int] = _reader_of_addresses()
"""The address of an array's first element."""
