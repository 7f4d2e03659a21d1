// acc += a * b on the tensor cores (f16, bf16, tf32), for one warp's part of a tile; f32 is in
// contract_f32.cuh.
//
//   contract(acc, a, a_row, b, b_row)      acc += a * transposed(b); b is stored N x K
//   contract_kn(acc, a, a_row, b, b_col)   acc += a * b; b is stored K x N
//   contract2, contract2_kn                two of them with one left operand, which is read once
//
// With <DEPTH> they multiply only the first DEPTH columns of a shared tile a: for head dims such as 80 and 96,
// whose tiles have the next power of two of columns.
// acc is M x N, from row a_row of a and row (or column) b_row of b on. `a` is a shared tile M' x K, or an
// a_frag (of tf32 also a paired_frag) in registers, and then without a_row. a_row and b_row are multiples of 8,
// b_col is one of N. With an operand in shared memory, `prepare(step, k)` may change the registers of each
// step, columns k to k + STEP of a. tf32 operands are rounded to nearest as they are read.
#pragma once
#include "fragments.cuh"
#include "shared_tile.cuh"

namespace bb {

struct as_is {
  template <class A>
  BB_DEVICE void operator()(A&, int) const {}
};

BB_DEVICE void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], bf16) {
  bb_mma_m16n8k16_bf16(d, a, b, d);
}
BB_DEVICE void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], f16) {
  bb_mma_m16n8k16_f16(d, a, b, d);
}
BB_DEVICE void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], tf32) {
  bb_mma_m16n8k8_tf32(d, a, b, d);
}
// The registers of an operand of T, as memory had them.
template <class T, int N>
BB_DEVICE void round_operand(unsigned (&r)[N]) {
  if constexpr (element<T>::STEP == 8) BB_UNROLL
  for (int i = 0; i < N; ++i) r[i] = bb_round_tf32(__uint_as_float(r[i]));
}

// Steps along k that follow each other without a branch: of 16-bit types all; of tf32 so many that they are 32
// mma, for the compiler would read operands for all of them at once, and spill.
template <class T, int M, int N>
constexpr int STEPS = element<T>::STEP == 16 ? 64 : M * N < 4096 ? 4096 / (M * N) : 1;

// From two chunks of 16 bytes to those 2 n further on in the row: the swizzle is within 128 bytes, so that it
// takes one XOR and a constant, and there are no more than four different XORs to keep in registers.
BB_DEVICE int further(int offset, int n) { return (offset ^ (n % 4 << 5)) + n / 4 * 128; }

// Step k (32 bytes of each row) of a left operand in shared memory.
template <int M, class T, int R, int K>
BB_DEVICE a_frag<T, M, element<T>::STEP> load_step(shared_tile<T, R, K> a, int row0, int k) {
  a_frag<T, M, element<T>::STEP> step;
  const int from = a.offset(row0 + lane_id() % 16, lane_id() / 16);
  BB_UNROLL
  for (int i = 0; i < M / 16; ++i) {
    bb_ldmatrix_x4(step.at[i][0], a.base + further(from, k) + i * 16 * a.ROW_BYTES);
    round_operand<T>(step.at[i][0]);
  }
  return step;
}
// M rows of a left operand, kept in registers: one that is used again and again.
template <int M, int DEPTH = 0, class T, int R, int K>
BB_DEVICE a_frag<T, M, DEPTH ? DEPTH : K> load_operand(shared_tile<T, R, K> a, int row0) {
  a_frag<T, M, DEPTH ? DEPTH : K> all;
  BB_UNROLL
  for (int k = 0; k < (DEPTH ? DEPTH : K) / element<T>::STEP; ++k) {
    const a_frag<T, M, element<T>::STEP> step = load_step<M>(a, row0, k);
    BB_UNROLL
    for (int i = 0; i < M / 16; ++i) BB_UNROLL
    for (int q = 0; q < 4; ++q) all.at[i][k][q] = step.at[i][0][q];
  }
  return all;
}
template <class T, int M, int K>
BB_DEVICE a_frag<T, M, element<T>::STEP> step_of(const a_frag<T, M, K>& a, int k) {
  a_frag<T, M, element<T>::STEP> step;
  BB_UNROLL
  for (int i = 0; i < M / 16; ++i) BB_UNROLL
  for (int q = 0; q < 4; ++q) step.at[i][0][q] = a.at[i][k][q];
  return step;
}

