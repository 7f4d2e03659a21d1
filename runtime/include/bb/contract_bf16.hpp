// contract_bf16.hpp: contractions whose operands are rounded to bf16 before they are multiplied. Sums are in f32.
//
// contract_bf16(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode = overwrite, scale = nullptr)   A bf16 or float
//     C[m * ldc + l] (mode) sum over k < K of A[m * am + k * ak] * B[k * ldb + l]: contract() of contract.hpp, with
//     the same planes, strides and modes, for float planes C and B.
//     Operands may be rounded to bf16, to nearest even, before they are multiplied: exact for what was loaded
//     from bf16 arrays. Where that gains nothing it is contract() itself, in f32.
// contract_bf16_packed(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode = overwrite, scale = nullptr)   A bf16
//     the same with the element (m, k) of A at A[m / group * stride + (k / 2 * group + m % group) * 2 + k % 2], as
//     store_packed_pairs() of pairs.hpp writes it. group <= 6.
// In both B may be a plane of pairs instead, which is read where it lies: (k, l) in B[k / 2 * ldb + l]; store_pairs() of
// pairs.hpp writes one. For an odd K the last pair's odd half is zero.
// contract_bf16_panels(C, ldc, A, am, ak, B, group, stride, M, N, K, mode = overwrite, scale = nullptr)   A bf16 or float
//     C[m * ldc + n] (mode) sum over k < K of A[m * am + k * ak] * B(n, k), for few rows: contract_panels() of contract.hpp
//     for a B in pairs, (n, k) at B[n / group * stride + (k / 2 * group + n % group) * 2 + k % 2], as
//     store_packed_pairs() writes it; group a multiple of W<float>. Whole groups and pairs are read. `scale` (mode
//     rescale) has a factor for each row m.
//
// In bf16 it multiplies with AMX where the processor has it and the system permits it, or else with AVX512-BF16
// where that has the instruction rate of f32 multiply-adds, so twice their speed. Both take denormal operands for
// zeros, and make zeros of denormal results.
// Which one is the same in every call of a process and in every process on a machine, so that results are.
#pragma once
#include "contract.hpp"
#include "pairs.hpp"

namespace bb {
#define BB_CONTRACT_BF16(B_TYPE)                                                                                  \
  Status contract_bf16(float* C, idx ldc, const bf16* A, idx am, idx ak, const B_TYPE* B, idx ldb, idx M,         \
                       idx lanes, idx K, Mode mode = overwrite, const float* scale = nullptr);                    \
  Status contract_bf16(float* C, idx ldc, const float* A, idx am, idx ak, const B_TYPE* B, idx ldb, idx M,        \
                       idx lanes, idx K, Mode mode = overwrite, const float* scale = nullptr);                    \
  Status contract_bf16_packed(float* C, idx ldc, const bf16* A, idx group, idx stride, const B_TYPE* B, idx ldb,  \
                              idx M, idx lanes, idx K, Mode mode = overwrite, const float* scale = nullptr);
BB_CONTRACT_BF16(float)
BB_CONTRACT_BF16(Pair)
#undef BB_CONTRACT_BF16
Status contract_bf16_panels(float* C, idx ldc, const bf16* A, idx am, idx ak, const bf16* B, idx group, idx stride,
                            idx M, idx N, idx K, Mode mode = overwrite, const float* scale = nullptr);
Status contract_bf16_panels(float* C, idx ldc, const float* A, idx am, idx ak, const bf16* B, idx group, idx stride,
                            idx M, idx N, idx K, Mode mode = overwrite, const float* scale = nullptr);
}  // namespace bb
