// contract_bf16() and its two implementations under C names, for test_contract_bf16.py: the one for AMX runs on
// tiles in software.
#include <bb/cpu.hpp>
#include "../../runtime/cpu/native/contract_bf16_tiles.hpp"
#include "../../runtime/cpu/native/contract_bf16_vector.hpp"

using namespace bb;

#define EXPORT extern "C" __attribute__((visibility("default")))
#define ARGUMENTS(S) \
  float *C, idx ldc, const S *A, idx am, idx ak, const float *B, idx ldb, idx M, idx lanes, idx K, int mode, const float *scale
#define PASSED C, ldc, A, am, ak, B, ldb, M, lanes, K, (Mode)mode, scale

#define PACKED_ARGUMENTS(S) \
  float *C, idx ldc, const bf16 *A, idx group, idx stride, const S *B, idx ldb, idx M, idx lanes, idx K, int mode, \
      const float *scale
#define PACKED C, ldc, A, group, stride, B, ldb, M, lanes, K, (Mode)mode, scale

EXPORT int lanes_f32() { return W<float>; }
EXPORT int lanes_f64() { return W<double>; }

EXPORT int chosen_bfloat16(ARGUMENTS(bf16)) { return contract_bf16(PASSED); }
EXPORT int chosen_float32(ARGUMENTS(float)) { return contract_bf16(PASSED); }
EXPORT int chosen_pairs(float* C, idx ldc, const bf16* A, idx am, idx ak, const Pair* B, idx ldb, idx M, idx lanes, idx K,
                        int mode, const float* scale) {
  return contract_bf16(PASSED);
}
EXPORT int chosen_packed_plane(PACKED_ARGUMENTS(float)) { return contract_bf16_packed(PACKED); }
EXPORT int chosen_packed_pairs(PACKED_ARGUMENTS(Pair)) { return contract_bf16_packed(PACKED); }

#define PANELS(S) \
  float *C, idx ldc, const S *A, idx am, idx ak, const bf16 *B, idx group, idx stride, idx M, idx N, idx K, int mode, \
      const float *scale
EXPORT int panels_bfloat16(PANELS(bf16)) {
  return contract_bf16_panels(C, ldc, A, am, ak, B, group, stride, M, N, K, (Mode)mode, scale);
}
EXPORT int panels_float32(PANELS(float)) {
  return contract_bf16_panels(C, ldc, A, am, ak, B, group, stride, M, N, K, (Mode)mode, scale);
}

EXPORT void pack(bf16* D, idx rows, idx columns, idx group, const float* X, idx ld, idx r, idx k) {
  store_packed_pairs<float>(D, rows, columns, group, X, ld, r, k);
}
EXPORT void pair(Pair* D, idx ld, const float* X, idx xld, idx K, idx lanes) { store_pairs<float>(D, ld, X, xld, K, lanes); }

EXPORT void load_in_pairs(Pair* D, idx ld, idx outer, idx lanes, const bf16* X, idx by_outer, idx by_lane) {
  load_pairs<float>(D, ld, outer, lanes, X, by_outer, by_lane);
}
EXPORT void sweep_in_pairs(Pair* D, idx ld, const float* X, float* sums, idx outer, idx lanes, int reduces) {
  const auto put = [&](idx o, idx l, auto pairs) BB_BODY { put_pairs(D + o * ld + l, pairs); };
  if (!reduces) return sweep_pairs(outer, lanes, [&](idx o, idx l) BB_BODY { return load(X + o * ld + l); }, put);
  sweep_lanes_pairs<1>(
      outer, lanes, [&](idx, vf(&acc)[1]) BB_BODY { acc[0] = vf{}; },
      [&](idx o, idx l, vf(&acc)[1]) BB_BODY {
        acc[0] += load(X + o * ld + l);
        return load(X + o * ld + l);
      },
      put, [&](idx l, vf(&acc)[1]) BB_BODY { store(sums + l, acc[0]); });
}

#if defined(BB_AVX512)
EXPORT int has_tiles() { return 1; }
EXPORT int tiles_bfloat16(ARGUMENTS(bf16)) { return native::contract_tiles<native::SoftwareTiles>(PASSED); }
EXPORT int tiles_float32(ARGUMENTS(float)) { return native::contract_tiles<native::SoftwareTiles>(PASSED); }
EXPORT int tiles_packed_plane(PACKED_ARGUMENTS(float)) { return native::packed_tiles<native::SoftwareTiles>(PACKED); }
EXPORT int tiles_packed_pairs(PACKED_ARGUMENTS(Pair)) { return native::packed_tiles<native::SoftwareTiles>(PACKED); }
#else
EXPORT int has_tiles() { return 0; }
#endif

#if defined(BB_AVX512) && defined(__AVX512BF16__)
EXPORT int has_vector() { return 1; }
EXPORT int vector_bfloat16(ARGUMENTS(bf16)) { return native::contract_vector(PASSED); }
EXPORT int vector_float32(ARGUMENTS(float)) { return native::contract_vector(PASSED); }
EXPORT int vector_packed_plane(PACKED_ARGUMENTS(float)) { return native::packed_vector(PACKED); }
EXPORT int vector_packed_pairs(PACKED_ARGUMENTS(Pair)) { return native::packed_vector(PACKED); }
#else
EXPORT int has_vector() { return 0; }
#endif
