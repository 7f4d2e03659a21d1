#include "profile.hpp"

#include <algorithm>
#include <unordered_map>

namespace bb_emu {

SharedProfile shared_profile;

namespace {

// The same access, for the same time since the last barrier, of the lanes of a warp.
struct Request {
  u64 addresses[32];
  u32 lanes = 0;
  u32 bytes = 0;
  Region* region = nullptr;
  bool writes = false;
};

}  // namespace

static std::unordered_map<u64, u32> sites;
static std::vector<std::vector<std::vector<Request>>> requests;  // by warp, site, occurrence

void start_profile() {
  sites.clear();
  requests.assign(warps.size(), {});
  for (Thread& thread : threads) thread.occurrences.clear();
}

void profile_access(Region& region, const char* address, u32 bytes, bool writes, u64 site) {
  const u32 id = sites.emplace(site << 1 | u64{writes}, static_cast<u32>(sites.size())).first->second;
  if (current->occurrences.size() <= id) current->occurrences.resize(id + 1, 0);
  auto& of_warp = requests[current->warp];
  if (of_warp.size() <= id) of_warp.resize(id + 1);
  const u32 occurrence = current->occurrences[id]++;
  if (of_warp[id].size() <= occurrence) of_warp[id].resize(occurrence + 1);
  Request& request = of_warp[id][occurrence];
  request.addresses[current->lane] = reinterpret_cast<u64>(address);
  request.lanes |= 1u << current->lane;
  request.bytes = bytes;
  request.region = &region;
  request.writes = writes;
}

void count_row(Region& region, const char* address, u32 bytes, bool writes) {
  const auto first = reinterpret_cast<u64>(address) >> 5, last = (reinterpret_cast<u64>(address) + bytes - 1) >> 5;
  ++(writes ? region.store_requests : region.load_requests);
  (writes ? region.store_sectors : region.load_sectors) += last - first + 1;
}

static u32 sectors(const Request& request) {
  std::vector<u64> touched;
  for (u32 lane = 0; lane < 32; ++lane) {
    if ((request.lanes >> lane & 1) == 0) continue;
    const u64 first = request.addresses[lane] >> 5, last = (request.addresses[lane] + request.bytes - 1) >> 5;
    for (u64 sector = first; sector <= last; ++sector) touched.push_back(sector);
  }
  std::sort(touched.begin(), touched.end());
  return static_cast<u32>(std::unique(touched.begin(), touched.end()) - touched.begin());
}

// A request is served in groups of lanes that together ask for at most 128 bytes; in a group, each bank gives one
// word a pass, to all lanes that want this word.
static void add_shared(const Request& request) {
  const u32 group = request.bytes <= 4 ? 32 : request.bytes == 8 ? 16 : 8;
  const u32 words = std::max(1u, request.bytes / 4);
  ++shared_profile.requests;
  for (u32 first = 0; first < 32; first += group) {
    std::vector<u64> wanted;
    for (u32 lane = first; lane < first + group; ++lane)
      if ((request.lanes >> lane & 1) != 0)
        for (u32 word = 0; word < words; ++word) wanted.push_back((request.addresses[lane] >> 2) + word);
    if (wanted.empty()) continue;
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    u32 in_bank[32] = {}, passes = 0;
    for (const u64 word : wanted) passes = std::max(passes, ++in_bank[word & 31]);
    shared_profile.passes += passes;
    ++shared_profile.ideal_passes;
  }
}

void flush_profile() {
  if (!options.profile) return;
  for (auto& of_warp : requests)
    for (auto& of_site : of_warp) {
      for (const Request& request : of_site) {
        if (request.lanes == 0) continue;
        Region& region = *request.region;
        if (&region == &shared) {
          add_shared(request);
        } else if (request.writes) {
          ++region.store_requests;
          region.store_sectors += sectors(request);
        } else {
          ++region.load_requests;
          region.load_sectors += sectors(request);
        }
      }
      of_site.clear();
    }
  for (Thread& thread : threads) std::fill(thread.occurrences.begin(), thread.occurrences.end(), 0);
}

}  // namespace bb_emu
