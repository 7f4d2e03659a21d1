// printf of PTX: a format and its values one after another, each at a multiple of its own size.
#pragma once
#include <bb/cuda_emulator/hooks.hpp>
#include <stdio.h>
#include <string.h>

namespace bb_ptx {

class PrintedValues {
 public:
  explicit PrintedValues(uint64_t address) : at_(address) {}
  template <class T>
  T next() {
    at_ = (at_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value;
    memcpy(&value, reinterpret_cast<const void*>(at_), sizeof value);
    at_ += sizeof(T);
    return value;
  }

 private:
  uint64_t at_;
};

// The number of values, as CUDA's printf returns it; -1 for a format that it does not know.
inline int32_t print_formatted(uint64_t format, uint64_t values, uint64_t site) {
  const char* p = reinterpret_cast<const char*>(format);
  PrintedValues next(values);
  int32_t count = 0;
  while (*p != 0) {
    const char* plain = strchrnul(p, '%');
    fwrite(p, 1, static_cast<size_t>(plain - p), stdout);
    p = plain;
    if (*p == 0) break;
    if (p[1] == '%') {
      putchar('%');
      p += 2;
      continue;
    }
    // One conversion, with the widths that are values themselves written into it.
    char one[64];
    size_t length = 0;
    bool wide = false;
    for (one[length++] = *p++; *p != 0 && strchr("#0- +.123456789*hlLjzt", *p) != nullptr && length < 40; ++p) {
      wide |= *p == 'l' || *p == 'L' || *p == 'j' || *p == 'z' || *p == 't';
      if (*p == '*') {
        length += static_cast<size_t>(snprintf(one + length, 16, "%d", next.next<int32_t>()));
        ++count;
      } else if (strchr("hlLjzt", *p) == nullptr) {
        one[length++] = *p;
      }
    }
    const char kind = *p;
    if (kind == 0 || strchr("diouxXcpsaAeEfFgG", kind) == nullptr)
      bb_emu_trap("printf with a format that CUDA does not know", site);
    ++p;
    if (strchr("diouxX", kind) != nullptr && wide) one[length++] = 'l';
    one[length++] = kind;
    one[length] = 0;
    ++count;
    switch (kind) {
      case 's': {
        const char* text = reinterpret_cast<const char*>(next.next<uint64_t>());
        printf(one, text == nullptr ? "(null)" : text);
        break;
      }
      case 'p': printf(one, reinterpret_cast<void*>(next.next<uint64_t>())); break;
      default:
        if (strchr("aAeEfFgG", kind) != nullptr)
          printf(one, next.next<double>());
        else if (wide)
          printf(one, next.next<int64_t>());
        else
          printf(one, next.next<int32_t>());
    }
  }
  return count;
}

}  // namespace bb_ptx
