// Integers of generated kernels: int and long long, and i1 as an int that is 0 or -1, or 0 or 1 where it is unsigned. All
// functions are defined for all operands and act as the program's operations do, as those of the CPU's integers.hpp.
//
//   added subtracted multiplied <T>(a, b), multiply_added<T>(sum, a, b)    modulo 2^32 or 2^64
//   quotient<R, T> unsigned_quotient<R, T>       rounded towards_zero, up or down; x / 0 is 0, the least integer by -1 itself
//   remainder<T> unsigned_remainder<T>           x % 0 is 0
//   shift_left shift_right unsigned_shift_right <BITS, T>     by an unsigned count; from BITS on all bits are shifted out
//   max min unsigned_max unsigned_min absolute <T>
//   to_signed<BITS, T>(x) to_unsigned<BITS, T>(x)    floats towards zero: beyond the range the nearest integer in it; NaN is 0
//   odd_float(x)    a double or an integer as a float whose last bit is set where it is not exact: rounding it again, to
//                   fewer bits, rounds once
#pragma once
#include "device.cuh"

namespace bb::scalar {

template <class T>
struct unsigned_of;
template <>
struct unsigned_of<int> {
  using type = unsigned;
};
template <>
struct unsigned_of<long long> {
  using type = unsigned long long;
};
template <class T>
using unsigned_t = typename unsigned_of<T>::type;

template <class T>
BB_DEVICE T added(T a, T b) { return T(unsigned_t<T>(a) + unsigned_t<T>(b)); }
template <class T>
BB_DEVICE T subtracted(T a, T b) { return T(unsigned_t<T>(a) - unsigned_t<T>(b)); }
template <class T>
BB_DEVICE T multiplied(T a, T b) { return T(unsigned_t<T>(a) * unsigned_t<T>(b)); }
template <class T>
BB_DEVICE T multiply_added(T sum, T a, T b) { return added<T>(sum, multiplied<T>(a, b)); }

enum class Round { towards_zero, up, down };

template <Round R, class T>
BB_DEVICE T quotient(T a, T b) {
  if (b == 0) return 0;
  if (b == -1) return subtracted<T>(0, a);
  const T q = a / b;
  if (q * b == a || R == Round::towards_zero) return q;
  const bool positive = (a < 0) == (b < 0);
  return R == Round::up ? q + (positive ? 1 : 0) : q - (positive ? 0 : 1);
}
template <class T>
BB_DEVICE T remainder(T a, T b) { return b == 0 || b == -1 ? T(0) : a % b; }
template <Round R, class T>
BB_DEVICE T unsigned_quotient(T a, T b) {
  using U = unsigned_t<T>;
  if (b == 0) return 0;
  const U q = U(a) / U(b);
  return T(R == Round::up && q * U(b) != U(a) ? q + 1 : q);
}
template <class T>
BB_DEVICE T unsigned_remainder(T a, T b) { return b == 0 ? T(0) : T(unsigned_t<T>(a) % unsigned_t<T>(b)); }

template <int BITS, class T>
BB_DEVICE T shift_left(T a, T n) { return unsigned_t<T>(n) < BITS ? T(unsigned_t<T>(a) << n) : T(0); }
template <int BITS, class T>
BB_DEVICE T shift_right(T a, T n) { return a >> (unsigned_t<T>(n) < BITS ? n : T(BITS - 1)); }
template <int BITS, class T>
BB_DEVICE T unsigned_shift_right(T a, T n) { return unsigned_t<T>(n) < BITS ? T(unsigned_t<T>(a) >> n) : T(0); }

template <class T>
BB_DEVICE T max(T a, T b) { return a > b ? a : b; }
template <class T>
BB_DEVICE T min(T a, T b) { return a < b ? a : b; }
template <class T>
BB_DEVICE T unsigned_max(T a, T b) { return unsigned_t<T>(a) > unsigned_t<T>(b) ? a : b; }
template <class T>
BB_DEVICE T unsigned_min(T a, T b) { return unsigned_t<T>(a) < unsigned_t<T>(b) ? a : b; }
template <class T>
BB_DEVICE T absolute(T a) { return a < 0 ? subtracted<T>(0, a) : a; }

template <int BITS, class T, class F>
BB_DEVICE T to_signed(F x) {
  constexpr T least = T(unsigned_t<T>(-1) << (BITS - 1));
  constexpr F low = F(least), high = -low;
  return x >= high ? T(-(least + 1)) : x > low ? T(x) : x != x ? T(0) : least;
}
template <int BITS, class T, class F>
BB_DEVICE T to_unsigned(F x) {
  constexpr F high = F(2) * F(unsigned_t<T>(1) << (BITS - 1));
  return x >= high ? T(unsigned_t<T>(-1)) : x > F(-1) ? T(unsigned_t<T>(x)) : T(0);
}

BB_DEVICE float odd_float(float x) { return x; }
BB_DEVICE float odd_float(double x) {
  const float f = __double2float_rn(x);
  if (static_cast<double>(f) == x || x != x) return f;
  const int bits = __float_as_int(f) - (::fabs(static_cast<double>(f)) > ::fabs(x));
  return __int_as_float(bits | 1);
}
BB_DEVICE float odd_float(int x) { return odd_float(static_cast<double>(x)); }
BB_DEVICE float odd_float(unsigned x) { return odd_float(static_cast<double>(x)); }
// Doubles hold 53 bits: below the highest of larger integers, one bit stands for all that are not zero.
BB_DEVICE float odd_float(unsigned long long x) {
  return odd_float(static_cast<double>(x >> 53 != 0 && (x & 2047) != 0 ? (x & ~2047ull) | 1024 : x));
}
BB_DEVICE float odd_float(long long x) {
  const float size = odd_float(x < 0 ? 0 - static_cast<unsigned long long>(x) : static_cast<unsigned long long>(x));
  return x < 0 ? -size : size;
}

}  // namespace bb::scalar
