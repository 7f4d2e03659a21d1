// Variables of a module, printf, and denormals.
__device__ int counter = 5;
__constant__ float weights[4] = {1, 2, 3, 4};
__device__ float sums[4];
__device__ int never_used;
namespace inner {
__device__ short shift[2] = {10, 20};
}

extern "C" __global__ void count(float* y) {
  const int t = threadIdx.x;
  atomicAdd(&counter, 1);
  sums[t] += weights[t] + inner::shift[t % 2];
  y[t] = sums[t];
}

extern "C" __global__ void stops() {
  counter = 77;
  __trap();
}

extern "C" __global__ void prints(const float* x) {
  printf("none\n");
  if (threadIdx.x == 0)
    printf("%d|%5.2f|%-4u|%s|%c|%%|%lld|%08x|%e|%*d\n", -3, x[0], 7u, "word", 'x', 1ll << 40, 48879, (double)x[1], 4, 5);
}

// y: by what the compiler makes of it (with -ftz=true, as CuPy), then by single instructions.
extern "C" __global__ void denormals(const float* x, float* y, float* sum) {
  __shared__ float shared_sum;
  shared_sum = 0.f;
  y[0] = x[0] * 0.5f;
  y[1] = x[0];
  atomicAdd(sum, x[0]);
  atomicAdd(&shared_sum, x[0]);
  y[2] = shared_sum;
#ifndef __BB_CUDA_EMULATOR__
  asm volatile("mul.f32 %0, %1, 0f3F000000;" : "=f"(y[3]) : "f"(x[0]));
  asm volatile("mul.ftz.f32 %0, %1, 0f3F000000;" : "=f"(y[4]) : "f"(x[0]));
  asm volatile("fma.rn.f32 %0, %1, 0f3F800000, %1;" : "=f"(y[5]) : "f"(x[0]));
  asm volatile("fma.rn.ftz.f32 %0, %1, 0f3F800000, 0f3F800000;" : "=f"(y[6]) : "f"(x[0]));
  asm volatile("{ .reg .pred p; setp.gt.f32 p, %1, 0f00000000; selp.f32 %0, 0f3F800000, 0f00000000, p; }" : "=f"(y[7]) : "f"(x[0]));
  asm volatile("{ .reg .pred p; setp.gt.ftz.f32 p, %1, 0f00000000; selp.f32 %0, 0f3F800000, 0f00000000, p; }" : "=f"(y[8]) : "f"(x[0]));
  asm volatile("neg.ftz.f32 %0, %1;" : "=f"(y[9]) : "f"(x[0]));
#endif
}
