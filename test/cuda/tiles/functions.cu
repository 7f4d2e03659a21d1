// y = f(x), for each function of math.cuh by its number; z is the second argument of those that have two.
#include <bb/cuda.cuh>

extern "C" __global__ void __launch_bounds__(256, 1)
    functions(const float* __restrict__ X, const float* __restrict__ Z, float* __restrict__ Y, int count,
              int which) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  const float x = X[i], z = Z[i];
  float y = 0.0f;
  switch (which) {
    case 0:
      y = bb::exp(x);
      break;
    case 1:
      y = bb::exp2(x);
      break;
    case 2:
      y = bb::expm1(x);
      break;
    case 3:
      y = bb::log(x);
      break;
    case 4:
      y = bb::log2(x);
      break;
    case 5:
      y = bb::log1p(x);
      break;
    case 6:
      y = bb::tanh(x);
      break;
    case 7:
      y = bb::erf(x);
      break;
    case 8:
      y = bb::sigmoid(x);
      break;
    case 9:
      y = bb::silu(x);
      break;
    case 10:
      y = bb::gelu(x);
      break;
    case 11:
      y = bb::sin(x);
      break;
    case 12:
      y = bb::cos(x);
      break;
    case 13:
      y = bb::sqrt(x);
      break;
    case 14:
      y = bb::rsqrt(x);
      break;
    case 15:
      y = bb::recip(x);
      break;
    case 16:
      y = bb::abs(x);
      break;
    case 17:
      y = bb::floor(x);
      break;
    case 18:
      y = bb::ceil(x);
      break;
    case 19:
      y = bb::pow(x, z);
      break;
    case 20:
      y = bb::max(x, z);
      break;
    case 21:
      y = bb::min(x, z);
      break;
    case 22:
      y = bb::max_nan(x, z);
      break;
    case 23:
      y = bb::min_nan(x, z);
      break;
    case 24:
      y = bb::rounded<bb::bf16>(x);
      break;
    case 25:
      y = bb::rounded<bb::f16>(x);
      break;
    case 26:
      y = static_cast<float>(bb::as_index(x));
      break;
    case 27:
      y = bb::fast::exp(x);
      break;
    case 28:
      y = bb::fast::exp2(x);
      break;
    case 29:
      y = bb::fast::log(x);
      break;
    case 30:
      y = bb::fast::log2(x);
      break;
    case 31:
      y = bb::fast::tanh(x);
      break;
    case 32:
      y = bb::fast::sigmoid(x);
      break;
    case 33:
      y = bb::fast::silu(x);
      break;
    case 34:
      y = bb::fast::sqrt(x);
      break;
    case 35:
      y = bb::fast::rsqrt(x);
      break;
    case 36:
      y = bb::fast::recip(x);
      break;
    case 37:
      y = bb::fast::div(x, z);
      break;
    case 38:
      y = bb::fma(x, z, 1.0f);
      break;
  }
  Y[i] = y;
}
