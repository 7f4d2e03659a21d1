// y = (x - mean) / sqrt(variance + eps) * weight + bias for each row: one block a row, two passes over a copy of the
// row in shared memory.
constexpr int THREADS = 128;

template <class Combine>
__device__ float across_block(float value, Combine combine) {
  __shared__ float of_warp[THREADS / 32];
  for (int o = 16; o > 0; o /= 2) value = combine(value, __shfl_xor_sync(0xffffffffu, value, o));
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();  // every warp's part is there
  float total = of_warp[0];
  for (int w = 1; w < THREADS / 32; ++w) total = combine(total, of_warp[w]);
  __syncthreads();  // the parts may be overwritten
  return total;
}

extern "C" __global__ void __launch_bounds__(THREADS)
    layernorm(const float* x, const float* weight, const float* bias, float* y, int columns, float eps) {
  extern __shared__ float row[];
  const float* source = x + (size_t)blockIdx.x * columns;
  auto add = [](float a, float b) { return a + b; };
  float sum = 0.f;
  for (int c = threadIdx.x; c < columns; c += THREADS) {
    row[c] = source[c];
    sum += row[c];
  }
  const float mean = across_block(sum, add) / columns;
  float squares = 0.f;
  for (int c = threadIdx.x; c < columns; c += THREADS) squares += (row[c] - mean) * (row[c] - mean);
  const float scale = rsqrtf(across_block(squares, add) / columns + eps);
  for (int c = threadIdx.x; c < columns; c += THREADS)
    y[(size_t)blockIdx.x * columns + c] = (row[c] - mean) * scale * weight[c] + bias[c];
}
