// Instructions that CUDA C++ has no function for, under names beginning with bb_: PTX on a GPU, calls of the emulator's
// runtime on a CPU. This file and hopper.cuh beside
// it are all inline PTX there is; it needs sm_80, and sm_90 where a comment says so.
//
// Fragments of matrices are those of the PTX ISA. Lane l of a warp has group g = l / 4 and place p = l % 4 in it:
//   a of m16n8k16  register r holds rows g + 8 * (r % 2), columns 2 * p + {0, 1} + 8 * (r / 2)
//   b of m16n8k16  register r holds rows 2 * p + {0, 1} + 8 * r, column g
//   c and d        register r holds row g + 8 * (r / 2), column 2 * p + r % 2
//   tf32 m16n8k8   a: row g + 8 * (r % 2), column p + 4 * (r / 2); b: row p + 4 * r, column g
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifdef __BB_CUDA_EMULATOR__
#define BB_EMULATED 1
#define BB_DEVICE inline __attribute__((always_inline))
#define BB_SITE , uint64_t line = __builtin_LINE()  // the caller's, for messages
#else
#define BB_EMULATED 0
#define BB_DEVICE __device__ __forceinline__
#define BB_SITE
#endif

#define BB_INF __int_as_float(0x7f800000)  // NVRTC does not define INFINITY

// The 32-bit address of something in shared memory.
BB_DEVICE unsigned bb_shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// ------------------------------------------------------------------------------------------------ matrix products
// d = a * b + c; d may be c.
#if BB_EMULATED
#define BB_MMA(NAME, SHAPE, TYPE, AS, BS, KIND)                                                                \
  BB_DEVICE void NAME(float (&d)[4], const unsigned (&a)[AS], const unsigned (&b)[BS], const float (&c)[4] BB_SITE) { \
    bb_emu_mma(KIND, d, a, b, c, line);                                                                        \
  }
#else
#define BB_MMA_REGISTERS_4_2 "{%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};"
#define BB_MMA_REGISTERS_2_1 "{%4,%5}, {%6}, {%7,%8,%9,%10};"
#define BB_MMA_INPUTS_4_2 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])
#define BB_MMA_INPUTS_2_1 "r"(a[0]), "r"(a[1]), "r"(b[0])
#define BB_MMA(NAME, SHAPE, TYPE, AS, BS, KIND)                                                                \
  BB_DEVICE void NAME(float (&d)[4], const unsigned (&a)[AS], const unsigned (&b)[BS], const float (&c)[4]) {  \
    asm volatile("mma.sync.aligned." SHAPE ".row.col.f32." TYPE "." TYPE ".f32 {%0,%1,%2,%3}, "                \
                 BB_MMA_REGISTERS_##AS##_##BS                                                                  \
                 : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])                                              \
                 : BB_MMA_INPUTS_##AS##_##BS, "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));                     \
  }
#endif
BB_MMA(bb_mma_m16n8k16_bf16, "m16n8k16", "bf16", 4, 2, BB_EMU_MMA_M16N8K16_BF16)
BB_MMA(bb_mma_m16n8k16_f16, "m16n8k16", "f16", 4, 2, BB_EMU_MMA_M16N8K16_F16)
BB_MMA(bb_mma_m16n8k8_tf32, "m16n8k8", "tf32", 4, 2, BB_EMU_MMA_M16N8K8_TF32)
BB_MMA(bb_mma_m16n8k8_bf16, "m16n8k8", "bf16", 2, 1, BB_EMU_MMA_M16N8K8_BF16)
BB_MMA(bb_mma_m16n8k8_f16, "m16n8k8", "f16", 2, 1, BB_EMU_MMA_M16N8K8_F16)
BB_MMA(bb_mma_m16n8k4_tf32, "m16n8k4", "tf32", 2, 1, BB_EMU_MMA_M16N8K4_TF32)
#undef BB_MMA

// COUNT matrices of 8 x 8 16-bit values: lane l gives the address of row l % 8 of matrix l / 8, 16-byte aligned, and
// gets of each matrix row g, columns 2 * p + {0, 1}; of its transpose with _trans. stmatrix is the way back (sm_90).
#if BB_EMULATED
#define BB_LDMATRIX(COUNT, SUFFIX, TRANSPOSED, ...)                                                 \
  BB_DEVICE void bb_ldmatrix_x##COUNT##SUFFIX(unsigned (&r)[COUNT], const void* row BB_SITE) {      \
    bb_emu_ldmatrix(COUNT, TRANSPOSED, r, row, line);                                               \
  }
