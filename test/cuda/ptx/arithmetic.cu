// One result a row: out[operation * n + thread]. What C++ has no word for is inline PTX.
#include <cuda_fp16.h>

extern "C" __global__ void integers(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned x = a[i], y = b[i];
  const int sx = (int)x, sy = (int)y;
  const unsigned long long wide = ((unsigned long long)y << 32) | x;
  unsigned r, carry;
  int row = 0;
  auto put = [&](unsigned value) { out[row++ * n + i] = value; };
  put(x + y);
  put(x * y);
  put(__umulhi(x, y));
  put((unsigned)__mulhi(sx, sy));
  put(x / (y | 1u));
  put((unsigned)(sx / (int)(y | 1u)));
  put(x % (y | 1u));
  put((unsigned)(sx % (int)(y | 1u)));
  put((unsigned)min(sx, sy));
  put(max(x, y));
  put((unsigned)__popc(x));
  put((unsigned)__clz(sx));
  put(__brev(x));
  put(x << (y & 31u));
  put((unsigned)(sx >> (y & 31u)));
  put(__funnelshift_l(x, y, y & 31u));
  put(__byte_perm(x, y, 0x6240));
  put((unsigned)__dp4a(sx, sy, 7));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(y & 31u), "r"(9));
  put(r);
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(y), "r"(5), "r"(11));
  put(r);
  asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(x), "r"(y), "r"(0xff00ff00u));
  put(r);
  asm("bfind.u32 %0, %1;" : "=r"(r) : "r"(x));
  put(r);
  asm("{ .reg .u32 low; add.cc.u32 low, %1, %2; addc.u32 %0, %1, 0; }" : "=r"(carry) : "r"(x), "r"(y));
  put(carry);
  asm("sad.u32 %0, %1, %2, 3;" : "=r"(r) : "r"(x), "r"(y));
  put(r);
  put((unsigned)(wide >> (y & 63u)));
  put((unsigned)__umul64hi(wide, wide * 3u));
  asm("{ .reg .pred p; setp.lt.and.s32 p, %1, %2, 1; selp.u32 %0, 1, 0, p; }" : "=r"(r) : "r"(x), "r"(y));
  put(r);
}

extern "C" __global__ void floats(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = a[i], y = b[i];
  int row = 0;
  float r;
  auto put = [&](float value) { out[row++ * n + i] = value; };
  put(x + y);
  put(x * y);
  put(__fmaf_rn(x, y, 0.5f));
  put(x / y);
  put(fminf(x, y));
  put(fmaxf(x, y));
  put(sqrtf(fabsf(x)));
  put(exp2f(x));
  put(__sinf(x));
  put(rsqrtf(fabsf(x) + 1.0f));
  put((float)(int)(x * 100.0f));
  put(rintf(x * 10.0f));
  put(floorf(x * 10.0f));
  put(__saturatef(x));
  put(copysignf(x, y));
  put((float)((double)x * (double)y + 1e-9));
  put((float)sqrt((double)x * x));
  put(__half2float(__float2half_rn(x)));
  asm("{ .reg .b16 h; cvt.rn.bf16.f32 h, %1; cvt.f32.bf16 %0, h; }" : "=f"(r) : "f"(x));
  put(r);
  asm("{ .reg .b32 t; cvt.rna.tf32.f32 t, %1; mov.b32 %0, t; }" : "=f"(r) : "f"(x));
  put(r);
  const __half2 pair = __hfma2(__floats2half2_rn(x, y), __floats2half2_rn(y, x), __floats2half2_rn(1.0f, 2.0f));
  put(__low2float(pair));
  put(__high2float(pair));
  put(x < y ? 1.0f : x != x ? 2.0f : 3.0f);
  asm("{ .reg .pred p; setp.ltu.f32 p, %1, %2; selp.f32 %0, 0f3F800000, 0f00000000, p; }" : "=f"(r) : "f"(x), "f"(y));
  put(r);
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  put(r);
}
