// contract_bf16_vector.hpp: contract_bf16() with AVX512-BF16, blocked for the caches as contract() is.
//
// vdpbf16ps multiplies a pair of A, broadcast, with pairs of B, and adds both products to 16 sums.
#pragma once
#include "bf16_pairs.hpp"
#include "contract_planes.hpp"

#if defined(BB_AVX512) && defined(__AVX512BF16__)
namespace bb::native {
struct PairTile {
  float* C;
  idx ldc;
  const void* A;
  idx lda;    // in bytes, the stride that is not a pair
  bool rows;  // the pair j of row m lies at A + m * lda + 4 j, else at A + 4 m + j * lda
  const Pair* B;
  idx ldb;
  idx pairs;
  Mode mode;
  const float* scale;
  const void* next;  // the A of the tile after this one, prefetched into L2 meanwhile; or nullptr
};

// As multiply_narrow() and multiply_wide() of contract_tiles.hpp.
void multiply_narrow_pairs(const PairTile& tile, int mr, int nv);
void multiply_wide_pairs(const PairTile& tile, int mr, int nv);

namespace {
template <int MR, int NV>
__attribute__((noinline)) void multiply_pairs(const PairTile& t) {
  vf c[MR][NV];
  float* C = t.C;
  const idx ldc = t.ldc;
  auto each = [&](auto f) BB_BODY {
    BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int j = 0; j < NV; j++)
        f(c[i][j], C + i * ldc + j * 16, j);
  };
  each([](vf& x, float*, int) BB_BODY { x = vf{}; });
  if (t.mode == rescale) {
    vf s[NV];
    BB_UNROLL for (int j = 0; j < NV; j++) s[j] = load(t.scale + j * 16);
    each([&](vf& x, float* p, int j) BB_BODY { x = load(p) * s[j]; });
  }
  // Three rows share a pointer, as in multiply() of contract_tiles.hpp.
  constexpr int groups = (MR + 2) / 3;
  const bool rows = t.rows;
  const idx am = opaque(rows ? t.lda : 4), ak = opaque(rows ? 4 : t.lda), ldb = opaque(t.ldb * 4);
  const char *a[groups], *b = (const char*)t.B, *next = (const char*)(t.next ? t.next : t.A);
  BB_UNROLL for (int g = 0; g < groups; g++) a[g] = (const char*)t.A + 3 * g * am;
  auto pair = [](const char* at) BB_BODY {
    int two;
    std::memcpy(&two, at, 4);
    return (__m512bh)_mm512_set1_epi32(two);
  };
  auto step = [&]() BB_BODY {
    Pairs row[NV];
    BB_UNROLL for (int j = 0; j < NV; j++) row[j] = load_pairs(b + j * 64);
    BB_UNROLL for (int i = 0; i < MR; i++) {
      const auto x = pair(a[i / 3] + i % 3 * am);
      BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] = _mm512_dpbf16_ps(c[i][j], x, (__m512bh)row[j]);
    }
    b = opaque(b + ldb);
    BB_UNROLL for (int g = 0; g < groups; g++) a[g] = opaque(a[g] + ak);
    asm volatile("" ::: "memory");  // keeps the next step's loads below: there are no registers for them
  };
  const idx last = t.pairs < 2 ? 0 : 2;
  idx k = t.pairs - last;
  for (; k >= 4; k -= 4) {
    if constexpr (MR > 2) {
      if (asked(ak) == 4) {  // thinly: see multiply()
        const idx stride = asked(am);
        const char* line = next + (k >> 2 & 3) * stride;
        prefetch<2>(line);
        if constexpr (MR > 4) prefetch<2>(line + 4 * stride);
        next += 16;
      } else {  // groups of rows lie in order: these steps of the next tile
        BB_UNROLL for (int u = 0; u < 2; u++) prefetch<2>(next), next = opaque(next + 2 * asked(ak));
      }
    }
    BB_UNROLL for (int u = 0; u < 4; u++) step();
  }
  for (; k > 0; k--) step();
  // The last steps go row by row, as in multiply(): the next row's products fill the time that stores take.
  auto finish = [&](auto steps, auto accumulates) BB_BODY {
    constexpr idx count = decltype(steps)::value;
    float* to = C;
    const char* of_row = a[0];
    BB_UNROLL for (int i = 0; i < MR; i++) {
      BB_UNROLL for (idx u = 0; u < count; u++) {
        const auto x = pair(of_row + u * ak);
        BB_UNROLL for (int j = 0; j < NV; j++)
          c[i][j] = _mm512_dpbf16_ps(c[i][j], x, (__m512bh)load_pairs(b + u * ldb + j * 64));
      }
      BB_UNROLL for (int j = 0; j < NV; j++) {
        if constexpr (decltype(accumulates)::value) c[i][j] = load(to + j * 16) + c[i][j];
        store(to + j * 16, c[i][j]);
      }
      to = opaque(to + ldc);
      of_row = opaque(of_row + am);
      asm volatile("" ::: "memory");
    }
  };
  const bool accumulates = t.mode == accumulate;
  if (last == 2) accumulates ? finish(fixed<2>{}, std::true_type{}) : finish(fixed<2>{}, std::false_type{});
  else accumulates ? finish(fixed<0>{}, std::true_type{}) : finish(fixed<0>{}, std::false_type{});
}

