// RUN: bb-opt %s -p "block-fuse{check=true}" --pseudo-code | filecheck %s

// Attention of several heads and its output projection. The attention runs over the heads outside and the rows
// inside, the projection reads its result with the rows outside: interchange-maps lets all loops fuse.

// CHECK:      attention_projection(q[B, M, K], k[B, N, K], v[B, N, L], w[B*L, D]) -> out[M, D]
// CHECK:      forall m in M, d in D:
// CHECK-NEXT:     out = 0
// CHECK-NEXT:     for b in B, l in L:
// CHECK-NEXT:         total = heads = 0
// CHECK-NEXT:         for n in N:
// CHECK-NEXT:             scores = 0
// CHECK-NEXT:             for kk in K:
// CHECK-NEXT:                 q       = load q[b, m, kk]
// CHECK-NEXT:                 k       = load k[b, n, kk]
// CHECK-NEXT:                 scores += dot(q, k)
// CHECK-NEXT:             e      = exp(scores / √6)
// CHECK-NEXT:             total += row_sum(e)
// CHECK-NEXT:             v      = load v[b, n, l]ᵀ
// CHECK-NEXT:             heads += dot(e, v)
// CHECK-NEXT:         w    = load w[b*l, d]ᵀ
// CHECK-NEXT:         out2 = dot(heads, w)
// CHECK-NEXT:         out += row_scale(out2, 1 / total)
// CHECK-NEXT:     store out[m, d] = out

