// Contractions of which a mask leaves out products, for right operands that are not finite: for the second, careful
// run of a kernel. See runtime/include/bb/masked.hpp.
//
//   any_nan(acc)                                        true if the lane's elements have a NaN
//   add_not_finite(acc, a, kept, b, b_row)              acc += a * b of the elements of b that are not finite, where
//   add_not_finite_kn(acc, a, kept, b, b_col)           kept, of the shape of a, is not 0; b is stored N x K, or K x N
//   make_finite<THREADS>(tile)                          0 in place of what is not finite; by all threads of the block
#pragma once
#include "contract_f32.cuh"

namespace bb {

BB_DEVICE bool is_finite(float x) { return x - x == 0.0f; }

template <int M, int N>
BB_DEVICE bool any_nan(const acc_tile<M, N>& x) {
  bool found = false;
  sweep<M, N>([&](cell c) { found |= x[c] != x[c]; });
  return found;
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

// b(k, n) is the element k of column n of the right operand.
template <int M, int N, int K, class B>
BB_DEVICE void add_not_finite_of(acc_tile<M, N>& acc, const acc_tile<M, K>& a, const acc_tile<M, K>& kept, B b) {
  acc_tile<M, K> shown;  // hidden elements are -0, which no other element is
  sweep<M, K>([&](cell c) { shown[c] = kept[c] != 0.0f ? a[c] + 0.0f : -0.0f; });
  sweep_cells<1>(shown, [&](const acc_tile<M, K>& left, int cell, int k) {
    for (int column = 0; column < 8; ++column) {
      const row_elements<M> rows = broadcast_column(left, cell, column);
      sweep_cols<N>([&](bb::cell col) {
        const float y = b(8 * k + column, col.col());
        if (!is_finite(y))
          sweep_rows<M>([&](bb::cell row) {
            const float x = rows.at[row.i][row.e / 2];
            if (__float_as_uint(x) != 0x80000000u) acc.at[row.i][col.j][row.e + col.e] += x * y;
          });
      });
    }
  });
}
template <int M, int N, int K, class T, int R, int C>
BB_DEVICE void add_not_finite(acc_tile<M, N>& acc, const acc_tile<M, K>& a, const acc_tile<M, K>& kept,
                              shared_tile<T, R, C> b, int b_row) {
  add_not_finite_of(acc, a, kept, [&](int k, int n) { return static_cast<float>(b(b_row + n, k)); });
}
template <int M, int N, int K, class T, int R, int C>
BB_DEVICE void add_not_finite_kn(acc_tile<M, N>& acc, const acc_tile<M, K>& a, const acc_tile<M, K>& kept,
                                 shared_tile<T, R, C> b, int b_col) {
  add_not_finite_of(acc, a, kept, [&](int k, int n) { return static_cast<float>(b(k, b_col + n)); });
}

template <int THREADS, class T, int R, int C>
BB_DEVICE void make_finite(shared_tile<T, R, C> tile) {
  for (int i = threadIdx.x; i < R * C; i += THREADS) {
    auto& x = tile(i / C, i % C);
    if (!is_finite(static_cast<float>(x))) x = typename element<T>::stored(0.0f);
  }
}

}  // namespace bb
