// RUN: bb-opt %s -p array-to-block | filecheck %s

// The rows of one array are two dims, one for the queries and one for the keys.
// CHECK-LABEL: func.func @scores(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<200>, K = #block.dim<64>}
func.func @scores(%x: tensor<200x64xf32>) -> tensor<200x200xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, K] : tensor<200x64xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %X_1 = block.partition %x [N, K] : tensor<200x64xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK-NEXT: %S = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %S_m = block.map @N (%X_n = %X_1) -> (stack)
  // CHECK-NEXT:     %parts = block.map @K (%X_mk = %X_m, %X_nk = %X_n) -> (stack)
  // CHECK-NEXT:       %x_1 = block.load %X_mk
  // CHECK-NEXT:       %x_2 = block.load %X_nk
  // CHECK-NEXT:       %s = block.dot %x_1, %x_2 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK-NEXT:       %s_1 = block.store %s : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %s_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %s_2 = block.reduce sum %parts
  // CHECK-NEXT:     %s_3 = block.store %s_2 : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %s_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %S_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_4 = block.assemble %S [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x200xf32>
  // CHECK-NEXT: func.return %s_4
  %s = array.matmul %x, %x transpose_b : tensor<200x64xf32>, tensor<200x64xf32> -> tensor<200x200xf32>
  func.return %s : tensor<200x200xf32>
}

// What is cheap to compute from one array is computed along both dims.
// CHECK-LABEL: func.func @normalised(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>, K = #block.dim<200>}
func.func @normalised(%x: tensor<200x64xf32>) -> tensor<200x200xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %Sum = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %sum = block.row_sum %x_1 acc f32
  // CHECK-NEXT:     %sum_1 = block.store %sum : !block.vector<M x f32>
  // CHECK-NEXT:     block.yield %sum_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %sum_2 = block.reduce sum %parts
  // CHECK-NEXT:   %sum_3 = block.store %sum_2 : !block.vector<M x f32>
  // CHECK-NEXT:   block.yield %sum_3
  // CHECK-NEXT: }
  // CHECK-NEXT: %X_1 = block.partition %x [K, N] : tensor<200x64xf32> -> !block.list<K, N, block<K x N x f32>>
  // CHECK-NEXT: %Sum_1 = block.map @K (%X_k = %X_1) -> (stack)
  // CHECK-NEXT:   %parts_1 = block.map @N (%X_kn = %X_k) -> (stack)
  // CHECK-NEXT:     %x_2 = block.load %X_kn
  // CHECK-NEXT:     %sum_4 = block.row_sum %x_2 acc f32
  // CHECK-NEXT:     %sum_5 = block.store %sum_4 : !block.vector<K x f32>
  // CHECK-NEXT:     block.yield %sum_5
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %sum_6 = block.reduce sum %parts_1
  // CHECK-NEXT:   %sum_7 = block.store %sum_6 : !block.vector<K x f32>
  // CHECK-NEXT:   block.yield %sum_7
  // CHECK-NEXT: }
  // CHECK-NEXT: %N = block.map @M (%X_m_1 = %X, %Sum_m = %Sum) -> (stack)
  // CHECK-NEXT:   %N_m = block.map @N (%X_mn_1 = %X_m_1) -> (stack)
  // CHECK-NEXT:     %x_3 = block.load %X_mn_1
  // CHECK-NEXT:     %sum_8 = block.load %Sum_m
  // CHECK-NEXT:     %inv = block.elementwise (%sum_9 = %sum_8) : !block.vector<M x f32> -> !block.vector<M x f32> {
  // CHECK-NEXT:       %0 = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT:       %1 = arith.divf %0, %sum_9 : f32
  // CHECK-NEXT:       block.yield %1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %n = block.row_scale %x_3, %inv
  // CHECK-NEXT:     %n_1 = block.store %n : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %n_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %N_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %N_1 = block.map @K (%X_k_1 = %X_1, %Sum_k = %Sum_1) -> (stack)
  // CHECK-NEXT:   %N_k = block.map @N (%X_kn_1 = %X_k_1) -> (stack)
  // CHECK-NEXT:     %x_4 = block.load %X_kn_1
  // CHECK-NEXT:     %sum_10 = block.load %Sum_k
  // CHECK-NEXT:     %inv_1 = block.elementwise (%sum_11 = %sum_10) : !block.vector<K x f32> -> !block.vector<K x f32> {
  // CHECK-NEXT:       %2 = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT:       %3 = arith.divf %2, %sum_11 : f32
  // CHECK-NEXT:       block.yield %3
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %n_2 = block.row_scale %x_4, %inv_1
  // CHECK-NEXT:     %n_3 = block.store %n_2 : !block.block<K x N x f32>
  // CHECK-NEXT:     block.yield %n_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %N_k
  // CHECK-NEXT: }
  // CHECK-NEXT: %S = block.map @M (%N_m_1 = %N) -> (stack)
  // CHECK-NEXT:   %S_m = block.map @K (%N_k_1 = %N_1) -> (stack)
  // CHECK-NEXT:     %parts_2 = block.map @N (%N_mn = %N_m_1, %N_kn = %N_k_1) -> (stack)
  // CHECK-NEXT:       %n_4 = block.load %N_mn
  // CHECK-NEXT:       %n_5 = block.load %N_kn
  // CHECK-NEXT:       %s = block.dot %n_4, %n_5 acc f32 : !block.block<M x N x f32>, !block.block<K x N x f32>
  // CHECK-NEXT:       %s_1 = block.store %s : !block.block<M x K x f32>
  // CHECK-NEXT:       block.yield %s_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %s_2 = block.reduce sum %parts_2
  // CHECK-NEXT:     %s_3 = block.store %s_2 : !block.block<M x K x f32>
  // CHECK-NEXT:     block.yield %s_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %S_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_4 = block.assemble %S [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<200x200xf32>
  // CHECK-NEXT: func.return %s_4
  %sum = array.reduce sum %x axes [1] keepdims : tensor<200x64xf32> -> tensor<200x1xf32>
  %n = array.elementwise (%p = %x, %q = %sum) : tensor<200x64xf32>, tensor<200x1xf32> -> tensor<200x64xf32> {
    %z = arith.divf %p, %q : f32
    array.yield %z : f32
  }
  %s = array.matmul %n, %n transpose_b : tensor<200x64xf32>, tensor<200x64xf32> -> tensor<200x200xf32>
  func.return %s : tensor<200x200xf32>
}

