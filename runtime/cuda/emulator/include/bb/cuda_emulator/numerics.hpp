// Conversions between f32 and the narrower floats, to nearest with ties to even, as the GPU's cvt.rn does.
#pragma once
#include <stdint.h>

inline uint32_t bb_emu_float_bits(float value) {
  return __builtin_bit_cast(uint32_t, value);
}

inline float bb_emu_bits_float(uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

// cvt.rn.f16.f32: NaN becomes 0x7fff, what is too large becomes infinite, subnormal halves are kept.
inline uint16_t bb_emu_float_to_half(float value) {
  uint32_t bits = bb_emu_float_bits(value);
  const uint32_t sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return 0x7fff;
  if (bits >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (bits < 0x33000000u) return static_cast<uint16_t>(sign);
  if (bits < 0x38800000u) {  // the half is subnormal: shift the significand, implicit one included
    const uint32_t significand = (bits & 0x7fffffu) | 0x800000u;
    const int shift = 126 - static_cast<int>(bits >> 23);
    const uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
    uint32_t rounded = significand >> shift;
    if (rest > half || (rest == half && (rounded & 1u) != 0)) ++rounded;
    return static_cast<uint16_t>(sign | rounded);
  }
  bits += 0xfffu + (bits >> 13 & 1u);
  return static_cast<uint16_t>(sign | (bits - (112u << 23)) >> 13);
}

inline float bb_emu_half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 31u, significand = half & 0x3ffu;
  if (exponent == 31) return bb_emu_bits_float(sign | 0x7f800000u | significand << 13);
  if (exponent != 0) return bb_emu_bits_float(sign | (exponent + 112u) << 23 | significand << 13);
  const float magnitude = static_cast<float>(significand) * 0x1p-24f;
  return bb_emu_bits_float(sign | bb_emu_float_bits(magnitude));
}

// cvt.rn.bf16.f32: NaN becomes 0x7fff.
inline uint16_t bb_emu_float_to_bfloat16(float value) {
  const uint32_t bits = bb_emu_float_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline float bb_emu_bfloat16_to_float(uint16_t bits) {
  return bb_emu_bits_float(static_cast<uint32_t>(bits) << 16);
}

// cvt.rna.tf32.f32: nearest, ties away from zero; the ten highest bits of the significand stay.
inline uint32_t bb_emu_round_tf32(uint32_t bits) {
  if ((bits & 0x7f800000u) == 0x7f800000u) return bits;
  return (bits + 0x1000u) & 0xffffe000u;
}

// What a tensor core reads of an f32 register: the low 13 bits are ignored.
inline float bb_emu_read_tf32(uint32_t bits) {
  return bb_emu_bits_float(bits & 0xffffe000u);
}

// f64 to f32 so that a second rounding, to a narrower format, gives what one rounding would: where bits are lost, the
// last one that stays is set (rounding to odd).
inline float bb_emu_to_odd_float(double value) {
  float rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || value != value) return rounded;
  uint32_t bits = bb_emu_float_bits(rounded);
  if ((bits & 0x7fffffffu) == 0x7f800000u) return rounded;
  // Back to the one nearer to zero, then odd.
  const double magnitude = value < 0 ? -value : value, given = static_cast<double>(rounded < 0 ? -rounded : rounded);
  if (given > magnitude) --bits;
  return bb_emu_bits_float(bits | 1u);
}
