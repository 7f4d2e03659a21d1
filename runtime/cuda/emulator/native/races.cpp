#include "races.hpp"

#include <algorithm>

#include "clocks.hpp"

namespace bb_emu {

static const char* verb_of_write(const Cell& cell) {
  if ((cell.flags & Cell::IN_FLIGHT) != 0) return (cell.flags & Cell::ASYNC_PROXY) != 0 ? "bulk copy" : "async copy";
  if ((cell.flags & Cell::ASYNC_PROXY) != 0) return "bulk copy";
  return (cell.flags & Cell::ATOMIC) != 0 ? "atomic" : "write";
}

static bool in_this_block(u32 number) { return (number - 1) / thread_count == block_number; }

// Volatile accesses of global memory are treated as relaxed atomics.
static bool is_atomic(Access kind) {
  return kind == Access::Atomic || kind == Access::Synchronise || kind == Access::VolatileRead ||
         kind == Access::VolatileWrite;
}

namespace {

struct WaitingRead {
  u32 reader;
  const char* address;
  Finding finding;
  BbEmuIndex thread;
};

std::vector<WaitingRead> waiting_reads;
constexpr size_t MOST_WAITING = 4096;

// One access, and whether it has been complained about already: one finding an access is enough.
struct Check {
  Access kind;
  u64 site;
  u32 bytes;
  Place place;
  const char* address;
  bool raced = false, unwritten = false, in_flight = false, unfenced = false;

  bool atomic() const { return is_atomic(kind); }
  bool reads() const { return kind == Access::Read || kind == Access::BulkRead || kind == Access::BulkFetch; }
  bool by_proxy() const { return kind == Access::BulkRead || kind == Access::BulkIssue; }

