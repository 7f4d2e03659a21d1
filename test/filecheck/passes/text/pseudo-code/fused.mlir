// RUN: bb-opt %s --pseudo-code | filecheck %s --strict-whitespace --match-full-lines

// Fused programs: the end forms of attention and of a gated feed-forward layer.

//       CHECK:attention(q[M, K], k[N, K], v[N, L]) -> out[M, L]
//  CHECK-NEXT:    where M = 160, N = 192, K = 64, L = 96
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M, l in L:
//  CHECK-NEXT:    total = out = 0
//  CHECK-NEXT:    for n in N:
//  CHECK-NEXT:        scores = 0
//  CHECK-NEXT:        for kk in K:
//  CHECK-NEXT:            q       = load q[m, kk]
//  CHECK-NEXT:            k       = load k[n, kk]
//  CHECK-NEXT:            scores += dot(q, k)
//  CHECK-NEXT:        e      = exp(scores / 8)
//  CHECK-NEXT:        total += row_sum(e)
//  CHECK-NEXT:        v      = load v[n, l]ᵀ
//  CHECK-NEXT:        out   += dot(e, v)
//  CHECK-NEXT:    store out[m, l] = row_scale(out, 1 / total)
func.func @attention(%q: tensor<160x64xf32>, %k: tensor<192x64xf32>, %v: tensor<192x96xf32>) -> tensor<160x96xf32> attributes {block.dims = {M = #block.dim<160>, N = #block.dim<192>, K = #block.dim<64>, L = #block.dim<96>}} {
  %Q = block.partition %q [M, K] : tensor<160x64xf32> -> !block.list<M, K, block<M x K x f32>>
  %K = block.partition %k [N, K] : tensor<192x64xf32> -> !block.list<N, K, block<N x K x f32>>
  %V = block.partition %v [N, L] : tensor<192x96xf32> -> !block.list<L, N, block<L x N x f32>>
  %Out = block.map @M (%Q_m = %Q) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %Out_m = block.map @L (%V_l = %V) -> (stack) : !block.list<L, N, block<L x N x f32>> {
      %sum, %out = block.map @N (%K_n = %K, %V_ln = %V_l) -> (sum, sum) : !block.list<N, K, block<N x K x f32>>, !block.list<N, block<L x N x f32>> {
        %scores = block.map @K (%Q_mk = %Q_m, %K_nk = %K_n) -> (sum) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f32>> {
          %q_1 = block.load %Q_mk : !block.block<M x K x f32, global>
          %k_1 = block.load %K_nk : !block.block<N x K x f32, global>
          %scores_1 = block.dot %q_1, %k_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
          block.yield %scores_1 : !block.block<M x N x f32>
        }
        %scaled = block.linear 1/8 * %scores : !block.block<M x N x f32>
        %exp = block.elementwise (%shifted = %scaled) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
          %0 = math.exp %shifted : f32
          block.yield %0 : f32
        }
        %sum_1 = block.row_sum %exp acc f32 : !block.block<M x N x f32>
        %v_1 = block.load %V_ln : !block.block<L x N x f32, global>
        %out_1 = block.dot %exp, %v_1 acc f32 : !block.block<M x N x f32>, !block.block<L x N x f32>
        block.yield %sum_1, %out_1 : !block.vector<M x f32>, !block.block<M x L x f32>
      }
      %1 = block.monomial %sum ** -1 : !block.vector<M x f32>
      %out_2 = block.row_scale %out, %1 : !block.block<M x L x f32>, !block.vector<M x f32>
      %out_3 = block.store %out_2 : !block.block<M x L x f32>
      block.yield %out_3 : !block.block<M x L x f32, global>
    }
    block.yield %Out_m : !block.list<L, block<M x L x f32>>
  }
  %out_4 = block.assemble %Out [M, L] : !block.list<M, L, block<M x L x f32>> -> tensor<160x96xf32>
  func.return %out_4 : tensor<160x96xf32>
}

