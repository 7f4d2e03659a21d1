// pairs.hpp: bf16 in pairs along k, as instructions that sum products of pairs take them. A pair is a word, its even k in
// the low half.
//
// paired(even, odd)    lane by lane the pair of two vf, rounded to nearest even
// store_pairs<T>(dst, ld, src, src_ld, K, lanes)
//     dst[k / 2 * ld + l] = the pair of (src[k * src_ld + l], src[(k + 1) * src_ld + l]) for even k < K and l < lanes
//     rounded up to W<float>: a plane of pairs from a float plane. Beyond K there is zero.
// load_pairs<T>(dst, ld, outer, lanes, src, outer_stride, lane_stride)
//     dst[o / 2 * ld + l] = the pair of (src[o * outer_stride + l * lane_stride], src[(o + 1) * outer_stride + ...]) for
//     even o < outer and l < lanes; zero in the lanes up to W<float>, and for o + 1 == outer. src: bf16, with strides of
//     any sign. Fast with outer_stride == 1, where pairs lie as such (W x W transposes), and with lane_stride == 1.
// sweep_pairs<T>(outer, lanes, body, put)
//     sweep() of plane.hpp two rows at a time: put(o / 2, l, pairs) with paired(body(o, l), body(o + 1, l)) for even o. Beyond
//     `outer` there is zero.
// sweep_lanes_pairs<NR, T>(outer, lanes, init, body, put, done)
//     the same with the reductions of sweep_lanes(): body(o, l, acc) returns the element.
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

namespace detail {
// 16 rows (or however many lanes a vector has) of as many pairs that lie next to each other, n2 elements of them valid.
BB_INLINE vf row_of_pairs(const bf16* p, idx n2) {
  if (n2 >= 2 * W<float>) return *(const vectors<float>::unaligned*)p;
  vf r{};
  if (n2 > 0) std::memcpy(&r, p, n2 * sizeof(bf16));
  return r;
}
template <int NR, class T, int G, class Init, class Body, class Put, class Done>
BB_INLINE void sweep_group_pairs(idx outer, idx l, Init& init, Body& body, Put& put, Done& done) {
  vec<T> acc[G][NR];
  BB_UNROLL for (int g = 0; g < G; g++) init(l + g * W<T>, acc[g]);
  idx o = 0;
  for (; o + 1 < outer; o += 2)
    BB_UNROLL for (int g = 0; g < G; g++) {
      const vec<T> even = body(o, l + g * W<T>, acc[g]), odd = body(o + 1, l + g * W<T>, acc[g]);
      put(o / 2, l + g * W<T>, paired(even, odd));
    }
  if (o < outer)
    BB_UNROLL for (int g = 0; g < G; g++)
      put(o / 2, l + g * W<T>, paired(body(o, l + g * W<T>, acc[g]), vec<T>{}));
  BB_UNROLL for (int g = 0; g < G; g++) done(l + g * W<T>, acc[g]);
}
}  // namespace detail

BB_INLINE void put_pairs(Pair* p, detail::words pairs) { *(detail::pairs_unaligned*)p = pairs; }

template <class T>
inline __attribute__((noinline)) void load_pairs(Pair* dst, idx ld, idx outer, idx lanes, const bf16* src,
                                                 idx outer_stride, idx lane_stride) {
  static_assert(std::is_same_v<T, float>, "a kernel that computes in double multiplies nothing in bf16");
  constexpr idx w = W<float>;
  const idx pairs = ceil_div(outer, 2), whole = lanes / w * w;
  if (outer_stride == 1 && lanes > 1) {
    for (idx l = 0; l < lanes; l += w)
      for (idx j = 0; j < pairs; j += w) {
        vf r[w];
        for (int i = 0; i < w; i++)
          r[i] = l + i < lanes ? detail::row_of_pairs(src + (l + i) * lane_stride + 2 * j, outer - 2 * j) : vf{};
        transpose(r);
        for (int i = 0; i < w && j + i < pairs; i++) put_pairs(dst + (j + i) * ld + l, (detail::words)r[i]);
      }
    return;
  }
  for (idx j = 0; j < pairs; j++) {
    const bf16 *even = src + 2 * j * outer_stride, *odd = 2 * j + 1 < outer ? even + outer_stride : nullptr;
    idx l = 0;
    if (lane_stride == 1)
      for (; l < whole; l += w) {
        const auto low = *(const detail::halves_unaligned*)(even + l);
        const auto high = odd ? *(const detail::halves_unaligned*)(odd + l) : detail::halves{};
        put_pairs(dst + j * ld + l,
                  __builtin_convertvector(low, detail::words) | __builtin_convertvector(high, detail::words) << 16);
      }
    for (; l < round_up(lanes, w); l++)
      dst[j * ld + l] = l >= lanes ? 0
                                   : Pair(even[l * lane_stride].bits) |
                                         (odd ? Pair(odd[l * lane_stride].bits) << 16 : Pair(0));
  }
}

template <class T = float, class Body, class Put>
BB_INLINE void sweep_pairs(idx outer, idx lanes, Body body, Put put) {
  idx o = 0;
  for (; o + 1 < outer; o += 2)
    for (idx l = 0; l < lanes; l += W<T>) put(o / 2, l, paired(body(o, l), body(o + 1, l)));
  if (o < outer)
    for (idx l = 0; l < lanes; l += W<T>) put(o / 2, l, paired(body(o, l), vec<T>{}));
}

template <int NR, class T = float, class Init, class Body, class Put, class Done>
BB_INLINE void sweep_lanes_pairs(idx outer, idx lanes, Init init, Body body, Put put, Done done) {
  idx l = 0;
  for (; l + 3 * W<T> < lanes; l += 4 * W<T>)
    detail::sweep_group_pairs<NR, T, 4>(outer, l, init, body, put, done);
  for (; l < lanes; l += W<T>) detail::sweep_group_pairs<NR, T, 1>(outer, l, init, body, put, done);
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
