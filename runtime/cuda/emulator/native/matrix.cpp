// mma, ldmatrix and stmatrix, with the fragments of the PTX ISA: lane l has group l / 4 and place l % 4 in it.
#include <bb/cuda_emulator/numerics.hpp>
#include <cstring>

#include "machine.hpp"
#include "memory.hpp"
#include "profile.hpp"

namespace bb_emu {
namespace {

struct Mma {
  int shape;
  float* d;
  const u32 *a, *b;
  const float* c;
};

struct MatrixMove {
  u32 count;
  bool transposed;
  u32* registers;
  char* row;
};

enum class Element { Half, Bfloat16, Tf32 };

float element(Element type, u32 bits, u32 high) {
  const auto half = static_cast<uint16_t>(high != 0 ? bits >> 16 : bits);
  return type == Element::Half ? bb_emu_half_to_float(half) : bb_emu_bfloat16_to_float(half);
}

}  // namespace

static Element element_of(int shape) {
  switch (shape) {
    case BB_EMU_MMA_M16N8K16_BF16:
    case BB_EMU_MMA_M16N8K8_BF16: return Element::Bfloat16;
    case BB_EMU_MMA_M16N8K16_F16:
    case BB_EMU_MMA_M16N8K8_F16: return Element::Half;
    default: return Element::Tf32;
  }
}

static u32 depth_of(int shape) {
  switch (shape) {
    case BB_EMU_MMA_M16N8K16_BF16:
    case BB_EMU_MMA_M16N8K16_F16: return 16;
    case BB_EMU_MMA_M16N8K4_TF32: return 4;
    default: return 8;
  }
}

static void finish_mma(Collective& meeting, u32, Thread*) {
  ++counters.mma;
  const int shape = static_cast<Mma*>(meeting.data[0])->shape;
  const Element type = element_of(shape);
  const u32 depth = depth_of(shape);
  // A register of 16-bit elements holds two neighbours along k; one of tf32 a single element.
  const u32 a_columns = type == Element::Tf32 ? 4 : 8, per_register = a_columns / 4, k_registers = depth / a_columns;
  float a[16][16], b[16][8];
  double sum[16][8];
  for (u32 lane = 0; lane < 32; ++lane) {
    const Mma& mma = *static_cast<Mma*>(meeting.data[lane]);
    const u32 group = lane / 4, place = lane % 4;
    for (u32 i = 0; i < 4; ++i) sum[group + 8 * (i / 2)][2 * place + i % 2] = static_cast<double>(mma.c[i]);
    for (u32 k = 0; k < k_registers; ++k)
      for (u32 e = 0; e < per_register; ++e) {
        const u32 column = per_register * place + e + a_columns * k;
        const auto value = [&](u32 bits) {
          return type == Element::Tf32 ? bb_emu_read_tf32(bits) : element(type, bits, e);
        };
        a[group][column] = value(mma.a[2 * k]);
        a[group + 8][column] = value(mma.a[2 * k + 1]);
        b[column][group] = value(mma.b[k]);
      }
  }
  for (u32 row = 0; row < 16; ++row)
    for (u32 k = 0; k < depth; ++k)
      for (u32 column = 0; column < 8; ++column)
        sum[row][column] += static_cast<double>(a[row][k]) * static_cast<double>(b[k][column]);
  for (u32 lane = 0; lane < 32; ++lane) {
    const Mma& mma = *static_cast<Mma*>(meeting.data[lane]);
    for (u32 i = 0; i < 4; ++i) mma.d[i] = static_cast<float>(sum[lane / 4 + 8 * (i / 2)][2 * (lane % 4) + i % 2]);
  }
}

// Where in a matrix the two elements of a lane's register are.
static void position(const MatrixMove& move, u32 lane, u32 e, u32& row, u32& column) {
  row = move.transposed ? 2 * (lane % 4) + e : lane / 4;
  column = move.transposed ? lane / 4 : 2 * (lane % 4) + e;
}

static void finish_ldmatrix(Collective& meeting, u32, Thread*) {
  ++counters.ldmatrix;
  const MatrixMove& first = *static_cast<MatrixMove*>(meeting.data[0]);
  for (u32 matrix = 0; matrix < first.count; ++matrix)
    for (u32 lane = 0; lane < 32; ++lane) {
      u32 bits = 0;
      for (u32 e = 0; e < 2; ++e) {
        u32 row, column;
        position(first, lane, e, row, column);
        uint16_t value;
        memcpy(&value, static_cast<MatrixMove*>(meeting.data[8 * matrix + row])->row + 2 * column, 2);
        bits |= u32{value} << 16 * e;
      }
      static_cast<MatrixMove*>(meeting.data[lane])->registers[matrix] = bits;
    }
}

static void finish_stmatrix(Collective& meeting, u32, Thread*) {
  ++counters.stmatrix;
  const MatrixMove& first = *static_cast<MatrixMove*>(meeting.data[0]);
  for (u32 matrix = 0; matrix < first.count; ++matrix)
    for (u32 lane = 0; lane < 32; ++lane)
      for (u32 e = 0; e < 2; ++e) {
        u32 row, column;
        position(first, lane, e, row, column);
        const auto value = static_cast<uint16_t>(static_cast<MatrixMove*>(meeting.data[lane])->registers[matrix] >> 16 * e);
        memcpy(static_cast<MatrixMove*>(meeting.data[8 * matrix + row])->row + 2 * column, &value, 2);
      }
}

static void check_row(const char* name, const void* row, u64 place) {
  if (!shared.contains(row))
    report({.kind = "out of bounds", .access = name, .site = place, .place = nearest(row), .bytes = 16,
            .text = "the row is not in shared memory"},
           Then::Stop);
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_mma(int shape, float* d, const uint32_t* a, const uint32_t* b, const float* c, uint64_t site) {
  Mma mma{shape, d, a, b, c};
  const u64 place = BB_EMU_PLACE(site);
  if (options.profile && current->lane == 0) profile_mma(place);
  collective(finish_mma, "mma", ~0u, &mma, site, place, true);
}

void bb_emu_ldmatrix(int count, int transposed, uint32_t* registers, const void* row, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  if (current->lane < 8 * static_cast<u32>(count)) {
    check_row("ldmatrix", row, place);
    access(row, 16, Access::Read, place);
  }
  MatrixMove move{static_cast<u32>(count), transposed != 0, registers, static_cast<char*>(const_cast<void*>(row))};
  collective(finish_ldmatrix, "ldmatrix", ~0u, &move, site, place, true);
}

void bb_emu_stmatrix(int count, int transposed, const uint32_t* registers, void* row, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  if (current->lane < 8 * static_cast<u32>(count)) {
    check_row("stmatrix", row, place);
    access(row, 16, Access::Write, place);
  }
  MatrixMove move{static_cast<u32>(count), transposed != 0, const_cast<u32*>(registers), static_cast<char*>(row)};
  collective(finish_stmatrix, "stmatrix", ~0u, &move, site, place, true);
}
}
