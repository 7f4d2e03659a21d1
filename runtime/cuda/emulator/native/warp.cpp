// Operations in which the lanes of a warp meet: __syncwarp, shuffles, votes, match and reduce.
#include "clocks.hpp"
#include "machine.hpp"

namespace bb_emu {

static void finish(Warp& warp, int number) {
  Collective meeting = warp.collectives[number];
  warp.collectives[number] = warp.collectives[--warp.count];
  Thread* lanes = &threads[static_cast<size_t>(&warp - warps.data()) * 32];
  const u32 active = meeting.mask & warp.alive;
  meeting.finish(meeting, active, lanes);
  for (u32 lane = 0; lane < 32; ++lane)
    if ((active >> lane & 1) != 0 && lanes[lane].state == State::Waiting) make_ready(lanes[lane]);
}

void thread_left_warp(Thread& thread) {
  Warp& warp = warps[thread.warp];
  for (int i = 0; i < warp.count;) {
    const Collective& meeting = warp.collectives[i];
    const u32 awaited = meeting.mask & warp.alive;
    if (awaited != 0 && (meeting.arrived & warp.alive) == awaited)
      finish(warp, i);
    else
      ++i;
  }
}

static void diverged(const char* name, u64 place, const Collective& other) {
  u32 lane = 0;
  while ((other.arrived >> lane & 1) == 0) ++lane;
  const u32 number = block_number * thread_count + current->warp * 32 + lane + 1;
  report({.kind = "warp divergence", .access = name, .site = place,
          .other = {number, threads[current->warp * 32 + lane].waits_at, other.name}},
         Then::Stop);
}

void collective(Collective::Finish operation, const char* name, u32 mask, void* data, u64 site, u64 place,
                bool whole_warp) {
  Thread& thread = *current;
  Warp& warp = warps[thread.warp];
  if ((mask >> thread.lane & 1) == 0)
    report({.kind = "invalid mask", .access = name, .site = place, .text = "the calling lane is not in the mask"},
           Then::Stop);
  if (whole_warp && warp.alive != ~0u)
    report({.kind = "warp divergence", .access = name, .site = place,
            .text = "the operation needs all 32 lanes, but some have exited or do not exist"},
           Then::Stop);
  int number = 0;
  while (number < warp.count && (warp.collectives[number].mask & mask & warp.alive) == 0) ++number;
  if (number == warp.count) {
    if (warp.count == 32) end_process();  // cannot be: masks that do not overlap
    warp.collectives[warp.count++] = {.mask = mask, .arrived = 0, .finish = operation, .name = name, .site = site, .data = {}};
  }
  Collective& meeting = warp.collectives[number];
  // Lanes may come to __syncwarp from different places (site 0), to anything else only together.
  if (meeting.mask != mask || meeting.finish != operation || meeting.site != site) diverged(name, place, meeting);
  meeting.arrived |= 1u << thread.lane;
  meeting.data[thread.lane] = data;
  if ((meeting.arrived & warp.alive) == (mask & warp.alive)) {
    thread.state = State::Ready;
    finish(warp, number);
    if (options.schedule >= Schedule::Random) yield();
    return;
  }
  suspend(name, place);
}

namespace {

struct Shuffle {
  int kind;
  u64 value;
  u32 argument, width;
  u64 result;
  int in_range;
  u64 place;
};

struct Vote {
  int kind, predicate;
  u32 result;
};

struct Match {
  int all;
  u64 value;
  u32 result;
};

struct Reduce {
  int operation;
  u32 value, result;
};

template <class T>
T& of_lane(Collective& meeting, u32 lane) {
  return *static_cast<T*>(meeting.data[lane]);
}

template <class F>
void for_lanes(u32 active, F f) {
  for (u32 lane = 0; lane < 32; ++lane)
    if ((active >> lane & 1) != 0) f(lane);
}

}  // namespace

static void finish_syncwarp(Collective&, u32 active, Thread* lanes) {
  ++counters.syncwarps;
  if (options.check) synchronise_lanes(lanes->warp, active);
}

// The lane that a lane reads, itself where that lies outside its segment.
static u32 source_of(Shuffle& shuffle, u32 lane) {
  const u32 base = lane & ~(shuffle.width - 1), end = base + shuffle.width, argument = shuffle.argument & 31;
  u32 source = lane;
  switch (shuffle.kind) {
    case BB_EMU_SHUFFLE_INDEX: source = base + (argument & (shuffle.width - 1)); break;
    case BB_EMU_SHUFFLE_UP: source = lane - argument; break;
    case BB_EMU_SHUFFLE_DOWN: source = lane + argument; break;
    default: source = lane ^ argument; break;
  }
  // Only upwards is a segment's beginning a limit: a xor may read a lower segment, not a higher one.
  const bool outside = shuffle.kind == BB_EMU_SHUFFLE_UP ? source < base || source > lane : source >= end || source > 31;
  shuffle.in_range = !outside;
  return outside ? lane : source;
}

static void finish_shuffle(Collective& meeting, u32 active, Thread*) {
  ++counters.shuffles;
  for_lanes(active, [&](u32 lane) {
    Shuffle& shuffle = of_lane<Shuffle>(meeting, lane);
    const u32 source = source_of(shuffle, lane);
    if ((active >> source & 1) != 0) {
      shuffle.result = of_lane<Shuffle>(meeting, source).value;
    } else {
      shuffle.result = 0xaaaaaaaaaaaaaaaaull;
      if (options.check)
        report({.kind = "undefined shuffle", .access = "shuffle", .site = shuffle.place,
                .text = "a lane reads from a lane that is not in the mask or has exited"},
               Then::Continue);
    }
  });
}

static void finish_vote(Collective& meeting, u32 active, Thread*) {
  ++counters.votes;
  u32 ballot = 0;
  for_lanes(active, [&](u32 lane) { ballot |= static_cast<u32>(of_lane<Vote>(meeting, lane).predicate != 0) << lane; });
  for_lanes(active, [&](u32 lane) {
    Vote& vote = of_lane<Vote>(meeting, lane);
    switch (vote.kind) {
      case BB_EMU_VOTE_ALL: vote.result = ballot == active; break;
      case BB_EMU_VOTE_ANY: vote.result = ballot != 0; break;
      case BB_EMU_VOTE_UNIFORM: vote.result = ballot == active || ballot == 0; break;
      default: vote.result = ballot; break;
    }
  });
}

static void finish_match(Collective& meeting, u32 active, Thread*) {
  ++counters.votes;
  for_lanes(active, [&](u32 lane) {
    Match& match = of_lane<Match>(meeting, lane);
    u32 same = 0;
    for_lanes(active, [&](u32 other) {
      same |= static_cast<u32>(of_lane<Match>(meeting, other).value == match.value) << other;
    });
    match.result = match.all == 0 || same == active ? same : 0;
  });
}

static u32 combine(int operation, u32 a, u32 b) {
  const auto signed_a = static_cast<int32_t>(a), signed_b = static_cast<int32_t>(b);
  switch (operation) {
    case BB_EMU_REDUCE_MIN_UNSIGNED: return a < b ? a : b;
    case BB_EMU_REDUCE_MAX_UNSIGNED: return a > b ? a : b;
    case BB_EMU_REDUCE_MIN_SIGNED: return signed_a < signed_b ? a : b;
    case BB_EMU_REDUCE_MAX_SIGNED: return signed_a > signed_b ? a : b;
    case BB_EMU_REDUCE_AND: return a & b;
    case BB_EMU_REDUCE_OR: return a | b;
    case BB_EMU_REDUCE_XOR: return a ^ b;
    default: return a + b;
  }
}

static void finish_reduce(Collective& meeting, u32 active, Thread*) {
  ++counters.votes;
  const u32 first = static_cast<u32>(__builtin_ctz(active));
  const int operation = of_lane<Reduce>(meeting, first).operation;
  u32 total = of_lane<Reduce>(meeting, first).value;
  for_lanes(active & ~(1u << first), [&](u32 lane) {
    total = combine(operation, total, of_lane<Reduce>(meeting, lane).value);
  });
  for_lanes(active, [&](u32 lane) { of_lane<Reduce>(meeting, lane).result = total; });
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_syncwarp(uint32_t mask, uint64_t site) {
  collective(finish_syncwarp, "__syncwarp", mask, nullptr, 0, BB_EMU_PLACE(site), false);
}

uint64_t bb_emu_shuffle(int kind, uint32_t mask, uint64_t value, uint32_t argument, uint32_t width, int* in_range,
                        uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  if (width == 0 || width > 32 || (width & (width - 1)) != 0)
    report({.kind = "invalid shuffle", .access = "shuffle", .site = place,
            .text = "the width of a shuffle is a power of two up to 32"},
           Then::Stop);
  Shuffle shuffle{kind, value, argument, width, 0, 0, place};
  collective(finish_shuffle, "shuffle", mask, &shuffle, site, place, false);
  if (in_range != nullptr) *in_range = shuffle.in_range;
  return shuffle.result;
}

uint32_t bb_emu_vote(int kind, uint32_t mask, int predicate, uint64_t site) {
  Vote vote{kind, predicate, 0};
  collective(finish_vote, "vote", mask, &vote, site, BB_EMU_PLACE(site), false);
  return vote.result;
}

uint32_t bb_emu_match(int all, uint32_t mask, uint64_t value, uint64_t site) {
  Match match{all, value, 0};
  collective(finish_match, "match", mask, &match, site, BB_EMU_PLACE(site), false);
  return match.result;
}

uint32_t bb_emu_reduce(int operation, uint32_t mask, uint32_t value, uint64_t site) {
  Reduce reduce{operation, value, 0};
  collective(finish_reduce, "warp reduction", mask, &reduce, site, BB_EMU_PLACE(site), false);
  return reduce.result;
}

uint32_t bb_emu_activemask() { return warps[current->warp].alive; }
}
