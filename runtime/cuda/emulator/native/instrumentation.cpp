// What the compiler calls in check mode. -fsanitize=thread announces every access to memory, -fsanitize=undefined
// what it finds; the sanitizers' own libraries are not linked.
#include <cstring>

#include "clocks.hpp"
#include "machine.hpp"
#include "memory.hpp"

using namespace bb_emu;

#define SITE reinterpret_cast<u64>(__builtin_return_address(0))

// A thread may wait for a volatile variable to change. In global memory volatile accesses are what flags between
// blocks are made of: like atomics they do not race with each other.
static void volatile_access(void* address, u32 bytes, bool writes, u64 site) {
  if (current == nullptr) return;
  const bool flag = !shared.contains(address) && !on_stack(current->fiber, address);
  if (flag && options.check) synchronise_at(address, *current);
  const Access kind = writes ? (flag ? Access::VolatileWrite : Access::Write) : flag ? Access::VolatileRead : Access::Read;
  access(address, bytes, kind, site);
  if (!on_stack(current->fiber, address)) spin();
}

#define ACCESSES(BYTES)                                                                                     \
  void __tsan_read##BYTES(void* p) { access(p, BYTES, Access::Read, SITE); }                                \
  void __tsan_write##BYTES(void* p) { access(p, BYTES, Access::Write, SITE); }                              \
  void __tsan_unaligned_read##BYTES(void* p) { access(p, BYTES, Access::Read, SITE); }                      \
  void __tsan_unaligned_write##BYTES(void* p) { access(p, BYTES, Access::Write, SITE); }                    \
  void __tsan_volatile_read##BYTES(void* p) { volatile_access(p, BYTES, false, SITE); }                     \
  void __tsan_volatile_write##BYTES(void* p) { volatile_access(p, BYTES, true, SITE); }                     \
  void __tsan_unaligned_volatile_read##BYTES(void* p) { volatile_access(p, BYTES, false, SITE); }           \
  void __tsan_unaligned_volatile_write##BYTES(void* p) { volatile_access(p, BYTES, true, SITE); }

// The beginning of what the compiler hands to the handlers of -fsanitize=undefined.
struct SourceLocation {
  const char* file;
  u32 line, column;
};

static void undefined(const char* kind, const char* text, u64 site) {
  if (current != nullptr) report({.kind = kind, .site = site, .text = text}, Then::Stop);
}

// Where a kernel, or the compiler on its behalf, moves blocks of memory.
static void announce(const void* address, size_t bytes, Access kind, u64 site) {
  if (!options.check || current == nullptr || on_stack(current->fiber, address)) return;
  // In pieces as a GPU would, so that pieces which different threads move are told apart.
  const char* p = static_cast<const char*>(address);
  for (size_t done = 0; done < bytes;) {
    size_t piece = 16;
    while (piece > bytes - done || ((reinterpret_cast<uintptr_t>(p) + done) & (piece - 1)) != 0) piece /= 2;
    access(p + done, static_cast<u32>(piece), kind, site);
    done += piece;
  }
}

extern "C" {

ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)
void __tsan_read_range(void* p, size_t bytes) { announce(p, bytes, Access::Read, SITE); }
void __tsan_write_range(void* p, size_t bytes) { announce(p, bytes, Access::Write, SITE); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

void __ubsan_handle_type_mismatch_v1(SourceLocation*, void*) {
  undefined("misaligned", "a pointer is not aligned for its type", SITE);
}
void __ubsan_handle_out_of_bounds(SourceLocation*, void*) {
  undefined("out of bounds", "an index is outside its array", SITE);
}
void __ubsan_handle_divrem_overflow(SourceLocation*, void*, void*) {
  undefined("division by zero", "an integer is divided by zero, or the least one by minus one", SITE);
}

// The kernel's code calls these under the standard names (bb/cuda_emulator/language.hpp).
void* bb_emu_memcpy(void* to, const void* from, size_t bytes) {
  announce(from, bytes, Access::Read, SITE);
  announce(to, bytes, Access::Write, SITE);
  return memcpy(to, from, bytes);
}
void* bb_emu_memmove(void* to, const void* from, size_t bytes) {
  announce(from, bytes, Access::Read, SITE);
  announce(to, bytes, Access::Write, SITE);
  return memmove(to, from, bytes);
}
void* bb_emu_memset(void* to, int value, size_t bytes) {
  announce(to, bytes, Access::Write, SITE);
  return memset(to, value, bytes);
}
}
