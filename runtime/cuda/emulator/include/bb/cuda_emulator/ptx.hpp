// What single PTX instructions compute, for the C++ that the PTX tier makes of a kernel.
// Source: the PTX ISA reference, chapter "Instructions". The CPU keeps denormals; instructions with `.ftz` flush them.
#pragma once
#include <bb/cuda_emulator/hooks.hpp>
#include <bb/cuda_emulator/numerics.hpp>
#include <bb/cuda_emulator/ptx_printf.hpp>
#include <math.h>
#include <string.h>

#include <limits>
#include <type_traits>

#if BB_EMU_CHECK
#define BB_PTX_ACCESS(address, bytes, kind, site) bb_emu_access(address, bytes, kind, site)
#else
#define BB_PTX_ACCESS(address, bytes, kind, site) ((void)(address))
#endif

namespace bb_ptx {

template <class To, class From>
inline constexpr bool same_bits = sizeof(To) == sizeof(From) && !std::is_same_v<To, bool> && !std::is_same_v<From, bool>;

// ---- Registers. An instruction's type may be narrower than the register that it reads or writes.
template <class T, class Reg>
inline T get(Reg reg) {
  if constexpr (std::is_same_v<T, Reg>) return reg;
  else if constexpr (same_bits<T, Reg>) return __builtin_bit_cast(T, reg);
  else return static_cast<T>(reg);
}
template <class Reg, class T>
inline void set(Reg& reg, T value) {
  reg = get<Reg>(value);  // a narrower value is extended by its own sign
}

// ---- 16-bit floats, kept apart by their type.
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};
inline float widen(Half value) { return bb_emu_half_to_float(value.bits); }
inline float widen(Bfloat value) { return bb_emu_bfloat16_to_float(value.bits); }
inline float widen(float value) { return value; }
inline double widen(double value) { return value; }
template <class T>
inline T narrow(float value) {
  if constexpr (std::is_same_v<T, Half>) return {bb_emu_float_to_half(value)};
  else if constexpr (std::is_same_v<T, Bfloat>) return {bb_emu_float_to_bfloat16(value)};
  else return static_cast<T>(value);
}
template <class T>
inline constexpr bool is_small = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>;
template <class T>
inline constexpr bool is_float = is_small<T> || std::is_floating_point_v<T>;
// Two of them in one register: the operation on each half.
template <class T, class Operation, class... Words>
inline uint32_t packed(Operation operation, Words... words) {
  const T low = operation(T{static_cast<uint16_t>(words)}...), high = operation(T{static_cast<uint16_t>(words >> 16)}...);
  return static_cast<uint32_t>(high.bits) << 16 | low.bits;
}

// .ftz: a denormal f32 is a zero of the same sign, as an operand and as a result.
inline float flush(float value) {
  const uint32_t bits = bb_emu_float_bits(value);
  return (bits & 0x7f800000u) == 0 ? bb_emu_bits_float(bits & 0x80000000u) : value;
}
inline Half flush(Half value) {
  return {static_cast<uint16_t>((value.bits & 0x7c00u) == 0 ? value.bits & 0x8000u : value.bits)};
}
inline double flush(double value) { return value; }
inline Bfloat flush(Bfloat value) {
  return {static_cast<uint16_t>((value.bits & 0x7f80u) == 0 ? value.bits & 0x8000u : value.bits)};
}

