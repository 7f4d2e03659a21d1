#pragma once
#include "machine.hpp"

namespace bb_emu {

// A bulk copy to a barrier: the phase that waits for it; and its arrival, which makes a thread's accesses with a stamp
// known to those who wait.
u64 expect_copy(void* barrier, u64 place);
void complete_copy(void* barrier, u32 bytes, u32 thread, u32 stamp, u64 place);

u64 arrive(void* barrier, u32 count, u32 transaction_bytes, u64 place);

}  // namespace bb_emu
