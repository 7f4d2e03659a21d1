// contract_bf16_tiles.hpp: contract_bf16() on tiles of 16 x 16 sums (amx_tiles.hpp), four at a time: for each 32
// steps of k two tiles of A and two of B make four products.
//
// For pieces of k (KC), panels of 32 lanes: the panel of B (KC x 32, 1/2 of L1) is packed into pairs and stays,
// while A streams by. A is read where it lies, unless its rows are not contiguous, or end within a tile.
#pragma once
#include "amx_tiles.hpp"
#include "bf16_pairs.hpp"
#include "contract_planes.hpp"

#if defined(BB_AVX512)
namespace bb::native {
namespace {
// 16 rows of A, or fewer: row i, step s of 32 elements at p + i * row + s * step (bytes).
struct RowsOfA {
  const char* p;
  idx row, step;
};

// C[rows x 16 columns] = 16 x 16 sums at `sums`, or the reverse, for a tile that reaches beyond the rows of C.
BB_INLINE void copy_tile(float* to, idx to_ld, const float* from, idx from_ld, idx rows) {
  for (idx i = 0; i < rows; i++) store(to + i * to_ld, load(from + i * from_ld));
}

// Tile t of sums = C, or zero.
template <int t, class Tiles>
BB_INLINE void begin_sums(Tiles& tiles, const float* C, idx ldc, idx rows, bool add, float* room) {
  if (!add) return tiles.template zero<t>();
  if (rows >= 16) return tiles.template load<t>(C, ldc * 4);
  copy_tile(room, 16, C, ldc, rows);
  tiles.template load<t>(room, 64);
}
template <int t, class Tiles>
BB_INLINE void end_sums(Tiles& tiles, float* C, idx ldc, idx rows, float* room) {
  if (rows >= 16) return tiles.template store<t>(C, ldc * 4);
  tiles.template store<t>(room, 64);
  copy_tile(C, ldc, room, 16, rows);
}

// C[up to 16 R rows][16 L lanes] (+)= A . B for `steps` steps of 32 elements; B has rows of 32 pairs.
template <int R, int L, class Tiles>
void multiply_tiles(Tiles& tiles, float* C, idx ldc, idx rows, const RowsOfA (&a)[2], const Pair* b, idx ldb, idx steps,
                    bool add) {
  alignas(64) float room[256] = {};
  begin_sums<0>(tiles, C, ldc, rows, add, room);
  if constexpr (L == 2) begin_sums<1>(tiles, C + 16, ldc, rows, add, room);
  if constexpr (R == 2) {
    begin_sums<2>(tiles, C + 16 * ldc, ldc, rows - 16, add, room);
    if constexpr (L == 2) begin_sums<3>(tiles, C + 16 * ldc + 16, ldc, rows - 16, add, room);
  }
  for (idx s = 0; s < steps; s++) {
    const Pair* bs = b + s * 16 * ldb;
    tiles.template load<4>(a[0].p + s * a[0].step, a[0].row);
    tiles.template load<6>(bs, ldb * 4);
    tiles.template multiply<0, 4, 6>();
    if constexpr (L == 2) {
      tiles.template load<7>(bs + 16, ldb * 4);
      tiles.template multiply<1, 4, 7>();
    }
    if constexpr (R == 2) {
      tiles.template load<5>(a[1].p + s * a[1].step, a[1].row);
      tiles.template multiply<2, 5, 6>();
      if constexpr (L == 2) tiles.template multiply<3, 5, 7>();
    }
  }
  end_sums<0>(tiles, C, ldc, rows, room);
  if constexpr (L == 2) end_sums<1>(tiles, C + 16, ldc, rows, room);
  if constexpr (R == 2) {
    end_sums<2>(tiles, C + 16 * ldc, ldc, rows - 16, room);
    if constexpr (L == 2) end_sums<3>(tiles, C + 16 * ldc + 16, ldc, rows - 16, room);
  }
}

template <class S>
struct PlainRows {
  const S* p;
  idx am, ak;

