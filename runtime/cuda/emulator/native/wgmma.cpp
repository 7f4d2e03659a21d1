// wgmma: products of a warpgroup (four warps) that run while its threads go on, until their group is waited for.
// Operands are read, and accumulators written, at some time between the two: here at the first wait for the group.
#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>

#include "clocks.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "races.hpp"
#include "wgmma_operands.hpp"

namespace bb_emu {
namespace {

constexpr u32 WARPS = 4, LANES = 128, PIECE = 16;
constexpr u32 POISON = 0x7fc0bad0;  // a NaN: what accumulators hold while they are not to be touched

// The accumulators of a lane, from the first product that uses them to the end of the last.
struct Accumulators {
  std::vector<float*> registers;
  std::vector<float> values;
  u32 products = 0;
  u64 site = 0;
};

struct Product {
  WgmmaOperands operands;
  u64 site, place;
  u32 warps = 0;  // which have come
  u32 threads[WARPS], stamps[WARPS];  // on whose behalf shared memory is read
  bool done = false;
  u32 delivered = 0;  // lanes that have been given the result
  std::shared_ptr<Accumulators> accumulators[LANES];
  u32 a_registers[LANES][4];
  const u32* a_places[LANES];
};

// What a lane calls with.
struct Call {
  float* const* d;
  const u32* a_registers;
  WgmmaOperands operands;
  u64 site, place;
};

// Products and groups are counted from the beginning of the block.
struct Warpgroup {
  std::deque<Product> products;
  u64 first = 0;  // the number of the first product in the list
  u64 issued[WARPS] = {};
  std::vector<u64> groups[WARPS];  // products before the end of each group
  u64 delivered[LANES] = {};
  std::vector<u32> waiting;
};

// What a thread's memory held at its last wgmma.fence.
struct Fenced {
  bool any = false;
  const char* begin = nullptr;
  std::vector<char> memory;
};

}  // namespace

static std::vector<Warpgroup> warpgroups;
static std::vector<Fenced> fenced;                                         // by thread
static std::vector<std::vector<std::shared_ptr<Accumulators>>> in_flight;  // by thread

void reset_wgmma() {
  warpgroups.assign((warps.size() + WARPS - 1) / WARPS, {});
  fenced.assign(thread_count, {});
  in_flight.assign(thread_count, {});
}

[[noreturn]] static void refuse(const char* text, u64 place) {
  report({.kind = "invalid wgmma", .access = "wgmma", .site = place, .text = text}, Then::Stop);
  __builtin_unreachable();
}

// ---- Registers

static bool overlap(const Accumulators& a, const void* address, u32 bytes) {
  const char *p = static_cast<const char*>(address), *end = p + bytes;
  return std::any_of(a.registers.begin(), a.registers.end(), [&](const float* r) {
    const char* own = reinterpret_cast<const char*>(r);
    return own < end && p < own + sizeof(float);
  });
}

void touch_accumulators(const void* address, u32 bytes, bool writes, u64 site) {
  for (const auto& each : in_flight[current->index])
    if (overlap(*each, address, bytes))
      report({.kind = "async in flight", .access = writes ? "write" : "read", .site = site, .bytes = bytes,
              .other = {grid_thread(), each->site, "wgmma"},
              .text = "accumulators of a wgmma that has not been waited for"},
             Then::Continue);
}

// Whether registers hold something else than at the last fence.
static bool changed_since_fence(const void* address, size_t bytes) {
  const Fenced& state = fenced[current->index];
  const char* p = static_cast<const char*>(address);
  if (p < state.begin || p + bytes > state.begin + state.memory.size()) return false;
  return memcmp(p, state.memory.data() + (p - state.begin), bytes) != 0;
}

static void set_register(u32 index, float* place, float value) {
  *place = value;
  // What wgmma itself writes needs no fence.
  Fenced& state = fenced[index];
  char* p = reinterpret_cast<char*>(place);
  if (p >= state.begin && p + sizeof value <= state.begin + state.memory.size())
    memcpy(state.memory.data() + (p - state.begin), &value, sizeof value);
}

static void check_fence(const Call& call) {
  const auto complain = [&](const char* text) {
    report({.kind = "missing fence", .access = "wgmma", .site = call.place, .text = text}, Then::Continue);
  };
  if (!fenced[current->index].any) return complain("no wgmma.fence is before the first wgmma");
  if ((call.operands.flags & BB_EMU_WGMMA_EXACT_REGISTERS) == 0) return;
  if (call.a_registers != nullptr && changed_since_fence(call.a_registers, 16))
    return complain("registers of A were written after the last wgmma.fence");
  if ((call.operands.flags & BB_EMU_WGMMA_ACCUMULATE) == 0) return;
  for (u32 i = 0; i < call.operands.n / 2; ++i)
    if (changed_since_fence(call.d[i], sizeof(float)))
      return complain("accumulators were written after the last wgmma.fence");
}

static std::shared_ptr<Accumulators> take_accumulators(const Call& call) {
  auto& own = in_flight[current->index];
  const u32 count = call.operands.n / 2;
  for (const auto& each : own) {
    const bool same = each->registers.size() == count && std::equal(call.d, call.d + count, each->registers.begin());
    if (same) return each;
    for (u32 i = 0; i < count; ++i)
      if (overlap(*each, call.d[i], sizeof(float)))
        refuse("its accumulators are in part those of a wgmma of another shape that is in flight", call.place);
  }
  if (options.check) check_fence(call);
  auto made = std::make_shared<Accumulators>();
  made->registers.assign(call.d, call.d + count);
  made->site = call.place;
  const float poison = __builtin_bit_cast(float, POISON);
  for (float* place : made->registers) {
    made->values.push_back(*place);
    set_register(current->index, place, poison);
  }
  own.push_back(made);
  ++current->accumulators_in_flight;
  return made;
}

static void give_back(Accumulators& accumulators, u32 index) {
  bool touched = false;
  for (size_t i = 0; i < accumulators.registers.size(); ++i) {
    touched |= __builtin_bit_cast(u32, *accumulators.registers[i]) != POISON;
    set_register(index, accumulators.registers[i], accumulators.values[i]);
  }
  if (touched)
    report({.kind = "async in flight", .access = "write", .site = accumulators.site,
            .text = "accumulators of this wgmma were written before it was waited for"},
           Then::Continue);
}

// ---- Issue

static void read_shared(const Product& product, u32 warp, bool begin) {
  const u32 first_row = 16 * warp;
  product.operands.for_pieces(first_row, [&](const void* piece) {
    if (begin)
      access(piece, PIECE, Access::BulkRead, product.place);
    else
      end_bulk_read(piece, PIECE, product.threads[warp], product.stamps[warp]);
  });
}

static void execute(Product& product);

static void finish_issue(Collective& meeting, u32, Thread* lanes) {
  const Call& first = *static_cast<Call*>(meeting.data[0]);
  Warpgroup& group = warpgroups[lanes->warp / WARPS];
  const u32 warp = lanes->warp % WARPS;
  const u64 number = group.issued[warp]++;
  if (number == group.first + group.products.size()) {
    group.products.emplace_back();
    group.products.back().operands = first.operands;
    group.products.back().site = first.site;
    group.products.back().place = first.place;
    ++counters.wgmma;
  }
  Product& product = group.products[number - group.first];
  for (u32 lane = 0; lane < 32; ++lane) {
    const Call& call = *static_cast<Call*>(meeting.data[lane]);
    ActingThread acting(lanes[lane]);
    if (call.site != product.site || !(call.operands == product.operands))
      report({.kind = "warp divergence", .access = "wgmma", .site = call.place,
              .other = {block_number * thread_count + lanes->warp / WARPS * LANES + 1, product.place, "wgmma"},
              .text = "the threads of a warpgroup come to different products, or with different descriptors"},
             Then::Stop);
    const u32 index = 32 * warp + lane;
    product.accumulators[index] = take_accumulators(call);
    ++product.accumulators[index]->products;
    product.a_places[index] = call.a_registers;
    if (call.a_registers != nullptr) memcpy(product.a_registers[index], call.a_registers, 16);
  }
  ActingThread acting(lanes[0]);
  if (options.check) read_shared(product, warp, true);
  product.threads[warp] = lanes->index;
  product.stamps[warp] = take_stamp(*lanes);
  product.warps |= 1u << warp;
  if (product.warps != 15) return;
  const auto is_done = [](const Product& each) { return each.done; };
  const bool is_next = std::all_of(group.products.begin(), group.products.end() - 1, is_done);
  if (is_next && &product == &group.products.back() && coin()) execute(product);
  for (const u32 index : group.waiting)
    if (threads[index].state == State::Waiting) make_ready(threads[index]);
  group.waiting.clear();
}

// ---- Execution

static void execute(Product& product) {
  const WgmmaOperands& operands = product.operands;
  const u32 n = operands.n;
  static float a[64][16], b[16][256];
  for (u32 row = 0; row < 64; ++row)
    for (u32 k = 0; k < 16; ++k) {
      if (!operands.a_in_registers) {
        a[row][k] = operands.read_a(row, k);
        continue;
      }
      // As the fragments of mma.m16n8k16, in each warp for its 16 rows.
      const u32 lane = row / 16 * 32 + row % 8 * 4 + k % 8 / 2, part = row % 16 / 8 + k / 8 * 2;
      a[row][k] = operands.element(static_cast<uint16_t>(product.a_registers[lane][part] >> 16 * (k % 2)));
    }
  for (u32 k = 0; k < 16; ++k)
    for (u32 column = 0; column < n; ++column) b[k][column] = operands.read_b(column, k);
  const auto has = [&](int flag) { return (operands.flags & flag) != 0; };
  const double sign = has(BB_EMU_WGMMA_NEGATE_A) != has(BB_EMU_WGMMA_NEGATE_B) ? -1 : 1;
  const bool accumulate = has(BB_EMU_WGMMA_ACCUMULATE);
  for (u32 lane = 0; lane < LANES; ++lane) {
    auto& values = product.accumulators[lane]->values;
    for (u32 i = 0; i < n / 2; ++i) {
      const u32 row = lane / 32 * 16 + lane % 32 / 4 + 8 * (i / 2 % 2), column = 8 * (i / 4) + 2 * (lane % 4) + i % 2;
      double sum = accumulate ? static_cast<double>(values[i]) : 0;
      for (u32 k = 0; k < 16; ++k) sum += sign * static_cast<double>(a[row][k]) * static_cast<double>(b[k][column]);
      values[i] = static_cast<float>(sum);
    }
  }
  product.done = true;
  if (options.check)
    for (u32 warp = 0; warp < WARPS; ++warp) read_shared(product, warp, false);
}

// Give a lane what a product made, where no later one goes on with it.
static void deliver(Product& product, u32 lane) {
  Thread& thread = *current;
  auto& accumulators = product.accumulators[lane];
  const bool exact = (product.operands.flags & BB_EMU_WGMMA_EXACT_REGISTERS) != 0;
  if (exact && product.a_places[lane] != nullptr && memcmp(product.a_places[lane], product.a_registers[lane], 16) != 0)
    report({.kind = "async in flight", .access = "write", .site = product.place,
            .text = "registers of A of this wgmma were written before it was waited for"},
           Then::Continue);
  if (--accumulators->products == 0) {
    give_back(*accumulators, thread.index);
    std::erase(in_flight[thread.index], accumulators);
    --thread.accumulators_in_flight;
  }
  accumulators.reset();
  if (options.check)
    for (u32 warp = 0; warp < WARPS; ++warp) learn_stamp(thread, product.threads[warp], product.stamps[warp]);
  ++product.delivered;
}

static void wait_for(u64 end, u64 place) {
  const u32 lane = current->index % LANES;
  Warpgroup& group = warpgroups[current->warp / WARPS];
  while (group.delivered[lane] < end) {
    const u64 number = group.delivered[lane];
    while (group.products[number - group.first].warps != 15) {
      group.waiting.push_back(current->index);
      suspend("the other warps of the warpgroup at wgmma", place);
    }
    Product& product = group.products[number - group.first];
    if (!product.done) execute(product);
    deliver(product, lane);
    ++group.delivered[lane];
    while (!group.products.empty() && group.products.front().delivered == LANES) {
      group.products.pop_front();
      ++group.first;
    }
  }
}

void wgmma_thread_exits(Thread& thread) {
  if (thread.accumulators_in_flight == 0) return;
  report({.kind = "async in flight", .access = "exit", .site = in_flight[thread.index].front()->site,
          .text = "the thread exits without a wait for this wgmma"},
         Then::Stop);
}

static void meet(const char* name, void* data, u64 site, u64 place, Collective::Finish finish) {
  if (current->warp / WARPS * LANES + LANES > thread_count)
    refuse("a warpgroup has four warps, and this thread's has fewer", place);
  collective(finish, name, ~0u, data, site, place, true);
}

static void finish_nothing(Collective&, u32, Thread*) {}

static void finish_commit(Collective&, u32, Thread* lanes) {
  Warpgroup& group = warpgroups[lanes->warp / WARPS];
  group.groups[lanes->warp % WARPS].push_back(group.issued[lanes->warp % WARPS]);
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_wgmma(float* const* d, uint32_t n, int flags, const uint32_t* a_registers, uint64_t a, uint64_t b,
                  uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  Call call{d, a_registers, {n, flags, a_registers != nullptr, a, b}, site, place};
  if (const char* problem = call.operands.problem(); problem != nullptr) refuse(problem, place);
  meet("wgmma", &call, site, place, finish_issue);
}

void bb_emu_wgmma_fence(uint64_t site) {
  meet("wgmma.fence", nullptr, site, BB_EMU_PLACE(site), finish_nothing);
  if (!options.check) return;
  Fenced& state = fenced[current->index];
  state.any = true;
  state.begin = static_cast<const char*>(__builtin_frame_address(0));
  state.memory.assign(state.begin, static_cast<const char*>(current->fiber.stack) + STACK_BYTES);
}

void bb_emu_wgmma_commit(uint64_t site) {
  meet("wgmma.commit_group", nullptr, site, BB_EMU_PLACE(site), finish_commit);
}

void bb_emu_wgmma_wait(uint32_t pending, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  meet("wgmma.wait_group", nullptr, site, place, finish_nothing);
  const auto& groups = warpgroups[current->warp / WARPS].groups[current->warp % WARPS];
  if (groups.size() > pending) wait_for(groups[groups.size() - pending - 1], place);
}
}
