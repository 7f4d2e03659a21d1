// One small kernel for each thing that test_conformance.py compares with tables of its own.
#include <bb/cuda/device.cuh>

#define KERNEL extern "C" __global__ void

// ---- Conversions and arithmetic, one element a thread
KERNEL narrow(const float* x, unsigned short* half_bits, unsigned short* bfloat_bits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  half_bits[i] = __half_as_ushort(__float2half_rn(x[i]));
  bfloat_bits[i] = __bfloat16_as_ushort(__float2bfloat16_rn(x[i]));
}

KERNEL narrow_double(const double* x, unsigned short* half_bits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) half_bits[i] = __half_as_ushort(__double2half(x[i]));
}

KERNEL widen(const __half* h, const __nv_bfloat16* b, float* from_half, float* from_bfloat) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  from_half[i] = __half2float(h[i]);
  from_bfloat[i] = __bfloat162float(b[i]);
}

template <class T>
__device__ void arithmetic(const T* a, const T* b, const T* c, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = a[i] + b[i];
  out[n + i] = a[i] - b[i];
  out[2 * n + i] = a[i] * b[i];
  out[3 * n + i] = a[i] / b[i];
  out[4 * n + i] = __hfma(a[i], b[i], c[i]);
}
KERNEL arithmetic_half(const __half* a, const __half* b, const __half* c, __half* out, int n) {
  arithmetic(a, b, c, out, n);
}
KERNEL arithmetic_bfloat(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c, __nv_bfloat16* out,
                         int n) {
  arithmetic(a, b, c, out, n);
}

KERNEL integers(const unsigned* x, const unsigned* y, unsigned* out, int n) {
  const int i = threadIdx.x;
  int row = 0;
  auto put = [&](unsigned value) { out[row++ * n + i] = value; };
  put(__popc(x[i]));
  put(__clz(x[i]));
  put(__ffs(x[i]));
  put(__brev(x[i]));
  put(__umulhi(x[i], y[i]));
  put(__byte_perm(x[i], y[i], 0x5410));
  put(__funnelshift_l(x[i], y[i], i));
  put(__funnelshift_r(x[i], y[i], i));
  put(min(x[i], y[i]));
  put(max((int)x[i], (int)y[i]));
}

KERNEL roundings(const float* x, int* out, int n) {
  const int i = threadIdx.x;
  out[i] = __float2int_rn(x[i]);
  out[n + i] = __float2int_rz(x[i]);
  out[2 * n + i] = __float2int_rd(x[i]);
  out[3 * n + i] = __float2int_ru(x[i]);
}

// ---- The warp
KERNEL shuffles(const int* lanes, int* out, int width) {
  const int t = threadIdx.x;
  const unsigned all = 0xffffffffu;
  out[t] = __shfl_sync(all, t, lanes[t], width);
  out[32 + t] = __shfl_up_sync(all, t, (unsigned)lanes[0], width);
  out[64 + t] = __shfl_down_sync(all, t, (unsigned)lanes[0], width);
  out[96 + t] = __shfl_xor_sync(all, t, lanes[0], width);
  const double wide = __shfl_sync(all, t + 0.25, 31 - t);
  out[128 + t] = (int)(4 * wide);
}

KERNEL votes(const int* x, unsigned mask, unsigned* out) {
  const int t = threadIdx.x;
  if (!(mask >> t & 1)) return;
  int agree = 7;
  int row = 0;
  auto put = [&](unsigned value) { out[row++ * 32 + t] = value; };
  put(__ballot_sync(mask, x[t] > 2));
  put(__any_sync(mask, x[t] == 3));
  put(__all_sync(mask, x[t] >= 0));
  put(__match_any_sync(mask, x[t]));
  put(__match_all_sync(mask, x[t] >= 0, &agree));
  put(agree);
  put(__reduce_add_sync(mask, x[t]));
  put(__reduce_min_sync(mask, x[t] - 2));
  put(__reduce_max_sync(mask, (unsigned)(x[t] - 2)));
  put(__reduce_xor_sync(mask, (unsigned)x[t]));
  put(__activemask());
}

KERNEL block_votes(const int* x, int* out) {
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), n = 96;
  out[t] = __syncthreads_count(x[t]);
  out[n + t] = __syncthreads_and(x[t]);
  out[2 * n + t] = __syncthreads_or(x[t]);
}

