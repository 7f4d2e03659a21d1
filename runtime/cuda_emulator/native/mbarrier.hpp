#pragma once
#include "machine.hpp"

namespace bb_emu {

u64 arrive(void* barrier, u32 count, u32 transaction_bytes, u64 place);

// Bytes of a bulk copy have arrived: counted and released on behalf of the thread that issued it.
void complete_transaction(void* barrier, u32 bytes, u64 place);

}  // namespace bb_emu
