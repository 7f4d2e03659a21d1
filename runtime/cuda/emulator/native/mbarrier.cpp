// mbarrier: arrivals and bytes of transactions, in phases.
#include <unordered_map>

#include "clocks.hpp"
#include "machine.hpp"
#include "mbarrier.hpp"
#include "memory.hpp"

namespace bb_emu {
namespace {

struct Barrier {
  u32 expected = 0, pending = 0;
  int64_t transaction_bytes = 0;
  u64 phase = 0;
  u32 made_by = 0, made_at = 0;  // the thread that initialised it, and its stamp
  Released gathering, completed;
  std::vector<u32> waiting;
};

}  // namespace

static std::unordered_map<const void*, Barrier> barriers;
constexpr u32 LARGEST_COUNT = (1u << 20) - 1;

void reset_mbarriers() { barriers.clear(); }

static Barrier& find(const void* address, const char* name, u64 place) {
  if (!shared.contains(address))
    report({.kind = "out of bounds", .access = name, .site = place, .place = nearest(address), .bytes = 8,
            .text = "the mbarrier is not in shared memory"},
           Then::Stop);
  access(address, 8, Access::Synchronise, place);
  const auto found = barriers.find(address);
  if (found == barriers.end())
    report({.kind = "invalid mbarrier", .access = name, .site = place,
            .text = "no mbarrier was initialised at this address"},
           Then::Stop);
  return found->second;
}

static void end_phase_if_complete(void* address, Barrier& barrier, u64 place) {
  if (barrier.pending != 0 || barrier.transaction_bytes != 0) return;
  if (copy_in_flight_to(address, barrier.phase))
    report({.kind = "invalid mbarrier", .access = "mbarrier phase", .site = place,
            .text = "the phase ends while bulk copies to the mbarrier are in flight: their bytes are not expected"},
           Then::Stop);
  ++counters.mbarrier_phases;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.completed = std::move(barrier.gathering);
  barrier.gathering = {};
  redraw_priorities();
  for (const u32 index : barrier.waiting) {
    if (options.check) acquire_from(barrier.completed, threads[index]);
    if (threads[index].state == State::Waiting) make_ready(threads[index]);
  }
  barrier.waiting.clear();
}

static void change_transaction(Barrier& barrier, int64_t bytes, const char* name, u64 place) {
  barrier.transaction_bytes += bytes;
  if (barrier.transaction_bytes > LARGEST_COUNT || barrier.transaction_bytes < -int64_t{LARGEST_COUNT})
    report({.kind = "invalid mbarrier", .access = name, .site = place,
            .text = "the bytes of an mbarrier's transactions do not go beyond 2^20 - 1"},
           Then::Stop);
}

static void complete_transaction(void* address, u32 bytes, u64 place) {
  Barrier& barrier = find(address, "complete_tx", place);
  change_transaction(barrier, -int64_t{bytes}, "complete_tx", place);
  if (options.check) release_into(barrier.gathering, *current);
  end_phase_if_complete(address, barrier, place);
}

u64 expect_copy(void* address, u64 place) {
  const Barrier& barrier = find(address, "bulk load", place);
  if (options.check && !fenced_for_proxy(barrier.made_by, barrier.made_at, true))
    report({.kind = "missing fence", .access = "bulk load", .site = place,
            .text = "no fence is between the initialisation of the mbarrier and this: bb_mbarrier_init_fence"},
           Then::Continue);
  return barrier.phase;
}

void complete_copy(void* address, u32 bytes, u32 thread, u32 stamp, u64 place) {
  Barrier& barrier = find(address, "bulk load", place);
  change_transaction(barrier, -int64_t{bytes}, "bulk load", place);
  if (options.check) add_stamp(barrier.gathering, thread, stamp);
  end_phase_if_complete(address, barrier, place);
}

u64 arrive(void* address, u32 count, u32 transaction_bytes, u64 place) {
  Barrier& barrier = find(address, "mbarrier arrive", place);
  const u64 phase = barrier.phase;
  if (count > barrier.pending)
    report({.kind = "invalid mbarrier", .access = "mbarrier arrive", .site = place,
            .text = "more threads arrive in one phase than the mbarrier was initialised for"},
           Then::Stop);
  change_transaction(barrier, transaction_bytes, "expect_tx", place);
  barrier.pending -= count;
  if (options.check) release_into(barrier.gathering, *current);
  end_phase_if_complete(address, barrier, place);
  return phase;
}

template <class Over>
static void wait(void* address, Over over, u64 place) {
  Barrier* barrier = &find(address, "mbarrier wait", place);
  while (!over(*barrier)) {
    barrier->waiting.push_back(current->index);
    suspend("mbarrier wait", place);
    barrier = &find(address, "mbarrier wait", place);
  }
  if (options.check) acquire_from(barrier->completed, *current);
}

template <class Over>
static int test(void* address, Over over, u64 place) {
  Barrier* barrier = &find(address, "mbarrier test", place);
  if (!over(*barrier)) {
    redraw_priorities();
    if (++current->polls > 1) let_a_copy_arrive(address);
    current->waits_for = "mbarrier test";
    current->waits_at = place;
    report_if_all_poll();
    yield();
    barrier = &find(address, "mbarrier test", place);
    if (!over(*barrier)) return 0;
  }
  current->polls = 0;
  if (options.check) acquire_from(barrier->completed, *current);
  return 1;
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_mbarrier_init(void* address, uint32_t count, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  if (count == 0 || count > LARGEST_COUNT)
    report({.kind = "invalid mbarrier", .access = "mbarrier init", .site = place,
            .text = "the count of an mbarrier is from 1 to 2^20 - 1"},
           Then::Stop);
  if (!shared.contains(address))
    report({.kind = "out of bounds", .access = "mbarrier init", .site = place, .place = nearest(address), .bytes = 8,
            .text = "the mbarrier is not in shared memory"},
           Then::Stop);
  access(address, 8, Access::Write, place);
  Barrier& barrier = barriers[address];
  barrier = {};
  barrier.expected = barrier.pending = count;
  barrier.made_by = current->index;
  barrier.made_at = current->segment;
}

void bb_emu_mbarrier_invalidate(void* address, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  find(address, "mbarrier invalidate", place);
  access(address, 8, Access::Write, place);
  barriers.erase(address);
}

uint64_t bb_emu_mbarrier_arrive(void* address, uint32_t count, uint32_t transaction_bytes, uint64_t site) {
  return arrive(address, count, transaction_bytes, BB_EMU_PLACE(site));
}

void bb_emu_mbarrier_expect(void* address, uint32_t transaction_bytes, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  change_transaction(find(address, "expect_tx", place), transaction_bytes, "expect_tx", place);
}

void bb_emu_mbarrier_complete(void* address, uint32_t transaction_bytes, uint64_t site) {
  complete_transaction(address, transaction_bytes, BB_EMU_PLACE(site));
}

void bb_emu_mbarrier_wait_parity(void* address, uint32_t parity, uint64_t site) {
  wait(address, [&](const Barrier& barrier) { return (barrier.phase & 1) != (parity & 1); }, BB_EMU_PLACE(site));
}

void bb_emu_mbarrier_wait(void* address, uint64_t state, uint64_t site) {
  wait(address, [&](const Barrier& barrier) { return barrier.phase != state; }, BB_EMU_PLACE(site));
}

int bb_emu_mbarrier_test_parity(void* address, uint32_t parity, uint64_t site) {
  return test(address, [&](const Barrier& barrier) { return (barrier.phase & 1) != (parity & 1); },
              BB_EMU_PLACE(site));
}

int bb_emu_mbarrier_test(void* address, uint64_t state, uint64_t site) {
  return test(address, [&](const Barrier& barrier) { return barrier.phase != state; }, BB_EMU_PLACE(site));
}
}
