// contract() and contract_packed() for double planes.
#include "contract_packed.hpp"

namespace bb {
BB_DEFINE_CONTRACT(double, double)
BB_DEFINE_CONTRACT_PACKED(double)
}  // namespace bb
