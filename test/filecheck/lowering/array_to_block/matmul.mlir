// RUN: bb-opt %s -p array-to-block | filecheck %s

// A product of matrices: blocks of rows, blocks of columns, and a sum over the products of blocks.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>}
func.func @matmul(%a: tensor<200x64xf32>, %b: tensor<64x48xf32>) -> tensor<200x48xf32> {
  // CHECK-NEXT: %A = block.partition %a [M, K] : tensor<200x64xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [K, N] : tensor<64x48xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK-NEXT: %C = block.map @M (%A_m = %A) -> (stack)
  // CHECK-NEXT:   %C_m = block.map @N (%B_n = %B) -> (stack)
  // CHECK-NEXT:     %parts = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (stack)
  // CHECK-NEXT:       %a_1 = block.load %A_mk
  // CHECK-NEXT:       %b_1 = block.load %B_nk
  // CHECK-NEXT:       %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK-NEXT:       %c_1 = block.store %c : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %c_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %c_2 = block.reduce sum %parts
  // CHECK-NEXT:     %c_3 = block.store %c_2 : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %c_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %C_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %c_4 = block.assemble %C [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x48xf32>
  // CHECK-NEXT: func.return %c_4
  %c = array.matmul %a, %b : tensor<200x64xf32>, tensor<64x48xf32> -> tensor<200x48xf32>
  func.return %c : tensor<200x48xf32>
}

// The right operand is wanted as rows of K, which it is already.
// CHECK-LABEL: func.func @transposed_b(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>}
func.func @transposed_b(%a: tensor<200x64xf32>, %b: tensor<48x64xf32>) -> tensor<200x48xf32> {
  // CHECK-NEXT: %A = block.partition %a [M, K] : tensor<200x64xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [N, K] : tensor<48x64xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK: %C = block.map @M (%A_m = %A) -> (stack)
  // CHECK: %C_m = block.map @N (%B_n = %B) -> (stack)
  // CHECK: %parts = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (stack)
  // CHECK: %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK: %c_4 = block.assemble %C [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x48xf32>
  %c = array.matmul %a, %b transpose_b : tensor<200x64xf32>, tensor<48x64xf32> -> tensor<200x48xf32>
  func.return %c : tensor<200x48xf32>
}

// The left one is not: it is cut into blocks of its transposed.
// CHECK-LABEL: func.func @transposed_a(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>}
func.func @transposed_a(%a: tensor<64x200xf32>, %b: tensor<64x48xf32>) -> tensor<200x48xf32> {
  // CHECK-NEXT: %A = block.partition %a [K, M] : tensor<64x200xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [K, N] : tensor<64x48xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK: %C = block.map @M (%A_m = %A) -> (stack)
  // CHECK: %C_m = block.map @N (%B_n = %B) -> (stack)
  // CHECK: %parts = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (stack)
  // CHECK: %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK: %c_4 = block.assemble %C [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x48xf32>
  %c = array.matmul %a, %b transpose_a : tensor<64x200xf32>, tensor<64x48xf32> -> tensor<200x48xf32>
  func.return %c : tensor<200x48xf32>
}

