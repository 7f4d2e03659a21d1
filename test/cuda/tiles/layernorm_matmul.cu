// for M, N: { for K: s += row_sum(x - p); q += row_sum((x - p)^2); t += dot(x - p, w) };
//           store row_scale(t - outer(s / K, h), rsqrt(q / K - (s / K)^2 + eps)), with h = row_sum(w)
//
// p is the mean of the row's first block where it dwarfs the deviations there, else 0: x - p is exact then,
// or x.
#include <bb/cuda.cuh>

using T = bb::SET_TYPE;
constexpr int VEC = SET_VEC, VEC_OUT = SET_VEC_OUT;  // elements that rows are aligned to
constexpr int M = 128, N = SET_N, K = 32, STAGES = 3;
constexpr int WARPS_M = 2, WARPS_N = 4, THREADS = 32 * WARPS_M * WARPS_N;
constexpr int WARP_M = M / WARPS_M, WARP_N = N / WARPS_N;
using XTile = bb::shared_tile<T, M, K>;
using WTile = bb::shared_tile<T, N, K>;
using OutTile = bb::shared_tile<T, M, N>;
constexpr int PIPE = STAGES * (XTile::BYTES + WTile::BYTES);

extern "C" __global__ void __launch_bounds__(THREADS, N > 128 ? 1 : 2)
    layernorm_matmul(const T* __restrict__ X, const T* __restrict__ W, const float* __restrict__ H,
                     T* __restrict__ O, int rows, int cols, int depth, float eps) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const bb::ring<XTile, STAGES> x{smem};
  const bb::ring<WTile, STAGES> w{smem + x.BYTES};
  float *pivots = reinterpret_cast<float*>(smem + PIPE), *shifts = pivots + M, *scales = shifts + M;
  const int m0 = blockIdx.y * M, n0 = blockIdx.x * N, tiles = (depth + K - 1) / K;
  const int row0 = bb::warp_id() / WARPS_N * WARP_M, col0 = bb::warp_id() % WARPS_N * WARP_N;
  bb::reader<XTile, THREADS, VEC> x_in(X, depth, m0, 0, rows, depth);
  bb::reader<WTile, THREADS, VEC> w_in(W, depth, n0, 0, cols, depth);
  int next = 0, into = 0;  // the tile to be fetched, and its stage
  auto fetch = [&] {
    if (next++ < tiles) {
      x_in.load(x[into]), x_in.next_cols(K);
      w_in.load(w[into]), w_in.next_cols(K);
      into = bb::next_stage<STAGES>(into);
    }
    bb::cp_async_commit();
  };
  for (int k = 0; k < STAGES - 1; ++k) fetch();
  bb::acc_tile<WARP_M, WARP_N> t;
  bb::fill(t, 0.0f);

  // The first block of each row chooses its pivot.
  bb::cp_async_wait<STAGES - 2>();
  __syncthreads();
  using Mine = bb::row_threads<THREADS, M>;
  const int width = min(depth, K);
  float first = 0.0f, spread = 0.0f;
  bb::for_my_row<THREADS>(x[0], width, [&](float a) { first += a; });
  first = bb::fast::div(bb::across_row_threads<THREADS, M>(first), width);
  bb::for_my_row<THREADS>(x[0], width, [&](float a) { spread = bb::fma(a - first, a - first, spread); });
  spread = bb::fast::div(bb::across_row_threads<THREADS, M>(spread), width);
  const float pivot = first * first > 16.0f * spread ? bb::rounded<T>(first) : 0.0f;
  if (Mine::speaks()) pivots[Mine::row()] = pivot;
  __syncthreads();
  const bb::row_pairs<T, WARP_M> p = bb::to_pairs<T>(bb::load_rows<WARP_M>(pivots + row0));

  // K
  float sum = 0.0f, squares = 0.0f;
  auto gather = [&](float a) { sum += a - pivot, squares = bb::fma(a - pivot, a - pivot, squares); };
  for (int k = 0, stage = 0; k < tiles; ++k, stage = bb::next_stage<STAGES>(stage)) {
    bb::cp_async_wait<STAGES - 2>();
    __syncthreads();  // tile k is there, tile k - 1 is done with
    fetch();
    if ((k + 1) * K <= depth) bb::for_my_row<THREADS>(x[stage], K, gather);
    else
      bb::for_my_row<THREADS>(x[stage], depth - k * K, gather);  // zeros past the end are not part of the row
    bb::contract(t, x[stage], row0, w[stage], col0, [&](auto& a, int) { bb::row_shift_operand(a, p); });
  }

  const float mean = bb::across_row_threads<THREADS, M>(sum) / depth;
  const float variance = bb::across_row_threads<THREADS, M>(squares) / depth - mean * mean;
  if (Mine::speaks()) {
    shifts[Mine::row()] = -mean;
    scales[Mine::row()] = bb::fast::rsqrt(bb::max(variance, 0.0f) + eps);
  }
  __syncthreads();  // statistics are there, and the pipeline's memory is free
  bb::add_outer(t, bb::load_rows<WARP_M>(shifts + row0),
                bb::load_cols<WARP_N>(H + n0 + col0, cols - n0 - col0));
  bb::row_scale(t, bb::load_rows<WARP_M>(scales + row0));
  bb::store<VEC_OUT>(t, OutTile{smem}, row0, col0, O + static_cast<long long>(m0) * cols + n0, cols,
                     rows - m0, cols - n0);
}
