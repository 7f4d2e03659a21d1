// contract() for float planes; A in float, bf16 or f16.
#include "contract_planes.hpp"

namespace bb {
BB_DEFINE_CONTRACT(float, float)
BB_DEFINE_CONTRACT(float, bf16)
BB_DEFINE_CONTRACT(float, f16)
}  // namespace bb
