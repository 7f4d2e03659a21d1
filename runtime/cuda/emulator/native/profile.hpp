// Requests of whole warps: the sectors of 32 bytes they touch in global memory, the passes they need in shared memory.
#pragma once
#include "memory.hpp"

namespace bb_emu {

struct SharedProfile {
  u64 requests = 0, passes = 0, ideal_passes = 0;
};
extern SharedProfile shared_profile;

void start_profile();
void profile_access(Region& region, const char* address, u32 bytes, bool writes, u64 site);
void profile_mma(u64 site);
// A row of a bulk copy, which is a request of its own.
void count_row(Region& region, const char* address, u32 bytes, bool writes);
// Lanes of a warp come one after the other: requests are put together at barriers and at the end of a block.
void flush_profile();
// What the accesses of each place in the program came to, as lines of the report.
void report_sites();

}  // namespace bb_emu
