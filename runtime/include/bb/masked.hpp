// masked.hpp: contractions of which a mask leaves out products, for operands that are not finite.
//
// A factor that a mask hides meets 0, which changes no sum unless the factor is NaN or infinite. So kernels contract as
// if there were no masks, and look for NaN in the sums. Only where they find one do they run again, carefully, with
// the following functions.
//
// any_nan<T>(p, by_row, by_column, rows, columns)
//     true if an element is NaN.
// all_finite(p, by_row, by_column, rows, columns)
//     true if no element is NaN or infinite.
// finite_copy(p, by_row, by_column, rows, columns)
//     A copy with 0 in place of what is not finite, with its strides; `data` is nullptr if there is no memory. The axis
//     with stride 1 stays the one with stride 1. It is valid until the thread's next call.
// add_not_finite(rows, columns, depth, sum, left, right, kept)
//     sum(m, n) += left(m, k) * right(n, k) for all m < rows, n < columns and k < depth where kept(m, k) is not 0 and
//     right(n, k) is not finite. The arguments are functions; `sum` returns a reference.
// half(pair, odd)
//     an element of a pair, see pairs.hpp.
#pragma once
#include <cmath>
#include "pairs.hpp"
#include "scratch.hpp"

namespace bb {
namespace detail {
template <class S>
BB_INLINE auto number(S x) {
  if constexpr (std::is_same_v<S, double>) return x;
  else return cast<float>(x);
}
}  // namespace detail

namespace detail {
// True if f(x) is true for an element x of a block.
template <class S, class F>
BB_INLINE bool any_of(const S* p, idx by_row, idx by_column, idx rows, idx columns, F f) {
  if (by_row == 1) std::swap(by_row, by_column), std::swap(rows, columns);
  for (idx r = 0; r < rows; r++) {
    const S* row = p + r * by_row;
    int found = 0;
    if (by_column == 1)  // in vectors
      for (idx c = 0; c < columns; c++) found |= f(number(row[c]));
    else
      for (idx c = 0; c < columns; c++) found |= f(number(row[c * by_column]));
    if (found) return true;
  }
  return false;
}
}  // namespace detail

template <class S>
inline __attribute__((noinline)) bool any_nan(const S* p, idx by_row, idx by_column, idx rows, idx columns) {
  return detail::any_of(p, by_row, by_column, rows, columns, [](auto x) { return x != x; });
}

template <class S>
inline __attribute__((noinline)) bool all_finite(const S* p, idx by_row, idx by_column, idx rows, idx columns) {
  return !detail::any_of(p, by_row, by_column, rows, columns, [](auto x) { return !(x - x == 0); });
}

template <class S>
struct Copy {
  S* data;
  idx by_row, by_column;
};

template <class S>
inline __attribute__((noinline)) Copy<S> finite_copy(const S* p, idx by_row, idx by_column, idx rows, idx columns) {
  Copy<S> copy{scratch<S>(rows * columns + 64, 6), columns, 1};  // vectors of lanes may begin in the last row
  if (by_row == 1) copy.by_row = 1, copy.by_column = rows;
  if (!copy.data) return copy;
  for (idx r = 0; r < rows; r++)
    for (idx c = 0; c < columns; c++) {
      const S x = p[r * by_row + c * by_column];
      const auto difference = detail::number(x) - detail::number(x);
      copy.data[r * copy.by_row + c * copy.by_column] = difference == 0 ? x : S{};
    }
  return copy;
}

template <class Sum, class Left, class Right, class Kept>
inline __attribute__((noinline)) void add_not_finite(idx rows, idx columns, idx depth, Sum sum, Left left, Right right,
                                                     Kept kept) {
  for (idx k = 0; k < depth; k++)
    for (idx n = 0; n < columns; n++) {
      const auto x = detail::number(right(n, k));
      if (x - x == 0) continue;
      for (idx m = 0; m < rows; m++)
        if (kept(m, k) != 0) sum(m, n) += detail::number(left(m, k)) * x;
    }
}

BB_INLINE float half(Pair pair, idx odd) { return cast<float>(bf16{std::uint16_t(pair >> (odd ? 16 : 0))}); }
}  // namespace bb
