// contract() and contract_packed() for double planes.
#include "contract_tiles.hpp"
#include "parts.hpp"
#if BB_HAS_PART(1)
#include "contract_packed.hpp"
#endif

namespace bb {
#if BB_HAS_PART(1)
BB_DEFINE_CONTRACT(double, double)
BB_DEFINE_CONTRACT_PACKED(double)
#endif

namespace native {
#if BB_HAS_PART(2)
BB_DEFINE_NARROW(double)
#endif
#if BB_HAS_PART(3)
BB_DEFINE_WIDE(double)
#endif
}  // namespace native
}  // namespace bb
