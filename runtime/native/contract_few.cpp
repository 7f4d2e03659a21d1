// contract_rows() and contract_dot() of contract.hpp: few rows of A, every element of B read once, at the speed of memory.
#include <algorithm>
#include <bb/contract.hpp>

namespace bb {
namespace {
template <class S>
inline constexpr idx line = 64 / sizeof(S);

// What to prefetch while `count` rows of n elements at stride ld are read side by side, a vector of each at a time: for element i of
// row u that at start + i * step + u * row. Rows that follow each other in memory are prefetched in the order of memory:
// the hardware recognises that as one stream and runs ahead with more misses than a core may have open itself.
struct Ahead {
  idx start, step, row;
  bool near;  // into L1, else into L2

  template <class T, class S>
  static Ahead of(int rows_of_a, idx count, idx n, idx ld) {
    constexpr idx distance = 8192 / sizeof(S);
    const idx block = n * count, rows = block >= distance ? count : ceil_div(distance, block) * count;
    const bool contiguous = ld >= n && ld - n < 64;
    return {rows * ld, contiguous ? count : 1, contiguous ? W<T> : ld, block <= (rows_of_a == 1 ? 2 * distance : distance / 2)};
  }
  template <class S>
  BB_INLINE void fetch(const S* p) const {
    near ? prefetch<1>(p + start) : prefetch<2>(p + start);
  }
};

// C[MR][n] += A[MR][KU] . B[KU][n], n < N: KU rows of B are streamed side by side while C is in L1. The same columns of the next KU rows
// are prefetched.
template <int MR, int KU, class T, class S>
__attribute__((noinline)) void add_rows(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N, const Ahead& ahead) {
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

// r[i][u] = sum_k A[i][k] * B[u][k], u < NR rows of B, as vectors that are still to be summed across lanes.
template <int MR, int NR, class T, class S>
BB_INLINE void dot_rows(vec<T> (&r)[MR][NR], const T* A, idx lda, const S* B, idx ldb, idx K, const Ahead& ahead) {
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
__attribute__((noinline)) void dots_of(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx N, idx K, Mode mode) {
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

// f(fixed<rows>, first row) over the rows in nearly equal groups of up to 8.
template <class F>
void groups_of_rows(idx M, F f) {
  const idx groups = (M + 7) / 8;
  for (idx g = 0, m = 0; g < groups; g++) {
    const idx rows = (M - m) / (groups - g);
    [&]<int... I>(std::integer_sequence<int, I...>) {
      ((rows == I + 1 ? f(fixed<I + 1>{}, m) : void()), ...);
    }(std::make_integer_sequence<int, 8>{});
    m += rows;
  }
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
