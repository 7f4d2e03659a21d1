// kernel.hpp: what a generated kernel needs beside the tile library proper.
//
// Array                  an array as a kernel gets it: a pointer, and the stride of each axis in elements (any sign, 0 too).
// BB_EXPORT              a function that the library of a kernel shows
// rounded<S>(v)          v rounded to the storage type S and back: f16, bf16, or float for a kernel that computes in double
// fma(a, b, c)           a * b + c, rounded once
// log1p(x)               lane by lane
// loaded(n), stored(n)   with BB_COUNTING: count a move of n bytes; bbk_take_counts gives the counts and resets them.
// workers(work, threads) how many threads so many operations are worth: one where starting others would take longer
// contract_columns(C, ldc, A, am, ak, B, bn, bk, M, N, K, mode, scale)
//     C[m * ldc + n] (mode) sum over k < K of A[m * am + k * ak] * B[n * bn + k * bk]: contractions with the columns of the result in
//     lanes, for few rows. B is read once, as it lies, where bn == 1 or bk == 1, and else packed. `scale` (mode rescale) has a
//     factor for each row m of C. Returns a Status.
// contract_panels(C, ldc, A, am, ak, B, group, stride, M, N, K, mode, scale)
//     the same with a packed B: contract_panels() of contract.hpp for any A and mode
#pragma once
#include <algorithm>
#include "contract.hpp"
#include "integers.hpp"
#include "plane.hpp"
#include "rows.hpp"
#include "split.hpp"

#define BB_EXPORT __attribute__((visibility("default")))

#if defined(BB_COUNTING)
#include <atomic>
#endif