  void complain(const char* finding, const OtherThread& other, int64_t offset, bool& done, const char* text = "") {
    if (done) return;
    done = true;
    report({.kind = finding, .access = name_of(kind), .site = site, .place = {place.buffer, offset}, .bytes = bytes,
            .other = other, .text = text},
           Then::Continue);
  }
  void race_of_read(u32 reader, u32 other, u64 other_site, const char* what, int64_t offset) {
    if (!in_this_block(reader) || waiting_reads.size() == MOST_WAITING) return race(other, other_site, what, offset);
    const char* at = address + (offset - place.offset);
    for (const WaitingRead& known : waiting_reads)
      if (known.reader == reader && known.address == at) return;
    waiting_reads.push_back({reader, at,
                             {.kind = "race", .access = name_of(kind), .site = site, .place = {place.buffer, offset},
                              .bytes = bytes, .other = {other, other_site, what}},
                             bb_emu_thread_index});
  }
  void race(u32 other, u64 other_site, const char* what, int64_t offset) {
    complain("race", {other, other_site, what}, offset, raced);
  }
};

}  // namespace

static void against_write(Check& check, const Region& region, const Cell& cell, int64_t offset) {
  if (cell.writer == 0) {
    const bool expects = region.buffer == Place::STATIC_SHARED || region.undefined;
    if ((check.reads() || check.kind == Access::Atomic) && expects)
      check.complain("uninitialised", {}, offset, check.unwritten);
    return;
  }
  if ((cell.flags & Cell::IN_FLIGHT) != 0) {
    if (check.kind == Access::AsyncArrive) return;
    if (check.kind != Access::AsyncIssue) {
      check.complain("async in flight", {cell.writer, cell.write_site, verb_of_write(cell)}, offset, check.in_flight);
      return;
    }
  }
  const bool both_atomic = check.atomic() && (cell.flags & Cell::ATOMIC) != 0;
  if (both_atomic || happens_before(cell.writer, cell.write_stamp)) {
    const bool by_other_proxy = check.by_proxy() && (cell.flags & Cell::ASYNC_PROXY) == 0;
    if (by_other_proxy && region.buffer == Place::STATIC_SHARED &&
        !fenced_for_proxy((cell.writer - 1) % thread_count, cell.write_stamp, false))
      check.complain("missing fence", {cell.writer, cell.write_site, verb_of_write(cell)}, offset, check.unfenced,
                     "no fence.proxy.async is between a thread's write and this");
    return;
  }
  if (check.kind == Access::Read && (cell.flags & Cell::ATOMIC) != 0)
    check.race_of_read(grid_thread(), cell.writer, cell.write_site, verb_of_write(cell), offset);
  else
    check.race(cell.writer, cell.write_site, verb_of_write(cell), offset);
}

static void against_reader(Check& check, const Cell& cell, u32 reader, int64_t offset) {
  if (check.kind == Access::Atomic)
    check.race_of_read(reader, reader, cell.read_site, "read", offset);
  else
    check.race(reader, cell.read_site, "read", offset);
}

static void against_readers(Check& check, const Cell& cell, int64_t offset) {
  if (cell.reader == 0) return;
  if (in_this_block(cell.reader)) {
    if (cell.read_stamp >= block_floor) {
      if (cell.readers == 0) {
        if (!happens_before(cell.reader, cell.read_stamp)) against_reader(check, cell, cell.reader, offset);
      } else {
        const u32* stamps = reader_table(cell.readers);
        for (u32 index = 0; index < thread_count; ++index) {
          if (stamps[index] == 0 || block_happens_before(index, stamps[index] - 1)) continue;
          against_reader(check, cell, block_number * thread_count + index + 1, offset);
          if (check.raced) break;
        }
      }
    }
  } else if (!happens_before(cell.reader, cell.read_stamp)) {
    check.race(cell.reader, cell.read_site, "read", offset);
  }
  if (cell.foreign_reader != 0 && !happens_before(cell.foreign_reader, cell.foreign_stamp))
    check.race(cell.foreign_reader, cell.read_site, "read", offset);
}

static void remember_read(Cell& cell, u64 site, u32 index, u32 stamp) {
  const u32 me = block_number * thread_count + index + 1;
  const bool same_block = cell.reader != 0 && in_this_block(cell.reader);
  if (cell.reader != 0 && !same_block) {
    cell.foreign_reader = cell.reader;
    cell.foreign_stamp = cell.read_stamp;
    cell.readers = 0;
  }
  // Reads below the floor happen before whatever this block will write.
  if (same_block && cell.read_stamp >= block_floor && (cell.reader != me || cell.readers != 0)) {
    if (cell.readers == 0) {
      cell.readers = new_reader_table();
      reader_table(cell.readers)[(cell.reader - 1) % thread_count] = cell.read_stamp + 1;
    }
    u32& known = reader_table(cell.readers)[index];
    known = std::max(known, stamp + 1);
    cell.read_stamp = std::max(cell.read_stamp, stamp);
  } else {
    if (same_block && cell.readers != 0) free_reader_table(cell.readers);
    cell.readers = 0;
    cell.read_stamp = same_block && cell.reader == me ? std::max(cell.read_stamp, stamp) : stamp;
  }
  cell.reader = me;
  cell.read_site = site;
}

static void remember_write(Cell& cell, Access kind, u64 site) {
  if (cell.readers != 0 && in_this_block(cell.reader)) free_reader_table(cell.readers);
  cell.reader = cell.readers = cell.foreign_reader = 0;
  cell.writer = grid_thread();
  cell.write_stamp = current->segment;
  if (kind != Access::AsyncArrive) cell.write_site = site;
  cell.flags = kind == Access::AsyncIssue ? Cell::IN_FLIGHT : 0;
  if (kind == Access::BulkIssue) cell.flags = Cell::IN_FLIGHT | Cell::ASYNC_PROXY;
  if (is_atomic(kind)) cell.flags = Cell::ATOMIC;
}

void forgive_reads(const void* address, u32 bytes) {
  if (waiting_reads.empty()) return;
  const u32 me = grid_thread();
  const char* begin = static_cast<const char*>(address);
  std::erase_if(waiting_reads, [&](const WaitingRead& read) {
    return read.reader == me && read.address >= begin && read.address < begin + bytes;
  });
}

void report_reads() {
  for (const WaitingRead& read : waiting_reads) {
    bb_emu_thread_index = read.thread;
    report(read.finding, Then::Continue);
  }
  waiting_reads.clear();
}

void check_order(Region& region, size_t offset, u32 bytes, Access kind, u64 site, const Place& place) {
  // No thread may write to it: that would have been reported.
  if (region.read_only) return;
  Check check{kind, site, bytes, place, region.begin + offset};
  const u32 narrow = static_cast<u32>((offset | bytes) & 3);
  const u32 piece = narrow == 0 ? 4 : (narrow & 1) != 0 ? 1 : 2;
  size_t at = offset;
  const size_t end = offset + bytes;
  while (at < end) {
    Shadow::Line& line = region.shadow.line(at, piece);
    const size_t line_end = std::min(end, (at / Shadow::LINE_BYTES + 1) * Shadow::LINE_BYTES);
    for (; at < line_end; at += line.piece) {
      Cell& cell = line.cells[at % Shadow::LINE_BYTES / line.piece];
      const int64_t where = place.offset + static_cast<int64_t>(at - offset);
      against_write(check, region, cell, where);
      if (kind == Access::VolatileRead) continue;  // what polls a flag does not keep others from setting it
      if (kind == Access::BulkRead) {
        ++cell.async_reads;
        cell.async_reader = grid_thread();
        cell.async_site = site;
      } else if (check.reads()) {
        remember_read(cell, site, current->index, current->segment);
      } else {
        if (cell.async_reads != 0)
          check.complain("async in flight", {cell.async_reader, cell.async_site, "async read"}, where, check.in_flight);
        if (kind != Access::AsyncArrive) against_readers(check, cell, where);
        remember_write(cell, kind, site);
      }
    }
  }
}

template <class F>
static void for_cells(const void* address, u32 bytes, F f) {
  Region* region = options.check ? region_of(address) : nullptr;
  if (region == nullptr) return;
  size_t at = static_cast<size_t>(static_cast<const char*>(address) - region->begin);
  const u32 narrow = static_cast<u32>((at | bytes) & 3), piece = narrow == 0 ? 4 : (narrow & 1) != 0 ? 1 : 2;
  for (const size_t end = at + bytes; at < end;) {
    Shadow::Line& line = region->shadow.line(at, piece);
    f(line.cells[at % Shadow::LINE_BYTES / line.piece]);
    at += line.piece;
  }
}

void end_bulk_write(const void* address, u32 bytes) {
  for_cells(address, bytes, [](Cell& cell) { cell.flags &= ~Cell::IN_FLIGHT; });
}

void end_bulk_read(const void* address, u32 bytes, u32 index, u32 stamp) {
  for_cells(address, bytes, [&](Cell& cell) {
    if (cell.async_reads != 0) --cell.async_reads;
    remember_read(cell, cell.async_site, index, stamp);
  });
}

}  // namespace bb_emu
