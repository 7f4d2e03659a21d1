#include "memory.hpp"

#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "clocks.hpp"
#include "profile.hpp"
#include "races.hpp"

alignas(1024) thread_local unsigned char bb_emu_dynamic_shared[BB_EMU_DYNAMIC_SHARED_LIMIT];

namespace bb_emu {

std::vector<Region> buffers;
Region shared;
char* shared_window = nullptr;
size_t dynamic_shared_bytes = 0;

static Region globals;
static u64 load_base = 0;
static std::vector<Region> segments;  // of this executable, code and constants included
static size_t last_buffer = 0;
static const void* announced = nullptr;
u64 last_site = 0;

static char* dynamic_shared() { return reinterpret_cast<char*>(bb_emu_dynamic_shared); }

static Region region(char* begin, size_t bytes, int name) {
  Region region;
  region.begin = begin;
  region.bytes = bytes;
  region.buffer = name;
  return region;
}

static int note_segments(dl_phdr_info* info, size_t, void*) {
  load_base = info->dlpi_addr;  // the executable comes first, and alone
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    char* begin = reinterpret_cast<char*>(info->dlpi_addr + header.p_vaddr);
    if (header.p_type == PT_LOAD) {
      segments.push_back(region(begin, header.p_memsz, Place::GLOBALS));
      if ((header.p_flags & PF_W) != 0) globals = region(begin, header.p_memsz, Place::GLOBALS);
    } else if (header.p_type == PT_TLS) {
      shared = region(static_cast<char*>(info->dlpi_tls_data), header.p_memsz, Place::STATIC_SHARED);
    }
  }
  return 1;
}

void find_segments() {
  bb_emu_dynamic_shared[0] = 0;  // so that thread-local storage exists
  dl_iterate_phdr(note_segments, nullptr);
}

char* program_address(u64 linked) { return reinterpret_cast<char*>(load_base + linked); }

bool in_variables(const char* address, size_t bytes) {
  return globals.contains(address) && static_cast<size_t>(address - globals.begin) + bytes <= globals.bytes;
}

void find_program_memory() {
  find_segments();
  report_line("{\"base\":\"%llx\"}", static_cast<unsigned long long>(load_base));
  shared_window = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(shared.begin) & ~uintptr_t{1023});
}

size_t static_shared_bytes() { return shared.bytes - BB_EMU_DYNAMIC_SHARED_LIMIT; }

void start_shadows() {
  if (!options.check) return;
  shared.shadow.reset(shared.bytes, true);
  globals.shadow.reset(globals.bytes, false);
  for (Region& region : buffers) region.shadow.reset(region.bytes, false);
}

void fill_shared() {
  memset(shared.begin, 0xff, shared.bytes);
  forget_reader_tables();
}

void check_shared_tail() {
  const char* tail = dynamic_shared() + dynamic_shared_bytes;
  const char* end = dynamic_shared() + BB_EMU_DYNAMIC_SHARED_LIMIT;
  const char* found = std::find_if(tail, end, [](char byte) { return byte != char(0xff); });
  if (found == end) return;
  report({.kind = "out of bounds", .access = "write", .place = {Place::DYNAMIC_SHARED, found - dynamic_shared()}},
         Then::Stop);
}

Place nearest(const void* address) {
  const char* p = static_cast<const char*>(address);
  Place place;
  size_t best = ~size_t{0};
  for (const Region& region : buffers) {
    const char* end = region.begin + region.bytes;
    const size_t distance = static_cast<size_t>(p < region.begin ? region.begin - p : p - end);
    if (distance < best) {
      best = distance;
      place = {region.buffer, p - region.begin};
    }
  }
  // What is further away than any guard says nothing.
  return best < (size_t{64} << 20) ? place : Place{};
}

bool in_program(const void* address) {
  return std::any_of(segments.begin(), segments.end(), [&](const Region& part) { return part.contains(address); });
}

static Region* find_region(const void* address) {
  if (shared.contains(address)) return &shared;
  if (last_buffer < buffers.size() && buffers[last_buffer].contains(address)) return &buffers[last_buffer];
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].contains(address)) {
      last_buffer = i;
      return &buffers[i];
    }
  return globals.contains(address) ? &globals : nullptr;
}

Region* region_of(const void* address) { return find_region(address); }

