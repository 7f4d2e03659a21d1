#include "report.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "machine.hpp"

namespace bb_emu {

ReportHeader* report_header = nullptr;
static char* text = nullptr;
constexpr size_t TEXT_BYTES = REPORT_BYTES - sizeof(ReportHeader);

void open_report(void* memory) {
  report_header = static_cast<ReportHeader*>(memory);
  *report_header = ReportHeader{};
  memcpy(report_header->magic, "bbemu01", 8);
  text = static_cast<char*>(memory) + sizeof(ReportHeader);
}

void report_line(const char* format, ...) {
  const size_t length = report_header->length, room = length < TEXT_BYTES ? TEXT_BYTES - length : 0;
  va_list arguments;
  va_start(arguments, format);
  const int written = vsnprintf(text + length, room, format, arguments);
  va_end(arguments);
  if (written < 0 || static_cast<size_t>(written) + 1 >= room) {
    ++report_header->dropped;
    return;
  }
  text[length + static_cast<size_t>(written)] = '\n';
  report_header->length = static_cast<u32>(length + static_cast<size_t>(written) + 1);
}

void end_process() {
  fflush(stdout);
  report_header->progress = Progress::Finished;
  _exit(0);
}

// Kinds and sites of what was reported; small, and searched only when there is something to report.
struct Key {
  const char* kind;
  u64 site, other;
};
static Key reported[256];
static u32 reported_count = 0;

static bool is_new(const Finding& finding) {
  const u32 known = reported_count < 256 ? reported_count : 256;
  for (u32 i = 0; i < known; ++i) {
    const Key& key = reported[i];
    if (strcmp(key.kind, finding.kind) == 0 && key.site == finding.site && key.other == finding.other.site) return false;
  }
  if (known < 256) reported[known] = {finding.kind, finding.site, finding.other.site};
  ++reported_count;
  return true;
}

// A text as it may stand between quotes in JSON.
static void quote(char* out, size_t room, const char* text) {
  size_t length = 0;
  for (; *text != 0 && length + 1 < room; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    out[length++] = byte == '"' ? '\'' : byte == '\\' || byte < 32 || byte > 126 ? ' ' : *text;
  }
  out[length] = 0;
}

void report(const Finding& finding, Then then) {
  if (is_new(finding)) {
    char other[256] = "", detail[512];
    quote(detail, sizeof detail, finding.text);
    if (finding.other.number != 0) {
      const u32 number = finding.other.number - 1;
      snprintf(other, sizeof other, ",\"other\":{\"block\":%u,\"thread\":%u,\"access\":\"%s\",\"site\":\"%llx\"}",
               number / thread_count, number % thread_count, finding.other.access,
               static_cast<unsigned long long>(finding.other.site));
    }
    const BbEmuIndex &b = bb_emu_block_index, &t = bb_emu_thread_index;
    report_line(
        "{\"finding\":\"%s\",\"in_thread\":%d,\"block\":[%u,%u,%u],\"thread\":[%u,%u,%u],\"access\":\"%s\",\"site\":\"%llx\","
        "\"buffer\":%d,\"offset\":%lld,\"bytes\":%u,\"text\":\"%s\"%s}",
        finding.kind, current != nullptr, b.x, b.y, b.z, t.x, t.y, t.z, finding.access,
        static_cast<unsigned long long>(finding.site), finding.place.buffer,
        static_cast<long long>(finding.place.offset), finding.bytes, detail, other);
  }
  if (then == Then::Stop || reported_count >= options.max_findings) end_process();
}

}  // namespace bb_emu
