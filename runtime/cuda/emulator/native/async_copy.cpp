// cp.async: copies that arrive at any time between their issue and the wait for their group.
#include <cstring>

#include "machine.hpp"
#include "mbarrier.hpp"
#include "memory.hpp"

namespace bb_emu {

static void move(AsyncCopy& copy) {
  if (copy.source_bytes != 0) memcpy(copy.destination, copy.source, copy.source_bytes);
  memset(static_cast<char*>(copy.destination) + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
  copy.arrived = true;
}

void complete(AsyncCopy& copy) {
  if (!copy.arrived) move(copy);
  access(copy.destination, copy.bytes, Access::AsyncArrive, copy.site);
}

static void complete_all(Thread& thread) {
  for (auto& group : thread.groups)
    for (AsyncCopy& copy : group) complete(copy);
  thread.groups.clear();
  for (AsyncCopy& copy : thread.open) complete(copy);
  thread.open.clear();
}

}  // namespace bb_emu

using namespace bb_emu;

extern "C" {

void bb_emu_cp_async(void* destination, const void* source, uint32_t bytes, uint32_t source_bytes, uint64_t site) {
  ++counters.cp_async;
  const u64 place = BB_EMU_PLACE(site);
  if (source_bytes > bytes || (bytes != 4 && bytes != 8 && bytes != 16))
    report({.kind = "invalid copy", .access = "cp.async", .site = place,
            .text = "cp.async copies 4, 8 or 16 bytes and reads at most as many"},
           Then::Stop);
  if (!shared.contains(destination))
    report({.kind = "out of bounds", .access = "async copy", .site = place, .place = nearest(destination), .bytes = bytes,
            .text = "the destination is not in shared memory"},
           Then::Stop);
  // A source that is not read may be any address, but an aligned one.
  if ((reinterpret_cast<uintptr_t>(source) & (bytes - 1)) != 0)
    report({.kind = "misaligned", .access = "async copy", .site = place, .place = nearest(source), .bytes = bytes},
           Then::Stop);
  access(source, source_bytes, Access::Read, place);
  access(destination, bytes, Access::AsyncIssue, place);
  AsyncCopy copy{destination, source, bytes, source_bytes, place, false};
  if (coin()) move(copy);
  current->open.push_back(copy);
}

void bb_emu_cp_async_commit() {
  current->groups.push_back(std::move(current->open));
  current->open.clear();
}

void bb_emu_cp_async_wait(uint32_t pending) {
  if (pending == ~0u) return complete_all(*current);
  auto& groups = current->groups;
  while (groups.size() > pending) {
    for (AsyncCopy& copy : groups.front()) complete(copy);
    groups.erase(groups.begin());
  }
}

void bb_emu_cp_async_mbarrier_arrive(void* barrier, uint64_t site) {
  const u64 place = BB_EMU_PLACE(site);
  complete_all(*current);
  arrive(barrier, 1, 0, place);
}
}
