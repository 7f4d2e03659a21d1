// amx_tiles.hpp: the tile instructions that contract_tiles_bf16() needs, and the same in plain C++.
//
// A tile is 16 rows of 64 bytes: of 16 floats (sums), 32 bf16 (A) or 16 pairs of bf16 (B). There are eight.
//     begin(), end()             around a contraction
//     zero<t>()                  tile t = 0
//     load<t>(p, bytes)          tile t = 16 rows at p, `bytes` apart
//     store<t>(p, bytes)         and back
//     multiply<c, a, b>()        tile c[i][l] += sum over j < 16 of the pair a[i][j] times the pair b[j][l]
// Hardware's instructions need -mamx-tile -mamx-bf16, and the system's permission: permitted().
#pragma once
#include <bb/convert.hpp>
#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace bb::native {
namespace {
// What tdpbf16ps computes, up to the order of its sums. One object is the tiles of one thread.
struct SoftwareTiles {
  unsigned char memory[8][16][64];

  void begin() { std::memset(memory, 0xff, sizeof memory); }  // NaN: nothing is read that was not written
  void end() {}
  template <int t>
  void zero() {
    std::memset(memory[t], 0, sizeof memory[t]);
  }
  template <int t>
  void load(const void* p, idx bytes) {
    for (int i = 0; i < 16; i++) std::memcpy(memory[t][i], (const char*)p + i * bytes, 64);
  }
  template <int t>
  void store(void* p, idx bytes) const {
    for (int i = 0; i < 16; i++) std::memcpy((char*)p + i * bytes, memory[t][i], 64);
  }
  template <int c, int a, int b>
  void multiply() {
    for (int i = 0; i < 16; i++) {
      float sums[16];
      std::memcpy(sums, memory[c][i], 64);
      for (int j = 0; j < 16; j++)
        for (int l = 0; l < 16; l++)
          for (int half = 0; half < 2; half++) sums[l] += at(memory[a][i], 2 * j + half) * at(memory[b][j], 2 * l + half);
      std::memcpy(memory[c][i], sums, 64);
    }
  }

 private:
  static float at(const unsigned char* row, int i) {
    bf16 x;
    std::memcpy(&x, row + 2 * i, 2);
    return to_float(x);
  }
};

#if defined(__AMX_TILE__) && defined(__AMX_BF16__)
// Assembly, for the compilers' own functions are macros that take numbers and no constants.
struct HardwareTiles {
  // Linux gives AMX only to processes that ask: ARCH_REQ_XCOMP_PERM for XFEATURE_XTILEDATA. Once it is refused,
  // the instructions fault.
  static bool permitted() {
#if defined(__linux__) && defined(SYS_arch_prctl)
    static const bool granted = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
    return granted;
#else
    return false;
#endif
  }
  // Eight tiles of 16 x 64 bytes. A released thread has no tile state for the system to save.
  void begin() {
    struct alignas(64) Configuration {
      std::uint8_t palette = 1, start = 0, reserved[14] = {};
      std::uint16_t bytes[16] = {};
      std::uint8_t rows[16] = {};
    } all;
    for (int t = 0; t < 8; t++) all.bytes[t] = 64, all.rows[t] = 16;
    _tile_loadconfig(&all);
  }
  void end() { _tile_release(); }
  template <int t>
  BB_INLINE void zero() {
    asm volatile("tilezero %%tmm%c0" ::"n"(t));
  }
  template <int t>
  BB_INLINE void load(const void* p, idx bytes) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(p), "r"(bytes), "n"(t) : "memory");
  }
  template <int t>
  BB_INLINE void store(void* p, idx bytes) const {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(p), "r"(bytes), "n"(t) : "memory");
  }
  template <int c, int a, int b>
  BB_INLINE void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"n"(c), "n"(a), "n"(b));
  }
};
#endif
}  // namespace
}  // namespace bb::native
