// out[row] = sum over columns of x[row][column] * w[column]: one warp fetches tiles of x into a ring of shared buffers,
// four warps use them up; mbarriers say when a buffer is full and when it is empty.
#include <bb/cuda/device.cuh>

constexpr int STAGES = 3, ROWS = 32, COLUMNS = 64, CONSUMERS = 128;

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32)
    producer_consumer(const float* x, const float* w, float* out, int rows, int columns) {
  __shared__ __align__(16) float tiles[STAGES][ROWS][COLUMNS + 4];
  __shared__ unsigned long long full[STAGES], empty[STAGES];
  const int thread = threadIdx.x, row0 = blockIdx.x * ROWS, count = columns / COLUMNS;
  if (thread == 0) {
    for (int s = 0; s < STAGES; ++s) {
      bb_mbarrier_init(&full[s], 32);
      bb_mbarrier_init(&empty[s], CONSUMERS);
    }
    bb_mbarrier_init_fence();
  }
  __syncthreads();  // the barriers are there
  if (thread >= CONSUMERS) {
    const int lane = thread - CONSUMERS;
    for (int t = 0; t < count; ++t) {
      const int stage = t % STAGES, turn = t / STAGES;
      bb_mbarrier_wait(&empty[stage], (turn & 1) ^ 1);  // at first: every stage is
      for (int i = lane; i < ROWS * COLUMNS / 4; i += 32) {
        const int row = i / (COLUMNS / 4), column = i % (COLUMNS / 4) * 4;
        const bool inside = row0 + row < rows;
        const float* source = x + (size_t)(inside ? row0 + row : 0) * columns + t * COLUMNS + column;
        bb_cp_async<16>(&tiles[stage][row][column], source, inside);
      }
      bb_mbarrier_arrive_after_copies(&full[stage]);
    }
  } else {
    const int row = thread / 4, part = thread % 4;
    float sum = 0.f;
    for (int t = 0; t < count; ++t) {
      const int stage = t % STAGES, turn = t / STAGES;
      bb_mbarrier_wait(&full[stage], turn & 1);
      for (int c = part; c < COLUMNS; c += 4) sum += tiles[stage][row][c] * w[t * COLUMNS + c];
      bb_mbarrier_arrive(&empty[stage]);
    }
    for (int o = 2; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
    if (part == 0 && row0 + row < rows) out[row0 + row] = sum;
  }
}
