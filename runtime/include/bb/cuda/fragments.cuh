// Tiles in the registers of a warp, in the layout that mma.sync writes sums in.
//
//   acc_tile<ROWS, COLS>   ROWS x COLS f32. Lane l holds of each 16 x 8 cell (i, j) four elements e = 0..3:
//                          row 16 i + l / 4 + 8 (e / 2), column 8 j + 2 (l % 4) + e % 2
//   row_vec<ROWS>          a number for each row, the same in the four lanes (a quad) that hold the row
//   col_vec<COLS>          a number for each column, the same in the eight lanes that hold the column
//   a_frag<T, ROWS, K>     a left operand: pairs of 16-bit floats, or tf32, in registers of mma.sync
//   paired_frag<ROWS, K>   a left operand of tf32 that was made from sums, with k in their order
//
// Rows and columns count from the tile's corner; which part of the block's tile a warp holds is the caller's
// choice. Functions here touch no memory and are the same instructions for all lanes of the warp.
#pragma once
#include "types.cuh"

namespace bb {

// One element of the tiles above, as a thread sees it. i, j and e are constants once loops are unrolled.
struct cell {
  int i, j, e;
  BB_DEVICE int row() const { return 16 * i + lane_id() / 4 + 8 * (e / 2); }
  BB_DEVICE int col() const { return 8 * j + 2 * (lane_id() % 4) + e % 2; }
};

template <int ROWS, int COLS>
struct acc_tile {
  static_assert(ROWS > 0 && ROWS % 16 == 0,
                "an accumulator tile has a multiple of 16 rows: one mma is 16 rows high");
  static_assert(COLS > 0 && COLS % 8 == 0,
                "an accumulator tile has a multiple of 8 columns: one mma is 8 columns wide");
  float at[ROWS / 16][COLS / 8][4];
  BB_DEVICE float& operator[](cell c) { return at[c.i][c.j][c.e]; }
  BB_DEVICE float operator[](cell c) const { return at[c.i][c.j][c.e]; }
};
template <int ROWS>
struct row_vec {
  static_assert(ROWS > 0 && ROWS % 16 == 0,
                "a vector over rows has a multiple of 16 of them: one mma is 16 rows high");
  float at[ROWS / 16][2];
  BB_DEVICE float& operator[](cell c) { return at[c.i][c.e / 2]; }
  BB_DEVICE float operator[](cell c) const { return at[c.i][c.e / 2]; }
};
template <int COLS>
struct col_vec {
  static_assert(COLS > 0 && COLS % 8 == 0,
                "a vector over columns has a multiple of 8 of them: one mma is 8 columns wide");
  float at[COLS / 8][2];
  BB_DEVICE float& operator[](cell c) { return at[c.j][c.e % 2]; }
  BB_DEVICE float operator[](cell c) const { return at[c.j][c.e % 2]; }
};
template <class T, int ROWS, int K>
struct a_frag {
  static_assert(ROWS > 0 && ROWS % 16 == 0,
                "a left operand has a multiple of 16 rows: one mma is 16 rows high");
  static_assert(K > 0 && K % element<T>::STEP == 0,
                "a left operand's K is a multiple of what one mma takes: 16, of tf32 8");
  unsigned at[ROWS / 16][K / element<T>::STEP][4];
};

// ---------------------------------------------------------------------------------------------------- sweeps
// f(cell) for each element that this lane holds of a ROWS x COLS tile, a vector over rows, or over columns:
//
//   sweep<32, 64>([&](bb::cell c) { s[c] = bb::fast::exp(s[c] - top[c]); sum[c] += s[c]; });
//
// Sums in a row_vec like this are the lane's part of each row: reduce.cuh completes them.
template <int ROWS, int COLS, class F>
BB_DEVICE void sweep(F f) {
  BB_UNROLL
  for (int i = 0; i < ROWS / 16; ++i) BB_UNROLL
  for (int j = 0; j < COLS / 8; ++j) BB_UNROLL
  for (int e = 0; e < 4; ++e) f(cell{i, j, e});
}
template <int ROWS, class F>
BB_DEVICE void sweep_rows(F f) {
  BB_UNROLL
  for (int i = 0; i < ROWS / 16; ++i) BB_UNROLL
  for (int e = 0; e < 4; e += 2) f(cell{i, 0, e});
}
template <int COLS, class F>
BB_DEVICE void sweep_cols(F f) {
  BB_UNROLL
  for (int j = 0; j < COLS / 8; ++j) BB_UNROLL
  for (int e = 0; e < 2; ++e) f(cell{0, j, e});
}

// --------------------------------------------------------------------------------------- one thing at a time
template <int R, int C>
BB_DEVICE void fill(acc_tile<R, C>& x, float value) {
  sweep<R, C>([&](cell c) { x[c] = value; });
}
template <int R>
BB_DEVICE void fill(row_vec<R>& x, float value) {
  sweep_rows<R>([&](cell c) { x[c] = value; });
}
template <int C>
BB_DEVICE void fill(col_vec<C>& x, float value) {
  sweep_cols<C>([&](cell c) { x[c] = value; });
}

// x = f(x, others...), element by element; others are tiles of the same shape, or vectors over its rows or
// columns.
template <int R, int C, class F, class... Others>
BB_DEVICE void map(acc_tile<R, C>& x, F f, const Others&... others) {
  sweep<R, C>([&](cell c) { x[c] = f(x[c], others[c]...); });
}
template <int R, class F, class... Others>
BB_DEVICE void map(row_vec<R>& x, F f, const Others&... others) {
  sweep_rows<R>([&](cell c) { x[c] = f(x[c], others[c]...); });
}
// x = f(x, v) with v over rows.
template <int R, int C, class F>
BB_DEVICE void map_rows(acc_tile<R, C>& x, const row_vec<R>& v, F f) {
  sweep<R, C>([&](cell c) { x[c] = f(x[c], v[c]); });
}
// x = f(x, row, column), where the tile's first row and column are row0 and col0.
template <int R, int C, class F>
BB_DEVICE void map_index(acc_tile<R, C>& x, int row0, int col0, F f) {
  sweep<R, C>([&](cell c) { x[c] = f(x[c], row0 + c.row(), col0 + c.col()); });
}

template <int R, int C>
BB_DEVICE void row_scale(acc_tile<R, C>& x, const row_vec<R>& v) {
  sweep<R, C>([&](cell c) { x[c] *= v[c]; });
}
template <int R, int C>
BB_DEVICE void row_shift(acc_tile<R, C>& x, const row_vec<R>& v) {
  sweep<R, C>([&](cell c) { x[c] += v[c]; });
}
template <int R, int C>
BB_DEVICE void col_scale(acc_tile<R, C>& x, const col_vec<C>& v) {
  sweep<R, C>([&](cell c) { x[c] *= v[c]; });
}
template <int R, int C>
BB_DEVICE void col_shift(acc_tile<R, C>& x, const col_vec<C>& v) {
  sweep<R, C>([&](cell c) { x[c] += v[c]; });
}
// x += rows * columns, an outer product.
template <int R, int C>
BB_DEVICE void add_outer(acc_tile<R, C>& x, const row_vec<R>& rows, const col_vec<C>& cols) {
  sweep<R, C>([&](cell c) { x[c] = fmaf(rows[c], cols[c], x[c]); });
}

// Elements at columns from limit(row) on become `outside`: causal masks, ends of rows, windows. limit is
// asked once for each row, and costs one comparison an element then.
template <int R, int C, class F>
BB_DEVICE void keep_below(acc_tile<R, C>& x, int row0, int col0, float outside, F limit) {
  sweep_rows<R>([&](cell row) {
    const int kept = limit(row0 + row.row()) - col0 - 2 * (lane_id() % 4);
    BB_UNROLL
    for (int j = 0; j < C / 8; ++j) BB_UNROLL
    for (int e = 0; e < 2; ++e)
      if (8 * j + e >= kept) x.at[row.i][j][row.e + e] = outside;
  });
}

// --------------------------------------------------------------------------------------------- left operands
// A left operand in registers for tf32: sums as they are, rounded. Column 2 p of each cell has the place along k
// that an a_frag has column p in, and column 2 p + 1 that of p + 4; contractions read their right operand in the
// same order.
template <int ROWS, int K>
struct paired_frag {
  unsigned at[ROWS / 16][K / 8][4];
};

// Two cells of sums side by side have the registers of a 16-bit left operand: all there is to do is to round. In
// tf32 each cell has those of one, with k in another order. On FMA units sums are a left operand as they are.
template <class T, int R, int C>
BB_DEVICE auto to_operand(const acc_tile<R, C>& x) {
  if constexpr (element<T>::STEP == 4) {
    return x;
  } else if constexpr (element<T>::STEP == 8) {
    paired_frag<R, C> a;
    BB_UNROLL
    for (int i = 0; i < R / 16; ++i) BB_UNROLL
    for (int k = 0; k < C / 8; ++k) BB_UNROLL
    for (int q = 0; q < 4; ++q) a.at[i][k][q] = bb_round_tf32(x.at[i][k][q / 2 + 2 * (q % 2)]);
    return a;
  } else {
    a_frag<T, R, C> a;
    BB_UNROLL
    for (int i = 0; i < R / 16; ++i) BB_UNROLL
    for (int k = 0; k < C / 16; ++k) BB_UNROLL
    for (int q = 0; q < 4; ++q) {
      const float (&from)[4] = x.at[i][2 * k + q / 2];
      a.at[i][k][q] = pack2(from[2 * (q % 2)], from[2 * (q % 2) + 1], T());
    }
    return a;
  }
}

// f(a, cell, k) for each cell of 8 columns of a left operand: cell k of the operand is `cell` of the a that f gets.
// Registers have no index, so what is left of a moves to the front after up to MOST cells, in a loop that the
// compiler keeps: unrolled, it would be long, and all that it reads would be in flight at the same time.
template <int MOST, template <int, int> class A, int M, int K, class F>
BB_DEVICE void sweep_cells(A<M, K> a, F f) {
  constexpr int ALL = K / 8;
  constexpr int CELLS = MOST >= 8 && ALL % 8 == 0 ? 8 : MOST >= 4 && ALL % 4 == 0 ? 4 : MOST >= 2 && ALL % 2 == 0 ? 2 : 1;
  BB_UNROLL_BY(1)
  for (int k = 0; k < ALL; k += CELLS) {
    BB_UNROLL
    for (int cell = 0; cell < CELLS; ++cell) f(a, cell, k + cell);
    BB_UNROLL
    for (int i = 0; i < M / 16; ++i) BB_UNROLL
    for (int j = 0; j + CELLS < ALL; ++j) BB_UNROLL
    for (int e = 0; e < 4; ++e) a.at[i][j][e] = a.at[i][j + CELLS][e];
  }
}

// a = f(a, row, k), element by element: a step's or a whole left operand's; row and k count from its corner.
template <class T, int R, int K, class F>
BB_DEVICE void map_operand(a_frag<T, R, K>& a, F f) {
  const int row = lane_id() / 4, place = lane_id() % 4;
  BB_UNROLL
  for (int i = 0; i < R / 16; ++i) BB_UNROLL
  for (int k = 0; k < K / element<T>::STEP; ++k) BB_UNROLL
  for (int q = 0; q < 4; ++q) {
    unsigned& held = a.at[i][k][q];
    const int r = 16 * i + row + 8 * (q % 2);
    if constexpr (element<T>::STEP == 8) {
      held = bb_round_tf32(f(__uint_as_float(held), r, 8 * k + place + 4 * (q / 2)));
    } else {
      const int column = 16 * k + 2 * place + 8 * (q / 2);
      float low, high;
      unpack2(held, low, high, T());
      held = pack2(f(low, r, column), f(high, r, column + 1), T());
    }
  }
}
// A vector over rows as pairs, for the next function.
template <class T, int R>
struct row_pairs {
  unsigned at[R / 16][2];
};
template <class T, int R>
BB_DEVICE row_pairs<T, R> to_pairs(const row_vec<R>& v) {
  row_pairs<T, R> pairs;
  sweep_rows<R>([&](cell c) { pairs.at[c.i][c.e / 2] = pack2(v[c], v[c], T()); });
  return pairs;
}
// a -= v, rounded to T: exact where each row's number is between half and twice the elements, or zero.
template <class T, int R, int K>
BB_DEVICE void row_shift_operand(a_frag<T, R, K>& a, const row_pairs<T, R>& v) {
  static_assert(element<T>::STEP == 16, "rows are shifted in pairs of 16-bit floats");
  BB_UNROLL
  for (int i = 0; i < R / 16; ++i) BB_UNROLL
  for (int k = 0; k < K / 16; ++k) BB_UNROLL
  for (int q = 0; q < 4; ++q) a.at[i][k][q] = sub2(a.at[i][k][q], v.at[i][q % 2], T());
}
// squares += the squares of a's rows, the lane's part. For warps that hold whole rows.
template <class T, int R, int K>
BB_DEVICE void add_squares(row_vec<R>& squares, const a_frag<T, R, K>& a) {
  static_assert(element<T>::STEP == 16, "squares are taken of pairs of 16-bit floats");
  BB_UNROLL
  for (int i = 0; i < R / 16; ++i) BB_UNROLL
  for (int k = 0; k < K / 16; ++k) BB_UNROLL
  for (int q = 0; q < 4; ++q) {
    float low, high;
    unpack2(a.at[i][k][q], low, high, T());
    float& sum = squares.at[i][q % 2];
    sum = fmaf(low, low, fmaf(high, high, sum));
  }
}

}  // namespace bb
