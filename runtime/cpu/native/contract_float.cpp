// contract() for float planes; A in float, bf16 or f16. contract_packed() for float.
#include "contract_tiles.hpp"
#include "parts.hpp"
#if BB_HAS_PART(1) || BB_HAS_PART(4)
#include "contract_packed.hpp"
#endif

namespace bb {
#if BB_HAS_PART(1)
BB_DEFINE_CONTRACT(float, float)
BB_DEFINE_CONTRACT_PACKED(float)
#endif
#if BB_HAS_PART(4)
BB_DEFINE_CONTRACT(float, bf16)
BB_DEFINE_CONTRACT(float, f16)
#endif

namespace native {
#if BB_HAS_PART(2)
BB_DEFINE_NARROW(float)
#endif
#if BB_HAS_PART(3)
BB_DEFINE_WIDE(float)
#endif
}  // namespace native
}  // namespace bb
