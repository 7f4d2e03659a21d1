// The memory that a kernel may touch: its buffers, shared memory, the module's variables, the thread's own stack.
#pragma once
#include <vector>

#include "machine.hpp"
#include "shadow.hpp"

namespace bb_emu {

constexpr u32 WIDTHS = 5;  // of accesses: 1, 2, 4, 8 and 16 bytes

struct Region {
  char* begin = nullptr;
  size_t bytes = 0;
  int buffer = 0;  // its number, or one of Place's names
  bool read_only = false, undefined = false;
  Shadow shadow;
  u64 bytes_read = 0, bytes_written = 0;                                          // counted in check mode
  u64 load_requests = 0, load_sectors = 0, store_requests = 0, store_sectors = 0;  // and with the profile
  u64 load_widths[WIDTHS] = {}, store_widths[WIDTHS] = {};  // bytes that requests asked for, by the width of their accesses
  bool contains(const void* address) const {
    return static_cast<size_t>(static_cast<const char*>(address) - begin) < bytes;
  }
};

extern std::vector<Region> buffers;
extern Region shared;  // all of it, the dynamic array included
extern char* shared_window;
extern size_t dynamic_shared_bytes;  // as the launch asked for

// Bulk ones are by the async proxy. BulkRead lasts until it is ended (races.hpp); BulkFetch reads what no thread of the
// block writes.
enum class Access {
  Read, Write, Atomic, AsyncIssue, AsyncArrive, Synchronise, VolatileRead, VolatileWrite, BulkIssue, BulkRead, BulkFetch,
};
const char* name_of(Access kind);

// Check one access of the current thread, and remember it.
void access(const void* address, u32 bytes, Access kind, u64 site);

extern u64 last_site;  // of the latest access

// Where the executable is, and an address in it as linked; whether that is of variables which can be written.
void find_segments();
char* program_address(u64 linked);
bool in_variables(const char* address, size_t bytes);
// Find shared memory and the module's variables in this executable.
void find_program_memory();
size_t static_shared_bytes();
void start_shadows();
void fill_shared();        // with 0xff, a NaN in every floating-point type, as a block begins
void check_shared_tail();  // that nothing wrote past the dynamic shared memory that was asked for
// The region of an address, null where it is in none.
Region* region_of(const void* address);
// The nearest buffer to an address that is in none, for messages.
Place nearest(const void* address);
Place shared_place(const void* address);
bool in_program(const void* address);

}  // namespace bb_emu
