// Bulk copies of boxes between arrays and shared memory (TMA): loads that arrive before a phase of an mbarrier ends,
// stores that are waited for in groups.
#include <algorithm>
#include <cstring>

#include "clocks.hpp"
#include "machine.hpp"
#include "mbarrier.hpp"
#include "memory.hpp"
#include "races.hpp"

namespace bb_emu {
namespace {

// One row of a box: where it is in the array and in shared memory, before the swizzle, and which of its bytes are
// inside the array.
struct Row {
  char* global;
  u64 shared_address;  // of the beginning of the row in the tile
  u32 first, bytes;    // in bytes from the beginning of the row
};

struct Box {
  BbEmuTensorMap map;
  int64_t x, y;
  char* tile;
  u64 site;
  u32 thread, stamp;

  u32 pitch() const { return map.box[0] * map.element_bytes; }
  u32 rows() const { return map.rank == 1 ? 1 : map.box[1]; }
  u32 bytes() const { return pitch() * rows(); }
};

struct Load {
  Box box;
  void* barrier;
  u64 phase;
};

enum class Stage { Issued, Read, Written };

struct Store {
  Box box;
  Stage progress;
  bool waited_for;         // at least for its source
  std::vector<char> held;  // what was read
};

struct Stores {
  std::vector<Store> open;
  std::vector<std::vector<Store>> groups;
};

}  // namespace

static std::vector<Load> loads;  // in flight, in the order of their issue
static std::vector<Stores> stores;  // by thread

void reset_bulk_copies() {
  loads.clear();
  stores.assign(thread_count, {});
}

static Row row_of(const Box& box, u32 row) {
  const int64_t y = box.y + row, width = static_cast<int64_t>(box.map.extents[0]);
  Row result{nullptr, reinterpret_cast<u64>(box.tile) + u64{row} * box.pitch(), 0, 0};
  if (y < 0 || (box.map.rank == 2 && y >= static_cast<int64_t>(box.map.extents[1]))) return result;
  const int64_t begin = std::max<int64_t>(box.x, 0), end = std::min(box.x + box.map.box[0], width);
  if (begin >= end) return result;
  result.first = static_cast<u32>(begin - box.x) * box.map.element_bytes;
  result.bytes = static_cast<u32>(end - begin) * box.map.element_bytes;
  result.global = reinterpret_cast<char*>(box.map.base + static_cast<u64>(y) * box.map.row_bytes +
                                          static_cast<u64>(begin) * box.map.element_bytes);
  return result;
}

// Pieces of 16 bytes change places within 1,024, 512 or 256 bytes, by bits of their address.
static char* swizzled(u64 address, u32 swizzle) {
  const u64 mask = swizzle == 0 ? 0 : swizzle / 16 - 1;
  return reinterpret_cast<char*>(address ^ ((address >> 7 & mask) << 4));
}

// The bytes of a row in shared memory, piece by piece: f(place, offset in the row, bytes).
template <class F>
static void for_pieces(const Box& box, const Row& row, u32 first, u32 bytes, F f) {
  for (u32 at = first; at < first + bytes;) {
    const u32 piece = std::min(first + bytes - at, 16 - at % 16);
    f(swizzled(row.shared_address + at / 16 * 16, box.map.swizzle) + at % 16, at, piece);
    at += piece;
  }
}

static void perform_load(const Box& box) {
  for (u32 r = 0; r < box.rows(); ++r) {
    const Row row = row_of(box, r);
    for_pieces(box, row, 0, box.pitch(), [](char* place, u32, u32 bytes) { memset(place, 0, bytes); });
    for_pieces(box, row, row.first, row.bytes,
               [&](char* place, u32 at, u32 bytes) { memcpy(place, row.global + (at - row.first), bytes); });
  }
  end_bulk_write(box.tile, box.bytes());
}

static void read_store(Store& store) {
  if (store.progress != Stage::Issued) return;
  const Box& box = store.box;
  store.held.resize(box.bytes());
  for (u32 r = 0; r < box.rows(); ++r) {
    const Row row = row_of(box, r);
    for_pieces(box, row, 0, box.pitch(),
               [&](const char* place, u32 at, u32 bytes) { memcpy(&store.held[r * box.pitch() + at], place, bytes); });
  }
  store.progress = Stage::Read;
}

static void write_store(Store& store) {
  read_store(store);
  if (store.progress == Stage::Written) return;
  for (u32 r = 0; r < store.box.rows(); ++r) {
    const Row row = row_of(store.box, r);
    if (row.bytes != 0) memcpy(row.global, &store.held[r * store.box.pitch() + row.first], row.bytes);
  }
  store.progress = Stage::Written;
}

// What a wait for a store says: its source may be used again, or what it wrote is there.
static void source_is_free(const Store& store) {
  end_bulk_read(store.box.tile, store.box.bytes(), store.box.thread, store.box.stamp);
}
static void is_complete(const Store& store) {
  for (u32 r = 0; r < store.box.rows(); ++r) {
    const Row row = row_of(store.box, r);
    if (row.bytes != 0) end_bulk_write(row.global, row.bytes);
  }
}

bool copies_in_flight() { return !loads.empty(); }

bool copy_in_flight_to(const void* barrier, u64 phase) {
  const auto is_to = [&](const Load& load) { return load.barrier == barrier && load.phase == phase; };
  return std::any_of(loads.begin(), loads.end(), is_to);
}

bool let_a_copy_arrive(const void* barrier) {
  std::vector<size_t> candidates;
  for (size_t i = 0; i < loads.size(); ++i)
    if (barrier == nullptr || loads[i].barrier == barrier) candidates.push_back(i);
  if (candidates.empty()) return false;
  size_t chosen = candidates.front();
  if (options.schedule == Schedule::Lifo) chosen = candidates.back();
  if (options.schedule >= Schedule::Random) chosen = candidates[random_number() % candidates.size()];
  const Load load = loads[chosen];
  loads.erase(loads.begin() + static_cast<std::ptrdiff_t>(chosen));
  ActingThread acting(threads[load.box.thread]);
  perform_load(load.box);
  complete_copy(load.barrier, load.box.bytes(), load.box.thread, load.box.stamp, load.box.site);
  return true;
}

[[noreturn]] static void refuse(const char* name, const char* text, u64 place) {
  report({.kind = "invalid copy", .access = name, .site = place, .text = text}, Then::Stop);
  __builtin_unreachable();
}

static Box checked(const char* name, const void* map, u32 rank, int x, int y, const void* tile, u64 place) {
  Box box{.map = {}, .x = x, .y = rank == 1 ? 0 : y, .tile = static_cast<char*>(const_cast<void*>(tile)), .site = place,
          .thread = current->index, .stamp = 0};
  if (map == nullptr || (reinterpret_cast<uintptr_t>(map) & 15) != 0)
    refuse(name, "there is no tensor map at this address", place);
  memcpy(&box.map, map, sizeof box.map);
  if (box.map.magic != BB_EMU_TENSOR_MAP_MAGIC)
    refuse(name, "the tensor map is none that the launch was given", place);
  if (box.map.rank != rank) refuse(name, "the tensor map has another number of dimensions than the copy", place);
  if (box.map.base % 16 != 0)
    refuse(name, "the array of the tensor map does not begin at a multiple of 16 bytes", place);
  if (!shared.contains(tile) || !shared.contains(box.tile + box.bytes() - 1))
    report({.kind = "out of bounds", .access = "bulk copy", .site = place, .place = nearest(tile), .bytes = box.bytes(),
            .text = "the tile is not in shared memory"},
           Then::Stop);
  if (reinterpret_cast<uintptr_t>(tile) % 128 != 0)
    report({.kind = "misaligned", .access = "bulk copy", .site = place, .place = shared_place(tile), .bytes = box.bytes(),
            .text = "a tile in shared memory begins at a multiple of 128 bytes"},
           Then::Stop);
  ++counters.bulk_copies;
  return box;
}

void bulk_thread_exits(Thread& thread) {
  Stores& own = stores[thread.index];
  const auto unread = [](const std::vector<Store>& group) {
    return std::find_if(group.begin(), group.end(), [](const Store& store) { return !store.waited_for; });
  };
  for (auto& group : own.groups)
    if (const auto found = unread(group); found != group.end())
      report({.kind = "async in flight", .access = "exit", .site = found->box.site,
              .place = shared_place(found->box.tile),
              .text = "the thread exits without a wait for this store: shared memory may be gone before it is read"},
             Then::Continue);
  if (!own.open.empty())
    report({.kind = "async in flight", .access = "exit", .site = own.open.front().box.site,
            .place = shared_place(own.open.front().box.tile),
            .text = "the thread exits without a commit and a wait for this store"},
           Then::Continue);
  own.groups.push_back(std::move(own.open));
  for (auto& group : own.groups)
    for (Store& store : group) {
      write_store(store);
      is_complete(store);
    }
  own = {};
}

void bulk_block_ends() {
  if (loads.empty()) return;
  const Box& box = loads.front().box;
  ActingThread acting(threads[box.thread]);
  report({.kind = "async in flight", .access = "bulk copy", .site = box.site, .place = shared_place(box.tile),
          .text = "the block ends while this copy may be in flight: no thread waited for it"},
         Then::Continue);
  loads.clear();
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_tma_load(void* tile, const void* map, uint32_t rank, int32_t x, int32_t y, void* barrier, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  Box box = checked("bulk load", map, rank, x, y, tile, place);
  const u64 phase = expect_copy(barrier, place);
  for (u32 r = 0; r < box.rows(); ++r) {
    const Row row = row_of(box, r);
    if (row.bytes != 0) access(row.global, row.bytes, Access::BulkFetch, place);
  }
  access(box.tile, box.bytes(), Access::BulkIssue, place);
  box.stamp = take_stamp(*current);
  loads.push_back({box, barrier, phase});
  if (coin()) let_a_copy_arrive(nullptr);
}

void bb_emu_tma_store(const void* map, uint32_t rank, int32_t x, int32_t y, const void* tile, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  Box box = checked("bulk store", map, rank, x, y, tile, place);
  access(box.tile, box.bytes(), Access::BulkRead, place);
  for (u32 r = 0; r < box.rows(); ++r) {
    const Row row = row_of(box, r);
    if (row.bytes != 0) access(row.global, row.bytes, Access::BulkIssue, place);
  }
  box.stamp = take_stamp(*current);
  Store store{box, Stage::Issued, false, {}};
  if (coin()) write_store(store);
  stores[current->index].open.push_back(std::move(store));
}

void bb_emu_bulk_commit() {
  Stores& own = stores[current->index];
  own.groups.push_back(std::move(own.open));
  own.open.clear();
}

void bb_emu_bulk_wait(uint32_t pending, int read_only) {
  auto& groups = stores[current->index].groups;
  const size_t done = groups.size() > pending ? groups.size() - pending : 0;
  for (size_t i = 0; i < done; ++i)
    for (Store& store : groups[i]) {
      read_store(store);
      if (!store.waited_for) source_is_free(store);
      store.waited_for = true;
      if (read_only != 0) continue;
      write_store(store);
      is_complete(store);
    }
  if (read_only == 0) groups.erase(groups.begin(), groups.begin() + static_cast<std::ptrdiff_t>(done));
}
}
