// RUN: bb-opt %s -p array-to-block | filecheck %s

// A transpose is another view of the same array.
// CHECK-LABEL: func.func @of_an_argument(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @of_an_argument(%x: tensor<64x200xf32>, %y: tensor<200x64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [N, M] : tensor<64x200xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %Y = block.partition %y [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X, %Y_m = %Y) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m, %Y_mn = %Y_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %y_1 = block.load %Y_mn
  // CHECK-NEXT:     %r = block.add %x_1, %y_1
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %t = array.transpose %x perm [1, 0] : tensor<64x200xf32> -> tensor<200x64xf32>
  %r = array.elementwise (%p = %t, %q = %y) : tensor<200x64xf32>, tensor<200x64xf32> -> tensor<200x64xf32> {
    %sum = arith.addf %p, %q : f32
    array.yield %sum : f32
  }
  func.return %r : tensor<200x64xf32>
}

// What is computed is computed in the order in which it is read.
// CHECK-LABEL: func.func @of_a_result(
// CHECK-SAME: block.dims = {N = #block.dim<200>, M = #block.dim<64>, K = #block.dim<48>}
func.func @of_a_result(%x: tensor<200x64xf32>, %w: tensor<200x48xf32>) -> tensor<64x48xf32> {
  // CHECK-NEXT: %X = block.partition %x [N, M] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
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
  // CHECK-NEXT: %W = block.partition %w [N, K] : tensor<200x48xf32> -> !block.list<K, N, block<K x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%E_m_1 = %E) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @K (%W_k = %W) -> (stack)
  // CHECK-NEXT:     %parts = block.map @N (%E_mn = %E_m_1, %W_kn = %W_k) -> (stack)
  // CHECK-NEXT:       %e_2 = block.load %E_mn
  // CHECK-NEXT:       %w_1 = block.load %W_kn
  // CHECK-NEXT:       %r = block.dot %e_2, %w_1 acc f32 : !block.block<M x N x f32>, !block.block<K x N x f32>
  // CHECK-NEXT:       %r_1 = block.store %r : !block.block<M x K x f32>
  // CHECK-NEXT:       block.yield %r_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_2 = block.reduce sum %parts
  // CHECK-NEXT:     %r_3 = block.store %r_2 : !block.block<M x K x f32>
  // CHECK-NEXT:     block.yield %r_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_4 = block.assemble %R [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<64x48xf32>
  // CHECK-NEXT: func.return %r_4
  %e = array.elementwise (%p = %x) : tensor<200x64xf32> -> tensor<200x64xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %t = array.transpose %e perm [1, 0] : tensor<200x64xf32> -> tensor<64x200xf32>
  %r = array.matmul %t, %w : tensor<64x200xf32>, tensor<200x48xf32> -> tensor<64x48xf32>
  func.return %r : tensor<64x48xf32>
}

// Returned, it is the assembly of the same list along the other axes.
// CHECK-LABEL: func.func @returned(
// CHECK-SAME: block.dims = {N = #block.dim<200>, M = #block.dim<64>}
func.func @returned(%x: tensor<200x64xf32>) -> tensor<64x200xf32> {
  // CHECK-NEXT: %X = block.partition %x [N, M] : tensor<200x64xf32> -> !block.list<N, M, block<N x M x f32>>
  // CHECK-NEXT: %E = block.map @N (%X_n = %X) -> (stack)
  // CHECK-NEXT:   %E_n = block.map @M (%X_nm = %X_n) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_nm
  // CHECK-NEXT:     %e = block.elementwise (%x_2 = %x_1) : !block.block<N x M x f32> -> !block.block<N x M x f32> {
  // CHECK-NEXT:       %0 = math.exp %x_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %e_1 = block.store %e : !block.block<N x M x f32>
  // CHECK-NEXT:     block.yield %e_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %E_n
  // CHECK-NEXT: }
  // CHECK-NEXT: %t = block.assemble %E [M, N] : !block.list<N, M, block<N x M x f32>> -> tensor<64x200xf32>
  // CHECK-NEXT: func.return %t
  %e = array.elementwise (%p = %x) : tensor<200x64xf32> -> tensor<200x64xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %t = array.transpose %e perm [1, 0] : tensor<200x64xf32> -> tensor<64x200xf32>
  func.return %t : tensor<64x200xf32>
}

