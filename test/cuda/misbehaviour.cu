// Kernels that do what a kernel must not: each ends in a report, whatever it does to its process.
#include <bb/cuda/device.cuh>

#define KERNEL extern "C" __global__ void

__device__ int deeper(volatile int* x, int n) {
  volatile int local[64];
  local[n & 63] = x[0];
  return deeper(x, n + 1) + local[0];
}

KERNEL wild_write(int* x) { *(int*)(size_t)(0x1234 + 8 * x[0]) = 1; }
KERNEL scribble(int* x) {
  volatile int here = x[0];
  volatile char* everything = (volatile char*)&here;
  for (long i = -4096; i < (1l << 40); ++i) everything[i] = 0x41;
}
KERNEL overwrite_program(int* x) {
  volatile char* base = (volatile char*)__cvta_shared_to_generic(0);
  for (long i = 0; i < (64l << 20); ++i) base[i] = 0x41;
  x[0] = 1;
}
KERNEL for_ever(int* x) {
  for (;;) ((volatile int*)x)[1] = x[0] + 1;
}
KERNEL divide(int* x) { x[1] = 7 / x[0]; }
KERNEL recurse(int* x) { x[1] = deeper(x, 0); }
KERNEL trap(int* x) {
  if (threadIdx.x == 5) __trap();
}
KERNEL asserts(int* x) { assert(x[0] == 1 && "x is \"one\""); }
KERNEL prints(int* x) {
  if (threadIdx.x == 0) printf("x is %d\n", x[0]);
}
KERNEL prints_for_ever(int* x) {
  for (;;) printf("x is %d and so it goes on and on and on and on and on and on and on and on\n", x[0]);
}
KERNEL deadlock(int* x) {
  if (threadIdx.x < 32) bb_barrier_sync(1, 96);
  x[threadIdx.x] = 1;
}
KERNEL lanes_part(int* x) {
  if (threadIdx.x % 2 == 0)
    x[0] = __shfl_sync(0xffffffffu, 1, 0);
  else
    x[1] = __ballot_sync(0xffffffffu, 1);
}
KERNEL leaves_process(int* x) { x[0] = *(volatile int*)nullptr; }
KERNEL undefined_lane(int* x) {
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_down_sync(0x0000ffffu, (int)threadIdx.x, 8);
}
KERNEL spoils_barrier(int* x) {
  __shared__ unsigned long long barrier;
  if (threadIdx.x == 0) bb_mbarrier_init(&barrier, 0);
  x[0] = 1;
}
KERNEL bytes(unsigned char* x) { x[threadIdx.x] = threadIdx.x; }
KERNEL copies_struct(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }
