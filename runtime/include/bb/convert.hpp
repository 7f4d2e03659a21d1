// convert.hpp: storage types of arrays and their conversion to and from the types that planes compute in.
//
// bf16, f16            16-bit storage types (struct { uint16_t bits; }); arrays of 16-bit floats are pointers
// to them.
// to_float(x) from_float<S>(f)   one element; rounding to nearest even, overflow to infinity, NaN stays NaN
// (quiet)
// load_as<T, S>(p)     vec<T> from W<T> consecutive elements of storage type S; load_as<T>(p, n, other = 0):
// the first n lanes
// store_as<T, S>(p, v) vec<T> to W<T> elements of S; store_as<T>(p, v, n): the first n lanes
// cast<T, S>(x) and cast<S, T>(x)   one element, either way
// Storage types S: float, double, bf16, f16, int8/16/32/64, uint8/16/32/64, bool (0 or 1; T to bool is x !=
// 0).
// double to float, bf16 and f16 rounds once, to nearest even; T to integers truncates towards zero, and is undefined where
// the value does not fit: integers.hpp has conversions that saturate.
#pragma once
#include "vec.hpp"

namespace bb {
struct bf16 {
  std::uint16_t bits;
};
struct f16 {
  std::uint16_t bits;
};

namespace detail {
template <class U, class F>
BB_INLINE U pun(F x) {
  U u;
  std::memcpy(&u, &x, sizeof u);
  return u;
}
// W<float> elements of 16 bits.
typedef std::uint16_t halves __attribute__((vector_size(BB_VECTOR_BYTES / 2)));
typedef std::uint16_t halves_unaligned
    __attribute__((vector_size(BB_VECTOR_BYTES / 2), aligned(2), may_alias));
typedef std::uint32_t words __attribute__((vector_size(BB_VECTOR_BYTES)));

BB_INLINE vf widen_bf16(halves h) { return (vf)(__builtin_convertvector(h, words) << 16); }
BB_INLINE halves narrow_bf16_bits(vf v) {
  words u = (words)v;
  words rounded = (u + 0x7fff + ((u >> 16) & 1)) >> 16, quiet = (u >> 16) | 0x40;
  return __builtin_convertvector(v != v ? quiet : rounded, halves);
}
#if defined(BB_AVX512) && defined(__AVX512BF16__)
// One instruction, which takes denormal numbers for zeros: a vector that has any goes the long way.
BB_INLINE halves narrow_bf16(vf v) {
  constexpr int denormal = 0x20;
  if (__builtin_expect(_mm512_fpclass_ps_mask((__m512)v, denormal), 0)) return narrow_bf16_bits(v);
  return (halves)_mm512_cvtneps_pbh((__m512)v);
}
#else
BB_INLINE halves narrow_bf16(vf v) { return narrow_bf16_bits(v); }
#endif
// Words of two: `even` in the low half, lane by lane.
BB_INLINE words narrow_bf16_pairs(vf even, vf odd) {
#if defined(BB_AVX512) && defined(__AVX512BF16__)
  constexpr int denormal = 0x20;
  constexpr short at[32] = {0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                            8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  if (__builtin_expect(!(_mm512_fpclass_ps_mask((__m512)even, denormal) | _mm512_fpclass_ps_mask((__m512)odd, denormal)), 1))
    return (words)_mm512_permutexvar_epi16(_mm512_loadu_si512(at), (__m512i)_mm512_cvtne2ps_pbh((__m512)odd, (__m512)even));
#endif
  return __builtin_convertvector(narrow_bf16_bits(even), words) |
         __builtin_convertvector(narrow_bf16_bits(odd), words) << 16;
}
// Exact: the exponent is moved by a multiplication, which also gives f16's denormals their value.
BB_INLINE vf widen_f16_bits(halves h) {
  words u = __builtin_convertvector(h, words), magnitude = (u & 0x7fff) << 13, sign = (u & 0x8000) << 16;
  vf scaled = (vf)magnitude * 0x1p112f;
  words special = magnitude | 0x7f800000;
  return (vf)(sign | (magnitude >= (0x7c00u << 13) ? special : (words)scaled));
}
BB_INLINE halves narrow_f16_bits(vf v) {
  words u = (words)v, sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
  words normal =
      (a - (112u << 23) + 0xfff + ((a >> 13) & 1)) >> 13;  // carries into the exponent, up to infinity
  // Adding 0.5 leaves the value in units of 2^-24 in the low bits, rounded to nearest even by the addition
  // itself.
  words denormal = (words)((vf)a + 0.5f) - 0x3f000000u;
  words nan = 0x7e00 | ((a >> 13) & 0x3ff);
  words r = a < 0x38800000u ? denormal : a >= 0x477ff000u ? words{} + 0x7c00 : normal;
  return __builtin_convertvector(sign | (a > 0x7f800000u ? nan : r), halves);
}
#if defined(BB_AVX512)
BB_INLINE vf widen_f16(halves h) { return _mm512_cvtph_ps((__m256i)h); }
BB_INLINE halves narrow_f16(vf v) {
  return (halves)_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#elif defined(__AVX__) && defined(__F16C__)
BB_INLINE vf widen_f16(halves h) { return _mm256_cvtph_ps((__m128i)h); }
BB_INLINE halves narrow_f16(vf v) { return (halves)_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT); }
#else
BB_INLINE vf widen_f16(halves h) { return widen_f16_bits(h); }
BB_INLINE halves narrow_f16(vf v) { return narrow_f16_bits(v); }
#endif

// W<float> pairs of 16 bits as they lie.
typedef float bits_unaligned __attribute__((vector_size(BB_VECTOR_BYTES), aligned(2), may_alias));
BB_INLINE vf load_bits(const void* p) { return *(const bits_unaligned*)p; }
BB_INLINE void store_bits(void* p, vf v) { *(bits_unaligned*)p = v; }

template <class S>
inline constexpr bool is_half = std::is_same_v<S, bf16> || std::is_same_v<S, f16>;

// W<T> elements of S in memory. gcc 12 makes wrong code of some loops that convert the elements of a vector one by one.
template <class T, class S>
struct in_memory {
  typedef S value __attribute__((vector_size(W<T> * sizeof(S)), aligned(sizeof(S)), may_alias));
};
template <class T, class S>
inline constexpr bool converts = std::is_arithmetic_v<S> && (sizeof(S) == 4 || sizeof(S) == 8);
typedef float floats_of_doubles __attribute__((vector_size(BB_VECTOR_BYTES / 2)));
typedef std::int32_t words_of_doubles __attribute__((vector_size(BB_VECTOR_BYTES / 2)));
BB_INLINE vd widen_floats(floats_of_doubles f) { return __builtin_convertvector(f, vd); }
BB_INLINE floats_of_doubles narrow_doubles(vd v) { return __builtin_convertvector(v, floats_of_doubles); }
// Doubles as floats whose last bit is set where they are not exact: rounding them again, to fewer bits, rounds once.
BB_INLINE floats_of_doubles narrow_to_odd(vd v) {
  const floats_of_doubles f = narrow_doubles(v);
  const vd back = widen_floats(f), zero{};
  const auto too_large = ((back > v) & (back > zero)) | ((back < v) & (back < zero));
  const auto inexact = (back != v) & (v == v);
  const auto bits = (words_of_doubles)f + __builtin_convertvector(too_large, words_of_doubles);
  const auto odd = (bits | 1) & __builtin_convertvector(inexact, words_of_doubles);
  return (floats_of_doubles)(odd | ((words_of_doubles)f & ~__builtin_convertvector(inexact, words_of_doubles)));
}
// Doubles rounded once to 16 bits, which lie in the first lanes.
template <class S>
BB_INLINE halves narrow_to_half(vd v) {
  const floats_of_doubles f = narrow_to_odd(v);
  const vf both = [&]<int... I>(std::integer_sequence<int, I...>) BB_BODY {
    return __builtin_shufflevector(f, f, I...);
  }(std::make_integer_sequence<int, W<float>>{});
  if constexpr (std::is_same_v<S, bf16>) return narrow_bf16(both);
  else return narrow_f16(both);
}
template <class S>
BB_INLINE vd widen_half(halves h) {
  vf f;
  if constexpr (std::is_same_v<S, bf16>) f = widen_bf16(h);
  else f = widen_f16(h);
  return [&]<int... I>(std::integer_sequence<int, I...>) BB_BODY {
    return widen_floats(__builtin_shufflevector(f, f, I...));
  }(std::make_integer_sequence<int, W<double>>{});
}
}  // namespace detail

BB_INLINE float to_float(bf16 x) { return detail::pun<float>((std::uint32_t)x.bits << 16); }
BB_INLINE float to_float(f16 x) {
  std::uint32_t magnitude = (x.bits & 0x7fffu) << 13, sign = (x.bits & 0x8000u) << 16;
  std::uint32_t scaled = detail::pun<std::uint32_t>(detail::pun<float>(magnitude) * 0x1p112f);
  return detail::pun<float>(sign | (magnitude >= (0x7c00u << 13) ? magnitude | 0x7f800000u : scaled));
}
template <class S>
BB_INLINE S from_float(float f) {
  static_assert(detail::is_half<S>);
  const std::uint32_t u = detail::pun<std::uint32_t>(f), a = u & 0x7fffffff;
  if constexpr (std::is_same_v<S, bf16>) {
    return {(std::uint16_t)(a > 0x7f800000 ? (u >> 16) | 0x40 : (u + 0x7fff + ((u >> 16) & 1)) >> 16)};
  } else {
    std::uint32_t r;
    if (a > 0x7f800000) r = 0x7e00 | ((a >> 13) & 0x3ff);
    else if (a >= 0x477ff000) r = 0x7c00;
    else if (a < 0x38800000) r = detail::pun<std::uint32_t>(detail::pun<float>(a) + 0.5f) - 0x3f000000;
    else r = (a - (112u << 23) + 0xfff + ((a >> 13) & 1)) >> 13;
    return {(std::uint16_t)(((u >> 16) & 0x8000) | r)};
  }
}

namespace detail {
// A double as a float whose last bit is set where it is not exact, so that rounding it again to fewer bits rounds once.
BB_INLINE float odd_float(double x) {
  const float f = (float)x;
  if ((double)f == x || x != x) return f;
  const auto bits = pun<std::uint32_t>(f) - (std::fabs((double)f) > std::fabs(x));
  return pun<float>(bits | 1u);
}
}  // namespace detail

template <class To, class From>
BB_INLINE To cast(From x) {
  if constexpr (std::is_same_v<To, From>) return x;
  else if constexpr (detail::is_half<From>) return (To)to_float(x);
  else if constexpr (detail::is_half<To> && std::is_same_v<From, double>) return from_float<To>(detail::odd_float(x));
  else if constexpr (detail::is_half<To>) return from_float<To>((float)x);
  else if constexpr (std::is_same_v<To, bool>) return x != 0;
  else return (To)x;
}

template <class T, class S>
BB_INLINE vec<T> load_as(const S* p) {
  if constexpr (std::is_same_v<T, S>) {
    return load(p);
  } else if constexpr (std::is_same_v<T, float> && detail::is_half<S>) {
    detail::halves h = *(const detail::halves_unaligned*)p;
    if constexpr (std::is_same_v<S, bf16>) return detail::widen_bf16(h);
    else return detail::widen_f16(h);
  } else if constexpr (detail::converts<T, S>) {
    return __builtin_convertvector(*(const typename detail::in_memory<T, S>::value*)p, vec<T>);
  } else {
    vec<T> v;
    for (int i = 0; i < W<T>; i++) v[i] = cast<T>(p[i]);
    return v;
  }
}
template <class T, class S>
BB_INLINE vec<T> load_as(const S* p, Whole, T = 0) {
  return load_as<T>(p);
}
template <class T, class S>
BB_INLINE vec<T> load_as(const S* p, idx n, T other = 0) {
  if constexpr (std::is_same_v<T, S>) {
    return load(p, n, other);
  } else {
    if (n >= W<T>) return load_as<T>(p);
    vec<T> v = splat<T>(other);
    for (idx i = 0; i < n; i++) v[i] = cast<T>(p[i]);
    return v;
  }
}
template <class T, class S>
BB_INLINE void store_as(S* p, vec<T> v) {
  if constexpr (std::is_same_v<T, S>) {
    store<T>(p, v);
  } else if constexpr (std::is_same_v<T, float> && detail::is_half<S>) {
    if constexpr (std::is_same_v<S, bf16>) *(detail::halves_unaligned*)p = detail::narrow_bf16(v);
    else *(detail::halves_unaligned*)p = detail::narrow_f16(v);
  } else if constexpr (detail::converts<T, S>) {
    using M = typename detail::in_memory<T, S>::value;
    *(M*)p = __builtin_convertvector(v, M);
  } else {
    for (int i = 0; i < W<T>; i++) p[i] = cast<S>((T)v[i]);
  }
}
template <class T, class S>
BB_INLINE void store_as(S* p, vec<T> v, Whole) {
  store_as<T>(p, v);
}
template <class T, class S>
BB_INLINE void store_as(S* p, vec<T> v, idx n) {
  if constexpr (std::is_same_v<T, S>) {
    store(p, v, n);
  } else {
    if (n >= W<T>) return store_as<T>(p, v);
    for (idx i = 0; i < n; i++) p[i] = cast<S>((T)v[i]);
  }
}
}  // namespace bb