// ---- Arithmetic
template <class T>
inline T add(T a, T b) {
  if constexpr (is_small<T>) return narrow<T>(widen(a) + widen(b));
  else if constexpr (is_float<T>) return a + b;
  else return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
}
template <class T>
inline T sub(T a, T b) {
  if constexpr (is_small<T>) return narrow<T>(widen(a) - widen(b));
  else if constexpr (is_float<T>) return a - b;
  else return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) - static_cast<std::make_unsigned_t<T>>(b));
}
// Rounded towards zero: the sum of two f32 in f64 and what that is short of the true one say on which side the nearest f32 is.
template <class T>
inline T add_to_zero(T a, T b) {
  static_assert(std::is_same_v<T, float>);
  const double sum = static_cast<double>(a) + b, part = sum - a;
  const float nearest = static_cast<float>(sum);
  if (!std::isfinite(sum)) return nearest;
  const double above = (static_cast<double>(nearest) - sum) - ((a - (sum - part)) + (b - part));
  return above != 0 && (above > 0) == (nearest > 0) ? std::nextafter(nearest, 0.0f) : nearest;
}
template <class T>
inline T mul(T a, T b) {
  if constexpr (is_small<T>) return narrow<T>(widen(a) * widen(b));
  else return a * b;
}
// A product of two 16-bit floats is exact in f64, and so is its sum with a third as far as the rounding can tell.
// The largest f32 that is not above a * b + c: the product is exact in f64, and so is the remainder of their sum.
template <class T>
inline T fma_down(T a, T b, T c) {
  static_assert(std::is_same_v<T, float>);
  const double product = static_cast<double>(a) * b, sum = product + c;
  const float nearest = static_cast<float>(sum);
  if (!std::isfinite(nearest)) return nearest;
  const double part = sum - product, rest = (product - (sum - part)) + (c - part);
  const double above = (static_cast<double>(nearest) - sum) - rest;
  return above > 0 ? std::nextafter(nearest, -std::numeric_limits<float>::infinity()) : nearest;
}
template <class T>
inline T fma(T a, T b, T c) {
  if constexpr (std::is_same_v<T, float>) return ::fmaf(a, b, c);
  else if constexpr (std::is_same_v<T, double>) return ::fma(a, b, c);
  else return narrow<T>(::fmaf(widen(a), widen(b), widen(c)));
}
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
template <class T>
inline Wide<T> mul_wide(T a, T b) {
  return static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b);
}
template <class T>
inline T mul_low(T a, T b) {
  return static_cast<T>(mul_wide(a, b));
}
template <class T>
inline T mul_high(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> (8 * sizeof(T)));
}
template <class T>
inline T mul24(T a, T b) {
  const int64_t x = static_cast<int64_t>(static_cast<uint64_t>(a) << 40), y = static_cast<int64_t>(static_cast<uint64_t>(b) << 40);
  if constexpr (std::is_signed_v<T>) return static_cast<T>((x >> 40) * (y >> 40));
  else return static_cast<T>((static_cast<uint64_t>(x) >> 40) * (static_cast<uint64_t>(y) >> 40));
}
// By zero, the hardware gives all ones (and for the remainder the dividend); the CPU would stop.
template <class T>
inline T divide(T a, T b) {
  if constexpr (is_float<T>) return a / b;
  else if (b == 0) return static_cast<T>(~T{0});
  else if constexpr (std::is_signed_v<T>) return b == -1 ? sub<T>(0, a) : static_cast<T>(a / b);
  else return static_cast<T>(a / b);
}
template <class T>
inline T remainder(T a, T b) {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) return b == -1 ? T{0} : static_cast<T>(a % b);
  else return static_cast<T>(a % b);
}
template <class T>
inline T negate(T a) {
  if constexpr (is_small<T>) return {static_cast<uint16_t>(a.bits ^ 0x8000u)};
  else if constexpr (is_float<T>) return -a;
  else return sub<T>(0, a);
}
template <class T>
inline T absolute(T a) {
  if constexpr (is_small<T>) return {static_cast<uint16_t>(a.bits & 0x7fffu)};
  else if constexpr (is_float<T>) return static_cast<T>(__builtin_fabs(a));
  else return a < 0 ? sub<T>(0, a) : a;
}
template <class T>
inline bool is_nan(T a) {
  return __builtin_isnan(widen(a));
}
// The number where one of the operands is NaN; NaN with `propagate`. -0 is below +0.
template <bool most, bool propagate = false, class T>
inline T extreme(T a, T b) {
  if constexpr (is_float<T>) {
    if (is_nan(a) || is_nan(b)) {
      if (propagate || (is_nan(a) && is_nan(b))) {
        if constexpr (is_small<T>) return {0x7fff};
        else return std::numeric_limits<T>::quiet_NaN();
      }
      return is_nan(a) ? b : a;
    }
    const auto x = widen(a), y = widen(b);
    if (x == y) return (__builtin_signbit(x) != 0) == most ? b : a;
    return (x < y) == most ? b : a;
  } else {
    return (a < b) == most ? b : a;
  }
}
template <class T>
inline T minimum(T a, T b) { return extreme<false>(a, b); }
template <class T>
inline T maximum(T a, T b) { return extreme<true>(a, b); }
template <class T>
inline T saturate(T a) {
  if constexpr (is_small<T>) return narrow<T>(saturate(widen(a)));
  else return a > 0 ? (a < 1 ? a : T{1}) : T{0};  // NaN becomes 0
}
template <class T>
inline T copysign_of(T sign, T value) {
  return static_cast<T>(__builtin_copysign(value, sign));
}
inline uint32_t sum_of_differences(uint32_t a, uint32_t b, uint32_t c) { return (a < b ? b - a : a - b) + c; }
inline int32_t sum_of_differences(int32_t a, int32_t b, int32_t c) {
  return add(static_cast<int32_t>(a < b ? static_cast<uint32_t>(b) - static_cast<uint32_t>(a)
                                        : static_cast<uint32_t>(a) - static_cast<uint32_t>(b)), c);
}
template <class T>
inline T add_carry(T a, T b, bool carry_in, bool& carry) {
  const unsigned __int128 sum = static_cast<unsigned __int128>(a) + b + (carry_in ? 1 : 0);
  carry = (sum >> (8 * sizeof(T))) != 0;
  return static_cast<T>(sum);
}
template <class T>
inline T sub_borrow(T a, T b, bool borrow_in, bool& borrow) {
  const unsigned __int128 less = static_cast<unsigned __int128>(b) + (borrow_in ? 1 : 0);
  borrow = a < less;
  return static_cast<T>(a - less);
}

