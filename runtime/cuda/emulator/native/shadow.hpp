// Who wrote and read each piece of memory last. Pieces are words of four bytes until a narrower access comes; then
// the 64 bytes around it are kept in pieces of that width.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "machine.hpp"

namespace bb_emu {

struct Cell {
  u32 writer = 0, write_stamp = 0;  // threads by their number in the grid plus one; 0: none
  u32 reader = 0, read_stamp = 0;   // the last one; the stamp is the highest of all since the last write
  u32 readers = 0;                  // where several threads of a block have read: a table of their stamps
  u32 foreign_reader = 0, foreign_stamp = 0;  // one of an earlier block
  u32 flags = 0;
  u32 async_reads = 0, async_reader = 0;  // reads by the async proxy in flight, and a thread that asked for one
  u64 write_site = 0, read_site = 0, async_site = 0;
  static constexpr u32 ATOMIC = 1, IN_FLIGHT = 2, ASYNC_PROXY = 4;
};

class Shadow {
 public:
  static constexpr u32 LINE_BYTES = 64;
  struct Line {
    u32 piece = 4;     // bytes of a cell
    u32 block = 0;     // the block that used it last, plus one; each has shared memory of its own
    std::vector<Cell> cells;
  };
  void reset(size_t bytes, bool per_block) {
    pages_.clear();
    pages_.resize((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
    per_block_ = per_block;
  }
  // The line of an offset, with pieces not wider than `piece`.
  Line& line(size_t offset, u32 piece);
  // Bytes of the first `bytes` that no thread has written.
  u64 never_written(size_t bytes) const;

 private:
  // Rows may lie gigabytes apart: only pages that a thread touches take memory.
  static constexpr size_t PAGE_LINES = 1024, PAGE_BYTES = PAGE_LINES * LINE_BYTES;
  using Page = std::array<std::unique_ptr<Line>, PAGE_LINES>;
  std::vector<std::unique_ptr<Page>> pages_;
  bool per_block_ = false;
};

// Stamps of the readers of one cell, plus one, by thread of the block. Tables last as long as the block.
u32 new_reader_table();
u32* reader_table(u32 number);
void free_reader_table(u32 number);
void forget_reader_tables();

}  // namespace bb_emu
