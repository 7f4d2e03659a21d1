// C[M, N] (f32) = A[M, K] (bf16) times B[K, N] (bf16), K and N multiples of the tile: tiles of 64 x 64 x 32 in a
// double buffer that cp.async fills, 128 threads as 2 x 2 warps of 32 x 32, ldmatrix and mma.sync.
#include <bb/cuda/device.cuh>

constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 32;
constexpr int PITCH_A = TILE_K + 8, PITCH_B = TILE_N + 8;  // rows shifted by 16 bytes fall into other banks

extern "C" __global__ void __launch_bounds__(128)
    matmul_mma(const __nv_bfloat16* A, const __nv_bfloat16* B, float* C, int M, int N, int K) {
  __shared__ __align__(16) __nv_bfloat16 As[2][TILE_M][PITCH_A];
  __shared__ __align__(16) __nv_bfloat16 Bs[2][TILE_K][PITCH_B];
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const int warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
  const int m0 = blockIdx.y * TILE_M, n0 = blockIdx.x * TILE_N;
  auto load = [&](int buffer, int k0) {
    for (int i = thread; i < TILE_M * TILE_K / 8; i += 128) {
      const int row = i / (TILE_K / 8), column = i % (TILE_K / 8) * 8;
      const bool inside = m0 + row < M;
      bb_cp_async<16>(&As[buffer][row][column], A + (size_t)(inside ? m0 + row : 0) * K + k0 + column, inside);
    }
    for (int i = thread; i < TILE_K * TILE_N / 8; i += 128) {
      const int row = i / (TILE_N / 8), column = i % (TILE_N / 8) * 8;
      bb_cp_async<16>(&Bs[buffer][row][column], B + (size_t)(k0 + row) * N + n0 + column);
    }
    bb_cp_async_commit();
  };
  float sums[2][4][4] = {};
  load(0, 0);
  for (int k = 0; k < K; k += TILE_K) {
    const int buffer = k / TILE_K % 2;
    if (k + TILE_K < K) {
      load(buffer ^ 1, k + TILE_K);
      bb_cp_async_wait<1>();
    } else {
      bb_cp_async_wait<0>();
    }
    __syncthreads();  // tile k is there
    for (int kk = 0; kk < TILE_K; kk += 16) {
      unsigned a[2][4], b[4][2];
      for (int i = 0; i < 2; ++i)
        bb_ldmatrix_x4(a[i], &As[buffer][warp_m + i * 16 + lane % 16][kk + lane / 16 * 8]);
      for (int j = 0; j < 2; ++j) {
        unsigned r[4];
        bb_ldmatrix_x4_trans(r, &Bs[buffer][kk + lane % 16][warp_n + j * 16 + lane / 16 * 8]);
        b[2 * j][0] = r[0], b[2 * j][1] = r[1], b[2 * j + 1][0] = r[2], b[2 * j + 1][1] = r[3];
      }
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j) bb_mma_m16n8k16_bf16(sums[i][j], a[i], b[j], sums[i][j]);
    }
    __syncthreads();  // tile k is done with
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      const int row = m0 + warp_m + i * 16 + lane / 4, column = n0 + warp_n + j * 8 + lane % 4 * 2;
      if (row < M) bb_store_8(C + (size_t)row * N + column, make_float2(sums[i][j][0], sums[i][j][1]));
      if (row + 8 < M) bb_store_8(C + (size_t)(row + 8) * N + column, make_float2(sums[i][j][2], sums[i][j][3]));
    }
}
