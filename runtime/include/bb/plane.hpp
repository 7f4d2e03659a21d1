// plane.hpp: local tiles ("planes"), their moves from and to arrays, and the loops over them.
//
// A plane is `outer` x `lanes` elements of T (float or double) at p[o * ld + l]; ld is a multiple of W<T> and not
// less than lanes rounded up to W<T> (plane_ld in scratch.hpp proposes one). Lanes between the valid ones and
// the next multiple of W<T> are padding: they may be computed with, and are never stored to arrays.
//
// load_plane<T>(dst, ld, outer, lanes, src, outer_stride, lane_stride, valid_outer, valid_lanes, fill = 0)
//     dst[o * ld + l] = (T)src[o * outer_stride + l * lane_stride] for o < valid_outer and l < valid_lanes;
//     `fill` elsewhere in o < outer, l < lanes rounded up to W<T>. src: pointer to any storage type of
//     convert.hpp; strides in elements, any sign, 0 too. valid_* may exceed outer and lanes, or be <= 0.
//     Reads no element but the valid ones. Fast with lane_stride == 1 (rows are copied), outer_stride == 1
//     (W x W transposes) and lane_stride == 0; else element by element.
// store_plane<T>(dst, outer_stride, lane_stride, src, ld, valid_outer, valid_lanes)
//     dst[o * outer_stride + l * lane_stride] = (S)src[o * ld + l] for o < valid_outer, l < valid_lanes. Writes
//     nothing else.
// store_packed<T>(dst, rows, columns, group, src, ld, valid_rows, valid_columns)
//     dst[(r / group * columns + k) * group + r % group] = (S)src[k * ld + r] for r < valid_rows, k < valid_columns;
//     0 elsewhere in r < rows rounded up to the group, k < columns: a block in the layout of contract_packed().
// load_vector<T>(dst, n, src, stride, valid, fill = 0)   dst[i] = (T)src[i * stride], i < valid; `fill` up to n
//                                                        rounded up to W<T>
// store_vector<T>(dst, stride, src, valid)               dst[i * stride] = (S)src[i], i < valid
// fill_plane<T>(dst, ld, outer, lanes, x)                lanes rounded up to W<T>
// copy_plane<T>(dst, ld, src, src_ld, outer, lanes)      lanes rounded up to W<T>; no overlap
// transpose_plane<T>(dst, ld, src, src_ld, outer, lanes) dst[l * ld + o] = src[o * src_ld + l], o < outer and
//                                                        l < lanes; zero in dst's padding lanes
//
// Sweeps. T is float unless given; lambdas end in BB_BODY (always inlined).
// sweep<T>(outer, lanes, body)
//     body(o, l) for every vector position: l = 0, W, 2W, ... < lanes
// sweep_lanes<NR, T>(outer, lanes, init, body, done)
//     reductions over o, one result per lane ("vertical"), in groups of 4, 2, 1 vectors. vec<T> acc[NR]:
//     init(l, acc); body(o, l, acc) for o = 0 .. outer - 1; done(l, acc). acc stays in registers.
// sweep_outer<NR, T>(outer, lanes, init, body, merge, done)
//     reductions over lanes, one result per o ("horizontal"). init(o, acc); body(o, l, n, acc) for l = 0, W, ...;
//     done(o, acc), where sum(acc[i]) or hmax(acc[i]) gives the scalar. `lanes` is the exact number of valid
//     lanes: n (take it as `auto`) is `whole` or, in the last vector, how many lanes are valid there:
//     acc[0] += keep(x, n, 0.f). body works on 4 independent acc in turn, all from init (which must give the
//     neutral element); merge(acc, other) unites two of them.
#pragma once
#include "convert.hpp"
#include "scratch.hpp"

