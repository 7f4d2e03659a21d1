// integers.hpp: arithmetic on vectors of integers (index<T>, one lane for each lane of a vec<T>).
//
// A lane holds an integer of BITS = 1, 32 or 64 bits, sign-extended to the lane: a true i1 is -1. Results are again
// sign-extended, and all operations are defined for all operands, so that padding lanes may hold anything:
//
//   wrapping_add sub mul negated (a, b)       modulo 2^lane; narrow<BITS>(v) keeps the low bits and extends their sign
//   zero_extended<BITS>(v)                    the same bits as an unsigned number, which must fit the lane
//   quotient<R, BITS> remainder<BITS>         of signed integers, R towards_zero, up or down; x / 0 and x % 0 are 0, and
//                                             the least integer by -1 wraps around: itself, remainder 0
//   unsigned_quotient<R, BITS> unsigned_remainder<BITS>     of unsigned integers; x / 0 and x % 0 are 0
//   shift_left shift_right unsigned_shift_right <BITS>      by an unsigned count; from BITS on all bits are shifted out
//   unsigned_less(a, b)                       a mask; max, min, unsigned_max, unsigned_min
//   sum(v), largest(v), smallest(v)           across lanes; sums wrap around
//   from_signed<T, S>(v), from_unsigned<T, S, BITS>(v)      to vec<T>, rounded once to S: float, double, f16 or bf16
//   to_signed<BITS>(v), to_unsigned<BITS>(v)  from vec<T>, towards zero; beyond the range the nearest integer in it, and 0
//                                             for NaN
// contract_integers<BITS>(C, ldc, A, am, ak, B, bl, bk, M, lanes, K, mode)
//     C[m * ldc + l] (mode) sum over k < K of A[m * am + k * ak] * B[k * bk + l * bl], modulo 2^BITS; a lane of C holds
//     int32_t or int64_t. A and B: any integers, any strides. C is written up to `lanes` rounded up to whole vectors. Uses
//     scratch slot 2 where B is no plane. Mode overwrite or accumulate. Returns a Status.
#pragma once
#include "contract.hpp"
#include "plane.hpp"

