// for M, L: { for N: s = dot(q, k); p = exp(s * scale - max); c += row_sum(p); o += dot(p, v) }; store
// row_scale(o, 1 / c)
//
// N keys a tile, STAGES of them present; WARPS share the M rows of Q. `group` heads of Q share a head of K
// and V.
#include <bb/cuda.cuh>

using T = SET_TYPE;
using S = bb::element<T>::stored;
constexpr int M = 128, N = SET_N, D = SET_D, STAGES = SET_STAGES, WARPS = SET_WARPS, THREADS = 32 * WARPS;
constexpr int ROWS = M / WARPS;           // of a warp
constexpr int WIDE = D <= 64 ? 64 : 128;  // columns of tiles
constexpr bool CAUSAL = SET_CAUSAL;
constexpr bool Q_STAYS = ROWS * D <= 16 * 128;  // in registers, where elements have 16 bits
constexpr int VEC = 16 / sizeof(S);
using QTile = bb::shared_tile<T, M, WIDE>;
using KTile = bb::shared_tile<T, N, WIDE>;

extern "C" __global__ void __launch_bounds__(THREADS, WARPS == 8 && D == 128 ? 1 : 2)
    attention(const S* __restrict__ Q, const S* __restrict__ K, const S* __restrict__ V, S* __restrict__ O,
              int queries, int keys, int group, float scale_log2, int offset) {
  extern __shared__ __align__(1024) unsigned char smem[];
  const QTile q{smem};
  const bb::ring<KTile, STAGES> k{smem + QTile::BYTES}, v{smem + QTile::BYTES + k.BYTES};
  // The rows with most keys first.
  const int head = blockIdx.y, m0 = (gridDim.x - 1 - blockIdx.x) * M, row0 = bb::warp_id() * ROWS;
  const long long first_q = static_cast<long long>(head) * queries * D;
  const long long first_k = static_cast<long long>(head / group) * keys * D;

  // Keys from last_key on are hidden from all rows of the tile; the first `full` tiles have no hidden key.
  const int last_key = CAUSAL ? min(keys, m0 + M + offset) : keys;
  const int tiles = last_key <= 0 ? 0 : (last_key + N - 1) / N;
  const int full = (CAUSAL ? min(keys, m0 + 1 + offset) : keys) / N;
  bb::reader<QTile, THREADS, VEC, D != WIDE ? bb::ends::both : bb::ends::rows> q_in(Q + first_q, D, m0, 0, queries, D);
  bb::reader<KTile, THREADS, VEC, D != WIDE ? bb::ends::both : bb::ends::rows> k_in(K + first_k, D, 0, 0, keys, D);
  auto fetch = [&](int stage) {  // V lies as K does
    k_in.load(k[stage]), k_in.load(v[stage], V - K);
    k_in.next_rows(N);
  };

  q_in.load(q);
  if (tiles > 0) STAGES > 1 ? fetch(0) : k_in.load(k[0]);
  bb::cp_async_commit();
  bb::acc_tile<ROWS, D> o;
  bb::row_vec<ROWS> top, sum;
  bb::fill(o, 0.0f), bb::fill(top, -BB_INF), bb::fill(sum, 0.0f);
  bb::cp_async_wait<0>();
  __syncthreads();
#if SET_BYTES == 2
  bb::a_frag<T, ROWS, D> q_held;
  if constexpr (Q_STAYS) q_held = bb::load_operand<ROWS, D>(q, row0);
#endif

  // N: tiles of keys
  for (int n = 0; n < tiles; ++n) {
    const int stage = n % STAGES;  // a power of two
    bb::cp_async_wait<0>();
    __syncthreads();  // tile n is there, tile n - 1 is done with
    if (STAGES == 1) k_in.load(v[0], V - K), k_in.next_rows(N);
    else if (n + 1 < tiles) fetch(bb::next_stage<STAGES>(stage));
    bb::cp_async_commit();
    bb::acc_tile<ROWS, N> s;
    bb::fill(s, 0.0f);
#if SET_BYTES == 2
    if constexpr (Q_STAYS) bb::contract(s, q_held, k[stage], 0);
    else
#endif
      bb::contract<D>(s, q, row0, k[stage], 0);
    if (STAGES == 1) {  // V is there and K is done with: the next K comes after the softmax
      bb::cp_async_wait<0>();
      __syncthreads();
      if (n + 1 < tiles) k_in.load(k[0]);
      bb::cp_async_commit();
    }
    if (n >= full)
      bb::keep_below(s, m0 + row0, n * N, -BB_INF,
                     [=](int row) { return CAUSAL ? min(keys, row + offset + 1) : keys; });

    const bb::row_vec<ROWS> here = bb::row_max(s);
    bb::row_vec<ROWS> pivot, decay;
    bb::sweep_rows<ROWS>([&](bb::cell c) {
      const float higher = bb::max(top[c], here[c]);
      pivot[c] = higher == -BB_INF ? 0.0f : higher * scale_log2;  // no key so far: exp2(-inf - 0) is 0
      decay[c] = bb::fast::exp2(bb::fma(top[c], scale_log2, -pivot[c]));
      top[c] = higher;
      sum[c] *= decay[c];
    });
    bb::row_scale(o, decay);
    bb::sweep<ROWS, N>([&](bb::cell c) {
      s[c] = bb::fast::exp2(bb::fma(s[c], scale_log2, -pivot[c]));
      sum[c] += s[c];
    });
    bb::contract_kn(o, bb::to_operand<T>(s), v[stage], 0);
  }

  sum = bb::sum_across_quad(sum);
  bb::map(sum, [](float c) { return c > 0.0f ? bb::fast::recip(c) : 0.0f; });  // 0 for a row without keys
  bb::row_scale(o, sum);
  S* const out = O + first_q + static_cast<long long>(m0) * D;
#if SET_BYTES == 2
  __syncwarp();  // a warp's rows of q are its own: the result goes through them
  bb::store(o, q, row0, 0, out, D, queries - m0, D);
#else
  bb::store(o, out, row0, 0, D, queries - m0, D);
#endif
}
