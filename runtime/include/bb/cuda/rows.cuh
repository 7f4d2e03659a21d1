// Rows of shared tiles, dealt to the threads of the block: statistics, and elementwise work before a
// contraction.
//
// THREADS / ROWS threads share a row (1, 2, 4, ... 32 of them, neighbours in a warp), each with the same
// number of chunks that follow each other. So each element is touched once in the block, whichever warps
// multiply its row.
#pragma once
#include "reduce.cuh"
#include "shared_tile.cuh"

namespace bb {

// Rows of a tile, dealt to THREADS threads.
template <int THREADS, int ROWS>
struct row_threads {
  static constexpr int PER_ROW = THREADS / ROWS;
  static_assert(THREADS % ROWS == 0 && PER_ROW <= 32 && (PER_ROW & (PER_ROW - 1)) == 0,
                "1, 2, 4, 8, 16 or 32 threads share a row of a tile");
  static BB_DEVICE int row() { return threadIdx.x / PER_ROW; }
  // True for the one thread of a row that writes a result that all its threads have.
  static BB_DEVICE bool speaks() { return threadIdx.x % PER_ROW == 0; }
};

// f(value) for each element of this thread's part of a row, columns below `cols` only.
template <int THREADS, class T, int R, int C, class F>
BB_DEVICE void for_my_row(shared_tile<T, R, C> tile, int cols, F f) {
  using tile_type = shared_tile<T, R, C>;
  constexpr int PER_ROW = row_threads<THREADS, R>::PER_ROW,
                MINE = (tile_type::CHUNKS + PER_ROW - 1) / PER_ROW;
  const int row = row_threads<THREADS, R>::row(), first = threadIdx.x % PER_ROW * MINE;
  if (PER_ROW > tile_type::CHUNKS && first >= tile_type::CHUNKS) return;  // more threads than chunks
  BB_UNROLL
  for (int m = 0; m < MINE; ++m) {
    const int col = (first + m) * tile_type::PER_CHUNK;
    if constexpr (sizeof(typename element<T>::stored) == 2) {
      const uint4 chunk = *reinterpret_cast<const uint4*>(tile.chunk(row, first + m));
      const unsigned pairs[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
      BB_UNROLL
      for (int q = 0; q < 4; ++q) {
        float low, high;
        unpack2(pairs[q], low, high, T());
        if (col + 2 * q < cols) f(low);
        if (col + 2 * q + 1 < cols) f(high);
      }
    } else {
      const float4 chunk = *reinterpret_cast<const float4*>(tile.chunk(row, first + m));
      const float values[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
      BB_UNROLL
      for (int q = 0; q < 4; ++q)
        if (col + q < cols) f(values[q]);
    }
  }
}
// Sixteen bytes of a row, as f32: 8 elements, or 4 of 4 bytes.
template <class T>
struct chunk_of {
  static constexpr int N = 16 / sizeof(typename element<T>::stored);
  float at[N];
};
template <class T, int R, int C>
BB_DEVICE chunk_of<T> load_chunk(shared_tile<T, R, C> tile, int row, int chunk) {
  chunk_of<T> x;
  if constexpr (chunk_of<T>::N == 8) {
    const uint4 held = *reinterpret_cast<const uint4*>(tile.chunk(row, chunk));
    const unsigned pairs[4] = {held.x, held.y, held.z, held.w};
    BB_UNROLL
    for (int q = 0; q < 4; ++q) unpack2(pairs[q], x.at[2 * q], x.at[2 * q + 1], T());
  } else {
    const float4 held = *reinterpret_cast<const float4*>(tile.chunk(row, chunk));
    x.at[0] = held.x, x.at[1] = held.y, x.at[2] = held.z, x.at[3] = held.w;
  }
  return x;
}
template <class T, int R, int C>
BB_DEVICE void store_chunk(shared_tile<T, R, C> tile, int row, int chunk, const chunk_of<T>& x) {
  if constexpr (chunk_of<T>::N == 8)
    *reinterpret_cast<uint4*>(tile.chunk(row, chunk)) =
        make_uint4(pack2(x.at[0], x.at[1], T()), pack2(x.at[2], x.at[3], T()), pack2(x.at[4], x.at[5], T()),
                   pack2(x.at[6], x.at[7], T()));
  else
    *reinterpret_cast<float4*>(tile.chunk(row, chunk)) = make_float4(x.at[0], x.at[1], x.at[2], x.at[3]);
}
// f(chunk) for each chunk of this thread's part of its row, row_threads<THREADS, R>::row(). Other tiles of as
// many rows are dealt in the same way, so that f may go over several at once, and write to them.
template <int THREADS, class T, int R, int C, class F>
BB_DEVICE void for_my_chunks(shared_tile<T, R, C>, F f) {
  constexpr int CHUNKS = shared_tile<T, R, C>::CHUNKS, PER_ROW = row_threads<THREADS, R>::PER_ROW,
                MINE = (CHUNKS + PER_ROW - 1) / PER_ROW;
  const int part = threadIdx.x % PER_ROW, first = part * MINE;
  if (PER_ROW > CHUNKS && first >= CHUNKS) return;  // more threads than chunks
  // The threads of a row begin at chunks in other banks, both of the tile and of vectors over its columns.
  const int turn = MINE >= 4 ? 5 * part : MINE == 2 ? 2 * part / PER_ROW : 0;
  BB_UNROLL
  for (int m = 0; m < MINE; ++m) f(first + (m + turn) % MINE);
}
// element = f(element, row, column) for all of the tile, by THREADS threads; barriers before and after are
// the caller's.
template <int THREADS, class T, int R, int C, class F>
BB_DEVICE void map_tile(shared_tile<T, R, C> tile, F f) {
  constexpr int CHUNKS = shared_tile<T, R, C>::CHUNKS, PER_CHUNK = shared_tile<T, R, C>::PER_CHUNK;
  BB_UNROLL
  for (int p = 0; p < (R * CHUNKS + THREADS - 1) / THREADS; ++p) {
    const int at = p * THREADS + threadIdx.x;
    if (R * CHUNKS % THREADS != 0 && at >= R * CHUNKS) return;
    const int row = at / CHUNKS, col = at % CHUNKS * PER_CHUNK;
    unsigned char* chunk = tile.chunk(row, at % CHUNKS);
    if constexpr (sizeof(typename element<T>::stored) == 2) {
      uint4 held = *reinterpret_cast<uint4*>(chunk);
      unsigned pairs[4] = {held.x, held.y, held.z, held.w};
      BB_UNROLL
      for (int q = 0; q < 4; ++q) {
        float low, high;
        unpack2(pairs[q], low, high, T());
        pairs[q] = pack2(f(low, row, col + 2 * q), f(high, row, col + 2 * q + 1), T());
      }
      *reinterpret_cast<uint4*>(chunk) = make_uint4(pairs[0], pairs[1], pairs[2], pairs[3]);
    } else {
      const float4 held = *reinterpret_cast<float4*>(chunk);
      *reinterpret_cast<float4*>(chunk) = make_float4(f(held.x, row, col), f(held.y, row, col + 1),
                                                      f(held.z, row, col + 2), f(held.w, row, col + 3));
    }
  }
}

// f of the values of the threads that share a row, in each of them.
template <int THREADS, int ROWS, class F = plus>
BB_DEVICE float across_row_threads(float value, F f = F()) {
  BB_UNROLL
  for (int distance = 1; distance < row_threads<THREADS, ROWS>::PER_ROW; distance *= 2)
    value = f(value, __shfl_xor_sync(0xffffffffu, value, distance));
  return value;
}

}  // namespace bb
