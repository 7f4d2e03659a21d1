// float4 and its like, with CUDA's alignments, and dim3.
#pragma once

#define BB_EMU_VECTORS(ELEMENT, NAME, ALIGN2, ALIGN4)                                                              \
  struct NAME##1 { ELEMENT x; };                                                                                   \
  struct __attribute__((aligned(ALIGN2))) NAME##2 { ELEMENT x, y; };                                               \
  struct NAME##3 { ELEMENT x, y, z; };                                                                             \
  struct __attribute__((aligned(ALIGN4))) NAME##4 { ELEMENT x, y, z, w; };                                         \
  inline NAME##1 make_##NAME##1(ELEMENT x) { return {x}; }                                                         \
  inline NAME##2 make_##NAME##2(ELEMENT x, ELEMENT y) { return {x, y}; }                                           \
  inline NAME##3 make_##NAME##3(ELEMENT x, ELEMENT y, ELEMENT z) { return {x, y, z}; }                             \
  inline NAME##4 make_##NAME##4(ELEMENT x, ELEMENT y, ELEMENT z, ELEMENT w) { return {x, y, z, w}; }

BB_EMU_VECTORS(signed char, char, 2, 4)
BB_EMU_VECTORS(unsigned char, uchar, 2, 4)
BB_EMU_VECTORS(short, short, 4, 8)
BB_EMU_VECTORS(unsigned short, ushort, 4, 8)
BB_EMU_VECTORS(int, int, 8, 16)
BB_EMU_VECTORS(unsigned int, uint, 8, 16)
BB_EMU_VECTORS(long, long, 16, 16)
BB_EMU_VECTORS(unsigned long, ulong, 16, 16)
BB_EMU_VECTORS(long long, longlong, 16, 16)
BB_EMU_VECTORS(unsigned long long, ulonglong, 16, 16)
BB_EMU_VECTORS(float, float, 8, 16)
BB_EMU_VECTORS(double, double, 16, 16)
#undef BB_EMU_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
