// RUN: bb-opt %s -p array-to-block | filecheck %s

// Batch axes become maps around the product that cut off single slices.
// CHECK-LABEL: func.func @batched(
// CHECK-SAME: block.dims = {B = #block.dim<6, batch>, M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>}
func.func @batched(%a: tensor<6x200x64xf32>, %b: tensor<6x64x48xf32>) -> tensor<6x200x48xf32> {
  // CHECK-NEXT: %A = block.partition %a [B, M, K] : tensor<6x200x64xf32> -> !block.list<B, M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [B, K, N] : tensor<6x64x48xf32> -> !block.list<B, N, K, block<N x K x f32>>
  // CHECK-NEXT: %C = block.map @B (%A_b = %A, %B_b = %B) -> (stack)
  // CHECK-NEXT:   %C_b = block.map @M (%A_bm = %A_b) -> (stack)
  // CHECK-NEXT:     %C_bm = block.map @N (%B_bn = %B_b) -> (stack)
  // CHECK-NEXT:       %parts = block.map @K (%A_bmk = %A_bm, %B_bnk = %B_bn) -> (stack)
  // CHECK-NEXT:         %a_1 = block.load %A_bmk
  // CHECK-NEXT:         %b_1 = block.load %B_bnk
  // CHECK-NEXT:         %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK-NEXT:         %c_1 = block.store %c : !block.block<M x N x f32>
  // CHECK-NEXT:         block.yield %c_1
  // CHECK-NEXT:       }
  // CHECK-NEXT:       %c_2 = block.reduce sum %parts
  // CHECK-NEXT:       %c_3 = block.store %c_2 : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %c_3
  // CHECK-NEXT:     }
  // CHECK-NEXT:     block.yield %C_bm
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %C_b
  // CHECK-NEXT: }
  // CHECK-NEXT: %c_4 = block.assemble %C [B, M, N] : !block.list<B, M, N, block<M x N x f32>> -> tensor<6x200x48xf32>
  // CHECK-NEXT: func.return %c_4
  %c = array.matmul %a, %b : tensor<6x200x64xf32>, tensor<6x64x48xf32> -> tensor<6x200x48xf32>
  func.return %c : tensor<6x200x48xf32>
}

// An operand that is broadcast along a batch axis is captured by the map over it.
// CHECK-LABEL: func.func @broadcast(
// CHECK-SAME: block.dims = {B = #block.dim<2, batch>, H = #block.dim<3, batch>, M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>}
func.func @broadcast(%a: tensor<2x1x200x64xf32>, %b: tensor<3x64x48xf32>) -> tensor<2x3x200x48xf32> {
  // CHECK-NEXT: %A = block.partition %a [B, 1, M, K] : tensor<2x1x200x64xf32> -> !block.list<B, M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [H, K, N] : tensor<3x64x48xf32> -> !block.list<H, N, K, block<N x K x f32>>
  // CHECK-NEXT: %C = block.map @B (%A_b = %A) -> (stack)
  // CHECK-NEXT:   %C_b = block.map @H (%B_h = %B) -> (stack)
  // CHECK-NEXT:     %C_bh = block.map @M (%A_bm = %A_b) -> (stack)
  // CHECK-NEXT:       %C_bhm = block.map @N (%B_hn = %B_h) -> (stack)
  // CHECK-NEXT:         %parts = block.map @K (%A_bmk = %A_bm, %B_hnk = %B_hn) -> (stack)
  // CHECK-NEXT:           %a_1 = block.load %A_bmk
  // CHECK-NEXT:           %b_1 = block.load %B_hnk
  // CHECK-NEXT:           %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK-NEXT:           %c_1 = block.store %c : !block.block<M x N x f32>
  // CHECK-NEXT:           block.yield %c_1
  // CHECK-NEXT:         }
  // CHECK-NEXT:         %c_2 = block.reduce sum %parts
  // CHECK-NEXT:         %c_3 = block.store %c_2 : !block.block<M x N x f32>
  // CHECK-NEXT:         block.yield %c_3
  // CHECK-NEXT:       }
  // CHECK-NEXT:       block.yield %C_bhm
  // CHECK-NEXT:     }
  // CHECK-NEXT:     block.yield %C_bh
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %C_b
  // CHECK-NEXT: }
  // CHECK-NEXT: %c_4 = block.assemble %C [B, H, M, N] : !block.list<B, H, M, N, block<M x N x f32>> -> tensor<2x3x200x48xf32>
  // CHECK-NEXT: func.return %c_4
  %c = array.matmul %a, %b : tensor<2x1x200x64xf32>, tensor<3x64x48xf32> -> tensor<2x3x200x48xf32>
  func.return %c : tensor<2x3x200x48xf32>
}

// Weights that all batches share.
// CHECK-LABEL: func.func @shared(
// CHECK-SAME: block.dims = {B = #block.dim<?, batch>, M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>}
func.func @shared(%a: tensor<?x200x64xf32>, %w: tensor<64x48xf32>) -> tensor<?x200x48xf32> {
  // CHECK-NEXT: %A = block.partition %a [B, M, K] : tensor<?x200x64xf32> -> !block.list<B, M, K, block<M x K x f32>>
  // CHECK-NEXT: %W = block.partition %w [K, N] : tensor<64x48xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK: %C = block.map @B (%A_b = %A) -> (stack)
  // CHECK: %C_b = block.map @M (%A_bm = %A_b) -> (stack)
  // CHECK: %C_bm = block.map @N (%W_n = %W) -> (stack)
  // CHECK: %parts = block.map @K (%A_bmk = %A_bm, %W_nk = %W_n) -> (stack)
  // CHECK: %c = block.dot %a_1, %w_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK: %c_4 = block.assemble %C [B, M, N] : !block.list<B, M, N, block<M x N x f32>> -> tensor<?x200x48xf32>
  %c = array.matmul %a, %w : tensor<?x200x64xf32>, tensor<64x48xf32> -> tensor<?x200x48xf32>
  func.return %c : tensor<?x200x48xf32>
}
