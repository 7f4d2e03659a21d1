// Contractions of which a mask leaves out products, for right operands that are not finite: for the second, careful
// run of a kernel. See runtime/include/bb/masked.hpp.
//
//   any_nan(acc)                          true if the warp's elements have a NaN
//   contract_kept<THREADS, T>(acc, a, kept, b, b_row)
//   contract_kept_kn<THREADS, T>(acc, a, kept, b, b_col)
//       acc += a * b of the elements of a where kept, of its shape, is not 0; factors are rounded to T where both
//       are finite. b is stored N x K, or K x N. What is not finite in b becomes 0. By all threads of the block.
#pragma once
#include "contract.cuh"
#include "contract_f32.cuh"

namespace bb {

BB_DEVICE bool is_finite(float x) { return x - x == 0.0f; }

template <int M, int N>
BB_DEVICE bool any_nan(const acc_tile<M, N>& x) {
  bool found = false;
  sweep<M, N>([&](cell c) { found |= x[c] != x[c]; });
  return __any_sync(0xffffffffu, found);  // the same for all lanes, it needs no register of theirs
}

// One element along k of each row of a tile in registers: from the lane of the quad that has it.
template <int M>
struct row_elements {
  float at[M / 16][2];
};
template <int M, int K>
BB_DEVICE row_elements<M> broadcast_column(const acc_tile<M, K>& a, int cell, int column) {
  row_elements<M> x;
  BB_UNROLL
  for (int i = 0; i < M / 16; ++i) BB_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float own = column % 2 ? a.at[i][cell][2 * half + 1] : a.at[i][cell][2 * half];
    x.at[i][half] = __shfl_sync(0xffffffffu, own, column / 2, 4);
  }
  return x;
}

// The first cell of 8 columns becomes the last one. As many turns as there are cells leave a tile as it was.
template <int M, int K>
BB_DEVICE void turn_cells(acc_tile<M, K>& a) {
  BB_UNROLL
  for (int i = 0; i < M / 16; ++i) BB_UNROLL
  for (int e = 0; e < 4; ++e) {
    const float first = a.at[i][0][e];
    BB_UNROLL
    for (int j = 0; j + 1 < K / 8; ++j) a.at[i][j][e] = a.at[i][j + 1][e];
    a.at[i][K / 8 - 1][e] = first;
  }
}

// acc += a * b of the elements of b that are not finite, and of those of a that are not -0. b(k, n) is the element k
// of column n of the right operand.
template <int M, int N, int K, class B>
BB_DEVICE void add_not_finite(acc_tile<M, N>& acc, acc_tile<M, K>& a, B b) {
  BB_UNROLL_BY(1)
  for (int k = 0; k < K; k += 8) {
    BB_UNROLL_BY(1)
    for (int column = 0; column < 8; ++column) {
      const row_elements<M> rows = broadcast_column(a, 0, column);
      sweep_cols<N>([&](cell col) {
        const float y = b(k + column, col.col());
        if (!is_finite(y))
          sweep_rows<M>([&](cell row) {
            const float x = rows.at[row.i][row.e / 2];
            if (__float_as_uint(x) != 0x80000000u) acc.at[row.i][col.j][row.e + col.e] += x * y;
          });
      });
    }
    turn_cells(a);
  }
}

// 0 in place of what is not finite, once all threads are here.
template <int THREADS, class T, int R, int C>
BB_DEVICE void make_finite(shared_tile<T, R, C> tile) {
  __syncthreads();
  for (int i = threadIdx.x; i < R * C; i += THREADS) {
    auto& x = tile(i / C, i % C);
    if (!is_finite(static_cast<float>(x))) x = typename element<T>::stored(0.0f);
  }
  __syncthreads();
}

// Hidden elements are -0, which no other element is: with finite factors they change no sum.
template <int M, int K>
BB_DEVICE acc_tile<M, K> shown(const acc_tile<M, K>& a, const acc_tile<M, K>& kept) {
  acc_tile<M, K> x;
  sweep<M, K>([&](cell c) { x[c] = kept[c] != 0.0f ? a[c] + 0.0f : -0.0f; });
  return x;
}
template <int THREADS, class T, int M, int N, int K, class B>
BB_DEVICE void contract_kept(acc_tile<M, N>& acc, const acc_tile<M, K>& a, const acc_tile<M, K>& kept, B b,
                             int b_row) {
  acc_tile<M, K> left = shown(a, kept);
  add_not_finite(acc, left, [&](int k, int n) { return static_cast<float>(b(b_row + n, k)); });
  make_finite<THREADS>(b);
  contract(acc, to_operand<T>(left), b, b_row);
}
template <int THREADS, class T, int M, int N, int K, class B>
BB_DEVICE void contract_kept_kn(acc_tile<M, N>& acc, const acc_tile<M, K>& a, const acc_tile<M, K>& kept, B b,
                                int b_col) {
  acc_tile<M, K> left = shown(a, kept);
  add_not_finite(acc, left, [&](int k, int n) { return static_cast<float>(b(k, b_col + n)); });
  make_finite<THREADS>(b);
  contract_kn(acc, to_operand<T>(left), b, b_col);
}

}  // namespace bb
