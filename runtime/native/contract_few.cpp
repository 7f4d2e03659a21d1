// contract_rows() and contract_dot() of contract.hpp: few rows of A, every element of B read once, at the speed of memory.
#include <algorithm>
#include <bb/contract.hpp>

namespace bb {
namespace {
template <class S>
inline constexpr idx line = 64 / sizeof(S);

// C[MR][N] += A[MR][KU] . B[KU][N]: KU rows of B are streamed side by side while C goes through the cache.
template <int MR, int KU, class T, class S>
__attribute__((noinline)) void add_rows(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N) {
  constexpr idx w = W<T>, ahead = 2048 / sizeof(S);
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
    // Past the end of these rows lie the next ones.
    const idx at = n + ahead < N ? n + ahead : n + ahead - N + KU * ldb;
    BB_UNROLL for (int u = 0; u < KU; u++) prefetch(B + u * ldb + at);
    columns(n, whole);
  }
  if (n < N) columns(n, N - n);
}
template <int MR, class T, class S>
void rows_of(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N, idx K) {
  constexpr int KU = MR <= 2 ? 8 : 4;
  idx k = 0;
  for (; k + KU <= K; k += KU) add_rows<MR, KU>(C, ldc, A + k, lda, B + k * ldb, ldb, N);
  for (; k < K; k++) add_rows<MR, 1>(C, ldc, A + k, lda, B + k * ldb, ldb, N);
}

// r[i][u] = sum_k A[i][k] * B[u][k], u < NR rows of B, as vectors that are still to be summed across lanes.
template <int MR, int NR, class T, class S>
BB_INLINE void dot_rows(vec<T> (&r)[MR][NR], const T* A, idx lda, const S* B, idx ldb, idx K) {
  constexpr idx w = W<T>, ahead = 4096 / sizeof(S);
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
    BB_UNROLL for (int u = 0; u < NR; u++) prefetch(B + u * ldb + k + (K > ahead ? ahead : NR * ldb));
    columns(k, whole);
  }
  if (k < K) columns(k, K - k);
}
template <int MR, class T, class S>
__attribute__((noinline)) void dots_of(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N, idx K, Mode mode) {
  constexpr idx w = W<T>;
  constexpr int NR = w < 4 ? w : 4;
  for (idx n = 0; n < N; n += w) {
    alignas(64) T sums[MR][w * w];
    for (idx u = 0; u < w; u += NR) {
      vec<T> r[MR][NR];
      if (n + u + NR <= N) {
        dot_rows<MR, NR>(r, A, lda, B + (n + u) * ldb, ldb, K);
      } else {
        for (int v = 0; v < NR; v++) {
          vec<T> one[MR][1];
          if (n + u + v < N) dot_rows<MR, 1>(one, A, lda, B + (n + u + v) * ldb, ldb, K);
          for (int i = 0; i < MR; i++) r[i][v] = n + u + v < N ? one[i][0] : vec<T>{};
        }
      }
      BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int v = 0; v < NR; v++) store(&sums[i][(u + v) * w], r[i][v]);
    }
    for (int i = 0; i < MR; i++) {
      vec<T> t[w];
      BB_UNROLL for (int u = 0; u < w; u++) t[u] = load(&sums[i][u * w]);
      transpose(t);
      BB_UNROLL for (int half = w / 2; half > 0; half /= 2) BB_UNROLL for (int u = 0; u < half; u++) t[u] += t[u + half];
      T* c = C + i * ldc + n;
      store(c, mode == overwrite ? t[0] : load(c) + t[0]);
    }
  }
}

// f(fixed<rows>, first row) over the rows in groups of up to 8: 8, then 4, 2, 1.
template <class F>
void groups_of_rows(idx M, F f) {
  idx m = 0;
  for (; m + 8 <= M; m += 8) f(fixed<8>{}, m);
  if (m + 4 <= M) f(fixed<4>{}, m), m += 4;
  if (m + 2 <= M) f(fixed<2>{}, m), m += 2;
  if (m < M) f(fixed<1>{}, m);
}
}  // namespace

#define BB_DEFINE_FEW(T, S)                                                                                                    \
  Status contract_rows(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K, Mode mode) {              \
    if (mode == overwrite)                                                                                                     \
      for (idx m = 0; m < M; m++)                                                                                              \
        for (idx n = 0; n < N; n += W<T>) store(C + m * ldc + n, vec<T>{});                                                    \
    groups_of_rows(M, [&](auto rows, idx m) { rows_of<rows()>(C + m * ldc, ldc, A + m * lda, lda, B, ldb, N, K); });           \
    return ok;                                                                                                                 \
  }                                                                                                                            \
  Status contract_dot(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, idx K, Mode mode) {               \
    groups_of_rows(M, [&](auto rows, idx m) { dots_of<rows()>(C + m * ldc, ldc, A + m * lda, lda, B, ldb, N, K, mode); });     \
    return ok;                                                                                                                 \
  }
BB_DEFINE_FEW(float, float)
BB_DEFINE_FEW(float, bf16)
BB_DEFINE_FEW(float, f16)
BB_DEFINE_FEW(double, double)
}  // namespace bb
