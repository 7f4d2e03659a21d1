// Every move and contraction on small shapes, with each array flush against a page that may not be touched,
// at its end and then at
// its beginning. Prints one line and returns 1 at the first wrong result; a touch outside an array ends the
// process.
#include <sys/mman.h>
#include <unistd.h>
#include <bb/cpu.hpp>
#include <cstdio>
#include <cstdlib>
#include "../../runtime/cpu/native/contract_bf16_tiles.hpp"
#include "../../runtime/cpu/native/contract_bf16_vector.hpp"

using namespace bb;

namespace {
template <class T>
struct Guarded {
  char* memory;
  std::size_t size;
  T* data;

  Guarded(idx n, bool at_end) {
    const std::size_t page = sysconf(_SC_PAGESIZE), bytes = n * sizeof(T),
                      room = (bytes + page - 1) / page * page + (n == 0) * page;
    size = room + 2 * page;
    memory = (char*)mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + page, room, PROT_READ | PROT_WRITE)) std::abort();
    data = (T*)(memory + page + (at_end ? room - bytes : 0));
  }
  ~Guarded() { munmap(memory, size); }
  Guarded(const Guarded&) = delete;
};

unsigned seed = 1;
int random(int n) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (unsigned)n);
}
template <class S>
S number() {
  return cast<S>((float)(random(17) - 8));
}

int check(bool good, const char* what, idx a, idx b, idx c) {
  if (good) return 0;
  std::printf("%s is wrong for %td, %td, %td\n", what, a, b, c);
  std::exit(1);
}

template <class T, class S>
void moves(bool at_end) {
  for (int trial = 0; trial < 60; trial++) {
    const idx outer = 1 + random(40), lanes = 1 + random(40), rows = random((int)outer + 1),
              count = random((int)lanes + 1);
    const idx ld = round_up(lanes, W<T>), kind = trial % 3;
    const idx os = kind == 0 ? count : kind == 1 ? 1 : 2 * count, ls = kind == 0 ? 1 : kind == 1 ? rows : 2;
    const idx size = rows && count ? (rows - 1) * os + (count - 1) * ls + 1 : 0;
    Guarded<S> array(size, at_end), back(size, at_end);
    Guarded<T> plane(outer * ld, at_end);
    for (idx i = 0; i < size; i++) array.data[i] = number<S>(), back.data[i] = array.data[i];
    load_plane<T>(plane.data, ld, outer, lanes, array.data, os, ls, rows, count, T(9));
    for (idx o = 0; o < outer; o++)
      for (idx l = 0; l < ld; l++)
        check(plane.data[o * ld + l] == (o < rows && l < count ? cast<T>(array.data[o * os + l * ls]) : T(9)),
              "load_plane", outer, lanes, kind);
    store_plane<T>(back.data, os, ls, plane.data, ld, rows, count);
    check(std::memcmp(back.data, array.data, size * sizeof(S)) == 0, "store_plane", outer, lanes, kind);
  }
}