// ---- Functions that the hardware approximates: computed by the C library here.
template <class T>
inline T by_library(T x, float (*function)(float)) {
  return narrow<T>(function(widen(x)));
}
template <class T>
inline T exp2_of(T x) { return by_library(x, ::exp2f); }
template <class T>
inline T tanh_of(T x) { return by_library(x, ::tanhf); }
template <class T>
inline T log2_of(T x) { return by_library(x, ::log2f); }
template <class T>
inline T sin_of(T x) { return by_library(x, ::sinf); }
template <class T>
inline T cos_of(T x) { return by_library(x, ::cosf); }
template <class T>
inline T square_root(T x) { return static_cast<T>(__builtin_sqrt(x)); }  // exact: f64 is wide enough for f32
template <class T>
inline T reciprocal(T x) { return T{1} / x; }
template <class T>
inline T reciprocal_root(T x) { return T{1} / square_root(x); }

// ---- Comparisons of floats: the plain ones are false with NaN, the others (...u) true.
template <class T>
inline bool less_or_greater(T a, T b) { return a < b || a > b; }

// ---- Bits
inline uint32_t leading_zeros(uint32_t a) { return a == 0 ? 32 : static_cast<uint32_t>(__builtin_clz(a)); }
inline uint32_t leading_zeros(uint64_t a) { return a == 0 ? 64 : static_cast<uint32_t>(__builtin_clzll(a)); }
template <class T>
inline uint32_t find_highest(T a, bool shift_amount) {
  using Unsigned = std::make_unsigned_t<T>;
  Unsigned bits = static_cast<Unsigned>(a);
  if constexpr (std::is_signed_v<T>) bits = a < 0 ? static_cast<Unsigned>(~bits) : bits;
  if (bits == 0) return ~0u;
  const uint32_t zeros = leading_zeros(bits);
  return shift_amount ? zeros : 8 * sizeof(T) - 1 - zeros;
}
template <class T>
inline T reverse_bits(T a) {
  T reversed = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) reversed = static_cast<T>(reversed << 1 | (a >> i & 1));
  return reversed;
}
template <class T>
inline T shift_left(T a, uint32_t by) { return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by); }
template <class T>
inline T shift_right(T a, uint32_t by) {
  const uint32_t most = 8 * sizeof(T) - 1;
  if (by > most) return std::is_signed_v<T> && a < 0 ? static_cast<T>(-1) : T{0};
  return static_cast<T>(a >> by);
}
inline uint32_t funnel(uint32_t low, uint32_t high, uint32_t by, bool left, bool clamp) {
  const uint32_t n = clamp ? (by > 32 ? 32 : by) : by & 31u;
  const uint64_t both = static_cast<uint64_t>(high) << 32 | low;
  return left ? static_cast<uint32_t>(both << n >> 32) : static_cast<uint32_t>(both >> n);
}
template <class T>
inline T extract_bits(T a, uint32_t position, uint32_t length) {
  const uint32_t size = 8 * sizeof(T), p = position & 255u, n = length & 255u;
  using Unsigned = std::make_unsigned_t<T>;
  const Unsigned sign = !std::is_signed_v<T> || n == 0 ? 0 : static_cast<Unsigned>(a) >> (p + n - 1 < size - 1 ? p + n - 1 : size - 1) & 1;
  Unsigned result = 0;
  for (uint32_t i = 0; i < size; ++i)
    result |= (i < n && p + i < size ? static_cast<Unsigned>(a) >> (p + i) & 1 : sign) << i;
  return static_cast<T>(result);
}
template <class T>
inline T insert_bits(T from, T into, uint32_t position, uint32_t length) {
  const uint32_t size = 8 * sizeof(T), p = position & 255u, n = length & 255u;
  T result = into;
  for (uint32_t i = 0; i < n && p + i < size; ++i)
    result = static_cast<T>((result & ~(T{1} << (p + i))) | (from >> i & 1) << (p + i));
  return result;
}
inline uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selectors) {
  const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = selectors >> (4 * i) & 15u;
    uint32_t byte = bytes >> (8 * (selector & 7u)) & 255u;
    if ((selector & 8u) != 0) byte = (byte & 128u) != 0 ? 255u : 0u;
    result |= byte << (8 * i);
  }
  return result;
}
inline uint32_t logic3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (uint32_t i = 0; i < 8; ++i)
    if ((table >> i & 1u) != 0) result |= ((i & 4u) != 0 ? a : ~a) & ((i & 2u) != 0 ? b : ~b) & ((i & 1u) != 0 ? c : ~c);
  return result;
}
template <class A, class B, class T>
inline T dot_bytes(uint32_t a, uint32_t b, T c) {
  T sum = c;
  for (int i = 0; i < 32; i += 8) sum = add<T>(sum, static_cast<T>(static_cast<A>(a >> i) * static_cast<B>(b >> i)));
  return sum;
}