static Place place_in(const Region& region, const char* address) {
  if (&region == &shared && static_cast<size_t>(address - dynamic_shared()) < BB_EMU_DYNAMIC_SHARED_LIMIT)
    return {Place::DYNAMIC_SHARED, address - dynamic_shared()};
  if (&region == &globals) return {region.buffer, address - reinterpret_cast<char*>(load_base)};
  return {region.buffer, address - region.begin};
}

Place shared_place(const void* address) { return place_in(shared, static_cast<const char*>(address)); }

const char* name_of(Access kind) {
  switch (kind) {
    case Access::Read: return "read";
    case Access::Write: return "write";
    case Access::Atomic: return "atomic";
    case Access::AsyncIssue:
    case Access::AsyncArrive: return "async copy";
    case Access::BulkIssue: return "bulk copy";
    case Access::BulkRead:
    case Access::BulkFetch: return "async read";
    case Access::Synchronise: return "barrier operation";
    case Access::VolatileRead: return "volatile read";
    case Access::VolatileWrite: return "volatile write";
  }
  return "access";
}

void access(const void* address, u32 bytes, Access kind, u64 site) {
  if (current == nullptr || bytes == 0 || address == announced) return;
  last_site = site;
  const char* p = static_cast<const char*>(address);
  if (on_stack(current->fiber, p)) {
    if (current->accumulators_in_flight != 0) touch_accumulators(p, bytes, kind == Access::Write, site);
    return;
  }
  Region* region = find_region(p);
  const bool bulk = kind == Access::BulkIssue || kind == Access::BulkRead || kind == Access::BulkFetch;
  const bool writes = kind != Access::Read && kind != Access::VolatileRead && (!bulk || kind == Access::BulkIssue);
  if (region == nullptr) {
    if (!writes && in_program(p)) return;
    report({.kind = "out of bounds", .access = name_of(kind), .site = site, .place = nearest(p), .bytes = bytes},
           Then::Stop);
    return;
  }
  const Place place = place_in(*region, p);
  const size_t offset = static_cast<size_t>(p - region->begin);
  const bool past_end = place.buffer == Place::DYNAMIC_SHARED
                            ? static_cast<size_t>(place.offset) + bytes > dynamic_shared_bytes
                            : offset + bytes > region->bytes;
  if (past_end)
    report({.kind = "out of bounds", .access = name_of(kind), .site = site, .place = place, .bytes = bytes}, Then::Stop);
  if (writes && region->read_only)
    report({.kind = "write to const", .access = name_of(kind), .site = site, .place = place, .bytes = bytes}, Then::Stop);
  const bool power_of_two = (bytes & (bytes - 1)) == 0 && bytes <= 16;
  if (power_of_two && (reinterpret_cast<uintptr_t>(p) & (bytes - 1)) != 0)
    report({.kind = "misaligned", .access = name_of(kind), .site = site, .place = place, .bytes = bytes}, Then::Stop);
  if (kind != Access::Synchronise && kind != Access::AsyncIssue) {
    if (!writes)
      region->bytes_read += bytes;
    else
      region->bytes_written += bytes;
  }
  if (options.check) check_order(*region, offset, bytes, kind, site, place);
  if (bulk && options.profile && region != &shared) count_row(*region, p, bytes, writes);
  if (options.profile && !bulk && kind != Access::AsyncIssue && kind != Access::Synchronise)
    profile_access(*region, p, bytes, writes, site);
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_access(const void* address, uint32_t bytes, int kind, uint64_t site) {
  access(address, bytes, static_cast<Access>(kind), BB_EMU_PLACE(site));
}

void bb_emu_atomic(void* address, uint32_t bytes, uint64_t site) {
  ++counters.atomics;
  access(address, bytes, Access::Atomic, BB_EMU_PLACE(site));
  if (options.check) {
    forgive_reads(address, bytes);
    synchronise_at(address, *current);
  }
  spin();
}

void bb_emu_fence(int kind) {
  if (!options.check) return;
  if (kind == BB_EMU_FENCE_ASYNC_PROXY || kind == BB_EMU_FENCE_MBARRIER_INIT)
    fence_proxy(*current, kind == BB_EMU_FENCE_MBARRIER_INIT);
  if (kind != BB_EMU_FENCE_ASYNC_PROXY) fence(*current, kind == BB_EMU_FENCE_BLOCK ? kind : BB_EMU_FENCE_DEVICE);
}

unsigned char* bb_emu_shared_window() { return reinterpret_cast<unsigned char*>(shared_window); }

void bb_emu_atomic_part(const void* address) { announced = address; }

int bb_emu_is_shared(const void* address) { return shared.contains(address) ? 1 : 0; }
}
