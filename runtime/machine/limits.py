"""Peak rates of this machine: multiply-adds from registers, and reads by size of what is read.

They are measured by a short C++ program that is compiled through the same cache as kernels, and remembered on
disk until processor, compiler or number of threads change. The figures are the best of many rounds: those of
an otherwise idle machine.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import cast

from ..compilation.cache import digest_of
from ..compilation.directory import user_cache, write_whole
from ..compilation.host_compiler import find_compiler
from ..compilation.shared_objects import compile_shared_object, load_shared_object
from ..host.processor import cpu_identity
from ..host.threads import usable_cpus

SIZES = tuple(2**exponent for exponent in range(18, 29, 2))
"""Bytes that are read over and over to measure a bandwidth: from 256 KiB to 256 MiB."""

SOURCE = """\
#include <bb/cpu.hpp>
#include <bb/kernel.hpp>
#include <chrono>
#include <memory>
#include <sys/mman.h>
#include <vector>
#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace {
using Clock = std::chrono::steady_clock;

double seconds(Clock::time_point from) {
  return std::chrono::duration<double>(Clock::now() - from).count();
}

volatile float sink;  // what is written here is not optimised away

// The work of one round done over and over by each thread until time is up, without barriers: the best rates
// of the threads, added up. What else runs on the machine delays rounds, but hardly all of them.
template <class F>
double best_rate(int threads, double work, F&& round) {
  std::vector<double> best(threads, 0.0);
  const auto begin = Clock::now();
  bb::parallel_for(threads, threads, [&](bb::idx task, int) {
    for (int number = 0; number < 4 || seconds(begin) < 0.1; number++) {
      const auto start = Clock::now();
      round(task);
      if (number) best[task] = std::max(best[task], work / seconds(start));
    }
  });
  double total = 0;
  for (double rate : best) total += rate;
  return total;
}

// Multiply-adds on registers alone, enough chains of them to hide their latency; in flops per second.
template <class T>
double peak(int threads) {
  constexpr int chains = 12;
  constexpr bb::idx steps = 50000;
  return best_rate(threads, 2.0 * bb::W<T> * chains * steps, [](bb::idx task) {
    bb::vec<T> acc[chains];
    for (int i = 0; i < chains; i++) acc[i] = bb::splat<T>(T(i + task));
    const auto factor = bb::splat<T>(T(0.5)), term = bb::splat<T>(T(1));
    for (bb::idx step = 0; step < steps; step++) {
#pragma GCC unroll 12
      for (int i = 0; i < chains; i++) acc[i] = acc[i] * factor + term;
    }
    for (int i = 1; i < chains; i++) acc[0] = acc[0] + acc[i];
    if (bb::sum(acc[0]) == T(-1)) sink = 1;
  });
}

#ifdef __AVX512BF16__
// Products of pairs of bfloat16, added to float: 32 multiply-adds an instruction.
double peak_bfloat16(int threads) {
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
#else
double peak_bfloat16(int) { return 0; }
#endif

// Reads of as many bytes, each thread its own part, over and over; in bytes per second. 0: no memory.
double bandwidth(bb::idx bytes, int threads) {
  const bb::idx part = bytes / threads / 1024 * 256;  // floats
  const bb::idx page = 1 << 21, room = (4 * part * threads / page + 1) * page;
  std::unique_ptr<float, decltype(&std::free)> memory((float*)std::aligned_alloc(page, room), std::free);
  if (!memory || !part) return 0;
  float* const data = memory.get();
#ifdef MADV_HUGEPAGE  // with pages of 4 KiB it would be the limit of the address translation
  madvise(data, room, MADV_HUGEPAGE);
#endif
  std::fill_n(data, part * threads, 0.0f);
  const bb::idx times = std::max<bb::idx>(1, (bb::idx(1) << 24) / bytes);
  return best_rate(threads, 4.0 * part * times, [&](bb::idx task) {
    bb::vec<float> acc[8];
    for (auto& a : acc) a = bb::splat<float>(0);
    const float* const own = data + task * part;
    for (bb::idx time = 0; time < times; time++)
      for (bb::idx i = 0; i + 8 * bb::W<float> <= part; i += 8 * bb::W<float>)
        for (int j = 0; j < 8; j++) acc[j] = acc[j] + bb::load(own + i + j * bb::W<float>);
    for (int j = 1; j < 8; j++) acc[0] = acc[0] + acc[j];
    if (bb::sum(acc[0]) == -1.0f) sink = 1;
  });
}
}  // namespace

