// The tile library, one piece at a time: what test_tile_pieces.py compares with numpy.
#include <bb/cuda.cuh>

extern __shared__ __align__(1024) unsigned char smem[];

// C[M, N] = A[M, K] times B, which is stored N x K, or K x WIDE of which columns first... are taken. One
// warp. HELD 1: A is loaded to registers before, 2: A is sums that become an operand; 3: B is taken twice;
// 4: B goes through registers to a taller tile, all but its last 3 rows.
template <class T, int M, int N, int K, int WIDE, bool KN, int HELD>
__global__ void __launch_bounds__(32, 1)
    product(const typename bb::element<T>::stored* A, const typename bb::element<T>::stored* B, float* C,
            int first) {
  using ATile = bb::shared_tile<T, M, K>;
  using BTile = bb::shared_tile<T, KN ? K : WIDE, KN ? WIDE : K>;
  const ATile a{smem};
  const BTile b{smem + ATile::BYTES};
  bb::reader<ATile, 32, 1>(A, K, 0, 0, M, K).load(a);
  bb::reader<BTile, 32, 1>(B, BTile::COLS, 0, 0, BTile::ROWS, BTile::COLS).load(b);
  bb::cp_async_commit();
  bb::cp_async_wait<0>();
  __syncthreads();
  bb::acc_tile<M, N> c;
  bb::fill(c, 1.0f);
  if constexpr (HELD == 1) {
    const auto held = bb::load_operand<M>(a, 0);
    if constexpr (KN) bb::contract_kn(c, held, b, first);
    else bb::contract(c, held, b, first);
  } else if constexpr (HELD == 2) {
    const auto held = bb::to_operand<T>(bb::take<M, K>(a, 0, 0));
    if constexpr (KN) bb::contract_kn(c, held, b, first);
    else bb::contract(c, held, b, first);
  } else if constexpr (HELD == 3) {
    bb::acc_tile<M, N> d = c;
    if constexpr (KN) bb::contract2_kn(c, d, a, 0, b, b, first);
    else bb::contract2(c, d, a, 0, b, b, first);
    bb::map(c, [](float one, float other) { return one + 2.0f * other; }, d);
  } else if constexpr (HELD == 4) {
    using Taller = bb::shared_tile<T, 2 * BTile::ROWS, BTile::COLS>;
    const Taller taller{smem + ATile::BYTES + BTile::BYTES};
    bb::put(taller, 0, 0, bb::take<BTile::ROWS, BTile::COLS>(b, 0, 0), BTile::ROWS - 3);
    __syncthreads();
    const auto held = bb::to_operand<T>(bb::take<M, K>(a, 0, 0));
    if constexpr (KN) bb::contract_kn(c, held, taller, first);
    else bb::contract(c, held, taller, first);
  } else if constexpr (KN) {
    bb::contract_kn(c, a, 0, b, first);
  } else {
    bb::contract(c, a, 0, b, first);
  }
  bb::store(c, C, 0, 0, N, M, N);
}

// Every elementwise operation on X[32, 16], a vector over rows and one over columns: each result is 512
// numbers of out.
extern "C" __global__ void __launch_bounds__(32, 1)
    sweeps(const float* X, const float* rows, const float* cols, float* out) {
  const bb::acc_tile<32, 16> x = bb::load_tile<32, 16>(X, 0, 0, 16, 32, 16, 0.0f);
  const bb::row_vec<32> v = bb::load_rows<32>(rows);
  const bb::col_vec<16> w = bb::load_cols<16>(cols);
  int part = 0;
  auto show = [&](const bb::acc_tile<32, 16>& y) { bb::store(y, out + 512 * part++, 0, 0, 16, 32, 16); };
  bb::acc_tile<32, 16> y = x;
  bb::map(y, [](float a, float b, float c, float d) { return a * b + c - d; }, x, v, w);
  show(y);
  y = x, bb::map_rows(y, v, [](float a, float b) { return a * b; }), show(y);
  y = x, bb::map_index(y, 100, 1000, [](float a, int row, int col) { return a + row + 10 * col; }), show(y);
  y = x, bb::row_scale(y, v), show(y);
  y = x, bb::row_shift(y, v), show(y);
  y = x, bb::col_scale(y, w), show(y);
  y = x, bb::col_shift(y, w), show(y);
  y = x, bb::add_outer(y, v, w), show(y);
  y = x, bb::keep_below(y, 5, 8, -7.0f, [](int row) { return row / 2 + 1; }), show(y);
  bb::row_vec<32> r = v;
  bb::map(r, [](float a, float b) { return a * a + b; }, v);
  bb::sweep<32, 16>([&](bb::cell c) { y[c] = r[c]; }), show(y);
  bb::col_vec<16> s;
  bb::fill(s, 3.0f);
  bb::sweep_cols<16>([&](bb::cell c) { s[c] += w[c]; });
  bb::sweep<32, 16>([&](bb::cell c) { y[c] = s[c]; }), show(y);
}

