// profile.hpp: where the threads of a kernel spend their time. Only with BB_PROFILE; without it the macros are nothing.
//
// At any time a thread is in one slot, and each change of slot is one reading of the processor's clock: the slots of a
// thread add up to the time between its first and its last change. Slots are
//     other, waiting      what is no statement; the calling thread while it starts its team and waits for it
//     2 + 2 s, 3 + 2 s    statement s of the library, and the packing of operands within it
//
// BB_STATEMENTS(n)        how many statements the library has (once, in generated source)
// at(s, flops, bytes)     from here on the thread is in statement s, which does so many flops and moves so many bytes
// at_other()              from here on it is in none
// Launch                  the life of one: a run of a kernel, in the thread that called it
// BB_PROFILE_TEAM         the rest of the block: a thread starts others and waits for them
// BB_PROFILE_WORKER       the rest of the block: what a thread does as one of a team
// BB_PROFILE_BETWEEN      from here on between two tasks
// BB_PROFILE_PACKING      the rest of the block: operands of a contraction are copied in the order in which it reads them
//
// bbk_take_profile gives ticks, entries, flops and bytes of each slot, of all threads together, then the ticks between
// the first and the last moment of all launches, and resets them; no kernel may be running.
// bbk_ticks_per_second measures the clock.
#pragma once
#if !defined(BB_PROFILE)
#define BB_PROFILE_TEAM
#define BB_PROFILE_WORKER
#define BB_PROFILE_BETWEEN
#define BB_PROFILE_PACKING
#else
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace bb::profile {
using Ticks = std::int64_t;

inline __attribute__((always_inline)) Ticks now() {
#if defined(__x86_64__) || defined(__i386__)
  return (Ticks)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  Ticks ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

struct Counts {
  Ticks ticks = 0;
  std::int64_t entries = 0, flops = 0, bytes = 0;
};
inline constexpr int other = 0, waiting = 1, none = -1;

inline std::atomic<int> slots{2};
inline int declare(int statements) { return slots = 2 + 2 * statements; }

struct Thread {
  std::vector<Counts> counts;
  Thread* next = nullptr;
  std::atomic<bool> alive{true};
  int slot = none;
  Ticks since = 0;

  void to(int next_slot) {
    const Ticks ticks = now();
    if (slot != none) counts[slot].ticks += ticks - since;
    since = ticks;
    slot = next_slot;
  }
};
inline std::atomic<Thread*> all{nullptr};
inline std::atomic<Ticks> launches{0};
inline constinit thread_local Thread* own = nullptr;

// A record for a thread that has none: of one that has ended, or a new one. They stay as long as the library.
inline __attribute__((noinline)) Thread& join() {
  static thread_local struct Leave {
    ~Leave() {
      if (own) own->alive = false;
    }
  } leave;
  (void)leave;
  for (Thread* each = all; each && !own; each = each->next)
    if (!each->alive.exchange(true)) own = each;
  if (!own) {
    own = new Thread;
    own->next = all;
    while (!all.compare_exchange_weak(own->next, own)) {
    }
  }
  own->slot = none;
  own->counts.resize(slots);
  return *own;
}
inline __attribute__((always_inline)) Thread& here() { return own ? *own : join(); }

inline void at(int statement, std::int64_t flops, std::int64_t bytes) {
  Thread& thread = here();
  const int slot = 2 + 2 * statement;
  thread.to(slot);
  Counts& counts = thread.counts[slot];
  counts.entries++, counts.flops += flops, counts.bytes += bytes;
}
inline void at_other() { here().to(other); }

// In another slot until the end of a block.
struct Scope {
  Thread& thread;
  const int before;

  explicit Scope(int slot) : thread(here()), before(thread.slot) { thread.to(slot); }
  ~Scope() { thread.to(before); }
};

struct Launch : Scope {
  const Ticks begin;

  Launch() : Scope(other), begin(thread.since) {}
  ~Launch() {
    thread.to(before);
    launches += thread.since - begin;
  }
};

struct Packing {
  Thread& thread;
  const int before;
  // Within a statement alone: not where no kernel runs, nor twice.
  const bool counts;

  Packing() : thread(here()), before(thread.slot), counts(before >= 2 && before % 2 == 0) {
    if (!counts) return;
    thread.to(before + 1);
    thread.counts[before + 1].entries++;
  }
  ~Packing() {
    if (counts) thread.to(before);
  }
};
}  // namespace bb::profile

#define BB_STATEMENTS(n) static const int bb_slots = bb::profile::declare(n);
#define BB_PROFILE_TEAM const bb::profile::Scope bb_team(bb::profile::waiting);
#define BB_PROFILE_WORKER const bb::profile::Scope bb_worker(bb::profile::other);
#define BB_PROFILE_BETWEEN bb::profile::at_other();
#define BB_PROFILE_PACKING const bb::profile::Packing bb_packing;

#define BB_PROFILE_EXPORT extern "C" __attribute__((visibility("default"), used)) inline
BB_PROFILE_EXPORT void bbk_take_profile(std::int64_t* out) {
  using namespace bb::profile;
  const int count = slots;
  for (int i = 0; i < 4 * count; i++) out[i] = 0;
  for (Thread* thread = all; thread; thread = thread->next)
    for (int slot = 0; slot < count; slot++) {
      Counts& counts = thread->counts[slot];
      std::int64_t* to = out + 4 * slot;
      to[0] += counts.ticks, to[1] += counts.entries, to[2] += counts.flops, to[3] += counts.bytes;
      counts = {};
    }
  out[4 * count] = launches.exchange(0);
}
BB_PROFILE_EXPORT double bbk_ticks_per_second() {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const bb::profile::Ticks from = bb::profile::now();
  double seconds = 0;
  while (seconds < 0.02) seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return (bb::profile::now() - from) / seconds;
}
#undef BB_PROFILE_EXPORT
#endif
