// contract.hpp: contractions of planes. Everything here is a call into the object made from runtime/native/*.cpp, compiled once
// per machine with the flags of the kernels; nothing of it is instantiated in a kernel.
//
// contract(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode = overwrite, scale = nullptr)       T = float or double
//     C[m * ldc + l] (mode) sum over k < K of A[m * am + k * ak] * B[k * ldb + l],   m < M, l < lanes
//     C: a plane (M outer; aligned, written up to `lanes` rounded up to W<T>). B: a plane or an array whose lanes are contiguous;
//     exactly `lanes` of each of its K rows are read. A: anything, read element by element with two strides (any sign, 0 too);
//     fastest with ak == 1 or am == 1; in storage bf16 or f16 it is first converted, a block at a time.
//     C must not overlap A or B. K == 0 gives sum 0. Padding lanes of C get finite or scaled old contents, never traps.
// Modes:
//     overwrite   C = sum
//     accumulate  C = C + sum
//     rescale     C[m][l] = C[m][l] * scale[l] + sum, `scale` a vector of lanes (padded to a multiple of W<T>): the rescale of online softmax
//                 (0 * inf is NaN as everywhere: C must be finite where scale is 0)
//
// Few rows, columns in lanes: each element of B is read exactly once, at memory speed. 1 <= M <= 8 (more: done in groups of 8 rows, each of which reads B).
// contract_rows(C, ldc, A, lda, B, ldb, M, N, K, mode = overwrite)
//     C[m * ldc + n] (mode) sum_k A[m * lda + k] * B[k * ldb + n]      B: array [K][N], rows contiguous
// contract_dot(C, ldc, A, lda, B, ldb, M, N, K, mode = overwrite)
//     C[m * ldc + n] (mode) sum_k A[m * lda + k] * B[n * ldb + k]      B: array [N][K], rows contiguous
//     C, A: planes [M][N], [M][K] of T (C written up to N rounded up to W<T>; padding of A is not used).
//     B: float, bf16 or f16 with T = float; double with T = double. Exactly N x K elements of B are read. mode: overwrite, accumulate.
//
// All of them are sequential; scratch slot 3 is theirs. Sums are in a fixed order that depends on the extents and the
// machine's cache sizes, not on threads. They return Status: out_of_memory is possible where B or A must be packed.
#pragma once
#include "convert.hpp"
#include "scratch.hpp"

namespace bb {
enum Mode : int { overwrite = 0, accumulate = 1, rescale = 2 };

#define BB_CONTRACT(T, S)                                                                                                           \
  Status contract(T* C, idx ldc, const S* A, idx am, idx ak, const T* B, idx ldb, idx M, idx lanes, idx K, Mode mode = overwrite, \
                  const T* scale = nullptr);
#define BB_CONTRACT_FEW(T, S)                                                                                         \
  Status contract_rows(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K, Mode mode = overwrite); \
  Status contract_dot(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K, Mode mode = overwrite);
BB_CONTRACT(float, float)
BB_CONTRACT(float, bf16)
BB_CONTRACT(float, f16)
BB_CONTRACT(double, double)
BB_CONTRACT_FEW(float, float)
BB_CONTRACT_FEW(float, bf16)
BB_CONTRACT_FEW(float, f16)
BB_CONTRACT_FEW(double, double)
#undef BB_CONTRACT
#undef BB_CONTRACT_FEW
}  // namespace bb
