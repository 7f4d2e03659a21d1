// Which thread of the block runs next.
#include <algorithm>
#include <deque>

#include "clocks.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "profile.hpp"
#include "races.hpp"

BbEmuIndex bb_emu_thread_index, bb_emu_block_index, bb_emu_block_dim, bb_emu_grid_dim;

namespace bb_emu {

Options options;
Counters counters;
std::vector<Thread> threads;
std::vector<Warp> warps;
Thread* current = nullptr;
u32 thread_count = 0, alive_count = 0;
u32 block_number = 0;

void (*kernel_entry)(void**) = nullptr;
void** kernel_arguments = nullptr;

static Fiber scheduler;
static std::deque<u32> ready;            // fifo, lifo, random
static std::vector<u32> ready_in[32];    // pct: by warp
static u32 priorities[32], ready_count;  // pct

u64 random_number() {  // xorshift64*
  static u64 state = 0;
  if (state == 0) state = (options.seed + 1) * 0x9e3779b97f4a7c15ull | 1;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state * 0x2545f4914f6cdd1dull) >> 11;
}

void make_ready(Thread& thread) {
  thread.state = State::Ready;
  ++ready_count;
  if (options.schedule == Schedule::Pct)
    ready_in[thread.warp].push_back(thread.index);
  else
    ready.push_back(thread.index);
}

static u32 take_random(std::vector<u32>& list) {
  std::swap(list[random_number() % list.size()], list.back());
  const u32 index = list.back();
  list.pop_back();
  return index;
}

static u32 take_ready() {
  --ready_count;
  if (options.schedule == Schedule::Pct) {
    u32 best = 32;
    for (u32 warp = 0; warp < warps.size(); ++warp)
      if (!ready_in[warp].empty() && (best == 32 || priorities[warp] > priorities[best])) best = warp;
    return take_random(ready_in[best]);
  }
  if (options.schedule == Schedule::Random) std::swap(ready[random_number() % ready.size()], ready.back());
  u32 index;
  if (options.schedule == Schedule::Fifo) {
    index = ready.front();
    ready.pop_front();
  } else {
    index = ready.back();
    ready.pop_back();
  }
  return index;
}

// Whole warps run far ahead of others until the next barrier: the order in which missing barriers show.
void redraw_priorities() {
  if (options.schedule != Schedule::Pct) return;
  for (u32 warp = 0; warp < warps.size(); ++warp) priorities[warp] = static_cast<u32>(random_number());
}

static BbEmuIndex index_of(const Thread& thread) {
  const u32 index = thread.index, x = bb_emu_block_dim.x, y = bb_emu_block_dim.y;
  return {index % x, index / x % y, index / x / y};
}

ActingThread::ActingThread(Thread& thread) : before_(current), index_(bb_emu_thread_index) {
  current = &thread;
  bb_emu_thread_index = index_of(thread);
}

ActingThread::~ActingThread() {
  current = before_;
  bb_emu_thread_index = index_;
}

static void to_scheduler() {
  ++counters.switches;
  current->spins = 0;
  switch_fibers(current->fiber, scheduler);
}

void suspend(const char* what, u64 site) {
  current->state = State::Waiting;
  current->waits_for = what;
  current->waits_at = site;
  to_scheduler();
}

void yield() {
  make_ready(*current);
  to_scheduler();
}

void spin() {
  if (++current->spins < 64) return;
  let_a_copy_arrive(nullptr);
  // A thread that polls must not be the one that is always chosen.
  redraw_priorities();
  if (options.schedule == Schedule::Lifo) {
    current->state = State::Ready;
    ++ready_count;
    ready.push_front(current->index);
    to_scheduler();
  } else {
    yield();
  }
}

void finish_thread() {
  Thread& thread = *current;
  thread.state = State::Done;
  --alive_count;
  warps[thread.warp].alive &= ~(1u << thread.lane);
  for (auto& group : thread.groups)
    for (AsyncCopy& copy : group) complete(copy);
  for (AsyncCopy& copy : thread.open) complete(copy);
  bulk_thread_exits(thread);
  wgmma_thread_exits(thread);
  thread_left_warp(thread);
  thread_left_barrier();
  to_scheduler();
}