#define BB_STMATRIX(COUNT, SUFFIX, TRANSPOSED, ...)                                                 \
  BB_DEVICE void bb_stmatrix_x##COUNT##SUFFIX(void* row, const unsigned (&r)[COUNT] BB_SITE) {      \
    bb_emu_stmatrix(COUNT, TRANSPOSED, r, row, line);                                               \
  }
#else
#define BB_LDMATRIX(COUNT, SUFFIX, TRANSPOSED, MODIFIER, REGISTERS)                                 \
  BB_DEVICE void bb_ldmatrix_x##COUNT##SUFFIX(unsigned (&r)[COUNT], const void* row) {              \
    asm volatile("ldmatrix.sync.aligned.m8n8.x" #COUNT MODIFIER ".shared.b16 {" REGISTERS "}, [%" #COUNT "];" \
                 : BB_OUTPUTS_##COUNT : "r"(bb_shared_address(row)) : "memory");                    \
  }
#define BB_STMATRIX(COUNT, SUFFIX, TRANSPOSED, MODIFIER, REGISTERS)                                 \
  BB_DEVICE void bb_stmatrix_x##COUNT##SUFFIX(void* row, const unsigned (&r)[COUNT]) {              \
    asm volatile("stmatrix.sync.aligned.m8n8.x" #COUNT MODIFIER ".shared.b16 [%" #COUNT "], {" REGISTERS "};" \
                 :: BB_INPUTS_##COUNT, "r"(bb_shared_address(row)) : "memory");                     \
  }
#define BB_OUTPUTS_1 "=r"(r[0])
#define BB_OUTPUTS_2 "=r"(r[0]), "=r"(r[1])
#define BB_OUTPUTS_4 "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
#define BB_INPUTS_1 "r"(r[0])
#define BB_INPUTS_2 "r"(r[0]), "r"(r[1])
#define BB_INPUTS_4 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
#endif
BB_LDMATRIX(1, , 0, "", "%0")
BB_LDMATRIX(2, , 0, "", "%0,%1")
BB_LDMATRIX(4, , 0, "", "%0,%1,%2,%3")
BB_LDMATRIX(1, _trans, 1, ".trans", "%0")
BB_LDMATRIX(2, _trans, 1, ".trans", "%0,%1")
BB_LDMATRIX(4, _trans, 1, ".trans", "%0,%1,%2,%3")
#if BB_EMULATED || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
BB_STMATRIX(1, , 0, "", "%0")
BB_STMATRIX(2, , 0, "", "%0,%1")
BB_STMATRIX(4, , 0, "", "%0,%1,%2,%3")
BB_STMATRIX(1, _trans, 1, ".trans", "%0")
BB_STMATRIX(2, _trans, 1, ".trans", "%0,%1")
BB_STMATRIX(4, _trans, 1, ".trans", "%0,%1,%2,%3")
#endif
#undef BB_LDMATRIX
#undef BB_STMATRIX

// --------------------------------------------------------------------------------------------- asynchronous copies
// BYTES (4, 8 or 16) from global to shared memory, zeros where not valid: the source is then not read.
template <int BYTES>
BB_DEVICE void bb_cp_async(void* destination, const void* source, bool valid = true BB_SITE) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "cp.async copies 4, 8 or 16 bytes");
#if BB_EMULATED
  bb_emu_cp_async(destination, source, BYTES, valid ? BYTES : 0, line);
#else
  if constexpr (BYTES == 16)
    asm volatile("{ .reg .pred skip; setp.eq.s32 skip, %2, 0; cp.async.cg.shared.global [%0], [%1], 16, skip; }"
                 :: "r"(bb_shared_address(destination)), "l"(source), "r"(static_cast<int>(valid)) : "memory");
  else
    asm volatile("{ .reg .pred skip; setp.eq.s32 skip, %2, 0; cp.async.ca.shared.global [%0], [%1], %3, skip; }"
                 :: "r"(bb_shared_address(destination)), "l"(source), "r"(static_cast<int>(valid)), "n"(BYTES)
                 : "memory");
