// __half and __nv_bfloat16. Arithmetic is done in f32 and rounded once: with 24 bits of significand, twice those of
// a half and two more, that gives the same as arithmetic in the narrow format itself.
#pragma once
#include "language.hpp"
#include <bb/cuda_emulator/numerics.hpp>

struct BbEmuHalfFormat {
  static uint16_t from(float x) { return bb_emu_float_to_half(x); }
  static float to(uint16_t bits) { return bb_emu_half_to_float(bits); }
};
struct BbEmuBfloat16Format {
  static uint16_t from(float x) { return bb_emu_float_to_bfloat16(x); }
  static float to(uint16_t bits) { return bb_emu_bfloat16_to_float(bits); }
};

struct __attribute__((aligned(2))) __half_raw {
  unsigned short x;
};
struct __attribute__((aligned(2))) __nv_bfloat16_raw {
  unsigned short x;
};

template <class Format>
struct __attribute__((aligned(2))) BbEmuNarrow {
  unsigned short __x;

  BbEmuNarrow() = default;
  BbEmuNarrow(float x) : __x(Format::from(x)) {}
  BbEmuNarrow(double x) : __x(Format::from(bb_emu_to_odd_float(x))) {}
  BbEmuNarrow(int x) : BbEmuNarrow(static_cast<double>(x)) {}
  BbEmuNarrow(unsigned x) : BbEmuNarrow(static_cast<double>(x)) {}
  BbEmuNarrow(short x) : BbEmuNarrow(static_cast<double>(x)) {}
  BbEmuNarrow(unsigned short x) : BbEmuNarrow(static_cast<double>(x)) {}
  BbEmuNarrow(long x) : BbEmuNarrow(static_cast<double>(x)) {}
  BbEmuNarrow(unsigned long x) : BbEmuNarrow(static_cast<double>(x)) {}
  BbEmuNarrow(__half_raw raw) : __x(raw.x) {}
  BbEmuNarrow(__nv_bfloat16_raw raw) : __x(raw.x) {}
  static BbEmuNarrow of_bits(unsigned short bits) {
    BbEmuNarrow narrow;
    narrow.__x = bits;
    return narrow;
  }
  operator float() const { return Format::to(__x); }

  friend BbEmuNarrow operator+(BbEmuNarrow a, BbEmuNarrow b) { return float(a) + float(b); }
  friend BbEmuNarrow operator-(BbEmuNarrow a, BbEmuNarrow b) { return float(a) - float(b); }
  friend BbEmuNarrow operator*(BbEmuNarrow a, BbEmuNarrow b) { return float(a) * float(b); }
  friend BbEmuNarrow operator/(BbEmuNarrow a, BbEmuNarrow b) { return float(a) / float(b); }
  friend BbEmuNarrow operator-(BbEmuNarrow a) { return of_bits(a.__x ^ 0x8000); }
  friend BbEmuNarrow operator+(BbEmuNarrow a) { return a; }
  BbEmuNarrow& operator+=(BbEmuNarrow b) { return *this = *this + b; }
  BbEmuNarrow& operator-=(BbEmuNarrow b) { return *this = *this - b; }
  BbEmuNarrow& operator*=(BbEmuNarrow b) { return *this = *this * b; }
  BbEmuNarrow& operator/=(BbEmuNarrow b) { return *this = *this / b; }
  friend bool operator==(BbEmuNarrow a, BbEmuNarrow b) { return float(a) == float(b); }
  friend bool operator!=(BbEmuNarrow a, BbEmuNarrow b) { return float(a) != float(b); }
  friend bool operator<(BbEmuNarrow a, BbEmuNarrow b) { return float(a) < float(b); }
  friend bool operator>(BbEmuNarrow a, BbEmuNarrow b) { return float(a) > float(b); }
  friend bool operator<=(BbEmuNarrow a, BbEmuNarrow b) { return float(a) <= float(b); }
  friend bool operator>=(BbEmuNarrow a, BbEmuNarrow b) { return float(a) >= float(b); }
};

template <class Format>
struct __attribute__((aligned(4))) BbEmuNarrowPair {
  using Narrow = BbEmuNarrow<Format>;
  Narrow x, y;

  BbEmuNarrowPair() = default;
  BbEmuNarrowPair(Narrow x, Narrow y) : x(x), y(y) {}
  friend BbEmuNarrowPair operator+(BbEmuNarrowPair a, BbEmuNarrowPair b) { return {a.x + b.x, a.y + b.y}; }
  friend BbEmuNarrowPair operator-(BbEmuNarrowPair a, BbEmuNarrowPair b) { return {a.x - b.x, a.y - b.y}; }
  friend BbEmuNarrowPair operator*(BbEmuNarrowPair a, BbEmuNarrowPair b) { return {a.x * b.x, a.y * b.y}; }
  friend BbEmuNarrowPair operator/(BbEmuNarrowPair a, BbEmuNarrowPair b) { return {a.x / b.x, a.y / b.y}; }
  BbEmuNarrowPair& operator+=(BbEmuNarrowPair b) { return *this = *this + b; }
  BbEmuNarrowPair& operator*=(BbEmuNarrowPair b) { return *this = *this * b; }
};

