#include "shadow.hpp"

#include <algorithm>

namespace bb_emu {

Shadow::Line& Shadow::line(size_t offset, u32 piece) {
  std::unique_ptr<Page>& page = pages_[offset / PAGE_BYTES];
  if (page == nullptr) page = std::make_unique<Page>();
  std::unique_ptr<Line>& slot = (*page)[offset % PAGE_BYTES / LINE_BYTES];
  if (slot == nullptr) {
    slot = std::make_unique<Line>();
    slot->cells.resize(LINE_BYTES / slot->piece);
    slot->block = block_number + 1;
  }
  Line& line = *slot;
  if (per_block_ && line.block != block_number + 1) {
    std::fill(line.cells.begin(), line.cells.end(), Cell{});
    line.block = block_number + 1;
  }
  while (line.piece > piece) {
    std::vector<Cell> finer;
    finer.reserve(line.cells.size() * 2);
    for (const Cell& cell : line.cells) {
      finer.push_back(cell);
      finer.push_back(cell);
      if (cell.readers != 0 && (cell.reader - 1) / thread_count == block_number) {  // the halves go separate ways
        const u32 table = new_reader_table();
        std::copy_n(reader_table(cell.readers), thread_count, reader_table(table));
        finer.back().readers = table;
      }
    }
    line.cells = std::move(finer);
    line.piece /= 2;
  }
  return line;
}

u64 Shadow::never_written(size_t bytes) const {
  u64 total = 0;
  for (size_t at = 0; at < bytes;) {
    const Page* page = pages_[at / PAGE_BYTES].get();
    const size_t here = std::min<size_t>(page == nullptr ? PAGE_BYTES : LINE_BYTES, bytes - at);
    if (page == nullptr) {
      total += here;
      at += here;
      continue;
    }
    const Line* line = (*page)[at % PAGE_BYTES / LINE_BYTES].get();
    for (size_t byte = 0; byte < here; ++byte)
      if (line == nullptr || line->cells[byte / line->piece].writer == 0) ++total;
    at += here;
  }
  return total;
}

static std::vector<std::unique_ptr<u32[]>> tables;
static std::vector<u32> free_tables;
static u32 tables_used = 0;

u32 new_reader_table() {
  u32 number;
  if (!free_tables.empty()) {
    number = free_tables.back();
    free_tables.pop_back();
  } else {
    if (tables_used == tables.size()) tables.push_back(std::make_unique<u32[]>(thread_count));
    number = ++tables_used;
  }
  std::fill_n(reader_table(number), thread_count, 0);
  return number;
}

u32* reader_table(u32 number) { return tables[number - 1].get(); }

void free_reader_table(u32 number) { free_tables.push_back(number); }

void forget_reader_tables() {
  tables_used = 0;
  free_tables.clear();
}

}  // namespace bb_emu