extern "C" BB_EXPORT double bbk_peak_float(int threads) { return peak<float>(threads); }
extern "C" BB_EXPORT double bbk_peak_double(int threads) { return peak<double>(threads); }
extern "C" BB_EXPORT double bbk_peak_bfloat16(int threads) { return peak_bfloat16(threads); }
extern "C" BB_EXPORT double bbk_bandwidth(bb::idx bytes, int threads) {
  return bandwidth(bytes, threads);
}
"""


@dataclass(frozen=True)
class MachineLimits:
    """Peak rates of a machine with some number of threads: flops and bytes per second.

    `peak_float` and `peak_double` count a multiply-add as two. `bandwidths` has the speed of reading as many
    bytes again and again, by their number. `peak_bfloat16` is that of AVX512-BF16, 0 where there is none;
    that of AMX is not measured.
    """

    threads: int
    peak_float: float
    peak_double: float
    bandwidths: tuple[tuple[int, float], ...]
    peak_bfloat16: float = 0.0

    def peak(self, type: str) -> float:
        """Flops per second of multiply-adds in f32, f64 or bf16, which without an instruction is f32."""
        if type == "f64":
            return self.peak_double
        return max(self.peak_float, self.peak_bfloat16) if type == "bf16" else self.peak_float

    def bandwidth(self, bytes: int) -> float:
        """Bytes per second of a program that touches so many bytes: that of the caches that hold them."""
        return next((speed for size, speed in self.bandwidths if size >= bytes), self.bandwidths[-1][1])

    def floor(self, flops: int, bytes: int, *, double: bool = False) -> float:
        """Seconds that any program needs for so many flops and so many bytes."""
        return max(flops / (self.peak_double if double else self.peak_float), bytes / self.bandwidth(bytes))


@cache
def machine_limits(threads: int, use_cache: bool = True) -> MachineLimits:
    """The limits of this machine, from disk or measured within about a second. Raises HostCompilerError."""
    directory = user_cache() if use_cache else None
    threads = min(threads, usable_cpus())
    parts = [cpu_identity(), *find_compiler(use_cache=use_cache).identity, SOURCE, str(threads)]
    path = None if directory is None else directory.folder("limits") / f"{digest_of(parts)}.json"
    if path is not None and (known := _read(path, threads)) is not None:
        return known
    limits = _measured(threads, use_cache)
    if directory is not None and directory.writable and path is not None:
        with suppress(OSError):  # then the next process measures again
            write_whole(directory, path, json.dumps(asdict(limits)).encode())
    return limits


def _measured(threads: int, use_cache: bool) -> MachineLimits:
    library = load_shared_object(compile_shared_object(SOURCE, name="machine limits", use_cache=use_cache))
    for name in ("bbk_peak_float", "bbk_peak_double", "bbk_peak_bfloat16"):
        getattr(library, name).argtypes = [ctypes.c_int]
        getattr(library, name).restype = ctypes.c_double
    library.bbk_bandwidth.argtypes = [ctypes.c_int64, ctypes.c_int]
    library.bbk_bandwidth.restype = ctypes.c_double
    speeds = [(size, float(library.bbk_bandwidth(size, threads))) for size in SIZES]
    return MachineLimits(
        threads,
        float(library.bbk_peak_float(threads)),
        float(library.bbk_peak_double(threads)),
        tuple((size, speed) for size, speed in speeds if speed > 0),
        float(library.bbk_peak_bfloat16(threads)),
    )


def _read(path: Path, threads: int) -> MachineLimits | None:
    """Return the measurements of an earlier process; None without a valid record."""
    try:
        record = cast("Mapping[str, object]", json.loads(path.read_bytes()))
        pairs = cast("list[tuple[int, float]]", record["bandwidths"])
        limits = MachineLimits(
            threads,
            float(cast(float, record["peak_float"])),
            float(cast(float, record["peak_double"])),
            tuple((int(size), float(speed)) for size, speed in pairs),
            float(cast(float, record["peak_bfloat16"])),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    sound = limits.bandwidths and min(speed for _, speed in limits.bandwidths) > 0
    return limits if sound and limits.peak_float > 0 and limits.peak_double > 0 else None
