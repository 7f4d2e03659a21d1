// contract.hpp: contractions of planes. All are calls into the objects made from runtime/cpu/native/*.cpp, compiled
// once per machine with the flags of the kernels; nothing of it is instantiated in a kernel.
//
// contract(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode = overwrite, scale = nullptr)      T float or double
//     C[m * ldc + l] (mode) sum over k < K of A[m * am + k * ak] * B[k * ldb + l],   m < M, l < lanes
//     C  a plane (M outer), written up to `lanes` rounded up to W<T>. It overlaps neither A nor B.
//     B  a plane, or an array whose lanes are contiguous. Exactly `lanes` of each of its K rows are read; where
//        that is no multiple of W<T> the last panel is copied first, so for planes pass the rounded number.
//     A  anything, read element by element with two strides of any sign, 0 too. In place with ak == 1 or
//        am == 1, else, and for storage types bf16 and f16, copied a block at a time (T = float).
//     K == 0 gives the sum 0. Padding lanes of C: sums of B's padding lanes, or (copied panel) of zeros.
// Modes:
//     overwrite   C = sum
//     accumulate  C = C + sum
//     rescale     C[m][l] = C[m][l] * scale[l] + sum: the rescale of online softmax. `scale` is a vector of
//                 lanes, padded to a multiple of W<T>. 0 * inf is NaN: C must be finite where scale is 0.
//
// contract_packed(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode = overwrite, scale = nullptr)
//     contract() with the element (m, k) of A at A[m / group * stride + k * group + m % group], as store_packed() of
//     plane.hpp writes it: constant operands, which are streamed as they lie. group <= 6.
//
// Few rows, columns in lanes: every element of B is read once, at memory speed, for groups of up to 8 rows of A
// (more than 8 rows: every group reads B).
// contract_rows(C, ldc, A, lda, B, ldb, M, N, K, mode = overwrite)
//     C[m * ldc + n] (mode) sum_k A[m * lda + k] * B[k * ldb + n]      B: array [K][N], rows contiguous
// contract_dot(C, ldc, A, lda, B, ldb, M, N, K, mode = overwrite)
//     C[m * ldc + n] (mode) sum_k A[m * lda + k] * B[n * ldb + k]      B: array [N][K], rows contiguous
//     C, A: planes [M][N] and [M][K] of T; C is written up to N rounded up to W<T>, A's padding is not used.
//     B: float, bf16 or f16 with T = float; double with T = double. Exactly N x K elements are read.
// contract_panels(C, ldc, A, lda, B, group, stride, M, N, K, mode = overwrite)
//     C[m * ldc + n] (mode) sum_k A[m * lda + k] * B[n / group * stride + k * group + n % group]
//     the same for constant B, as store_packed() of plane.hpp writes it; group a multiple of W<T>. Whole groups are
//     read.
//     mode: overwrite or accumulate. Give C and A the leading dimension plane_ld: powers of two are slow.
//
// All are sequential; scratch slots 3 to 5 are theirs. Sums are in a fixed order that depends on the extents and on
// the machine's cache sizes, not on threads. They return Status: ok, or out_of_memory where A or B is copied.
#pragma once
#include "convert.hpp"
#include "scratch.hpp"

namespace bb {
enum Mode : int { overwrite = 0, accumulate = 1, rescale = 2 };

#define BB_CONTRACT(T, S)                                                                                  \
  Status contract(T* C, idx ldc, const S* A, idx am, idx ak, const T* B, idx ldb, idx M, idx lanes, idx K, \
                  Mode mode = overwrite, const T* scale = nullptr);
#define BB_CONTRACT_PACKED(T)                                                                              \
  Status contract_packed(T* C, idx ldc, const T* A, idx group, idx stride, const T* B, idx ldb, idx M,       \
                         idx lanes, idx K, Mode mode = overwrite, const T* scale = nullptr);
#define BB_CONTRACT_FEW(T, S)                                                                        \
  Status contract_rows(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K, \
                       Mode mode = overwrite);                                                       \
  Status contract_dot(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K,  \
                      Mode mode = overwrite);                                                        \
  Status contract_panels(T* C, idx ldc, const T* A, idx lda, const S* B, idx group, idx stride, idx M,  \
                         idx N, idx K, Mode mode = overwrite);
BB_CONTRACT(float, float)
BB_CONTRACT(float, bf16)
BB_CONTRACT(float, f16)
BB_CONTRACT(double, double)
BB_CONTRACT_PACKED(float)
BB_CONTRACT_PACKED(double)
BB_CONTRACT_FEW(float, float)
BB_CONTRACT_FEW(float, bf16)
BB_CONTRACT_FEW(float, f16)
BB_CONTRACT_FEW(double, double)
#undef BB_CONTRACT
#undef BB_CONTRACT_PACKED
#undef BB_CONTRACT_FEW
}  // namespace bb
