// for M, N: { for F: { for D: r += row_sum(x^2) (first F only); g += dot(x, w1); u += dot(x, w2) };
//                    z = silu(g s) * (u s); o += dot(z, w3) }; store o, with s = rsqrt(r / D + eps)
//
// The warps are laid out again for each contraction, 4 x 2 for g and u, 2 x 4 for o, so that z goes through
// shared memory. One pipeline runs over the steps of both loops; W3's tile travels with the first of its
// steps.
#include <bb/cuda.cuh>

using T = bb::SET_TYPE;
constexpr int VEC = SET_VEC, VEC_F = SET_VEC_F,
              VEC_OUT = SET_VEC_OUT;  // elements that rows of X, W3 and O are aligned to
constexpr int M = 128, N = SET_N, F = 64, D = 64, STAGES = 3, THREADS = 256;
constexpr int Z_M = 32, Z_F = 32, O_M = 64, O_N = N / 4;  // of a warp
using XTile = bb::shared_tile<T, M, D>;
using WTile = bb::shared_tile<T, F, D>;
using W3Tile = bb::shared_tile<T, N, F>;
using ZTile = bb::shared_tile<T, M, F>;
using OutTile = bb::shared_tile<T, M, N>;
constexpr int PIPE = STAGES * (XTile::BYTES + 2 * WTile::BYTES);

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    ffn(const T* __restrict__ X, const T* __restrict__ W1, const T* __restrict__ W2, const T* __restrict__ W3,
        T* __restrict__ O, int rows, int cols, int hidden, int depth, float eps) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const bb::ring<XTile, STAGES> x{smem};
  const bb::ring<WTile, STAGES> w1{smem + x.BYTES}, w2{smem + x.BYTES + w1.BYTES};
  const W3Tile w3{smem + PIPE};
  const ZTile z{smem + PIPE + W3Tile::BYTES};
  float* scales = reinterpret_cast<float*>(smem + PIPE + W3Tile::BYTES + ZTile::BYTES);
  const int m0 = blockIdx.y * M, n0 = blockIdx.x * N;
  const int z_row = bb::warp_id() / 2 * Z_M, z_col = bb::warp_id() % 2 * Z_F;
  const int o_row = bb::warp_id() / 4 * O_M, o_col = bb::warp_id() % 4 * O_N;
  const int d_tiles = (depth + D - 1) / D, steps = (hidden + F - 1) / F * d_tiles;
  bb::reader<XTile, THREADS, VEC> x_in(X, depth, m0, 0, rows, depth);
  bb::reader<WTile, THREADS, VEC> w1_in(W1, depth, 0, 0, hidden, depth);  // and W2, which lies as W1 does
  bb::reader<W3Tile, THREADS, VEC_F> w3_in(W3, hidden, n0, 0, cols, hidden);
  int next = 0, next_d = 0, into = 0;  // the step to be fetched, and its stage
  auto fetch = [&] {
    if (next++ < steps) {
      x_in.load(x[into]), x_in.next_cols(D);
      w1_in.load(w1[into]), w1_in.load(w2[into], W2 - W1), w1_in.next_cols(D);
      into = bb::next_stage<STAGES>(into);
      if (++next_d == d_tiles) {  // back to the first D, on to the next F
        next_d = 0;
        x_in.next_cols(-d_tiles * D);
        w1_in.next_cols(-d_tiles * D), w1_in.next_rows(F);
      }
    }
    bb::cp_async_commit();
  };
  for (int k = 0; k < STAGES - 1; ++k) fetch();
  bb::acc_tile<O_M, O_N> o;
  bb::fill(o, 0.0f);
  bb::row_vec<Z_M> s;
  float squares = 0.0f;
  int stage = 0;

  // F
  for (int f = 0; f < hidden; f += F) {
    bb::acc_tile<Z_M, Z_F> g, u;
    bb::fill(g, 0.0f), bb::fill(u, 0.0f);
    // D
    for (int d = 0; d < d_tiles; ++d) {
      bb::cp_async_wait<STAGES - 2>();
      __syncthreads();  // step d is there, step d - 1 and W3's last tile are done with
      if (d == 0) w3_in.load(w3), w3_in.next_cols(F);
      fetch();
      if (f == 0) bb::for_my_row<THREADS>(x[stage], D, [&](float a) { squares = bb::fma(a, a, squares); });
      bb::contract2(g, u, x[stage], z_row, w1[stage], w2[stage], z_col);
      stage = bb::next_stage<STAGES>(stage);
    }
    if (f == 0) {
      squares = bb::across_row_threads<THREADS, M>(squares);
      using Mine = bb::row_threads<THREADS, M>;
      if (Mine::speaks()) scales[Mine::row()] = bb::fast::rsqrt(squares / depth + eps);
      __syncthreads();
      s = bb::load_rows<Z_M>(scales + z_row);
    }
    bb::sweep<Z_M, Z_F>([&](bb::cell c) { g[c] = bb::fast::silu(g[c] * s[c]) * (u[c] * s[c]); });
    bb::put(z, z_row, z_col, g);
    if (d_tiles < STAGES) bb::cp_async_wait<0>();  // else the wait of step STAGES - 1 was for W3 too
    __syncthreads();                               // all of z is there
    bb::contract(o, z, o_row, w3, o_col);
  }
  __syncthreads();  // the pipeline's memory is free
  bb::store<VEC_OUT>(o, OutTile{smem}, o_row, o_col, O + static_cast<long long>(m0) * cols + n0, cols,
                     rows - m0, cols - n0);
}