using __half = BbEmuNarrow<BbEmuHalfFormat>;
using half = __half;
using __half2 = BbEmuNarrowPair<BbEmuHalfFormat>;
using half2 = __half2;
using __nv_bfloat16 = BbEmuNarrow<BbEmuBfloat16Format>;
using nv_bfloat16 = __nv_bfloat16;
using __nv_bfloat162 = BbEmuNarrowPair<BbEmuBfloat16Format>;
using nv_bfloat162 = __nv_bfloat162;

// ---- Arithmetic by name, the same for both formats
template <class F> inline BbEmuNarrow<F> __hadd(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a + b; }
template <class F> inline BbEmuNarrow<F> __hsub(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a - b; }
template <class F> inline BbEmuNarrow<F> __hmul(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a * b; }
template <class F> inline BbEmuNarrow<F> __hdiv(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a / b; }
template <class F> inline BbEmuNarrow<F> __hneg(BbEmuNarrow<F> a) { return -a; }
template <class F> inline BbEmuNarrow<F> __habs(BbEmuNarrow<F> a) { return BbEmuNarrow<F>::of_bits(a.__x & 0x7fff); }
template <class F> inline BbEmuNarrow<F> __hmax(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return fmaxf(a, b); }
template <class F> inline BbEmuNarrow<F> __hmin(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return fminf(a, b); }
template <class F> inline BbEmuNarrow<F> __hfma(BbEmuNarrow<F> a, BbEmuNarrow<F> b, BbEmuNarrow<F> c) {
  return static_cast<double>(float(a)) * static_cast<double>(float(b)) + static_cast<double>(float(c));
}
template <class F> inline bool __heq(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a == b; }
template <class F> inline bool __hne(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a != b; }
template <class F> inline bool __hlt(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a < b; }
template <class F> inline bool __hle(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a <= b; }
template <class F> inline bool __hgt(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a > b; }
template <class F> inline bool __hge(BbEmuNarrow<F> a, BbEmuNarrow<F> b) { return a >= b; }
template <class F> inline bool __hisnan(BbEmuNarrow<F> a) { return float(a) != float(a); }
template <class F> inline BbEmuNarrow<F> hexp(BbEmuNarrow<F> a) { return expf(a); }
template <class F> inline BbEmuNarrow<F> hexp2(BbEmuNarrow<F> a) { return exp2f(a); }
template <class F> inline BbEmuNarrow<F> hlog(BbEmuNarrow<F> a) { return logf(a); }
template <class F> inline BbEmuNarrow<F> hsqrt(BbEmuNarrow<F> a) { return sqrtf(a); }
template <class F> inline BbEmuNarrow<F> hrsqrt(BbEmuNarrow<F> a) { return 1.0f / sqrtf(a); }
template <class F> inline BbEmuNarrow<F> hrcp(BbEmuNarrow<F> a) { return 1.0f / float(a); }
template <class F> inline BbEmuNarrowPair<F> __hadd2(BbEmuNarrowPair<F> a, BbEmuNarrowPair<F> b) { return a + b; }
template <class F> inline BbEmuNarrowPair<F> __hsub2(BbEmuNarrowPair<F> a, BbEmuNarrowPair<F> b) { return a - b; }
template <class F> inline BbEmuNarrowPair<F> __hmul2(BbEmuNarrowPair<F> a, BbEmuNarrowPair<F> b) { return a * b; }
template <class F> inline BbEmuNarrowPair<F> __h2div(BbEmuNarrowPair<F> a, BbEmuNarrowPair<F> b) { return a / b; }
template <class F> inline BbEmuNarrowPair<F> __hmax2(BbEmuNarrowPair<F> a, BbEmuNarrowPair<F> b) {
  return {__hmax(a.x, b.x), __hmax(a.y, b.y)};
}
template <class F> inline BbEmuNarrowPair<F> __hmin2(BbEmuNarrowPair<F> a, BbEmuNarrowPair<F> b) {
  return {__hmin(a.x, b.x), __hmin(a.y, b.y)};
}
template <class F>
inline BbEmuNarrowPair<F> __hfma2(BbEmuNarrowPair<F> a, BbEmuNarrowPair<F> b, BbEmuNarrowPair<F> c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}

// ---- Conversions
inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return x; }
inline float __half2float(__half x) { return x; }
inline __half __int2half_rn(int x) { return x; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float22half2_rn(float2 v) { return {v.x, v.y}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline float2 __half22float2(__half2 v) { return {v.x, v.y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
template <class F> inline float __low2float(BbEmuNarrowPair<F> v) { return v.x; }
template <class F> inline float __high2float(BbEmuNarrowPair<F> v) { return v.y; }
inline unsigned short __half_as_ushort(__half x) { return x.__x; }
inline short __half_as_short(__half x) { return static_cast<short>(x.__x); }
inline __half __ushort_as_half(unsigned short bits) { return __half::of_bits(bits); }

inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {v.x, v.y}; }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {x, x}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {v.x, v.y}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16::of_bits(bits); }