// Two warps side by side on X[32, 32]: sum, maximum and minimum of each row, of each warp's part and of both.
extern "C" __global__ void __launch_bounds__(64, 1) reductions(const float* X, float* parts, float* out) {
  float* scratch = reinterpret_cast<float*>(smem);
  const int warp = bb::warp_id();
  const bb::acc_tile<32, 16> x = bb::load_tile<32, 16>(X, 0, 16 * warp, 32, 32, 32, 0.0f);
  const bb::row_vec<32> sum = bb::row_sum(x), top = bb::row_max(x), least = bb::row_min(x);
  bb::store_rows(sum, parts + 96 * warp);
  bb::store_rows(top, parts + 96 * warp + 32);
  bb::store_rows(least, parts + 96 * warp + 64);
  const bb::row_vec<32> all[3] = {bb::across_warps<2, 32>(sum, scratch, 0, warp, bb::plus()),
                                  bb::across_warps<2, 32>(top, scratch + 64, 0, warp, bb::larger()),
                                  bb::across_warps<2, 32>(least, scratch + 128, 0, warp, bb::smaller())};
  if (warp == 1)
    for (int i = 0; i < 3; ++i) bb::store_rows(all[i], out + 32 * i, 30);  // two rows less
}

// What becomes of a left operand X[32, K] in registers: f(x, row, k), x - v, each times the identity, and
// sums of squares.
template <class T>
__global__ void __launch_bounds__(32, 1)
    operands(const typename bb::element<T>::stored* X, const float* v, float* out, float* squares) {
  constexpr int K = 32;
  using Tile = bb::shared_tile<T, 32, K>;
  const Tile x{smem}, one{smem + Tile::BYTES};
  bb::reader<Tile, 32, 1>(X, K, 0, 0, 32, K).load(x);
  bb::cp_async_commit();
  bb::cp_async_wait<0>();
  for (int k = 0; k < K; ++k) one(threadIdx.x, k) = threadIdx.x == k ? 1.0f : 0.0f;
  __syncthreads();
  bb::acc_tile<32, K> y;
  auto held = bb::load_operand<32>(x, 0);
  bb::map_operand(held, [](float a, int row, int k) { return 2.0f * a + row - 3.0f * k; });
  bb::fill(y, 0.0f), bb::contract(y, held, one, 0), bb::store(y, out, 0, 0, K, 32, K);
  // The same as operands are read, step by step.
  bb::fill(y, 0.0f);
  bb::contract_kn(y, x, 0, one, 0, [](auto& a, int first) {
    bb::map_operand(a, [=](float value, int row, int k) { return 2.0f * value + row - 3.0f * (first + k); });
  });
  bb::store(y, out + 32 * K, 0, 0, K, 32, K);
  if constexpr (bb::element<T>::STEP == 16) {
    held = bb::load_operand<32>(x, 0);
    bb::row_vec<32> sum;
    bb::fill(sum, 0.0f);
    bb::add_squares(sum, held);
    bb::store_rows(bb::sum_across_quad(sum), squares);
    bb::row_shift_operand(held, bb::to_pairs<T>(bb::load_rows<32>(v)));
    bb::fill(y, 0.0f), bb::contract(y, held, one, 0), bb::store(y, out + 64 * K, 0, 0, K, 32, K);
  }
}

