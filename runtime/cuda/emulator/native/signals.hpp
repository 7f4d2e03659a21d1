#pragma once

namespace bb_emu {

// From now on a fatal signal, and the end of the time limit, become a finding and the end of the process.
void catch_signals();

}  // namespace bb_emu
