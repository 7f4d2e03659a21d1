// What happens before what. Every access carries a stamp: the segment of its thread, a number that grows over the
// whole launch and is renewed whenever the thread releases (passes a barrier, arrives at one, fences).
//
// A thread knows of another thread's accesses up to a stamp. Two numbers hold that: the block's floor, raised by
// every __syncthreads, and the thread's row of clocks, raised by narrower synchronisation. As long as a block uses
// no barrier narrower than itself and wider than a warp, only a warp's own columns of a row matter.
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine.hpp"

namespace bb_emu {

// What a barrier object has collected from those who arrived: clocks[t] is above the stamps of t that are released.
struct Released {
  u32 block = 0, floor = 0;
  bool device_wide = false;
  std::vector<u32> clocks;
};
using SharedReleased = std::shared_ptr<const Released>;
// What is known of other blocks, by block.
using Knowledge = std::unordered_map<u32, SharedReleased>;

extern u32 block_floor;

void allocate_clocks();  // for a launch
void start_clocks();     // for a block

// After a barrier of the whole block: everything until now happens before everything after.
void synchronise_block();
// After __syncwarp of these lanes of the current thread's warp.
void synchronise_lanes(u32 warp, u32 lanes);

void release_into(Released& object, Thread& thread);
void acquire_from(const Released& object, Thread& thread);

// For what happens later on behalf of a thread: the stamp of its accesses until now, which then gets another one;
// and ways of making those accesses known, to a thread and to an object.
u32 take_stamp(Thread& thread);
void learn_stamp(Thread& thread, u32 index, u32 stamp);
void add_stamp(Released& object, u32 index, u32 stamp);
// Whether a thread of the running block knows of another one's accesses with this stamp.
bool knows(const Thread& thread, u32 index, u32 stamp);

// The async proxy, through which bulk copies and wgmma access shared memory, sees what threads wrote only after a
// fence between the two. `barriers_only`: the fence for mbarriers that were initialised.
void fence_proxy(Thread& thread, bool barriers_only);
bool fenced_for_proxy(u32 writer, u32 stamp, bool barrier);

// A fence makes what came before it releasable by the thread's next atomics.
void fence(Thread& thread, int kind);
// An atomic at an address: acquires what was released there, and releases if there was a fence.
void synchronise_at(const void* address, Thread& thread);

// Whether an access of a thread of the grid (number plus one) with a stamp happens before the current thread's next.
bool happens_before(u32 number, u32 stamp);
// The same for a thread of the running block, by index.
bool block_happens_before(u32 index, u32 stamp);

}  // namespace bb_emu