#endif
}
// The copies since the last commit become a group; wait until at most PENDING of this thread's groups are in flight.
BB_DEVICE void bb_cp_async_commit() {
#if BB_EMULATED
  bb_emu_cp_async_commit();
#else
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int PENDING>
BB_DEVICE void bb_cp_async_wait() {
#if BB_EMULATED
  bb_emu_cp_async_wait(PENDING);
#else
  asm volatile("cp.async.wait_group %0;" :: "n"(PENDING) : "memory");
#endif
}

// -------------------------------------------------------------------------------------------------- barriers
// A barrier (0 to 15) for `threads` threads of the block, a multiple of 32: some of them may arrive without waiting.
BB_DEVICE void bb_barrier_sync(int barrier, int threads BB_SITE) {
#if BB_EMULATED
  bb_emu_named_barrier(barrier, threads, 0, line);
#else
  asm volatile("bar.sync %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
#endif
}
BB_DEVICE void bb_barrier_arrive(int barrier, int threads BB_SITE) {
#if BB_EMULATED
  bb_emu_named_barrier(barrier, threads, 1, line);
#else
  asm volatile("bar.arrive %0, %1;" :: "r"(barrier), "r"(threads) : "memory");
#endif
}

// An mbarrier: eight bytes of shared memory. A phase ends when `count` threads have arrived; phases alternate between
// parity 0 and 1. Initialise it in one thread, then bb_mbarrier_init_fence and __syncthreads.
BB_DEVICE void bb_mbarrier_init(unsigned long long* barrier, int count BB_SITE) {
#if BB_EMULATED
  bb_emu_mbarrier_init(barrier, count, line);
#else
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(bb_shared_address(barrier)), "r"(count) : "memory");
#endif
}
// Make the initialisation visible to the asynchronous proxy as well (sm_90; nothing is needed for sm_80).
BB_DEVICE void bb_mbarrier_init_fence() {
#if BB_EMULATED
  bb_emu_fence(BB_EMU_FENCE_MBARRIER_INIT);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
BB_DEVICE void bb_mbarrier_arrive(unsigned long long* barrier BB_SITE) {
#if BB_EMULATED
  bb_emu_mbarrier_arrive(barrier, 1, 0, line);
#else
  asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" :: "r"(bb_shared_address(barrier)) : "memory");
#endif
}
// Arrive when this thread's asynchronous copies so far are there; counts as one of the expected arrivals.
BB_DEVICE void bb_mbarrier_arrive_after_copies(unsigned long long* barrier BB_SITE) {
#if BB_EMULATED
  bb_emu_cp_async_mbarrier_arrive(barrier, line);
#else
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" :: "r"(bb_shared_address(barrier)) : "memory");
#endif
}
// Wait until the phase of this parity is over. (The spinning instruction of sm_80; sm_90's may sleep.)
BB_DEVICE void bb_mbarrier_wait(unsigned long long* barrier, int parity BB_SITE) {
#if BB_EMULATED
  bb_emu_mbarrier_wait_parity(barrier, parity, line);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("{ .reg .pred over; again: mbarrier.try_wait.parity.shared.b64 over, [%0], %1; @!over bra again; }"
               :: "r"(bb_shared_address(barrier)), "r"(parity) : "memory");
#else
  asm volatile("{ .reg .pred over; again: mbarrier.test_wait.parity.shared.b64 over, [%0], %1; @!over bra again; }"
               :: "r"(bb_shared_address(barrier)), "r"(parity) : "memory");
#endif
}

// ---------------------------------------------------------------------------------------------- loads and stores
// Compilers split the assignment of a struct to global memory into words; these stay whole.
BB_DEVICE uint4 bb_load_16(const void* address) {
#if BB_EMULATED
  return *static_cast<const uint4*>(address);
#else
  uint4 v;
  asm volatile("ld.global.nc.v4.b32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(address));
  return v;
#endif
}
BB_DEVICE uint2 bb_load_8(const void* address) {
#if BB_EMULATED
  return *static_cast<const uint2*>(address);
#else
  uint2 v;
  asm volatile("ld.global.nc.v2.b32 {%0,%1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(address));
  return v;
#endif
}
BB_DEVICE void bb_store_16(void* address, uint4 v) {
#if BB_EMULATED
  *static_cast<uint4*>(address) = v;
#else
  asm volatile("st.global.v4.b32 [%0], {%1,%2,%3,%4};" :: "l"(address), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
#endif
}
BB_DEVICE void bb_store_8(void* address, float2 v) {
#if BB_EMULATED
  *static_cast<float2*>(address) = v;
#else
  asm volatile("st.global.v2.f32 [%0], {%1,%2};" :: "l"(address), "f"(v.x), "f"(v.y) : "memory");
#endif
}

// A number of which compilers know nothing.
BB_DEVICE int bb_opaque(int x) {
#if BB_EMULATED
  return x;
#else
  int y;
  asm volatile("mov.b32 %0, %1;" : "=r"(y) : "r"(x));
  return y;
#endif
}

// -------------------------------------------------------------------------------------------------- arithmetic
// Approximate on a GPU (see math.cuh), with subnormal numbers flushed to zero.
#if BB_EMULATED
BB_DEVICE float bb_exp2(float x) { return exp2f(x); }
BB_DEVICE float bb_reciprocal(float x) { return 1.0f / x; }
BB_DEVICE float bb_rsqrt(float x) { return 1.0f / sqrtf(x); }
BB_DEVICE float bb_sqrt(float x) { return sqrtf(x); }
BB_DEVICE float bb_log2(float x) { return log2f(x); }
// The larger and the smaller of two numbers, NaN where one is: fmaxf and fminf drop it. -0 is below +0.
BB_DEVICE float bb_max_nan(float a, float b) { return a != a || a > b || (a == b && signbit(b)) ? a : b; }
BB_DEVICE float bb_min_nan(float a, float b) { return a != a || a < b || (a == b && signbit(a)) ? a : b; }
BB_DEVICE unsigned bb_round_tf32(float x) { return bb_emu_round_tf32(__float_as_uint(x)); }
BB_DEVICE unsigned bb_pack_bf16(float low, float high) {
  return static_cast<unsigned>(bb_emu_float_to_bfloat16(high)) << 16 | bb_emu_float_to_bfloat16(low);
}
BB_DEVICE unsigned bb_pack_f16(float low, float high) {
  return static_cast<unsigned>(bb_emu_float_to_half(high)) << 16 | bb_emu_float_to_half(low);
}
BB_DEVICE unsigned bb_sub_bf16x2(unsigned a, unsigned b) {
  return bb_pack_bf16(bb_emu_bfloat16_to_float(a & 0xffff) - bb_emu_bfloat16_to_float(b & 0xffff),
                      bb_emu_bfloat16_to_float(a >> 16) - bb_emu_bfloat16_to_float(b >> 16));
}
BB_DEVICE unsigned bb_sub_f16x2(unsigned a, unsigned b) {
  return bb_pack_f16(bb_emu_half_to_float(a & 0xffff) - bb_emu_half_to_float(b & 0xffff),
                     bb_emu_half_to_float(a >> 16) - bb_emu_half_to_float(b >> 16));
}
#else
BB_DEVICE float bb_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BB_DEVICE float bb_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BB_DEVICE float bb_rsqrt(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BB_DEVICE float bb_sqrt(float x) {
  float y;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BB_DEVICE float bb_log2(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BB_DEVICE float bb_max_nan(float a, float b) {
  float y;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
BB_DEVICE float bb_min_nan(float a, float b) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
  return y;
}
BB_DEVICE unsigned bb_round_tf32(float x) {
  unsigned y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}
BB_DEVICE unsigned bb_pack_bf16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
BB_DEVICE unsigned bb_pack_f16(float low, float high) {
  unsigned pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
// a - b of two pairs. sm_80 has no subtraction of bf16: a fused product with -1 is the same.
BB_DEVICE unsigned bb_sub_bf16x2(unsigned a, unsigned b) {
  unsigned pair;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(pair) : "r"(b), "r"(0xbf80bf80u), "r"(a));
  return pair;
}
BB_DEVICE unsigned bb_sub_f16x2(unsigned a, unsigned b) {
  unsigned pair;
  asm("sub.rn.f16x2 %0, %1, %2;" : "=r"(pair) : "r"(a), "r"(b));
  return pair;
}
#endif
