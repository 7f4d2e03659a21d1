// vec.hpp: vectors of one machine register and what moves them.
//
// vec<T>          T float or double: W<T> lanes; 64 bytes with AVX-512, 32 with AVX, else 16 (SSE2, NEON). Vector
//                 extensions: + - * / and comparisons go lane by lane, also with a scalar on one side (v * 2.f).
//                 T int32_t or int64_t: the same as index<float> and index<double>. integers.hpp computes with them.
// index<T>        W<T> integers as wide as T (int32 for float, int64 for double); comparisons give it: 0 or -1.
// idx             signed 64-bit extent, stride or position. All strides count elements.
//
// load(p)         W elements, any alignment
// load(p, n, other = 0)   the first n lanes, `other` in the rest; n <= 0: none, n >= W: all. Touches no byte more.
// store(p, v)     W elements, any alignment; store(p, v, n): the first n lanes, touches no byte more
// stream(p, v)    past the caches; p aligned to a vector. fence() after a thread's last stream()
// prefetch<L>(p)  into cache level L = 1 (default) or 2
// splat<T>(x)     x in every lane                  iota<T>()        index vector 0, 1, 2, ...
// select(m, a, b) m ? a : b, m an index<T>         first<T>(n)      mask (index<T>): lanes below n
// keep(v, n, x)   v with x in the lanes from n on; keep(v, whole, x) is v
// max(a, b)       a > b ? a : b; b if either is NaN    max_nan(a, b)   NaN if either is NaN (numpy.maximum)
// min(a, b)       a < b ? a : b; b if either is NaN    min_nan(a, b)   NaN if either is NaN (numpy.minimum)
// sum(v) hmax(v) hmin(v)   across lanes, in a fixed tree order; hmax_nan, hmin_nan give NaN if any lane is NaN
// transpose(r)    vec<T> r[W]: r[i][j] <-> r[j][i]
// as_index(v)     to integers, towards zero        as_float<T>(i)   integers to T
// bits_of(v)      reinterpret as index<T>          from_bits<T>(i)  and back
// maximum(a, b) minimum(a, b)   max_nan and min_nan with -0 < +0       product(a, b)  a * b, never part of an fma
// max, min, max_nan, min_nan, select also take scalars.
//
// Vectors never cross a function that is not inlined: their ABI depends on the target flags.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif
#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define BB_INLINE inline __attribute__((always_inline))
#define BB_BODY \
  __attribute__((always_inline))  // after the parameters of a lambda: [&](idx o, idx l) BB_BODY { ... }
#if defined(__clang__)
#define BB_UNROLL _Pragma("clang loop unroll(full)")
#else
#define BB_UNROLL _Pragma("GCC unroll 32")
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define BB_AVX512 1
#define BB_VECTOR_BYTES 64
#elif defined(__AVX__)
#define BB_VECTOR_BYTES 32
#else
#define BB_VECTOR_BYTES 16
#endif

