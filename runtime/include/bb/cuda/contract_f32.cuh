// acc += a * b in f32 on the FMA units, where no rounding of operands is wanted: the same functions as in
// contract.cuh, for tiles of float. Sums are made in the order of k.
#pragma once
#include "fragments.cuh"
#include "shared_tile.cuh"

namespace bb {

// b stored N x K: four elements of K at a time, of each row of a and of b that this lane's sums need.
template <int DEPTH = 0, int M, int N, int RA, int RB, int K>
BB_DEVICE void contract(acc_tile<M, N>& acc, shared_tile<float, RA, K> a, int a_row,
                        shared_tile<float, RB, K> b, int b_row) {
  BB_UNROLL
  for (int k = 0; k < (DEPTH ? DEPTH : K) / 4; ++k) {
    float4 x[M / 16][2];
    sweep_rows<M>(
        [&](cell c) { x[c.i][c.e / 2] = *reinterpret_cast<const float4*>(a.chunk(a_row + c.row(), k)); });
    sweep_cols<N>([&](cell col) {
      const float4 y = *reinterpret_cast<const float4*>(b.chunk(b_row + col.col(), k));
      sweep_rows<M>([&](cell row) {
        const float4& r = x[row.i][row.e / 2];
        float& sum = acc.at[row.i][col.j][row.e + col.e];
        sum = fmaf(r.w, y.w, fmaf(r.z, y.z, fmaf(r.y, y.y, fmaf(r.x, y.x, sum))));
      });
    });
  }
}

// b stored K x N.
template <int M, int N, int RA, int K, int C>
BB_DEVICE void contract_kn(acc_tile<M, N>& acc, shared_tile<float, RA, K> a, int a_row,
                           shared_tile<float, K, C> b, int b_col) {
  BB_UNROLL
  for (int k = 0; k < K / 4; ++k) {
    float4 x[M / 16][2];
    sweep_rows<M>(
        [&](cell c) { x[c.i][c.e / 2] = *reinterpret_cast<const float4*>(a.chunk(a_row + c.row(), k)); });
    BB_UNROLL
    for (int j = 0; j < N / 8; ++j) {
      const int col = b_col + 8 * j + 2 * (lane_id() % 4);
      BB_UNROLL
      for (int s = 0; s < 4; ++s) {
        const float2 y = *reinterpret_cast<const float2*>(&b(4 * k + s, col));
        sweep_rows<M>([&](cell row) {
          const float4& r = x[row.i][row.e / 2];
          const float left = s == 0 ? r.x : s == 1 ? r.y : s == 2 ? r.z : r.w;
          float (&sums)[4] = acc.at[row.i][j];
          sums[row.e] = fmaf(left, y.x, sums[row.e]);
          sums[row.e + 1] = fmaf(left, y.y, sums[row.e + 1]);
        });
      }
    }
  }
}

}  // namespace bb
