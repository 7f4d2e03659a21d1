// Bulk copies by tensor maps (TMA) and products of warpgroups (wgmma) of sm_90a, in the manner of device.cuh: PTX on a
// GPU, calls of the emulator's runtime on a CPU. Compile for sm_90a.
//
// EXPERIMENTAL: compiled and emulated, but not yet seen on a GPU.
//
// Numbers along a row come first in coordinates: x is the column, y the row. Sizes and distances are in bytes.
#pragma once
#include <bb/cuda/device.cuh>

// Description of a copy: an array, and a box of it. A kernel takes it as `const __grid_constant__ BbTensorMap map`. On a
// GPU it is a CUtensorMap, which cuTensorMapEncodeTiled fills; for the emulator Python makes one, a TensorMap.
struct __align__(64) BbTensorMap {
  unsigned long long opaque[16];
};

#if BB_EMULATED
#define BB_ONLY_SITE uint64_t line = __builtin_LINE()
#else
#define BB_ONLY_SITE
#endif

// ---------------------------------------------------------------------------------------------- barriers and fences
// Arrive, and let the phase wait for this many bytes of bulk copies as well.
BB_DEVICE void bb_mbarrier_arrive_expect(unsigned long long* barrier, int bytes BB_SITE) {
#if BB_EMULATED
  bb_emu_mbarrier_arrive(barrier, 1, bytes, line);
#else
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;"
               :: "r"(bb_shared_address(barrier)), "r"(bytes) : "memory");
#endif
}
// Between what threads wrote to shared memory and what bulk copies and wgmma read of it (or write over it): after the
// writes, before the barrier that tells of them.
BB_DEVICE void bb_fence_async_proxy() {
#if BB_EMULATED
  bb_emu_fence(BB_EMU_FENCE_ASYNC_PROXY);
#else
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
// Registers that a thread of this warpgroup may have: fewer for those that only copy, more for those that compute.
template <int COUNT>
BB_DEVICE void bb_registers_decrease() {
  static_assert(COUNT >= 24 && COUNT <= 256 && COUNT % 8 == 0, "from 24 to 256, a multiple of 8");
#if !BB_EMULATED
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(COUNT));
#endif
}
template <int COUNT>
BB_DEVICE void bb_registers_increase() {
  static_assert(COUNT >= 24 && COUNT <= 256 && COUNT % 8 == 0, "from 24 to 256, a multiple of 8");
#if !BB_EMULATED
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(COUNT));
#endif
}

// -------------------------------------------------------------------------------------------------------- bulk copies
// The box at (x, y) into shared memory, zeros where it lies outside the array. One thread asks for it; it has arrived
// when the phase of the barrier is over that was told of its bytes (all of the box's, zeros too). `tile` is a multiple
// of 128, and of 1024, 512 or 256 for a wgmma tile that is swizzled by 128, 64 or 32 bytes.
BB_DEVICE void bb_tma_load_2d(void* tile, const BbTensorMap* map, int x, int y, unsigned long long* barrier BB_SITE) {
#if BB_EMULATED
  bb_emu_tma_load(tile, map, 2, x, y, barrier, line);
#else
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               :: "r"(bb_shared_address(tile)), "l"(map), "r"(x), "r"(y), "r"(bb_shared_address(barrier)) : "memory");
#endif
}
BB_DEVICE void bb_tma_load_1d(void* tile, const BbTensorMap* map, int x, unsigned long long* barrier BB_SITE) {
#if BB_EMULATED
  bb_emu_tma_load(tile, map, 1, x, 0, barrier, line);
#else
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
               :: "r"(bb_shared_address(tile)), "l"(map), "r"(x), "r"(bb_shared_address(barrier)) : "memory");
#endif
}
// A tile of shared memory into the array; what lies outside of it is left out. Then commit, and wait before the tile is
// written again (_read) and before the kernel ends.
BB_DEVICE void bb_tma_store_2d(const BbTensorMap* map, int x, int y, const void* tile BB_SITE) {
#if BB_EMULATED
  bb_emu_tma_store(map, 2, x, y, tile, line);
#else
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
               :: "l"(map), "r"(x), "r"(y), "r"(bb_shared_address(tile)) : "memory");
#endif
}
BB_DEVICE void bb_tma_store_1d(const BbTensorMap* map, int x, const void* tile BB_SITE) {
#if BB_EMULATED
  bb_emu_tma_store(map, 1, x, 0, tile, line);
#else
  asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], [%2];"
               :: "l"(map), "r"(x), "r"(bb_shared_address(tile)) : "memory");
#endif
}
BB_DEVICE void bb_bulk_commit() {
#if BB_EMULATED
  bb_emu_bulk_commit();
#else
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#endif
}
template <int PENDING>
BB_DEVICE void bb_bulk_wait() {
#if BB_EMULATED
  bb_emu_bulk_wait(PENDING, 0);
#else
  asm volatile("cp.async.bulk.wait_group %0;" :: "n"(PENDING) : "memory");
#endif
}
template <int PENDING>
BB_DEVICE void bb_bulk_wait_read() {
#if BB_EMULATED
  bb_emu_bulk_wait(PENDING, 1);
#else
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(PENDING) : "memory");
#endif
}

