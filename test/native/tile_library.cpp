// The tile library under C names, for test_tile_library.py.
#include <bb/cpu.hpp>
#include <bb/rows.hpp>

using namespace bb;

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int lanes_f32() { return W<float>; }
EXPORT int lanes_f64() { return W<double>; }

#define UNARY(name)                                                                           \
  EXPORT void name##_f32(float* y, const float* x, idx n) {                                   \
    for (idx i = 0; i < n; i += W<float>) store(y + i, bb::name(load(x + i, n - i)), n - i);  \
  }                                                                                           \
  EXPORT void name##_f64(double* y, const double* x, idx n) {                                 \
    for (idx i = 0; i < n; i += W<double>) store(y + i, bb::name(load(x + i, n - i)), n - i); \
  }                                                                                           \
  EXPORT void name##_scalar(float* y, const float* x, idx n) {                                \
    for (idx i = 0; i < n; i++) y[i] = bb::name(x[i]);                                        \
  }
UNARY(exp)
UNARY(exp2)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(tanh)
UNARY(erf)
UNARY(sigmoid)
UNARY(silu)
UNARY(gelu)
UNARY(sin)
UNARY(cos)
UNARY(sqrt)
UNARY(rsqrt)
UNARY(recip)
UNARY(abs)
UNARY(floor)
UNARY(ceil)

EXPORT void exp_near_f32(float* y, const float* x, idx n) {
  for (idx i = 0; i < n; i += W<float>) store(y + i, exp_near(load(x + i, n - i)), n - i);
}

#define BINARY(name)                                                           \
  EXPORT void name##_f32(float* y, const float* a, const float* b, idx n) {    \
    for (idx i = 0; i < n; i += W<float>)                                      \
      store(y + i, bb::name(load(a + i, n - i), load(b + i, n - i)), n - i);   \
  }                                                                            \
  EXPORT void name##_f64(double* y, const double* a, const double* b, idx n) { \
    for (idx i = 0; i < n; i += W<double>)                                     \
      store(y + i, bb::name(load(a + i, n - i), load(b + i, n - i)), n - i);   \
  }
BINARY(max)
BINARY(min)
BINARY(max_nan)
BINARY(min_nan)
BINARY(pow)

#define ACROSS(T, tag)                                                                     \
  EXPORT void across_##tag(T* y, const T* x) {                                             \
    const vec<T> v = load(x);                                                              \
    y[0] = sum(v), y[1] = hmax(v), y[2] = hmin(v), y[3] = hmax_nan(v), y[4] = hmin_nan(v); \
  }                                                                                        \
  EXPORT void transpose_##tag(T* y, const T* x) {                                          \
    vec<T> r[W<T>];                                                                        \
    for (int i = 0; i < W<T>; i++) r[i] = load(x + i * W<T>);                              \
    transpose(r);                                                                          \
    for (int i = 0; i < W<T>; i++) store(y + i * W<T>, r[i]);                              \
  }                                                                                        \
  EXPORT void partial_##tag(T* y, const T* x, idx n) {                                     \
    store(y, load(x, n, (T)7), n);                                                         \
    store(y + W<T>, load(x, n, (T)7));                                                     \
    store(y + 2 * W<T>, keep(load(x), n, (T)5));                                           \
    store(y + 3 * W<T>, select(iota<T>() < 2, load(x), splat<T>(1)));                      \
  }
ACROSS(float, f32)
ACROSS(double, f64)

#define MOVES(T, tag, S, storage)                                                                          \
  EXPORT void load_##tag##_##storage(T* dst, idx ld, idx outer, idx lanes, const S* src, idx outer_stride, \
                                     idx lane_stride, idx valid_outer, idx valid_lanes, T fill) {          \
    load_plane(dst, ld, outer, lanes, src, outer_stride, lane_stride, valid_outer, valid_lanes, fill);     \
  }                                                                                                        \
  EXPORT void store_##tag##_##storage(S* dst, idx outer_stride, idx lane_stride, const T* src, idx ld,     \
                                      idx outer, idx lanes) {                                              \
    store_plane(dst, outer_stride, lane_stride, src, ld, outer, lanes);                                    \
  }
