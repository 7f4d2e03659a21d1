// parallel.hpp: parallel maps.
//
// parallel_for(tasks, threads, f)
//     f(task, worker) for task = 0 .. tasks - 1, begun in that order (put the longest first), each by the next
//     idle one of at most `threads` workers, 0 <= worker < threads. Without OpenMP, and worker = 0, if
//     threads <= 1 or tasks <= 1. f returns void or an int: after a result other than 0 no further task is
//     begun, and parallel_for returns one such result, else 0. Which worker runs a task is not determined: what
//     a task computes must depend on `task` alone, and then results do not depend on the number of threads. What
//     the tasks streamed past the caches (vec.hpp) is visible to others when it returns.
// threads(n = 0)
//     n if positive, else the number that OpenMP would use (OMP_NUM_THREADS).
#pragma once
#include <algorithm>
#include <atomic>
#include "profile.hpp"
#include "vec.hpp"
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace bb {
inline int threads(int n = 0) {
#if defined(_OPENMP)
  return n > 0 ? n : omp_get_max_threads();
#else
  return n > 0 ? n : 1;
#endif
}

namespace detail {
template <class F>
BB_INLINE int status_of(F& f, idx task, int worker) {
  if constexpr (std::is_void_v<decltype(f(task, worker))>) {
    f(task, worker);
    BB_PROFILE_BETWEEN
    return 0;
  } else {
    const int status = (int)f(task, worker);
    BB_PROFILE_BETWEEN
    return status;
  }
}
}  // namespace detail

template <class F>
inline int parallel_for(idx tasks, int threads, F&& f) {
  if (threads <= 1 || tasks <= 1) {
    int failed = 0;
    for (idx task = 0; task < tasks && !failed; task++) failed = detail::status_of(f, task, 0);
    fence();
    return failed;
  }
  int result = 0;
#if defined(_OPENMP)
  std::atomic<int> status{0};
  const int team = tasks < threads ? (int)tasks : threads;
  // Of very many tasks, a few at a time: taking one costs as much as a short row.
  const int together = (int)std::clamp(tasks / (team * idx(128)), idx(1), idx(16));
  BB_PROFILE_TEAM
#pragma omp parallel num_threads(team)
  {
    BB_PROFILE_WORKER
#pragma omp for schedule(dynamic, together) nowait
    for (idx task = 0; task < tasks; task++) {
      if (status.load(std::memory_order_relaxed)) continue;
      if (int failed = detail::status_of(f, task, omp_get_thread_num()))
        status.store(failed, std::memory_order_relaxed);
    }
    fence();
  }
  result = status.load();
#else
  for (idx task = 0; task < tasks && !result; task++) result = detail::status_of(f, task, 0);
#endif
  return result;
}
}  // namespace bb
