// The state of the emulated device: one block at a time, its warps and its threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fiber.hpp"
#include "report.hpp"

#define BB_EMU_RUNTIME 1
#include <bb/cuda_emulator/hooks.hpp>

namespace bb_emu {

using u8 = uint8_t;
using u32 = uint32_t;
using u64 = uint64_t;

enum class Schedule { Fifo = 0, Lifo = 1, Random = 2, Pct = 3 };

struct Options {
  Schedule schedule = Schedule::Fifo;
  u64 seed = 0;
  bool check = false, profile = false, flush_denormals = true;
  u32 max_findings = 20;
  u32 time_limit_ms = 60000;
};

struct AsyncCopy {
  void* destination;
  const void* source;
  u32 bytes, source_bytes;
  u64 site;
  bool arrived;  // copied already: it may come at any time between issue and wait
};

enum class State : u8 { Ready, Waiting, Done };

struct Thread {
  Fiber fiber;
  u32 index, warp, lane;
  State state;
  const char* waits_for;
  u64 waits_at;
  u32 segment;        // stamp of its accesses since it last released (clocks.hpp)
  u32 fence_segment;  // accesses below this stamp are before its last fence
  int fence = -1;     // the widest fence since, a BbEmuFence
  u32 spins = 0;      // atomics and tests in a row without a switch
  u32 polls = 0;      // tests of an mbarrier in a row that were in vain
  u32 accumulators_in_flight = 0;  // of wgmma, in its own memory
  std::vector<AsyncCopy> open;
  std::vector<std::vector<AsyncCopy>> groups;
  std::vector<u32> occurrences;  // per site, for the profile
};

// A meeting of the lanes of a mask. `finish` does the operation when all are there, and tells operations apart.
struct Collective {
  using Finish = void (*)(Collective&, u32 active, Thread* lanes);
  u32 mask, arrived;
  Finish finish;
  const char* name;
  u64 site;
  void* data[32];
};

struct Warp {
  u32 alive;
  Collective collectives[32];
  int count;
};

struct Counters {
  u64 mma, ldmatrix, stmatrix, barriers, named_barriers, shuffles, votes, syncwarps, cp_async, atomics, mbarrier_phases,
      bulk_copies, wgmma, switches;
};

extern Options options;
extern Counters counters;
extern std::vector<Thread> threads;
extern std::vector<Warp> warps;
extern Thread* current;  // null while no thread of the kernel has control
extern u32 thread_count, alive_count;
extern u32 block_number;

u64 random_number();
inline bool coin() { return options.schedule >= Schedule::Random && (random_number() & 1) != 0; }

// The number of the current thread in the grid, plus one.
inline u32 grid_thread() { return block_number * thread_count + current->index + 1; }

// ---- scheduler.cpp
void make_ready(Thread& thread);
void suspend(const char* what, u64 site);  // until make_ready
void yield();
void spin();  // to be called in what a thread may loop on: lets others run now and then
void report_if_all_poll();  // a deadlock where every thread waits, or has tested an mbarrier in vain again and again
void redraw_priorities();
void run_block();

// ---- barriers.cpp
void reset_barriers();
void thread_left_barrier();   // one thread fewer is awaited
// ---- warp.cpp
// Lanes must come with the same site; `place` is what messages show.
void collective(Collective::Finish finish, const char* name, u32 mask, void* data, u64 site, u64 place, bool whole_warp);
void thread_left_warp(Thread& thread);
// ---- mbarrier.cpp
void reset_mbarriers();
// ---- async_copy.cpp
void complete(AsyncCopy& copy);
// ---- bulk_copy.cpp
void reset_bulk_copies();
bool copies_in_flight();
// Let one of the copies in flight arrive, if there is one; `barrier` null: any.
bool let_a_copy_arrive(const void* barrier);
bool copy_in_flight_to(const void* barrier, u64 phase);
void bulk_thread_exits(Thread& thread);
void bulk_block_ends();
// ---- wgmma.cpp
void reset_wgmma();
void touch_accumulators(const void* address, u32 bytes, bool writes, u64 site);
void wgmma_thread_exits(Thread& thread);

// What the runtime does for a thread that does not have control.
class ActingThread {
 public:
  explicit ActingThread(Thread& thread);
  ~ActingThread();
  ActingThread(const ActingThread&) = delete;
  ActingThread& operator=(const ActingThread&) = delete;

 private:
  Thread* before_;
  BbEmuIndex index_;
};

// The site that messages show: explicit, or the address after the call.
inline u64 place_of(u64 site, void* return_address) {
  return site >> 63 != 0 ? site : reinterpret_cast<u64>(return_address);
}
#define BB_EMU_PLACE(site) ::bb_emu::place_of(site, __builtin_return_address(0))

}  // namespace bb_emu
