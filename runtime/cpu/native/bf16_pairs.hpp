// bf16_pairs.hpp: operands as pairs of bf16 along k, which AVX512-BF16 and AMX multiply: a pair is a word, its
// even k in the low half.
#pragma once
#include <array>
#include <bb/contract_bf16.hpp>

#if defined(BB_AVX512)
namespace bb::native {
namespace {
typedef Pair Pairs __attribute__((vector_size(64)));  // of 16 lanes
typedef Pair PairsUnaligned __attribute__((vector_size(64), aligned(2), may_alias));
typedef std::uint16_t Row16 __attribute__((vector_size(32), aligned(2), may_alias));

BB_INLINE Pairs load_pairs(const void* p) { return *(const PairsUnaligned*)p; }
BB_INLINE void store_pairs(void* p, Pairs v) { *(PairsUnaligned*)p = v; }

BB_INLINE Pairs paired(const float* even, const float* odd, idx n = 16) {
  return (Pairs)bb::paired(load(even, n), odd ? load(odd, n) : vf{});
}
BB_INLINE Pairs paired(const bf16* even, const bf16* odd, idx n = 16) {
  const __mmask16 valid = n >= 16 ? 0xffff : (1u << n) - 1;
  const auto row = [&](const bf16* p) BB_BODY {
    return p ? (Pairs)_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(valid, p)) : Pairs{};
  };
  return row(even) | row(odd) << 16;
}
// The pairs of two rows of 32 elements.
BB_INLINE void store_two_pairs(Pair* p, const bf16* even, const bf16* odd) {
  constexpr auto at = [](int first) {
    std::array<std::uint16_t, 32> places{};
    for (int i = 0; i < 32; i++) places[i] = (std::uint16_t)(first + i / 2 + i % 2 * 32);
    return places;
  };
  static constexpr auto low = at(0), high = at(16);
  const __m512i e = _mm512_loadu_si512(even), o = _mm512_loadu_si512(odd);
  store_pairs(p, (Pairs)_mm512_permutex2var_epi16(e, _mm512_loadu_si512(low.data()), o));
  store_pairs(p + 16, (Pairs)_mm512_permutex2var_epi16(e, _mm512_loadu_si512(high.data()), o));
}
// The pairs of 2 * n elements that lie next to each other, the last one perhaps half a pair: n2 elements.
BB_INLINE Pairs pairs_of(const float* p, idx n2) {
#if defined(__AVX512BF16__)
  return (Pairs)_mm512_cvtne2ps_pbh(load(p + 16, n2 - 16), load(p, n2));
#else
  Pairs r;
  const auto low = detail::narrow_bf16(load(p, n2)), high = detail::narrow_bf16(load(p + 16, n2 - 16));
  std::memcpy(&r, &low, 32), std::memcpy((char*)&r + 32, &high, 32);
  return r;
#endif
}
BB_INLINE Pairs pairs_of(const bf16* p, idx n2) {
  return (Pairs)_mm512_maskz_loadu_epi16(n2 >= 32 ? 0xffffffffu : n2 <= 0 ? 0 : (1u << n2) - 1, p);
}
BB_INLINE std::uint16_t bits_of_bf16(float x) { return from_float<bf16>(x).bits; }
BB_INLINE std::uint16_t bits_of_bf16(bf16 x) { return x.bits; }

// dst[j * ld + l] = (src[2 j * row + l], src[(2 j + 1) * row + l]), j < (K + 1) / 2 and l < lanes rounded up to
// 16; zeros for k >= K, and up to `pairs` pairs. Reads no element but the valid ones.
template <class S>
void pack_rows(Pair* dst, idx ld, const S* src, idx row, idx K, idx lanes, idx pairs) {
  for (idx j = 0; j < pairs; j++) {
    const S *even = src + 2 * j * row, *odd = 2 * j + 1 < K ? even + row : nullptr;
    Pair* d = dst + j * ld;
    idx l = 0;
    if constexpr (std::is_same_v<S, bf16>)
      if (odd)
        for (; l + 32 <= lanes; l += 32) store_two_pairs(d + l, even + l, odd + l);
    if (odd)
      for (; l + 16 <= lanes; l += 16) store_pairs(d + l, paired(even + l, odd + l));
    for (; l < lanes; l += 16)
      store_pairs(d + l, 2 * j >= K ? Pairs{} : paired(even + l, odd ? odd + l : nullptr, lanes - l));
  }
}

// The same from a plane of pairs: a copy.
inline void pack_rows(Pair* dst, idx ld, const Pair* src, idx row, idx K, idx lanes, idx pairs) {
  for (idx j = 0; j < pairs; j++)
    for (idx l = 0; l < lanes; l += 16)
      store_pairs(dst + j * ld + l, 2 * j < K ? load_pairs(src + j * row + l) : Pairs{});
}

// Where k, which is even, begins in B.
BB_INLINE const float* at_row(const float* B, idx ldb, idx k) { return B + k * ldb; }
BB_INLINE const Pair* at_row(const Pair* B, idx ldb, idx k) { return B + k / 2 * ldb; }

// A as store_packed_pairs() of pairs.hpp writes it; stride in pairs.
struct PackedRows {
  const Pair* p;
  idx group, stride;

