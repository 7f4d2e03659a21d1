// RUN: bb-opt %s -p array-to-block | filecheck %s

// What cannot be cut into blocks stays an operation on arrays between the nests.
// CHECK-LABEL: func.func @between(
// CHECK-SAME: block.dims = {N = #block.dim<200>, K = #block.dim<64>, L = #block.dim<64>, M = #block.dim<300>, D = #block.dim<64>}
func.func @between(%x: tensor<200x64xf32>, %w: tensor<64x64xf32>) -> tensor<300x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [N, L] : tensor<200x64xf32> -> !block.list<N, L, block<N x L x f32>>
  // CHECK-NEXT: %W = block.partition %w [L, K] : tensor<64x64xf32> -> !block.list<K, L, block<K x L x f32>>
  // CHECK-NEXT: %Y = block.map @N (%X_n = %X) -> (stack)
  // CHECK-NEXT:   %Y_n = block.map @K (%W_k = %W) -> (stack)
  // CHECK-NEXT:     %parts = block.map @L (%X_nl = %X_n, %W_kl = %W_k) -> (stack)
  // CHECK-NEXT:       %x_1 = block.load %X_nl
  // CHECK-NEXT:       %w_1 = block.load %W_kl
  // CHECK-NEXT:       %y = block.dot %x_1, %w_1 acc f32 : !block.block<N x L x f32>, !block.block<K x L x f32>
  // CHECK-NEXT:       %y_1 = block.store %y : !block.block<N x K x f32>
  // CHECK-NEXT:       block.yield %y_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %y_2 = block.reduce sum %parts
  // CHECK-NEXT:     %y_3 = block.store %y_2 : !block.block<N x K x f32>
  // CHECK-NEXT:     block.yield %y_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %Y_n
  // CHECK-NEXT: }
  // CHECK-NEXT: %y_4 = block.assemble %Y [N, K] : !block.list<N, K, block<N x K x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: %half = array.slice %y_4 offsets [100, 0] sizes [100, 64] : tensor<200x64xf32> -> tensor<100x64xf32>
  // CHECK-NEXT: %both = array.concat %y_4, %half axis 0 : tensor<200x64xf32>, tensor<100x64xf32> -> tensor<300x64xf32>
  // CHECK-NEXT: %Both = block.partition %both [M, D] : tensor<300x64xf32> -> !block.list<M, D, block<M x D x f32>>
  // CHECK-NEXT: %L = block.map @M (%Both_m = %Both) -> (stack)
  // CHECK-NEXT:   %L_m = block.map @D (%Both_md = %Both_m) -> (stack)
  // CHECK-NEXT:     %both_1 = block.load %Both_md
  // CHECK-NEXT:     %l = block.elementwise (%both_2 = %both_1) : !block.block<M x D x f32> -> !block.block<M x D x f32> {
  // CHECK-NEXT:       %0 = math.log %both_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %l_1 = block.store %l : !block.block<M x D x f32>
  // CHECK-NEXT:     block.yield %l_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %L_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %l_2 = block.assemble %L [M, D] : !block.list<M, D, block<M x D x f32>> -> tensor<300x64xf32>
  // CHECK-NEXT: func.return %l_2
  %y = array.matmul %x, %w : tensor<200x64xf32>, tensor<64x64xf32> -> tensor<200x64xf32>
  %half = array.slice %y offsets [100, 0] sizes [100, 64] : tensor<200x64xf32> -> tensor<100x64xf32>
  %both = array.concat %y, %half axis 0 : tensor<200x64xf32>, tensor<100x64xf32> -> tensor<300x64xf32>
  %l = array.elementwise (%p = %both) : tensor<300x64xf32> -> tensor<300x64xf32> {
    %z = math.log %p : f32
    array.yield %z : f32
  }
  func.return %l : tensor<300x64xf32>
}

// A custom operator gets arrays and gives arrays, transposed where the program says so.
// CHECK-LABEL: func.func @custom(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @custom(%x: tensor<200x64xf32>) -> (tensor<200xf32>, tensor<200x64xf32>) {
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
  // CHECK-NEXT: %t = block.assemble %E [N, M] : !block.list<M, N, block<M x N x f32>> -> tensor<64x200xf32>
  // CHECK-NEXT: %s, %u = array.custom @solver(%t) {iterations = 3 : i64} : (tensor<64x200xf32>) -> (tensor<200xf32>, tensor<64x200xf32>)
  // CHECK-NEXT: %v = array.transpose %u perm [1, 0] : tensor<64x200xf32> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %s, %v
  %e = array.elementwise (%p = %x) : tensor<200x64xf32> -> tensor<200x64xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %t = array.transpose %e perm [1, 0] : tensor<200x64xf32> -> tensor<64x200xf32>
  %s, %u = array.custom @solver(%t) {iterations = 3 : i64} : (tensor<64x200xf32>) -> (tensor<200xf32>, tensor<64x200xf32>)
  %v = array.transpose %u perm [1, 0] : tensor<64x200xf32> -> tensor<200x64xf32>
  func.return %s, %v : tensor<200xf32>, tensor<200x64xf32>
}

