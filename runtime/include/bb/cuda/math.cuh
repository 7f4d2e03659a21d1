// Functions of f32, under the names that the CPU's library has for them (math.hpp).
//
//   bb::exp exp2 expm1 log log2 log1p tanh erf sigmoid silu gelu sin cos sqrt rsqrt recip abs floor ceil pow
//   bb::fma as_index rounded<T>
//   bb::max min           the number where one is NaN;   bb::max_nan min_nan   NaN where one is
//   bb::fast::exp exp2 log log2 tanh sigmoid silu sqrt rsqrt recip div
//
// sigmoid(x) = 1/(1 + e^-x), silu(x) = x sigmoid(x), gelu(x) = x (1 + erf(x/sqrt 2))/2, rsqrt = 1/sqrt, recip
// = 1/x. Those of bb give NaN for NaN and the limit at +-inf: exp(-inf) = 0, log(0) = -inf, silu(-inf) =
// gelu(-inf) = -0. They are CUDA's own functions: the largest error of expf is 1 ulp, exp2f and tanhf 2, logf
// and log2f 1, log1pf 1, expm1f 1, erff 2, sinf and cosf 2, rsqrtf 2, powf 4 (CUDA C++ Programming Guide);
// sqrt and recip are rounded correctly.
//
// Those of bb::fast are a few instructions, without calls. Errors below are relative and what the PTX ISA
// promises of the instruction, together with the formula's own; numbers below 2^-126 are zero.
//   exp2        2^-22
//   exp         2^-22 + |x| 2^-23: the product x log2(e) is rounded. Of e^x absolutely, at x <= 0: 2^-21.6
//   recip       2^-23;  div 2^-22;  rsqrt 2^-22.4;  sqrt 2^-22
//   log2, log   2^-22 absolutely for x in [1/2, 2], else 2^-22 relatively
//   sigmoid     2^-21 + |x| 2^-23, 0 for x < -88.7;  silu the same;  silu(-inf) = -0
//   tanh        2^-20
#pragma once
#include "types.cuh"

namespace bb {

constexpr float LOG2_E = 1.4426950408889634f, LN_2 = 0.69314718055994531f;
constexpr float HIGHEST = 3.4028234663852886e38f;

BB_DEVICE float exp(float x) { return ::expf(x); }
BB_DEVICE float exp2(float x) { return ::exp2f(x); }
BB_DEVICE float expm1(float x) { return ::expm1f(x); }
BB_DEVICE float log(float x) { return ::logf(x); }
BB_DEVICE float log2(float x) { return ::log2f(x); }
BB_DEVICE float log1p(float x) { return ::log1pf(x); }
BB_DEVICE float tanh(float x) { return ::tanhf(x); }
BB_DEVICE float erf(float x) { return ::erff(x); }
BB_DEVICE float sin(float x) { return ::sinf(x); }
BB_DEVICE float cos(float x) { return ::cosf(x); }
BB_DEVICE float sqrt(float x) { return ::sqrtf(x); }
BB_DEVICE float rsqrt(float x) { return ::rsqrtf(::fabsf(x) == 0.0f ? 0.0f : x); }  // inf for -0 too
BB_DEVICE float recip(float x) { return 1.0f / x; }
BB_DEVICE float abs(float x) { return ::fabsf(x); }
BB_DEVICE float floor(float x) { return ::floorf(x); }
BB_DEVICE float ceil(float x) { return ::ceilf(x); }
BB_DEVICE float pow(float x, float y) { return ::powf(x, y); }
BB_DEVICE float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
BB_DEVICE float max(float x, float y) { return ::fmaxf(x, y); }
BB_DEVICE float min(float x, float y) { return ::fminf(x, y); }
BB_DEVICE float max_nan(float x, float y) { return bb_max_nan(x, y); }
BB_DEVICE float min_nan(float x, float y) { return bb_min_nan(x, y); }
BB_DEVICE float sigmoid(float x) {
  const float e = ::expf(-::fabsf(x));  // at most 1
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}
BB_DEVICE float silu(float x) {
  const float half = ::expf(-0.5f * ::fabsf(x)), numerator = ::fmaxf(x, -HIGHEST);
  // x e^x in two steps: e^x alone may be flushed to zero where the product is not.
  return (x < 0.0f ? numerator * half * half : numerator) / ::fmaf(half, half, 1.0f);
}
BB_DEVICE float gelu(float x) {
  return ::fmaxf(x, -HIGHEST) * (0.5f + 0.5f * ::erff(x * 0.70710678118654752f));
}
// Towards zero; the nearest integer there is where none fits, and 0 for NaN.
BB_DEVICE int as_index(float x) { return __float2int_rz(x); }

namespace fast {
BB_DEVICE float exp2(float x) { return bb_exp2(x); }
BB_DEVICE float exp(float x) { return bb_exp2(x * LOG2_E); }
BB_DEVICE float log2(float x) { return bb_log2(x); }
BB_DEVICE float log(float x) { return bb_log2(x) * LN_2; }
BB_DEVICE float sqrt(float x) { return bb_sqrt(x); }
BB_DEVICE float rsqrt(float x) { return bb_rsqrt(x); }
BB_DEVICE float recip(float x) { return bb_reciprocal(x); }
BB_DEVICE float div(float x, float y) {
  const float scale = ::fabsf(y) > 0x1p126f ? 0.25f : 1.0f;  // the reciprocal itself would be flushed to zero
  return x * scale * bb_reciprocal(y * scale);
}
BB_DEVICE float sigmoid(float x) { return bb_reciprocal(1.0f + bb_exp2(x * -LOG2_E)); }
BB_DEVICE float silu(float x) { return ::fmaxf(x, -HIGHEST) * sigmoid(x); }
BB_DEVICE float tanh(float x) {
  const float t = ::fabsf(x), z = x * x;
  float p = 2.142961804e-03f;
  p = ::fmaf(p, z, -8.177398213e-03f);
  p = ::fmaf(p, z, 2.170070322e-02f);
  p = ::fmaf(p, z, -5.394676307e-02f);
  p = ::fmaf(p, z, 1.333320601e-01f);
  p = ::fmaf(p, z, -3.333333080e-01f);
  const float small = ::fmaf(x * z, p, x);
  const float large = ::copysignf(::fmaf(-2.0f, bb_reciprocal(1.0f + bb_exp2(t * (2.0f * LOG2_E))), 1.0f), x);
  return t < 0.625f ? small : large;
}
}  // namespace fast

}  // namespace bb
