// The race detector: two accesses to a piece of memory, at least one of them a write, that nothing orders.
#pragma once
#include "memory.hpp"

namespace bb_emu {

// Compare an access of the current thread with those before it, and remember it.
void check_order(Region& region, size_t offset, u32 bytes, Access kind, u64 site, const Place& place);

}  // namespace bb_emu
