// The sum of each row of x, 128 threads a row. One barrier is missing: bb-cuda-check finds it.
extern "C" __global__ void row_sums(const float* x, float* sums, int columns) {
  __shared__ float partial[128];
  float sum = 0.0f;
  for (int column = threadIdx.x; column < columns; column += 128)
    sum += x[blockIdx.x * columns + column];
  partial[threadIdx.x % 32 * 4 + threadIdx.x / 32] = sum;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    // __syncthreads() belongs here: the next step reads what other warps write in this one.
  }
  if (threadIdx.x == 0)
    sums[blockIdx.x] = partial[0];
}