namespace bb {
namespace detail {
BB_INLINE idx clamp(idx n, idx low, idx high) { return n < low ? low : n > high ? high : n; }

// Rows [o, o + W) x lanes [l, l + W) of a plane from an array whose outer stride is 1: `rows` x `count` of
// them are valid.
template <class T, class S>
BB_INLINE void load_square(T* dst, idx ld, const S* src, idx lane_stride, idx rows, idx count, T fill) {
  constexpr int w = W<T>;
  vec<T> r[w];
  if (rows >= w && count >= w) {
    BB_UNROLL for (int i = 0; i < w; i++) r[i] = load_as<T>(src + i * lane_stride);
    transpose(r);
    BB_UNROLL for (int i = 0; i < w; i++) store(dst + i * ld, r[i]);
    return;
  }
  for (int i = 0; i < w; i++)
    r[i] = i < count ? load_as<T>(src + i * lane_stride, rows, fill) : splat<T>(fill);
  transpose(r);
  for (int i = 0; i < w && i < rows; i++) store(dst + i * ld, r[i]);
}
template <class T, class S>
BB_INLINE void store_square(S* dst, idx lane_stride, const T* src, idx ld, idx rows, idx count) {
  constexpr int w = W<T>;
  vec<T> r[w];
  if (rows >= w && count >= w) {
    BB_UNROLL for (int i = 0; i < w; i++) r[i] = load(src + i * ld);
    transpose(r);
    BB_UNROLL for (int i = 0; i < w; i++) store_as<T>(dst + i * lane_stride, r[i]);
    return;
  }
  for (int i = 0; i < w; i++) r[i] = i < rows ? load(src + i * ld) : vec<T>{};
  transpose(r);
  for (int i = 0; i < w && i < count; i++) store_as<T>(dst + i * lane_stride, r[i], rows);
}
// bf16 along the outer stride: two at a time they are words, and half as many squares are turned.
template <class T, class S>
inline constexpr bool turns_words = std::is_same_v<T, float> && std::is_same_v<S, bf16>;

// Whole squares of words: rows [o, o + 2 W) x lanes [l, l + W) of a plane.
BB_INLINE void load_words(float* dst, idx ld, const bf16* src, idx lane_stride) {
  constexpr int w = W<float>;
  vf r[w];
  BB_UNROLL for (int i = 0; i < w; i++) r[i] = load_bits(src + i * lane_stride);
  transpose(r);
  BB_UNROLL for (int i = 0; i < w; i++) {
    store(dst + 2 * i * ld, (vf)((words)r[i] << 16));
    store(dst + (2 * i + 1) * ld, (vf)((words)r[i] & 0xffff0000u));
  }
}
BB_INLINE void store_words(bf16* dst, idx lane_stride, const float* src, idx ld) {
  constexpr int w = W<float>;
  vf r[w];
  BB_UNROLL for (int i = 0; i < w; i++)
    r[i] = (vf)narrow_bf16_pairs(load(src + 2 * i * ld), load(src + (2 * i + 1) * ld));
  transpose(r);
  BB_UNROLL for (int i = 0; i < w; i++) store_bits(dst + i * lane_stride, r[i]);
}
}  // namespace detail

template <class T>
inline void fill_plane(T* dst, idx ld, idx outer, idx lanes, T x) {
  const vec<T> v = splat<T>(x);
  for (idx o = 0; o < outer; o++)
    for (idx l = 0; l < lanes; l += W<T>) store(dst + o * ld + l, v);
}
template <class T>
inline void copy_plane(T* dst, idx ld, const T* src, idx src_ld, idx outer, idx lanes) {
  for (idx o = 0; o < outer; o++)
    for (idx l = 0; l < lanes; l += W<T>) store(dst + o * ld + l, load(src + o * src_ld + l));
}

template <class T, class S>
inline __attribute__((noinline)) void load_plane(T* dst, idx ld, idx outer, idx lanes, const S* src,
                                                 idx outer_stride, idx lane_stride, idx valid_outer,
                                                 idx valid_lanes, T fill = 0) {
  constexpr idx w = W<T>;
  lanes = round_up(lanes, w);
  const idx rows = detail::clamp(valid_outer, 0, outer), count = detail::clamp(valid_lanes, 0, lanes);
  const idx full = count / w * w;
  if (count == 0) {
    fill_plane(dst, ld, outer, lanes, fill);
    return;
  }
  if (lane_stride == 1) {
    for (idx o = 0; o < rows; o++) {
      T* d = dst + o * ld;
      const S* s = src + o * outer_stride;
      idx l = 0;
      for (; l < full; l += w) store(d + l, load_as<T>(s + l));
      if (l < lanes) store(d + l, load_as<T>(s + l, count - l, fill)), l += w;
      for (; l < lanes; l += w) store(d + l, splat<T>(fill));
    }
  } else if (lane_stride == 0) {
    for (idx o = 0; o < rows; o++) {
      const vec<T> v = splat<T>(cast<T>(src[o * outer_stride]));
      for (idx l = 0; l < lanes; l += w) store(dst + o * ld + l, keep(v, count - l, fill));
    }
  } else if (outer_stride == 1) {
    for (idx l = 0; l < lanes; l += w) {
      idx o = 0;
      if constexpr (detail::turns_words<T, S>)
        for (; l + w <= count && o + 2 * w <= rows; o += 2 * w)
          detail::load_words(dst + o * ld + l, ld, src + o + l * lane_stride, lane_stride);
      for (; o < rows; o += w)
        if (l < count)
          detail::load_square(dst + o * ld + l, ld, src + o + l * lane_stride, lane_stride, rows - o,
                              count - l, fill);
        else
          for (idx i = o; i < rows && i < o + w; i++) store(dst + i * ld + l, splat<T>(fill));
    }
  } else {
    for (idx o = 0; o < rows; o++) {
      for (idx l = 0; l < count; l++) dst[o * ld + l] = cast<T>(src[o * outer_stride + l * lane_stride]);
      for (idx l = count; l < lanes; l++) dst[o * ld + l] = fill;
    }
  }
  if (rows < outer) fill_plane(dst + rows * ld, ld, outer - rows, lanes, fill);
}

template <class T, class S>
inline __attribute__((noinline)) void store_plane(S* dst, idx outer_stride, idx lane_stride, const T* src,
                                                  idx ld, idx valid_outer, idx valid_lanes) {
  constexpr idx w = W<T>;
  if (lane_stride == 1) {
    for (idx o = 0; o < valid_outer; o++) {
      const T* s = src + o * ld;
      S* d = dst + o * outer_stride;
      idx l = 0;
      for (; l + w <= valid_lanes; l += w) store_as<T>(d + l, load(s + l));
      if (l < valid_lanes) store_as<T>(d + l, load(s + l), valid_lanes - l);
    }
  } else if (outer_stride == 1) {
    for (idx l = 0; l < valid_lanes; l += w) {
      idx o = 0;
      if constexpr (detail::turns_words<T, S>)
        for (; l + w <= valid_lanes && o + 2 * w <= valid_outer; o += 2 * w)
          detail::store_words(dst + o + l * lane_stride, lane_stride, src + o * ld + l, ld);
      for (; o < valid_outer; o += w)
        detail::store_square(dst + o + l * lane_stride, lane_stride, src + o * ld + l, ld, valid_outer - o,
                             valid_lanes - l);
    }
  } else {
    for (idx o = 0; o < valid_outer; o++)
      for (idx l = 0; l < valid_lanes; l++)
        dst[o * outer_stride + l * lane_stride] = cast<S>(src[o * ld + l]);
  }
}

template <class T, class S>
inline __attribute__((noinline)) void store_packed(S* dst, idx rows, idx columns, idx group, const T* src, idx ld,
                                                   idx valid_rows, idx valid_columns) {
  for (idx first = 0; first < rows; first += group) {
    const idx count = detail::clamp(valid_rows - first, 0, group);
    for (idx k = 0; k < columns; k++, dst += group) {
      const idx valid = k < valid_columns ? count : 0;
      for (idx i = 0; i < valid; i++) dst[i] = cast<S>(src[k * ld + first + i]);
      for (idx i = valid; i < group; i++) dst[i] = S{};
    }
  }
}
template <class T, class S>
inline void load_vector(T* dst, idx n, const S* src, idx stride, idx valid, T fill = 0) {
  load_plane(dst, round_up(n, W<T>), 1, n, src, 0, stride, 1, valid, fill);
}
template <class T, class S>
inline void store_vector(S* dst, idx stride, const T* src, idx valid) {
  store_plane(dst, 0, stride, src, round_up(valid, W<T>), 1, valid);
}
template <class T>
inline void transpose_plane(T* dst, idx ld, const T* src, idx src_ld, idx outer, idx lanes) {
  load_plane(dst, ld, lanes, outer, src, 1, src_ld, lanes, outer, T(0));
}

// ---- sweeps
template <class T = float, class F>
BB_INLINE void sweep(idx outer, idx lanes, F body) {
  for (idx o = 0; o < outer; o++)
    for (idx l = 0; l < lanes; l += W<T>) body(o, l);
}

namespace detail {
template <int NR, class T, int G, class Init, class Body, class Done>
BB_INLINE void sweep_group(idx outer, idx l, Init& init, Body& body, Done& done) {
  vec<T> acc[G][NR];
  BB_UNROLL for (int g = 0; g < G; g++) init(l + g * W<T>, acc[g]);
  for (idx o = 0; o < outer; o++) BB_UNROLL for (int g = 0; g < G; g++) body(o, l + g * W<T>, acc[g]);
  BB_UNROLL for (int g = 0; g < G; g++) done(l + g * W<T>, acc[g]);
}
}  // namespace detail

template <int NR, class T = float, class Init, class Body, class Done>
BB_INLINE void sweep_lanes(idx outer, idx lanes, Init init, Body body, Done done) {
  idx l = 0;
  for (; l + 3 * W<T> < lanes; l += 4 * W<T>) detail::sweep_group<NR, T, 4>(outer, l, init, body, done);
  if (l + W<T> < lanes) detail::sweep_group<NR, T, 2>(outer, l, init, body, done), l += 2 * W<T>;
  if (l < lanes) detail::sweep_group<NR, T, 1>(outer, l, init, body, done);
}

template <int NR, class T = float, class Init, class Body, class Merge, class Done>
BB_INLINE void sweep_outer(idx outer, idx lanes, Init init, Body body, Merge merge, Done done) {
  constexpr idx w = W<T>;
  for (idx o = 0; o < outer; o++) {
    vec<T> acc[4][NR];
    BB_UNROLL for (int g = 0; g < 4; g++) init(o, acc[g]);
    idx l = 0;
    for (; l + 4 * w <= lanes; l += 4 * w)
      BB_UNROLL for (int g = 0; g < 4; g++) body(o, l + g * w, whole, acc[g]);
    for (; l + w <= lanes; l += w) body(o, l, whole, acc[0]);
    if (l < lanes) body(o, l, lanes - l, acc[1]);
    merge(acc[0], acc[1]);
    merge(acc[2], acc[3]);
    merge(acc[0], acc[2]);
    done(o, acc[0]);
  }
}
}  // namespace bb