// ------------------------------------------------------------------------------------------------------------- wgmma
// Products of 64 x 16 and 16 x N numbers of 16 bits, summed up in f32, by the 128 threads of a warpgroup together. In
// thread t, d[i] is row 16 * (t / 32) + t % 32 / 4 + 8 * (i / 2 % 2), column 8 * (i / 4) + 2 * (t % 4) + i % 2. The
// accumulators are not to be touched from the product to the wait for its group; operands are read in between.
//
// A tile's descriptor says where it is and how it is laid out. Along k (A: row by row; B: column by column), a swizzled
// tile has rows of SWIZZLE bytes, which is how a box of that width arrives, and groups of eight rows are 8 * SWIZZLE
// bytes apart. Later columns of k are reached by adding their bytes to the address. Without a swizzle, 8 x 8 numbers are
// 128 bytes; `leading` bytes lie between such matrices along k, `stride` between those of the next eight rows.
// Transposed tiles (A: column by column, B: row by row) have rows of SWIZZLE bytes along m or n; eight of them, along k,
// are followed after `stride` bytes by the next eight; `leading` bytes lie between tiles along m or n.
template <int SWIZZLE>
BB_DEVICE unsigned long long bb_wgmma_tile(const void* address, int leading = 16,
                                           int stride = SWIZZLE == 0 ? 128 : 8 * SWIZZLE) {
  static_assert(SWIZZLE == 0 || SWIZZLE == 32 || SWIZZLE == 64 || SWIZZLE == 128, "swizzles: 0, 32, 64, 128 bytes");
  constexpr unsigned long long mode = SWIZZLE == 0 ? 0 : SWIZZLE == 128 ? 1 : SWIZZLE == 64 ? 2 : 3;
  return (bb_shared_address(address) & 0x3ffff) >> 4 | static_cast<unsigned long long>((leading & 0x3ffff) >> 4) << 16 |
         static_cast<unsigned long long>((stride & 0x3ffff) >> 4) << 32 | mode << 62;
}

// Before the first product, and after registers that the next one uses were written.
BB_DEVICE void bb_wgmma_fence(BB_ONLY_SITE) {
#if BB_EMULATED
  bb_emu_wgmma_fence(line);
#else
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}
BB_DEVICE void bb_wgmma_commit(BB_ONLY_SITE) {
#if BB_EMULATED
  bb_emu_wgmma_commit(line);
#else
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}
// Wait until at most PENDING groups are in flight. `d` are the accumulators that are complete then: compilers do not
// move their uses to before the wait.
template <int PENDING, int SIZE>
BB_DEVICE void bb_wgmma_wait(float (&d)[SIZE] BB_SITE) {
#if BB_EMULATED
  (void)d;
  bb_emu_wgmma_wait(PENDING, line);
#else
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(PENDING) : "memory");
#pragma unroll
  for (int i = 0; i < SIZE; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
#endif
}

// d += a * b, or d = a * b without `accumulate`. N is 2 * SIZE: 8, 16, 32, 64, 128 or 256.
#if BB_EMULATED
template <int FLAGS, int SIZE>
BB_DEVICE void bb_wgmma_emulated(float (&d)[SIZE], const unsigned* registers, unsigned long long a, unsigned long long b,
                                 bool accumulate, uint64_t line) {
  float* places[SIZE];
  for (int i = 0; i < SIZE; ++i) places[i] = &d[i];
  const int flags = FLAGS | BB_EMU_WGMMA_EXACT_REGISTERS | (accumulate ? BB_EMU_WGMMA_ACCUMULATE : 0);
  bb_emu_wgmma(places, 2 * SIZE, flags, registers, a, b, line);
}
#define BB_WGMMA(NAME, TYPE, FLAGS)                                                                                   \
  template <bool TRANSPOSE_A = false, bool TRANSPOSE_B = false, int SIZE>                                             \
  BB_DEVICE void NAME(float (&d)[SIZE], unsigned long long a, unsigned long long b, bool accumulate = true BB_SITE) { \
    constexpr int transposed = TRANSPOSE_A * BB_EMU_WGMMA_TRANSPOSE_A + TRANSPOSE_B * BB_EMU_WGMMA_TRANSPOSE_B;       \
    bb_wgmma_emulated<FLAGS | transposed>(d, nullptr, a, b, accumulate, line);                                        \
  }                                                                                                                   \
  template <bool TRANSPOSE_B = false, int SIZE>                                                                       \
  BB_DEVICE void NAME(float (&d)[SIZE], const unsigned (&a)[4], unsigned long long b, bool accumulate = true BB_SITE) { \
    bb_wgmma_emulated<FLAGS | TRANSPOSE_B * BB_EMU_WGMMA_TRANSPOSE_B>(d, a, 0, b, accumulate, line);                  \
  }
BB_WGMMA(bb_wgmma_bf16, "bf16", BB_EMU_WGMMA_BF16)
BB_WGMMA(bb_wgmma_f16, "f16", 0)
#else
#include <bb/cuda/wgmma_ptx.cuh>
#endif
#undef BB_WGMMA
