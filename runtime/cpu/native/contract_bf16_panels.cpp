// contract_bf16_panels() of contract_bf16.hpp: few rows, and B in groups of columns, in pairs along k. B is one stream
// at the speed of memory: a pair is two products of an instruction, or two floats by one operation each.
#include <algorithm>
#include <bb/profile.hpp>
#include "bf16_pairs.hpp"
#include "contract_few.hpp"
#include "processor.hpp"

namespace bb {
namespace {
using native::groups_of_rows;

// Into L2, as in contract_panels(): only where the multiplications of a line of B take as long as its way from memory.
constexpr idx ahead = 16384 / sizeof(Pair), line = 64 / sizeof(Pair);

template <int MR, int NV>
BB_INLINE void end_panel(const vf (&c)[MR][NV], float* C, idx ldc, Mode mode) {
  BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int j = 0; j < NV; j++) {
    float* p = C + i * ldc + j * W<float>;
    store(p, mode == overwrite ? c[i][j] : load(p) + c[i][j]);
  }
}

#if defined(BB_AVX512) && defined(__AVX512BF16__)
// The rows of A are pairs too, lda bytes apart.
struct InBf16 {
  const char* A;
  idx lda;
  static constexpr int vectors(int) { return 2; }
  InBf16 from(idx m) const { return {A + m * lda, lda}; }

  template <int MR, int NV>
  static __attribute__((noinline)) void panel(float* C, idx ldc, const InBf16& rows, const Pair* B, idx step, idx pairs,
                                              Mode mode) {
    const char* A = rows.A;
    const idx lda = rows.lda;
    vf c[MR][NV];
    BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] = vf{};
    for (idx k = 0; k < pairs; k++, B += step) {
      if constexpr (MR > 6) BB_UNROLL for (idx l = 0; l < NV * W<float>; l += line) prefetch<2>(B + ahead + l);
      native::Pairs b[NV];
      BB_UNROLL for (int j = 0; j < NV; j++) b[j] = native::load_pairs(B + j * W<float>);
      BB_UNROLL for (int i = 0; i < MR; i++) {
        int pair;
        std::memcpy(&pair, A + i * lda + k * sizeof(Pair), sizeof pair);
        const auto a = (__m512bh)_mm512_set1_epi32(pair);
        BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] = (vf)_mm512_dpbf16_ps((__m512)c[i][j], a, (__m512bh)b[j]);
      }
    }
    end_panel(c, C, ldc, mode);
  }
};
#endif

// The rows of A are floats, an even number of them.
struct InFloat {
  const float* A;
  idx lda;
#if defined(BB_AVX512) || defined(__aarch64__)
  static constexpr int vectors(int) { return 2; }
#else
  static constexpr int vectors(int rows) { return rows <= 5 ? 2 : 1; }  // 16 registers
#endif
  InFloat from(idx m) const { return {A + m * lda, lda}; }

  template <int MR, int NV>
  static __attribute__((noinline)) void panel(float* C, idx ldc, const InFloat& rows, const Pair* B, idx step, idx pairs,
                                              Mode mode) {
    const float* A = rows.A;
    const idx lda = rows.lda;
    vf c[MR][NV];
    BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] = vf{};
    for (idx k = 0; k < pairs; k++, B += step) {
      if constexpr (MR > 3) BB_UNROLL for (idx l = 0; l < NV * W<float>; l += line) prefetch<2>(B + ahead + l);
      vf even[NV], odd[NV];
      BB_UNROLL for (int j = 0; j < NV; j++) {
        const auto both = (detail::words)*(const detail::pairs_unaligned*)(B + j * W<float>);
        even[j] = (vf)(both << 16), odd[j] = (vf)(both & 0xffff0000u);
      }
      BB_UNROLL for (int i = 0; i < MR; i++) {
        const vf first = splat(A[i * lda + 2 * k]), second = splat(A[i * lda + 2 * k + 1]);
        BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] += first * even[j];
        BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] += second * odd[j];
      }
    }
    end_panel(c, C, ldc, mode);
  }
};

template <int MR, class Way>
void panels_of(float* C, idx ldc, const Way& rows, const Pair* B, idx group, idx stride, idx N, idx pairs, Mode mode) {
  constexpr int NV = Way::vectors(MR);
  constexpr idx w = W<float>;
  for (idx n = 0; n < N; n += group, B += stride) {
    const idx end = std::min(group, round_up(N - n, w));
    idx j = 0;
    for (; j + NV * w <= end; j += NV * w)
      Way::template panel<MR, NV>(C + n + j, ldc, rows, B + j, group, pairs, mode);
    for (; j < end; j += w) Way::template panel<MR, 1>(C + n + j, ldc, rows, B + j, group, pairs, mode);
  }
}

template <class Way>
Status all_panels(float* C, idx ldc, const Way& rows, const bf16* B, idx group, idx stride, idx M, idx N, idx pairs,
                  Mode mode) {
  groups_of_rows(M, [&](auto count, idx m) {
    panels_of<count()>(C + m * ldc, ldc, rows.from(m), (const Pair*)B, group, stride / 2, N, pairs, mode);
  });
  return ok;
}

template <class S>
Status panels(float* C, idx ldc, const S* A, idx am, idx ak, const bf16* B, idx group, idx stride, idx M, idx N, idx K,
              Mode mode, const float* scale) {
  if (mode == rescale) {
    for (idx m = 0; m < M; m++)
      for (idx n = 0; n < N; n += W<float>) store(C + m * ldc + n, load(C + m * ldc + n) * scale[m]);
    mode = accumulate;
  }
  const idx pairs = ceil_div(K, 2);
#if defined(BB_AVX512) && defined(__AVX512BF16__)
  if (native::pairs_are_fast()) {
    // Rows at a multiple of a page fall into one set of L1.
    const bool spread = M <= 2 || am * (idx)sizeof(S) % 4096 != 0;
    if (std::is_same_v<S, bf16> && ak == 1 && K % 2 == 0 && spread)
      return all_panels(C, ldc, InBf16{(const char*)A, am * (idx)sizeof(S)}, B, group, stride, M, N, pairs, mode);
    const idx ld = plane_ld<float>(pairs);
    Pair* const rows = scratch<Pair>(M * ld, 3);
    if (!rows) return out_of_memory;
    {
      BB_PROFILE_PACKING
      native::pack_columns(rows, ld, A, am, ak, M, K);
    }
    return all_panels(C, ldc, InBf16{(const char*)rows, ld * (idx)sizeof(Pair)}, B, group, stride, M, N, pairs, mode);
  }
#endif
  const idx ld = plane_ld<float>(2 * pairs);
  float* const rows = scratch<float>(M * ld, 3);
  if (!rows) return out_of_memory;
  {
    BB_PROFILE_PACKING
    load_plane<float>(rows, ld, M, 2 * pairs, A, am, ak, M, K);
  }
  return all_panels(C, ldc, InFloat{rows, ld}, B, group, stride, M, N, pairs, mode);
}
}  // namespace

#define BB_DEFINE(S)                                                                                               \
  Status contract_bf16_panels(float* C, idx ldc, const S* A, idx am, idx ak, const bf16* B, idx group, idx stride, \
                              idx M, idx N, idx K, Mode mode, const float* scale) {                                \
    return panels(C, ldc, A, am, ak, B, group, stride, M, N, K, mode, scale);                                      \
  }
BB_DEFINE(bf16)
BB_DEFINE(float)
}  // namespace bb