  const Pair* at(idx m, idx j) const { return p + m / group * stride + j * group + m % group; }
};

// dst[m * ld + j] = (A[m * am + 2 j * ak], A[m * am + (2 j + 1) * ak]), m < M and j < (K + 1) / 2 rounded up to
// 16: zeros for k >= K.
template <class S>
void pack_columns(Pair* dst, idx ld, const S* A, idx am, idx ak, idx M, idx K) {
  const idx pairs = ceil_div(K, 2);
  if (ak == 1) {
    for (idx m = 0; m < M; m++)
      for (idx j = 0; j < pairs; j += 16) store_pairs(dst + m * ld + j, pairs_of(A + m * am + 2 * j, K - 2 * j));
    return;
  }
  idx whole_rows = 0;
  if (am == 1) {
    whole_rows = M / 16 * 16;
    for (idx m = 0; m < whole_rows; m += 16)
      for (idx j = 0; j < pairs; j += 16) {
        vf r[16];
        BB_UNROLL for (int u = 0; u < 16; u++) {
          const idx k = 2 * (j + u);
          const S *even = A + m + k * ak, *odd = k + 1 < K ? even + ak : nullptr;
          r[u] = k >= K ? vf{} : (vf)paired(even, odd);
        }
        transpose(r);
        BB_UNROLL for (int u = 0; u < 16; u++) store_pairs(dst + (m + u) * ld + j, (Pairs)r[u]);
      }
  }
  for (idx m = whole_rows; m < M; m++)
    for (idx j = 0; j < round_up(pairs, 16); j++) {
      const S* p = A + m * am + 2 * j * ak;
      const Pair even = 2 * j < K ? bits_of_bf16(*p) : 0, odd = 2 * j + 1 < K ? bits_of_bf16(p[ak]) : 0;
      dst[m * ld + j] = even | odd << 16;
    }
}

// The same with rows m0.. and pairs j0.. of a packed A. M <= 16.
inline void pack_columns(Pair* dst, idx ld, const PackedRows& A, idx m0, idx j0, idx M, idx K) {
  const idx pairs = ceil_div(K, 2);
  for (idx j = 0; j < pairs; j += 16) {
    vf r[16];
    for (idx u = 0; u < 16; u++) r[u] = vf{};
    for (idx m = 0, rows; m < M; m += rows) {
      rows = std::min(A.group - (m0 + m) % A.group, M - m);
      const Pair* p = A.at(m0 + m, j0 + j);
      for (idx u = 0; u < 16 && j + u < pairs; u++)
        r[u] = (vf)((Pairs)r[u] | (Pairs)_mm512_maskz_loadu_epi32(((1u << rows) - 1) << m, p + u * A.group - m));
    }
    transpose(r);
    for (idx m = 0; m < M; m++) store_pairs(dst + m * ld + j, (Pairs)r[m]);
  }
}
}  // namespace
}  // namespace bb::native
#endif
