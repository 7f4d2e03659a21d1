// rows.hpp: rows of lanes that sweeps work on where they lie in arrays, and results that go past the caches.
//
// past_caches(bytes)     true if an array of so many bytes is written past the caches: it would not stay in them.
//                        bbk_past_caches_from sets the bytes from which on that is so; at first the size of the
//                        last-level cache, last_level_cache().
// load_in_place<T>(p, ld, outer, lanes, src, outer_stride, lane_stride)
//     ReadRows<T, S>: the rows at src themselves where lanes are contiguous and whole vectors, else copies of them
//     in the plane at p. load(o, l) is the vector at lane l of row o, at(o, l) one element; 16 bits are widened.
// store_in_place<T>(p, ld, lanes, dst, outer_stride, lane_stride, past)
//     WrittenRows<T, S> to write results to: the rows at dst themselves or the plane at p, likewise. With `past`
//     they are at dst only if they are aligned; put(o, l, v) then streams, and rounds to S.
// rows.finish(dst, outer_stride, lane_stride, outer, lanes, past)   what is left to do after the last put
// stream_plane<T>(dst, outer_stride, lane_stride, src, ld, outer, lanes, past)
//     as store_plane, but past the caches where `past` is true and lanes are contiguous: first and last elements
//     of rows that are no whole aligned vectors are stored as usual. Any storage type.
// parallel_for ends with a fence() of each worker.
#pragma once
#include <atomic>
#include <cstdio>
#include "plane.hpp"
#if defined(__linux__)
#include <unistd.h>
#endif

namespace bb {
// The bytes of the largest cache that CPU 0 reaches, as Linux has them, or else the C library, which on some
// processors knows only the sum over all caches of a package.
inline idx last_level_cache() {
  long size = 0;
#if defined(__linux__)
  for (int index = 0; index < 8; index++) {
    char name[64];
    std::snprintf(name, sizeof name, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    std::FILE* const file = std::fopen(name, "r");
    if (!file) break;
    long kib = 0;
    if (std::fscanf(file, "%ldK", &kib) == 1 && kib << 10 > size) size = kib << 10;
    std::fclose(file);
  }
#endif
#if defined(_SC_LEVEL3_CACHE_SIZE)
  if (size <= 0) size = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (size <= 0) size = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
  return size > 0 ? size : idx(32) << 20;
}
inline std::atomic<idx> past_caches_from{last_level_cache()};
BB_INLINE bool past_caches(idx bytes) { return bytes >= past_caches_from.load(std::memory_order_relaxed); }

namespace detail {
// True if rows of S can be read and written as vectors of T.
template <class T, class S>
inline constexpr bool direct = std::is_same_v<T, S> || (std::is_same_v<T, float> && is_half<S>);
template <class T, class S>
BB_INLINE bool whole_rows(idx lanes, idx lane_stride) {
  return direct<T, S> && lane_stride == 1 && lanes % W<T> == 0;
}
// The bytes of W<T> elements of storage type S.
template <class T, class S>
inline constexpr idx vector_bytes = W<T> * sizeof(S);
template <class T, class S>
inline constexpr bool streams =
    (std::is_same_v<T, S> && std::is_floating_point_v<T>) || (std::is_same_v<T, float> && is_half<S> && BB_VECTOR_BYTES >= 32);

BB_INLINE void stream_halves(void* p, halves h) {
#if BB_VECTOR_BYTES == 64
  _mm256_stream_si256((__m256i*)p, (__m256i)h);
#elif BB_VECTOR_BYTES == 32
  _mm_stream_si128((__m128i*)p, (__m128i)h);
#else
  *(halves_unaligned*)p = h;
#endif
}
}  // namespace detail

// p aligned to W<T> elements of S.
template <class T, class S>
BB_INLINE void stream_as(S* p, vec<T> v) {
  if constexpr (std::is_same_v<T, S>) stream(p, v);
  else if constexpr (std::is_same_v<S, bf16>) detail::stream_halves(p, detail::narrow_bf16(v));
  else detail::stream_halves(p, detail::narrow_f16(v));
}
template <class T, class S>
struct ReadRows {
  const T* plane;
  idx ld;
  const S* array;  // nullptr where the rows are copied
  idx stride;

  BB_INLINE vec<T> load(idx o, idx l) const {
    if constexpr (std::is_same_v<T, S>) return bb::load(plane + o * ld + l);
    else if (array) return load_as<T>(array + o * stride + l);
    else return bb::load(plane + o * ld + l);
  }
  BB_INLINE T at(idx o, idx l) const {
    if constexpr (!std::is_same_v<T, S>)
      if (array) return cast<T>(array[o * stride + l]);
    return plane[o * ld + l];
  }
};

template <class T, class S>
BB_INLINE ReadRows<T, S> load_in_place(T* p, idx ld, idx outer, idx lanes, const S* src, idx outer_stride,
                                       idx lane_stride) {
  if (detail::whole_rows<T, S>(lanes, lane_stride)) {
    if constexpr (std::is_same_v<T, S>) return {src, outer_stride, src, outer_stride};
    else return {nullptr, 0, src, outer_stride};
  }
  load_plane<T>(p, ld, outer, lanes, src, outer_stride, lane_stride, outer, lanes);
  return {p, ld, nullptr, 0};
}

template <class T, class S>
inline __attribute__((noinline)) void stream_rows(S* dst, idx outer_stride, const T* src, idx ld, idx outer,
                                                  idx lanes) {
  constexpr idx w = W<T>, bytes = detail::vector_bytes<T, S>;
  for (idx o = 0; o < outer; o++) {
    S* d = dst + o * outer_stride;
    const T* s = src + o * ld;
    const idx before = idx(-(std::uintptr_t)d % bytes / sizeof(S)), head = before < lanes ? before : lanes;
    idx l = head;
    if (head) store_as<T>(d, load(s, head), head);
    for (; l + w <= lanes; l += w) stream_as<T>(d + l, load(s + l));
    if (l < lanes) store_as<T>(d + l, load(s + l, lanes - l), lanes - l);
  }
}
template <class T, class S>
BB_INLINE void stream_plane(S* dst, idx outer_stride, idx lane_stride, const T* src, idx ld, idx outer,
                            idx lanes, bool past) {
  if constexpr (detail::streams<T, S>)
    if (past && lane_stride == 1) return stream_rows<T>(dst, outer_stride, src, ld, outer, lanes);
  store_plane<T>(dst, outer_stride, lane_stride, src, ld, outer, lanes);
}
template <class T, class S>
struct WrittenRows {
  T* plane;
  idx ld;
  S* array;  // nullptr where results go to the plane first
  idx stride;
  bool past;

  BB_INLINE void put(idx o, idx l, vec<T> v) const {
    if constexpr (detail::direct<T, S>) {
      if (array) {
        if constexpr (detail::streams<T, S>)
          if (past) return stream_as<T>(array + o * stride + l, v);
        return store_as<T>(array + o * stride + l, v);
      }
    }
    store(plane + o * ld + l, v);
  }
  BB_INLINE void finish(S* dst, idx outer_stride, idx lane_stride, idx outer, idx lanes, bool past) const {
    if (!array) stream_plane<T>(dst, outer_stride, lane_stride, plane, ld, outer, lanes, past);
  }
};

template <class T, class S>
BB_INLINE WrittenRows<T, S> store_in_place(T* p, idx ld, idx lanes, S* dst, idx outer_stride, idx lane_stride,
                                           bool past) {
  const bool aligned = (std::uintptr_t)dst % detail::vector_bytes<T, S> == 0 && outer_stride % W<T> == 0;
  if (detail::whole_rows<T, S>(lanes, lane_stride) && (aligned || !past)) return {p, ld, dst, outer_stride, past};
  return {p, ld, nullptr, 0, false};
}
}  // namespace bb