namespace bb {
using idx = std::ptrdiff_t;
template <class T>
inline constexpr int W = BB_VECTOR_BYTES / sizeof(T);
template <idx N>
using fixed = std::integral_constant<idx, N>;

namespace detail {
template <class T>
struct vectors;
template <>
struct vectors<float> {
  typedef float value __attribute__((vector_size(BB_VECTOR_BYTES)));
  typedef float unaligned __attribute__((vector_size(BB_VECTOR_BYTES), aligned(4), may_alias));
  typedef std::int32_t integer __attribute__((vector_size(BB_VECTOR_BYTES)));
};
template <>
struct vectors<double> {
  typedef double value __attribute__((vector_size(BB_VECTOR_BYTES)));
  typedef double unaligned __attribute__((vector_size(BB_VECTOR_BYTES), aligned(8), may_alias));
  typedef std::int64_t integer __attribute__((vector_size(BB_VECTOR_BYTES)));
};
template <>
struct vectors<std::int32_t> {
  typedef std::int32_t value __attribute__((vector_size(BB_VECTOR_BYTES)));
  typedef std::int32_t unaligned __attribute__((vector_size(BB_VECTOR_BYTES), aligned(4), may_alias));
  typedef value integer;
};
template <>
struct vectors<std::int64_t> {
  typedef std::int64_t value __attribute__((vector_size(BB_VECTOR_BYTES)));
  typedef std::int64_t unaligned __attribute__((vector_size(BB_VECTOR_BYTES), aligned(8), may_alias));
  typedef value integer;
};
// The element type of a vector of floating-point numbers.
template <class V>
using element = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;
template <class V>
concept floating = requires(V& v) { v[0]; } && std::is_floating_point_v<element<V>>;
template <class V>
concept integral = requires(V& v) { v[0]; } && std::is_integral_v<element<V>>;
}  // namespace detail

template <class T>
using vec = typename detail::vectors<T>::value;
template <class T>
using index = typename detail::vectors<T>::integer;
using vf = vec<float>;
using vd = vec<double>;

// The count of a position where every lane is valid: a type of its own, so that masks vanish at compile time.
struct Whole {
  BB_INLINE constexpr operator idx() const { return 1 << 20; }
};
inline constexpr Whole whole;

BB_INLINE constexpr idx ceil_div(idx a, idx b) { return (a + b - 1) / b; }
BB_INLINE constexpr idx round_up(idx a, idx b) { return ceil_div(a, b) * b; }

// ---- making
template <class T>
BB_INLINE vec<T> splat(T x) {
  return x - vec<T>{};  // x - 0 is x, for -0 as well
}
template <class T>
BB_INLINE index<T> iota() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return index<T>{I...};
  }(std::make_integer_sequence<int, W<T>>{});
}
template <class T>
BB_INLINE index<T> first(idx n) {
  using I = detail::element<index<T>>;
  return iota<T>() < (I)(n < 0 ? 0 : n > W<T> ? W<T> : n);
}
template <class V>
BB_INLINE auto bits_of(V v) {
  return (index<detail::element<V>>)v;
}
template <class T>
BB_INLINE vec<T> from_bits(index<T> i) {
  return (vec<T>)i;
}
template <class V>
BB_INLINE auto as_index(V v) {
  return __builtin_convertvector(v, index<detail::element<V>>);
}
template <class T>
BB_INLINE vec<T> as_float(index<T> i) {
  return __builtin_convertvector(i, vec<T>);
}

// ---- lanes
template <class M, detail::floating V>
BB_INLINE V select(M m, V a, V b) {
  return m ? a : b;
}
BB_INLINE float select(bool m, float a, float b) { return m ? a : b; }
BB_INLINE double select(bool m, double a, double b) { return m ? a : b; }

// The intrinsic where there is one: against a constant the language form becomes a compare and a blend.
#if defined(BB_AVX512)
BB_INLINE vf max(vf a, vf b) { return _mm512_max_ps(a, b); }
BB_INLINE vf min(vf a, vf b) { return _mm512_min_ps(a, b); }
BB_INLINE vd max(vd a, vd b) { return _mm512_max_pd(a, b); }
BB_INLINE vd min(vd a, vd b) { return _mm512_min_pd(a, b); }
#elif defined(__AVX__)
BB_INLINE vf max(vf a, vf b) { return _mm256_max_ps(a, b); }
BB_INLINE vf min(vf a, vf b) { return _mm256_min_ps(a, b); }
BB_INLINE vd max(vd a, vd b) { return _mm256_max_pd(a, b); }
BB_INLINE vd min(vd a, vd b) { return _mm256_min_pd(a, b); }
#elif defined(__SSE2__)
BB_INLINE vf max(vf a, vf b) { return _mm_max_ps(a, b); }
BB_INLINE vf min(vf a, vf b) { return _mm_min_ps(a, b); }
BB_INLINE vd max(vd a, vd b) { return _mm_max_pd(a, b); }
BB_INLINE vd min(vd a, vd b) { return _mm_min_pd(a, b); }
#else
BB_INLINE vf max(vf a, vf b) { return a > b ? a : b; }
BB_INLINE vf min(vf a, vf b) { return a < b ? a : b; }
BB_INLINE vd max(vd a, vd b) { return a > b ? a : b; }
BB_INLINE vd min(vd a, vd b) { return a < b ? a : b; }
#endif
BB_INLINE float max(float a, float b) { return a > b ? a : b; }
BB_INLINE float min(float a, float b) { return a < b ? a : b; }
BB_INLINE double max(double a, double b) { return a > b ? a : b; }
BB_INLINE double min(double a, double b) { return a < b ? a : b; }
template <detail::floating V>
BB_INLINE V max_nan(V a, V b) {
  return a != a ? a : max(a, b);
}
template <detail::floating V>
BB_INLINE V min_nan(V a, V b) {
  return a != a ? a : min(a, b);
}
// As max_nan and min_nan, with -0 below +0, whichever comes first.
template <detail::floating V>
BB_INLINE V maximum(V a, V b) {
  using Bits = index<detail::element<V>>;
  const V both = (V)((Bits)a & (Bits)b);
  return a == b ? both : max_nan(a, b);
}
template <detail::floating V>
BB_INLINE V minimum(V a, V b) {
  using Bits = index<detail::element<V>>;
  const V either = (V)((Bits)a | (Bits)b);
  return a == b ? either : min_nan(a, b);
}
// a * b, rounded by itself: the compiler makes no multiply-add of it and a sum, which could be finite, or have another
// sign of zero, where the product is not.
template <detail::floating V>
BB_INLINE V product(V a, V b) {
  V p = a * b;
#if defined(BB_AVX512)
  asm("" : "+v"(p));
#elif defined(__x86_64__)
  asm("" : "+x"(p));
#elif defined(__aarch64__)
  asm("" : "+w"(p));
#endif
  return p;
}
BB_INLINE float max_nan(float a, float b) { return a != a ? a : max(a, b); }
BB_INLINE float min_nan(float a, float b) { return a != a ? a : min(a, b); }
BB_INLINE double max_nan(double a, double b) { return a != a ? a : max(a, b); }
BB_INLINE double min_nan(double a, double b) { return a != a ? a : min(a, b); }

