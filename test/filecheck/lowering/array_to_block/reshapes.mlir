// RUN: bb-opt %s -p array-to-block | filecheck %s

// Heads: an axis of the array is the product of two dims, of which one is iterated over.
// CHECK-LABEL: func.func @split_heads(
// CHECK-SAME: block.dims = {B = #block.dim<4, batch>, M = #block.dim<200>, N = #block.dim<200>, K = #block.dim<32>}
func.func @split_heads(%x: tensor<200x128xf32>, %y: tensor<200x128xf32>) -> tensor<4x200x200xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, (B, K)] : tensor<200x128xf32> -> !block.list<B, M, K, block<M x K x f32>>
  // CHECK-NEXT: %Y = block.partition %y [N, (B, K)] : tensor<200x128xf32> -> !block.list<B, N, K, block<N x K x f32>>
  // CHECK-NEXT: %S = block.map @B (%X_b = %X, %Y_b = %Y) -> (stack)
  // CHECK-NEXT:   %S_b = block.map @M (%X_bm = %X_b) -> (stack)
  // CHECK-NEXT:     %S_bm = block.map @N (%Y_bn = %Y_b) -> (stack)
  // CHECK-NEXT:       %parts = block.map @K (%X_bmk = %X_bm, %Y_bnk = %Y_bn) -> (stack)
  // CHECK-NEXT:         %x_1 = block.load %X_bmk
  // CHECK-NEXT:         %y_1 = block.load %Y_bnk
  // CHECK-NEXT:         %s = block.dot %x_1, %y_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK-NEXT:         %s_1 = block.store %s : !block.block<M x N x f32>
  // CHECK-NEXT:         block.yield %s_1
  // CHECK-NEXT:       }
  // CHECK-NEXT:       %s_2 = block.reduce sum %parts
  // CHECK-NEXT:       %s_3 = block.store %s_2 : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %s_3
  // CHECK-NEXT:     }
  // CHECK-NEXT:     block.yield %S_bm
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %S_b
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_4 = block.assemble %S [B, M, N] : !block.list<B, M, N, block<M x N x f32>> -> tensor<4x200x200xf32>
  // CHECK-NEXT: func.return %s_4
  %a = array.reshape %x : tensor<200x128xf32> -> tensor<200x4x32xf32>
  %q = array.transpose %a perm [1, 0, 2] : tensor<200x4x32xf32> -> tensor<4x200x32xf32>
  %b = array.reshape %y : tensor<200x128xf32> -> tensor<200x4x32xf32>
  %k = array.transpose %b perm [1, 0, 2] : tensor<200x4x32xf32> -> tensor<4x200x32xf32>
  %s = array.matmul %q, %k transpose_b : tensor<4x200x32xf32>, tensor<4x200x32xf32> -> tensor<4x200x200xf32>
  func.return %s : tensor<4x200x200xf32>
}

// And together again: the product with the weights sums over heads and over each head's columns.
// CHECK-LABEL: func.func @merge_heads(
// CHECK-SAME: block.dims = {B = #block.dim<4, batch>, M = #block.dim<200>, N = #block.dim<32>, K = #block.dim<64>}
func.func @merge_heads(%x: tensor<4x200x32xf32>, %w: tensor<128x64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [B, M, N] : tensor<4x200x32xf32> -> !block.list<M, B, N, block<M x N x f32>>
  // CHECK-NEXT: %E = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %E_m = block.map @B (%X_mb = %X_m) -> (stack)
  // CHECK-NEXT:     %E_mb = block.map @N (%X_mbn = %X_mb) -> (stack)
  // CHECK-NEXT:       %x_1 = block.load %X_mbn
  // CHECK-NEXT:       %e = block.elementwise (%x_2 = %x_1) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:         %0 = math.exp %x_2 : f32
  // CHECK-NEXT:         block.yield %0
  // CHECK-NEXT:       }
  // CHECK-NEXT:       %e_1 = block.store %e : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %e_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     block.yield %E_mb
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %E_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %W = block.partition %w [(B, N), K] : tensor<128x64xf32> -> !block.list<K, B, N, block<K x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%E_m_1 = %E) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @K (%W_k = %W) -> (stack)
  // CHECK-NEXT:     %parts = block.map @B (%E_mb_1 = %E_m_1, %W_kb = %W_k) -> (stack)
  // CHECK-NEXT:       %parts_1 = block.map @N (%E_mbn = %E_mb_1, %W_kbn = %W_kb) -> (stack)
  // CHECK-NEXT:         %e_2 = block.load %E_mbn
  // CHECK-NEXT:         %w_1 = block.load %W_kbn
  // CHECK-NEXT:         %r = block.dot %e_2, %w_1 acc f32 : !block.block<M x N x f32>, !block.block<K x N x f32>
  // CHECK-NEXT:         %r_1 = block.store %r : !block.block<M x K x f32>
  // CHECK-NEXT:         block.yield %r_1
  // CHECK-NEXT:       }
  // CHECK-NEXT:       %r_2 = block.reduce sum %parts_1
  // CHECK-NEXT:       %r_3 = block.store %r_2 : !block.block<M x K x f32>
  // CHECK-NEXT:       block.yield %r_3
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_4 = block.reduce sum %parts
  // CHECK-NEXT:     %r_5 = block.store %r_4 : !block.block<M x K x f32>
  // CHECK-NEXT:     block.yield %r_5
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_6 = block.assemble %R [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_6
  %e = array.elementwise (%p = %x) : tensor<4x200x32xf32> -> tensor<4x200x32xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %t = array.transpose %e perm [1, 0, 2] : tensor<4x200x32xf32> -> tensor<200x4x32xf32>
  %m = array.reshape %t : tensor<200x4x32xf32> -> tensor<200x128xf32>
  %r = array.matmul %m, %w : tensor<200x128xf32>, tensor<128x64xf32> -> tensor<200x64xf32>
  func.return %r : tensor<200x64xf32>
}

