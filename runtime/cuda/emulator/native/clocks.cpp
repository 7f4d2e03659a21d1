#include "clocks.hpp"

#include <algorithm>

namespace bb_emu {

u32 block_floor = 0;

static u32 now = 0;               // the last stamp that was given out
static bool wide = false;         // whether clocks of other warps matter in this block
static std::vector<u32> clocks;   // row of a thread, column of the thread that it knows of
static std::unordered_map<const void*, std::vector<SharedReleased>> released_at;
static std::vector<Knowledge> known;  // of other blocks, by thread
static bool any_known = false;

namespace {

// The stamps that a thread has had from each of its fences on, and what it knew at the last one.
struct ProxyFences {
  std::vector<u32> of_memory, of_barriers;
  u32 floor = 0;
  std::vector<u32> row;
};

}  // namespace

static std::vector<ProxyFences> proxy_fences;  // by thread

static u32* row(const Thread& thread) { return &clocks[size_t{thread.index} * thread_count]; }

void allocate_clocks() {
  clocks.assign(size_t{thread_count} * thread_count, 0);
  known.assign(thread_count, {});
  proxy_fences.assign(thread_count, {});
}

void start_clocks() {
  wide = false;
  if (any_known)
    for (Knowledge& knowledge : known) knowledge.clear();
  any_known = false;
  // Rows keep what they held: all of it is below the new floor, and so says nothing.
  block_floor = ++now;
  for (Thread& thread : threads) thread.segment = thread.fence_segment = now;
  for (ProxyFences& fences : proxy_fences) fences = {};
}

static void learn(Knowledge& knowledge, const SharedReleased& released) {
  SharedReleased& entry = knowledge[released->block];
  if (entry == released) return;
  if (entry == nullptr) {
    entry = released;
    return;
  }
  auto merged = std::make_shared<Released>(*entry);
  merged->floor = std::max(merged->floor, released->floor);
  for (size_t i = 0; i < merged->clocks.size(); ++i)
    merged->clocks[i] = std::max(merged->clocks[i], released->clocks[i]);
  entry = std::move(merged);
}

static void learn_all(Knowledge& knowledge, const Knowledge& other) {
  if (&knowledge == &other) return;
  for (const auto& [block, released] : other) learn(knowledge, released);
}

void synchronise_block() {
  block_floor = ++now;
  for (Thread& thread : threads) thread.segment = now;
  if (!any_known) return;
  Knowledge all;
  for (const Knowledge& knowledge : known) learn_all(all, knowledge);
  for (Knowledge& knowledge : known) knowledge = all;
}

void synchronise_lanes(u32 warp, u32 lanes) {
  const u32 first = warp * 32;
  const u32 low = wide ? 0 : first, high = wide ? thread_count : std::min(first + 32, thread_count);
  static std::vector<u32> joint;
  joint.assign(thread_count, 0);
  for (u32 lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    const Thread& thread = threads[first + lane];
    const u32* own = row(thread);
    for (u32 i = low; i < high; ++i) joint[i] = std::max(joint[i], own[i]);
    joint[thread.index] = thread.segment + 1;
  }
  ++now;
  Knowledge all;
  if (any_known)
    for (u32 lane = 0; lane < 32; ++lane)
      if ((lanes >> lane & 1) != 0) learn_all(all, known[first + lane]);
  for (u32 lane = 0; lane < 32; ++lane) {
    if ((lanes >> lane & 1) == 0) continue;
    Thread& thread = threads[first + lane];
    std::copy(joint.begin() + low, joint.begin() + high, row(thread) + low);
    thread.segment = now;
    if (any_known) known[thread.index] = all;
  }
}

void release_into(Released& object, Thread& thread) {
  wide = true;
  object.block = block_number;
  object.floor = std::max(object.floor, block_floor);
  object.clocks.resize(thread_count, 0);
  const u32* own = row(thread);
  for (u32 i = 0; i < thread_count; ++i) object.clocks[i] = std::max(object.clocks[i], own[i]);
  object.clocks[thread.index] = std::max(object.clocks[thread.index], thread.segment + 1);
  thread.segment = ++now;
}

void acquire_from(const Released& object, Thread& thread) {
  if (object.clocks.empty()) return;
  wide = true;
  u32* own = row(thread);
  for (u32 i = 0; i < thread_count; ++i) own[i] = std::max(own[i], object.clocks[i]);
}

u32 take_stamp(Thread& thread) {
  const u32 stamp = thread.segment;
  thread.segment = ++now;
  return stamp;
}

void learn_stamp(Thread& thread, u32 index, u32 stamp) {
  if (index == thread.index) return;
  wide = true;
  u32& entry = row(thread)[index];
  entry = std::max(entry, stamp + 1);
}

void add_stamp(Released& object, u32 index, u32 stamp) {
  wide = true;
  object.block = block_number;
  object.floor = std::max(object.floor, block_floor);
  object.clocks.resize(thread_count, 0);
  object.clocks[index] = std::max(object.clocks[index], stamp + 1);
}

bool knows(const Thread& thread, u32 index, u32 stamp) {
  return index == thread.index || stamp < block_floor || stamp < row(thread)[index];
}

void fence_proxy(Thread& thread, bool barriers_only) {
  ProxyFences& fences = proxy_fences[thread.index];
  thread.segment = ++now;
  (barriers_only ? fences.of_barriers : fences.of_memory).push_back(now);
  if (barriers_only) return;
  fences.floor = block_floor;
  fences.row.assign(row(thread), row(thread) + thread_count);
}

bool fenced_for_proxy(u32 writer, u32 stamp, bool barrier) {
  // The writer's first fence after the write is the one that others know of, if of any.
  const auto fenced = [&](const std::vector<u32>& fences) {
    const auto found = std::upper_bound(fences.begin(), fences.end(), stamp);
    return found != fences.end() && knows(*current, writer, *found);
  };
  if (fenced(proxy_fences[writer].of_memory)) return true;
  if (barrier && fenced(proxy_fences[writer].of_barriers)) return true;
  for (u32 index = 0; index < thread_count; ++index) {
    const ProxyFences& fences = proxy_fences[index];
    if (fences.of_memory.empty() || !knows(*current, index, fences.of_memory.back())) continue;
    if (stamp < fences.floor || stamp < fences.row[writer]) return true;
  }
  return false;
}

void fence(Thread& thread, int kind) {
  thread.fence = std::max(thread.fence, kind);
  thread.fence_segment = thread.segment + 1;
  thread.segment = ++now;
}

void synchronise_at(const void* address, Thread& thread) {
  // Keep in mind what this thread releases before it learns from others at the same place.
  std::shared_ptr<Released> mine;
  if (thread.fence >= 0) {
    mine = std::make_shared<Released>();
    mine->block = block_number;
    mine->floor = block_floor;
    mine->device_wide = thread.fence >= BB_EMU_FENCE_DEVICE;
    mine->clocks.assign(row(thread), row(thread) + thread_count);
    mine->clocks[thread.index] = thread.fence_segment;
  }
  if (const auto found = released_at.find(address); found != released_at.end()) {
    for (const SharedReleased& released : found->second) {
      if (released->block == block_number) {
        acquire_from(*released, thread);
      } else if (released->device_wide) {
        learn(known[thread.index], released);
        any_known = true;
      }
    }
  }
  if (mine == nullptr) return;
  auto& list = released_at[address];
  for (const auto& [block, released] : known[thread.index]) list.push_back(released);
  for (SharedReleased& released : list) {
    if (released->block != block_number) continue;
    for (u32 i = 0; i < thread_count; ++i) mine->clocks[i] = std::max(mine->clocks[i], released->clocks[i]);
    released = mine;
    return;
  }
  list.push_back(mine);
}

bool block_happens_before(u32 index, u32 stamp) {
  return index == current->index || stamp < block_floor || stamp < row(*current)[index];
}

bool happens_before(u32 number, u32 stamp) {
  const u32 block = (number - 1) / thread_count, index = (number - 1) % thread_count;
  if (block == block_number) return block_happens_before(index, stamp);
  if (!any_known) return false;
  const Knowledge& knowledge = known[current->index];
  const auto found = knowledge.find(block);
  if (found == knowledge.end()) return false;
  return stamp < found->second->floor || stamp < found->second->clocks[index];
}

}  // namespace bb_emu
