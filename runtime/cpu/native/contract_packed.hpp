// contract_packed.hpp: contract_packed() of contract.hpp; instantiated per type in contract_*.cpp.
#pragma once
#include "contract_planes.hpp"

namespace bb::native {
namespace {
template <class T>
Status packed_planes(T* C, idx ldc, const T* A, idx group, idx stride, const T* B, idx ldb, idx M, idx lanes,
                     idx K, Mode mode, const T* scale) {
  constexpr idx w = W<T>;
  if (M <= 0 || lanes <= 0 || K <= 0) return contract(C, ldc, A, 0, 0, B, ldb, M, lanes, K, mode, scale);
  const idx vectors = ceil_div(lanes, w), panels = ceil_div(vectors, max_vectors);
  const idx widest = ceil_div(vectors, panels) * w;
  const idx KC = part(K, longest_piece<T>(widest), 4);
  const bool far = ldb > max_vectors * w && ldb * (idx)sizeof(T) % 512 == 0, tail = lanes % w != 0;
  T* packed = nullptr;
  if ((far || tail) && !(packed = scratch<T>(KC * widest, 3))) return out_of_memory;
  for (idx k0 = 0; k0 < K; k0 += KC) {
    const idx kn = K - k0 < KC ? K - k0 : KC;
    const T* a = A + k0 * group;
    for (idx p = 0, v = 0; p < panels; p++) {
      const int nv = (int)((vectors + p) / panels);
      const idx l0 = v * w, left = lanes - l0;
      v += nv;
      const T* b = B + k0 * ldb + l0;
      idx ldb_here = ldb;
      if (far || left < nv * w) {
        BB_PROFILE_PACKING
        ldb_here = nv * w;
        load_plane<T>(packed, ldb_here, kn, ldb_here, b, ldb, 1, kn, left);
        b = packed;
      }
      const idx most = std::min<idx>(group, max_rows(nv));
      for (idx m = 0; m < M;) {
        // A tile ends with its group: the next one starts `stride` further on.
        const idx g = m / group, r = m % group, rows = std::min({most, group - r, M - m});
        // What comes after it: the rest of the group, the next group's piece, or after the last that of the next
        // steps.
        const T *at = a + g * stride + r, *next = m + rows < M ? a + (m + rows) / group * stride : a + kn * group;
        multiply_tile(Tile<T>{C + m * ldc + l0, ldc, at, group, false, b, ldb_here, kn, k0 == 0 ? mode : accumulate,
                              scale ? scale + l0 : nullptr, next},
                      (int)rows, nv);
        m += rows;
      }
    }
  }
  return ok;
}
}  // namespace

#define BB_DEFINE_CONTRACT_PACKED(T)                                                                          \
  Status contract_packed(T* C, idx ldc, const T* A, idx group, idx stride, const T* B, idx ldb, idx M,        \
                         idx lanes, idx K, Mode mode, const T* scale) {                                       \
    return native::packed_planes<T>(C, ldc, A, group, stride, B, ldb, M, lanes, K, mode, scale);              \
  }
}  // namespace bb::native