MOVES(float, f32, float, float32)
MOVES(float, f32, double, float64)
MOVES(float, f32, bf16, bfloat16)
MOVES(float, f32, f16, float16)
MOVES(float, f32, std::int32_t, int32)
MOVES(float, f32, std::int64_t, int64)
MOVES(float, f32, std::int8_t, int8)
MOVES(float, f32, std::uint8_t, uint8)
MOVES(float, f32, bool, bool)
MOVES(double, f64, double, float64)
MOVES(double, f64, float, float32)
MOVES(double, f64, bf16, bfloat16)
MOVES(double, f64, std::int64_t, int64)
MOVES(double, f64, bool, bool)

EXPORT void convert_scalar_bfloat16(std::uint16_t* y, const float* x, idx n) {
  for (idx i = 0; i < n; i++) y[i] = from_float<bf16>(x[i]).bits;
}
EXPORT void convert_scalar_float16(std::uint16_t* y, const float* x, idx n) {
  for (idx i = 0; i < n; i++) y[i] = from_float<f16>(x[i]).bits;
}
EXPORT void convert_bits_float16(std::uint16_t* y, const float* x, idx n) {
  for (idx i = 0; i + W<float> <= n; i += W<float>) {
    const auto h = detail::narrow_f16_bits(load(x + i));
    std::memcpy(y + i, &h, sizeof h);
  }
}
EXPORT void widen_bits_float16(float* y, const std::uint16_t* x, idx n) {
  for (idx i = 0; i + W<float> <= n; i += W<float>) {
    detail::halves h;
    std::memcpy(&h, x + i, sizeof h);
    store(y + i, detail::widen_f16_bits(h));
  }
}
EXPORT void vectors(float* vector, float* back, const float* src, idx stride, idx n, idx valid) {
  load_vector(vector, n, src, stride, valid, 3.f);
  store_vector(back, stride, vector, valid);
}
EXPORT void transposed_plane(float* dst, idx ld, const float* src, idx src_ld, idx outer, idx lanes) {
  transpose_plane(dst, ld, src, src_ld, outer, lanes);
}

// Per lane: sum and maximum over o; per o: sum and maximum over exactly `lanes` lanes; and 2x + lane index.
EXPORT void sweeps(float* sums, float* tops, float* row_sums, float* row_tops, float* twice, const float* x,
                   idx ld, idx outer, idx lanes) {
  constexpr float low = -std::numeric_limits<float>::infinity();
  sweep_lanes<2>(
      outer, lanes, [](idx, vf* acc) BB_BODY { acc[0] = vf{}, acc[1] = splat(low); },
      [&](idx o, idx l, vf* acc) BB_BODY {
        const vf v = load(x + o * ld + l);
        acc[0] += v;
        acc[1] = max_nan(acc[1], v);
      },
      [&](idx l, vf* acc) BB_BODY { store(sums + l, acc[0]), store(tops + l, acc[1]); });
  sweep_outer<2>(
      outer, lanes, [](idx, vf* acc) BB_BODY { acc[0] = vf{}, acc[1] = splat(low); },
      [&](idx o, idx l, auto n, vf* acc) BB_BODY {
        const vf v = load(x + o * ld + l);
        acc[0] += keep(v, n, 0.f);
        acc[1] = max_nan(acc[1], keep(v, n, low));
      },
      [](vf* a, vf* b) BB_BODY { a[0] += b[0], a[1] = max_nan(a[1], b[1]); },
      [&](idx o, vf* acc) BB_BODY { row_sums[o] = sum(acc[0]), row_tops[o] = hmax_nan(acc[1]); });
  sweep(outer, lanes, [&](idx o, idx l) BB_BODY {
    store(twice + o * ld + l, load(x + o * ld + l) * 2.f + as_float<float>(iota<float>() + (int)l));
  });
}

