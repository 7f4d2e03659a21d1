// Rows that are read once, kept in registers, written once, by a warp each or by a block.
#include <bb/cuda.cuh>

using T = SET_TYPE;
constexpr int GROUP = SET_GROUP, VEC = SET_VEC, PIECES = SET_PIECES;
constexpr int THREADS = GROUP > 128 ? GROUP : 128, ROWS = THREADS / GROUP;
using Row = bb::row_piece<GROUP, VEC, PIECES>;

// for M: m = row_max(x); e = exp(x - m); store row_scale(e, 1 / row_sum(e))
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    softmax(const T* __restrict__ X, T* __restrict__ O, int rows, int cols) {
  extern __shared__ __align__(1024) unsigned char smem[];
  float* scratch = reinterpret_cast<float*>(smem);
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / GROUP;
  if (row >= rows) return;  // whole warps
  Row x;
  x.load(X + row * cols, cols, -BB_INF);
  const float top = bb::reduce_group<GROUP>(x.fold(-BB_INF, bb::larger()), scratch, bb::larger());
  const float pivot = top == -BB_INF ? 0.0f : top;  // a row of -inf gives 0
  x.map([=](float a, int) { return bb::fast::exp(a - pivot); });
  const float sum = bb::reduce_group<GROUP>(x.fold(0.0f, bb::plus()), scratch, bb::plus());
  const float scale = sum > 0.0f ? bb::recip(sum) : 0.0f;
  x.map([=](float a, int) { return a * scale; });
  x.store(O + row * cols, cols);
}

// for M: store col_scale(row_scale(x, rsqrt(row_sum(x^2) / N + eps)), gamma)
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    rmsnorm(const T* __restrict__ X, const T* __restrict__ G, T* __restrict__ O, int rows, int cols,
            float eps) {
  extern __shared__ __align__(1024) unsigned char smem[];
  float* scratch = reinterpret_cast<float*>(smem);
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / GROUP;
  if (row >= rows) return;  // whole warps
  Row x, gamma;
  x.load(X + row * cols, cols, 0.0f);
  float squares = x.fold(0.0f, [](float sum, float a) { return bb::fma(a, a, sum); });
  squares = bb::reduce_group<GROUP>(squares, scratch, bb::plus());
  const float scale = bb::rsqrt(squares / cols + eps);
  gamma.load(G, cols, 0.0f);
  Row::sweep([&](bb::slot s) { x[s] *= scale * gamma[s]; });
  x.store(O + row * cols, cols);
}
