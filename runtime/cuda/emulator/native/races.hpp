// The race detector: two accesses to a piece of memory, at least one of them a write, that nothing orders.
#pragma once
#include "memory.hpp"

namespace bb_emu {

// Compare an access of the current thread with those before it, and remember it.
void check_order(Region& region, size_t offset, u32 bytes, Access kind, u64 site, const Place& place);

// A bulk copy has arrived; an asynchronous read that began with BulkRead is over, as one of a thread's accesses with a
// stamp.
void end_bulk_write(const void* address, u32 bytes);
void end_bulk_read(const void* address, u32 bytes, u32 index, u32 stamp);

// A plain read in conflict with an atomic is forgiven where the thread goes on with an atomic at the same address: the
// loop around atomicCAS begins so. Conflicts wait for that until the block ends.
void forgive_reads(const void* address, u32 bytes);
void report_reads();

}  // namespace bb_emu
