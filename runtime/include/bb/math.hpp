// math.hpp: lane-wise mathematics for vf (float), vd (double), and the scalars float and double under the
// same names.
//
//   exp exp2 expm1 log log2 tanh erf sigmoid silu gelu sin cos sqrt rsqrt recip abs floor ceil, pow(x, y)
//
// sigmoid(x) = 1/(1 + e^-x), silu(x) = x sigmoid(x), gelu(x) = x (1 + erf(x/sqrt 2))/2, rsqrt = 1/sqrt, recip
// = 1/x.
// Every function gives NaN for NaN and the limit at +-inf: exp(-inf) = 0, log(0) = -inf, log(x < 0) = NaN,
// sigmoid(-inf) = 0,
// silu(-inf) = gelu(-inf) = -0, tanh(+-inf) = +-1, sin(inf) = NaN, rsqrt(+-0) = +-inf. Odd functions keep the
// sign of zero.
// Denormal arguments and results are exact or correctly rounded to within the bound unless said otherwise.
//
// Largest error seen over all float arguments, in units in the last place of the result (2^-149 for denormal
// ones), with
// AVX-512; AVX2 and SSE2 stay within the bounds that test_tile_library.py enforces:
//   exp 0.95   exp2 0.90   expm1 1.49   log 0.84   log2 1.15   tanh 1.20   erf 1.04   sigmoid 2.01   silu
//   2.40
//   sin 1.44   cos 1.47    rsqrt 1.48   sqrt, recip 0.5   abs, floor, ceil 0
//   gelu: absolute error below 2e-7 * max(1, |result|); its tail for x < -4 has no relative accuracy.
// Reductions and polynomials: e^r on [-ln2/2, ln2/2], 2^r on [-1/2, 1/2], log(1+f) on [1/sqrt2 - 1, sqrt2 -
// 1]; minimax, relative.
// sin and cos of |x| > 16384 (all of them without FMA), pow, and all transcendental functions of double go
// lane by lane
// through the C library; scalars as well.
// exp_near(x): e^x of float, within (2 + |x|) 2^-23 of it: for results that are rounded to 16 bits. -inf, inf and NaN as exp.
// Cost on Zen 4, ns for 16 floats in L1: exp2 1.9, exp 2.7, rsqrt 4.3, silu 4.7, log 6.0, tanh 6.3, sin 6.9,
// erf 3.5, gelu 4.5.
#pragma once
#include "vec.hpp"

