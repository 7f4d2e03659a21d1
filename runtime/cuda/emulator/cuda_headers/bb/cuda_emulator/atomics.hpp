// Atomic operations. Threads do not preempt each other, so that an announced read-modify-write is atomic.
#pragma once
#include <bb/cuda_emulator/hooks.hpp>

#if BB_EMU_CHECK
#define BB_EMU_ATOMIC_PART(ADDRESS) bb_emu_atomic_part(ADDRESS)
#else
#define BB_EMU_ATOMIC_PART(ADDRESS) ((void)0)
#endif

// The value's type is not deduced: atomicAdd(&total, 1) on a float adds 1.0f.
template <class T>
struct BbEmuSame {
  using type = T;
};
template <class T>
using bb_emu_same = typename BbEmuSame<T>::type;

#define BB_EMU_ATOMIC_OF(NAME, EXPRESSION)                                                    \
  template <class T>                                                                          \
  inline T NAME(T* address, bb_emu_same<T> value, BB_EMU_LINE) {             \
    bb_emu_atomic(address, sizeof(T), line);                                                  \
    BB_EMU_ATOMIC_PART(address);                                                              \
    const T old = *address;                                                                   \
    *address = static_cast<T>(EXPRESSION);                                                    \
    BB_EMU_ATOMIC_PART(nullptr);                                                              \
    return old;                                                                               \
  }                                                                                           \
  template <class T>                                                                          \
  inline T NAME(volatile T* address, bb_emu_same<T> value, BB_EMU_LINE) {    \
    return NAME(const_cast<T*>(address), value, line);                                        \
  }                                                                                           \
  template <class T>                                                                          \
  inline T NAME##_block(T* address, bb_emu_same<T> value, BB_EMU_LINE) {     \
    return NAME(address, value, line);                                                        \
  }                                                                                           \
  template <class T>                                                                          \
  inline T NAME##_system(T* address, bb_emu_same<T> value, BB_EMU_LINE) {    \
    return NAME(address, value, line);                                                        \
  }
BB_EMU_ATOMIC_OF(atomicAdd, old + value)
BB_EMU_ATOMIC_OF(atomicSub, old - value)
BB_EMU_ATOMIC_OF(atomicExch, value)
BB_EMU_ATOMIC_OF(atomicMin, value < old ? value : old)
BB_EMU_ATOMIC_OF(atomicMax, value > old ? value : old)
BB_EMU_ATOMIC_OF(atomicAnd, old& value)
BB_EMU_ATOMIC_OF(atomicOr, old | value)
BB_EMU_ATOMIC_OF(atomicXor, old ^ value)
BB_EMU_ATOMIC_OF(atomicInc, old >= value ? T(0) : T(old + 1))
BB_EMU_ATOMIC_OF(atomicDec, old == T(0) || old > value ? value : T(old - 1))
#undef BB_EMU_ATOMIC_OF

template <class T>
inline T atomicCAS(T* address, bb_emu_same<T> expected, bb_emu_same<T> value, BB_EMU_LINE) {
  bb_emu_atomic(address, sizeof(T), line);
  BB_EMU_ATOMIC_PART(address);
  const T old = *address;
  if (old == expected) *address = value;
  BB_EMU_ATOMIC_PART(nullptr);
  return old;
}
template <class T>
inline T atomicCAS(volatile T* address, bb_emu_same<T> expected, bb_emu_same<T> value, BB_EMU_LINE) {
  return atomicCAS(const_cast<T*>(address), expected, value, line);
}