namespace bb {
namespace detail {
template <class E>
struct unsigned_lanes {
  typedef std::make_unsigned_t<E> value __attribute__((vector_size(BB_VECTOR_BYTES)));
};
template <class V>
using unsigned_of = typename unsigned_lanes<element<V>>::value;
template <class V>
inline constexpr int lane_bits = 8 * sizeof(element<V>);
template <class V, class F>
BB_INLINE V each_pair(V a, V b, F f) {
  for (int i = 0; i < W<element<V>>; i++) a[i] = f(a[i], b[i]);
  return a;
}
}  // namespace detail

template <detail::integral V>
BB_INLINE V wrapping_add(V a, V b) {
  using U = detail::unsigned_of<V>;
  return (V)((U)a + (U)b);
}
template <detail::integral V>
BB_INLINE V wrapping_sub(V a, V b) {
  using U = detail::unsigned_of<V>;
  return (V)((U)a - (U)b);
}
template <detail::integral V>
BB_INLINE V wrapping_mul(V a, V b) {
  using U = detail::unsigned_of<V>;
  return (V)((U)a * (U)b);
}
template <int BITS, detail::integral V>
BB_INLINE V narrow(V v) {
  constexpr int unused = detail::lane_bits<V> - BITS;
  if constexpr (unused == 0) return v;
  else return (V)((detail::unsigned_of<V>)v << unused) >> unused;
}
template <int BITS, detail::integral V>
BB_INLINE V zero_extended(V v) {
  if constexpr (detail::lane_bits<V> == BITS) return v;
  else return v & (detail::element<V>)((std::int64_t(1) << BITS) - 1);
}
template <int BITS, detail::integral V>
BB_INLINE V absolute(V a) {
  return narrow<BITS>(a < 0 ? wrapping_sub(V{}, a) : a);
}

// ---- division
enum class Round { towards_zero, up, down };

template <Round R, int BITS, detail::integral V>
BB_INLINE V quotient(V a, V b) {
  using E = detail::element<V>;
  return narrow<BITS>(detail::each_pair(a, b, [](E x, E y) BB_BODY -> E {
    if (y == 0) return 0;
    if (y == -1) return (E)(0 - (std::make_unsigned_t<E>)x);
    const E q = x / y;
    if constexpr (R == Round::up) return q + (q * y != x && (x < 0) == (y < 0));
    else if constexpr (R == Round::down) return q - (q * y != x && (x < 0) != (y < 0));
    else return q;
  }));
}
template <int BITS, detail::integral V>
BB_INLINE V remainder(V a, V b) {
  using E = detail::element<V>;
  return narrow<BITS>(detail::each_pair(a, b, [](E x, E y) BB_BODY -> E { return y == 0 || y == -1 ? 0 : x % y; }));
}
template <Round R, int BITS, detail::integral V>
BB_INLINE V unsigned_quotient(V a, V b) {
  using E = detail::element<V>;
  using U = std::make_unsigned_t<E>;
  const V x = zero_extended<BITS>(a), y = zero_extended<BITS>(b);
  return narrow<BITS>(detail::each_pair(x, y, [](E p, E q) BB_BODY -> E {
    if (q == 0) return 0;
    const U u = (U)p / (U)q;
    return (E)(u + (R == Round::up && u * (U)q != (U)p));
  }));
}
template <int BITS, detail::integral V>
BB_INLINE V unsigned_remainder(V a, V b) {
  using E = detail::element<V>;
  using U = std::make_unsigned_t<E>;
  const V x = zero_extended<BITS>(a), y = zero_extended<BITS>(b);
  return narrow<BITS>(
      detail::each_pair(x, y, [](E p, E q) BB_BODY -> E { return q == 0 ? 0 : (E)((U)p % (U)q); }));
}

// ---- shifts, comparisons
namespace detail {
// Lane by lane: the count, and a mask of those below BITS. Counts beyond are replaced by `last`.
template <int BITS, integral V>
BB_INLINE V shift_count(V count, V& within, int last) {
  const V n = zero_extended<BITS>(count);
  within = (V)((unsigned_of<V>)n < (element<unsigned_of<V>>)BITS);
  return within ? n : V{} + (element<V>)last;
}
}  // namespace detail
template <int BITS, detail::integral V>
BB_INLINE V shift_left(V a, V count) {
  V within;
  const V n = detail::shift_count<BITS>(count, within, 0);
  return narrow<BITS>(within & (V)((detail::unsigned_of<V>)a << (detail::unsigned_of<V>)n));
}
template <int BITS, detail::integral V>
BB_INLINE V shift_right(V a, V count) {
  V within;
  const V n = detail::shift_count<BITS>(count, within, BITS - 1);
  return a >> n;
}
template <int BITS, detail::integral V>
BB_INLINE V unsigned_shift_right(V a, V count) {
  V within;
  const V n = detail::shift_count<BITS>(count, within, 0);
  const auto u = (detail::unsigned_of<V>)zero_extended<BITS>(a) >> (detail::unsigned_of<V>)n;
  return narrow<BITS>(within & (V)u);
}
// Sign extension keeps the order of unsigned numbers.
template <detail::integral V>
BB_INLINE V unsigned_less(V a, V b) {
  using U = detail::unsigned_of<V>;
  return (V)((U)a < (U)b);
}
template <detail::integral V>
BB_INLINE V max(V a, V b) {
  return a > b ? a : b;
}
template <detail::integral V>
BB_INLINE V min(V a, V b) {
  return a < b ? a : b;
}
template <detail::integral V>
BB_INLINE V unsigned_max(V a, V b) {
  return unsigned_less(a, b) ? b : a;
}
template <detail::integral V>
BB_INLINE V unsigned_min(V a, V b) {
  return unsigned_less(a, b) ? a : b;
}

// ---- across lanes
template <detail::integral V>
BB_INLINE auto sum(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return wrapping_add(a, b); })[0];
}
template <detail::integral V>
BB_INLINE auto largest(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return max(a, b); })[0];
}
template <detail::integral V>
BB_INLINE auto smallest(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return min(a, b); })[0];
}

