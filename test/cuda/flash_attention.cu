// O = softmax(Q K^T / sqrt(64)) V for each head, f32, 64 wide: one block takes 32 queries, keys come in tiles of 32,
// four warps have eight rows each.
#include <bb/cuda/device.cuh>

constexpr int WIDTH = 64, QUERIES = 32, KEYS = 32;
constexpr int PITCH_K = WIDTH + 4;  // a lane reads a row of its own: without it all lanes hit one bank

extern "C" __global__ void __launch_bounds__(128)
    flash_attention(const float* Q, const float* K, const float* V, float* O, int length, float scale) {
  extern __shared__ __align__(16) float shared[];
  float* Qs = shared;
  float* Ks = Qs + QUERIES * WIDTH;
  float* Vs = Ks + KEYS * PITCH_K;
  float* Ps = Vs + KEYS * WIDTH;
  const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  const size_t head = (size_t)blockIdx.y * length * WIDTH;
  const int q0 = blockIdx.x * QUERIES;
  for (int i = thread; i < QUERIES * WIDTH / 4; i += 128) {
    const int row = i / (WIDTH / 4), column = i % (WIDTH / 4) * 4;
    float4 q = make_float4(0.f, 0.f, 0.f, 0.f);
    if (q0 + row < length) q = *(const float4*)(Q + head + (size_t)(q0 + row) * WIDTH + column);
    *(float4*)(Qs + row * WIDTH + column) = q;
  }
  float highest[8], sum[8], left[8], right[8];
  for (int r = 0; r < 8; ++r) highest[r] = -BB_INF, sum[r] = 0.f, left[r] = 0.f, right[r] = 0.f;
  float* P = Ps + warp * 8 * KEYS;
  for (int k0 = 0; k0 < length; k0 += KEYS) {
    __syncthreads();  // the last tile is done with
    for (int i = thread; i < KEYS * WIDTH / 4; i += 128) {
      const int row = i / (WIDTH / 4), column = i % (WIDTH / 4) * 4;
      float4 k = make_float4(0.f, 0.f, 0.f, 0.f), v = k;
      if (k0 + row < length) {
        k = *(const float4*)(K + head + (size_t)(k0 + row) * WIDTH + column);
        v = *(const float4*)(V + head + (size_t)(k0 + row) * WIDTH + column);
      }
      *(float4*)(Ks + row * PITCH_K + column) = k;
      *(float4*)(Vs + row * WIDTH + column) = v;
    }
    __syncthreads();  // the tile is there
    for (int r = 0; r < 8; ++r) {
      float s = 0.f;
      for (int c = 0; c < WIDTH; c += 4) {
        const float4 q = *(const float4*)(Qs + (warp * 8 + r) * WIDTH + c);
        const float4 k = *(const float4*)(Ks + lane * PITCH_K + c);
        s += q.x * k.x + q.y * k.y + q.z * k.z + q.w * k.w;
      }
      s = k0 + lane < length ? s * scale : -BB_INF;
      float top = s;
      for (int o = 16; o > 0; o /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
      top = fmaxf(highest[r], top);
      const float p = exp2f(s - top), correction = exp2f(highest[r] - top);
      float total = p;
      for (int o = 16; o > 0; o /= 2) total += __shfl_xor_sync(0xffffffffu, total, o);
      sum[r] = sum[r] * correction + total;
      highest[r] = top;
      left[r] *= correction;
      right[r] *= correction;
      P[r * KEYS + lane] = p;
    }
    __syncwarp();  // the warp's weights are there
    for (int j = 0; j < KEYS; ++j) {
      const float2 v = *(const float2*)(Vs + j * WIDTH + 2 * lane);
      for (int r = 0; r < 8; ++r) left[r] += P[r * KEYS + j] * v.x, right[r] += P[r * KEYS + j] * v.y;
    }
  }
  for (int r = 0; r < 8; ++r) {
    const int row = q0 + warp * 8 + r;
    if (row < length)
      *(float2*)(O + head + (size_t)row * WIDTH + 2 * lane) = make_float2(left[r] / sum[r], right[r] / sum[r]);
  }
}
