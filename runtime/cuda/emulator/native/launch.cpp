// A process that runs one launch: described on standard input, with buffers and report in a file that it inherits.
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include "clocks.hpp"
#include "machine.hpp"
#include "memory.hpp"
#include "profile.hpp"
#include "signals.hpp"

namespace bb_emu {

extern void (*kernel_entry)(void**);
extern void** kernel_arguments;

namespace {

constexpr size_t GUARD = size_t{16} << 20;
constexpr size_t PAGE = 4096;
constexpr unsigned char SLACK = 0xa5;

// A buffer as Python describes it: its pages in the file, and where it lies in them.
struct Mapping {
  unsigned long file_offset, span, lead, bytes;
  int read_only, undefined;
};

// A variable of the module: its address as linked, and where the file has its value.
struct Variable {
  unsigned long address, bytes, file_offset;
};

struct Launch {
  int file = -1;
  u32 kernel = 0;
  unsigned long shared_bytes = 0;
  std::vector<Mapping> mappings;
  std::vector<std::vector<unsigned char>> values;  // of the arguments
  std::vector<Variable> variables;
};

}  // namespace

[[noreturn]] static void refuse(const char* text) {
  fprintf(stderr, "%s\n", text);
  _exit(3);
}

template <class... T>
static void scan(const char* format, T*... values) {
  if (scanf(format, values...) != static_cast<int>(sizeof...(T))) refuse("the launch cannot be read");
}

static void read_launch(Launch& launch) {
  int schedule, check, profile, flush;
  scan("%d", &launch.file);
  scan("%d %lu %d %d %d %u %u", &schedule, &options.seed, &check, &profile, &flush, &options.max_findings,
       &options.time_limit_ms);
  options.schedule = static_cast<Schedule>(schedule);
  options.check = check != 0;
  options.profile = profile != 0;
  options.flush_denormals = flush != 0;
  scan("%u", &launch.kernel);
  scan("%u %u %u", &bb_emu_grid_dim.x, &bb_emu_grid_dim.y, &bb_emu_grid_dim.z);
  scan("%u %u %u", &bb_emu_block_dim.x, &bb_emu_block_dim.y, &bb_emu_block_dim.z);
  scan("%lu", &launch.shared_bytes);
  unsigned count;
  scan("%u", &count);
  launch.mappings.resize(count);
  for (Mapping& m : launch.mappings)
    scan("%lu %lu %lu %lu %d %d", &m.file_offset, &m.span, &m.lead, &m.bytes, &m.read_only, &m.undefined);
}

static void map_buffers(const Launch& launch) {
  for (size_t i = 0; i < launch.mappings.size(); ++i) {
    const Mapping& m = launch.mappings[i];
    void* place = mmap(nullptr, m.span + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) refuse("there is no memory for the buffers");
    char* pages = static_cast<char*>(place) + GUARD;
    if (m.span != 0 && mmap(pages, m.span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, launch.file,
                            static_cast<off_t>(m.file_offset)) == MAP_FAILED)
      refuse("the buffers cannot be mapped");
    memset(pages, SLACK, m.lead);
    memset(pages + m.lead + m.bytes, SLACK, m.span - m.lead - m.bytes);
    Region region;
    region.begin = pages + m.lead;
    region.bytes = m.bytes;
    region.buffer = static_cast<int>(i);
    region.read_only = m.read_only != 0;
    region.undefined = m.undefined != 0;
    buffers.push_back(std::move(region));
  }
}

static void check_slack(const Launch& launch) {
  const auto touched = [](char byte) { return static_cast<unsigned char>(byte) != SLACK; };
  for (size_t i = 0; i < launch.mappings.size(); ++i) {
    const Mapping& m = launch.mappings[i];
    const Region& region = buffers[i];
    const char *begin = region.begin - m.lead, *end = region.begin + (m.span - m.lead);
    const char* found = std::find_if(begin, static_cast<const char*>(region.begin), touched);
    if (found == region.begin) {
      const char* past = region.begin + region.bytes;
      found = std::find_if(past, end, touched);
      if (found == end) continue;
    }
    report({.kind = "out of bounds", .access = "write", .place = {region.buffer, found - region.begin}}, Then::Continue);
  }
}

static void read_arguments(Launch& launch, const BbEmuKernel& kernel) {
  for (u32 i = 0; i < kernel.argument_count; ++i) {
    char how = 0;
    scan(" %c", &how);
    std::vector<unsigned char> value(kernel.arguments[i].bytes);
    // A pointer, a value that holds one at a distance (a tensor map), or a value.
    u32 buffer = 0;
    unsigned long offset = 0, distance = 0;
    if (how == 'p') scan("%u %lu", &buffer, &offset);
    if (how == 'm') scan("%u %lu %lu", &buffer, &offset, &distance);
    if (how != 'p')
      for (unsigned char& byte : value) {
        unsigned bits;
        scan("%2x", &bits);
        byte = static_cast<unsigned char>(bits);
      }
    if (how != 'v') {
      if (buffer >= buffers.size() || distance + sizeof(char*) > value.size()) refuse("the launch has a bad pointer");
      char* pointer = buffers[buffer].begin + offset;
      memcpy(value.data() + distance, &pointer, sizeof pointer);
    }
    launch.values.push_back(std::move(value));
  }
}

static void read_variables(Launch& launch) {
  for (Variable v; scanf("%lu %lu %lu", &v.address, &v.bytes, &v.file_offset) == 3;) launch.variables.push_back(v);
}

// Move the values that variables have at the beginning, or those that a launch leaves. Mapped, because what may be written
// to files is limited.
static void move_variables(const Launch& launch, bool save) {
  for (const Variable& v : launch.variables) {
    char* place = program_address(v.address);
    if (!in_variables(place, v.bytes)) continue;  // what cannot be written need not be
    const size_t lead = v.file_offset % PAGE;
    void* mapped = mmap(nullptr, lead + v.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, launch.file,
                        static_cast<off_t>(v.file_offset - lead));
    if (mapped == MAP_FAILED) refuse("the module's variables cannot be mapped");
    char* value = static_cast<char*>(mapped) + lead;
    memcpy(save ? value : place, save ? place : value, v.bytes);
    munmap(mapped, lead + v.bytes);
  }
}

static void print_variables() {
  find_segments();
  for (unsigned long address, bytes; scanf("%lu %lu", &address, &bytes) == 2;)
    if (fwrite(program_address(address), 1, bytes, stdout) != bytes) refuse("the variables cannot be written");
}

static void print_kernels() {
  for (u32 i = 0; i < bb_emu_kernel_count; ++i) {
    const BbEmuKernel& kernel = bb_emu_kernels[i];
    printf("%u", kernel.argument_count);
    for (u32 k = 0; k < kernel.argument_count; ++k)
      printf(" %u %u", kernel.arguments[k].bytes, kernel.arguments[k].flags);
    printf(" %s\n", kernel.name);
  }
}

static void report_traffic() {
  const Counters& c = counters;
  report_line(
      "{\"counters\":{\"mma\":%lu,\"ldmatrix\":%lu,\"stmatrix\":%lu,\"barriers\":%lu,\"named_barriers\":%lu,"
      "\"shuffles\":%lu,\"votes\":%lu,\"syncwarps\":%lu,\"cp_async\":%lu,\"atomics\":%lu,\"mbarrier_phases\":%lu,"
      "\"bulk_copies\":%lu,\"wgmma\":%lu,\"switches\":%lu}}",
      c.mma, c.ldmatrix, c.stmatrix, c.barriers, c.named_barriers, c.shuffles, c.votes, c.syncwarps, c.cp_async,
      c.atomics, c.mbarrier_phases, c.bulk_copies, c.wgmma, c.switches);
  report_line(
      "{\"shared\":{\"bytes_read\":%lu,\"bytes_written\":%lu,\"requests\":%lu,\"passes\":%lu,\"ideal_passes\":%lu},"
      "\"static_shared\":%zu}",
      shared.bytes_read, shared.bytes_written, shared_profile.requests, shared_profile.passes,
      shared_profile.ideal_passes, static_shared_bytes());
  for (const Region& b : buffers)
    report_line(
        "{\"buffer\":%d,\"bytes_read\":%lu,\"bytes_written\":%lu,\"load_requests\":%lu,\"load_sectors\":%lu,"
        "\"store_requests\":%lu,\"store_sectors\":%lu,\"load_widths\":[%lu,%lu,%lu,%lu,%lu],"
        "\"store_widths\":[%lu,%lu,%lu,%lu,%lu],\"never_written\":%lu}",
        b.buffer, b.bytes_read, b.bytes_written, b.load_requests, b.load_sectors, b.store_requests, b.store_sectors,
        b.load_widths[0], b.load_widths[1], b.load_widths[2], b.load_widths[3], b.load_widths[4], b.store_widths[0],
        b.store_widths[1], b.store_widths[2], b.store_widths[3], b.store_widths[4],
        options.check && b.undefined ? b.shadow.never_written(b.bytes) : 0);
  report_sites();
}

// What a compiler refuses. A module's kernels share this executable, so that their sum says nothing.
static void check_static_shared() {
  constexpr size_t LIMIT = 48 << 10, PADDING = 1024;
  if (bb_emu_kernel_count == 1 && static_shared_bytes() > LIMIT + PADDING)
    refuse("the kernel's __shared__ variables have more than 49152 bytes: take dynamic shared memory");
}

static void prepare_machine(Launch& launch) {
  thread_count = bb_emu_block_dim.x * bb_emu_block_dim.y * bb_emu_block_dim.z;
  if (thread_count == 0 || thread_count > 1024) refuse("a block has from 1 to 1024 threads");
  dynamic_shared_bytes = launch.shared_bytes;
  threads = std::vector<Thread>(thread_count);
  warps.resize((thread_count + 31) / 32);
  for (u32 index = 0; index < thread_count; ++index) {
    threads[index].index = index;
    threads[index].warp = index / 32;
    threads[index].lane = index % 32;
    if (!allocate_stack(threads[index].fiber)) refuse("there is no memory for the threads' stacks");
  }
  allocate_clocks();
  start_shadows();
  start_profile();
}

// Blocks in the order of the schedule. Random orders of more blocks than fit into a table begin with the first.
static void run_blocks() {
  constexpr u32 LARGEST_TABLE = u32{1} << 22;
  const u32 x = bb_emu_grid_dim.x, y = bb_emu_grid_dim.y, count = x * y * bb_emu_grid_dim.z;
  std::vector<u32> order;
  if (options.schedule >= Schedule::Random && count <= LARGEST_TABLE) {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
    for (u32 i = count; i > 1; --i) std::swap(order[i - 1], order[random_number() % i]);
  }
  for (u32 i = 0; i < count; ++i) {
    const u32 number = !order.empty() ? order[i] : options.schedule == Schedule::Lifo ? count - 1 - i : i;
    block_number = number;
    bb_emu_block_index = {number % x, number / x % y, number / x / y};
    memcpy(report_header->block, &bb_emu_block_index, sizeof report_header->block);
    run_block();
  }
}

static int run(Launch& launch) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  const rlimit no_core{0, 0}, output{size_t{64} << 20, size_t{64} << 20};
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_FSIZE, &output);
  read_launch(launch);
  void* memory = mmap(nullptr, REPORT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, launch.file, 0);
  if (memory == MAP_FAILED) refuse("the report cannot be mapped");
  open_report(memory);
  if (launch.kernel >= bb_emu_kernel_count) refuse("there is no such kernel");
  const BbEmuKernel& kernel = bb_emu_kernels[launch.kernel];
  map_buffers(launch);
  read_arguments(launch, kernel);
  read_variables(launch);
  find_program_memory();
  move_variables(launch, false);
  check_static_shared();
  prepare_machine(launch);
  std::vector<void*> pointers;
  for (auto& value : launch.values) pointers.push_back(value.data());
  kernel_entry = kernel.call;
  kernel_arguments = pointers.data();
  catch_signals();
#if defined(__x86_64__)
  if (options.flush_denormals) _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  report_header->progress = Progress::Running;
  run_blocks();
  check_slack(launch);
  report_traffic();
  move_variables(launch, true);
  end_process();
}

}  // namespace bb_emu

int main(int count, char** words) {
  if (count == 2 && strcmp(words[1], "--kernels") == 0) {
    bb_emu::print_kernels();
    return 0;
  }
  if (count == 2 && strcmp(words[1], "--variables") == 0) {
    bb_emu::print_variables();
    return 0;
  }
  static bb_emu::Launch launch;
  return bb_emu::run(launch);
}
