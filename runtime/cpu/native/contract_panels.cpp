// contract_panels() of contract.hpp: B in groups of columns, each contiguous: one stream at the speed of memory.
#include <algorithm>
#include "contract_few.hpp"

namespace bb {
namespace {
using native::groups_of_rows;

// C[MR x NV vectors] (mode) A . B, sums in registers over all of K; rows of B are `step` elements apart.
template <int MR, int NV, class T, class S>
__attribute__((noinline)) void panel(T* C, idx ldc, const T* A, idx lda, const S* B, idx step, idx K, Mode mode) {
  constexpr idx w = W<T>, line = 64 / sizeof(S);
  // Into L2, and far ahead, but only where a line of B has so many multiply-adds that the hardware alone does not keep
  // up with memory: with fewer it does, and fetches of our own take a fifth of the speed of memory away.
  constexpr idx ahead = MR * sizeof(T) > 6 * sizeof(S) ? 16384 / sizeof(S) : 0;
  vec<T> c[MR][NV];
  BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] = vec<T>{};
  for (idx k = 0; k < K; k++, B += step) {
    if constexpr (ahead != 0) BB_UNROLL for (idx l = 0; l < NV * w; l += line) prefetch<2>(B + ahead + l);
    vec<T> b[NV];
    BB_UNROLL for (int j = 0; j < NV; j++) b[j] = load_as<T>(B + j * w);
    BB_UNROLL for (int i = 0; i < MR; i++) {
      const vec<T> a = splat(A[i * lda + k]);
      BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] += a * b[j];
    }
  }
  BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int j = 0; j < NV; j++) {
    T* p = C + i * ldc + j * w;
    store(p, mode == overwrite ? c[i][j] : load(p) + c[i][j]);
  }
}

template <int MR, class T, class S>
void panels_of(T* C, idx ldc, const T* A, idx lda, const S* B, idx group, idx stride, idx N, idx K, Mode mode) {
#if defined(BB_AVX512) || defined(__aarch64__)
  constexpr int NV = 2;
#else
  constexpr int NV = MR <= 6 ? 2 : 1;  // 16 registers
#endif
  constexpr idx w = W<T>;
  for (idx n = 0; n < N; n += group, B += stride) {
    const idx end = std::min(group, round_up(N - n, w));
    idx j = 0;
    for (; j + NV * w <= end; j += NV * w) panel<MR, NV>(C + n + j, ldc, A, lda, B + j, group, K, mode);
    for (; j < end; j += w) panel<MR, 1>(C + n + j, ldc, A, lda, B + j, group, K, mode);
  }
}
}  // namespace

#define BB_DEFINE(T, S)                                                                                      \
  Status contract_panels(T* C, idx ldc, const T* A, idx lda, const S* B, idx group, idx stride, idx M, idx N, \
                         idx K, Mode mode) {                                                                  \
    groups_of_rows(M, [&](auto rows, idx m) {                                                                 \
      panels_of<rows()>(C + m * ldc, ldc, A + m * lda, lda, B, group, stride, N, K, mode);                    \
    });                                                                                                       \
    return ok;                                                                                                \
  }
#include "streamed_parts.hpp"
}  // namespace bb
