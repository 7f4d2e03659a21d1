// processor.hpp: which ways are fast on this processor.
#pragma once
#include <bb/contract.hpp>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace bb::native {
namespace {
// vdpbf16ps has the instruction rate of multiply-adds on AMD's processors, so twice their speed. Intel's have half
// that rate: there it gains nothing, AMX does. By name, not by a measurement: results must be the same every time.
// BB_IN_PAIRS: it was known to be so when this was compiled, so that the other way is left out.
#if defined(BB_PAIRS_ARE_FAST) && defined(BB_AVX512) && defined(__AVX512BF16__)
#define BB_IN_PAIRS
#endif
[[maybe_unused]] bool pairs_are_fast() {
#if defined(BB_IN_PAIRS)
  return true;
#elif defined(BB_AVX512) && defined(__AVX512BF16__) && defined(__x86_64__)
  static const bool amd = [] {
    unsigned highest, b, c, d;
    return __get_cpuid(0, &highest, &b, &c, &d) && b == signature_AMD_ebx && c == signature_AMD_ecx &&
           d == signature_AMD_edx;
  }();
  return amd;
#else
  return false;
#endif
}
}  // namespace
}  // namespace bb::native