// Half precision is summed in single precision, and rounded once.
// CHECK-LABEL: func.func @mixed(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>}
func.func @mixed(%a: tensor<200x64xbf16>, %b: tensor<64x48xbf16>) -> tensor<200x48xbf16> {
  // CHECK-NEXT: %A = block.partition %a [M, K] : tensor<200x64xbf16> -> !block.list<M, K, block<M x K x bf16>>
  // CHECK-NEXT: %B = block.partition %b [K, N] : tensor<64x48xbf16> -> !block.list<N, K, block<N x K x bf16>>
  // CHECK-NEXT: %C = block.map @M (%A_m = %A) -> (stack)
  // CHECK-NEXT:   %C_m = block.map @N (%B_n = %B) -> (stack)
  // CHECK-NEXT:     %parts = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (stack)
  // CHECK-NEXT:       %a_1 = block.load %A_mk
  // CHECK-NEXT:       %b_1 = block.load %B_nk
  // CHECK-NEXT:       %c = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
  // CHECK-NEXT:       %c_1 = block.store %c : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %c_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %c_2 = block.reduce sum %parts
  // CHECK-NEXT:     %c_3 = block.elementwise (%c_4 = %c_2) : !block.block<M x N x f32> -> !block.block<M x N x bf16> {
  // CHECK-NEXT:       %0 = arith.truncf %c_4 : f32 to bf16
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %c_5 = block.store %c_3 : !block.block<M x N x bf16>
  // CHECK-NEXT:     block.yield %c_5
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %C_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %c_6 = block.assemble %C [M, N] : !block.list<M, N, block<M x N x bf16>> -> tensor<200x48xbf16>
  // CHECK-NEXT: func.return %c_6
  %c = array.matmul %a, %b acc f32 : tensor<200x64xbf16>, tensor<64x48xbf16> -> tensor<200x48xbf16>
  func.return %c : tensor<200x48xbf16>
}

// A product of a product reads the list of its blocks; nothing is assembled in between.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<48>, K = #block.dim<64>, L = #block.dim<32>}
func.func @chain(%a: tensor<200x64xf32>, %b: tensor<64x48xf32>, %c: tensor<48x32xf32>) -> tensor<200x32xf32> {
  // CHECK-NEXT: %A = block.partition %a [M, K] : tensor<200x64xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %B = block.partition %b [K, N] : tensor<64x48xf32> -> !block.list<N, K, block<N x K x f32>>
  // CHECK-NEXT: %Ab = block.map @M (%A_m = %A) -> (stack)
  // CHECK-NEXT:   %Ab_m = block.map @N (%B_n = %B) -> (stack)
  // CHECK-NEXT:     %parts = block.map @K (%A_mk = %A_m, %B_nk = %B_n) -> (stack)
  // CHECK-NEXT:       %a_1 = block.load %A_mk
  // CHECK-NEXT:       %b_1 = block.load %B_nk
  // CHECK-NEXT:       %ab = block.dot %a_1, %b_1 acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>
  // CHECK-NEXT:       %ab_1 = block.store %ab : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %ab_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %ab_2 = block.reduce sum %parts
  // CHECK-NEXT:     %ab_3 = block.store %ab_2 : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %ab_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %Ab_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %C = block.partition %c [N, L] : tensor<48x32xf32> -> !block.list<L, N, block<L x N x f32>>
  // CHECK-NEXT: %Abc = block.map @M (%Ab_m_1 = %Ab) -> (stack)
  // CHECK-NEXT:   %Abc_m = block.map @L (%C_l = %C) -> (stack)
  // CHECK-NEXT:     %parts_1 = block.map @N (%Ab_mn = %Ab_m_1, %C_ln = %C_l) -> (stack)
  // CHECK-NEXT:       %ab_4 = block.load %Ab_mn
  // CHECK-NEXT:       %c_1 = block.load %C_ln
  // CHECK-NEXT:       %abc = block.dot %ab_4, %c_1 acc f32 : !block.block<M x N x f32>, !block.block<L x N x f32>
  // CHECK-NEXT:       %abc_1 = block.store %abc : !block.block<M x L x f32>
  // CHECK-NEXT:       block.yield %abc_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %abc_2 = block.reduce sum %parts_1
  // CHECK-NEXT:     %abc_3 = block.store %abc_2 : !block.block<M x L x f32>
  // CHECK-NEXT:     block.yield %abc_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %Abc_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %abc_4 = block.assemble %Abc [M, L] : !block.list<M, L, block<M x L x f32>> -> tensor<200x32xf32>
  // CHECK-NEXT: func.return %abc_4
  %ab = array.matmul %a, %b : tensor<200x64xf32>, tensor<64x48xf32> -> tensor<200x48xf32>
  %abc = array.matmul %ab, %c : tensor<200x48xf32>, tensor<48x32xf32> -> tensor<200x32xf32>
  func.return %abc : tensor<200x32xf32>
}