// ---- conversions
namespace detail {
// Integers of which all but the highest KEPT bits are united in the lowest of those, where there are more of them: rounding
// to fewer bits than KEPT then gives what rounding the integer itself gives.
template <int KEPT, integral V>
BB_INLINE V sticky(V v) {
  using U = unsigned_of<V>;
  constexpr int unused = lane_bits<V> - KEPT;
  const V low = v & (element<V>)((std::int64_t(1) << unused) - 1);
  const V limit = V{} + (element<V>)(std::int64_t(1) << KEPT);
  const V large = (v >= limit) | (v <= wrapping_sub(V{}, limit));
  const V united = (V)((U)(v - low)) | (element<V>)(std::int64_t(1) << (unused - 1));
  return large & (low != 0) ? united : v;
}
// Numbers that are integers, rounded to S.
template <class S>
BB_INLINE vd rounded_integers(vd v) {
  if constexpr (is_half<S>) return widen_half<S>(narrow_to_half<S>(v));
  else if constexpr (std::is_same_v<S, float>) return widen_floats(narrow_doubles(v));
  else return v;
}
template <class S>
BB_INLINE vf rounded_integers(vf v) {
  if constexpr (std::is_same_v<S, bf16>) return widen_bf16(narrow_bf16(v));
  else if constexpr (std::is_same_v<S, f16>) return widen_f16(narrow_f16(v));
  else return v;
}
template <class T, class V>
BB_INLINE vec<T> converted(V v) {
  return __builtin_convertvector(v, vec<T>);
}
}  // namespace detail
template <class T, class S>
BB_INLINE vec<T> from_signed(index<T> v) {
  if constexpr (sizeof(T) == 8) {
    if constexpr (!std::is_same_v<S, double>) v = detail::sticky<53>(v);
  } else if constexpr (detail::is_half<S>) {
    v = detail::sticky<24>(v);
  }
  return detail::rounded_integers<S>(detail::converted<T>(v));
}
template <class T, class S, int BITS>
BB_INLINE vec<T> from_unsigned(index<T> v) {
  using U = detail::unsigned_of<index<T>>;
  if constexpr (BITS < 8 * sizeof(T)) return from_signed<T, S>(zero_extended<BITS>(v));
  else if constexpr (std::is_same_v<S, T>) return detail::converted<T>((U)v);
  // Halved, which fits a signed number; the last bit decides no rounding but as one of many.
  const auto half = (index<T>)((U)v >> 1) | (v & 1);
  const auto doubled = from_signed<T, S>(half) * 2;
  return v < 0 ? doubled : from_signed<T, S>(v);
}

template <int BITS, detail::floating V>
BB_INLINE auto to_signed(V v) {
  using T = detail::element<V>;
  using I = index<T>;
  using E = detail::element<I>;
  constexpr E least = (E)(-(__int128(1) << (BITS - 1))), most = (E)((__int128(1) << (BITS - 1)) - 1);
  constexpr T low = (T)least, high = -(T)least;
  const I inside = as_index((v > low) & (v < high) ? v : V{});
  return v >= high ? I{} + most : v <= low ? I{} + least : inside;
}
template <int BITS, detail::floating V>
BB_INLINE auto to_unsigned(V v) {
  using T = detail::element<V>;
  using I = index<T>;
  using E = detail::element<I>;
  constexpr T half = (T)(__int128(1) << (BITS - 1)), high = 2 * half;
  if constexpr (BITS < 8 * sizeof(T)) {
    const I inside = as_index((v > 0) & (v < high) ? v : V{});
    return narrow<BITS>(v >= high ? I{} - 1 : inside);
  } else {
    const I large = v >= half;
    const I inside = as_index((v > 0) & (v < high) ? (large ? v - half : v) : V{});
    return v >= high ? I{} - 1 : inside ^ (large & std::numeric_limits<E>::min());
  }
}

// ---- contractions
template <int BITS, class T, class SA, class SB>
inline __attribute__((noinline)) Status contract_integers(T* C, idx ldc, const SA* A, idx am, idx ak, const SB* B, idx bl,
                                                          idx bk, idx M, idx lanes, idx K, Mode mode) {
  constexpr idx w = W<T>, most = 4;
  const T* b;
  idx ldb = bk;
  const bool in_place = std::is_same_v<SB, T> && bl == 1 && lanes % w == 0;
  if constexpr (std::is_same_v<SB, T>) b = B;
  if (!in_place) {
    ldb = plane_ld<T>(lanes);
    T* const packed = scratch<T>(K * ldb, 2);
    if (!packed) return out_of_memory;
    load_plane<T>(packed, ldb, K, lanes, B, bk, bl, K, lanes);
    b = packed;
  }
  const auto rows = [&](idx m, auto count) BB_BODY {
    constexpr int n = decltype(count)::value;
    for (idx l = 0; l < lanes; l += w) {
      vec<T> acc[n];
      BB_UNROLL for (int i = 0; i < n; i++) acc[i] = mode == overwrite ? vec<T>{} : load(C + (m + i) * ldc + l);
      for (idx k = 0; k < K; k++) {
        const vec<T> right = load(b + k * ldb + l);
        BB_UNROLL for (int i = 0; i < n; i++)
          acc[i] = wrapping_add(acc[i], wrapping_mul(splat<T>((T)A[(m + i) * am + k * ak]), right));
      }
      BB_UNROLL for (int i = 0; i < n; i++) store(C + (m + i) * ldc + l, narrow<BITS>(acc[i]));
    }
  };
  idx m = 0;
  for (; m + most <= M; m += most) rows(m, fixed<most>{});
  for (; m < M; m++) rows(m, fixed<1>{});
  return ok;
}
}  // namespace bb
