// Reductions along rows of tiles in registers, between lanes, between warps.
//
// A row of an acc_tile lies in the four lanes of a quad. The *_lane functions reduce what a lane holds of it;
// *_across_quad unites the four parts. A sum may stay in parts through a whole loop, as long as everything
// done to it is linear and the same for the row's lanes; a maximum that other elements are compared with may
// not.
#pragma once
#include "fragments.cuh"

namespace bb {

struct plus {
  BB_DEVICE float operator()(float a, float b) const { return a + b; }
};
// NaN where one is.
struct larger {
  BB_DEVICE float operator()(float a, float b) const { return bb_max_nan(a, b); }
};
struct smaller {
  BB_DEVICE float operator()(float a, float b) const { return bb_min_nan(a, b); }
};

// f of all elements of a row that this lane holds, and `neutral`.
template <int R, int C, class F>
BB_DEVICE row_vec<R> reduce_lane(const acc_tile<R, C>& x, float neutral, F f) {
  row_vec<R> v;
  fill(v, neutral);
  sweep<R, C>([&](cell c) { v[c] = f(v[c], x[c]); });
  return v;
}
template <int R, class F>
BB_DEVICE row_vec<R> across_quad(row_vec<R> v, F f) {
  sweep_rows<R>([&](cell c) {
    v[c] = f(v[c], __shfl_xor_sync(0xffffffffu, v[c], 1));
    v[c] = f(v[c], __shfl_xor_sync(0xffffffffu, v[c], 2));
  });
  return v;
}

template <int R, int C>
BB_DEVICE row_vec<R> row_sum_lane(const acc_tile<R, C>& x) {
  return reduce_lane(x, 0.0f, plus());
}
template <int R, int C>
BB_DEVICE row_vec<R> row_max_lane(const acc_tile<R, C>& x) {
  return reduce_lane(x, -BB_INF, larger());
}
template <int R, int C>
BB_DEVICE row_vec<R> row_min_lane(const acc_tile<R, C>& x) {
  return reduce_lane(x, BB_INF, smaller());
}
template <int R>
BB_DEVICE row_vec<R> sum_across_quad(const row_vec<R>& v) {
  return across_quad(v, plus());
}
template <int R>
BB_DEVICE row_vec<R> max_across_quad(const row_vec<R>& v) {
  return across_quad(v, larger());
}
template <int R>
BB_DEVICE row_vec<R> min_across_quad(const row_vec<R>& v) {
  return across_quad(v, smaller());
}
template <int R, int C>
BB_DEVICE row_vec<R> row_sum(const acc_tile<R, C>& x) {
  return sum_across_quad(row_sum_lane(x));
}
template <int R, int C>
BB_DEVICE row_vec<R> row_max(const acc_tile<R, C>& x) {
  return max_across_quad(row_max_lane(x));
}
template <int R, int C>
BB_DEVICE row_vec<R> row_min(const acc_tile<R, C>& x) {
  return min_across_quad(row_min_lane(x));
}

// Complete reductions of WARPS warps that hold the same rows and other columns: f of their vectors, in each
// of them. `scratch` is shared memory for WARPS * BLOCK_ROWS floats that nothing else uses between the
// barriers around this call; row0 is the warp's first row in the block's tile, `warp` its number among the
// WARPS. All threads of the block call it.
template <int WARPS, int BLOCK_ROWS, int R, class F>
BB_DEVICE row_vec<R> across_warps(row_vec<R> v, float* scratch, int row0, int warp, F f) {
  sweep_rows<R>([&](cell c) {
    if (lane_id() % 4 == 0) scratch[warp * BLOCK_ROWS + row0 + c.row()] = v[c];
  });
  __syncthreads();
  sweep_rows<R>([&](cell c) {
    v[c] = scratch[row0 + c.row()];
    BB_UNROLL
    for (int w = 1; w < WARPS; ++w) v[c] = f(v[c], scratch[w * BLOCK_ROWS + row0 + c.row()]);
  });
  return v;
}

// f of the values of GROUP threads, in each of them: a whole warp by shuffles, or all of a block of GROUP
// threads through `scratch`, GROUP / 32 floats of shared memory.
template <int GROUP, class F>
BB_DEVICE float reduce_group(float value, float* scratch, F f) {
  static_assert(GROUP % 32 == 0, "a row belongs to one warp or to all warps of a block");
  BB_UNROLL
  for (int distance = 16; distance > 0; distance /= 2)
    value = f(value, __shfl_xor_sync(0xffffffffu, value, distance));
  if constexpr (GROUP > 32) {
    __syncthreads();  // what an earlier call left there has been read
    if (lane_id() == 0) scratch[warp_id()] = value;
    __syncthreads();
    value = scratch[0];
    BB_UNROLL
    for (int w = 1; w < GROUP / 32; ++w) value = f(value, scratch[w]);
  }
  return value;
}

}  // namespace bb