// contract() or one of the ways of contract_bf16(), whose operands are exact in bf16 here.
template <class T, class S, class Contract>
void contractions(bool at_end, Contract contract) {
  for (int trial = 0; trial < 60; trial++) {
    const idx M = 1 + random(16), lanes = 1 + random(70), K = 1 + random(20), ld = round_up(lanes, W<T>),
              kind = trial % 3;
    const idx am = kind == 0 ? K : kind == 1 ? 1 : 2 * K, ak = kind == 0 ? 1 : kind == 1 ? M : 2;
    Guarded<S> a((M - 1) * am + (K - 1) * ak + 1, at_end);
    Guarded<T> b((K - 1) * ld + lanes, at_end), c(M * ld, at_end);
    for (idx i = 0; i < (M - 1) * am + (K - 1) * ak + 1; i++) a.data[i] = number<S>();
    for (idx i = 0; i < (K - 1) * ld + lanes; i++) b.data[i] = number<T>();
    check(contract(c.data, ld, a.data, am, ak, b.data, ld, M, lanes, K, overwrite, nullptr) == ok, "status", M,
          lanes, K);
    for (idx m = 0; m < M; m++)
      for (idx l = 0; l < lanes; l++) {
        T sum = 0;
        for (idx k = 0; k < K; k++) sum += cast<T>(a.data[m * am + k * ak]) * b.data[k * ld + l];
        check(c.data[m * ld + l] == sum, "contract", M, lanes, K);
      }
  }
}
template <class T, class S>
void contractions(bool at_end) {
  contractions<T, S>(at_end, [](auto... arguments) { return contract(arguments...); });
}
template <class S>
void contractions_in_bf16(bool at_end) {
  contractions<float, S>(at_end, [](auto... arguments) { return contract_bf16(arguments...); });
#if defined(BB_AVX512)
  contractions<float, S>(
      at_end, [](auto... arguments) { return native::contract_tiles<native::SoftwareTiles>(arguments...); });
#if defined(__AVX512BF16__)
  contractions<float, S>(at_end, [](auto... arguments) { return native::contract_vector(arguments...); });
#endif
#endif
}
template <class T, class S>
void few(bool at_end) {
  for (int trial = 0; trial < 60; trial++) {
    const idx M = 1 + random(9), N = 1 + random(50), K = 1 + random(50), ldc = round_up(N, W<T>);
    const bool dot = trial % 2;
    Guarded<T> a(M * K, at_end), c(M * ldc, at_end);
    Guarded<S> b(N * K, at_end);
    for (idx i = 0; i < M * K; i++) a.data[i] = number<T>();
    for (idx i = 0; i < N * K; i++) b.data[i] = number<S>();
    if (dot) contract_dot(c.data, ldc, a.data, K, b.data, K, M, N, K);
    else contract_rows(c.data, ldc, a.data, K, b.data, N, M, N, K);
    for (idx m = 0; m < M; m++)
      for (idx n = 0; n < N; n++) {
        T sum = 0;
        for (idx k = 0; k < K; k++) sum += a.data[m * K + k] * cast<T>(b.data[dot ? n * K + k : k * N + n]);
        check(c.data[m * ldc + n] == sum, dot ? "contract_dot" : "contract_rows", M, N, K);
      }
  }
}
// A block in groups of rows, and contractions that read it: of `valid` rows and columns of those that it has room
// for.
template <class T>
void packed(bool at_end) {
  for (int trial = 0; trial < 60; trial++) {
    const bool panels = trial % 2;
    const idx group = panels ? 2 * W<T> : 1 + random(6), R = 1 + random(40), K = 1 + random(30);
    const idx rows = R + random(9), columns = K + random(9), ld = round_up(R, W<T>), M = 1 + random(9);
    Guarded<T> x(K * ld, at_end), d(round_up(rows, group) * columns, at_end);
    for (idx k = 0; k < K; k++)
      for (idx r = 0; r < ld; r++) x.data[k * ld + r] = number<T>();
    store_packed<T>(d.data, rows, columns, group, x.data, ld, R, K);
    for (idx r = 0; r < round_up(rows, group); r++)
      for (idx k = 0; k < columns; k++) {
        const T want = r < R && k < K ? x.data[k * ld + r] : T(0);
        check(d.data[(r / group * columns + k) * group + r % group] == want, "store_packed", R, K, group);
      }
    const idx lanes = panels ? 0 : 1 + random(5 * W<T>), ldb = panels ? K : round_up(lanes, W<T>);
    const idx outer = panels ? M : R, ldc = panels ? ld : ldb;
    Guarded<T> b(panels ? M * K : K * ldb, at_end), c(outer * ldc, at_end);
    for (idx i = 0; i < (panels ? M * K : K * ldb); i++) b.data[i] = number<T>();
    if (panels) contract_panels(c.data, ldc, b.data, K, d.data, group, group * columns, M, R, K);
    else contract_packed(c.data, ldc, d.data, group, group * columns, b.data, ldb, R, lanes, K);
    for (idx o = 0; o < outer; o++)
      for (idx l = 0; l < (panels ? R : lanes); l++) {
        T sum = 0;
        for (idx k = 0; k < K; k++)
          sum += panels ? b.data[o * K + k] * x.data[k * ld + l] : x.data[k * ld + o] * b.data[k * ldb + l];
        check(c.data[o * ldc + l] == sum, panels ? "contract_panels" : "contract_packed", R, K, group);
      }
  }
}
// The same in pairs of bf16, from a plane of floats and from one of pairs.
template <class Contract>
void packed_pairs(bool at_end, const char* name, Contract contract) {
  for (int trial = 0; trial < 60; trial++) {
    const idx group = 1 + random(6), R = 1 + random(40), K = 1 + random(30), rows = R + random(9), columns = K + random(9);
    const idx ld = round_up(R, W<float>), lanes = 1 + random(5 * W<float>), ldb = round_up(lanes, W<float>);
    const idx stride = group * 2 * ceil_div(columns, 2);
    Guarded<float> x(K * ld, at_end), b(K * ldb, at_end), c(R * ldb, at_end);
    Guarded<bf16> d(ceil_div(rows, group) * stride, at_end);
    Guarded<Pair> pairs(ceil_div(K, 2) * ldb, at_end);
    for (idx i = 0; i < K * ld; i++) x.data[i] = number<float>();
    for (idx i = 0; i < K * ldb; i++) b.data[i] = number<float>();
    store_packed_pairs<float>(d.data, rows, columns, group, x.data, ld, R, K);
    store_pairs<float>(pairs.data, ldb, b.data, ldb, K, lanes);
    for (bool paired : {false, true}) {
      if (paired) contract(c.data, ldb, d.data, group, stride, (const Pair*)pairs.data, ldb, R, lanes, K, overwrite, nullptr);
      else contract(c.data, ldb, d.data, group, stride, (const float*)b.data, ldb, R, lanes, K, overwrite, nullptr);
      for (idx r = 0; r < R; r++)
        for (idx l = 0; l < lanes; l++) {
          float sum = 0;
          for (idx k = 0; k < K; k++) sum += x.data[k * ld + r] * b.data[k * ldb + l];
          check(c.data[r * ldb + l] == sum, name, R, K, group);
        }
    }
  }
}
// Columns in lanes, and A of either type: a row-major array, or a transposed one.
template <class S>
void panels_in_bf16(bool at_end) {
  for (int trial = 0; trial < 60; trial++) {
    const idx group = (1 + random(3)) * W<float>, R = 1 + random(40), K = 1 + random(30), M = 1 + random(9);
    const idx rows = R + random(9), columns = K + random(9), ld = round_up(R, W<float>);
    const idx stride = group * 2 * ceil_div(columns, 2), am = trial % 2 ? K : 1, ak = trial % 2 ? 1 : M;
    Guarded<float> x(K * ld, at_end), c(M * ld, at_end);
    Guarded<S> a(M * K, at_end);
    Guarded<bf16> d(ceil_div(rows, group) * stride, at_end);
    for (idx i = 0; i < K * ld; i++) x.data[i] = number<float>();
    for (idx i = 0; i < M * K; i++) a.data[i] = cast<S>(number<float>());
    store_packed_pairs<float>(d.data, rows, columns, group, x.data, ld, R, K);
    contract_bf16_panels(c.data, ld, a.data, am, ak, d.data, group, stride, M, R, K);
    for (idx m = 0; m < M; m++)
      for (idx r = 0; r < R; r++) {
        float sum = 0;
        for (idx k = 0; k < K; k++) sum += cast<float>(a.data[m * am + k * ak]) * x.data[k * ld + r];
        check(c.data[m * ld + r] == sum, "contract_bf16_panels", R, K, group);
      }
  }
}
void packed_in_bf16(bool at_end) {
  packed_pairs(at_end, "contract_bf16_packed", [](auto... arguments) { return contract_bf16_packed(arguments...); });
#if defined(BB_AVX512)
  packed_pairs(at_end, "packed_tiles",
               [](auto... arguments) { return native::packed_tiles<native::SoftwareTiles>(arguments...); });
#if defined(__AVX512BF16__)
  packed_pairs(at_end, "packed_vector", [](auto... arguments) { return native::packed_vector(arguments...); });
#endif
#endif
}
}  // namespace

int main() {
  for (bool at_end : {true, false}) {
    moves<float, float>(at_end);
    moves<float, bf16>(at_end);
    moves<float, std::int32_t>(at_end);
    moves<double, double>(at_end);
    moves<double, float>(at_end);
    contractions<float, float>(at_end);
    contractions<float, f16>(at_end);
    contractions<double, double>(at_end);
    contractions_in_bf16<bf16>(at_end);
    contractions_in_bf16<float>(at_end);
    few<float, float>(at_end);
    few<float, bf16>(at_end);
    few<double, double>(at_end);
    packed<float>(at_end);
    packed<double>(at_end);
    packed_in_bf16(at_end);
    panels_in_bf16<bf16>(at_end);
    panels_in_bf16<float>(at_end);
  }
  std::atomic<idx> total{0};
  parallel_for(100, 2, [&](idx task, int) {
    float* p = scratch<float>(1000 + task);
    p[task] = (float)task;
    total += (idx)p[task];
  });
  return check(total == 4950, "parallel_for", 100, 2, total);
}
