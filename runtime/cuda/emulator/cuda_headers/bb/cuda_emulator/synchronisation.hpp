// Barriers, fences, shuffles and votes under CUDA's names.
#pragma once
#include <bb/cuda_emulator/hooks.hpp>

inline void __syncthreads(BB_EMU_LINE) { bb_emu_barrier(line); }
inline int __syncthreads_count(int predicate, BB_EMU_LINE) { return bb_emu_barrier_reduce(0, predicate, line); }
inline int __syncthreads_and(int predicate, BB_EMU_LINE) { return bb_emu_barrier_reduce(1, predicate, line); }
inline int __syncthreads_or(int predicate, BB_EMU_LINE) { return bb_emu_barrier_reduce(2, predicate, line); }
inline void __syncwarp(unsigned mask = 0xffffffffu, BB_EMU_LINE) { bb_emu_syncwarp(mask, line); }

inline void __threadfence() { bb_emu_fence(BB_EMU_FENCE_DEVICE); }
inline void __threadfence_system() { bb_emu_fence(BB_EMU_FENCE_DEVICE); }
inline void __threadfence_block() { bb_emu_fence(BB_EMU_FENCE_BLOCK); }

template <class T>
inline uint64_t bb_emu_pack(T value) {
  static_assert(sizeof(T) <= 8, "lanes exchange values of at most eight bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <class T>
inline T bb_emu_unpack(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

#define BB_EMU_SHUFFLE_OF(NAME, KIND)                                                                        \
  template <class T>                                                                                         \
  inline T NAME(unsigned mask, T value, int argument, int width = 32, BB_EMU_LINE) {                         \
    return bb_emu_unpack<T>(bb_emu_shuffle(KIND, mask, bb_emu_pack(value), static_cast<uint32_t>(argument),  \
                                           static_cast<uint32_t>(width), nullptr, line));                    \
  }
BB_EMU_SHUFFLE_OF(__shfl_sync, BB_EMU_SHUFFLE_INDEX)
BB_EMU_SHUFFLE_OF(__shfl_up_sync, BB_EMU_SHUFFLE_UP)
BB_EMU_SHUFFLE_OF(__shfl_down_sync, BB_EMU_SHUFFLE_DOWN)
BB_EMU_SHUFFLE_OF(__shfl_xor_sync, BB_EMU_SHUFFLE_XOR)
#undef BB_EMU_SHUFFLE_OF

inline unsigned __ballot_sync(unsigned mask, int predicate, BB_EMU_LINE) {
  return bb_emu_vote(BB_EMU_VOTE_BALLOT, mask, predicate, line);
}
inline int __all_sync(unsigned mask, int predicate, BB_EMU_LINE) {
  return static_cast<int>(bb_emu_vote(BB_EMU_VOTE_ALL, mask, predicate, line));
}
inline int __any_sync(unsigned mask, int predicate, BB_EMU_LINE) {
  return static_cast<int>(bb_emu_vote(BB_EMU_VOTE_ANY, mask, predicate, line));
}
inline int __uni_sync(unsigned mask, int predicate, BB_EMU_LINE) {
  return static_cast<int>(bb_emu_vote(BB_EMU_VOTE_UNIFORM, mask, predicate, line));
}
inline unsigned __activemask() { return bb_emu_activemask(); }

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value, BB_EMU_LINE) {
  return bb_emu_match(0, mask, bb_emu_pack(value), line);
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* predicate, BB_EMU_LINE) {
  const unsigned same = bb_emu_match(1, mask, bb_emu_pack(value), line);
  *predicate = same != 0;
  return same;
}

#define BB_EMU_REDUCE_OF(NAME, TYPE, OPERATION)                                             \
  inline TYPE NAME(unsigned mask, TYPE value, BB_EMU_LINE) {                                \
    return static_cast<TYPE>(bb_emu_reduce(OPERATION, mask, static_cast<uint32_t>(value), line)); \
  }
BB_EMU_REDUCE_OF(__reduce_add_sync, unsigned, BB_EMU_REDUCE_ADD)
BB_EMU_REDUCE_OF(__reduce_add_sync, int, BB_EMU_REDUCE_ADD)
BB_EMU_REDUCE_OF(__reduce_min_sync, unsigned, BB_EMU_REDUCE_MIN_UNSIGNED)
BB_EMU_REDUCE_OF(__reduce_min_sync, int, BB_EMU_REDUCE_MIN_SIGNED)
BB_EMU_REDUCE_OF(__reduce_max_sync, unsigned, BB_EMU_REDUCE_MAX_UNSIGNED)
BB_EMU_REDUCE_OF(__reduce_max_sync, int, BB_EMU_REDUCE_MAX_SIGNED)
BB_EMU_REDUCE_OF(__reduce_and_sync, unsigned, BB_EMU_REDUCE_AND)
BB_EMU_REDUCE_OF(__reduce_or_sync, unsigned, BB_EMU_REDUCE_OR)
BB_EMU_REDUCE_OF(__reduce_xor_sync, unsigned, BB_EMU_REDUCE_XOR)
#undef BB_EMU_REDUCE_OF
