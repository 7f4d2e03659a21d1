// Element types, and where a thread is in its block.
//
//   f16, bf16   16-bit floats: tensor cores multiply them exactly and add in f32
//   tf32        a tag: f32 in memory, rounded to 10 bits of fraction where tensor cores multiply it
//   float       f32, multiplied and added on the FMA units
#pragma once
#include "device.cuh"

#if BB_EMULATED
#define BB_UNROLL  // a CPU gains nothing by it, and compiles much longer
#define BB_UNROLL_BY(TIMES)
#else
#define BB_PRAGMA(TEXT) _Pragma(#TEXT)
#define BB_UNROLL _Pragma("unroll")
#define BB_UNROLL_BY(TIMES) BB_PRAGMA(unroll TIMES)  // 1: stays a loop
#endif

namespace bb {

using f16 = __half;
using bf16 = __nv_bfloat16;
struct tf32 {};

// For an operand's type: what memory holds, and how far along K one step of a contraction goes.
template <class T>
struct element;
template <>
struct element<f16> {
  using stored = f16;
  static constexpr int STEP = 16;
};
template <>
struct element<bf16> {
  using stored = bf16;
  static constexpr int STEP = 16;
};
template <>
struct element<tf32> {
  using stored = float;
  static constexpr int STEP = 8;
};
template <>
struct element<float> {
  using stored = float;
  static constexpr int STEP = 4;
};

// Blocks are one-dimensional: 32 threads that follow each other are a warp.
BB_DEVICE int warp_id() { return threadIdx.x / 32; }
BB_DEVICE int lane_id() { return threadIdx.x % 32; }

// Two 16-bit floats in a register, the first in the low half. The last argument only says the type.
BB_DEVICE unsigned pack2(float low, float high, f16) { return bb_pack_f16(low, high); }
BB_DEVICE unsigned pack2(float low, float high, bf16) { return bb_pack_bf16(low, high); }
BB_DEVICE void unpack2(unsigned pair, float& low, float& high, f16) {
  low = __half2float(__ushort_as_half(static_cast<unsigned short>(pair)));
  high = __half2float(__ushort_as_half(static_cast<unsigned short>(pair >> 16)));
}
BB_DEVICE void unpack2(unsigned pair, float& low, float& high, bf16) {
  low = __uint_as_float(pair << 16);
  high = __uint_as_float(pair & 0xffff0000u);
}
// The difference of two such pairs, each rounded once.
BB_DEVICE unsigned sub2(unsigned a, unsigned b, f16) { return bb_sub_f16x2(a, b); }
BB_DEVICE unsigned sub2(unsigned a, unsigned b, bf16) { return bb_sub_bf16x2(a, b); }

// A number rounded to a type of memory, as f32.
template <class T>
BB_DEVICE float rounded(float x) {
  return static_cast<float>(T(x));
}

}  // namespace bb