// ---- Conversions
enum Rounding { TO_NEAREST, TO_ZERO, DOWN, UP };
template <class T>
inline T rounded(T a, Rounding rounding) {
  switch (rounding) {
    case TO_NEAREST: return static_cast<T>(__builtin_nearbyint(a));
    case TO_ZERO: return static_cast<T>(__builtin_trunc(a));
    case DOWN: return static_cast<T>(__builtin_floor(a));
    case UP: return static_cast<T>(__builtin_ceil(a));
  }
  return a;
}
// Float to integer: what does not fit becomes the nearest that does, NaN becomes 0.
template <class To, class From>
inline To to_integer(From value, Rounding rounding) {
  const double a = rounded(static_cast<double>(widen(value)), rounding);
  if (__builtin_isnan(a)) return 0;
  const double most = __builtin_ldexp(1.0, static_cast<int>(8 * sizeof(To)) - (std::is_signed_v<To> ? 1 : 0));
  if (a >= most) return std::numeric_limits<To>::max();
  if (a < (std::is_signed_v<To> ? -most : 0.0)) return std::numeric_limits<To>::min();
  return static_cast<To>(a);
}
template <class To, class From>
inline To clamp_integer(From value) {
  const __int128 a = value;
  if (a > static_cast<__int128>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  if (a < static_cast<__int128>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(a);
}
template <class To, class From>
inline To convert(From value) {
  if constexpr (is_float<From> && is_float<To>) {
    // Through f32 a double would be rounded twice.
    if constexpr (is_small<To> && std::is_same_v<From, double>) static_assert(!is_small<To>, "not from f64");
    else if constexpr (is_small<To>) return narrow<To>(static_cast<float>(widen(value)));
    else return static_cast<To>(widen(value));
  } else if constexpr (is_small<To>) {
    return narrow<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

// ---- Memory. Addresses of shared memory are distances from the window, all others are the CPU's own.
template <class T>
inline T load(uint64_t address) {
  T value;
  memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
  return value;
}
template <class T>
inline void store(uint64_t address, T value) {
  memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}
template <class T, class Operation>
inline T atomic(uint64_t address, uint64_t site, Operation operation) {
  bb_emu_atomic(reinterpret_cast<void*>(address), sizeof(T), site);
  const T old = load<T>(address);
  store<T>(address, operation(old));
  return old;
}

// ---- Where a thread is
inline uint32_t linear_thread() {
  return bb_emu_thread_index.x +
         bb_emu_block_dim.x * (bb_emu_thread_index.y + bb_emu_block_dim.y * bb_emu_thread_index.z);
}
inline uint32_t lane() { return linear_thread() & 31u; }
inline uint32_t warp() { return linear_thread() >> 5; }
inline uint32_t warps() { return (bb_emu_block_dim.x * bb_emu_block_dim.y * bb_emu_block_dim.z + 31u) >> 5; }

// ---- Warps: c of shfl holds the clamp value (bits 0..4) and 32 - width (bits 8..12).
inline uint32_t shuffle(int kind, uint32_t value, uint32_t b, uint32_t c, uint32_t mask, bool* in_range, uint64_t site) {
  const uint32_t width = 32 - (c >> 8 & 31u), clamp = c & 31u;
  const uint32_t expected = kind == BB_EMU_SHUFFLE_UP ? 0 : 31;
  if (clamp != expected || (width & (width - 1)) != 0) bb_emu_trap("shfl.sync with a clamp value that no CUDA function gives", site);
  int within = 0;
  const uint32_t got = static_cast<uint32_t>(bb_emu_shuffle(kind, mask, value, b, width, &within, site));
  if (in_range != nullptr) *in_range = within != 0;
  return got;
}

}  // namespace bb_ptx