// Axes of extent 1 come and go without dims.
// CHECK-LABEL: func.func @ones(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @ones(%x: tensor<200x64xf32>) -> tensor<200x1x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %E = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %E_m = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %e = block.elementwise (%x_2 = %x_1) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = math.exp %x_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %e_1 = block.store %e : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %e_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %E_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %e_2 = block.assemble %E [M, 1, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x1x64xf32>
  // CHECK-NEXT: func.return %e_2
  %a = array.reshape %x : tensor<200x64xf32> -> tensor<200x1x64xf32>
  %e = array.elementwise (%p = %a) : tensor<200x1x64xf32> -> tensor<200x1x64xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  func.return %e : tensor<200x1x64xf32>
}

// Cuts that do not fit each other need the array in between.
// CHECK-LABEL: func.func @misfit(
// CHECK-SAME: block.dims = {N = #block.dim<6>, K = #block.dim<4>, M = #block.dim<4>, L = #block.dim<6>}
func.func @misfit(%x: tensor<6x4xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %X = block.partition %x [N, K] : tensor<6x4xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK-NEXT: %E = block.map @N (%X_n = %X) -> (stack)
  // CHECK-NEXT:   %E_n = block.map @K (%X_nk = %X_n) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_nk
  // CHECK-NEXT:     %e = block.elementwise (%x_2 = %x_1) : !block.block<N x K x f32> -> !block.block<N x K x f32> {
  // CHECK-NEXT:       %0 = math.exp %x_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %e_1 = block.store %e : !block.block<N x K x f32>
  // CHECK-NEXT:     block.yield %e_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %E_n
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %E [(N, K)] : !block.list<N, K, block<N x K x f32>> -> tensor<24xf32>
  // CHECK-NEXT: %b = array.reshape %a : tensor<24xf32> -> tensor<4x6xf32>
  // CHECK-NEXT: %B = block.partition %b [M, L] : tensor<4x6xf32> -> !block.list<M, L, block<M x L x f32>>
  // CHECK-NEXT: %L = block.map @M (%B_m = %B) -> (stack)
  // CHECK-NEXT:   %L_m = block.map @L (%B_ml = %B_m) -> (stack)
  // CHECK-NEXT:     %b_1 = block.load %B_ml
  // CHECK-NEXT:     %l = block.elementwise (%b_2 = %b_1) : !block.block<M x L x f32> -> !block.block<M x L x f32> {
  // CHECK-NEXT:       %1 = math.log %b_2 : f32
  // CHECK-NEXT:       block.yield %1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %l_1 = block.store %l : !block.block<M x L x f32>
  // CHECK-NEXT:     block.yield %l_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %L_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %l_2 = block.assemble %L [M, L] : !block.list<M, L, block<M x L x f32>> -> tensor<4x6xf32>
  // CHECK-NEXT: func.return %l_2
  %e = array.elementwise (%p = %x) : tensor<6x4xf32> -> tensor<6x4xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %a = array.reshape %e : tensor<6x4xf32> -> tensor<24xf32>
  %b = array.reshape %a : tensor<24xf32> -> tensor<4x6xf32>
  %l = array.elementwise (%p = %b) : tensor<4x6xf32> -> tensor<4x6xf32> {
    %z = math.log %p : f32
    array.yield %z : f32
  }
  func.return %l : tensor<4x6xf32>
}
