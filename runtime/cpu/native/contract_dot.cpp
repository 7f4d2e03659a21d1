// contract_dot() of contract.hpp: B is [N][K].
#include "contract_few.hpp"

namespace bb {
namespace {
using native::Ahead;
using native::groups_of_rows;

// r[i][u] = sum_k A[i][k] * B[u][k], u < NR rows of B, as vectors that are still to be summed across lanes.
template <int MR, int NR, class T, class S>
BB_INLINE void dot_rows(vec<T> (&r)[MR][NR], const T* A, idx lda, const S* B, idx ldb, idx K,
                        const Ahead& ahead) {
  constexpr idx w = W<T>;
  BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int u = 0; u < NR; u++) r[i][u] = vec<T>{};
  auto columns = [&](idx k, auto count) BB_BODY {
    vec<T> b[NR];
    BB_UNROLL for (int u = 0; u < NR; u++) b[u] = load_as<T>(B + u * ldb + k, count);
    BB_UNROLL for (int i = 0; i < MR; i++) {
      const vec<T> a = load(A + i * lda + k, count);
      BB_UNROLL for (int u = 0; u < NR; u++) r[i][u] += a * b[u];
    }
  };
  idx k = 0;
  for (; k + w <= K; k += w) {
    BB_UNROLL for (int u = 0; u < NR; u++) ahead.fetch(B + k * ahead.step + u * ahead.row);
    columns(k, whole);
  }
  if (k < K) columns(k, K - k);
}
template <int MR, class T, class S>
__attribute__((noinline)) void dots_of(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N, idx K,
                                       Mode mode) {
  constexpr idx w = W<T>;
  constexpr int most = MR <= 4 ? 4 : 2;  // rows of B at a time: MR * NR accumulators
  constexpr int NR = w < most ? w : most;
  const auto ahead = Ahead::of<T, S>(MR, NR, K, ldb);
  for (idx n = 0; n < N; n += w) {
    alignas(64) T sums[MR][w * w];
    for (idx u = 0; u < w; u += NR) {
      vec<T> r[MR][NR];
      if (n + u + NR <= N) {
        dot_rows<MR, NR>(r, A, lda, B + (n + u) * ldb, ldb, K, ahead);
      } else {
        for (int v = 0; v < NR; v++) {
          vec<T> one[MR][1];
          if (n + u + v < N) dot_rows<MR, 1>(one, A, lda, B + (n + u + v) * ldb, ldb, K, ahead);
          for (int i = 0; i < MR; i++) r[i][v] = n + u + v < N ? one[i][0] : vec<T>{};
        }
      }
      BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int v = 0; v < NR; v++)
          store(&sums[i][(u + v) * w], r[i][v]);
    }
    for (int i = 0; i < MR; i++) {
      vec<T> t[w];
      BB_UNROLL for (int u = 0; u < w; u++) t[u] = load(&sums[i][u * w]);
      transpose(t);
      BB_UNROLL for (int half = w / 2; half > 0; half /= 2) BB_UNROLL for (int u = 0; u < half; u++) t[u] +=
          t[u + half];
      T* c = C + i * ldc + n;
      store(c, mode == overwrite ? t[0] : load(c) + t[0]);
    }
  }
}
}  // namespace

#define BB_DEFINE(T, S)                                                                             \
  Status contract_dot(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K, \
                      Mode mode) {                                                                  \
    groups_of_rows(M, [&](auto rows, idx m) {                                                       \
      dots_of<rows()>(C + m * ldc, ldc, A + m * lda, lda, B, ldb, N, K, mode);                      \
    });                                                                                             \
    return ok;                                                                                      \
  }
#include "streamed_parts.hpp"
}  // namespace bb
