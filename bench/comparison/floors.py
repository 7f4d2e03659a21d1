"""Times that no program can beat on this machine: what it does at best, from `bb.runtime.machine_limits`.

A floor is the larger of two times: the row's contractions at the speed of multiply-adds on registers, and the
bytes of its arguments and its result, each once, at the speed of reading as many over and over. Products of
bfloat16 go by the instruction for them where the processor has it (AVX-512 BF16).
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace

from bb.runtime import machine_limits
from bb.runtime.shared_objects import compile_shared_object, load_shared_object

from .workloads import Workload

_SOURCE = (
    machine_limits.SOURCE
    + """
#ifdef __AVX512BF16__
#include <immintrin.h>
// Products of pairs of bfloat16, added to float32: 32 multiply-adds an instruction.
extern "C" BB_EXPORT double bbk_peak_bfloat16(int threads) {
  constexpr int chains = 12;
  constexpr bb::idx steps = 50000;
  return best_rate(threads, 2.0 * 32 * chains * steps, [](bb::idx task) {
    __m512 acc[chains];
    for (int i = 0; i < chains; i++) acc[i] = _mm512_set1_ps(float(i + task));
    const auto a = (__m512bh)_mm512_set1_epi16(0x3f80), b = (__m512bh)_mm512_set1_epi16(0x3c00);
    for (bb::idx step = 0; step < steps; step++) {
#pragma GCC unroll 12
      for (int i = 0; i < chains; i++) acc[i] = _mm512_dpbf16_ps(acc[i], a, b);
    }
    for (int i = 1; i < chains; i++) acc[0] = _mm512_add_ps(acc[0], acc[i]);
    if (_mm512_reduce_add_ps(acc[0]) == -1.0f) sink = 1;
  });
}
#endif
"""
)


@dataclass(frozen=True)
class Floor:
    """The least time of a row in milliseconds, and whether compute or memory sets it."""

    ms: float
    by: str


@dataclass(frozen=True)
class Limits:
    """The machine at its best: flops per second in float32 and of bfloat16 products, bytes per second."""

    machine: machine_limits.MachineLimits
    peak_bfloat16: float

    def floor(self, workload: Workload) -> Floor:
        """The floor of a row."""
        peak = self.peak_bfloat16 if workload.dtype == "bf16" else self.machine.peak_float
        compute = 1e3 * workload.flops / peak
        memory = 1e3 * workload.bytes / self.machine.bandwidth(workload.bytes)
        return Floor(compute, "compute") if compute > memory else Floor(memory, "memory")

    def figures(self) -> dict[str, float]:
        """The limits for people, in GFLOP/s and GB/s."""
        found = {
            "f32 GFLOP/s": self.machine.peak_float / 1e9,
            "bf16 GFLOP/s": self.peak_bfloat16 / 1e9,
        }
        for size, speed in self.machine.bandwidths:
            found[f"read {size / 2**20:g} MiB, GB/s"] = speed / 1e9
        return {name: round(value, 1) for name, value in found.items()}


def limits(threads: int) -> Limits:
    """Measure the machine, for about a second. Raises HostCompilerError.

    What `machine_limits` keeps on disk may have been measured while something else ran.
    """
    known = machine_limits.machine_limits(threads)
    library = load_shared_object(compile_shared_object(_SOURCE, name="machine limits"))

    def best(name: str, *arguments: ctypes.c_int64 | ctypes.c_int) -> float:
        function = getattr(library, name, None)
        if function is None:
            return 0.0
        function.restype = ctypes.c_double
        return max(float(function(*arguments)) for _ in range(2))

    count = ctypes.c_int(known.threads)
    peak = max(known.peak_float, best("bbk_peak_float", count))
    bandwidths = tuple(
        (size, max(speed, best("bbk_bandwidth", ctypes.c_int64(size), count)))
        for size, speed in known.bandwidths
    )
    machine = replace(known, peak_float=peak, bandwidths=bandwidths)
    return Limits(machine, max(peak, best("bbk_peak_bfloat16", count)))
