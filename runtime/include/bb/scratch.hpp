// scratch.hpp: the local tier's memory.
//
// scratch<T>(n, slot = 0)
//     n elements of T for the calling thread, aligned to 64 bytes, on huge pages where the system gives them;
//     nullptr if there is no memory. The block of a (thread, slot) grows, is kept for later calls and freed when
//     the thread ends. Contents are undefined, and a later call with the same slot and a larger n invalidates
//     the pointer: take all that a kernel needs in ONE call. Slots 0 to 2 are the caller's, 3 to 5 are
//     contract's, and 6 is that of finite_copy, whose copy is read while contract runs.
// plane_ld<T>(lanes)
//     the leading dimension, in elements, to give a plane: a multiple of W<T>, and beyond 256 bytes an odd number
//     of cache lines, so that rows spread over the sets of the cache.
// Status
//     what a kernel returns: ok = 0, out_of_memory = 1.
#pragma once
#include <cstdlib>
#include "vec.hpp"
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace bb {
enum Status : int { ok = 0, out_of_memory = 1 };

namespace detail {
struct Arena {
  void* memory = nullptr;
  std::size_t size = 0;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() { release(); }

  void release() {
#if defined(__linux__)
    if (memory) munmap(memory, size);
#else
    std::free(memory);
#endif
    memory = nullptr;
    size = 0;
  }

  void* take(std::size_t bytes) {
    if (bytes <= size) return memory;
    constexpr std::size_t page = std::size_t(2) << 20, small = std::size_t(64) << 10;
    if (bytes > (std::size_t(1) << 62)) return nullptr;
    std::size_t unit = bytes > page / 2 ? page : small, want = (bytes + unit - 1) / unit * unit;
    release();
#if defined(__linux__)
    // One huge page more than asked, then the unaligned ends go back: huge pages need alignment to their
    // size.
    std::size_t room = unit == page ? want + page : want;
    void* got = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return nullptr;
    char *base = (char*)got, *start = base;
    if (unit == page) {
      start = (char*)(((std::uintptr_t)base + page - 1) / page * page);
      if (start > base) munmap(base, start - base);
      if (base + room > start + want) munmap(start + want, base + room - (start + want));
      madvise(start, want, MADV_HUGEPAGE);
    }
    memory = start;
#else
    memory = std::aligned_alloc(4096, want);
    if (!memory) return nullptr;
#endif
    size = want;
    return memory;
  }
};
// Of default visibility: the libraries of a process share them.
inline thread_local Arena arenas[7] __attribute__((visibility("default")));
}  // namespace detail

template <class T>
inline T* scratch(idx n, int slot = 0) {
  if (n < 0 || (std::size_t)n > (std::size_t(1) << 62) / sizeof(T)) return nullptr;
  return (T*)detail::arenas[slot].take(n ? n * sizeof(T) : 1);
}

template <class T>
BB_INLINE constexpr idx plane_ld(idx lanes) {
  constexpr idx line = 64 / sizeof(T);
  return lanes <= 4 * line ? round_up(lanes, W<T>) : (ceil_div(lanes, line) | 1) * line;
}
}  // namespace bb
