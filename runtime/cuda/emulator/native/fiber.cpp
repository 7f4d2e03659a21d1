#include "fiber.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace bb_emu {

bool allocate_stack(Fiber& fiber) {
  if (fiber.stack != nullptr) return true;
  void* memory = mmap(nullptr, STACK_BYTES + STACK_GUARD, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, STACK_GUARD, PROT_NONE) != 0) return false;
  fiber.stack = static_cast<char*>(memory) + STACK_GUARD;
  return true;
}

// Without this, the tops of all stacks fall into the same few sets of the first-level cache.
static size_t stagger(unsigned number) { return size_t{number % 32} * (64 * 9); }

#ifdef BB_EMU_USES_UCONTEXT

void prepare(Fiber& fiber, void (*entry)(), unsigned number) {
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = fiber.stack;
  fiber.context.uc_stack.ss_size = STACK_BYTES - stagger(number);
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
}

void switch_fibers(Fiber& from, Fiber& to) { swapcontext(&from.context, &to.context); }

#else

extern "C" void bb_emu_switch_stacks(void** save, void* to);
// The registers that a function must preserve, then the other stack: some 15 times faster than swapcontext,
// which asks the kernel for the signal mask.
asm(R"(
.text
.p2align 4
.globl bb_emu_switch_stacks
.type bb_emu_switch_stacks,@function
bb_emu_switch_stacks:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
.size bb_emu_switch_stacks,.-bb_emu_switch_stacks
)");

void prepare(Fiber& fiber, void (*entry)(), unsigned number) {
  auto* top = reinterpret_cast<uint64_t*>(fiber.stack + STACK_BYTES - stagger(number));
  *--top = 0;  // as if called: the entry finds the stack aligned as the ABI says
  *--top = reinterpret_cast<uint64_t>(entry);
  for (int saved = 0; saved < 6; ++saved) *--top = 0;
  fiber.pointer = top;
}

void switch_fibers(Fiber& from, Fiber& to) { bb_emu_switch_stacks(&from.pointer, to.pointer); }

#endif

}  // namespace bb_emu