//       CHECK:rmsnorm_ffn_swiglu(x[M, N], gamma[N], w_gate[N, K], w_up[N, K], w_down[K, L]) -> out[M, L]
//  CHECK-NEXT:    where M = 130, N = L = 64, K = 96
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M, l in L:
//  CHECK-NEXT:    out = 0
//  CHECK-NEXT:    for k in K:
//  CHECK-NEXT:        total = up = gate = 0
//  CHECK-NEXT:        for n in N:
//  CHECK-NEXT:            x       = load x[m, n]
//  CHECK-NEXT:            total  += row_sum(x²)
//  CHECK-NEXT:            x_gamma = col_scale(x, load gamma[n])
//  CHECK-NEXT:            w_up    = load w_up[n, k]ᵀ
//  CHECK-NEXT:            up     += dot(x_gamma, w_up)
//  CHECK-NEXT:            w_gate  = load w_gate[n, k]ᵀ
//  CHECK-NEXT:            gate   += dot(x_gamma, w_gate)
//  CHECK-NEXT:        rstd   = rsqrt(total / 64 + 1e-6)
//  CHECK-NEXT:        hidden = silu(row_scale(gate, rstd)) * row_scale(up, rstd)
//  CHECK-NEXT:        w_down = load w_down[k, l]ᵀ
//  CHECK-NEXT:        out   += dot(hidden, w_down)
//  CHECK-NEXT:    store out[m, l] = out
func.func @rmsnorm_ffn_swiglu(%x: tensor<130x64xf32>, %gamma: tensor<64xf32>, %w_gate: tensor<64x96xf32>, %w_up: tensor<64x96xf32>, %w_down: tensor<96x64xf32>) -> tensor<130x64xf32> attributes {block.dims = {M = #block.dim<130>, N = #block.dim<64>, K = #block.dim<96>, L = #block.dim<64>}} {
  %X = block.partition %x [M, N] : tensor<130x64xf32> -> !block.list<M, N, block<M x N x f32>>
  %Gamma = block.partition %gamma [N] : tensor<64xf32> -> !block.list<N, vector<N x f32>>
  %W_gate = block.partition %w_gate [N, K] : tensor<64x96xf32> -> !block.list<K, N, block<K x N x f32>>
  %W_up = block.partition %w_up [N, K] : tensor<64x96xf32> -> !block.list<K, N, block<K x N x f32>>
  %W_down = block.partition %w_down [K, L] : tensor<96x64xf32> -> !block.list<L, K, block<L x K x f32>>
  %Out = block.map @M (%X_m = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    %Out_m = block.map @L (%W_down_l = %W_down) -> (stack) : !block.list<L, K, block<L x K x f32>> {
      %out = block.map @K (%W_up_k = %W_up, %W_gate_k = %W_gate, %W_down_lk = %W_down_l) -> (sum) : !block.list<K, N, block<K x N x f32>>, !block.list<K, N, block<K x N x f32>>, !block.list<K, block<L x K x f32>> {
        %sum, %up, %gate = block.map @N (%X_mn = %X_m, %Gamma_n = %Gamma, %W_up_kn = %W_up_k, %W_gate_kn = %W_gate_k) -> (sum, sum, sum) : !block.list<N, block<M x N x f32>>, !block.list<N, vector<N x f32>>, !block.list<N, block<K x N x f32>>, !block.list<N, block<K x N x f32>> {
          %x_1 = block.load %X_mn : !block.block<M x N x f32, global>
          %square = block.mul %x_1, %x_1 : !block.block<M x N x f32>
          %sum_1 = block.row_sum %square acc f32 : !block.block<M x N x f32>
          %gamma_1 = block.load %Gamma_n : !block.vector<N x f32, global>
          %0 = block.col_scale %x_1, %gamma_1 : !block.block<M x N x f32>, !block.vector<N x f32>
          %w_up_1 = block.load %W_up_kn : !block.block<K x N x f32, global>
          %up_1 = block.dot %0, %w_up_1 acc f32 : !block.block<M x N x f32>, !block.block<K x N x f32>
          %w_gate_1 = block.load %W_gate_kn : !block.block<K x N x f32, global>
          %gate_1 = block.dot %0, %w_gate_1 acc f32 : !block.block<M x N x f32>, !block.block<K x N x f32>
          block.yield %sum_1, %up_1, %gate_1 : !block.vector<M x f32>, !block.block<M x K x f32>, !block.block<M x K x f32>
        }
        %mean_square = block.linear 1/64 * %sum : !block.vector<M x f32>
        %add = block.elementwise (%mean_square_1 = %mean_square) : !block.vector<M x f32> -> !block.vector<M x f32> {
          %1 = arith.constant {bb.exact = 1.000000e-06 : f64} 1.000000e-06 : f32
          %2 = arith.addf %mean_square_1, %1 : f32
          block.yield %2 : f32
        }
        %rstd = block.elementwise (%add_1 = %add) : !block.vector<M x f32> -> !block.vector<M x f32> {
          %3 = math.rsqrt %add_1 : f32
          block.yield %3 : f32
        }
        %up_2 = block.row_scale %up, %rstd : !block.block<M x K x f32>, !block.vector<M x f32>
        %gate_2 = block.row_scale %gate, %rstd : !block.block<M x K x f32>, !block.vector<M x f32>
        %4 = block.linear -1 * %gate : !block.block<M x K x f32>
        %neg = block.row_scale %4, %rstd : !block.block<M x K x f32>, !block.vector<M x f32>
        %exp = block.elementwise (%neg_1 = %neg) : !block.block<M x K x f32> -> !block.block<M x K x f32> {
          %5 = math.exp %neg_1 : f32
          block.yield %5 : f32
        }
        %add_2 = block.elementwise (%exp_1 = %exp) : !block.block<M x K x f32> -> !block.block<M x K x f32> {
          %6 = arith.constant 1.000000e+00 : f32
          %7 = arith.addf %6, %exp_1 : f32
          block.yield %7 : f32
        }
        %div = block.monomial %add_2 ** -1 : !block.block<M x K x f32>
        %opened = block.mul %gate_2, %div : !block.block<M x K x f32>
        %hidden = block.mul %opened, %up_2 : !block.block<M x K x f32>
        %w_down_1 = block.load %W_down_lk : !block.block<L x K x f32, global>
        %out_1 = block.dot %hidden, %w_down_1 acc f32 : !block.block<M x K x f32>, !block.block<L x K x f32>
        block.yield %out_1 : !block.block<M x L x f32>
      }
      %out_2 = block.store %out : !block.block<M x L x f32>
      block.yield %out_2 : !block.block<M x L x f32, global>
    }
    block.yield %Out_m : !block.list<L, block<M x L x f32>>
  }
  %out_3 = block.assemble %Out [M, L] : !block.list<M, L, block<M x L x f32>> -> tensor<130x64xf32>
  func.return %out_3 : tensor<130x64xf32>
}
