#include "profile.hpp"

#include <algorithm>
#include <unordered_map>

#include "report.hpp"

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

// What the accesses of one place in the program came to, in shared memory.
struct Site {
  u64 site, requests = 0, passes = 0, ideal_passes = 0;
  bool writes;
};

}  // namespace

static std::unordered_map<u64, u32> sites;
static std::vector<Site> totals;                 // by the numbers of sites
static std::unordered_map<u64, u64> products;    // mma by place
static std::vector<std::vector<std::vector<Request>>> requests;  // by warp, site, occurrence

void start_profile() {
  sites.clear();
  totals.clear();
  products.clear();
  requests.assign(warps.size(), {});
  for (Thread& thread : threads) thread.occurrences.clear();
}

void profile_access(Region& region, const char* address, u32 bytes, bool writes, u64 site) {
  const u32 id = sites.emplace(site << 1 | u64{writes}, static_cast<u32>(sites.size())).first->second;
  if (totals.size() <= id) totals.push_back({.site = site, .writes = writes});
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

void profile_mma(u64 site) { ++products[site]; }

// The number of a width of 1, 2, 4, 8 or 16 bytes.
static u32 width_number(u32 bytes) {
  u32 number = 0;
  while (number < WIDTHS - 1 && bytes >> number > 1) ++number;
  return number;
}

void count_row(Region& region, const char* address, u32 bytes, bool writes) {
  const auto first = reinterpret_cast<u64>(address) >> 5, last = (reinterpret_cast<u64>(address) + bytes - 1) >> 5;
  ++(writes ? region.store_requests : region.load_requests);
  (writes ? region.store_sectors : region.load_sectors) += last - first + 1;
  (writes ? region.store_widths : region.load_widths)[WIDTHS - 1] += bytes;
}

static u32 sectors(const std::vector<u64>& addresses, u32 bytes) {
  std::vector<u64> touched;
  for (const u64 address : addresses)
    for (u64 sector = address >> 5; sector <= (address + bytes - 1) >> 5; ++sector) touched.push_back(sector);
  std::sort(touched.begin(), touched.end());
  return static_cast<u32>(std::unique(touched.begin(), touched.end()) - touched.begin());
}

// Lanes that ask for the same element get it by one access.
static void add_global(const Request& request) {
  std::vector<u64> addresses;
  for (u32 lane = 0; lane < 32; ++lane)
    if ((request.lanes >> lane & 1) != 0) addresses.push_back(request.addresses[lane]);
  std::sort(addresses.begin(), addresses.end());
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  Region& region = *request.region;
  ++(request.writes ? region.store_requests : region.load_requests);
  (request.writes ? region.store_sectors : region.load_sectors) += sectors(addresses, request.bytes);
  (request.writes ? region.store_widths : region.load_widths)[width_number(request.bytes)] +=
      addresses.size() * request.bytes;
}

// A request is served in groups of lanes that together ask for at most 128 bytes; in a group, each bank gives one
// word a pass, to all lanes that want this word.
static void add_shared(const Request& request, Site& site) {
  const u32 group = request.bytes <= 4 ? 32 : request.bytes == 8 ? 16 : 8;
  const u32 words = std::max(1u, request.bytes / 4);
  ++shared_profile.requests;
  ++site.requests;
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
    site.passes += passes;
    ++site.ideal_passes;
  }
}

void flush_profile() {
  if (!options.profile) return;
  for (auto& of_warp : requests)
    for (size_t id = 0; id < of_warp.size(); ++id) {
      for (const Request& request : of_warp[id]) {
        if (request.lanes == 0) continue;
        if (request.region == &shared) add_shared(request, totals[id]);
        else add_global(request);
      }
      of_warp[id].clear();
    }
  for (Thread& thread : threads) std::fill(thread.occurrences.begin(), thread.occurrences.end(), 0);
}

void report_sites() {
  for (const Site& site : totals)
    if (site.requests != 0)
      report_line("{\"shared_by\":\"%s\",\"site\":\"%llx\",\"requests\":%lu,\"passes\":%lu,\"ideal_passes\":%lu}",
                  site.writes ? "write" : "read", static_cast<unsigned long long>(site.site), site.requests, site.passes,
                  site.ideal_passes);
  for (const auto& [site, count] : products)
    report_line("{\"mma\":%lu,\"site\":\"%llx\"}", count, static_cast<unsigned long long>(site));
}

}  // namespace bb_emu
