// contract_few.hpp: what contract_rows() and contract_dot() share. Few rows of A; every element of B is read
// once, at the speed of memory.
#pragma once
#include <bb/contract.hpp>

namespace bb::native {
namespace {
// What to prefetch while `count` rows of n elements at stride ld are read side by side, a vector of each at a
// time: for element i of row u that at start + i * step + u * row. Rows that follow each other in memory are
// prefetched in the order of memory: the hardware takes that for one stream and runs ahead with more misses
// than a core may have open itself.
struct Ahead {
  idx start, step, row;
  bool near;  // into L1, else into L2

  template <class T, class S>
  static Ahead of(int rows_of_a, idx count, idx n, idx ld) {
    constexpr idx distance = 8192 / sizeof(S);
    const idx block = n * count, rows = block >= distance ? count : ceil_div(distance, block) * count;
    const bool contiguous = ld >= n && ld - n < 64;
    return {rows * ld, contiguous ? count : 1, contiguous ? W<T> : ld,
            block <= (rows_of_a == 1 ? 2 * distance : distance / 2)};
  }
  template <class S>
  BB_INLINE void fetch(const S* p) const {
    near ? prefetch<1>(p + start) : prefetch<2>(p + start);
  }
};

// f(fixed<rows>, first row) over the rows in nearly equal groups of up to 8.
template <class F>
void groups_of_rows(idx M, F f) {
  const idx groups = (M + 7) / 8;
  for (idx g = 0, m = 0; g < groups; g++) {
    const idx rows = (M - m) / (groups - g);
    [&]<int... I>(std::integer_sequence<int, I...>) {
      ((rows == I + 1 ? f(fixed<I + 1>{}, m) : void()), ...);
    }(std::make_integer_sequence<int, 8>{});
    m += rows;
  }
}
}  // namespace
}  // namespace bb::native
