// out[i] = running sum over steps of f(x[i], step): warps 0 and 1 make values, warps 2 and 3 add them up; two named
// barriers hand one of two buffers to and fro.
#include <bb/cuda/device.cuh>

constexpr int HALF = 64;

extern "C" __global__ void __launch_bounds__(2 * HALF) named_barriers(const float* x, float* out, int steps) {
  __shared__ float buffers[2][HALF];
  const int thread = threadIdx.x % HALF;
  const bool makes = threadIdx.x < HALF;
  float sum = 0.f;
  for (int step = 0; step < steps; ++step) {
    const int buffer = step % 2, full = 1 + buffer, empty = 3 + buffer;
    if (makes) {
      if (step >= 2) bb_barrier_sync(empty, 2 * HALF);
      buffers[buffer][thread] = x[blockIdx.x * HALF + thread] * step;
      bb_barrier_arrive(full, 2 * HALF);
    } else {
      bb_barrier_sync(full, 2 * HALF);
      sum += buffers[buffer][thread ^ 1];
      if (step + 2 < steps) bb_barrier_arrive(empty, 2 * HALF);
    }
  }
  if (!makes) out[blockIdx.x * HALF + thread] = sum;
}
