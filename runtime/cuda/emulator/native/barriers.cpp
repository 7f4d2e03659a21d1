// __syncthreads with its reductions, and named barriers.
#include <vector>

#include "clocks.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "profile.hpp"

namespace bb_emu {

static const char* const BLOCK_BARRIER = "__syncthreads";

// The barrier of the whole block.
static u32 arrived = 0;
static u64 meeting_site = 0, meeting_place = 0;
static int meeting_reduce = -1, predicates = 0, result = 0;

namespace {

struct NamedBarrier {
  u32 expected = 0, arrived = 0;
  std::vector<u32> waiting;
  Released released;
};

}  // namespace

static NamedBarrier named[16];

void reset_barriers() {
  arrived = 0;
  for (NamedBarrier& barrier : named) barrier = {};
}

static void open_barrier() {
  ++counters.barriers;
  arrived = 0;
  result = meeting_reduce == 1 ? (predicates == 0) : meeting_reduce == 2 ? (predicates != 0) : predicates;
  if (options.check) synchronise_block();
  redraw_priorities();
  flush_profile();
  for (Thread& thread : threads)
    if (thread.state == State::Waiting && thread.waits_for == BLOCK_BARRIER) make_ready(thread);
}

void thread_left_barrier() {
  if (alive_count != 0 && arrived == alive_count) open_barrier();
}

static void arrive_at_barrier(int reduce, int predicate, u64 site, u64 place) {
  if (arrived == 0) {
    meeting_site = site;
    meeting_place = place;
    meeting_reduce = reduce;
    predicates = 0;
  } else if (meeting_site != site || meeting_reduce != reduce) {
    report({.kind = "barrier divergence", .access = "__syncthreads", .site = place,
            .other = {block_number * thread_count + 1, meeting_place, "__syncthreads"}},
           Then::Stop);
  }
  // For `and` the threads are counted whose predicate does not hold.
  predicates += reduce == 1 ? predicate == 0 : predicate != 0;
  if (++arrived == alive_count) {
    open_barrier();
    yield();
  } else {
    suspend(BLOCK_BARRIER, place);
  }
}

static void open_named(NamedBarrier& barrier) {
  ++counters.named_barriers;
  redraw_priorities();
  for (const u32 index : barrier.waiting) {
    if (options.check) acquire_from(barrier.released, threads[index]);
    if (threads[index].state == State::Waiting) make_ready(threads[index]);
  }
  barrier = {};
}

static void arrive_at_named(u32 id, u32 count, bool arrive_only, u64 place) {
  if (id >= 16 || count % 32 != 0 || count > 1024)
    report({.kind = "invalid barrier", .access = "named barrier", .site = place,
            .text = "a named barrier has a number from 0 to 15 and a multiple of 32 threads, at most 1024"},
           Then::Stop);
  NamedBarrier& barrier = named[id];
  if (barrier.arrived == 0) {
    barrier.expected = count;
  } else if (barrier.expected != count) {
    report({.kind = "barrier divergence", .access = "named barrier", .site = place,
            .text = "threads come to the same named barrier with different numbers of threads"},
           Then::Stop);
  }
  if (options.check) release_into(barrier.released, *current);
  ++barrier.arrived;
  if (!arrive_only) barrier.waiting.push_back(current->index);
  if (barrier.arrived == barrier.expected) {
    open_named(barrier);
    if (!arrive_only) yield();
  } else if (!arrive_only) {
    suspend("named barrier", place);
  }
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_barrier(uint64_t site) { arrive_at_barrier(-1, 0, site, BB_EMU_PLACE(site)); }

int bb_emu_barrier_reduce(int reduce, int predicate, uint64_t site) {
  arrive_at_barrier(reduce, predicate, site, BB_EMU_PLACE(site));
  return result;
}

void bb_emu_named_barrier(uint32_t id, uint32_t count, int arrive_only, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  const u32 whole = (thread_count + 31) / 32 * 32;
  if (id == 0 && arrive_only == 0 && (count == 0 || count == whole)) return arrive_at_barrier(-1, 0, 0, place);
  arrive_at_named(id, count == 0 ? whole : count, arrive_only != 0, place);
}
}
