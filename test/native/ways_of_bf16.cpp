// contract_bf16() and the ways that it takes behind C names, for test_contract_bf16.py: the way for AMX on tiles
// in software.
#include <bb/cpu.hpp>
#include "../../runtime/native/contract_bf16_tiles.hpp"
#include "../../runtime/native/contract_bf16_vector.hpp"

using namespace bb;

#define EXPORT extern "C" __attribute__((visibility("default")))
#define ARGUMENTS(S) \
  float *C, idx ldc, const S *A, idx am, idx ak, const float *B, idx ldb, idx M, idx lanes, idx K, int mode, const float *scale
#define PASSED C, ldc, A, am, ak, B, ldb, M, lanes, K, (Mode)mode, scale

EXPORT int lanes_f32() { return W<float>; }
EXPORT int lanes_f64() { return W<double>; }

EXPORT int chosen_bfloat16(ARGUMENTS(bf16)) { return contract_bf16(PASSED); }
EXPORT int chosen_float32(ARGUMENTS(float)) { return contract_bf16(PASSED); }

#if defined(BB_AVX512)
EXPORT int has_tiles() { return 1; }
EXPORT int tiles_bfloat16(ARGUMENTS(bf16)) { return native::contract_tiles<native::SoftwareTiles>(PASSED); }
EXPORT int tiles_float32(ARGUMENTS(float)) { return native::contract_tiles<native::SoftwareTiles>(PASSED); }
#else
EXPORT int has_tiles() { return 0; }
#endif

#if defined(BB_AVX512) && defined(__AVX512BF16__)
EXPORT int has_vector() { return 1; }
EXPORT int vector_bfloat16(ARGUMENTS(bf16)) { return native::contract_vector(PASSED); }
EXPORT int vector_float32(ARGUMENTS(float)) { return native::contract_vector(PASSED); }
#else
EXPORT int has_vector() { return 0; }
#endif