  bool in_place(idx K) const { return std::is_same_v<S, bf16> && ak == 1 && K % 32 == 0; }
  RowsOfA at(idx m, idx k) const { return {(const char*)(p + m * am + k), am * (idx)sizeof(S), 64}; }
  void pack(Pair* to, idx ld, idx m, idx k, idx M, idx K) const {
    pack_columns(to, ld, p + m * am + k * ak, am, ak, M, K);
  }
};
struct PackedTiles : PackedRows {
  bool in_place(idx) const { return false; }
  RowsOfA at(idx, idx) const { return {}; }
  void pack(Pair* to, idx ld, idx m, idx k, idx M, idx K) const { pack_columns(to, ld, *this, m, k / 2, M, K); }
};

// M, lanes, K > 0. S: float, or Pair for a plane of pairs.
template <class Tiles, class Rows, class S>
Status rows_in_tiles(float* C, idx ldc, const Rows& A, const S* B, idx ldb, idx M, idx lanes, idx K, Mode mode,
                     const float* scale) {
  const idx KC = part(K, std::max<idx>(64, caches().l1 / 2 / (32 * 2) / 32 * 32), 32);
  const idx blocks = ceil_div(M, 16), packed_blocks = A.in_place(K) ? (M % 16 != 0) : blocks;
  const idx pairs = round_up(ceil_div(std::min(K, KC), 2), 16), size_b = pairs * 32;
  Pair* const packed_b = scratch<Pair>(size_b + packed_blocks * 16 * pairs, 3);
  if (!packed_b) return out_of_memory;
  Pair* const packed_a = packed_b + size_b;
  Tiles tiles;
  tiles.begin();
  for (idx k0 = 0; k0 < K; k0 += KC) {
    const idx kn = K - k0 < KC ? K - k0 : KC, steps = ceil_div(kn, 32);
    const bool add = k0 > 0 || mode != overwrite;
    const idx first = blocks - packed_blocks;
    for (idx i = first; i < blocks; i++) {  // rows of the last block beyond M are read as zeros
      BB_PROFILE_PACKING
      Pair* const to = packed_a + (i - first) * 16 * pairs;
      const idx rows = std::min<idx>(16, M - i * 16);
      A.pack(to, steps * 16, i * 16, k0, rows, kn);
      std::fill(to + rows * steps * 16, to + 16 * steps * 16, Pair(0));
    }
    const auto rows_at = [&](idx i) -> RowsOfA {
      if (i >= first) return {(const char*)(packed_a + (i - first) * 16 * pairs), steps * 64, 64};
      return A.at(i * 16, k0);
    };
    for (idx l = 0; l < lanes; l += 32) {
      const idx width = std::min<idx>(32, lanes - l);
      {
        BB_PROFILE_PACKING
        pack_rows(packed_b, 32, at_row(B, ldb, k0) + l, ldb, kn, width, steps * 16);
      }
      if (k0 == 0 && mode == rescale)
        for (idx m = 0; m < M; m++)
          for (idx v = l; v < l + width; v += 16) store(C + m * ldc + v, load(C + m * ldc + v) * load(scale + v));
      for (idx i = 0; i < blocks; i += 2) {
        const bool two = i + 1 < blocks;
        const RowsOfA a[2] = {rows_at(i), rows_at(two ? i + 1 : i)};
        float* const c = C + i * 16 * ldc + l;
        const auto multiply = two ? (width > 16 ? multiply_tiles<2, 2, Tiles> : multiply_tiles<2, 1, Tiles>)
                                  : (width > 16 ? multiply_tiles<1, 2, Tiles> : multiply_tiles<1, 1, Tiles>);
        multiply(tiles, c, ldc, M - i * 16, a, packed_b, 32, steps, add);
      }
    }
  }
  tiles.end();
  return ok;
}

template <class Tiles, class S, class SB>
Status contract_tiles(float* C, idx ldc, const S* A, idx am, idx ak, const SB* B, idx ldb, idx M, idx lanes, idx K,
                      Mode mode, const float* scale) {
  return rows_in_tiles<Tiles>(C, ldc, PlainRows<S>{A, am, ak}, B, ldb, M, lanes, K, mode, scale);
}
template <class Tiles, class S>
Status packed_tiles(float* C, idx ldc, const bf16* A, idx group, idx stride, const S* B, idx ldb, idx M, idx lanes,
                    idx K, Mode mode, const float* scale) {
  const PackedTiles rows{{(const Pair*)A, group, stride / 2}};
  return rows_in_tiles<Tiles>(C, ldc, rows, B, ldb, M, lanes, K, mode, scale);
}
}  // namespace
}  // namespace bb::native
#endif
