// What a kernel that runs on the CPU calls: one function for each thing that a CUDA thread can do to others.
// CUDA source reaches them through the headers beside this one, translated PTX calls them itself.
//
// One block runs at a time, and each of its threads is a fiber: a call that has to wait suspends the fiber.
// A "site" says where in the source a call stands. Either bit 63 is set, and the bits below give a file's number
// (bits 32..62) and a line (bits 0..31), see bb_emu_site; or it is a line alone, which tells one barrier from
// another, and messages take the place from the caller's return address.
#pragma once
#include <stddef.h>
#include <stdint.h>

constexpr uint64_t bb_emu_site(uint32_t file, uint32_t line) {
  return uint64_t{1} << 63 | uint64_t{file} << 32 | line;
}

extern "C" {

// ---- Memory. In check mode every access that is not to registers is announced before it happens.
enum BbEmuAccess { BB_EMU_READ = 0, BB_EMU_WRITE = 1, BB_EMU_ATOMIC = 2 };
void bb_emu_access(const void* address, uint32_t bytes, int kind, uint64_t site);
// Before an atomic read-modify-write. It also orders memory as CUDA says: an atomic after a fence releases, and
// an atomic that reads what was released acquires. May let other threads run.
void bb_emu_atomic(void* address, uint32_t bytes, uint64_t site);
// For instrumented code: accesses to this address are part of an atomic and already announced, until null is given.
void bb_emu_atomic_part(const void* address);
// The last two order what a thread sees with what bulk copies and wgmma see: all of shared memory, or mbarriers that
// were initialised.
enum BbEmuFence {
  BB_EMU_FENCE_BLOCK = 0, BB_EMU_FENCE_DEVICE = 1, BB_EMU_FENCE_ASYNC_PROXY = 2, BB_EMU_FENCE_MBARRIER_INIT = 3,
};
void bb_emu_fence(int kind);

// ---- Shared memory. All of it lies in the executable's thread-local storage: static arrays where the compiler
// puts them, the dynamic array here. A 32-bit shared address is a distance from the window (1,024-byte aligned).
constexpr uint32_t BB_EMU_DYNAMIC_SHARED_LIMIT = 232448;
extern thread_local unsigned char bb_emu_dynamic_shared[BB_EMU_DYNAMIC_SHARED_LIMIT];  // 1,024-byte aligned
unsigned char* bb_emu_shared_window();
int bb_emu_is_shared(const void* address);

// ---- The block. reduce: 0 count, 1 and, 2 or of the predicates of all its threads.
void bb_emu_barrier(uint64_t site);
int bb_emu_barrier_reduce(int reduce, int predicate, uint64_t site);
// Named barrier 0..15 for `threads` threads (a multiple of 32; 0 is the whole block); bar.arrive does not wait.
void bb_emu_named_barrier(uint32_t id, uint32_t threads, int arrive_only, uint64_t site);
[[noreturn]] void bb_emu_thread_exit();
[[noreturn]] void bb_emu_trap(const char* reason, uint64_t site);

// ---- The warp. Collectives wait for all lanes of the mask that have not exited.
void bb_emu_syncwarp(uint32_t mask, uint64_t site);
enum BbEmuShuffle { BB_EMU_SHUFFLE_INDEX = 0, BB_EMU_SHUFFLE_UP = 1, BB_EMU_SHUFFLE_DOWN = 2, BB_EMU_SHUFFLE_XOR = 3 };
// width: 1, 2, 4, 8, 16 or 32. in_range (may be null): whether the source lane lies in the caller's segment.
uint64_t bb_emu_shuffle(int kind, uint32_t mask, uint64_t value, uint32_t argument, uint32_t width, int* in_range,
                        uint64_t site);
enum BbEmuVote { BB_EMU_VOTE_BALLOT = 0, BB_EMU_VOTE_ALL = 1, BB_EMU_VOTE_ANY = 2, BB_EMU_VOTE_UNIFORM = 3 };
uint32_t bb_emu_vote(int kind, uint32_t mask, int predicate, uint64_t site);
// all == 0: lanes with the same value; all == 1: the mask where all agree, else 0.
uint32_t bb_emu_match(int all, uint32_t mask, uint64_t value, uint64_t site);
enum BbEmuReduce {
  BB_EMU_REDUCE_ADD = 0, BB_EMU_REDUCE_MIN_UNSIGNED = 1, BB_EMU_REDUCE_MAX_UNSIGNED = 2, BB_EMU_REDUCE_MIN_SIGNED = 3,
  BB_EMU_REDUCE_MAX_SIGNED = 4, BB_EMU_REDUCE_AND = 5, BB_EMU_REDUCE_OR = 6, BB_EMU_REDUCE_XOR = 7,
};
uint32_t bb_emu_reduce(int operation, uint32_t mask, uint32_t value, uint64_t site);
uint32_t bb_emu_activemask();

// ---- Matrix instructions of a whole warp. Accumulators are f32: four registers a lane.
// a: four registers for k16 (two for tf32 k4); b: two (one). d may be c.
enum BbEmuMma {
  BB_EMU_MMA_M16N8K16_BF16 = 0, BB_EMU_MMA_M16N8K16_F16 = 1, BB_EMU_MMA_M16N8K8_TF32 = 2,
  BB_EMU_MMA_M16N8K8_BF16 = 3, BB_EMU_MMA_M16N8K8_F16 = 4, BB_EMU_MMA_M16N8K4_TF32 = 5,
};
void bb_emu_mma(int shape, float* d, const uint32_t* a, const uint32_t* b, const float* c, uint64_t site);
// count 1, 2 or 4 matrices of 8 x 8 16-bit values; lane l gives the row of matrix l/8, `registers` has `count` words.
void bb_emu_ldmatrix(int count, int transposed, uint32_t* registers, const void* row, uint64_t site);
void bb_emu_stmatrix(int count, int transposed, const uint32_t* registers, void* row, uint64_t site);

// ---- Asynchronous copies of one thread: 4, 8 or 16 bytes, of which source_bytes are read and the rest zero.
void bb_emu_cp_async(void* destination, const void* source, uint32_t bytes, uint32_t source_bytes, uint64_t site);
void bb_emu_cp_async_commit();
void bb_emu_cp_async_wait(uint32_t pending);  // wait_group N; ~0u: wait_all
// cp.async.mbarrier.arrive.noinc: arrives when this thread's copies so far are there.
void bb_emu_cp_async_mbarrier_arrive(void* barrier, uint64_t site);

// ---- mbarrier: eight bytes of shared memory. A phase is over when all arrivals and transaction bytes are in.
void bb_emu_mbarrier_init(void* barrier, uint32_t count, uint64_t site);
void bb_emu_mbarrier_invalidate(void* barrier, uint64_t site);
uint64_t bb_emu_mbarrier_arrive(void* barrier, uint32_t count, uint32_t transaction_bytes, uint64_t site);
void bb_emu_mbarrier_expect(void* barrier, uint32_t transaction_bytes, uint64_t site);
void bb_emu_mbarrier_complete(void* barrier, uint32_t transaction_bytes, uint64_t site);
// Waits until the phase of this parity (or of this state, as `arrive` gave it) is over.
void bb_emu_mbarrier_wait_parity(void* barrier, uint32_t parity, uint64_t site);
void bb_emu_mbarrier_wait(void* barrier, uint64_t state, uint64_t site);
// Does not wait; lets other threads run first, so that a loop around it makes progress.
int bb_emu_mbarrier_test_parity(void* barrier, uint32_t parity, uint64_t site);
int bb_emu_mbarrier_test(void* barrier, uint64_t state, uint64_t site);

// ---- Tensor maps and bulk copies (sm_90). In place of the driver's 128 opaque bytes, a map holds what it describes:
// an array of one or two dimensions, x within a row first, and the box of it that one copy moves.
struct alignas(64) BbEmuTensorMap {
  uint64_t magic, base;
  uint32_t rank, element_bytes;
  uint64_t extents[2], row_bytes;
  uint32_t box[2];
  uint32_t swizzle, reserved[17];  // 0, 32, 64 or 128 bytes
};
static_assert(sizeof(BbEmuTensorMap) == 128);
constexpr uint64_t BB_EMU_TENSOR_MAP_MAGIC = 0x70616d726f736e74;
// A box at (x, y), zeros where it is outside: arrives before the barrier's phase ends that its bytes are part of.
void bb_emu_tma_load(void* destination, const void* map, uint32_t rank, int32_t x, int32_t y, void* barrier,
                     uint64_t site);
void bb_emu_tma_store(const void* map, uint32_t rank, int32_t x, int32_t y, const void* source, uint64_t site);
void bb_emu_bulk_commit();
// Until at most `pending` of this thread's groups of stores are in flight; read_only: have yet to be read.
void bb_emu_bulk_wait(uint32_t pending, int read_only);

// ---- wgmma (sm_90a): d = a * b + d of 64 x 16 and 16 x n, by four warps whose first has a number that 4 divides.
// d: pointers to n / 2 registers, which are not to be touched until the group has been waited for. a_registers (four)
// or a: the descriptor of a tile in shared memory.
enum BbEmuWgmma {
  BB_EMU_WGMMA_BF16 = 1, BB_EMU_WGMMA_ACCUMULATE = 2, BB_EMU_WGMMA_NEGATE_A = 4, BB_EMU_WGMMA_NEGATE_B = 8,
  BB_EMU_WGMMA_TRANSPOSE_A = 16, BB_EMU_WGMMA_TRANSPOSE_B = 32,
  // Registers are memory that nothing else uses, so that what happens to them can be looked at.
  BB_EMU_WGMMA_EXACT_REGISTERS = 64,
};
void bb_emu_wgmma(float* const* d, uint32_t n, int flags, const uint32_t* a_registers, uint64_t a, uint64_t b,
                  uint64_t site);
void bb_emu_wgmma_fence(uint64_t site);
void bb_emu_wgmma_commit(uint64_t site);
void bb_emu_wgmma_wait(uint32_t pending, uint64_t site);

// ---- Where a thread is. Written by the runtime at each switch; constant for the kernel's code.
struct BbEmuIndex {
  unsigned x, y, z;
};
#ifdef BB_EMU_RUNTIME
extern BbEmuIndex bb_emu_thread_index, bb_emu_block_index, bb_emu_block_dim, bb_emu_grid_dim;
#else
extern const BbEmuIndex bb_emu_thread_index, bb_emu_block_index, bb_emu_block_dim, bb_emu_grid_dim;
#endif

// ---- What a program exports: its kernels. Arguments are passed as cuLaunchKernel does, by pointers to values.
enum BbEmuArgumentFlags { BB_EMU_POINTER = 1, BB_EMU_POINTER_TO_CONST = 2 };  // a tensor map has none
struct BbEmuArgument {
  uint32_t bytes, flags;
};
struct BbEmuKernel {
  const char* name;
  void (*call)(void** arguments);
  const BbEmuArgument* arguments;
  uint32_t argument_count;
};
extern const BbEmuKernel bb_emu_kernels[];
extern const uint32_t bb_emu_kernel_count;
}