// X[rows, cols], tile by tile through shared memory, into O[padded rows, padded cols]; then 2 x + row -
// column there, and the sum and the largest of each row's elements of the first tile, which is negated then.
template <class T, int ROWS, int COLS, int THREADS, int VEC>
__global__ void __launch_bounds__(THREADS, 1)
    tiles(const typename bb::element<T>::stored* X, typename bb::element<T>::stored* O, float* stats,
          int rows, int cols) {
  using Tile = bb::shared_tile<T, ROWS, COLS>;
  const Tile tile{smem};
  const int down = (rows + ROWS - 1) / ROWS, across = (cols + COLS - 1) / COLS;
  bb::reader<Tile, THREADS, VEC> in(X, cols, 0, 0, rows, cols);
  for (int i = 0; i < down; ++i) {
    for (int j = 0; j < across; ++j) {
      in.load(tile);
      in.next_cols(COLS);
      bb::cp_async_commit();
      bb::cp_async_wait<0>();
      __syncthreads();
      if (i == 0 && j == 0) {
        float sum = 0.0f, top = -BB_INF;
        bb::for_my_row<THREADS>(tile, min(cols, COLS), [&](float a) { sum += a, top = bb::max(top, a); });
        sum = bb::across_row_threads<THREADS, ROWS>(sum);
        top = bb::across_row_threads<THREADS, ROWS>(top, bb::larger());
        using Mine = bb::row_threads<THREADS, ROWS>;
        if (Mine::speaks()) stats[Mine::row()] = sum, stats[ROWS + Mine::row()] = top;
        bb::for_my_chunks<THREADS>(tile, [&](int chunk) {
          auto some = bb::load_chunk(tile, Mine::row(), chunk);
          for (float& each : some.at) each = -each;
          bb::store_chunk(tile, Mine::row(), chunk, some);
        });
        __syncthreads();
      }
      bb::map_tile<THREADS>(tile, [](float a, int row, int col) { return 2.0f * a + row - col; });
      __syncthreads();
      for (int at = threadIdx.x; at < ROWS * COLS; at += THREADS)
        O[static_cast<long long>(i * ROWS + at / COLS) * across * COLS + j * COLS + at % COLS] =
            tile(at / COLS, at % COLS);
      __syncthreads();
    }
    in.next_cols(-across * COLS);
    in.next_rows(ROWS);
  }
}

// A copy of X[rows, cols] by two warps, 32 x 64 each: read in pairs or one by one, stored through shared
// memory or straight.
template <class T, int PAIR, int VEC, bool STAGED>
__global__ void __launch_bounds__(64, 1) copies(const T* X, T* O, int rows, int cols) {
  const int row0 = 32 * bb::warp_id(), left = cols - 64 * blockIdx.x;
  const T* from = X + 64 * blockIdx.x;
  T* to = O + 64 * blockIdx.x;
  const bb::acc_tile<32, 64> x = bb::load_tile<32, 64, PAIR>(from, row0, 0, cols, rows, left, 0.0f);
  if constexpr (STAGED) bb::store<VEC>(x, bb::shared_tile<T, 64, 64>{smem}, row0, 0, to, cols, rows, left);
  else bb::store<VEC>(x, to, row0, 0, cols, rows, left);
}

// X[32, 32] into shared memory and out of it in another warp.
template <class T>
__global__ void __launch_bounds__(64, 1) crossing(const float* X, float* O) {
  const bb::shared_tile<T, 32, 32> tile{smem};
  const int row0 = 16 * bb::warp_id();
  bb::put(tile, row0, 0, bb::load_tile<16, 32>(X, row0, 0, 32, 32, 32, 0.0f));
  __syncthreads();
  bb::store(bb::take<16, 32>(tile, 16 - row0, 0), O, 16 - row0, 0, 32, 32, 32);
}

// Rows of X[rows, cols] plus the column, and sums of both.
template <class T, int GROUP, int VEC, int PIECES>
__global__ void __launch_bounds__(GROUP, 1) whole_rows(const T* X, T* O, float* sums, int cols) {
  float* scratch = reinterpret_cast<float*>(smem);
  const long long row = blockIdx.x;
  using Row = bb::row_piece<GROUP, VEC, PIECES>;
  Row x;
  x.load(X + row * cols, cols, 0.0f);
  float sum = bb::reduce_group<GROUP>(x.fold(0.0f, bb::plus()), scratch, bb::plus());
  if (threadIdx.x == 0) sums[2 * row] = sum;
  x.map([](float a, int col) { return a + col; });
  Row::sweep([&](bb::slot s) { x[s] = Row::col(s) < cols ? x[s] : 0.0f; });
  sum = bb::reduce_group<GROUP>(x.fold(0.0f, bb::plus()), scratch, bb::plus());
  if (threadIdx.x == 0) sums[2 * row + 1] = sum;
  x.store(O + row * cols, cols);
}