using MultiplyPairs = void (*)(const PairTile&);

template <int NV>
constexpr auto multiplies_of_pairs() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<MultiplyPairs, sizeof...(I)>{&multiply_pairs<I + 1, NV>...};
  }(std::make_integer_sequence<int, max_rows(NV)>{});
}

template <int LEAST>
void multiply_either_pairs(const PairTile& tile, int mr, int nv) {
  static constexpr auto few = multiplies_of_pairs<LEAST>();
  static constexpr auto more = multiplies_of_pairs<LEAST + 1>();
  (nv == LEAST ? few[mr - 1] : more[mr - 1])(tile);
}

inline void multiply_pair_tile(const PairTile& tile, int mr, int nv) {
  nv > 2 ? multiply_wide_pairs(tile, mr, nv) : multiply_narrow_pairs(tile, mr, nv);
}

// The largest piece of k for a panel of so many lanes. It may be twice as large as L1: it comes from L2 fast enough, and
// sums are stored less often.
inline idx longest_piece_of_pairs(idx lanes) {
  const idx longest = std::min(caches().l1 * 2, caches().l2 / 4) / (lanes * (idx)sizeof(Pair)) / 4 * 8;
  return std::max<idx>(32, longest);
}

// `width` lanes of B, as pairs: of a float plane a copy at `to`.
struct Panel {
  const Pair* p;
  idx ld;
};
inline Panel panel_of_pairs(Pair* to, const float* B, idx ldb, idx K, idx lanes, idx width) {
  BB_PROFILE_PACKING
  pack_rows(to, width, B, ldb, K, std::min(width, lanes), ceil_div(K, 2));
  return {to, width};
}
inline Panel panel_of_pairs(Pair*, const Pair* B, idx ldb, idx, idx, idx) { return {B, ldb}; }

