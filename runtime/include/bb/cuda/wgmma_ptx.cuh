// The inline PTX of hopper.cuh's products: one instruction for each N, with a list of its N / 2 accumulators.
#pragma once

#define BB_WGMMA_LIST_4 \
  "%0,%1,%2,%3"
#define BB_WGMMA_LIST_8 \
  "%0,%1,%2,%3,%4,%5,%6,%7"
#define BB_WGMMA_LIST_16 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define BB_WGMMA_LIST_32 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31"
#define BB_WGMMA_LIST_64 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48," \
  "%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define BB_WGMMA_LIST_128 \
  "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25," \
  "%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48," \
  "%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,%64,%65,%66,%67,%68,%69,%70,%71," \
  "%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94," \
  "%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114," \
  "%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

#define BB_WGMMA_OUTPUTS_4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define BB_WGMMA_OUTPUTS_8(i) BB_WGMMA_OUTPUTS_4(i), BB_WGMMA_OUTPUTS_4(i + 4)
#define BB_WGMMA_OUTPUTS_16(i) BB_WGMMA_OUTPUTS_8(i), BB_WGMMA_OUTPUTS_8(i + 8)
#define BB_WGMMA_OUTPUTS_32(i) BB_WGMMA_OUTPUTS_16(i), BB_WGMMA_OUTPUTS_16(i + 16)
#define BB_WGMMA_OUTPUTS_64(i) BB_WGMMA_OUTPUTS_32(i), BB_WGMMA_OUTPUTS_32(i + 32)
#define BB_WGMMA_OUTPUTS_128(i) BB_WGMMA_OUTPUTS_64(i), BB_WGMMA_OUTPUTS_64(i + 64)

// Operands after the accumulators: descriptors (or four registers and one descriptor), then whether to accumulate.
#define BB_WGMMA_TILES(SIZE, N, TYPE, A, B, C, D, E)                                                              \
  if constexpr (SIZE == N / 2)                                                                                    \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #C ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32."     \
                 TYPE "." TYPE " {" BB_WGMMA_LIST_##A "}, %" #A ", %" #B ", p, 1, 1, %" #D ", %" #E "; }"            \
                 : BB_WGMMA_OUTPUTS_##A(0)                                                                        \
                 : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)), "n"(TRANSPOSE_A), "n"(TRANSPOSE_B) : "memory");
#define BB_WGMMA_REGISTERS(SIZE, N, TYPE, A, B, C, D, E, F, G)                                                    \
  if constexpr (SIZE == N / 2)                                                                                    \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" #F ", 0; wgmma.mma_async.sync.aligned.m64n" #N "k16.f32."     \
                 TYPE "." TYPE " {" BB_WGMMA_LIST_##A "}, {%" #A ",%" #B ",%" #C ",%" #D "}, %" #E ", p, 1, 1, %" #G "; }" \
                 : BB_WGMMA_OUTPUTS_##A(0)                                                                        \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate)),         \
                   "n"(TRANSPOSE_B) : "memory");
#define BB_WGMMA(NAME, TYPE)                                                                                      \
  template <bool TRANSPOSE_A = false, bool TRANSPOSE_B = false, int SIZE>                                         \
  BB_DEVICE void NAME(float (&d)[SIZE], unsigned long long a, unsigned long long b, bool accumulate = true) {     \
    static_assert(BB_WGMMA_SIZE(SIZE), "N is 8, 16, 32, 64, 128 or 256");                                         \
    BB_WGMMA_TILES(SIZE, 8, TYPE, 4, 5, 6, 7, 8) \
    BB_WGMMA_TILES(SIZE, 16, TYPE, 8, 9, 10, 11, 12) \
    BB_WGMMA_TILES(SIZE, 32, TYPE, 16, 17, 18, 19, 20) \
    BB_WGMMA_TILES(SIZE, 64, TYPE, 32, 33, 34, 35, 36) \
    BB_WGMMA_TILES(SIZE, 128, TYPE, 64, 65, 66, 67, 68) \
    BB_WGMMA_TILES(SIZE, 256, TYPE, 128, 129, 130, 131, 132) \
  }                                                                                                               \
  template <bool TRANSPOSE_B = false, int SIZE>                                                                   \
  BB_DEVICE void NAME(float (&d)[SIZE], const unsigned (&a)[4], unsigned long long b, bool accumulate = true) {   \
    static_assert(BB_WGMMA_SIZE(SIZE), "N is 8, 16, 32, 64, 128 or 256");                                         \
    BB_WGMMA_REGISTERS(SIZE, 8, TYPE, 4, 5, 6, 7, 8, 9, 10) \
    BB_WGMMA_REGISTERS(SIZE, 16, TYPE, 8, 9, 10, 11, 12, 13, 14) \
    BB_WGMMA_REGISTERS(SIZE, 32, TYPE, 16, 17, 18, 19, 20, 21, 22) \
    BB_WGMMA_REGISTERS(SIZE, 64, TYPE, 32, 33, 34, 35, 36, 37, 38) \
    BB_WGMMA_REGISTERS(SIZE, 128, TYPE, 64, 65, 66, 67, 68, 69, 70) \
    BB_WGMMA_REGISTERS(SIZE, 256, TYPE, 128, 129, 130, 131, 132, 133, 134) \
  }
#define BB_WGMMA_SIZE(SIZE) (SIZE == 4 || SIZE == 8 || SIZE == 16 || SIZE == 32 || SIZE == 64 || SIZE == 128)
BB_WGMMA(bb_wgmma_bf16, "bf16")
BB_WGMMA(bb_wgmma_f16, "f16")
