#pragma once
#include "machine.hpp"

namespace bb_emu {

u64 arrive(void* barrier, u32 count, u32 transaction_bytes, u64 place);

}  // namespace bb_emu
