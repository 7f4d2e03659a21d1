// contract_bf16() and contract_bf16_packed() of contract_bf16.hpp: which way a contraction takes.
#include "contract_bf16_tiles.hpp"
#include "contract_bf16_vector.hpp"
#include "parts.hpp"
#include "processor.hpp"

#if BB_HAS_PART(1) && defined(BB_IN_PAIRS)
namespace bb {
namespace {
template <class S, class SB>
Status contract_in_bf16(float* C, idx ldc, const S* A, idx am, idx ak, const SB* B, idx ldb, idx M, idx lanes,
                        idx K, Mode mode, const float* scale) {
  if (M <= 0 || lanes <= 0) return ok;
  if (K <= 0) return native::empty_sums(C, ldc, M, lanes, mode, scale);
  return native::contract_vector(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);
}
template <class SB>
Status packed_in_bf16(float* C, idx ldc, const bf16* A, idx group, idx stride, const SB* B, idx ldb, idx M,
                      idx lanes, idx K, Mode mode, const float* scale) {
  if (M <= 0 || lanes <= 0) return ok;
  if (K <= 0) return native::empty_sums(C, ldc, M, lanes, mode, scale);
  return native::packed_vector(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode, scale);
}
}  // namespace
}  // namespace bb
#elif BB_HAS_PART(1)
namespace bb {
namespace {
using native::pairs_are_fast;

// Rows of A from which on it pays to pack B into pairs.
[[maybe_unused]] constexpr idx fewest_rows = 6;

// The plane itself, or floats from a plane of pairs, in scratch memory; nullptr where there is none.
const float* float_plane(const float* B, idx&, idx, idx) { return B; }
const float* float_plane(const Pair* B, idx& ldb, idx lanes, idx K) {
  const idx ld = plane_ld<float>(lanes);
  float* const to = scratch<float>(round_up(K, 2) * ld, 4);
  if (!to) return nullptr;
  for (idx k = 0; k < K; k += 2)
    for (idx l = 0; l < lanes; l += W<float>) {
      const auto both = *(const detail::pairs_unaligned*)(B + k / 2 * ldb + l);
      store(to + k * ld + l, (vf)(detail::words)(both << 16));
      store(to + (k + 1) * ld + l, (vf)(detail::words)(both & 0xffff0000u));
    }
  ldb = ld;
  return to;
}

template <class S, class SB>
Status contract_in_bf16(float* C, idx ldc, const S* A, idx am, idx ak, const SB* B, idx ldb, idx M, idx lanes,
                        idx K, Mode mode, const float* scale) {
#if defined(BB_AVX512)
  if (M >= fewest_rows && lanes > 0 && K > 1) {
#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
    if (native::HardwareTiles::permitted())
      return native::contract_tiles<native::HardwareTiles>(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);
#endif
#if defined(__AVX512BF16__)
    if (pairs_are_fast()) return native::contract_vector(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);
#endif
  }
#endif
  const float* const plane = float_plane(B, ldb, lanes, K);
  return plane ? contract(C, ldc, A, am, ak, plane, ldb, M, lanes, K, mode, scale) : out_of_memory;
}

// A packed A multiplied in f32: a few groups at a time are widened, into the same layout.
template <class SB>
Status packed_in_float(float* C, idx ldc, const bf16* A, idx group, idx stride, const SB* B, idx ldb, idx M,
                       idx lanes, idx K, Mode mode, const float* scale) {
  constexpr idx groups = 4;
  const float* const plane = float_plane(B, ldb, lanes, K);
  const idx size = group * round_up(K, 2), room = groups * size;
  float* const wide = scratch<float>(room, 5);
  if (!plane || !wide) return out_of_memory;
  for (idx m = 0; m < M; m += groups * group, A += groups * stride) {
    const idx rows = std::min(groups * group, M - m);
    for (idx g = 0; g * group < rows; g++) {
      float* to = wide + g * size;
      const bf16* from = A + g * stride;
      for (idx k = 0; k < K; k += 2, to += 2 * group, from += 2 * group)
        for (idx r = 0; r < group; r++) {
          to[r] = to_float(from[2 * r]);
          to[group + r] = to_float(from[2 * r + 1]);
        }
    }
    const Status status =
        contract_packed(C + m * ldc, ldc, wide, group, size, plane, ldb, rows, lanes, K, mode, scale);
    if (status) return status;
  }
  return ok;
}

template <class SB>
Status packed_in_bf16(float* C, idx ldc, const bf16* A, idx group, idx stride, const SB* B, idx ldb, idx M,
                      idx lanes, idx K, Mode mode, const float* scale) {
  if (M <= 0 || lanes <= 0 || K <= 0) return contract(C, ldc, A, 0, 0, C, 0, M, lanes, 0, mode, scale);
#if defined(BB_AVX512)
#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
  if (native::HardwareTiles::permitted())
    return native::packed_tiles<native::HardwareTiles>(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode, scale);
#endif
#if defined(__AVX512BF16__)
  if (pairs_are_fast())
    return native::packed_vector(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode, scale);
#endif
#endif
  return packed_in_float(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode, scale);
}
}  // namespace
}  // namespace bb
#endif

#if BB_HAS_PART(1)
namespace bb {
#define BB_DEFINE(SB)                                                                                             \
  Status contract_bf16(float* C, idx ldc, const bf16* A, idx am, idx ak, const SB* B, idx ldb, idx M, idx lanes,  \
                       idx K, Mode mode, const float* scale) {                                                    \
    return contract_in_bf16(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);                                 \
  }                                                                                                               \
  Status contract_bf16(float* C, idx ldc, const float* A, idx am, idx ak, const SB* B, idx ldb, idx M, idx lanes, \
                       idx K, Mode mode, const float* scale) {                                                    \
    return contract_in_bf16(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);                                 \
  }                                                                                                               \
  Status contract_bf16_packed(float* C, idx ldc, const bf16* A, idx group, idx stride, const SB* B, idx ldb,      \
                              idx M, idx lanes, idx K, Mode mode, const float* scale) {                           \
    return packed_in_bf16(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode, scale);                            \
  }
BB_DEFINE(float)
BB_DEFINE(Pair)
}  // namespace bb
#endif

#if defined(BB_AVX512) && defined(__AVX512BF16__)
namespace bb::native {
#if BB_HAS_PART(2)
void multiply_narrow_pairs(const PairTile& tile, int mr, int nv) { multiply_either_pairs<1>(tile, mr, nv); }
#endif
#if BB_HAS_PART(3)
void multiply_wide_pairs(const PairTile& tile, int mr, int nv) { multiply_either_pairs<3>(tile, mr, nv); }
#endif
}  // namespace bb::native
#endif
