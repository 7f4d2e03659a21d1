// contract() for float planes; A in float, bf16 or f16. contract_packed() for float.
#include "contract_packed.hpp"

namespace bb {
BB_DEFINE_CONTRACT(float, float)
BB_DEFINE_CONTRACT(float, bf16)
BB_DEFINE_CONTRACT(float, f16)
BB_DEFINE_CONTRACT_PACKED(float)
}  // namespace bb
