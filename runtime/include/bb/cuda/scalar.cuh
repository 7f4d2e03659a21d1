// Scalars of generated kernels: storage types and the types that are computed in, and functions that act as the
// program's operations do (NaN goes through minima and maxima). For the general form of kernels; needs no more than C++17.
#pragma once
#include "integers.cuh"
#include "types.cuh"

namespace bb::scalar {

// The number that an element in memory stands for; 16-bit floats are computed with in f32.
BB_DEVICE float value(f16 x) { return __half2float(x); }
BB_DEVICE float value(bf16 x) { return __bfloat162float(x); }
BB_DEVICE float value(float x) { return x; }
BB_DEVICE double value(double x) { return x; }
// A caller's array may have any byte but 0 for true, and a bool of C++ only 1: this reads the byte.
BB_DEVICE bool value(const bool& x) { return reinterpret_cast<const unsigned char&>(x) != 0; }
BB_DEVICE int value(int x) { return x; }
BB_DEVICE long long value(long long x) { return x; }

// A number as an element of type T, rounded once, to the nearest, ties to even.
template <class T>
struct element {
  template <class S>
  static BB_DEVICE T of(S x) { return static_cast<T>(x); }
};
template <>
struct element<f16> {
  template <class S>
  static BB_DEVICE f16 of(S x) { return __float2half_rn(odd_float(x)); }
};
template <>
struct element<bf16> {
  template <class S>
  static BB_DEVICE bf16 of(S x) { return __float2bfloat16_rn(odd_float(x)); }
};
template <>
struct element<bool> {
  template <class S>
  static BB_DEVICE bool of(S x) { return x != S(0); }
};
template <class T, class S>
BB_DEVICE T as(S x) { return element<T>::of(x); }
// A number rounded to what T holds.
template <class T, class S>
BB_DEVICE auto rounded(S x) { return value(element<T>::of(x)); }

template <class T>
BB_DEVICE T max_nan(T a, T b) { return a != a || a > b ? a : b; }
template <class T>
BB_DEVICE T min_nan(T a, T b) { return a != a || a < b ? a : b; }
BB_DEVICE bool is_negative(float x) { return ::copysignf(1.0f, x) < 0.0f; }
BB_DEVICE bool is_negative(double x) { return ::copysign(1.0, x) < 0.0; }
// NaN where one is, and -0 below +0.
template <class T>
BB_DEVICE T maximum(T a, T b) { return a != a || a > b || (a == b && is_negative(b)) ? a : b; }
template <class T>
BB_DEVICE T minimum(T a, T b) { return a != a || a < b || (a == b && is_negative(a)) ? a : b; }
// a * b, rounded by itself: the compiler makes no multiply-add of it and a sum.
BB_DEVICE float product(float a, float b) { return __fmul_rn(a, b); }
BB_DEVICE double product(double a, double b) { return __dmul_rn(a, b); }
template <class T>
BB_DEVICE T max_number(T a, T b) { return b != b || a > b ? a : b; }
template <class T>
BB_DEVICE T min_number(T a, T b) { return b != b || a < b ? a : b; }

#define BB_FUNCTION(NAME, SINGLE, DOUBLE)               \
  BB_DEVICE float NAME(float x) { return SINGLE(x); }   \
  BB_DEVICE double NAME(double x) { return DOUBLE(x); }
BB_FUNCTION(exp, ::expf, ::exp)
BB_FUNCTION(exp2, ::exp2f, ::exp2)
BB_FUNCTION(expm1, ::expm1f, ::expm1)
BB_FUNCTION(log, ::logf, ::log)
BB_FUNCTION(log2, ::log2f, ::log2)
BB_FUNCTION(log1p, ::log1pf, ::log1p)
BB_FUNCTION(sqrt, ::sqrtf, ::sqrt)
BB_DEVICE float rsqrt(float x) { return 1.0f / ::sqrtf(x); }
BB_DEVICE double rsqrt(double x) { return 1.0 / ::sqrt(x); }
BB_FUNCTION(tanh, ::tanhf, ::tanh)
BB_FUNCTION(erf, ::erff, ::erf)
BB_FUNCTION(sin, ::sinf, ::sin)
BB_FUNCTION(cos, ::cosf, ::cos)
BB_FUNCTION(abs, ::fabsf, ::fabs)
BB_FUNCTION(floor, ::floorf, ::floor)
BB_FUNCTION(ceil, ::ceilf, ::ceil)
#undef BB_FUNCTION
BB_DEVICE float pow(float x, float y) { return ::powf(x, y); }
BB_DEVICE double pow(double x, double y) { return ::pow(x, y); }
BB_DEVICE float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
BB_DEVICE double fma(double a, double b, double c) { return ::fma(a, b, c); }

BB_DEVICE long long ceil_div(long long a, long long b) { return (a + b - 1) / b; }

struct sum_of {
  template <class T>
  BB_DEVICE T operator()(T a, T b) const { return a + b; }
  BB_DEVICE int operator()(int a, int b) const { return added<int>(a, b); }
  BB_DEVICE long long operator()(long long a, long long b) const { return added<long long>(a, b); }
};
struct max_of {
  template <class T>
  BB_DEVICE T operator()(T a, T b) const { return max_nan(a, b); }
};
struct min_of {
  template <class T>
  BB_DEVICE T operator()(T a, T b) const { return min_nan(a, b); }
};
// Words for a lambda that is written once and compiled twice: with what a block at an edge needs, and without.
struct yes {
  static constexpr bool value = true;
};
struct no {
  static constexpr bool value = false;
};

// All lanes of a warp get what their 32 values reduce to.
template <class T, class F>
BB_DEVICE T reduce_warp(T x, F f) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, distance));
  return x;
}

}  // namespace bb::scalar