// ---- Matrices: fragments as they come, lane by lane
template <int AS, int BS, class Mma>
__device__ void multiply(const unsigned* a, const unsigned* b, const float* c, float* d, Mma mma) {
  const int lane = threadIdx.x;
  unsigned fa[AS], fb[BS];
  float fc[4], fd[4];
  for (int i = 0; i < AS; ++i) fa[i] = a[lane * AS + i];
  for (int i = 0; i < BS; ++i) fb[i] = b[lane * BS + i];
  for (int i = 0; i < 4; ++i) fc[i] = c[lane * 4 + i];
  mma(fd, fa, fb, fc);
  for (int i = 0; i < 4; ++i) d[lane * 4 + i] = fd[i];
}
#define MULTIPLY(NAME, AS, BS)                                                                             \
  KERNEL NAME(const unsigned* a, const unsigned* b, const float* c, float* d) {                            \
    multiply<AS, BS>(a, b, c, d, [](float (&d)[4], const unsigned (&a)[AS], const unsigned (&b)[BS],       \
                                    const float (&c)[4]) { bb_mma_##NAME(d, a, b, c); });                  \
  }
MULTIPLY(m16n8k16_bf16, 4, 2)
MULTIPLY(m16n8k16_f16, 4, 2)
MULTIPLY(m16n8k8_tf32, 4, 2)
MULTIPLY(m16n8k8_bf16, 2, 1)
MULTIPLY(m16n8k8_f16, 2, 1)
MULTIPLY(m16n8k4_tf32, 2, 1)

KERNEL load_matrices(const unsigned short* x, unsigned* out) {
  __shared__ __align__(16) unsigned short rows[32][8];
  const int lane = threadIdx.x;
  for (int c = 0; c < 8; ++c) rows[lane][c] = x[lane * 8 + c];
  __syncwarp();
  unsigned one[1], two[2], four[4];
  int at = 0;
  auto put = [&](const unsigned* r, int n) {
    for (int i = 0; i < n; ++i) out[at++ * 32 + lane] = r[i];
  };
  bb_ldmatrix_x1(one, rows[lane]);
  put(one, 1);
  bb_ldmatrix_x1_trans(one, rows[lane]);
  put(one, 1);
  bb_ldmatrix_x2(two, rows[lane]);
  put(two, 2);
  bb_ldmatrix_x2_trans(two, rows[lane]);
  put(two, 2);
  bb_ldmatrix_x4(four, rows[lane]);
  put(four, 4);
  bb_ldmatrix_x4_trans(four, rows[lane]);
  put(four, 4);
}

KERNEL store_matrices(const unsigned* fragments, unsigned short* out) {
  __shared__ __align__(16) unsigned short rows[2][32][8];
  const int lane = threadIdx.x;
  unsigned r[4];
  for (int i = 0; i < 4; ++i) r[i] = fragments[i * 32 + lane];
#if __CUDA_ARCH__ >= 900 || defined(__BB_CUDA_EMULATOR__)
  bb_stmatrix_x4(rows[0][lane], r);
  bb_stmatrix_x4_trans(rows[1][lane], r);
#endif
  __syncwarp();
  for (int k = 0; k < 2; ++k)
    for (int c = 0; c < 8; ++c) out[(k * 32 + lane) * 8 + c] = rows[k][lane][c];
}

// ---- Copies in groups: the first group is there while the second may be in flight
KERNEL copies(const int* x, int* out) {
  __shared__ __align__(16) int first[32 * 4], second[32], third[32 * 2];
  const int t = threadIdx.x;
  bb_cp_async<16>(&first[4 * t], x + 4 * t, t % 3 != 0);
  bb_cp_async_commit();
  bb_cp_async<4>(&second[t], x + t, t % 2 == 0);
  bb_cp_async<8>(&third[2 * t], x + 2 * t);
  bb_cp_async_commit();
  bb_cp_async_wait<1>();
  __syncthreads();
  for (int i = 0; i < 4; ++i) out[4 * t + i] = first[4 * ((t + 1) % 32) + i];
  bb_cp_async_wait<0>();
  __syncthreads();
  out[128 + t] = second[31 - t];
  out[160 + 2 * t] = third[2 * (31 - t)];
  out[161 + 2 * t] = third[2 * (31 - t) + 1];
}

// ---- Atomics: one block, so that what each thread gets back can be checked
KERNEL atomics(unsigned* cells, float* sum, unsigned* tickets) {
  const unsigned t = threadIdx.x;
  tickets[t] = atomicAdd(&cells[0], 1u);
  atomicSub(&cells[1], t);
  atomicMin((int*)&cells[2], -(int)t);
  atomicMax(&cells[3], t);
  atomicAnd(&cells[4], ~(1u << t % 32));
  atomicOr(&cells[5], 1u << t % 32);
  atomicXor(&cells[6], t);
  atomicInc(&cells[7], 9u);
  atomicDec(&cells[8], 9u);
  atomicExch(&cells[9], 5u);
  unsigned old = cells[10], seen;
  do {
    seen = old;
    old = atomicCAS(&cells[10], seen, seen + 2);
  } while (old != seen);
  atomicAdd(sum, 0.5f);
}

// ---- Shared memory of templates, module variables, indices, structs as arguments
__constant__ int offsets[4] = {10, 20, 30, 40};
__device__ int launches = 100;

template <int N>
__device__ int* scratch() {
  __shared__ int memory[N];
  return memory;
}

struct Pair {
  int first;
  double second;
};

KERNEL places(int* out, Pair pair, const dim3 shape) {
  const unsigned t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), n = blockDim.x * blockDim.y * blockDim.z;
  int *small = scratch<24>(), *large = scratch<48>();
  small[t] = t;
  large[t] = 1000 + t;
  large[24 + t] = 2000 + t;
  __syncthreads();
  int value = small[23 - t] + large[47 - t] + offsets[t % 4] + pair.first + (int)pair.second + shape.y;
  if (t == 0) value = atomicAdd(&launches, 1);
  out[b * n + t] = value;
}
