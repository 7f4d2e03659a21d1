"""Times that no program can beat on this machine, as far as it shows what it can while a row is measured.

A floor is the larger of two times: the row's contractions at the speed of multiply-adds on registers, and the
bytes of its arguments and its result, each once, at the best speed of as many: read by all threads, or half
of them read and half written past the caches. Products of bfloat16 go by the instruction for them where the
processor has it (AVX-512 BF16). Speeds are measured between the rounds of the row, for memory is shared with
other machines and hardly ever as fast as at its best; the best of all counts.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from bb.runtime.compilation.shared_objects import compile_shared_object, load_shared_object
from bb.runtime.machine import limits as machine_limits

from .workloads import Workload

_SOURCE = (
    machine_limits.SOURCE
    + """
#include <cstdlib>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace {
struct Block {
  explicit Block(bb::idx bytes)
      : size(((bytes >> 21) + 1) << 21), data((float*)std::aligned_alloc(1 << 21, size)) {
#ifdef MADV_HUGEPAGE
    if (data) madvise(data, size, MADV_HUGEPAGE);
#endif
    if (data) std::fill_n(data, size / 4, 1.0f);
  }
  ~Block() { std::free(data); }
  bb::idx size;
  float* data;
};

// The best rate of a whole round of all threads within 50 ms, and at least three, in bytes per second.
template <class F>
double joint_rate(int threads, bb::idx bytes, F&& part) {
  double best = 0;
  const auto begin = Clock::now();
  for (int number = 0; number < 4 || seconds(begin) < 0.05; number++) {
    const auto start = Clock::now();
    bb::parallel_for(threads, threads, [&](bb::idx task, int) { part(task); });
    if (number) best = std::max(best, bytes / seconds(start));
  }
  return best;
}
}  // namespace

extern "C" BB_EXPORT double bbk_joint_read(bb::idx bytes, int threads) {
  const bb::idx streams = 4, stream = bytes / 4 / threads / streams / 64 * 64;
  Block block(bytes);
  if (!block.data || !stream) return 0;
  return joint_rate(threads, 4 * stream * streams * threads, [&](bb::idx task) {
    const float* const own = block.data + task * stream * streams;
    bb::vec<float> acc[4];
    for (auto& a : acc) a = bb::splat<float>(0);
    for (bb::idx i = 0; i < stream; i += 2 * bb::W<float>)
      for (int j = 0; j < 4; j++) {
        acc[j] = acc[j] + bb::load(own + j * stream + i);
        acc[j] = acc[j] + bb::load(own + j * stream + i + bb::W<float>);
      }
    for (int j = 1; j < 4; j++) acc[0] = acc[0] + acc[j];
    if (bb::sum(acc[0]) == -1.0f) sink = 1;
  });
}

#ifdef __AVX512F__
extern "C" BB_EXPORT double bbk_joint_copy(bb::idx bytes, int threads) {
  const bb::idx part = bytes / 8 / threads / 64 * 64;
  Block from(bytes / 2), to(bytes / 2);
  if (!from.data || !to.data || !part) return 0;
  return joint_rate(threads, 8 * part * threads, [&](bb::idx task) {
    const float* const read = from.data + task * part;
    float* const written = to.data + task * part;
    for (bb::idx i = 0; i < part; i += 16) _mm512_stream_ps(written + i, _mm512_load_ps(read + i));
    _mm_sfence();
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


def floor(workload: Workload, flops_per_second: float, bytes_per_second: float) -> Floor:
    """The floor of a row at some limits."""
    compute, memory = 1e3 * workload.flops / flops_per_second, 1e3 * workload.bytes / bytes_per_second
    return Floor(compute, "compute") if compute > memory else Floor(memory, "memory")


class Limits:
    """The best speeds measured so far: flops per second by element type, bytes per second by size."""

    def __init__(self, threads: int):
        """Compile what measures. Raises HostCompilerError."""
        self.threads = threads
        self.peaks: dict[str, float] = {"f32": 0.0, "bf16": 0.0}
        self.bandwidths: dict[int, float] = {}
        self._library = load_shared_object(compile_shared_object(_SOURCE, name="machine limits"))

    def watch(self, workload: Workload) -> None:
        """Measure for a tenth of a second or two what bounds a row."""
        if workload.flops:
            self.peaks["f32"] = max(self.peaks["f32"], self._measure("bbk_peak_float"))
            if workload.dtype == "bf16":
                # Without the instruction products are those of float32.
                peak = max(self._measure("bbk_peak_bfloat16"), self.peaks["f32"])
                self.peaks["bf16"] = max(self.peaks["bf16"], peak)
        known = self.bandwidths.get(workload.bytes, 0.0)
        size = ctypes.c_int64(workload.bytes)
        speeds = [self._measure(name, size) for name in ("bbk_joint_read", "bbk_joint_copy")]
        self.bandwidths[workload.bytes] = max(known, *speeds)

    def _measure(self, name: str, *arguments: ctypes.c_int64) -> float:
        """Return the result of a function of the library; 0 where the processor has no such instruction."""
        function = getattr(self._library, name, None)
        if function is None:
            return 0.0
        function.restype = ctypes.c_double
        return float(function(*arguments, ctypes.c_int(self.threads)))

    def floor(self, workload: Workload) -> Floor:
        """The floor of a row that has been watched."""
        return floor(workload, self.peaks[workload.dtype] or 1.0, self.bandwidths[workload.bytes] or 1.0)

    def figures(self) -> dict[str, float]:
        """The limits for people, in GFLOP/s and GB/s."""
        found = {f"{dtype} GFLOP/s": peak / 1e9 for dtype, peak in self.peaks.items() if peak}
        for size, speed in sorted(self.bandwidths.items()):
            found[f"{size / 1e6:.3g} MB, GB/s"] = speed / 1e9
        return {name: round(value, 1) for name, value in found.items()}
