// acc += a * b in f32 on the FMA units, where no rounding of operands is wanted: the same functions as in
// contract.cuh, for shared tiles of float. Sums are made in the order of k, one fmaf a product.
//
// `a` is a shared tile, or an accumulator tile in registers: what to_operand<float> gives. A lane has the sums of
// some rows and columns, as mma.sync would leave them; it takes four elements along k of each of its rows at a
// time, from shared memory or from the lanes of its quad, and meets them with those of each of its columns.
// For 32 rows and 64 columns a warp that is 20 loads of 16 bytes for 256 fmaf.
// Loops over k stay loops: what they do once unrolled would not fit in the instruction cache.
#pragma once
#include "fragments.cuh"
#include "shared_tile.cuh"

namespace bb {

// Four elements along k of each row of a left operand that this lane's sums need.
template <int M>
struct row_quads {
  float4 at[M / 16][2];
};

// Those of chunk k (elements 4 k to 4 k + 3) of M rows of a shared tile.
template <int M, int R, int K>
BB_DEVICE row_quads<M> load_quads(shared_tile<float, R, K> a, int row0, int k) {
  row_quads<M> x;
  const unsigned char* from = a.chunk(row0 + lane_id() / 4, k);
  sweep_rows<M>([&](cell c) {
    x.at[c.i][c.e / 2] = *reinterpret_cast<const float4*>(from + (16 * c.i + 4 * c.e) * a.ROW_BYTES);
  });
  return x;
}
// Those of columns 8 j + 4 half on of a tile in registers: two lanes of each quad have them.
template <int M, int K>
BB_DEVICE row_quads<M> broadcast_quads(const acc_tile<M, K>& a, int j, int half) {
  row_quads<M> x;
  sweep_rows<M>([&](cell c) {
    const float(&from)[4] = a.at[c.i][j];
    auto of = [&](int e, int lane) { return __shfl_sync(0xffffffffu, from[c.e + e], 2 * half + lane, 4); };
    x.at[c.i][c.e / 2] = make_float4(of(0, 0), of(1, 0), of(0, 1), of(1, 1));
  });
  return x;
}

// b stored N x K, from row0 on: four elements of chunk k of each column.
template <int M, int N, int R, int K>
BB_DEVICE void multiply_quads(acc_tile<M, N>& acc, const row_quads<M>& x, shared_tile<float, R, K> b, int row0,
                              int k) {
  const int row = row0 + 2 * (lane_id() % 4);
  const unsigned char* const from[2] = {b.chunk(row, k), b.chunk(row + 1, k)};
  sweep_cols<N>([&](cell col) {
    const float4 y = *reinterpret_cast<const float4*>(from[col.e] + col.j * 8 * b.ROW_BYTES);
    sweep_rows<M>([&](cell row) {
      const float4& r = x.at[row.i][row.e / 2];
      float& sum = acc.at[row.i][col.j][row.e + col.e];
      sum = fmaf(r.w, y.w, fmaf(r.z, y.z, fmaf(r.y, y.y, fmaf(r.x, y.x, sum))));
    });
  });
}
// b stored K x N, from col0 on: pairs of columns of rows 8 k + 4 half to 8 k + 4 half + 3. `half` is a constant,
// so that places differ from two addresses by constants: the swizzle repeats after 8 rows.
template <int M, int N, int K, int C>
BB_DEVICE void multiply_quads_kn(acc_tile<M, N>& acc, const row_quads<M>& x, shared_tile<float, K, C> b, int col0,
                                 int k, int half) {
  const int place = lane_id() % 4;
  unsigned char* const row = b.base + k * 8 * b.ROW_BYTES;
  unsigned char* const from[2] = {row + place * 8, row + (place ^ 2) * 8};
  BB_UNROLL
  for (int j = 0; j < N / 8; ++j) BB_UNROLL
  for (int s = 0; s < 4; ++s) {
    const int turned = b.swizzle(4 * half + s), even = turned & ~1;
    const int chunk = N % 32 == 0 ? col0 / 4 + (2 * j ^ even) : (col0 / 4 + 2 * j) ^ even;
    const float2 y =
        *reinterpret_cast<const float2*>(from[turned & 1] + (4 * half + s) * b.ROW_BYTES + chunk * 16);
    sweep_rows<M>([&](cell c) {
      const float4& r = x.at[c.i][c.e / 2];
      const float left = s == 0 ? r.x : s == 1 ? r.y : s == 2 ? r.z : r.w;
      float(&sums)[4] = acc.at[c.i][j];
      sums[c.e] = fmaf(left, y.x, sums[c.e]);
      sums[c.e + 1] = fmaf(left, y.y, sums[c.e + 1]);
    });
  }
}

// ------------------------------------------------------------------------------------------ a in shared memory
template <int DEPTH = 0, int M, int N, int RA, int RB, int K>
BB_DEVICE void contract(acc_tile<M, N>& acc, shared_tile<float, RA, K> a, int a_row, shared_tile<float, RB, K> b,
                        int b_row) {
  static_assert(DEPTH % 8 == 0 && DEPTH <= K, "DEPTH of f32 is a multiple of 8, within the tiles");
  BB_UNROLL_BY(2)
  for (int k = 0; k < (DEPTH ? DEPTH : K) / 4; ++k)
    multiply_quads(acc, load_quads<M>(a, a_row, k), b, b_row, k);
}
template <int DEPTH = 0, int M, int N, int RA, int K, int R, int C>
BB_DEVICE void contract_kn(acc_tile<M, N>& acc, shared_tile<float, RA, K> a, int a_row, shared_tile<float, R, C> b,
                           int b_col) {
  static_assert(DEPTH % 8 == 0 && DEPTH <= K, "DEPTH of f32 is a multiple of 8, within the tiles");
  static_assert(K <= R, "a right operand has at least as many rows as the left one has columns");
  BB_UNROLL_BY(1)
  for (int k = 0; k < (DEPTH ? DEPTH : K) / 8; ++k) BB_UNROLL
  for (int half = 0; half < 2; ++half)
    multiply_quads_kn(acc, load_quads<M>(a, a_row, 2 * k + half), b, b_col, k, half);
}

// --------------------------------------------------------------------------------------------- a in registers
template <int M, int N, int RB, int K, int C>
BB_DEVICE void contract(acc_tile<M, N>& acc, const acc_tile<M, K>& a, shared_tile<float, RB, C> b, int b_row) {
  static_assert(K <= C, "the rows of a right operand are at least as long as those of the left one");
  sweep_cells<4096 / (M * N)>(a, [&](const acc_tile<M, K>& left, int cell, int k) {
    BB_UNROLL
    for (int half = 0; half < 2; ++half)
      multiply_quads(acc, broadcast_quads(left, cell, half), b, b_row, 2 * k + half);
  });
}
template <int M, int N, int K, int R, int C>
BB_DEVICE void contract_kn(acc_tile<M, N>& acc, const acc_tile<M, K>& a, shared_tile<float, R, C> b, int b_col) {
  static_assert(K <= R, "a right operand has at least as many rows as the left one has columns");
  sweep_cells<4096 / (M * N)>(a, [&](const acc_tile<M, K>& left, int cell, int k) {
    BB_UNROLL
    for (int half = 0; half < 2; ++half)
      multiply_quads_kn(acc, broadcast_quads(left, cell, half), b, b_col, k, half);
  });
}

}  // namespace bb
