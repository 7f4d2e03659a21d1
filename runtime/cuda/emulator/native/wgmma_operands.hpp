// The operands of wgmma in shared memory, as its descriptors lay them out.
// Source: the PTX ISA reference, "Asynchronous Warpgroup Level Matrix Multiply", and the canonical layouts of CUTLASS.
#pragma once
#include <bb/cuda_emulator/numerics.hpp>
#include <cstring>

#include "memory.hpp"

namespace bb_emu {

// A descriptor: bits 0-13 address, 16-29 leading and 32-45 stride distance, all in units of 16 bytes; 49-51 where a
// pattern begins, which has to be 0 here; 62-63 swizzle: none, 128, 64 or 32 bytes.
struct WgmmaTile {
  u32 start, leading, stride, span, base_offset;  // span: bytes of a row of the swizzle's pattern, 16 without one

  explicit WgmmaTile(u64 bits)
      : start(static_cast<u32>(bits & 0x3fff) << 4), leading(static_cast<u32>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<u32>(bits >> 32 & 0x3fff) << 4), span(16), base_offset(static_cast<u32>(bits >> 49 & 7)) {
    constexpr u32 spans[] = {16, 128, 64, 32};
    span = spans[bits >> 62];
  }
  // Where the element is in row r (of M or N) and column k. Eight neighbours along k are 16 bytes; along r, where the
  // tile is transposed.
  const char* place(u32 r, u32 k, bool transposed) const {
    u32 at;
    if (span == 16)
      at = r / 8 * stride + k / 8 * leading + (transposed ? k % 8 * 16 + r % 8 * 2 : r % 8 * 16 + k % 8 * 2);
    else if (transposed)
      at = r * 2 / span * leading + k / 8 * stride + k % 8 * span + r * 2 % span;
    else
      at = r / 8 * stride + r % 8 * span + k * 2;
    u32 address = start + at;
    address ^= (address >> 7 & (span / 16 - 1)) << 4;
    return shared_window + address;
  }
  const char* problem(bool transposed) const {
    if (base_offset != 0) return "a descriptor with a base offset is not supported";
    if (span == 16) return nullptr;
    // Along k a tile may begin some columns further in the first row of the pattern.
    if ((start >> 7 & (span / 16 - 1)) != 0 || start % span + (transposed ? 16u : 32u) > span)
      return "the tile does not begin where the pattern of its swizzle does, at a multiple of 1024, 512 or 256 bytes";
    return nullptr;
  }
};

struct WgmmaOperands {
  u32 n = 0;
  int flags = 0;
  bool a_in_registers = false;
  u64 a = 0, b = 0;

  bool operator==(const WgmmaOperands& other) const {
    return n == other.n && flags == other.flags && a_in_registers == other.a_in_registers && b == other.b &&
           (a_in_registers || a == other.a);
  }
  bool transposes(int operand) const { return (flags & operand) != 0; }

  // Why the operands are none, or null.
  const char* problem() const {
    if (n == 0 || n > 256 || n % 8 != 0) return "n is a multiple of 8 up to 256";
    if (a_in_registers && transposes(BB_EMU_WGMMA_TRANSPOSE_A)) return "A in registers cannot be transposed";
    // Descriptors have 18 bits of an address.
    if (shared.begin + shared.bytes > shared_window + (1 << 18))
      return "with this much static shared memory a descriptor is ambiguous in the emulator: use dynamic shared memory";
    const char* found = WgmmaTile(b).problem(transposes(BB_EMU_WGMMA_TRANSPOSE_B));
    if (found == nullptr && !a_in_registers) found = WgmmaTile(a).problem(transposes(BB_EMU_WGMMA_TRANSPOSE_A));
    if (found != nullptr) return found;
    bool inside = true;
    const auto look = [&](const void* piece) { inside = inside && shared.contains(piece); };
    for (u32 warp = 0; warp < 4; ++warp) for_pieces(16 * warp, look);
    return inside ? nullptr : "an operand is not in shared memory";
  }
  float element(uint16_t bits) const {
    return (flags & BB_EMU_WGMMA_BF16) != 0 ? bb_emu_bfloat16_to_float(bits) : bb_emu_half_to_float(bits);
  }
  float read_a(u32 row, u32 k) const { return read(WgmmaTile(a), row, k, transposes(BB_EMU_WGMMA_TRANSPOSE_A)); }
  float read_b(u32 column, u32 k) const { return read(WgmmaTile(b), column, k, transposes(BB_EMU_WGMMA_TRANSPOSE_B)); }

  // The pieces of 16 bytes that the warp reads whose rows of A begin at `first_row`: f(address).
  template <class F>
  void for_pieces(u32 first_row, F f) const {
    if (!a_in_registers) pieces(WgmmaTile(a), first_row, 16, transposes(BB_EMU_WGMMA_TRANSPOSE_A), f);
    pieces(WgmmaTile(b), 0, n, transposes(BB_EMU_WGMMA_TRANSPOSE_B), f);
  }

 private:
  float read(const WgmmaTile& tile, u32 r, u32 k, bool transposed) const {
    uint16_t bits;
    memcpy(&bits, tile.place(r, k, transposed), sizeof bits);
    return element(bits);
  }
  template <class F>
  static void pieces(const WgmmaTile& tile, u32 first, u32 count, bool transposed, F f) {
    for (u32 r = first; r < first + count; r += transposed ? 8 : 1)
      for (u32 k = 0; k < 16; k += transposed ? 1 : 8) f(tile.place(r, k, transposed));
  }
};

}  // namespace bb_emu
