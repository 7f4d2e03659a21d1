// What threads do together, and what makes NVRTC write more than straight code.
struct Pair {
  int first;
  float second[3];
};

__constant__ int table[4] = {3, 1, 4, 1};
__device__ int global_counter = 5;

__device__ __noinline__ int recursive(int n, int* deepest) {
  if (n <= 1) return *deepest = n;
  return recursive(n - 1, deepest) + n;
}

extern "C" __global__ void warps(unsigned* out) {
  const unsigned lane = threadIdx.x;
  int row = 0;
  auto put = [&](unsigned value) { out[row++ * 32 + lane] = value; };
  put(__shfl_sync(0xffffffffu, lane * 3u, 5));
  put(__shfl_up_sync(0xffffffffu, lane, 3));
  put(__shfl_down_sync(0xffffffffu, lane, 3, 8));
  put(__shfl_xor_sync(0xffffffffu, lane, 9));
  put(__ballot_sync(0xffffffffu, lane % 3 == 0));
  put(__any_sync(0xffffffffu, lane == 40) * 2 + __all_sync(0xffffffffu, lane < 32));
  put(__match_any_sync(0xffffffffu, lane / 4));
  put(__reduce_add_sync(0xffffffffu, lane));
  put((unsigned)__reduce_min_sync(0xffffffffu, 10 - (int)lane));
  unsigned mask, value;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  put(mask);
  // The second result of a shuffle: whether the source lane is in range.
  asm volatile("{ .reg .pred p; .reg .b32 r; shfl.sync.up.b32 r|p, %1, 4, 0, 0xffffffff; selp.u32 %0, r, 99, p; }"
               : "=r"(value) : "r"(lane));
  put(value);
  put(lane < 16 ? __ballot_sync(0x0000ffffu, lane & 1) : __ballot_sync(0xffff0000u, lane & 2));
}

extern "C" __global__ void blocks(int* out, int* counters, float* sums, Pair pair, long long offset) {
  __shared__ int counts[4];
  const int thread = threadIdx.x;
  if (thread < 4) counts[thread] = 0;
  __syncthreads();
  atomicAdd(&counts[thread % 4], thread);
  atomicMax(&counters[0], thread);
  atomicCAS(&counters[1], 0, 7);
  atomicExch(&counters[2], 5);
  atomicInc((unsigned*)&counters[3], 1000u);
  atomicAdd(sums, 0.25f);
  const int odd = __syncthreads_count(thread & 1);
  int local[8];  // indexed by what only a launch tells: local memory
  for (int i = 0; i < 8; ++i) local[i] = i * thread;
  int deepest = 0;
  const int sum = recursive(thread % 5 + 1, &deepest);
  int chosen;
  switch ((thread + pair.first) % 7) {
    case 0: chosen = table[thread % 4]; break;
    case 1: chosen = global_counter; break;
    case 2: chosen = (int)pair.second[1]; break;
    case 3: chosen = local[(thread + (int)offset) % 8]; break;
    case 4: chosen = deepest; break;
    case 5: chosen = -thread; break;
    default: chosen = odd;
  }
  out[thread] = counts[thread % 4];
  out[blockDim.x + thread] = sum;
  out[2 * blockDim.x + thread] = chosen;
}

extern "C" __global__ void labels(int* out) {
  __shared__ unsigned long long barrier;
  const unsigned place = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place), "r"(blockDim.x));
  __syncthreads();
  for (int phase = 0; phase < 2; ++phase) {
    asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(place) : "memory");
    // The same label twice in one function: each is its scope's own.
    asm volatile(
        "{\n .reg .pred p;\nWAIT:\n mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n @p bra DONE;\n bra WAIT;\nDONE:\n}"
        ::"r"(place), "r"(phase) : "memory");
  }
  out[threadIdx.x] = threadIdx.x + 1;
}