namespace bb {
struct Array {
  void* data;
  const idx* strides;
};

#if defined(BB_COUNTING)
inline std::atomic<std::int64_t> counts[4];
inline void loaded(idx bytes) { counts[0]++, counts[2] += bytes; }
inline void stored(idx bytes) { counts[1]++, counts[3] += bytes; }
#endif

#if defined(BB_AVX512)
BB_INLINE vf fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
BB_INLINE vd fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(__FMA__) && defined(__AVX__)
BB_INLINE vf fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
BB_INLINE vd fma(vd a, vd b, vd c) { return _mm256_fmadd_pd(a, b, c); }
#else
template <detail::floating V>
BB_INLINE V fma(V a, V b, V c) {
  for (int i = 0; i < W<detail::element<V>>; i++) c[i] = std::fma(a[i], b[i], c[i]);
  return c;
}
#endif
template <detail::floating V>
BB_INLINE V log1p(V x) {
  for (int i = 0; i < W<detail::element<V>>; i++) x[i] = std::log1p(x[i]);
  return x;
}

inline constexpr idx small_work = 1 << 21;
BB_INLINE int workers(idx work, int threads) { return work < small_work ? 1 : threads; }

template <class S>
BB_INLINE vf rounded(vf v) {
  static_assert(detail::is_half<S>);
  if constexpr (std::is_same_v<S, bf16>) {
    const auto u = (detail::words)v;
    return v != v ? v : (vf)((u + (0x7fff + ((u >> 16) & 1))) & 0xffff0000);
  } else {
    return detail::widen_f16(detail::narrow_f16(v));
  }
}
template <class S>
BB_INLINE vd rounded(vd v) {
  if constexpr (std::is_same_v<S, float>) return detail::widen_floats(detail::narrow_doubles(v));
  else return detail::widen_half<S>(detail::narrow_to_half<S>(v));
}

// Few enough rows that B is better streamed once than cut into register tiles.
inline constexpr idx few_rows = 8;

template <class T>
inline void scale_rows(T* C, idx ldc, idx M, idx N, const T* scale) {
  for (idx m = 0; m < M; m++)
    for (idx n = 0; n < N; n += W<T>) store(C + m * ldc + n, load(C + m * ldc + n) * scale[m]);
}

template <class T, class SA, class SB>
inline Status contract_columns(T* C, idx ldc, const SA* A, idx am, idx ak, const SB* B, idx bn, idx bk, idx M, idx N, idx K,
                               Mode mode = overwrite, const T* scale = nullptr) {
  if (mode == rescale) {
    scale_rows(C, ldc, M, N, scale);
    mode = accumulate;
  }
  constexpr bool streams = std::is_same_v<SB, T> || (std::is_same_v<T, float> && detail::is_half<SB>);
  constexpr bool broadcasts = std::is_same_v<SA, T> || (std::is_same_v<T, float> && detail::is_half<SA>);
  const bool direct = std::is_same_v<SA, T> && ak == 1;
  const idx lda = plane_ld<T>(K), ldb = plane_ld<T>(N);
  const T* a = nullptr;
  T* packed = nullptr;
  const bool needs_rows = (streams && ((bn == 1 && M <= few_rows) || bk == 1)) || !broadcasts;
  const bool needs_columns = !(streams && (bk == 1 || (bn == 1 && M <= few_rows))) && !(std::is_same_v<SB, T> && bn == 1);
  const idx room = (needs_rows && !direct ? M * lda : 0) + (needs_columns ? K * ldb : 0);
  if (room && !(packed = scratch<T>(room, 2))) return out_of_memory;
  if (needs_rows && !direct) {
    BB_PROFILE_PACKING
    load_plane<T>(packed, lda, M, K, A, am, ak, M, K);
    a = packed;
    packed += M * lda;
  }
  const idx a_stride = a ? lda : am;
  if constexpr (std::is_same_v<SA, T>)
    if (!a && ak == 1) a = A;
  if constexpr (streams) {
    if (a && bk == 1) return contract_dot(C, ldc, a, a_stride, B, bn, M, N, K, mode);
    if (a && bn == 1 && M <= few_rows) return contract_rows(C, ldc, a, a_stride, B, bk, M, N, K, mode);
  }
  const T* b = packed;
  idx b_stride = ldb;
  if (needs_columns) {
    BB_PROFILE_PACKING
    load_plane<T>(packed, ldb, K, N, B, bk, bn, K, N);
  }
  if constexpr (std::is_same_v<SB, T>)
    if (!needs_columns) b = B, b_stride = bk;
  if constexpr (broadcasts) {
    if (!a) return contract(C, ldc, A, am, ak, b, b_stride, M, N, K, mode);
  }
  return contract(C, ldc, a, a_stride, idx(1), b, b_stride, M, N, K, mode);
}

template <class T, class SA, class SB>
inline Status contract_panels(T* C, idx ldc, const SA* A, idx am, idx ak, const SB* B, idx group, idx stride, idx M, idx N, idx K,
                              Mode mode = overwrite, const T* scale = nullptr) {
  if (mode == rescale) {
    scale_rows(C, ldc, M, N, scale);
    mode = accumulate;
  }
  // Rows at a multiple of a page fall into one set of L1.
  if constexpr (std::is_same_v<SA, T>)
    if (ak == 1 && (M <= 2 || am * (idx)sizeof(T) % 4096 != 0))
      return contract_panels(C, ldc, A, am, B, group, stride, M, N, K, mode);
  const idx lda = plane_ld<T>(K);
  T* const rows = scratch<T>(M * lda, 2);
  if (!rows) return out_of_memory;
  {
    BB_PROFILE_PACKING
    load_plane<T>(rows, lda, M, K, A, am, ak, M, K);
  }
  return contract_panels(C, ldc, (const T*)rows, lda, B, group, stride, M, N, K, mode);
}
}  // namespace bb

extern "C" BB_EXPORT inline __attribute__((used)) void bbk_past_caches_from(std::int64_t bytes) {
  bb::past_caches_from.store(bytes);
}

#if defined(BB_COUNTING)
extern "C" BB_EXPORT void bbk_take_counts(std::int64_t* out) {
  for (int i = 0; i < 4; i++) out[i] = bb::counts[i].exchange(0);
}
#endif