// Sixteen columns of acc, from the registers of both cells of b.
template <class T, int M, int N>
BB_DEVICE void multiply(acc_tile<M, N>& acc, int j, const a_frag<T, M, element<T>::STEP>& a,
                        const unsigned (&b)[4]) {
  const unsigned left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
  BB_UNROLL
  for (int i = 0; i < M / 16; ++i) {
    mma(acc.at[i][2 * j], a.at[i][0], left, T());
    mma(acc.at[i][2 * j + 1], a.at[i][0], right, T());
  }
}
template <class T, int M, int N, int R, int K>
BB_DEVICE void multiply_step(acc_tile<M, N>& acc, const a_frag<T, M, element<T>::STEP>& a,
                             shared_tile<T, R, K> b, int row0, int k) {
  static_assert(N % 16 == 0, "a contraction has a multiple of 16 columns: one ldmatrix reads 16 of them");
  const int lane = lane_id(), from = b.offset(row0 + lane % 8 + lane / 16 * 8, lane / 8 % 2);
  BB_UNROLL
  for (int j = 0; j < N / 16; ++j) {
    unsigned r[4];
    bb_ldmatrix_x4(r, b.base + further(from, k) + j * 16 * b.ROW_BYTES);
    round_operand<T>(r);
    multiply<T>(acc, j, a, r);
  }
}
template <class T, int M, int N, int K, int C>
BB_DEVICE void multiply_step_kn(acc_tile<M, N>& acc, const a_frag<T, M, element<T>::STEP>& a,
                                shared_tile<T, K, C> b, int col0, int k) {
  static_assert(N % 16 == 0, "a contraction has a multiple of 16 columns: one ldmatrix reads 16 of them");
  const int lane = lane_id();
  if constexpr (element<T>::STEP == 16) {
    const int row = k * 16 + lane % 16, chunk = col0 / 8 + lane / 16, from = b.offset(lane % 16, chunk);
    BB_UNROLL
    for (int j = 0; j < N / 16; ++j) {
      unsigned r[4];
      bb_ldmatrix_x4_trans(r, N % 64 == 0 || (N & (N - 1)) == 0
                                  ? b.base + further(from, j) + k * 16 * b.ROW_BYTES
                                  : b.chunk(row, chunk + 2 * j));
      multiply<T>(acc, j, a, r);
    }
  } else {  // ldmatrix transposes 16-bit elements only
    BB_UNROLL
    for (int j = 0; j < N / 16; ++j) {
      unsigned r[4];
      BB_UNROLL
      for (int q = 0; q < 4; ++q)
        r[q] = __float_as_uint(b(8 * k + lane % 4 + 4 * (q % 2), col0 + 16 * j + 8 * (q / 2) + lane / 4));
      round_operand<T>(r);
      multiply<T>(acc, j, a, r);
    }
  }
}

// -------------------------------------------------------------------------------------------- b stored N x K
template <int DEPTH = 0, class T, int M, int N, int RA, int RB, int K, class P = as_is>
BB_DEVICE void contract(acc_tile<M, N>& acc, shared_tile<T, RA, K> a, int a_row, shared_tile<T, RB, K> b,
                        int b_row, P prepare = P()) {
  static_assert(DEPTH % element<T>::STEP == 0 && DEPTH <= K,
                "DEPTH is a multiple of 16, of tf32 8, within the tiles");
  BB_UNROLL_BY((STEPS<T, M, N>))
  for (int k = 0; k < (DEPTH ? DEPTH : K) / element<T>::STEP; ++k) {
    auto step = load_step<M>(a, a_row, k);
    prepare(step, k * element<T>::STEP);
    multiply_step(acc, step, b, b_row, k);
  }
}
template <class T, int M, int N, int RB, int K, int C>
BB_DEVICE void contract(acc_tile<M, N>& acc, const a_frag<T, M, K>& a, shared_tile<T, RB, C> b, int b_row) {
  static_assert(K <= C, "the rows of a right operand are at least as long as those of the left one");
  BB_UNROLL
  for (int k = 0; k < K / element<T>::STEP; ++k) multiply_step(acc, step_of(a, k), b, b_row, k);
}
// Two contractions with the same left operand, which is read once.
template <int DEPTH = 0, class T, int M, int N, int RA, int RB, int K, class P = as_is>
BB_DEVICE void contract2(acc_tile<M, N>& x, acc_tile<M, N>& y, shared_tile<T, RA, K> a, int a_row,
                         shared_tile<T, RB, K> bx, shared_tile<T, RB, K> by, int b_row, P prepare = P()) {
  BB_UNROLL_BY((STEPS<T, M, N>))
  for (int k = 0; k < (DEPTH ? DEPTH : K) / element<T>::STEP; ++k) {
    auto step = load_step<M>(a, a_row, k);
    prepare(step, k * element<T>::STEP);
    multiply_step(x, step, bx, b_row, k);
    multiply_step(y, step, by, b_row, k);
  }
}

