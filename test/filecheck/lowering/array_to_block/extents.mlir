// RUN: bb-opt %s -p array-to-block | filecheck %s

// Extents may be unknown; a known one tells more about a dim than an unknown one.
// CHECK-LABEL: func.func @unknown(
// CHECK-SAME: block.dims = {M = #block.dim<?>, N = #block.dim<?>, K = #block.dim<64>}
func.func @unknown(%a: tensor<?x?xf32>, %b: tensor<64x?xf32>) -> tensor<?x?xf32> {
  // CHECK-NEXT: %A = block.partition %a [M, K] : tensor<?x?xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [K, N] : tensor<64x?xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK: %C = block.map @M (%A_m = %A) -> (stack)
  // CHECK: %C_m = block.map @N (%B_n = %B) -> (stack)
  // CHECK: %parts = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (stack)
  // CHECK: %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK: %c_4 = block.assemble %C [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<?x?xf32>
  %c = array.matmul %a, %b : tensor<?x?xf32>, tensor<64x?xf32> -> tensor<?x?xf32>
  func.return %c : tensor<?x?xf32>
}

// An axis of extent 1 that every operand has is a dim like others.
// CHECK-LABEL: func.func @one(
// CHECK-SAME: block.dims = {M = #block.dim<1>, N = #block.dim<1>, K = #block.dim<64>}
func.func @one(%a: tensor<1x64xf32>, %b: tensor<64x1xf32>) -> tensor<1x1xf32> {
  // CHECK-NEXT: %A = block.partition %a [M, K] : tensor<1x64xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [K, N] : tensor<64x1xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK: %C = block.map @M (%A_m = %A) -> (stack)
  // CHECK: %C_m = block.map @N (%B_n = %B) -> (stack)
  // CHECK: %parts = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (stack)
  // CHECK: %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK: %c_4 = block.assemble %C [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<1x1xf32>
  %c = array.matmul %a, %b : tensor<1x64xf32>, tensor<64x1xf32> -> tensor<1x1xf32>
  func.return %c : tensor<1x1xf32>
}

// The user names dims, and products of dims.
// CHECK-LABEL: func.func @named(
// CHECK-SAME: block.dims = {H = #block.dim<4, batch>, S = #block.dim<200>, L = #block.dim<16>, E = #block.dim<32>}
func.func @named(%x: tensor<200x128xf32> {bb.dims = ["S", "H*E"]}, %w: tensor<4x32x16xf32> {bb.dims = ["H", "E", "L"]}) -> tensor<4x200x16xf32> {
  // CHECK-NEXT: %X = block.partition %x [S, (H, E)] : tensor<200x128xf32> -> !block.list<H, S, E, block<S x E x f32>>
  // CHECK-NEXT: %W = block.partition %w [H, E, L] : tensor<4x32x16xf32> -> !block.list<H, L, E, block<L x E x f32>>
  // CHECK-NEXT: %R = block.map @H (%X_h = %X, %W_h = %W) -> (stack)
  // CHECK-NEXT:   %R_h = block.map @S (%X_hs = %X_h) -> (stack)
  // CHECK-NEXT:     %R_hs = block.map @L (%W_hl = %W_h) -> (stack)
  // CHECK-NEXT:       %parts = block.map @E (%X_hse = %X_hs, %W_hle = %W_hl) -> (stack)
  // CHECK-NEXT:         %x_1 = block.load %X_hse
  // CHECK-NEXT:         %w_1 = block.load %W_hle
  // CHECK-NEXT:         %r = block.dot %x_1, %w_1 acc f32 : !block.block<S x E x f32>, !block.block<L x E x f32>
  // CHECK-NEXT:         %r_1 = block.store %r : !block.block<S x L x f32>
  // CHECK-NEXT:         block.yield %r_1
  // CHECK-NEXT:       }
  // CHECK-NEXT:       %r_2 = block.reduce sum %parts
  // CHECK-NEXT:       %r_3 = block.store %r_2 : !block.block<S x L x f32>
  // CHECK-NEXT:       block.yield %r_3
  // CHECK-NEXT:     }
  // CHECK-NEXT:     block.yield %R_hs
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_h
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_4 = block.assemble %R [H, S, L] : !block.list<H, S, L, block<S x L x f32>> -> tensor<4x200x16xf32>
  // CHECK-NEXT: func.return %r_4
  %h = array.reshape %x : tensor<200x128xf32> -> tensor<200x4x32xf32>
  %t = array.transpose %h perm [1, 0, 2] : tensor<200x4x32xf32> -> tensor<4x200x32xf32>
  %r = array.matmul %t, %w : tensor<4x200x32xf32>, tensor<4x32x16xf32> -> tensor<4x200x16xf32>
  func.return %r : tensor<4x200x16xf32>
}

// A name that is taken gets a number, one that cannot name a dim is passed over.
// CHECK-LABEL: func.func @names(
// CHECK-SAME: block.dims = {M = #block.dim<200>, M2 = #block.dim<300>, N = #block.dim<64>}
func.func @names(%x: tensor<200x64xf32> {bb.dims = ["M", "x"]}, %y: tensor<300x64xf32> {bb.dims = ["M", "two words"]}) -> tensor<200x300xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %Y = block.partition %y [M2, N] : tensor<300x64xf32> -> !block.list<M2, N, block<M2 x N x f32>>
  // CHECK: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK: %R_m = block.map @M2 (%Y_m2 = %Y) -> (stack)
  // CHECK: %parts = block.map @N (%X_mn = %X_m, %Y_m2n = %Y_m2) -> (stack)
  // CHECK: %r = block.dot %x_1, %y_1 acc f32 : !block.block<M x N x f32>, !block.block<M2 x N x f32>
  // CHECK: %r_4 = block.assemble %R [M, M2] : !block.list<M, M2, block<M x M2 x f32>> -> tensor<200x300xf32>
  %r = array.matmul %x, %y transpose_b : tensor<200x64xf32>, tensor<300x64xf32> -> tensor<200x300xf32>
  func.return %r : tensor<200x300xf32>
}

// Nothing to do.
// CHECK-LABEL: func.func @views_only(
func.func @views_only(%x: tensor<200x64xf32>) -> tensor<64x200xf32> {
  // CHECK-NEXT: %t = array.transpose %x perm [1, 0] : tensor<200x64xf32> -> tensor<64x200xf32>
  // CHECK-NEXT: func.return %t
  %t = array.transpose %x perm [1, 0] : tensor<200x64xf32> -> tensor<64x200xf32>
  func.return %t : tensor<64x200xf32>
}
