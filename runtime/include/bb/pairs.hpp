// pairs.hpp: bf16 in pairs along k, as instructions that sum products of pairs take them. A pair is a word, its even k in
// the low half.
//
// paired(even, odd)    lane by lane the pair of two vf, rounded to nearest even
// store_pairs<T>(dst, ld, src, src_ld, K, lanes)
//     dst[k / 2 * ld + l] = the pair of (src[k * src_ld + l], src[(k + 1) * src_ld + l]) for even k < K and l < lanes
//     rounded up to W<float>: a plane of pairs from a float plane. Beyond K there is zero.
// store_packed_pairs<T>(dst, rows, columns, group, src, ld, valid_rows, valid_columns)
//     store_packed() of plane.hpp with the columns in pairs: element (r, k) at
//     dst[((r / group * P + k / 2) * group + r % group) * 2 + k % 2], P = columns / 2 rounded up.
#pragma once
#include "plane.hpp"

namespace bb {
using Pair = std::uint32_t;

namespace detail {
typedef Pair pairs_unaligned __attribute__((vector_size(BB_VECTOR_BYTES), aligned(4), may_alias));
}

BB_INLINE detail::words paired(vf even, vf odd) {
#if defined(BB_AVX512) && defined(__AVX512BF16__)
  constexpr short at[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                            8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return (detail::words)_mm512_permutexvar_epi16(_mm512_loadu_si512(at), (__m512i)_mm512_cvtne2ps_pbh(odd, even));
#else
  return __builtin_convertvector(detail::narrow_bf16(even), detail::words) |
         __builtin_convertvector(detail::narrow_bf16(odd), detail::words) << 16;
#endif
}

template <class T>
inline __attribute__((noinline)) void store_pairs(Pair* dst, idx ld, const T* src, idx src_ld, idx K, idx lanes) {
  static_assert(std::is_same_v<T, float>, "a kernel that computes in double multiplies nothing in bf16");
  for (idx k = 0; k < K; k += 2)
    for (idx l = 0; l < lanes; l += W<T>)
      *(detail::pairs_unaligned*)(dst + k / 2 * ld + l) =
          paired(load(src + k * src_ld + l), k + 1 < K ? load(src + (k + 1) * src_ld + l) : vf{});
}

template <class T>
inline void store_packed_pairs(bf16* dst, idx rows, idx columns, idx group, const T* src, idx ld, idx valid_rows,
                               idx valid_columns) {
  for (idx first = 0; first < rows; first += group)
    for (idx k = 0; k < columns; k += 2)
      for (idx r = first; r < first + group; r++)
        for (idx half = k; half < k + 2; half++)
          *dst++ = r < valid_rows && half < valid_columns ? cast<bf16>(src[half * ld + r]) : bf16{};
}
}  // namespace bb