// -------------------------------------------------------------------------------------------- b stored K x N
template <int DEPTH = 0, class T, int M, int N, int RA, int K, int R, int C, class P = as_is>
BB_DEVICE void contract_kn(acc_tile<M, N>& acc, shared_tile<T, RA, K> a, int a_row, shared_tile<T, R, C> b,
                           int b_col, P prepare = P()) {
  static_assert(DEPTH % element<T>::STEP == 0 && DEPTH <= K,
                "DEPTH is a multiple of 16, of tf32 8, within the tiles");
  static_assert(K <= R, "a right operand has at least as many rows as the left one has columns");
  BB_UNROLL_BY((STEPS<T, M, N>))
  for (int k = 0; k < (DEPTH ? DEPTH : K) / element<T>::STEP; ++k) {
    auto step = load_step<M>(a, a_row, k);
    prepare(step, k * element<T>::STEP);
    multiply_step_kn(acc, step, b, b_col, k);
  }
}
template <int DEPTH = 0, class T, int M, int N, int RA, int K, int R, int C, class P = as_is>
BB_DEVICE void contract2_kn(acc_tile<M, N>& x, acc_tile<M, N>& y, shared_tile<T, RA, K> a, int a_row,
                            shared_tile<T, R, C> bx, shared_tile<T, R, C> by, int b_col, P prepare = P()) {
  static_assert(K <= R, "a right operand has at least as many rows as the left one has columns");
  BB_UNROLL_BY((STEPS<T, M, N>))
  for (int k = 0; k < (DEPTH ? DEPTH : K) / element<T>::STEP; ++k) {
    auto step = load_step<M>(a, a_row, k);
    prepare(step, k * element<T>::STEP);
    multiply_step_kn(x, step, bx, b_col, k);
    multiply_step_kn(y, step, by, b_col, k);
  }
}
template <class T, int M, int N, int K, int R, int C>
BB_DEVICE void contract_kn(acc_tile<M, N>& acc, const a_frag<T, M, K>& a, shared_tile<T, R, C> b, int b_col) {
  static_assert(K <= R, "a right operand has at least as many rows as the left one has columns");
  BB_UNROLL
  for (int k = 0; k < K / element<T>::STEP; ++k) multiply_step_kn(acc, step_of(a, k), b, b_col, k);
}

// ----------------------------------------------------------------------------- a of tf32 that was made from sums
template <int M, int N, int K>
BB_DEVICE void multiply_pair(acc_tile<M, N>& acc, int j, const paired_frag<M, K>& a, int cell, float b0, float b1) {
  const unsigned b[2] = {bb_round_tf32(b0), bb_round_tf32(b1)};
  BB_UNROLL
  for (int i = 0; i < M / 16; ++i) mma(acc.at[i][j], a.at[i][cell], b, tf32());
}
// The two elements along k that a lane needs lie side by side.
template <int M, int N, int RB, int K, int C>
BB_DEVICE void contract(acc_tile<M, N>& acc, const paired_frag<M, K>& a, shared_tile<tf32, RB, C> b, int b_row) {
  static_assert(K <= C, "the rows of a right operand are at least as long as those of the left one");
  const int place = lane_id() % 4, from = b.offset(b_row + lane_id() / 4, place / 2) + place % 2 * 8;
  sweep_cells<STEPS<tf32, M, N>>(a, [&](const paired_frag<M, K>& left, int cell, int k) {
    BB_UNROLL
    for (int j = 0; j < N / 8; ++j) {
      const float2 y = *reinterpret_cast<const float2*>(b.base + further(from, k) + j * 8 * b.ROW_BYTES);
      multiply_pair(acc, j, left, cell, y.x, y.y);
    }
  });
}
// Rows 0, 2, 5, 7 of b have their places in different banks, and so have 1, 3, 4, 6; in order they have not. So
// lanes of the right half of a quad take their two elements along k the other way around, of a as well.
template <int M, int N, int K, int R, int C>
BB_DEVICE void contract_kn(acc_tile<M, N>& acc, const paired_frag<M, K>& a, shared_tile<tf32, R, C> b, int b_col) {
  static_assert(K <= R, "a right operand has at least as many rows as the left one has columns");
  const int place = lane_id() % 4, turned = place / 2, col = b_col + lane_id() / 4;
  const int rows[2] = {2 * place + turned, 2 * place + 1 - turned};
  const int from[2] = {b.offset(rows[0], col / 4) + col % 4 * 4, b.offset(rows[1], col / 4) + col % 4 * 4};
  sweep_cells<STEPS<tf32, M, N>>(a, [&](const paired_frag<M, K>& left, int cell, int k) {
    paired_frag<M, 8> step;
    BB_UNROLL
    for (int i = 0; i < M / 16; ++i) BB_UNROLL
    for (int q = 0; q < 4; ++q) step.at[i][0][q] = turned ? left.at[i][cell][q ^ 2] : left.at[i][cell][q];
    BB_UNROLL
    for (int j = 0; j < N / 8; ++j) {
      float y[2];
      BB_UNROLL
      for (int h = 0; h < 2; ++h) {
        const int at = N % 32 == 0 || (N & (N - 1)) == 0 ? further(from[h], j)
                                                         : b.offset(rows[h], col / 4 + 2 * j) + col % 4 * 4;
        y[h] = *reinterpret_cast<const float*>(b.base + at + k * 8 * b.ROW_BYTES);
      }
      multiply_pair(acc, j, step, 0, y[0], y[1]);
    }
  });
}

}  // namespace bb