template <class V>
BB_INLINE V keep(V v, Whole, detail::element<V>) {
  return v;
}
template <class V>
BB_INLINE V keep(V v, idx n, detail::element<V> x) {
  using T = detail::element<V>;
  return first<T>(n) ? v : splat<T>(x);
}

// ---- memory
template <class T>
BB_INLINE vec<T> load(const T* p) {
  return *(const typename detail::vectors<T>::unaligned*)p;
}
template <class T>
BB_INLINE void store(T* p, vec<T> v) {
  *(typename detail::vectors<T>::unaligned*)p = v;
}
template <class T>
BB_INLINE vec<T> load(const T* p, Whole, T = 0) {
  return load(p);
}
template <class T>
BB_INLINE void store(T* p, vec<T> v, Whole) {
  store(p, v);
}
template <class T>
BB_INLINE vec<T> load(const T* p, idx n, T other = 0) {
  vec<T> v = splat<T>(other);
  if (n >= W<T>) return load(p);
  for (idx i = 0; i < n; i++) v[i] = p[i];
  return v;
}
template <class T>
BB_INLINE void store(T* p, vec<T> v, idx n) {
  if (n >= W<T>) return store(p, v);
  for (idx i = 0; i < n; i++) p[i] = v[i];
}
#if defined(BB_AVX512)
BB_INLINE std::uint32_t mask_of(idx n, int w) { return n >= w ? (1u << w) - 1 : n <= 0 ? 0 : (1u << n) - 1; }
BB_INLINE vf load(const float* p, idx n, float other = 0) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(other), (__mmask16)mask_of(n, 16), p);
}
BB_INLINE vd load(const double* p, idx n, double other = 0) {
  return _mm512_mask_loadu_pd(_mm512_set1_pd(other), (__mmask8)mask_of(n, 8), p);
}
BB_INLINE void store(float* p, vf v, idx n) { _mm512_mask_storeu_ps(p, (__mmask16)mask_of(n, 16), v); }
BB_INLINE void store(double* p, vd v, idx n) { _mm512_mask_storeu_pd(p, (__mmask8)mask_of(n, 8), v); }
BB_INLINE void stream(float* p, vf v) { _mm512_stream_ps(p, v); }
BB_INLINE void stream(double* p, vd v) { _mm512_stream_pd(p, v); }
#elif defined(__AVX__)
BB_INLINE vf load(const float* p, idx n, float other = 0) {
  index<float> m = first<float>(n);
  return m ? (vf)_mm256_maskload_ps(p, (__m256i)m) : splat(other);
}
BB_INLINE vd load(const double* p, idx n, double other = 0) {
  index<double> m = first<double>(n);
  return m ? (vd)_mm256_maskload_pd(p, (__m256i)m) : splat(other);
}
BB_INLINE void store(float* p, vf v, idx n) { _mm256_maskstore_ps(p, (__m256i)first<float>(n), v); }
BB_INLINE void store(double* p, vd v, idx n) { _mm256_maskstore_pd(p, (__m256i)first<double>(n), v); }
BB_INLINE void stream(float* p, vf v) { _mm256_stream_ps(p, v); }
BB_INLINE void stream(double* p, vd v) { _mm256_stream_pd(p, v); }
#else
#if defined(__SSE2__)
BB_INLINE void stream(float* p, vf v) { _mm_stream_ps(p, v); }
BB_INLINE void stream(double* p, vd v) { _mm_stream_pd(p, v); }
#else
BB_INLINE void stream(float* p, vf v) { store(p, v); }
BB_INLINE void stream(double* p, vd v) { store(p, v); }
#endif
#endif
BB_INLINE void fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}
template <int L = 1>
BB_INLINE void prefetch(const void* p) {
  __builtin_prefetch(p, 0, L == 1 ? 3 : 2);
}

