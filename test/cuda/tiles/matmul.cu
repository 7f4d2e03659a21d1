// for M, N: { for K: t += dot(a, b) }; store t
//
// Two rows of four warps on a 128 x 128 tile. B is stored N x K, or K x N.
#include <bb/cuda.cuh>

using T = SET_TYPE;
using S = bb::element<T>::stored;
constexpr bool KN = SET_KN;
constexpr int VEC_A = SET_VEC_A, VEC_B = SET_VEC_B,
              VEC_OUT = SET_VEC_OUT;  // elements that rows are aligned to
constexpr int M = 128, N = 128, K = 64 / sizeof(S), STAGES = 3;
constexpr int WARPS_M = 2, WARPS_N = 4, THREADS = 32 * WARPS_M * WARPS_N;
constexpr int WARP_M = M / WARPS_M, WARP_N = N / WARPS_N;
using ATile = bb::shared_tile<T, M, K>;
using BTile = bb::shared_tile<T, KN ? K : N, KN ? N : K>;

extern "C" __global__ void __launch_bounds__(THREADS, bb::element<T>::STEP == 4 ? 1 : 2)
    matmul(const S* __restrict__ A, const S* __restrict__ B, float* __restrict__ C, int rows, int cols,
           int depth) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const bb::ring<ATile, STAGES> a{smem};
  const bb::ring<BTile, STAGES> b{smem + a.BYTES};
  const int m0 = blockIdx.y * M, n0 = blockIdx.x * N, tiles = (depth + K - 1) / K;
  const int row0 = bb::warp_id() / WARPS_N * WARP_M, col0 = bb::warp_id() % WARPS_N * WARP_N;
  bb::reader<ATile, THREADS, VEC_A> a_in(A, depth, m0, 0, rows, depth);
  bb::reader<BTile, THREADS, VEC_B> b_in(B, KN ? cols : depth, KN ? 0 : n0, KN ? n0 : 0, KN ? depth : cols,
                                         KN ? cols : depth);
  int next = 0, into = 0;  // the tile to be fetched, and its stage
  auto fetch = [&] {
    if (next++ < tiles) {
      a_in.load(a[into]), a_in.next_cols(K);
      b_in.load(b[into]);
      KN ? b_in.next_rows(K) : b_in.next_cols(K);
      into = bb::next_stage<STAGES>(into);
    }
    bb::cp_async_commit();
  };
  for (int k = 0; k < STAGES - 1; ++k) fetch();
  bb::acc_tile<WARP_M, WARP_N> t;
  bb::fill(t, 0.0f);

  // K
  for (int k = 0, stage = 0; k < tiles; ++k, stage = bb::next_stage<STAGES>(stage)) {
    bb::cp_async_wait<STAGES - 2>();
    __syncthreads();  // tile k is there, tile k - 1 is done with
    fetch();
#if SET_KN
    bb::contract_kn(t, a[stage], row0, b[stage], col0);
#else
    bb::contract(t, a[stage], row0, b[stage], col0);
#endif
  }
  bb::store<VEC_OUT>(t, C, m0 + row0, n0 + col0, cols, rows, cols);
}
