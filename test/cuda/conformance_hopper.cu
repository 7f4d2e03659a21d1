// What bulk copies and wgmma do to single bytes and registers, for both tiers.
#include <bb/cuda/hopper.cuh>

extern __shared__ __align__(1024) unsigned char bytes[];

// The box at (x, y) as it lies in shared memory, `count` bytes of it.
extern "C" __global__ void load_box(const __grid_constant__ BbTensorMap map, unsigned char* out, int x, int y, int count) {
  __shared__ unsigned long long barrier;
  if (threadIdx.x == 0) {
    bb_mbarrier_init(&barrier, 1);
    bb_mbarrier_init_fence();
    bb_mbarrier_arrive_expect(&barrier, count);
    bb_tma_load_2d(bytes, &map, x, y, &barrier);
  }
  __syncthreads();
  bb_mbarrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = bytes[i];
}

extern "C" __global__ void load_line(const __grid_constant__ BbTensorMap map, unsigned char* out, int x, int count) {
  __shared__ unsigned long long barrier;
  if (threadIdx.x == 0) {
    bb_mbarrier_init(&barrier, 1);
    bb_mbarrier_init_fence();
    bb_mbarrier_arrive_expect(&barrier, count);
    bb_tma_load_1d(bytes, &map, x, &barrier);
  }
  __syncthreads();
  bb_mbarrier_wait(&barrier, 0);
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = bytes[i];
}

// Shared memory as it lies there into the box at (x, y).
extern "C" __global__ void store_box(const __grid_constant__ BbTensorMap map, const unsigned char* in, int x, int y, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) bytes[i] = in[i];
  bb_fence_async_proxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    bb_tma_store_2d(&map, x, y, bytes);
    bb_bulk_commit();
    bb_bulk_wait_read<0>();
  }
}

extern "C" __global__ void store_line(const __grid_constant__ BbTensorMap map, const unsigned char* in, int x, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) bytes[i] = in[i];
  bb_fence_async_proxy();
  __syncthreads();
  if (threadIdx.x == 0) {
    bb_tma_store_1d(&map, x, bytes);
    bb_bulk_commit();
    bb_bulk_wait<0>();
  }
}

// d of one product, register by register: `operands` is what shared memory holds, A at 0 and B at 16,384.
constexpr int B_AT = 16384;
template <int SWIZZLE, int SIZE, bool TRANSPOSE_A, bool TRANSPOSE_B, bool BF16>
__device__ __forceinline__ void product(const unsigned char* operands, float* out, int count, int a_leading, int a_stride,
                                        int b_leading, int b_stride) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) bytes[i] = operands[i];
  bb_fence_async_proxy();
  __syncthreads();
  float d[SIZE];
  for (int i = 0; i < SIZE; ++i) d[i] = out[threadIdx.x * SIZE + i];
  bb_wgmma_fence();
  const unsigned long long a = bb_wgmma_tile<SWIZZLE>(bytes, a_leading, a_stride);
  const unsigned long long b = bb_wgmma_tile<SWIZZLE>(bytes + B_AT, b_leading, b_stride);
  if (BF16)
    bb_wgmma_bf16<TRANSPOSE_A, TRANSPOSE_B>(d, a, b);
  else
    bb_wgmma_f16<TRANSPOSE_A, TRANSPOSE_B>(d, a, b);
  bb_wgmma_commit();
  bb_wgmma_wait<0>(d);
  for (int i = 0; i < SIZE; ++i) out[threadIdx.x * SIZE + i] = d[i];
}
#define PRODUCT(NAME, SWIZZLE, SIZE, TRANSPOSE_A, TRANSPOSE_B, BF16)                                               \
  extern "C" __global__ void NAME(const unsigned char* operands, float* out, int count, int a_leading, int a_stride, \
                                  int b_leading, int b_stride) {                                                   \
    product<SWIZZLE, SIZE, TRANSPOSE_A, TRANSPOSE_B, BF16>(operands, out, count, a_leading, a_stride, b_leading, b_stride); \
  }
PRODUCT(product_0, 0, 8, false, false, true)
PRODUCT(product_32, 32, 4, false, false, false)
PRODUCT(product_64, 64, 16, false, false, true)
PRODUCT(product_128, 128, 64, false, false, false)
PRODUCT(transposed_0, 0, 16, true, true, true)
PRODUCT(transposed_32, 32, 32, true, true, false)
PRODUCT(transposed_64, 64, 32, true, true, true)
PRODUCT(transposed_128, 128, 64, true, true, true)

// A in registers; the second product goes on with the first one's accumulators, the third begins again.
extern "C" __global__ void registers(const unsigned* fragments, const unsigned char* operands, float* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) bytes[i] = operands[i];
  bb_fence_async_proxy();
  __syncthreads();
  unsigned a[4];
  for (int i = 0; i < 4; ++i) a[i] = fragments[threadIdx.x * 4 + i];
  float d[8], e[8];
  bb_wgmma_fence();
  bb_wgmma_bf16(d, a, bb_wgmma_tile<128>(bytes), false);
  bb_wgmma_commit();
  bb_wgmma_bf16(d, a, bb_wgmma_tile<128>(bytes));
  bb_wgmma_bf16(e, a, bb_wgmma_tile<128>(bytes + 32), false);
  bb_wgmma_commit();
  bb_wgmma_wait<0>(d);
  bb_wgmma_wait<0>(e);
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 16 + i] = d[i];
  for (int i = 0; i < 8; ++i) out[threadIdx.x * 16 + 8 + i] = e[i];
}