// A product is not: its result is viewed along the other dim.
// CHECK-LABEL: func.func @projected(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>, L = #block.dim<200>}
func.func @projected(%x: tensor<200x64xf32>, %w: tensor<64x48xf32>) -> tensor<200x200xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, K] : tensor<200x64xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %W = block.partition %w [K, N] : tensor<64x48xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK-NEXT: %P = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %P_m = block.map @N (%W_n = %W) -> (stack)
  // CHECK-NEXT:     %parts = block.map @K (%X_mk = %X_m, %W_nk = %W_n) -> (stack)
  // CHECK-NEXT:       %x_1 = block.load %X_mk
  // CHECK-NEXT:       %w_1 = block.load %W_nk
  // CHECK-NEXT:       %p = block.dot %x_1, %w_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK-NEXT:       %p_1 = block.store %p : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %p_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %p_2 = block.reduce sum %parts
  // CHECK-NEXT:     %p_3 = block.store %p_2 : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %p_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %P_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %p_4 = block.assemble %P [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x48xf32>
  // CHECK-NEXT: %P_1 = block.partition %p_4 [L, N] : tensor<200x48xf32> -> !block.list<L, N, block<L x N x f32>>
  // CHECK-NEXT: %S = block.map @M (%P_m_1 = %P) -> (stack)
  // CHECK-NEXT:   %S_m = block.map @L (%P_l = %P_1) -> (stack)
  // CHECK-NEXT:     %parts_1 = block.map @N (%P_mn = %P_m_1, %P_ln = %P_l) -> (stack)
  // CHECK-NEXT:       %p_5 = block.load %P_mn
  // CHECK-NEXT:       %p_6 = block.load %P_ln
  // CHECK-NEXT:       %s = block.dot %p_5, %p_6 acc f32 : !block.block<M x N x f32>, !block.block<L x N x f32>
  // CHECK-NEXT:       %s_1 = block.store %s : !block.block<M x L x f32>
  // CHECK-NEXT:       block.yield %s_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %s_2 = block.reduce sum %parts_1
  // CHECK-NEXT:     %s_3 = block.store %s_2 : !block.block<M x L x f32>
  // CHECK-NEXT:     block.yield %s_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %S_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_4 = block.assemble %S [M, L] : !block.list<M, L, block<M x L x f32>> -> tensor<200x200xf32>
  // CHECK-NEXT: func.return %s_4
  %p = array.matmul %x, %w : tensor<200x64xf32>, tensor<64x48xf32> -> tensor<200x48xf32>
  %s = array.matmul %p, %p transpose_b : tensor<200x48xf32>, tensor<200x48xf32> -> tensor<200x200xf32>
  func.return %s : tensor<200x200xf32>
}
