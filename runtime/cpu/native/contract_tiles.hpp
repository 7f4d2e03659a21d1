// contract_tiles.hpp: the register tiles of contract(). C[MR x NV vectors] (mode) A . B, sums in registers
// over all K steps.
//
// A step of k costs MR broadcasts and NV loads for MR * NV multiply-adds; 6 x 4 has the fewest loads for a
// multiply-add within 32 registers.
#pragma once
#include <array>
#include <bb/contract.hpp>

namespace bb::native {
template <class T>
struct Tile {
  T* C;
  idx ldc;
  const T* A;
  idx lda;    // the stride that is not 1
  bool rows;  // A[m * lda + k], else A[m + k * lda]
  const T* B;
  idx ldb;
  idx K;
  Mode mode;
  const T* scale;
  const T* next;  // the A of the tile after this one, prefetched into L2 meanwhile; or nullptr
};

// A tile of mr <= max_rows(nv) rows and nv vectors: 1 or 2, and 3 or 4 where that is max_vectors.
void multiply_narrow(const Tile<float>& tile, int mr, int nv);
void multiply_wide(const Tile<float>& tile, int mr, int nv);
void multiply_narrow(const Tile<double>& tile, int mr, int nv);
void multiply_wide(const Tile<double>& tile, int mr, int nv);

// Internal: as inline functions their tables would be shared by all libraries of a process, whatever their
// targets.
namespace {
#if defined(BB_AVX512) || defined(__aarch64__)
inline constexpr int max_vectors = 4;
constexpr int max_rows(int vectors) { return vectors == 4 ? 6 : vectors == 3 ? 7 : vectors == 2 ? 10 : 14; }
#elif defined(__FMA__)  // 16 registers
inline constexpr int max_vectors = 2;
constexpr int max_rows(int vectors) { return vectors == 2 ? 6 : 12; }
#else                   // and one of them for products
inline constexpr int max_vectors = 2;
constexpr int max_rows(int vectors) { return vectors == 2 ? 4 : 8; }
#endif

// The optimiser must not derive further pointers or strides from x: it would keep one for each address of an
// unrolled loop, and
// spill them.
template <class X>
BB_INLINE X opaque(X x) {
  asm("" : "+r"(x));
  return x;
}

// A number that the optimiser takes for another one each time: of a loop that asks for it, it would make two.
BB_INLINE idx asked(idx x) {
  asm volatile("" : "+r"(x));
  return x;
}

template <class T, int MR, int NV>
__attribute__((noinline)) void multiply(const Tile<T>& t) {
  constexpr int w = W<T>;
  vec<T> c[MR][NV];
  T* C = t.C;
  const idx ldc = t.ldc;
  auto each = [&](auto f) BB_BODY {
    BB_UNROLL for (int i = 0; i < MR; i++) BB_UNROLL for (int j = 0; j < NV; j++)
        f(c[i][j], C + i * ldc + j * w, j);
  };
  each([](vec<T>& x, T*, int) BB_BODY { x = vec<T>{}; });
  if (t.mode == rescale) {
    vec<T> s[NV];
    BB_UNROLL for (int j = 0; j < NV; j++) s[j] = load(t.scale + j * w);
    each([&](vec<T>& x, T* p, int j) BB_BODY { x = load(p) * s[j]; });
  }
  // Three rows share a pointer: base, base + am and base + 2 * am are single addresses.
  constexpr int groups = (MR + 2) / 3;
  const bool rows = t.rows;
  const idx one = sizeof(T), lda = t.lda * one, ldb = opaque(t.ldb * one);  // in bytes
  const idx am = opaque(rows ? lda : one), ak = opaque(rows ? one : lda);
  const char *a[groups], *b = (const char*)t.B, *next = (const char*)(t.next ? t.next : t.A);
  BB_UNROLL for (int g = 0; g < groups; g++) a[g] = (const char*)t.A + 3 * g * am;
  auto step = [&]() BB_BODY {
    vec<T> row[NV];
    BB_UNROLL for (int j = 0; j < NV; j++) row[j] = load((const T*)b + j * w);
    BB_UNROLL for (int i = 0; i < MR; i++) {
      const vec<T> x = splat(*(const T*)(a[i / 3] + i % 3 * am));
      BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] += x * row[j];
    }
    b = opaque(b + ldb);
    BB_UNROLL for (int g = 0; g < groups; g++) a[g] = opaque(a[g] + ak);
    asm volatile("" ::: "memory");  // keeps the next step's loads below: there are no registers for them
  };
  const idx last = t.K < 2 ? 0 : 2;
  idx k = t.K - last;
  for (; k >= 4; k -= 4) {
    if constexpr (MR > 2) {
      if (asked(ak) == (idx)sizeof(T)) {  // by rows; or by columns with rows next to each other, which is as well
        // A cache line holds 16 steps of a row: every 4 steps two of up to 8 rows are prefetched. Thinly:
        // a burst stalls the loads.
        const idx stride = asked(am);  // 4 * am is an address's part: hoisted, it would be spilled to the stack
        const char* line = next + (k >> 2 & 3) * stride;
        prefetch<2>(line);
        if constexpr (MR > 4) prefetch<2>(line + 4 * stride);
        next += 4 * sizeof(T);
      } else {
        // In groups of rows (or where all columns of A lie in one line) these steps of the next tile.
        BB_UNROLL for (int u = 0; u < 4; u++) prefetch<2>(next), next = opaque(next + ak);
      }
    }
    BB_UNROLL for (int u = 0; u < 4; u++) step();
  }
  for (; k > 0; k--) step();
  // The last steps go row by row: a store of 64 bytes takes two cycles and more, which the next row's multiply-adds fill.
  // One after the other at the end, stores would take as long as two more steps.
  auto finish = [&](auto steps, auto accumulates) BB_BODY {
    constexpr idx count = decltype(steps)::value;
    T* to = C;
    const char* row = a[0];
    BB_UNROLL for (int i = 0; i < MR; i++) {
      BB_UNROLL for (idx u = 0; u < count; u++) {
        const vec<T> x = splat(*(const T*)(row + u * ak));
        BB_UNROLL for (int j = 0; j < NV; j++) c[i][j] += x * load((const T*)(b + u * ldb) + j * w);
      }
      // Additions, at the end: other units than the multiply-adds', and smaller errors.
      BB_UNROLL for (int j = 0; j < NV; j++) {
        if constexpr (decltype(accumulates)::value) c[i][j] = load(to + j * w) + c[i][j];
        store(to + j * w, c[i][j]);
      }
      to = opaque(to + ldc);
      row = opaque(row + am);
      asm volatile("" ::: "memory");
    }
  };
  const bool accumulates = t.mode == accumulate;
  if (last == 2) accumulates ? finish(fixed<2>{}, std::true_type{}) : finish(fixed<2>{}, std::false_type{});
  else accumulates ? finish(fixed<0>{}, std::true_type{}) : finish(fixed<0>{}, std::false_type{});
}

template <class T>
using Multiply = void (*)(const Tile<T>&);

// The functions for 1 .. max_rows(NV) rows.
template <class T, int NV>
constexpr auto multiplies() {
  return []<int... I>(std::integer_sequence<int, I...>) {
    return std::array<Multiply<T>, sizeof...(I)>{&multiply<T, I + 1, NV>...};
  }(std::make_integer_sequence<int, max_rows(NV)>{});
}

template <class T, int LEAST>
void multiply_either(const Tile<T>& tile, int mr, int nv) {
  static constexpr auto few = multiplies<T, LEAST>();
  static constexpr auto more = multiplies<T, LEAST + 1>();
  (nv == LEAST ? few[mr - 1] : more[mr - 1])(tile);
}

template <class T>
void multiply_tile(const Tile<T>& tile, int mr, int nv) {
  max_vectors > 2 && nv > 2 ? multiply_wide(tile, mr, nv) : multiply_narrow(tile, mr, nv);
}
}  // namespace
}  // namespace bb::native

// Each in a part of a source (parts.hpp).
#define BB_DEFINE_NARROW(T) \
  void multiply_narrow(const Tile<T>& tile, int mr, int nv) { multiply_either<T, 1>(tile, mr, nv); }
#define BB_DEFINE_WIDE(T)                                       \
  void multiply_wide(const Tile<T>& tile, int mr, int nv) {     \
    if constexpr (max_vectors > 2) multiply_either<T, 3>(tile, mr, nv); \
  }
