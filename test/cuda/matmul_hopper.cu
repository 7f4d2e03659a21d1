// C = A * B^T of bf16 numbers, with B row by row ([n][k]): one warp fetches tiles by bulk copies (TMA) into a ring of
// stages, a warpgroup multiplies them (wgmma), and bulk stores take the results away. K is a multiple of 64.
#include <bb/cuda/hopper.cuh>

constexpr int TILE_M = 64, TILE_N = 32, TILE_K = 64, STAGES = 2, CONSUMERS = 128;
constexpr int A_BYTES = TILE_M * TILE_K * 2, B_BYTES = TILE_N * TILE_K * 2;

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32)
    matmul_hopper(const __grid_constant__ BbTensorMap a_map, const __grid_constant__ BbTensorMap b_map,
                  const __grid_constant__ BbTensorMap c_map, int K) {
  extern __shared__ __align__(1024) unsigned char tiles[];
  __shared__ unsigned long long full[STAGES], empty[STAGES];
  unsigned char *as = tiles, *bs = as + STAGES * A_BYTES;
  float* cs = reinterpret_cast<float*>(bs + STAGES * B_BYTES);
  const int thread = threadIdx.x, m0 = blockIdx.y * TILE_M, n0 = blockIdx.x * TILE_N, count = K / TILE_K;
  if (thread == 0) {
    for (int s = 0; s < STAGES; ++s) {
      bb_mbarrier_init(&full[s], 1);
      bb_mbarrier_init(&empty[s], 1);
    }
    bb_mbarrier_init_fence();
  }
  __syncthreads();  // the barriers are there
  if (thread >= CONSUMERS) {
    if (thread == CONSUMERS) {
      for (int t = 0; t < count; ++t) {
        const int stage = t % STAGES, turn = t / STAGES;
        bb_mbarrier_wait(&empty[stage], (turn & 1) ^ 1);  // at first: every stage is
        bb_mbarrier_arrive_expect(&full[stage], A_BYTES + B_BYTES);
        bb_tma_load_2d(as + stage * A_BYTES, &a_map, t * TILE_K, m0, &full[stage]);
        bb_tma_load_2d(bs + stage * B_BYTES, &b_map, t * TILE_K, n0, &full[stage]);
      }
    }
  } else {
    float d[TILE_N / 2];
    for (int i = 0; i < TILE_N / 2; ++i) d[i] = 0.f;
    for (int t = 0; t < count; ++t) {
      const int stage = t % STAGES, turn = t / STAGES;
      bb_mbarrier_wait(&full[stage], turn & 1);
      const unsigned char *a = as + stage * A_BYTES, *b = bs + stage * B_BYTES;
      bb_wgmma_fence();
#pragma unroll
      for (int k = 0; k < TILE_K; k += 16)
        bb_wgmma_bf16(d, bb_wgmma_tile<128>(a + 2 * k), bb_wgmma_tile<128>(b + 2 * k));
      bb_wgmma_commit();
      bb_wgmma_wait<0>(d);
      if (thread == 0) bb_mbarrier_arrive(&empty[stage]);
    }
    const int row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
    for (int i = 0; i < TILE_N / 2; ++i) cs[(row + 8 * (i / 2 % 2)) * TILE_N + column + 8 * (i / 4) + i % 2] = d[i];
    bb_fence_async_proxy();
    bb_barrier_sync(1, CONSUMERS);  // the tile of C is there
    if (thread == 0) {
      bb_tma_store_2d(&c_map, n0, m0, cs);
      bb_bulk_commit();
      bb_bulk_wait<0>();
    }
  }
}