// M, lanes, K > 0. SB: float, or Pair for a plane of pairs.
template <class S, class SB>
Status contract_vector(float* C, idx ldc, const S* A, idx am, idx ak, const SB* B, idx ldb, idx M, idx lanes,
                       idx K, Mode mode, const float* scale) {
  const bool pack_a = !std::is_same_v<S, bf16> || ak != 1 || K % 2 != 0;
  const bool rows = !pack_a || am != 1;  // packed by columns only where A's rows lie next to each other
  const idx vectors = ceil_div(lanes, 16), panels = ceil_div(vectors, max_vectors);
  const idx widest = ceil_div(vectors, panels) * 16;
  const idx KC = part(K, longest_piece_of_pairs(widest), 8);
  const idx MC = part(M, std::max<idx>(64, caches().l2 / 2 / (KC * 2)), 24);
  const idx most = ceil_div(KC, 2), row_of_a = round_up(most, 16) + (most % 16 == 0 ? 16 : 0);
  const idx column_of_a = round_up(MC, 16) + 16;
  const idx size_b = std::is_same_v<SB, Pair> ? 0 : most * widest, size_a = !pack_a ? 0 : rows ? MC * row_of_a : most * column_of_a;
  Pair* const packed_b = scratch<Pair>(size_b + size_a, 3);
  if (!packed_b) return out_of_memory;
  Pair* const packed_a = packed_b + size_b;
  for (idx k0 = 0; k0 < K; k0 += KC) {
    const idx kn = K - k0 < KC ? K - k0 : KC, pairs = ceil_div(kn, 2);
    const Mode now = k0 == 0 ? mode : accumulate;
    for (idx m0 = 0; m0 < M; m0 += MC) {
      const idx mn = M - m0 < MC ? M - m0 : MC;
      const S* source = A + m0 * am + k0 * ak;
      const char* a = (const char*)source;
      idx lda = am * (idx)sizeof(bf16);
      if (pack_a) {
        BB_PROFILE_PACKING
        if (rows) pack_columns(packed_a, row_of_a, source, am, ak, mn, kn);
        else pack_rows(packed_a, column_of_a, source, ak, kn, mn, pairs);
        a = (const char*)packed_a;
        lda = (rows ? row_of_a : column_of_a) * (idx)sizeof(Pair);
      }
      const idx by_row = rows ? lda : (idx)sizeof(Pair);
      for (idx p = 0, v = 0; p < panels; p++) {
        const int nv = (int)((vectors + p) / panels);
        const idx l0 = v * 16;
        v += nv;
        const Panel b = panel_of_pairs(packed_b, at_row(B, ldb, k0) + l0, ldb, kn, lanes - l0, nv * 16);
        const idx tiles = ceil_div(mn, max_rows(nv));
        for (idx t = 0, m = 0; t < tiles; t++) {
          const int mr = (int)((mn - m) / (tiles - t));
          const char *at = a + m * by_row, *next = nullptr;
          if (p == 0 && !pack_a) next = t + 1 < tiles ? at + mr * lda : a + kn * (idx)sizeof(bf16);
          multiply_pair_tile({C + (m0 + m) * ldc + l0, ldc, at, lda, rows, b.p, b.ld, pairs, now,
                              scale ? scale + l0 : nullptr, next},
                             mr, nv);
          m += mr;
        }
      }
    }
  }
  return ok;
}

// The same with a packed A, which is read as it lies.
template <class SB>
Status packed_vector(float* C, idx ldc, const bf16* A, idx group, idx stride, const SB* B, idx ldb, idx M, idx lanes,
                     idx K, Mode mode, const float* scale) {
  const PackedRows rows{(const Pair*)A, group, stride / 2};
  const idx vectors = ceil_div(lanes, 16), panels = ceil_div(vectors, max_vectors);
  const idx widest = ceil_div(vectors, panels) * 16;
  const idx KC = part(K, longest_piece_of_pairs(widest), 8);
  Pair* packed_b = nullptr;
  if (!std::is_same_v<SB, Pair> && !(packed_b = scratch<Pair>(ceil_div(KC, 2) * widest, 3))) return out_of_memory;
  for (idx k0 = 0; k0 < K; k0 += KC) {
    const idx kn = std::min(KC, K - k0), pairs = ceil_div(kn, 2);
    const Mode now = k0 == 0 ? mode : accumulate;
    // After the last tile comes the next piece of k, or the next block of A.
    const Pair* const after = k0 + kn < K ? rows.at(0, (k0 + kn) / 2) : rows.p + ceil_div(M, group) * rows.stride;
    for (idx p = 0, v = 0; p < panels; p++) {
      const int nv = (int)((vectors + p) / panels);
      const idx l0 = v * 16;
      v += nv;
      const Panel b = panel_of_pairs(packed_b, at_row(B, ldb, k0) + l0, ldb, kn, lanes - l0, nv * 16);
      const idx most = std::min<idx>(group, max_rows(nv));
      for (idx m = 0, mr; m < M; m += mr) {
        mr = std::min({most, group - m % group, M - m});  // a tile ends with its group
        multiply_pair_tile({C + m * ldc + l0, ldc, rows.at(m, k0 / 2), group * (idx)sizeof(Pair), false, b.p, b.ld,
                            pairs, now, scale ? scale + l0 : nullptr, m + mr < M ? rows.at(m + mr, k0 / 2) : after},
                           (int)mr, nv);
      }
    }
  }
  return ok;
}
}  // namespace
}  // namespace bb::native
#endif