namespace bb {
namespace detail {
template <class V, class F>
BB_INLINE V each_lane(V v, F f) {
  for (int i = 0; i < W<element<V>>; i++) v[i] = f(v[i]);
  return v;
}
BB_INLINE vf sign_of(vf x) { return from_bits<float>(bits_of(x) & std::numeric_limits<std::int32_t>::min()); }
BB_INLINE vf with_sign(vf magnitude, vf x) {
  return from_bits<float>(bits_of(magnitude) | bits_of(sign_of(x)));
}
// To the nearest integer, |x| < 2^22.
BB_INLINE vf nearest(vf x) {
#if defined(BB_AVX512)
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
#else
  return (x + 12582912.f) - 12582912.f;
#endif
}
// p * 2^n, n integral and |n| < 300.
BB_INLINE vf scale(vf p, vf n) {
#if defined(BB_AVX512)
  return _mm512_scalef_ps(p, n);
#else
  index<float> i = as_index(n), h = i >> 1;  // in two steps, since 2^n alone may overflow or be denormal
  return p * from_bits<float>((h + 127) << 23) * from_bits<float>((i - h + 127) << 23);
#endif
}
// x = n ln2 + r; e^r = 1 + r + r^2 q(r)
BB_INLINE vf reduce_exp(vf x, vf& n) {
  n = nearest(x * 1.44269504088896341f);
  return (x - n * 0.693359375f) - n * -2.12194440e-4f;
}
BB_INLINE vf exp_parts(vf x, vf& n) {  // e^x = p 2^n; returns p
  vf r = reduce_exp(x, n);
  vf q = splat(1.381454003e-03f);
  q = q * r + 8.368745113e-03f;
  q = q * r + 4.166839079e-02f;
  q = q * r + 1.666652040e-01f;
  q = q * r + 4.999999343e-01f;
  return (q * (r * r) + r) + 1.f;
}
BB_INLINE vf expm1_small(vf r) {
  vf q = splat(1.388251643e-03f);
  q = q * r + 8.366547130e-03f;
  q = q * r + 4.166720071e-02f;
  q = q * r + 1.666654342e-01f;
  q = q * r + 4.999999815e-01f;
  return q * (r * r) + r;
}
// log x = e ln2 + log(1 + f); y = log(1 + f) - f
BB_INLINE vf reduce_log(vf x, vf& f, vf& e) {
  auto small = x < std::numeric_limits<float>::min();
  index<float> i = bits_of(small ? x * 0x1p23f : x);
  index<float> k = (i - 0x3f3504f3) >> 23;
  f = from_bits<float>(i - (k << 23)) - 1.f;
  e = as_float<float>(k) - (small ? splat(23.f) : vf{});
  vf p = splat(6.747731551e-02f);
  p = p * f - 1.167751599e-01f;
  p = p * f + 1.188869653e-01f;
  p = p * f - 1.240534005e-01f;
  p = p * f + 1.421945310e-01f;
  p = p * f - 1.666800519e-01f;
  p = p * f + 2.000212346e-01f;
  p = p * f - 2.500000951e-01f;
  p = p * f + 3.333331254e-01f;
  return p;
}
BB_INLINE vf log_specials(vf x, vf r) {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  r = x < inf ? r : x;  // +inf, NaN
  return x <= 0.f ? (x == 0.f ? splat(-inf) : splat(nan)) : r;
}
}  // namespace detail

// ---- elementary
BB_INLINE vf abs(vf x) { return from_bits<float>(bits_of(x) & 0x7fffffff); }
BB_INLINE vd abs(vd x) { return from_bits<double>(bits_of(x) & 0x7fffffffffffffff); }
#if defined(BB_AVX512)
BB_INLINE vf sqrt(vf x) { return _mm512_sqrt_ps(x); }
BB_INLINE vd sqrt(vd x) { return _mm512_sqrt_pd(x); }
BB_INLINE vf floor(vf x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
BB_INLINE vd floor(vd x) { return _mm512_roundscale_pd(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
#elif defined(__AVX__)
BB_INLINE vf sqrt(vf x) { return _mm256_sqrt_ps(x); }
BB_INLINE vd sqrt(vd x) { return _mm256_sqrt_pd(x); }
BB_INLINE vf floor(vf x) { return _mm256_floor_ps(x); }
BB_INLINE vd floor(vd x) { return _mm256_floor_pd(x); }
#else
BB_INLINE vf sqrt(vf x) {
  return detail::each_lane(x, [](float v) { return std::sqrt(v); });
}
BB_INLINE vd sqrt(vd x) {
  return detail::each_lane(x, [](double v) { return std::sqrt(v); });
}
BB_INLINE vf floor(vf x) {
  return detail::each_lane(x, [](float v) { return std::floor(v); });
}
BB_INLINE vd floor(vd x) {
  return detail::each_lane(x, [](double v) { return std::floor(v); });
}
#endif
template <detail::floating V>
BB_INLINE V ceil(V x) {
  return -floor(-x);
}
template <detail::floating V>
BB_INLINE V recip(V x) {
  return (detail::element<V>)1 / x;
}
template <detail::floating V>
BB_INLINE V rsqrt(V x) {
  return (detail::element<V>)1 / sqrt(x);
}

// ---- exponentials
BB_INLINE vf exp(vf x) {
  vf n, p = detail::exp_parts(min(splat(89.f), max(splat(-104.f), x)), n);  // in this order NaN passes
  return detail::scale(p, n);
}
BB_INLINE vf exp2(vf x) {
  x = min(splat(129.f), max(splat(-151.f), x));
  vf n = detail::nearest(x), r = x - n;
  vf p = splat(1.534581168e-04f);
  p = p * r + 1.339993122e-03f;
  p = p * r + 9.618488958e-03f;
  p = p * r + 5.550328777e-02f;
  p = p * r + 2.402264689e-01f;
  p = p * r + 6.931472057e-01f;
  p = p * r + 1.f;
  return detail::scale(p, n);
}
// Two thirds of the time of exp().
BB_INLINE vf exp_near(vf x) {
#if defined(BB_AVX512)
  const vf t = x * 1.44269504088896341f;
  const vf r = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);  // t - floor(t); 0 for infinities
  vf p = splat(1.867130070e-03f);
  p = p * r + 9.017030322e-03f;
  p = p * r + 5.579991310e-02f;
  p = p * r + 2.401644502e-01f;
  p = p * r + 6.931513118e-01f;
  p = p * r + 1.f;
  return _mm512_scalef_ps(p, t);  // p * 2^floor(t)
#else
  return exp(x);
#endif
}
BB_INLINE vf expm1(vf x) {
  vf c = min(splat(89.f), max(splat(-20.f), x));
  vf n, r = detail::reduce_exp(c, n), m = detail::expm1_small(r);
  vf s = detail::scale(splat(0.5f), n);  // half of 2^n: 2^128 itself is infinite
  vf y = (s * m + (s - 0.5f)) * 2.f;
  return n == 0.f ? (r == 0.f ? x : m) : y;
}
BB_INLINE vf tanh(vf x) {
  vf t = abs(x), z = x * x;
  vf p = splat(2.142961804e-03f);
  p = p * z - 8.177398213e-03f;
  p = p * z + 2.170070322e-02f;
  p = p * z - 5.394676307e-02f;
  p = p * z + 1.333320601e-01f;
  p = p * z - 3.333333080e-01f;
  vf small = t + t * (z * p), big = 1.f - 2.f / (exp(t + t) + 1.f);
  return detail::with_sign(t < 0.625f ? small : big, x);
}
// e = e^-|x|: 1/(1 + e) for x >= 0 and e/(1 + e) below, so that nothing overflows.
BB_INLINE vf sigmoid(vf x) {
  vf e = exp(-abs(x));
  return (x < 0.f ? e : splat(1.f)) / (1.f + e);
}
BB_INLINE vf silu(vf x) {
  vf c = max(splat(-120.f), x), n, p = detail::exp_parts(max(splat(-120.f), -abs(x)), n);
  // x e^x before the scaling: e^x alone may be denormal where the product is not
  return (x < 0.f ? detail::scale(c * p, n) : x) / (1.f + detail::scale(p, n));
}

// ---- logarithms
BB_INLINE vf log(vf x) {
  vf f, e, p = detail::reduce_log(x, f, e), z = f * f;
  vf y = (z * f) * p + e * -2.12194440e-4f;
  y = y - 0.5f * z;
  return detail::log_specials(x, (f + y) + e * 0.693359375f);
}
BB_INLINE vf log2(vf x) {
  vf f, e, p = detail::reduce_log(x, f, e), z = f * f;
  vf y = (z * f) * p - 0.5f * z;
  // log2 e = 1 + 0.44...: the large part is added unrounded
  return detail::log_specials(x, ((f + y) * 0.44269504088896341f + y) + f + e);
}

// ---- error function
#if defined(BB_AVX512)
// erf(c + r) = erf c + r Q(r), with c, erf c and Q for 16 intervals of [0, 3.94] in tables of one register each; below
// 0.235, where c = 0, the value is x + x Q(x). Of the floats around the middle of an interval, c is the one whose erf
// is closest to a float. Beyond 3.93 erf is 1.
namespace detail {
struct ErfTables {
  alignas(64) static constexpr float centre[16] = {
      0.f, 3.579910100e-01f, 6.048439741e-01f, 8.518813848e-01f, 1.098715663e+00f, 1.345588207e+00f,
      1.592571259e+00f, 1.839382887e+00f, 2.086373568e+00f, 2.333709717e+00f, 2.580101967e+00f, 2.827596188e+00f,
      3.073489189e+00f, 3.267703772e+00f, 3.517191410e+00f, 3.832506180e+00f};
  alignas(64) static constexpr float value[16] = {
      0.f, 3.873369098e-01f, 6.076583862e-01f, 7.716971636e-01f, 8.797723055e-01f, 9.429528117e-01f,
      9.756926298e-01f, 9.907123446e-01f, 9.968281984e-01f, 9.990344048e-01f, 9.997365475e-01f, 9.999363422e-01f,
      9.999861717e-01f, 9.999961853e-01f, 9.999993443e-01f, 9.999999404e-01f};
  alignas(64) static constexpr float q1[16] = {
      1.283791363e-01f, 9.926518798e-01f, 7.826623321e-01f, 5.461183190e-01f, 3.374311328e-01f, 1.845517457e-01f,
      8.932257444e-02f, 3.829073906e-02f, 1.452080999e-02f, 4.866312724e-03f, 1.450069598e-03f, 3.803126456e-04f,
      8.911770419e-05f, 2.600750668e-05f, 4.785645160e-06f, 4.715580815e-07f};
  alignas(64) static constexpr float q2[16] = {
      5.139248969e-06f, -3.553555310e-01f, -4.733842611e-01f, -4.652266800e-01f, -3.707422018e-01f, -2.483328879e-01f,
      -1.422541440e-01f, -7.043187320e-02f, -3.029571474e-02f, -1.135624945e-02f, -3.741081571e-03f, -1.075235894e-03f,
      -2.738489420e-04f, -8.500555850e-05f, -1.683721348e-05f, -1.806342880e-06f};
  alignas(64) static constexpr float q3[16] = {
      -3.762869537e-01f, -2.460907996e-01f, -7.001448423e-02f, 8.216713369e-02f, 1.590801775e-01f, 1.612505168e-01f,
      1.212590486e-01f, 7.360450923e-02f, 3.729926050e-02f, 1.604643092e-02f, 5.951847415e-03f, 1.900176168e-03f,
      5.314678419e-04f, 1.768369257e-04f, 3.798758553e-05f, 4.439446002e-06f};
  alignas(64) static constexpr float q4[16] = {
      1.679638983e-03f, 1.614574641e-01f, 1.780520529e-01f, 1.197905988e-01f, 3.647487611e-02f, -2.523845062e-02f,
      -4.880310595e-02f, -4.410035908e-02f, -2.883695625e-02f, -1.500441227e-02f, -6.483327597e-03f, -2.356463578e-03f,
      -7.372051477e-04f, -2.570160432e-04f, -6.038376887e-05f, -8.137879377e-06f};
  alignas(64) static constexpr float q5[16] = {
      1.067517623e-01f, 5.139387399e-02f, -2.148898505e-02f, -6.493371725e-02f, -6.334827095e-02f, -3.457012773e-02f,
      -5.259700585e-03f, 1.029670704e-02f, 1.278640050e-02f, 9.134948254e-03f, 4.868786316e-03f, 2.083732747e-03f,
      7.397122681e-04f, 2.240118338e-04f, 5.740018241e-05f, 1.249309753e-05f};
};
}  // namespace detail
BB_INLINE vf erf(vf x) {
  using tables = detail::ErfTables;
  const vf t = min(splat(3.9375f), abs(x)), n = (t * 4.05f - 0.45f) + 12582912.f;
  const auto at = [&](const float (&table)[16]) BB_BODY -> vf {
    return _mm512_permutexvar_ps((__m512i)n, load(table));
  };
  const vf r = t - at(tables::centre);
  vf q = at(tables::q5);
  q = q * r + at(tables::q4);
  q = q * r + at(tables::q3);
  q = q * r + at(tables::q2);
  q = q * r + at(tables::q1);
  return detail::with_sign(q * r + (n == 12582912.f ? t : at(tables::value)), x);
}
#else  // x + x P(x^2) below 0.93, else 1 - exp(-(t + t Q(t)))
BB_INLINE vf erf(vf x) {
  vf t = min(splat(4.f), abs(x)), z = x * x;
  vf p = splat(8.316775393e-05f);
  p = p * z - 8.130012736e-04f;
  p = p * z + 5.199906678e-03f;
  p = p * z - 2.685894151e-02f;
  p = p * z + 1.128368719e-01f;
  p = p * z - 3.761263319e-01f;
  p = p * z + 1.283791666e-01f;
  vf q = splat(1.043290248e-05f);
  q = q * t - 3.148561000e-04f;
  q = q * t + 3.610334215e-03f;
  q = q * t - 2.369455054e-02f;
  q = q * t + 1.061590323e-01f;
  q = q * t + 6.351980439e-01f;
  q = q * t + 1.286370729e-01f;
  vf big = 1.f - exp(-(q * t + t));
  return t < 0.93f ? p * x + x : detail::with_sign(big, x);
}
#endif

// ---- trigonometric
namespace detail {
template <bool COS>
BB_INLINE vf sin_cos(vf x) {
  vf n = nearest(x * 0.636619772f);
  vf r = ((x - n * 1.57079637f) - n * -4.37113883e-8f) - n * -1.71512451e-15f;
  vf z = r * r;
  vf s = splat(2.718046473e-06f);
  s = s * z - 1.983930442e-04f;
  s = s * z + 8.333329281e-03f;
  s = s * z - 1.666666664e-01f;
  s = s * (z * r) + r;
  vf c = splat(2.443241296e-05f);
  c = c * z - 1.388730987e-03f;
  c = c * z + 4.166664555e-02f;
  c = c * (z * z) + (1.f - 0.5f * z);
  index<float> k = as_index(n) + (COS ? 1 : 0);
  vf y = (k & 1) != 0 ? c : s;
  return from_bits<float>(bits_of(y) ^ ((k & 2) << 30));
}
template <class F>
BB_INLINE vf large_lanes(vf x, vf y, F f) {
  index<float> large = abs(x) <= 16384.f ? index<float>{} : ~index<float>{};
  std::int32_t any =
      fold<W<float> / 2>(as_float<float>(large), [](vf a, vf b) BB_BODY { return a + b; })[0] != 0.f;
  if (any) [[unlikely]]
    for (int i = 0; i < W<float>; i++)
      if (large[i]) y[i] = f(x[i]);
  return y;
}
}  // namespace detail
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
BB_INLINE vf sin(vf x) {
  vf y = detail::large_lanes(x, detail::sin_cos<false>(x), [](float v) { return std::sin(v); });
  return x == 0.f ? x : y;
}
BB_INLINE vf cos(vf x) {
  return detail::large_lanes(x, detail::sin_cos<true>(x), [](float v) { return std::cos(v); });
}
#else  // the reduction above needs exact products
BB_INLINE vf sin(vf x) {
  return detail::each_lane(x, [](float v) { return std::sin(v); });
}
BB_INLINE vf cos(vf x) {
  return detail::each_lane(x, [](float v) { return std::cos(v); });
}
#endif

// ---- double and scalars: the C library
#define BB_LIBRARY_FUNCTION(name)                                       \
  BB_INLINE vd name(vd x) {                                             \
    return detail::each_lane(x, [](double v) { return std::name(v); }); \
  }                                                                     \
  BB_INLINE float name(float x) { return std::name(x); }                \
  BB_INLINE double name(double x) { return std::name(x); }
BB_LIBRARY_FUNCTION(exp)
BB_LIBRARY_FUNCTION(exp2)
BB_LIBRARY_FUNCTION(expm1)
BB_LIBRARY_FUNCTION(tanh)
BB_LIBRARY_FUNCTION(log)
BB_LIBRARY_FUNCTION(log2)
BB_LIBRARY_FUNCTION(erf)
BB_LIBRARY_FUNCTION(sin)
BB_LIBRARY_FUNCTION(cos)
#undef BB_LIBRARY_FUNCTION
#define BB_SCALAR_FUNCTION(name)                         \
  BB_INLINE float name(float x) { return std::name(x); } \
  BB_INLINE double name(double x) { return std::name(x); }
BB_SCALAR_FUNCTION(sqrt)
BB_SCALAR_FUNCTION(abs)
BB_SCALAR_FUNCTION(floor)
BB_SCALAR_FUNCTION(ceil)
#undef BB_SCALAR_FUNCTION
BB_INLINE float recip(float x) { return 1.f / x; }
BB_INLINE double recip(double x) { return 1. / x; }
BB_INLINE float rsqrt(float x) { return 1.f / std::sqrt(x); }
BB_INLINE double rsqrt(double x) { return 1. / std::sqrt(x); }
BB_INLINE double sigmoid(double x) {
  double e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1.) / (1. + e);
}
BB_INLINE float sigmoid(float x) {
  float e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1.f) / (1.f + e);
}
BB_INLINE vd sigmoid(vd x) {
  return detail::each_lane(x, [](double v) { return sigmoid(v); });
}
BB_INLINE vd silu(vd x) { return max(splat(-std::numeric_limits<double>::max()), x) * sigmoid(x); }
BB_INLINE float silu(float x) { return max(-std::numeric_limits<float>::max(), x) * sigmoid(x); }
BB_INLINE double silu(double x) { return max(-std::numeric_limits<double>::max(), x) * sigmoid(x); }

BB_INLINE vf gelu(vf x) {
  return max(splat(-std::numeric_limits<float>::max()), x) * (0.5f + 0.5f * erf(x * 0.70710678f));
}
BB_INLINE vd gelu(vd x) {
  return max(splat(-std::numeric_limits<double>::max()), x) * (0.5 + 0.5 * erf(x * 0.70710678118654752));
}
BB_INLINE float gelu(float x) {
  return max(-std::numeric_limits<float>::max(), x) * (0.5f + 0.5f * std::erf(x * 0.70710678f));
}
BB_INLINE double gelu(double x) {
  return max(-std::numeric_limits<double>::max(), x) * (0.5 + 0.5 * std::erf(x * 0.70710678118654752));
}

template <detail::floating V>
BB_INLINE V pow(V x, V y) {
  for (int i = 0; i < W<detail::element<V>>; i++) x[i] = std::pow(x[i], y[i]);
  return x;
}
BB_INLINE float pow(float x, float y) { return std::pow(x, y); }
BB_INLINE double pow(double x, double y) { return std::pow(x, y); }
}  // namespace bb
