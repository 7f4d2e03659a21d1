// From registers to shared and global memory, and back.
//
// Rows and columns beyond `rows` and `cols` are not stored. In functions of global memory row0 and col0 are
// where the warp's part lies in the matrix (or in the block's part of it) that starts at the pointer, `ld` is
// its leading dimension.
#pragma once
#include "fragments.cuh"
#include "shared_tile.cuh"

namespace bb {

// Sums into a shared tile, rounded to its type: a left operand for other warps, or on the way to global
// memory.
template <class T, int M, int N, int R, int C>
BB_DEVICE void put(shared_tile<T, R, C> tile, int row0, int col0, const acc_tile<M, N>& x) {
  sweep_rows<M>([&](cell row) {
    BB_UNROLL
    for (int j = 0; j < N / 8; ++j) {
      const int col = col0 + 8 * j + 2 * (lane_id() % 4);
      const float (&from)[4] = x.at[row.i][j];
      void* to = &tile(row0 + row.row(), col);
      if constexpr (sizeof(typename element<T>::stored) == 2)
        *static_cast<unsigned*>(to) = pack2(from[row.e], from[row.e + 1], T());
      else *static_cast<float2*>(to) = make_float2(from[row.e], from[row.e + 1]);
    }
  });
}
// The same with zeros for rows from `end` on: a right operand, whose rows past a block meet weights of zero.
template <class T, int M, int N, int R, int C>
BB_DEVICE void put(shared_tile<T, R, C> tile, int row0, int col0, acc_tile<M, N> x, int end) {
  sweep<M, N>([&](cell c) { x[c] = row0 + c.row() < end ? x[c] : 0.0f; });
  put(tile, row0, col0, x);
}
// A part of a shared tile as f32.
template <int M, int N, class T, int R, int C>
BB_DEVICE acc_tile<M, N> take(shared_tile<T, R, C> tile, int row0, int col0) {
  acc_tile<M, N> x;
  sweep_rows<M>([&](cell row) {
    BB_UNROLL
    for (int j = 0; j < N / 8; ++j) {
      const void* from = &tile(row0 + row.row(), col0 + 8 * j + 2 * (lane_id() % 4));
      float (&to)[4] = x.at[row.i][j];
      if constexpr (sizeof(typename element<T>::stored) == 2) {
        unpack2(*static_cast<const unsigned*>(from), to[row.e], to[row.e + 1], T());
      } else {
        const float2 pair = *static_cast<const float2*>(from);
        to[row.e] = pair.x;
        to[row.e + 1] = pair.y;
      }
    }
  });
  return x;
}

// A 16-bit result with full sectors: through the warp's own M x N part of `stage`, which has the matrix'
// corner at its own corner, then in accesses of VEC elements; VEC divides ld, cols and the address in
// elements. No other warp may be using that part of the memory: a barrier comes before this, unless only this
// warp ever uses it.
template <int VEC = 8, class T, int M, int N, int R, int C>
BB_DEVICE void store(const acc_tile<M, N>& x, shared_tile<T, R, C> stage, int row0, int col0, T* to,
                     long long ld, int rows, int cols) {
  constexpr int UNITS = N / VEC, BYTES = VEC * 2;
  static_assert(sizeof(T) == 2,
                "only 16-bit results are stored through shared memory; f32 has full sectors without");
  static_assert(VEC == 1 || VEC == 2 || VEC == 4 || VEC == 8,
                "a 16-bit result is stored 1, 2, 4 or 8 elements at a time");
  put(stage, row0, col0, x);
  __syncwarp();
  BB_UNROLL
  for (int p = 0; p < (M * UNITS + 31) / 32; ++p) {
    const int unit = p * 32 + lane_id(), col = col0 + unit % UNITS * VEC;
    int row = unit / UNITS;
    // Parts of rows: eight lanes meet all banks where the rows they read are as far apart as a part is wide.
    if (UNITS < 8 && VEC == 8 && shared_tile<T, R, C>::CHUNKS >= 8)
      row = row / 8 * 8 + row % (8 / UNITS) * UNITS + row % 8 / (8 / UNITS);
    row += row0;
    if (row - row0 >= M || row >= rows || col >= cols) continue;
    const void* from = stage.chunk(row, col / 8) + col % 8 * 2;
    T* at = to + row * ld + col;
    if constexpr (BYTES == 16) bb_store_16(at, *static_cast<const uint4*>(from));
    else if constexpr (BYTES == 8) bb_store_8(at, *static_cast<const float2*>(from));
    else if constexpr (BYTES == 4) *reinterpret_cast<unsigned*>(at) = *static_cast<const unsigned*>(from);
    else *reinterpret_cast<unsigned short*>(at) = *static_cast<const unsigned short*>(from);
  }
}
// Straight from registers: f32 in full sectors, 16-bit floats in halves of sectors. VEC is 2 or 1.
template <int VEC = 2, class T, int M, int N>
BB_DEVICE void store(const acc_tile<M, N>& x, T* to, int row0, int col0, long long ld, int rows, int cols) {
  static_assert(VEC == 1 || VEC == 2, "registers hold two elements side by side");
  sweep_rows<M>([&](cell r) {
    const int row = row0 + r.row();
    BB_UNROLL
    for (int j = 0; j < N / 8; ++j) {
      const int col = col0 + 8 * j + 2 * (lane_id() % 4);
      if (row >= rows || col >= cols) continue;
      T* at = to + row * ld + col;
      const float low = x.at[r.i][j][r.e], high = x.at[r.i][j][r.e + 1];
      if constexpr (VEC == 1) {
        at[0] = T(low);
        if (col + 1 < cols) at[1] = T(high);
      } else if constexpr (sizeof(T) == 4) {
        bb_store_8(at, make_float2(low, high));
      } else {
        *reinterpret_cast<unsigned*>(at) = pack2(low, high, T());
      }
    }
  });
}
// The way back: a part of a matrix as f32, `outside` beyond its ends. For what is read once, such as a
// residual or a mask.
template <int M, int N, int VEC = 2, class T>
BB_DEVICE acc_tile<M, N> load_tile(const T* from, int row0, int col0, long long ld, int rows, int cols,
                                   float outside) {
  static_assert(VEC == 1 || VEC == 2, "registers hold two elements side by side");
  acc_tile<M, N> x;
  sweep_rows<M>([&](cell r) {
    const int row = row0 + r.row();
    BB_UNROLL
    for (int j = 0; j < N / 8; ++j) {
      const int col = col0 + 8 * j + 2 * (lane_id() % 4);
      float &low = x.at[r.i][j][r.e], &high = x.at[r.i][j][r.e + 1];
      low = high = outside;
      if (row >= rows || col >= cols) continue;
      const T* at = from + row * ld + col;
      if constexpr (VEC == 1) {
        low = static_cast<float>(at[0]);
        if (col + 1 < cols) high = static_cast<float>(at[1]);
      } else if constexpr (sizeof(T) == 4) {
        const float2 pair = *reinterpret_cast<const float2*>(at);
        low = pair.x;
        high = pair.y;
      } else {
        unpack2(*reinterpret_cast<const unsigned*>(at), low, high, T());
      }
    }
  });
  return x;
}

// Vectors. `from` and `to` point at the element of row (or column) 0 of the warp's part, in global or shared
// memory; `count` elements are there, and `outside` stands for the rest. One lane of each row speaks for it.
template <int R, class T>
BB_DEVICE row_vec<R> load_rows(const T* from, int count = R, float outside = 0.0f) {
  row_vec<R> v;
  sweep_rows<R>([&](cell c) { v[c] = c.row() < count ? static_cast<float>(from[c.row()]) : outside; });
  return v;
}
template <int C, class T>
BB_DEVICE col_vec<C> load_cols(const T* from, int count = C, float outside = 0.0f) {
  col_vec<C> v;
  sweep_cols<C>([&](cell c) { v[c] = c.col() < count ? static_cast<float>(from[c.col()]) : outside; });
  return v;
}
template <int R, class T>
BB_DEVICE void store_rows(const row_vec<R>& v, T* to, int count = R) {
  sweep_rows<R>([&](cell c) {
    if (lane_id() % 4 == 0 && c.row() < count) to[c.row()] = T(v[c]);
  });
}

}  // namespace bb
