#include "signals.hpp"

#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>

#include "machine.hpp"
#include "memory.hpp"

namespace bb_emu {

static u64 program_counter(void* context) {
  const auto* state = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<u64>(state->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<u64>(state->uc_mcontext.pc);
#else
  (void)state;
  return 0;
#endif
}

static const char* direction(void* context) {
#if defined(__x86_64__)
  return (static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "write" : "read";
#else
  (void)context;
  return "access";
#endif
}

static void report_bad_address(void* address, void* context, u64 site) {
  for (const Thread& thread : threads)
    if (on_guard(thread.fiber, address))
      report({.kind = "stack overflow", .site = options.check ? last_site : site,
              .text = "a thread needs more than 256 KiB of stack"},
             Then::Stop);
  const Place place = nearest(address);
  const char* kind = place.buffer == Place::NO_BUFFER ? "illegal address" : "out of bounds";
  report({.kind = kind, .access = direction(context), .site = site, .place = place}, Then::Stop);
}

static void on_signal(int number, siginfo_t* info, void* context) {
  // An address names the instruction after it, as return addresses do.
  const u64 site = program_counter(context) + 1;
  switch (number) {
    case SIGSEGV:
    case SIGBUS: report_bad_address(info->si_addr, context, site); break;
    case SIGFPE:
      report({.kind = "division by zero", .site = site, .text = "an integer is divided by zero"}, Then::Stop);
      break;
    case SIGVTALRM:
      report({.kind = "time limit", .site = options.check ? last_site : site,
              .text = "the launch takes more CPU time than it may"},
             Then::Stop);
      break;
    case SIGXFSZ:
      report({.kind = "too much output", .site = site, .text = "more than 64 MiB were printed"}, Then::Stop);
      break;
    default: report({.kind = "trap", .site = site, .text = "the kernel ended its process"}, Then::Stop); break;
  }
  _exit(4);
}

void catch_signals() {
  static char stack[65536];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGVTALRM, SIGXFSZ})
    sigaction(number, &action, nullptr);
  itimerval timer{};
  timer.it_value.tv_sec = options.time_limit_ms / 1000;
  timer.it_value.tv_usec = options.time_limit_ms % 1000 * 1000;
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

}  // namespace bb_emu

extern "C" void bb_emu_trap(const char* reason, uint64_t site) {
  bb_emu::report({.kind = "trap", .site = BB_EMU_PLACE(site), .text = reason}, bb_emu::Then::Stop);
  __builtin_unreachable();
}