// Read both ways, the list is made once and viewed twice.
// CHECK-LABEL: func.func @both(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>, K = #block.dim<48>, L = #block.dim<32>}
func.func @both(%x: tensor<200x64xf32>, %u: tensor<64x48xf32>, %v: tensor<200x32xf32>) -> (tensor<200x48xf32>, tensor<64x32xf32>) {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<N, M, block<N x M x f32>>
  // CHECK-NEXT: %E = block.map @N (%X_n = %X) -> (stack)
  // CHECK-NEXT:   %E_n = block.map @M (%X_nm = %X_n) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_nm
  // CHECK-NEXT:     %e = block.elementwise (%x_2 = %x_1) : !block.block<N x M x f32> -> !block.block<N x M x f32> {
  // CHECK-NEXT:       %0 = math.exp %x_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %e_1 = block.store %e : !block.block<N x M x f32>
  // CHECK-NEXT:     block.yield %e_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %E_n
  // CHECK-NEXT: }
  // CHECK-NEXT: %e_2 = block.assemble %E [M, N] : !block.list<N, M, block<N x M x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: %E_1 = block.partition %e_2 [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %U = block.partition %u [N, K] : tensor<64x48xf32> -> !block.list<K, N, block<K x N x f32>>
  // CHECK-NEXT: %R = block.map @K (%U_k = %U) -> (stack)
  // CHECK-NEXT:   %R_k = block.map @M (%E_m = %E_1) -> (stack)
  // CHECK-NEXT:     %parts = block.map @N (%E_mn = %E_m, %U_kn = %U_k) -> (stack)
  // CHECK-NEXT:       %e_3 = block.load %E_mn
  // CHECK-NEXT:       %u_1 = block.load %U_kn
  // CHECK-NEXT:       %r = block.dot %e_3, %u_1 acc f32 : !block.block<M x N x f32>, !block.block<K x N x f32>
  // CHECK-NEXT:       %r_1 = block.store %r : !block.block<M x K x f32>
  // CHECK-NEXT:       block.yield %r_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_2 = block.reduce sum %parts
  // CHECK-NEXT:     %r_3 = block.store %r_2 : !block.block<M x K x f32>
  // CHECK-NEXT:     block.yield %r_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_k
  // CHECK-NEXT: }
  // CHECK-NEXT: %V = block.partition %v [M, L] : tensor<200x32xf32> -> !block.list<L, M, block<L x M x f32>>
  // CHECK-NEXT: %S = block.map @L (%V_l = %V) -> (stack)
  // CHECK-NEXT:   %S_l = block.map @N (%E_n_1 = %E) -> (stack)
  // CHECK-NEXT:     %parts_1 = block.map @M (%E_nm = %E_n_1, %V_lm = %V_l) -> (stack)
  // CHECK-NEXT:       %e_4 = block.load %E_nm
  // CHECK-NEXT:       %v_1 = block.load %V_lm
  // CHECK-NEXT:       %s = block.dot %e_4, %v_1 acc f32 : !block.block<N x M x f32>, !block.block<L x M x f32>
  // CHECK-NEXT:       %s_1 = block.store %s : !block.block<N x L x f32>
  // CHECK-NEXT:       block.yield %s_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %s_2 = block.reduce sum %parts_1
  // CHECK-NEXT:     %s_3 = block.store %s_2 : !block.block<N x L x f32>
  // CHECK-NEXT:     block.yield %s_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %S_l
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_4 = block.assemble %R [M, K] : !block.list<K, M, block<M x K x f32>> -> tensor<200x48xf32>
  // CHECK-NEXT: %s_4 = block.assemble %S [N, L] : !block.list<L, N, block<N x L x f32>> -> tensor<64x32xf32>
  // CHECK-NEXT: func.return %r_4, %s_4
  %e = array.elementwise (%p = %x) : tensor<200x64xf32> -> tensor<200x64xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %r = array.matmul %e, %u : tensor<200x64xf32>, tensor<64x48xf32> -> tensor<200x48xf32>
  %s = array.matmul %e, %v transpose_a : tensor<200x64xf32>, tensor<200x32xf32> -> tensor<64x32xf32>
  func.return %r, %s : tensor<200x48xf32>, tensor<64x32xf32>
}