#define CONTRACT(T, tag, S, storage)                                                                    \
  EXPORT int contract_##tag##_##storage(T* C, idx ldc, const S* A, idx am, idx ak, const T* B, idx ldb, \
                                        idx M, idx lanes, idx K, int mode, const T* scale) {            \
    return contract(C, ldc, A, am, ak, B, ldb, M, lanes, K, (Mode)mode, scale);                         \
  }
#define FEW(T, tag, S, storage)                                                                            \
  EXPORT int rows_##tag##_##storage(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N, \
                                    idx K, int mode) {                                                     \
    return contract_rows(C, ldc, A, lda, B, ldb, M, N, K, (Mode)mode);                                     \
  }                                                                                                        \
  EXPORT int dot_##tag##_##storage(T* C, idx ldc, const T* A, idx lda, const S* B, idx ldb, idx M, idx N,  \
                                   idx K, int mode) {                                                      \
    return contract_dot(C, ldc, A, lda, B, ldb, M, N, K, (Mode)mode);                                      \
  }
#define PACK(T, tag, S, storage)                                                                             \
  EXPORT void pack_##tag##_##storage(S* D, idx rows, idx columns, idx group, const T* X, idx ld, idx r, idx k) { \
    store_packed<T>(D, rows, columns, group, X, ld, r, k);                                                   \
  }                                                                                                          \
  EXPORT int panels_##tag##_##storage(T* C, idx ldc, const T* A, idx lda, const S* B, idx group, idx stride,    \
                                      idx M, idx N, idx K, int mode) {                                       \
    return contract_panels(C, ldc, A, lda, B, group, stride, M, N, K, (Mode)mode);                           \
  }
#define PACKED(T, tag)                                                                                       \
  EXPORT int packed_##tag(T* C, idx ldc, const T* A, idx group, idx stride, const T* B, idx ldb, idx M,         \
                          idx lanes, idx K, int mode, const T* scale) {                                      \
    return contract_packed(C, ldc, A, group, stride, B, ldb, M, lanes, K, (Mode)mode, scale);                \
  }
PACK(float, f32, float, float32)
PACK(float, f32, bf16, bfloat16)
PACK(float, f32, f16, float16)
PACK(double, f64, double, float64)
PACKED(float, f32)
PACKED(double, f64)
CONTRACT(float, f32, float, float32)
CONTRACT(float, f32, bf16, bfloat16)
CONTRACT(float, f32, f16, float16)
CONTRACT(double, f64, double, float64)
FEW(float, f32, float, float32)
FEW(float, f32, bf16, bfloat16)
FEW(float, f32, f16, float16)
FEW(double, f64, double, float64)

// out[task] += task * task; workers[task] = worker. Fails with `code` at task `bad`.
EXPORT idx last_level() { return last_level_cache(); }

EXPORT int squares(std::int64_t* out, std::int64_t* workers, idx tasks, int threads, idx bad, int code) {
  return parallel_for(tasks, threads, [&](idx task, int worker) {
    out[task] += task * task;
    workers[task] = worker;
    return task == bad ? code : 0;
  });
}
// 0 if scratch memory behaves as documented, else the number of the promise that is broken.
EXPORT int scratch_promises() {
  float* p = scratch<float>(1000, 1);
  if (!p || (std::uintptr_t)p % 64) return 1;
  for (int i = 0; i < 1000; i++) p[i] = (float)i;
  if (scratch<float>(900, 1) != p || p[999] != 999.f) return 2;
  float* q = scratch<float>(3 << 20, 1);
  if (!q || (std::uintptr_t)q % 64) return 3;
  q[(3 << 20) - 1] = 1.f;
  if (scratch<float>(10, 2) == q) return 4;
  if (scratch<double>((idx)1 << 58, 1) || scratch<double>((idx)1 << 62, 1) || scratch<double>(-1, 1))
    return 5;
  if (!scratch<float>(1000, 1)) return 6;
  for (idx lanes = 1; lanes < 2000; lanes++)
    if (plane_ld<float>(lanes) < lanes || plane_ld<float>(lanes) % W<float> ||
        plane_ld<double>(lanes) % W<double>)
      return 7;
  return 0;
}
