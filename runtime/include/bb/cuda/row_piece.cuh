// Whole rows in registers, for kernels that are bound by memory: each row is read once and written once.
//
// GROUP threads hold a row: a warp's 32, or a block of GROUP threads. Piece p of a thread is VEC elements
// from column (p * GROUP + me) * VEC on, where me = threadIdx.x % GROUP; PIECES * GROUP * VEC columns fit.
// VEC elements are one access, and divide the number of columns, the leading dimension and the address in
// elements; 16 bytes are best.
#pragma once
#include "reduce.cuh"

namespace bb {

// Element v of piece p.
struct slot {
  int p, v;
};

template <int GROUP, int VEC, int PIECES>
struct row_piece {
  static_assert(VEC == 1 || VEC == 2 || VEC == 4 || VEC == 8, "an access moves 1, 2, 4 or 8 elements");
  float at[PIECES][VEC];

  BB_DEVICE float& operator[](slot s) { return at[s.p][s.v]; }
  BB_DEVICE float operator[](slot s) const { return at[s.p][s.v]; }
  static BB_DEVICE int col(slot s) {
    return (s.p * GROUP + static_cast<int>(threadIdx.x % GROUP)) * VEC + s.v;
  }

  // f(slot) for each element this thread holds, those beyond the row's end among them.
  template <class F>
  static BB_DEVICE void sweep(F f) {
    BB_UNROLL
    for (int p = 0; p < PIECES; ++p) BB_UNROLL
    for (int v = 0; v < VEC; ++v) f(slot{p, v});
  }
  // element = f(element, column)
  template <class F>
  BB_DEVICE void map(F f) {
    sweep([&](slot s) { at[s.p][s.v] = f(at[s.p][s.v], col(s)); });
  }
  // f of all elements and `value`; f(f(value, x), y) and so on.
  template <class F>
  BB_DEVICE float fold(float value, F f) const {
    sweep([&](slot s) { value = f(value, at[s.p][s.v]); });
    return value;
  }

  // A row of `cols` elements; beyond them `outside`, what changes no reduction.
  template <class T>
  BB_DEVICE void load(const T* row, int cols, float outside) {
    constexpr int BYTES = VEC * static_cast<int>(sizeof(T));
    static_assert(BYTES <= 16, "an access moves at most 16 bytes");
    BB_UNROLL
    for (int p = 0; p < PIECES; ++p) {
      const int first = col({p, 0});
      BB_UNROLL
      for (int v = 0; v < VEC; ++v) at[p][v] = outside;
      if (first >= cols) continue;
      const T* from = row + first;
      if constexpr (VEC == 1) {
        at[p][0] = static_cast<float>(*from);
      } else if constexpr (sizeof(T) == 4) {
        unsigned words[VEC];
        read_words<BYTES>(words, from);
        BB_UNROLL
        for (int v = 0; v < VEC; ++v) at[p][v] = __uint_as_float(words[v]);
      } else {
        unsigned pairs[VEC / 2];
        read_words<BYTES>(pairs, from);
        BB_UNROLL
        for (int v = 0; v < VEC; v += 2) unpack2(pairs[v / 2], at[p][v], at[p][v + 1], T());
      }
    }
  }
  template <class T>
  BB_DEVICE void store(T* row, int cols) const {
    constexpr int BYTES = VEC * static_cast<int>(sizeof(T));
    static_assert(BYTES <= 16, "an access moves at most 16 bytes");
    BB_UNROLL
    for (int p = 0; p < PIECES; ++p) {
      const int first = col({p, 0});
      if (first >= cols) continue;
      T* to = row + first;
      if constexpr (VEC == 1) {
        *to = T(at[p][0]);
      } else if constexpr (sizeof(T) == 4) {
        unsigned words[VEC];
        BB_UNROLL
        for (int v = 0; v < VEC; ++v) words[v] = __float_as_uint(at[p][v]);
        write_words<BYTES>(to, words);
      } else {
        unsigned pairs[VEC / 2];
        BB_UNROLL
        for (int v = 0; v < VEC; v += 2) pairs[v / 2] = pack2(at[p][v], at[p][v + 1], T());
        write_words<BYTES>(to, pairs);
      }
    }
  }

 private:
  template <int BYTES, int WORDS>
  static BB_DEVICE void read_words(unsigned (&words)[WORDS], const void* from) {
    if constexpr (BYTES == 16) {
      const uint4 v = bb_load_16(from);
      words[0] = v.x, words[1] = v.y, words[2] = v.z, words[3] = v.w;
    } else if constexpr (BYTES == 8) {
      const uint2 v = bb_load_8(from);
      words[0] = v.x, words[1] = v.y;
    } else {
      words[0] = *static_cast<const unsigned*>(from);
    }
  }
  template <int BYTES, int WORDS>
  static BB_DEVICE void write_words(void* to, const unsigned (&words)[WORDS]) {
    if constexpr (BYTES == 16) bb_store_16(to, make_uint4(words[0], words[1], words[2], words[3]));
    else if constexpr (BYTES == 8)
      bb_store_8(to, make_float2(__uint_as_float(words[0]), __uint_as_float(words[1])));
    else *static_cast<unsigned*>(to) = words[0];
  }
};

}  // namespace bb
