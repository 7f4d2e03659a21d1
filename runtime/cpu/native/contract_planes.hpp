// contract_planes.hpp: contract() of contract.hpp, blocked for the caches; instantiated per type in
// contract_*.cpp.
//
// for pieces of k (KC), blocks of rows (MC), panels of up to max_vectors vectors of lanes:
//   a panel of B (KC x P <= 2 L1) stays in L1 and L2 while a block of A (MC x KC <= 1/2 of L2) streams by. A register
//   tile reads its panel in order, which the second cache keeps up with; short pieces would read and write C more
//   often, which costs more.
#pragma once
#include <algorithm>
#include <bb/plane.hpp>
#include <bb/profile.hpp>
#include "contract_tiles.hpp"
#if defined(__linux__)
#include <unistd.h>
#endif

namespace bb::native {
namespace {
struct Caches {
  idx l1 = 32 << 10, l2 = 512 << 10;  // bytes

  Caches() {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
    const long first = sysconf(_SC_LEVEL1_DCACHE_SIZE), second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    if (first >= 8 << 10) l1 = first < 128 << 10 ? first : 128 << 10;
    if (second >= 128 << 10) l2 = second < 4 << 20 ? second : 4 << 20;
#endif
  }
};
const Caches& caches() {
  static const Caches sizes;
  return sizes;
}

// The largest size of nearly equal parts of n, none above `most`, a multiple of `unit`.
idx part(idx n, idx most, idx unit) { return n <= most ? n : round_up(ceil_div(n, ceil_div(n, most)), unit); }

// The largest KC for a panel of so many lanes.
template <class T>
idx longest_piece(idx lanes) {
  return std::max<idx>(16, std::min(caches().l1 * 2, caches().l2 / 4) / (lanes * (idx)sizeof(T)) / 4 * 4);
}

template <class T>
Status empty_sums(T* C, idx ldc, idx M, idx lanes, Mode mode, const T* scale) {
  for (idx m = 0; m < M; m++)
    for (idx l = 0; l < lanes; l += W<T>) {
      T* p = C + m * ldc + l;
      if (mode == overwrite) store(p, vec<T>{});
      else if (mode == rescale) store(p, load(p) * load(scale + l));
    }
  return ok;
}

template <class T, class S>
Status contract_planes(T* C, idx ldc, const S* A, idx am, idx ak, const T* B, idx ldb, idx M, idx lanes,
                       idx K, Mode mode, const T* scale) {
  constexpr idx w = W<T>;
  if (M <= 0 || lanes <= 0) return ok;
  if (K <= 0) return empty_sums(C, ldc, M, lanes, mode, scale);
  if (M == 1) am = 1;
  else if (K == 1) ak = 1;
  const bool convert = !std::is_same_v<T, S>, pack_a = convert || (ak != 1 && am != 1),
             rows = pack_a || ak == 1;
  const idx vectors = ceil_div(lanes, w), panels = ceil_div(vectors, max_vectors);
  const idx widest = ceil_div(vectors, panels) * w;
  const idx KC = part(K, longest_piece<T>(widest), 4);
  const idx MC = part(M, std::max<idx>(64, caches().l2 / 2 / (KC * (idx)sizeof(T))), 24);
  // Rows of B at a large power of two of bytes fall into few sets of L1; copying pays from some rows of A on.
  const bool far = ldb > max_vectors * w && ldb * (idx)sizeof(T) % 512 == 0;
  const bool pack_b = ldb != widest && far && K > 8 && M >= 12;
  const bool tail = lanes % w != 0;
  T *packed_a = nullptr, *packed_b = nullptr;
  const idx lda_packed = KC + (KC % 64 == 0 ? 64 / (idx)sizeof(T) : 0);
  if (pack_a || pack_b || tail) {
    const idx size_b = KC * widest, size_a = pack_a ? MC * round_up(lda_packed, w) : 0;
    packed_b = scratch<T>(size_b + size_a, 3);
    if (!packed_b) return out_of_memory;
    packed_a = packed_b + size_b;
  }
  for (idx k0 = 0; k0 < K; k0 += KC) {
    const idx kn = K - k0 < KC ? K - k0 : KC;
    const Mode now = k0 == 0 ? mode : accumulate;
    for (idx m0 = 0; m0 < M; m0 += MC) {
      const idx mn = M - m0 < MC ? M - m0 : MC;
      const T* a;
      idx lda;
      if (pack_a) {
        BB_PROFILE_PACKING
        lda = round_up(lda_packed, w);
        load_plane<T>(packed_a, lda, mn, kn, A + m0 * am + k0 * ak, am, ak, mn, kn);
        a = packed_a;
      } else {
        a = (const T*)A + m0 * am + k0 * ak;
        lda = rows ? am : ak;
      }
      for (idx p = 0, v = 0; p < panels; p++) {
        const int nv = (int)((vectors + p) / panels);
        const idx l0 = v * w, left = lanes - l0;
        v += nv;
        const T* b = B + k0 * ldb + l0;
        idx ldb_here = ldb;
        if (pack_b || left < nv * w) {
          BB_PROFILE_PACKING
          ldb_here = nv * w;
          load_plane<T>(packed_b, ldb_here, kn, ldb_here, b, ldb, 1, kn, left);
          b = packed_b;
        }
        const idx tiles = ceil_div(mn, max_rows(nv));
        for (idx t = 0, m = 0; t < tiles; t++) {
          const int mr = (int)((mn - m) / (tiles - t));
          const T *at = a + (rows ? m * lda : m), *next = nullptr;
          if (p == 0 && !pack_a)
            next = t + 1 < tiles ? at + (rows ? mr * lda : mr) : a + (rows ? kn : kn * lda);
          multiply_tile(Tile<T>{C + (m0 + m) * ldc + l0, ldc, at, lda, rows, b, ldb_here, kn, now,
                                scale ? scale + l0 : nullptr, next},
                        mr, nv);
          m += mr;
        }
      }
    }
  }
  return ok;
}

}  // namespace

#define BB_DEFINE_CONTRACT(T, S)                                                                           \
  Status contract(T* C, idx ldc, const S* A, idx am, idx ak, const T* B, idx ldb, idx M, idx lanes, idx K, \
                  Mode mode, const T* scale) {                                                             \
    return native::contract_planes<T, S>(C, ldc, A, am, ak, B, ldb, M, lanes, K, mode, scale);             \
  }
}  // namespace bb::native
