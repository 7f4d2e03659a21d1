// contract() for double planes.
#include "contract_planes.hpp"

namespace bb {
BB_DEFINE_CONTRACT(double, double)
}  // namespace bb
