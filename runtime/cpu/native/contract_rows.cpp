// contract_rows() of contract.hpp: B is [K][N].
#include "contract_few.hpp"

namespace bb {
namespace {
using native::Ahead;
using native::groups_of_rows;

// C[MR][n] += A[MR][KU] . B[KU][n], n < N: KU rows of B are streamed side by side while C is in L1. The same
// columns of the next KU rows
// are prefetched.
template <int MR, int KU, class T, class S>
__attribute__((noinline)) void add_rows(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N,
                                        const Ahead& ahead) {
  constexpr idx w = W<T>;
  auto columns = [&](idx n, auto count) BB_BODY {
    vec<T> b[KU];
    BB_UNROLL for (int u = 0; u < KU; u++) b[u] = load_as<T>(B + u * ldb + n, count);
    BB_UNROLL for (int i = 0; i < MR; i++) {
      vec<T> c = load(C + i * ldc + n);
      BB_UNROLL for (int u = 0; u < KU; u++) c += splat(A[i * lda + u]) * b[u];
      store(C + i * ldc + n, c);
    }
  };
  idx n = 0;
  for (; n + w <= N; n += w) {
    BB_UNROLL for (int u = 0; u < KU; u++) ahead.fetch(B + n * ahead.step + u * ahead.row);
    columns(n, whole);
  }
  if (n < N) columns(n, N - n);
}
template <int MR, class T, class S>
void rows_of(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N, idx K) {
  constexpr int KU = 4;
  constexpr idx columns = (16 << 10) / (MR * sizeof(T)) / W<T> * W<T>;  // of C in half of L1
  for (idx n = 0; n < N; n += columns) {
    const idx count = N - n < columns ? N - n : columns;
    const auto ahead = Ahead::of<T, S>(MR, KU, count, ldb);
    idx k = 0;
    for (; k + KU <= K; k += KU) add_rows<MR, KU>(C + n, ldc, A + k, lda, B + k * ldb + n, ldb, count, ahead);
    for (; k < K; k++) add_rows<MR, 1>(C + n, ldc, A + k, lda, B + k * ldb + n, ldb, count, ahead);
  }
}
}  // namespace

#define BB_DEFINE(T, S)                                                                                   \
  Status contract_rows(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K,      \
                       Mode mode) {                                                                       \
    if (mode == overwrite)                                                                                \
      for (idx m = 0; m < M; m++)                                                                         \
        for (idx n = 0; n < N; n += W<T>) store(C + m * ldc + n, vec<T>{});                               \
    groups_of_rows(                                                                                       \
        M, [&](auto rows, idx m) { rows_of<rows()>(C + m * ldc, ldc, A + m * lda, lda, B, ldb, N, K); }); \
    return ok;                                                                                            \
  }
#include "streamed_parts.hpp"
}  // namespace bb
