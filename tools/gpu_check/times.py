"""Times on a GPU, for `bb.tools.gpu_check`: a program of ours and torch's ways to do the same, in turns.

Before each call the second-level cache is filled with something else, and a kernel keeps the GPU busy until
the call is launched whole: what events then count is the GPU's time, not that of Python.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...dialects.diagnostics import one_sentence
from ...runtime.api import compile_program
from ...runtime.arrays.dtypes import BFLOAT16
from ...runtime.executable.executable import Executable
from .cases import Call, Case, Make

OURS = "ours"
ROUNDS, WARM_UP = 11, 3
LONGEST = 8.0
"""Time limit for the rounds of one case, in seconds; then the samples so far count."""
FAR = 1e30
"""Difference reported between a result with NaN or infinities and one without."""
LONGEST_WAIT = 20e-3
"""Longest time that the GPU is kept busy, in seconds; samples for which it was too short are reported."""

SPIN = """
extern "C" __global__ void bb_spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}
"""


class Timer:
    """Times single calls on the current stream of CuPy and torch, the default one."""

    def __init__(self, cupy: Any):
        self._cupy = cupy
        attributes = cupy.cuda.Device().attributes
        self._other = cupy.empty(max(2 * int(attributes.get("L2CacheSize", 0)), 2**26), np.uint8)
        self._spin = cupy.RawModule(code=SPIN, options=("-std=c++17",)).get_function("bb_spin")
        self._cycles = 1e3 * int(attributes.get("ClockRate", 0)) or 2e9

    def sample(self, call: Call, wait: float) -> tuple[float, float, bool]:
        """Return seconds of the GPU, seconds until the end of the launch, and True if the GPU stayed busy."""
        start, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        self._other.data.memset_async(0, int(self._other.nbytes))
        self._spin((1,), (1,), (np.int64(wait * self._cycles),))
        start.record()
        begun = time.perf_counter()
        result = call()
        host = time.perf_counter() - begun
        end.record()
        hidden = not start.done
        end.synchronize()
        del result
        return 1e-3 * float(self._cupy.cuda.get_elapsed_time(start, end)), host, hidden


@dataclass
class _Rival:
    call: Call
    seconds: list[float] = field(default_factory=list[float])
    host: list[float] = field(default_factory=list[float])
    wait: float = 200e-6
    exposed: int = 0
    """Number of samples that include Python's time."""


def time_case(case: Case, cupy: Any, torch: Any, *, own: bool = True) -> dict[str, object]:
    """The times of a case, without `own` those of the rivals alone.

    By rival: `milliseconds` of the GPU and `launch_microseconds` until a call is launched, as medians;
    `quartiles` of the former; why one is missing (`refused`). Those in `exposed` have Python's time in
    theirs. `difference` is how far our result is from torch's, relative to the largest element.
    """
    host = _arrays(case)
    refused: dict[str, str] = {}
    makes: dict[str, Make] = {}
    executable: Executable | None = None
    given: list[Any] = []
    if own:
        try:
            executable = compile_program(case.text, target="cuda")
            makes[OURS] = _ours(executable)
            if torch is None:
                given = [executable.memory.from_host(array.astype(BFLOAT16)) for array in host]
        except Exception as error:  # of any pass: the rivals' times are wanted all the same
            refused[OURS] = _reason(error)
    if torch is not None:
        makes |= case.rivals
        given = [torch.from_numpy(array).cuda().to(torch.bfloat16) for array in host]
    rivals: dict[str, _Rival] = {}
    timer = Timer(cupy)
    for name, make in makes.items():
        try:
            rival = _Rival(make(torch, given))
            _warm_up(timer, rival)
            rivals[name] = rival
        except Exception as error:  # whatever a library raises where it does not want to
            refused[name] = _reason(error)
            _recover(cupy, torch)
    _rounds(timer, rivals, refused)
    found: dict[str, object] = {
        "case": case.name,
        "flops": case.flops,
        "bytes": case.bytes,
        "milliseconds": {name: 1e3 * statistics.median(each.seconds) for name, each in rivals.items()},
        "quartiles": {
            name: [1e3 * float(part) for part in np.quantile(each.seconds, (0.25, 0.75))]
            for name, each in rivals.items()
        },
        "launch_microseconds": {name: 1e6 * statistics.median(each.host) for name, each in rivals.items()},
        "exposed": [name for name, each in rivals.items() if 2 * each.exposed > len(each.seconds)],
        "refused": refused,
    }
    found["difference"] = None if executable is None else _difference(executable, rivals, refused)
    rivals.clear()
    gc.collect()
    _recover(cupy, torch)
    return found


def _ours(executable: Executable) -> Make:
    return lambda torch, arrays: lambda: executable(*arrays)


def _arrays(case: Case) -> list[np.ndarray[Any, np.dtype[np.float32]]]:
    """Return arguments with elements of magnitude 1, or scaled so that a product with them has it."""
    rng = np.random.default_rng(0)
    found: list[np.ndarray[Any, np.dtype[np.float32]]] = []
    for number, shape in enumerate(case.shapes):
        scale = 1.0 if number == 0 or len(shape) != 2 else shape[0] ** -0.5
        found.append((scale * rng.standard_normal(shape, np.float32)).astype(np.float32))
    return found


def _warm_up(timer: Timer, rival: _Rival) -> None:
    for turn in range(WARM_UP):
        _, host, _ = timer.sample(rival.call, rival.wait)
        if turn:  # the first one may compile
            rival.wait = min(LONGEST_WAIT, max(rival.wait, 2 * host))


def _rounds(timer: Timer, rivals: dict[str, _Rival], refused: dict[str, str]) -> None:
    """Time all contenders in turns; each round begins with another one."""
    begun = time.monotonic()
    for turn in range(ROUNDS):
        if not rivals or time.monotonic() - begun > LONGEST:
            return
        names = list(rivals)
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            rival = rivals[name]
            try:
                seconds, host, hidden = timer.sample(rival.call, rival.wait)
                if not hidden and rival.wait < LONGEST_WAIT:
                    rival.wait = min(LONGEST_WAIT, max(2 * rival.wait, 2 * host))
                    seconds, host, hidden = timer.sample(rival.call, rival.wait)
            except Exception as error:
                refused[name] = _reason(error)
                del rivals[name]
                continue
            rival.seconds.append(seconds)
            rival.host.append(host)
            rival.exposed += not hidden


def _difference(
    executable: Executable, rivals: Mapping[str, _Rival], refused: dict[str, str]
) -> float | None:
    """Return the relative difference of our result from torch's; None without either."""
    if OURS not in rivals or len(rivals) < 2:
        return None
    try:
        own = executable.memory.as_host(rivals[OURS].call()).astype(np.float32)
        name = next(name for name in rivals if name != OURS)
        other = np.asarray(rivals[name].call().float().cpu().numpy())
    except Exception as error:
        refused["comparison"] = _reason(error)
        return None
    difference = float(np.max(np.abs(own - other)) / max(float(np.max(np.abs(other))), 1e-30))
    return difference if np.isfinite(difference) else FAR


def _reason(error: Exception) -> str:
    return one_sentence(f"{type(error).__name__}: {error}")[:300]


def _recover(cupy: Any, torch: Any) -> None:
    """Free the memory of a case; a broken device shows in the next case."""
    with suppress(Exception):
        cupy.get_default_memory_pool().free_all_blocks()
    if torch is not None:
        with suppress(Exception):
            torch.cuda.empty_cache()