// So do extents and constants of several values.
// CHECK-LABEL: func.func @others(
// CHECK-SAME: block.dims = {N = #block.dim<1>, K = #block.dim<4>, M = #block.dim<?>, L = #block.dim<64>}
func.func @others(%x: tensor<?x64xf32>, %y: tensor<8x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: %c = array.concat %x, %y axis 0 : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x64xf32>
  // CHECK-NEXT: %n = array.extent %x axis 0 : tensor<?x64xf32> -> tensor<f32>
  // CHECK-NEXT: %w = array.constant dense<[1.000000e+00, 2.000000e+00, 4.000000e+00, 8.000000e+00]> : tensor<4xf32>
  // CHECK-NEXT: %W = block.partition %w [K] : tensor<4xf32> -> !block.list<K, vector<K x f32>>
  // CHECK-NEXT: %D = block.map @N () -> (stack)
  // CHECK-NEXT:   %parts = block.map @K (%W_k = %W) -> (stack)
  // CHECK-NEXT:     %w_1 = block.load %W_k
  // CHECK-NEXT:     %0 = block.elementwise (%w_2 = %w_1) : !block.vector<K x f32> -> !block.block<N x K x f32> {
  // CHECK-NEXT:       block.yield %w_2
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %d = block.row_sum %0 acc f32
  // CHECK-NEXT:     %d_1 = block.store %d : !block.vector<N x f32>
  // CHECK-NEXT:     block.yield %d_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %d_2 = block.reduce sum %parts
  // CHECK-NEXT:   %d_3 = block.store %d_2 : !block.vector<N x f32>
  // CHECK-NEXT:   block.yield %d_3
  // CHECK-NEXT: }
  // CHECK-NEXT: %C = block.partition %c [M, L] : tensor<?x64xf32> -> !block.list<M, L, block<M x L x f32>>
  // CHECK-NEXT: %N = block.partition %n [] : tensor<f32> -> !block.scalar<f32, global>
  // CHECK-NEXT: %d_4 = block.assemble %D [N] : !block.list<N, vector<N x f32>> -> tensor<1xf32>
  // CHECK-NEXT: %D_1 = block.partition %d_4 [1] : tensor<1xf32> -> !block.scalar<f32, global>
  // CHECK-NEXT: %R = block.map @M (%C_m = %C) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @L (%C_ml = %C_m) -> (stack)
  // CHECK-NEXT:     %c_1 = block.load %C_ml
  // CHECK-NEXT:     %n_1 = block.load %N
  // CHECK-NEXT:     %d_5 = block.load %D_1
  // CHECK-NEXT:     %z = block.elementwise (%c_2 = %c_1, %n_2 = %n_1) : !block.block<M x L x f32>, !block.scalar<f32> -> !block.block<M x L x f32> {
  // CHECK-NEXT:       %1 = arith.divf %c_2, %n_2 : f32
  // CHECK-NEXT:       block.yield %1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r = block.elementwise (%z_1 = %z, %d_6 = %d_5) : !block.block<M x L x f32>, !block.scalar<f32> -> !block.block<M x L x f32> {
  // CHECK-NEXT:       %2 = arith.addf %z_1, %d_6 : f32
  // CHECK-NEXT:       block.yield %2
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x L x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, L] : !block.list<M, L, block<M x L x f32>> -> tensor<?x64xf32>
  // CHECK-NEXT: func.return %r_2
  %c = array.concat %x, %y axis 0 : tensor<?x64xf32>, tensor<8x64xf32> -> tensor<?x64xf32>
  %n = array.extent %x axis 0 : tensor<?x64xf32> -> tensor<f32>
  %w = array.constant dense<[1.0, 2.0, 4.0, 8.0]> : tensor<4xf32>
  %u = array.reshape %w : tensor<4xf32> -> tensor<4x1xf32>
  %d = array.reduce sum %u axes [0] : tensor<4x1xf32> -> tensor<1xf32>
  %r = array.elementwise (%p = %c, %q = %n, %s = %d) : tensor<?x64xf32>, tensor<f32>, tensor<1xf32> -> tensor<?x64xf32> {
    %z = arith.divf %p, %q : f32
    %a = arith.addf %z, %s : f32
    array.yield %a : f32
  }
  func.return %r : tensor<?x64xf32>
}

// Composites wait for array-decompose.
// CHECK-LABEL: func.func @composite(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @composite(%x: tensor<200x64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %s = array.softmax %x axis 1 : tensor<200x64xf32>
  // CHECK-NEXT: %S = block.partition %s [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%S_m = %S) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%S_mn = %S_m) -> (stack)
  // CHECK-NEXT:     %s_1 = block.load %S_mn
  // CHECK-NEXT:     %r = block.elementwise (%s_2 = %s_1) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = math.log %s_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %s = array.softmax %x axis 1 : tensor<200x64xf32>
  %r = array.elementwise (%p = %s) : tensor<200x64xf32> -> tensor<200x64xf32> {
    %z = math.log %p : f32
    array.yield %z : f32
  }
  func.return %r : tensor<200x64xf32>
}

// CHECK-LABEL: func.func @callee(
func.func @callee(%x: tensor<200x64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: func.return %x
  func.return %x : tensor<200x64xf32>
}

// A call is opaque as well.
// CHECK-LABEL: func.func @calls(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @calls(%x: tensor<200x64xf32>) -> tensor<200x64xf32> {
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
  // CHECK-NEXT: %e_2 = block.assemble %E [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: %r = func.call @callee(%e_2) : (tensor<200x64xf32>) -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r
  %e = array.elementwise (%p = %x) : tensor<200x64xf32> -> tensor<200x64xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %r = func.call @callee(%e) : (tensor<200x64xf32>) -> tensor<200x64xf32>
  func.return %r : tensor<200x64xf32>
}
