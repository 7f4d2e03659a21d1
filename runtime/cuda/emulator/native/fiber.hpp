// Fibers: stacks between which one thread of the operating system switches.
#pragma once
#include <cstddef>

#if !defined(__x86_64__) || defined(BB_EMU_UCONTEXT)
#define BB_EMU_USES_UCONTEXT 1
#include <ucontext.h>
#endif

namespace bb_emu {

constexpr size_t STACK_BYTES = size_t{256} << 10;
constexpr size_t STACK_GUARD = size_t{64} << 10;

struct Fiber {
  char* stack = nullptr;  // STACK_BYTES, with an inaccessible guard below
#ifdef BB_EMU_USES_UCONTEXT
  ucontext_t context;
#else
  void* pointer = nullptr;
#endif
};

// Give a fiber a stack, once; `number` staggers stacks over the sets of the cache. False where there is no memory.
bool allocate_stack(Fiber& fiber);
// Let the fiber start with `entry`, which must not return, when it is next switched to.
void prepare(Fiber& fiber, void (*entry)(), unsigned number);
void switch_fibers(Fiber& from, Fiber& to);

inline bool on_stack(const Fiber& fiber, const void* address) {
  return static_cast<size_t>(static_cast<const char*>(address) - fiber.stack) < STACK_BYTES;
}
inline bool on_guard(const Fiber& fiber, const void* address) {
  return static_cast<size_t>(static_cast<const char*>(address) - (fiber.stack - STACK_GUARD)) < STACK_GUARD;
}

}  // namespace bb_emu