// ---- across lanes
namespace detail {
template <class V, int... I>
BB_INLINE V shuffle(V a, V b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, I...);
}
// v[i] op v[i + S] for i < S, in the first S lanes; S = W/2, W/4, ..., 1: always the same tree.
template <int S, class V, class F>
BB_INLINE V fold(V v, F f) {
  if constexpr (S == 0) {
    return v;
  } else {
    constexpr int w = W<element<V>>;
    V u = [&]<int... I>(std::integer_sequence<int, I...>) BB_BODY {
      return __builtin_shufflevector(v, v, ((I + S) % w)...);
    }(std::make_integer_sequence<int, w>{});
    return fold<S / 2>(f(v, u), f);
  }
}
// The exchange of blocks of S lanes between r[i] and r[i + S].
template <int S, class V>
BB_INLINE void exchange(V& a, V& b) {
  constexpr int w = W<element<V>>;
  [&]<int... I>(std::integer_sequence<int, I...>) BB_BODY {
    V low = __builtin_shufflevector(a, b, ((I & S) ? I - S + w : I)...);
    V high = __builtin_shufflevector(a, b, ((I & S) ? I + w : I + S)...);
    a = low;
    b = high;
  }(std::make_integer_sequence<int, w>{});
}
template <int S, class V>
BB_INLINE void exchanges(V* r) {
  constexpr int w = W<element<V>>;
  if constexpr (S > 0) {
    BB_UNROLL for (int i = 0; i < w; i++) if (!(i & S)) exchange<S>(r[i], r[i + S]);
    exchanges<S / 2>(r);
  }
}
}  // namespace detail

template <detail::floating V>
BB_INLINE auto sum(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return a + b; })[0];
}
template <detail::floating V>
BB_INLINE auto hmax(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return max(a, b); })[0];
}
template <detail::floating V>
BB_INLINE auto hmin(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return min(a, b); })[0];
}
template <detail::floating V>
BB_INLINE auto hmax_nan(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return max_nan(a, b); })[0];
}
template <detail::floating V>
BB_INLINE auto hmin_nan(V v) {
  return detail::fold<W<detail::element<V>> / 2>(v, [](V a, V b) BB_BODY { return min_nan(a, b); })[0];
}

template <class V>
BB_INLINE void transpose(V* r) {
#if defined(BB_AVX512)
  if constexpr (std::is_same_v<detail::element<V>,
                               float>) {  // unpacks stay inside 128-bit lanes and need no index vectors
    vf t[16];
    BB_UNROLL for (int i = 0; i < 16; i += 4) {
      __m512 a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]);
      __m512 c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]), d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
      t[i] = (vf)_mm512_unpacklo_pd((__m512d)a, (__m512d)c);
      t[i + 1] = (vf)_mm512_unpackhi_pd((__m512d)a, (__m512d)c);
      t[i + 2] = (vf)_mm512_unpacklo_pd((__m512d)b, (__m512d)d);
      t[i + 3] = (vf)_mm512_unpackhi_pd((__m512d)b, (__m512d)d);
    }
    BB_UNROLL for (int i = 0; i < 4; i++) {
      __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88), b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
      __m512 c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88),
             d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
      r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
      r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
      r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
      r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
    return;
  }
#endif
  detail::exchanges<W<detail::element<V>> / 2>(r);
}
}  // namespace bb
