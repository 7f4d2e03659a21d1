// CUDA's keywords and built-in variables for a C++20 compiler: what comes before the text of a .cu file.
#pragma once
#define __BB_CUDA_EMULATOR__ 1
#define __CUDACC__ 1
#ifndef __CUDA_ARCH__
#define __CUDA_ARCH__ 800
#endif

#include <stddef.h>
#include <stdint.h>

// Also for the calls that the compiler makes itself: in check mode these announce what they touch.
extern "C" {
void* memcpy(void*, const void*, size_t) noexcept __asm__("bb_emu_memcpy");
void* memmove(void*, const void*, size_t) noexcept __asm__("bb_emu_memmove");
void* memset(void*, int, size_t) noexcept __asm__("bb_emu_memset");
}

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <bb/cuda_emulator/hooks.hpp>

// The driver looks for these two in the preprocessed text; compilers ignore them.
#define __global__ __attribute__((bb_emu_global))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __host__
#define __device__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_assume(condition) ((void)0)
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
#define __nv_pure__
// The one storage class that makes both `__shared__ T x[N];` and `extern __shared__ T x[];` legal inside a function.
// The driver gives arrays of the second kind the address of bb_emu_dynamic_shared.
#if defined(__clang__)
#define __shared__ thread_local
#else
#define __shared__ __constinit thread_local
#endif

#define BB_EMU_UNCHECKED __attribute__((no_sanitize("thread"), no_sanitize("undefined")))

#include "vector_types.hpp"

extern "C" {
extern const uint3 threadIdx __asm__("bb_emu_thread_index");
extern const uint3 blockIdx __asm__("bb_emu_block_index");
extern const dim3 blockDim __asm__("bb_emu_block_dim");
extern const dim3 gridDim __asm__("bb_emu_grid_dim");
}
constexpr int warpSize = 32;

// Without parentheses around the line: it is the caller's.
#define BB_EMU_LINE uint64_t line = __builtin_LINE()

inline void __trap(BB_EMU_LINE) { bb_emu_trap("__trap()", line); }
inline void __brkpt(BB_EMU_LINE) { bb_emu_trap("__brkpt()", line); }
#undef assert
#define assert(condition) ((condition) ? (void)0 : bb_emu_trap("assertion failed: " #condition, __LINE__))

inline size_t __cvta_generic_to_shared(const void* pointer) {
  return static_cast<size_t>(static_cast<const unsigned char*>(pointer) - bb_emu_shared_window());
}
inline void* __cvta_shared_to_generic(size_t address) { return bb_emu_shared_window() + address; }
inline size_t __cvta_generic_to_global(const void* pointer) { return reinterpret_cast<size_t>(pointer); }
inline bool __isShared(const void* pointer) { return bb_emu_is_shared(pointer) != 0; }
inline bool __isGlobal(const void* pointer) { return bb_emu_is_shared(pointer) == 0; }

#include "atomics.hpp"
#include "intrinsics.hpp"
#include "synchronisation.hpp"
