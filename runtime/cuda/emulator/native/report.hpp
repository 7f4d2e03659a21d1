// What the parent process reads: findings as lines of JSON in memory that both share, and where the kernel is.
// It is filled step by step, so that a kernel that kills this process leaves what was found until then.
#pragma once
#include <cstddef>
#include <cstdint>

namespace bb_emu {

enum class Progress : uint32_t { Starting = 0, Running = 1, Finished = 2 };

struct ReportHeader {
  char magic[8];  // "bbemu01"
  Progress progress;
  uint32_t block[3], thread[3];
  uint32_t in_thread;  // whether a thread of the kernel has control
  uint32_t length;     // bytes of text after this header
  uint32_t dropped;    // lines for which there was no room
};

constexpr size_t REPORT_BYTES = size_t{1} << 20;

extern ReportHeader* report_header;
void open_report(void* memory);

// One line of text, as printf. Safe in a signal handler as far as snprintf of numbers is.
void report_line(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Where an access went.
struct Place {
  int buffer = NO_BUFFER;
  int64_t offset = 0;
  static constexpr int NO_BUFFER = -1, STATIC_SHARED = -2, DYNAMIC_SHARED = -3, GLOBALS = -4;
};

struct OtherThread {
  uint32_t number = 0;  // of the thread in the grid, plus one; 0: there is no other
  uint64_t site = 0;
  const char* access = "";
};

struct Finding {
  const char* kind;
  const char* access = "";  // "read", "write", ...
  uint64_t site = 0;
  Place place = {};
  uint32_t bytes = 0;
  OtherThread other = {};
  const char* text = "";  // in plain ASCII without quotes or backslashes
};

enum class Then { Continue, Stop };

// Report a finding of the running thread; the same kind at the same sites is reported once. With Then::Stop, or
// when there have been as many as the launch allows, the process ends here.
void report(const Finding& finding, Then then);
[[noreturn]] void end_process();

}  // namespace bb_emu
