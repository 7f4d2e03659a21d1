// Tiles in shared memory.
//
// A row of shared_tile<T, ROWS, COLS> is a power of two of 16-byte chunks; chunk c of row r lies at place c ^
// swizzle(r) of the row. So eight consecutive rows of one chunk, and eight consecutive chunks of one row, are
// in all 32 banks once: ldmatrix, copies of rows and stores of fragments have no bank conflicts, and no
// memory is lost to padding. For 4-byte elements the bits of the swizzle are turned by one: then the two
// chunks of an mma's columns are in other banks in each of four consecutive rows as well, which is what a K x
// N operand is read by.
#pragma once
#include "types.cuh"

namespace bb {

template <class T, int ROWS_, int COLS_>
struct shared_tile {
  using type = T;
  using stored = typename element<T>::stored;
  static constexpr int ROWS = ROWS_, COLS = COLS_;
  static constexpr int SIZE = sizeof(stored), ROW_BYTES = COLS * SIZE, BYTES = ROWS * ROW_BYTES;
  static constexpr int CHUNKS = ROW_BYTES / 16, PER_CHUNK = 16 / SIZE;
  static_assert(ROW_BYTES >= 32 && (ROW_BYTES & (ROW_BYTES - 1)) == 0,
                "a row of a shared tile is a power of two of bytes, and at least 32 of them");
  static_assert(ROWS > 0 && ROWS % 8 == 0,
                "a shared tile has a multiple of 8 rows: the swizzle repeats after 8");

  unsigned char* base;  // in shared memory, aligned to 128 bytes

  static BB_DEVICE int swizzle(int row) {
    constexpr int MASK = CHUNKS >= 8 ? 7 : CHUNKS - 1, BITS = CHUNKS >= 8 ? 3 : CHUNKS == 4 ? 2 : 1;
    const int s = (CHUNKS >= 8 ? row : CHUNKS == 4 ? row >> 1 : row >> 2) & MASK;
    return SIZE == 4 ? (s << 1 | s >> (BITS - 1)) & MASK : s;
  }
  // Bytes from the base to a chunk.
  static BB_DEVICE int offset(int row, int chunk) { return row * ROW_BYTES + ((chunk ^ swizzle(row)) << 4); }
  BB_DEVICE unsigned char* chunk(int row, int chunk) const { return base + offset(row, chunk); }
  BB_DEVICE stored& operator()(int row, int col) const {
    return *reinterpret_cast<stored*>(chunk(row, col / PER_CHUNK) + col % PER_CHUNK * SIZE);
  }
};

// The stages of a pipeline: STAGES tiles after each other.
template <class TILE, int STAGES_>
struct ring {
  static constexpr int STAGES = STAGES_, BYTES = STAGES * TILE::BYTES;
  unsigned char* base;
  BB_DEVICE TILE operator[](int stage) const { return TILE{base + stage * TILE::BYTES}; }
};
template <int STAGES>
BB_DEVICE int next_stage(int stage) {
  return stage + 1 == STAGES ? 0 : stage + 1;
}

}  // namespace bb