func.func @attention_projection(%q: tensor<2x10x6xf32>, %k: tensor<2x9x6xf32>, %v: tensor<2x9x7xf32>, %w: tensor<14x11xf32>) -> tensor<10x11xf32> attributes {block.dims = {B = #block.dim<2, batch>, M = #block.dim<10>, N = #block.dim<9>, K = #block.dim<6>, L = #block.dim<7>, D = #block.dim<11>}} {
  %K = block.partition %k [B, N, K] : tensor<2x9x6xf32> -> !block.list<B, N, K, block<N x K x f32>>
  %Q = block.partition %q [B, M, K] : tensor<2x10x6xf32> -> !block.list<B, M, K, block<M x K x f32>>
  %Scores = block.map @B (%Q_b = %Q, %K_b = %K) -> (stack) : !block.list<B, M, K, block<M x K x f32>>, !block.list<B, N, K, block<N x K x f32>> {
    %Scores_m = block.map @M (%Q_bm = %Q_b) -> (stack) : !block.list<M, K, block<M x K x f32>> {
      %Scores_mb = block.map @N (%K_bn = %K_b) -> (stack) : !block.list<N, K, block<N x K x f32>> {
        %parts = block.map @K (%Q_mbk = %Q_bm, %K_bnk = %K_bn) -> (stack) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f32>> {
          %q_1 = block.load %Q_mbk : !block.block<M x K x f32, global>
          %k_1 = block.load %K_bnk : !block.block<N x K x f32, global>
          %scores = block.dot %q_1, %k_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
          %scores_1 = block.store %scores : !block.block<M x N x f32>
          block.yield %scores_1 : !block.block<M x N x f32, global>
        }
        %scores_2 = block.reduce sum %parts : !block.list<K, block<M x N x f32>>
        %scores_3 = block.store %scores_2 : !block.block<M x N x f32>
        block.yield %scores_3 : !block.block<M x N x f32, global>
      }
      block.yield %Scores_mb : !block.list<N, block<M x N x f32>>
    }
    block.yield %Scores_m : !block.list<M, N, block<M x N x f32>>
  }
  %Scaled = block.map @B (%Scores_b = %Scores) -> (stack) : !block.list<B, M, N, block<M x N x f32>> {
    %Scaled_m = block.map @M (%Scores_bm = %Scores_b) -> (stack) : !block.list<M, N, block<M x N x f32>> {
      %Scaled_mb = block.map @N (%Scores_mbn = %Scores_bm) -> (stack) : !block.list<N, block<M x N x f32>> {
        %scores_4 = block.load %Scores_mbn : !block.block<M x N x f32, global>
        %scaled = block.elementwise (%scores_5 = %scores_4) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
          %0 = arith.constant {bb.exact = 0.40824829046386302 : f64} 0.408248305 : f32
          %1 = arith.mulf %scores_5, %0 : f32
          block.yield %1 : f32
        }
        %scaled_1 = block.store %scaled : !block.block<M x N x f32>
        block.yield %scaled_1 : !block.block<M x N x f32, global>
      }
      block.yield %Scaled_mb : !block.list<N, block<M x N x f32>>
    }
    block.yield %Scaled_m : !block.list<M, N, block<M x N x f32>>
  }
  %Max = block.map @B (%Scaled_b = %Scaled) -> (stack) : !block.list<B, M, N, block<M x N x f32>> {
    %Max_m = block.map @M (%Scaled_bm = %Scaled_b) -> (stack) : !block.list<M, N, block<M x N x f32>> {
      %parts_1 = block.map @N (%Scaled_mbn = %Scaled_bm) -> (stack) : !block.list<N, block<M x N x f32>> {
        %scaled_2 = block.load %Scaled_mbn : !block.block<M x N x f32, global>
        %max = block.row_max %scaled_2 : !block.block<M x N x f32>
        %max_1 = block.store %max : !block.vector<M x f32>
        block.yield %max_1 : !block.vector<M x f32, global>
      }
      %max_2 = block.reduce max %parts_1 : !block.list<N, vector<M x f32>>
      %max_3 = block.store %max_2 : !block.vector<M x f32>
      block.yield %max_3 : !block.vector<M x f32, global>
    }
    block.yield %Max_m : !block.list<M, vector<M x f32>>
  }
  %Shifted = block.map @B (%Scaled_b_1 = %Scaled, %Max_b = %Max) -> (stack) : !block.list<B, M, N, block<M x N x f32>>, !block.list<B, M, vector<M x f32>> {
    %Shifted_m = block.map @M (%Scaled_bm_1 = %Scaled_b_1, %Max_bm = %Max_b) -> (stack) : !block.list<M, N, block<M x N x f32>>, !block.list<M, vector<M x f32>> {
      %Shifted_mb = block.map @N (%Scaled_mbn_1 = %Scaled_bm_1) -> (stack) : !block.list<N, block<M x N x f32>> {
        %scaled_3 = block.load %Scaled_mbn_1 : !block.block<M x N x f32, global>
        %max_4 = block.load %Max_bm : !block.vector<M x f32, global>
        %neg = block.elementwise (%max_5 = %max_4) : !block.vector<M x f32> -> !block.vector<M x f32> {
          %2 = arith.negf %max_5 : f32
          block.yield %2 : f32
        }
        %shifted = block.row_shift %scaled_3, %neg : !block.block<M x N x f32>, !block.vector<M x f32>
        %shifted_1 = block.store %shifted : !block.block<M x N x f32>
        block.yield %shifted_1 : !block.block<M x N x f32, global>
      }
      block.yield %Shifted_mb : !block.list<N, block<M x N x f32>>
    }
    block.yield %Shifted_m : !block.list<M, N, block<M x N x f32>>
  }
  %Exp = block.map @B (%Shifted_b = %Shifted) -> (stack) : !block.list<B, M, N, block<M x N x f32>> {
    %Exp_m = block.map @M (%Shifted_bm = %Shifted_b) -> (stack) : !block.list<M, N, block<M x N x f32>> {
      %Exp_mb = block.map @N (%Shifted_mbn = %Shifted_bm) -> (stack) : !block.list<N, block<M x N x f32>> {
        %shifted_2 = block.load %Shifted_mbn : !block.block<M x N x f32, global>
        %exp = block.elementwise (%shifted_3 = %shifted_2) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
          %3 = math.exp %shifted_3 : f32
          block.yield %3 : f32
        }
        %exp_1 = block.store %exp : !block.block<M x N x f32>
        block.yield %exp_1 : !block.block<M x N x f32, global>
      }
      block.yield %Exp_mb : !block.list<N, block<M x N x f32>>
    }
    block.yield %Exp_m : !block.list<M, N, block<M x N x f32>>
  }
  %Sum = block.map @B (%Exp_b = %Exp) -> (stack) : !block.list<B, M, N, block<M x N x f32>> {
    %Sum_m = block.map @M (%Exp_bm = %Exp_b) -> (stack) : !block.list<M, N, block<M x N x f32>> {
      %parts_2 = block.map @N (%Exp_mbn = %Exp_bm) -> (stack) : !block.list<N, block<M x N x f32>> {
        %exp_2 = block.load %Exp_mbn : !block.block<M x N x f32, global>
        %sum = block.row_sum %exp_2 acc f32 : !block.block<M x N x f32>
        %sum_1 = block.store %sum : !block.vector<M x f32>
        block.yield %sum_1 : !block.vector<M x f32, global>
      }
      %sum_2 = block.reduce sum %parts_2 : !block.list<N, vector<M x f32>>
      %sum_3 = block.store %sum_2 : !block.vector<M x f32>
      block.yield %sum_3 : !block.vector<M x f32, global>
    }
    block.yield %Sum_m : !block.list<M, vector<M x f32>>
  }
  %Probs = block.map @B (%Exp_b_1 = %Exp, %Sum_b = %Sum) -> (stack) : !block.list<B, M, N, block<M x N x f32>>, !block.list<B, M, vector<M x f32>> {
    %Probs_m = block.map @M (%Exp_bm_1 = %Exp_b_1, %Sum_bm = %Sum_b) -> (stack) : !block.list<M, N, block<M x N x f32>>, !block.list<M, vector<M x f32>> {
      %Probs_mb = block.map @N (%Exp_mbn_1 = %Exp_bm_1) -> (stack) : !block.list<N, block<M x N x f32>> {
        %exp_3 = block.load %Exp_mbn_1 : !block.block<M x N x f32, global>
        %sum_4 = block.load %Sum_bm : !block.vector<M x f32, global>
        %inv = block.elementwise (%sum_5 = %sum_4) : !block.vector<M x f32> -> !block.vector<M x f32> {
          %4 = arith.constant 1.000000e+00 : f32
          %5 = arith.divf %4, %sum_5 : f32
          block.yield %5 : f32
        }
        %probs = block.row_scale %exp_3, %inv : !block.block<M x N x f32>, !block.vector<M x f32>
        %probs_1 = block.store %probs : !block.block<M x N x f32>
        block.yield %probs_1 : !block.block<M x N x f32, global>
      }
      block.yield %Probs_mb : !block.list<N, block<M x N x f32>>
    }
    block.yield %Probs_m : !block.list<M, N, block<M x N x f32>>
  }
  %V = block.partition %v [B, N, L] : tensor<2x9x7xf32> -> !block.list<B, L, N, block<L x N x f32>>
  %Heads = block.map @B (%Probs_b = %Probs, %V_b = %V) -> (stack) : !block.list<B, M, N, block<M x N x f32>>, !block.list<B, L, N, block<L x N x f32>> {
    %Heads_m = block.map @M (%Probs_bm = %Probs_b) -> (stack) : !block.list<M, N, block<M x N x f32>> {
      %Heads_mb = block.map @L (%V_bl = %V_b) -> (stack) : !block.list<L, N, block<L x N x f32>> {
        %parts_3 = block.map @N (%Probs_mbn = %Probs_bm, %V_bln = %V_bl) -> (stack) : !block.list<N, block<M x N x f32>>, !block.list<N, block<L x N x f32>> {
          %probs_2 = block.load %Probs_mbn : !block.block<M x N x f32, global>
          %v_1 = block.load %V_bln : !block.block<L x N x f32, global>
          %heads = block.dot %probs_2, %v_1 acc f32 : !block.block<M x N x f32>, !block.block<L x N x f32>
          %heads_1 = block.store %heads : !block.block<M x L x f32>
          block.yield %heads_1 : !block.block<M x L x f32, global>
        }
        %heads_2 = block.reduce sum %parts_3 : !block.list<N, block<M x L x f32>>
        %heads_3 = block.store %heads_2 : !block.block<M x L x f32>
        block.yield %heads_3 : !block.block<M x L x f32, global>
      }
      block.yield %Heads_mb : !block.list<L, block<M x L x f32>>
    }
    block.yield %Heads_m : !block.list<M, L, block<M x L x f32>>
  }
  %heads_t = block.assemble %Heads [B, M, L] : !block.list<B, M, L, block<M x L x f32>> -> tensor<2x10x7xf32>
  %HeadsT = block.partition %heads_t [B, M, L] : tensor<2x10x7xf32> -> !block.list<M, B, L, block<M x L x f32>>
  %W = block.partition %w [(B, L), D] : tensor<14x11xf32> -> !block.list<D, B, L, block<D x L x f32>>
  %Out = block.map @M (%Heads_m_1 = %HeadsT) -> (stack) : !block.list<M, B, L, block<M x L x f32>> {
    %Out_m = block.map @D (%W_d = %W) -> (stack) : !block.list<D, B, L, block<D x L x f32>> {
      %parts_4 = block.map @B (%Heads_mb_1 = %Heads_m_1, %W_db = %W_d) -> (stack) : !block.list<B, L, block<M x L x f32>>, !block.list<B, L, block<D x L x f32>> {
        %parts_5 = block.map @L (%Heads_mbl = %Heads_mb_1, %W_dbl = %W_db) -> (stack) : !block.list<L, block<M x L x f32>>, !block.list<L, block<D x L x f32>> {
          %heads_4 = block.load %Heads_mbl : !block.block<M x L x f32, global>
          %w_1 = block.load %W_dbl : !block.block<D x L x f32, global>
          %out = block.dot %heads_4, %w_1 acc f32 : !block.block<M x L x f32>, !block.block<D x L x f32>
          %out_1 = block.store %out : !block.block<M x D x f32>
          block.yield %out_1 : !block.block<M x D x f32, global>
        }
        %out_2 = block.reduce sum %parts_5 : !block.list<L, block<M x D x f32>>
        %out_3 = block.store %out_2 : !block.block<M x D x f32>
        block.yield %out_3 : !block.block<M x D x f32, global>
      }
      %out_4 = block.reduce sum %parts_4 : !block.list<B, block<M x D x f32>>
      %out_5 = block.store %out_4 : !block.block<M x D x f32>
      block.yield %out_5 : !block.block<M x D x f32, global>
    }
    block.yield %Out_m : !block.list<D, block<M x D x f32>>
  }
  %out_6 = block.assemble %Out [M, D] : !block.list<M, D, block<M x D x f32>> -> tensor<10x11xf32>
  func.return %out_6 : tensor<10x11xf32>
}
