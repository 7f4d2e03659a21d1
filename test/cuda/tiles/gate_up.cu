// for M, F: { for D: r += row_sum(x^2); g += dot(x, w1); u += dot(x, w2) }; s = rsqrt(r / D + eps); store
// silu(g s) * (u s)
#include <bb/cuda.cuh>

using T = bb::SET_TYPE;
constexpr int VEC = SET_VEC, VEC_OUT = SET_VEC_OUT;  // elements that rows are aligned to
constexpr int M = 128, F = 64, D = 32, STAGES = 3;
constexpr int WARPS_M = 4, WARPS_F = 2, THREADS = 32 * WARPS_M * WARPS_F;
constexpr int WARP_M = M / WARPS_M, WARP_F = F / WARPS_F;
using XTile = bb::shared_tile<T, M, D>;
using WTile = bb::shared_tile<T, F, D>;
using OutTile = bb::shared_tile<T, M, F>;
constexpr int PIPE = STAGES * (XTile::BYTES + 2 * WTile::BYTES);

extern "C" __global__ void __launch_bounds__(THREADS, 2)
    gate_up(const T* __restrict__ X, const T* __restrict__ W1, const T* __restrict__ W2, T* __restrict__ Z,
            int rows, int cols, int depth, float eps) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const bb::ring<XTile, STAGES> x{smem};
  const bb::ring<WTile, STAGES> w1{smem + x.BYTES}, w2{smem + x.BYTES + w1.BYTES};
  float* scales = reinterpret_cast<float*>(smem + PIPE);
  const int m0 = blockIdx.y * M, f0 = blockIdx.x * F, tiles = (depth + D - 1) / D;
  const int row0 = bb::warp_id() / WARPS_F * WARP_M, col0 = bb::warp_id() % WARPS_F * WARP_F;
  bb::reader<XTile, THREADS, VEC> x_in(X, depth, m0, 0, rows, depth);
  bb::reader<WTile, THREADS, VEC> w1_in(W1, depth, f0, 0, cols, depth);  // and W2, which lies as W1 does
  int next = 0, into = 0;  // the tile to be fetched, and its stage
  auto fetch = [&] {
    if (next++ < tiles) {
      x_in.load(x[into]), x_in.next_cols(D);
      w1_in.load(w1[into]), w1_in.load(w2[into], W2 - W1), w1_in.next_cols(D);
      into = bb::next_stage<STAGES>(into);
    }
    bb::cp_async_commit();
  };
  for (int d = 0; d < STAGES - 1; ++d) fetch();
  bb::acc_tile<WARP_M, WARP_F> g, u;
  bb::fill(g, 0.0f), bb::fill(u, 0.0f);
  float squares = 0.0f;

  // D
  for (int d = 0, stage = 0; d < tiles; ++d, stage = bb::next_stage<STAGES>(stage)) {
    bb::cp_async_wait<STAGES - 2>();
    __syncthreads();  // tile d is there, tile d - 1 is done with
    fetch();
    // Zeros past the end add nothing.
    bb::for_my_row<THREADS>(x[stage], D, [&](float a) { squares = bb::fma(a, a, squares); });
    bb::contract2(g, u, x[stage], row0, w1[stage], w2[stage], col0);
  }

  squares = bb::across_row_threads<THREADS, M>(squares);
  using Mine = bb::row_threads<THREADS, M>;
  if (Mine::speaks()) scales[Mine::row()] = bb::fast::rsqrt(squares / depth + eps);
  __syncthreads();  // statistics are there, and the pipeline's memory is free
  const bb::row_vec<WARP_M> s = bb::load_rows<WARP_M>(scales + row0);
  bb::sweep<WARP_M, WARP_F>([&](bb::cell c) { g[c] = bb::fast::silu(g[c] * s[c]) * (u[c] * s[c]); });
  bb::store<VEC_OUT>(g, OutTile{smem}, row0, col0, Z + static_cast<long long>(m0) * cols + f0, cols,
                     rows - m0, cols - f0);
}
