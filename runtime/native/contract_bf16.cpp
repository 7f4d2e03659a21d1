// contract_bf16() of contract_bf16.hpp: which way a contraction takes.
#include "contract_bf16_tiles.hpp"
#include "contract_bf16_vector.hpp"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bb {
namespace {
#if defined(BB_AVX512) && defined(__AVX512BF16__)
// vdpbf16ps has the instruction rate of multiply-adds on AMD's processors, so twice their speed. Intel's have half
// that rate: there it gains nothing, AMX does. By name, not by a measurement: results must be the same every time.
bool pairs_are_fast() {
#if defined(__x86_64__)
  static const bool amd = [] {
    unsigned highest, b, c, d;
    return __get_cpuid(0, &highest, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx &&
           d == signature_AMD_edx;
  }();
  return amd;
#else
  return false;
#endif
}
#endif

// Rows of A from which on it pays to pack B into pairs.
[[maybe_unused]] constexpr idx fewest_rows = 6;

template <class S>
Status contract_in_bf16(float* C, idx ldc, const S* A, idx am, idx ak, const float* B, idx ldb, idx M, idx lanes,
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
  return contract(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);
}
}  // namespace

Status contract_bf16(float* C, idx ldc, const bf16* A, idx am, idx ak, const float* B, idx ldb, idx M, idx lanes,
                     idx K, Mode mode, const float* scale) {
  return contract_in_bf16(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);
}
Status contract_bf16(float* C, idx ldc, const float* A, idx am, idx ak, const float* B, idx ldb, idx M, idx lanes,
                     idx K, Mode mode, const float* scale) {
  return contract_in_bf16(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);
}
}  // namespace bb
