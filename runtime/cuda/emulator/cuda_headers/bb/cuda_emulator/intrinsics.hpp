// CUDA's arithmetic functions. Those that are approximate on a GPU are the C library's here.
#pragma once
#include <bb/cuda_emulator/numerics.hpp>

// ---- Bits of numbers
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(static_cast<uint64_t>(static_cast<unsigned>(high)) << 32 |
                                                     static_cast<unsigned>(low)));
}

// ---- f32
inline float __expf(float x) { return expf(x); }
inline float __exp2f(float x) { return exp2f(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
inline float sinpif(float x) { return static_cast<float>(sin(3.14159265358979323846 * static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(cos(3.14159265358979323846 * static_cast<double>(x))); }

// ---- Between numbers. Out of range, a GPU gives the nearest integer there is, and 0 (or the least) for NaN.
template <class T>
inline T bb_emu_to_integer(double x) {
  constexpr bool is_signed = T(-1) < T(0);
  constexpr int bits = 8 * sizeof(T);
  constexpr T highest = is_signed ? T(~(T(1) << (bits - 1))) : T(~T(0));
  constexpr T lowest = is_signed ? T(T(1) << (bits - 1)) : T(0);
  if (x != x) return bits == 64 ? lowest : T(0);
  const double limit = is_signed ? ldexp(1.0, bits - 1) : ldexp(1.0, bits);
  if (x >= limit) return highest;
  if (x <= static_cast<double>(lowest)) return lowest;
  return static_cast<T>(x);
}
#define BB_EMU_ROUNDINGS(FROM_NAME, FROM, TO_NAME, TO)                                                    \
  inline TO __##FROM_NAME##2##TO_NAME##_rn(FROM x) { return bb_emu_to_integer<TO>(nearbyint(double(x))); } \
  inline TO __##FROM_NAME##2##TO_NAME##_rz(FROM x) { return bb_emu_to_integer<TO>(trunc(double(x))); }     \
  inline TO __##FROM_NAME##2##TO_NAME##_rd(FROM x) { return bb_emu_to_integer<TO>(floor(double(x))); }     \
  inline TO __##FROM_NAME##2##TO_NAME##_ru(FROM x) { return bb_emu_to_integer<TO>(ceil(double(x))); }
BB_EMU_ROUNDINGS(float, float, int, int)
BB_EMU_ROUNDINGS(float, float, uint, unsigned)
BB_EMU_ROUNDINGS(float, float, ll, long long)
BB_EMU_ROUNDINGS(float, float, ull, unsigned long long)
BB_EMU_ROUNDINGS(double, double, int, int)
BB_EMU_ROUNDINGS(double, double, uint, unsigned)
BB_EMU_ROUNDINGS(double, double, ll, long long)
BB_EMU_ROUNDINGS(double, double, ull, unsigned long long)
#undef BB_EMU_ROUNDINGS
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline double __int2double_rn(int x) { return x; }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

// ---- Integers
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1u) << (31 - bit);
  return reversed;
}
inline int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(y) << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i)
    result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
inline int __dp4a(int x, int y, int sum) {
  for (int i = 0; i < 4; ++i)
    sum += static_cast<signed char>(x >> 8 * i) * static_cast<signed char>(y >> 8 * i);
  return sum;
}

// ---- min and max of any two numbers; of floating-point ones the number where the other is NaN
template <class A, class B>
inline auto min(A a, B b) -> decltype(a + b) {
  using C = decltype(a + b);
  if constexpr (C(0.5) != C(0))
    return C(a) != C(a) || C(b) < C(a) ? C(b) : C(a);
  else
    return C(b) < C(a) ? C(b) : C(a);
}
template <class A, class B>
inline auto max(A a, B b) -> decltype(a + b) {
  using C = decltype(a + b);
  if constexpr (C(0.5) != C(0))
    return C(a) != C(a) || C(a) < C(b) ? C(b) : C(a);
  else
    return C(a) < C(b) ? C(b) : C(a);
}
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }

// ---- Loads and stores with hints for caches
#define BB_EMU_LOAD(NAME) \
  template <class T>      \
  inline T NAME(const T* address) { return *address; }
BB_EMU_LOAD(__ldg)
BB_EMU_LOAD(__ldcs)
BB_EMU_LOAD(__ldca)
BB_EMU_LOAD(__ldcg)
BB_EMU_LOAD(__ldlu)
BB_EMU_LOAD(__ldcv)
#undef BB_EMU_LOAD
#define BB_EMU_STORE(NAME)                          \
  template <class T>                                \
  inline void NAME(T* address, T value) { *address = value; }
BB_EMU_STORE(__stcs)
BB_EMU_STORE(__stcg)
BB_EMU_STORE(__stwb)
BB_EMU_STORE(__stwt)
#undef BB_EMU_STORE

// ---- Time does not pass.
inline long long clock64() { return 0; }
inline void __nanosleep(unsigned) {}