static void thread_main() {
  kernel_entry(kernel_arguments);
  finish_thread();
}

static void report_deadlock() {
  struct Group {
    const char* what;
    u64 site;
    u32 count, first, last;
  };
  std::vector<Group> groups;
  for (const Thread& thread : threads) {
    if (thread.state != State::Waiting) continue;
    auto found = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return group.what == thread.waits_for && group.site == thread.waits_at;
    });
    if (found == groups.end()) found = groups.insert(found, {thread.waits_for, thread.waits_at, 0, thread.index, 0});
    ++found->count;
    found->last = thread.index;
  }
  std::string text;
  for (const Group& group : groups) {
    char entry[256];
    snprintf(entry, sizeof entry, "%s{\"what\":\"%s\",\"site\":\"%llx\",\"count\":%u,\"first\":%u,\"last\":%u}",
             text.empty() ? "" : ",", group.what, static_cast<unsigned long long>(group.site), group.count,
             group.first, group.last);
    text += entry;
    if (text.size() > 8000) break;
  }
  report_line("{\"deadlock\":[%s],\"exited\":%u,\"block\":[%u,%u,%u]}", text.c_str(), thread_count - alive_count,
              bb_emu_block_index.x, bb_emu_block_index.y, bb_emu_block_index.z);
  end_process();
}

void report_if_all_poll() {
  constexpr u32 MANY = 1000;
  if (current->polls < MANY || current->polls % MANY != 0) return;
  const auto is_stuck = [](const Thread& thread) { return thread.state != State::Ready || thread.polls >= MANY; };
  if (!std::all_of(threads.begin(), threads.end(), is_stuck)) return;
  for (Thread& thread : threads)
    if (thread.state == State::Ready) thread.state = State::Waiting;
  report_deadlock();
}

static void start_block() {
  alive_count = thread_count;
  ready.clear();
  for (auto& list : ready_in) list.clear();
  ready_count = 0;
  reset_barriers();
  reset_mbarriers();
  start_clocks();
  reset_bulk_copies();
  reset_wgmma();
  fill_shared();
  redraw_priorities();
  for (u32 index = 0; index < warps.size(); ++index) {
    const u32 lanes = thread_count - index * 32;
    warps[index].alive = lanes >= 32 ? ~0u : (1u << lanes) - 1;
    warps[index].count = 0;
  }
  for (Thread& thread : threads) {
    thread.open.clear();
    thread.groups.clear();
    thread.fence = -1;
    thread.spins = thread.polls = thread.accumulators_in_flight = 0;
    std::fill(thread.occurrences.begin(), thread.occurrences.end(), 0);
    prepare(thread.fiber, thread_main, thread.index);
    make_ready(thread);
  }
}

void run_block() {
  start_block();
  while (alive_count != 0) {
    // Copies arrive as late as they can, with random schedules at any time.
    if (options.schedule >= Schedule::Random && copies_in_flight() && random_number() % 16 == 0)
      let_a_copy_arrive(nullptr);
    if (ready_count == 0 && let_a_copy_arrive(nullptr)) continue;
    if (ready_count == 0) report_deadlock();
    current = &threads[take_ready()];
    bb_emu_thread_index = index_of(*current);
    report_header->thread[0] = bb_emu_thread_index.x;
    report_header->thread[1] = bb_emu_thread_index.y;
    report_header->thread[2] = bb_emu_thread_index.z;
    report_header->in_thread = 1;
    switch_fibers(scheduler, current->fiber);
    report_header->in_thread = 0;
  }
  bulk_block_ends();
  current = &threads[0];
  report_reads();
  current = nullptr;
  flush_profile();
  check_shared_tail();
}

}  // namespace bb_emu

extern "C" void bb_emu_thread_exit() {
  bb_emu::finish_thread();
  __builtin_unreachable();
}
