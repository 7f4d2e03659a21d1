// The sum of n numbers: blocks leave their sums in global memory, and the block that comes last adds them up. Also a
// histogram of the numbers' signs and magnitudes, by atomics in shared memory first.
constexpr int THREADS = 256, BINS = 8;

__device__ unsigned int blocks_done = 0;

extern "C" __global__ void __launch_bounds__(THREADS)
    block_sums(const float* x, float* partial, float* total, int* histogram, int n) {
  __shared__ float of_warp[THREADS / 32];
  __shared__ int bins[BINS];
  __shared__ bool is_last;
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  if (thread < BINS) bins[thread] = 0;
  __syncthreads();  // the bins are empty
  float sum = 0.f;
  for (int i = blockIdx.x * THREADS + thread; i < n; i += gridDim.x * THREADS) {
    sum += x[i];
    const int bin = min(BINS - 1, (int)(fabsf(x[i]) * 2.f));
    atomicAdd(&bins[bin], 1);
  }
  for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffffu, sum, o);
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();  // the warps' sums and the bins are there
  if (thread < BINS) atomicAdd(&histogram[thread], bins[thread]);
  if (thread == 0) {
    float block = 0.f;
    for (int w = 0; w < THREADS / 32; ++w) block += of_warp[w];
    partial[blockIdx.x] = block;
    __threadfence();  // the block's sum before its ticket
    is_last = atomicAdd(&blocks_done, 1u) == gridDim.x - 1;
  }
  __syncthreads();  // whether this block is the last one
  if (is_last && thread < 32) {
    float all = 0.f;
    for (int b = lane; b < gridDim.x; b += 32) all += partial[b];
    for (int o = 16; o > 0; o /= 2) all += __shfl_xor_sync(0xffffffffu, all, o);
    if (lane == 0) {
      *total = all;
      blocks_done = 0;  // for the next launch
    }
  }
}
