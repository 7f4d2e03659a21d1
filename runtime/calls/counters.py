"""Reader of the timers in instrumented kernels: see `include/bb/profile.hpp`."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...dialects import kernel
from ...lowering.emit.cpp import Statement, dims_in_order, statements_of

TICKS, ENTRIES, FLOPS, BYTES = range(4)
"""The columns of `TimedLaunch.slots`."""

OTHER, WAITING, FIRST = 0, 1, 2
"""The slots of time outside of statements, of the calling thread's waits, and of the first statement. That
one is followed by the slot of the packing within it, then by the next statement, and so on.
"""


@dataclass(frozen=True)
class TimedLaunch:
    """One launch of a kernel: the extents of its dims, its threads, and the ticks from its begin to its end.

    `slots` has ticks, entries, flops and bytes of each slot [slots, 4], of all threads together.
    """

    kernel: str
    lengths: tuple[int, ...]
    threads: int
    ticks: int
    slots: NDArray[np.int64]


class Profiler:
    """Records every launch of the kernels of a library, with the work of their threads.

    The counters belong to the library, so only one thread may call its kernels.
    """

    def __init__(self, library: ctypes.CDLL, kernels: Sequence[kernel.FuncOp]):
        self.statements: list[Statement] = statements_of(kernels)
        self.launches: list[TimedLaunch] = []
        self.spent: float = 0.0
        """Seconds that the recording itself took."""
        self._library = library
        self._dims = {function.sym_name.data: len(dims_in_order(function)) for function in kernels}
        self._counts = np.zeros(4 * (FIRST + 2 * len(self.statements)) + 1, np.int64)
        library.bbk_take_profile.argtypes = [ctypes.c_void_p]
        library.bbk_take_profile.restype = None
        library.bbk_ticks_per_second.restype = ctypes.c_double

    @cached_property
    def ticks_per_second(self) -> float:
        """The rate of the clock, measured for 20 ms."""
        return float(self._library.bbk_ticks_per_second())

    def forget(self) -> None:
        """Drop the launches that were recorded."""
        self.launches = []
        self.spent = 0.0

    def instrumented(self, name: str, entry: Callable[..., int]) -> Callable[..., int]:
        """Return a function that calls a kernel and records its launch."""

        def call(arrays: object, lengths: object, threads: int) -> int:
            status = entry(arrays, lengths, threads)
            begin = time.perf_counter()
            self._library.bbk_take_profile(self._counts.ctypes.data)
            slots = self._counts[:-1].reshape(-1, 4).copy()
            ticks = int(self._counts[-1])
            self.launches.append(TimedLaunch(name, self._lengths(name, lengths), threads, ticks, slots))
            self.spent += time.perf_counter() - begin
            return status

        return call

    def _lengths(self, name: str, lengths: object) -> tuple[int, ...]:
        """The extents that a kernel gets: an array, or its address."""
        count = self._dims[name]
        if isinstance(lengths, int):
            lengths = (ctypes.c_int64 * max(1, count)).from_address(lengths)
        return tuple(cast("Sequence[Any]", lengths)[:count])
