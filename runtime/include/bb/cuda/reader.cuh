// From matrices in global memory to tiles in shared memory, asynchronously.
//
//   reader<KTile, THREADS, 8> k_in(K, ld, row0, col0, rows, cols);
//   k_in.load(k[stage]);  k_in.next_rows(64);  cp_async_commit();       // fetch
//   cp_async_wait<STAGES - 2>();  __syncthreads();                      // all threads see the tile
#pragma once
#include "shared_tile.cuh"

namespace bb {

// The copies that this thread started since the last commit become a group; wait until at most PENDING groups
// are in flight.
BB_DEVICE void cp_async_commit() { bb_cp_async_commit(); }
template <int PENDING>
BB_DEVICE void cp_async_wait() {
  bb_cp_async_wait<PENDING>();
}

// threadIdx.x, opaque to the optimiser: address arithmetic that starts from it is not hoisted out of the loop
// that it stands before. Otherwise the compiler computes the addresses of all loops of a kernel before the first
// one, and holds them in registers that other values need.
BB_DEVICE int opaque_thread_id() { return bb_opaque(static_cast<int>(threadIdx.x)); }

// One thread's part of a walk of THREADS threads over tiles of a row-major matrix: a pointer, and what is
// left of the matrix below and to the right of it. Elements outside of the matrix become zero.
//
// VEC is how many elements an access moves; it divides the leading dimension, the first column and the
// address in elements, so that an access is inside or outside and never partly: 16, 8 or 4 bytes by cp.async,
// 2 bytes through a register. ENDS says which ends of the matrix a tile may go over: of the others nothing is
// kept or compared.
enum class ends { none, rows, cols, both };
template <class TILE, int THREADS, int VEC = TILE::PER_CHUNK, ends ENDS = ends::both>
struct reader {
  static constexpr bool ROWS_END = ENDS == ends::rows || ENDS == ends::both;
  static constexpr bool COLS_END = ENDS == ends::cols || ENDS == ends::both;
  using stored = typename TILE::stored;
  static constexpr int BYTES = VEC * TILE::SIZE;
  static constexpr int UNITS = TILE::COLS / VEC;                    // accesses in a row
  static constexpr int ACROSS = UNITS < THREADS ? UNITS : THREADS;  // of them at a time
  static constexpr int STEP = THREADS / ACROSS;                     // rows at a time
  static constexpr int MOST_AT_ONCE = 8;                            // short accesses without a branch
  static_assert(BYTES == 2 || BYTES == 4 || BYTES == 8 || BYTES == 16, "an access moves 2, 4, 8 or 16 bytes");
  static_assert(THREADS % ACROSS == 0 && UNITS % ACROSS == 0,
                "the threads of a reader cover whole rows of its tile, or an equal part of one");
  static_assert(
      TILE::ROWS % STEP == 0 || STEP % TILE::ROWS == 0,
      "the rows of a tile are a multiple of those that its reader copies at a time, or a part of them");

  const stored* at;
  long long ld;
  int rows_left, cols_left, thread, to;

  // A matrix of rows x cols with `ld` elements from row to row; the first tile's corner is at (row0, col0).
  // `thread` is this thread's number, see opaque_thread_id.
  BB_DEVICE reader(const stored* matrix, long long ld, int row0, int col0, int rows, int cols,
                   int thread = threadIdx.x)
      : ld(ld), thread(thread) {
    at = matrix + (row0 + my_row()) * ld + col0 + my_col();
    rows_left = rows - row0 - my_row();
    cols_left = cols - col0 - my_col();
    to = place(my_row(), my_col());
  }
  // Copies the current tile; or the one at the same place of another matrix of the same shape, whose first element
  // is `distance` elements further on in memory: `k_in.load(v[stage], V - K)` needs no registers for a second
  // reader.
  BB_DEVICE void load(TILE tile, long long distance = 0) const {
    if (STEP > TILE::ROWS && my_row() >= TILE::ROWS) return;
    BB_UNROLL_BY((BYTES == 16 ? TILE::ROWS : MOST_AT_ONCE))
    for (int row = 0; row < TILE::ROWS; row += STEP) BB_UNROLL
    for (int col = 0; col < TILE::COLS; col += ACROSS * VEC) {
      const bool inside = (!ROWS_END || row < rows_left) && (!COLS_END || col < cols_left);
      const stored* from = at + distance + row * ld + col;
      // The swizzle repeats after 8 rows, so most often only the row's start changes.
      unsigned char* destination =
          tile.base +
          (STEP % 8 == 0 && col == 0 ? to + row * TILE::ROW_BYTES : place(my_row() + row, my_col() + col));
      if constexpr (BYTES >= 4 && ENDS == ends::none) bb_cp_async<BYTES>(destination, from);
      else if constexpr (BYTES >= 4) bb_cp_async<BYTES>(destination, from, inside);
      else *reinterpret_cast<stored*>(destination) = inside ? *from : stored(0.0f);
    }
  }
  BB_DEVICE void next_rows(int n) {
    at += n * ld;
    rows_left -= n;
  }
  BB_DEVICE void next_cols(int n) {
    at += n;
    cols_left -= n;
  }

 private:
  BB_DEVICE int my_row() const { return thread / ACROSS; }
  BB_DEVICE int my_col() const { return thread % ACROSS * VEC; }
  static BB_DEVICE int place(int row, int col) {
    return TILE::offset(row, col / TILE::PER_CHUNK) + col % TILE::PER_CHUNK * TILE::SIZE;
  }
};

// A vector of `count` elements, at most LENGTH, from global to shared memory, by THREADS threads, VEC elements at
// a time: VEC divides `count` and the addresses in elements. Accesses of 4 bytes and more are asynchronous.
template <int THREADS, int VEC, int LENGTH, class T>
BB_DEVICE void fetch_vector(T* to, const T* from, int count) {
  constexpr int BYTES = VEC * static_cast<int>(sizeof(T));
  BB_UNROLL
  for (int first = 0; first < LENGTH; first += THREADS * VEC) {
    const int i = first + static_cast<int>(threadIdx.x) * VEC;
    if (i >= count) return;
    if constexpr (BYTES >= 4) bb_cp_async<BYTES>(to + i, from + i);
    else to[i] = from[i];
  }
}

}  // namespace bb
