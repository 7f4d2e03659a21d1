// streamed_parts.hpp: the end of a source that streams B: BB_DEFINE(T, S) in parts, by the types of the sums (T) and of
// B (S). Included once in each source, inside namespace bb, after the definition of BB_DEFINE.
#include "parts.hpp"

#if BB_HAS_PART(1)
BB_DEFINE(float, float)
#endif
#if BB_HAS_PART(2)
BB_DEFINE(float, bf16)
#endif
#if BB_HAS_PART(3)
BB_DEFINE(float, f16)
#endif
#if BB_HAS_PART(4)
BB_DEFINE(double, double)
#endif
