// RUN: bb-opt %s -p array-to-block | filecheck %s

// A statistic of the rows: sums are shifts, differences shifts by the negative, quotients products with the inverse.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @rows(%x: tensor<200x64xf32>, %s: tensor<200x1xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %S = block.partition %s [M, 1] : tensor<200x1xf32> -> !block.list<M, vector<M x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X, %S_m = %S) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %s_1 = block.load %S_m
  // CHECK-NEXT:     %plus = block.row_shift %x_1, %s_1
  // CHECK-NEXT:     %neg = block.elementwise (%s_2 = %s_1) : !block.vector<M x f32> -> !block.vector<M x f32> {
  // CHECK-NEXT:       %0 = arith.negf %s_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %minus = block.row_shift %plus, %neg
  // CHECK-NEXT:     %times = block.row_scale %minus, %s_1
  // CHECK-NEXT:     %r = block.elementwise (%times_1 = %times, %s_3 = %s_1)
  // CHECK-NEXT:       %1 = arith.divf %times_1, %s_3 : f32
  // CHECK-NEXT:       block.yield %1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %x, %q = %s) : tensor<200x64xf32>, tensor<200x1xf32> -> tensor<200x64xf32> {
    %plus = arith.addf %p, %q : f32
    %minus = arith.subf %plus, %q : f32
    %times = arith.mulf %q, %minus : f32
    %by = arith.divf %times, %q : f32
    array.yield %by : f32
  }
  func.return %r : tensor<200x64xf32>
}

// The same along the columns.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @columns(%x: tensor<200x64xf32>, %s: tensor<64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %S = block.partition %s [N] : tensor<64xf32> -> !block.list<N, vector<N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m, %S_n = %S) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %s_1 = block.load %S_n
  // CHECK-NEXT:     %plus = block.col_shift %x_1, %s_1
  // CHECK-NEXT:     %neg = block.elementwise (%plus_1 = %plus) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = arith.negf %plus_1 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %minus = block.col_shift %neg, %s_1
  // CHECK-NEXT:     %times = block.col_scale %minus, %s_1
  // CHECK-NEXT:     %r = block.elementwise (%times_1 = %times, %s_2 = %s_1)
  // CHECK-NEXT:       %1 = arith.divf %times_1, %s_2 : f32
  // CHECK-NEXT:       block.yield %1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %x, %q = %s) : tensor<200x64xf32>, tensor<64xf32> -> tensor<200x64xf32> {
    %plus = arith.addf %q, %p : f32
    %minus = arith.subf %q, %plus : f32
    %times = arith.mulf %minus, %q : f32
    %by = arith.divf %times, %q : f32
    array.yield %by : f32
  }
  func.return %r : tensor<200x64xf32>
}

// A quotient by a block stays one: the inverse of an element can overflow where the quotient does not.
// CHECK-LABEL: func.func @quotient_by_block(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @quotient_by_block(%x: tensor<200x64xf32>, %s: tensor<200x1xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %S = block.partition %s [M, 1] : tensor<200x1xf32> -> !block.list<M, vector<M x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X, %S_m = %S) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %s_1 = block.load %S_m
  // CHECK-NEXT:     %r = block.elementwise (%s_2 = %s_1, %x_2 = %x_1)
  // CHECK-NEXT:       %0 = arith.divf %s_2, %x_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %x, %q = %s) : tensor<200x64xf32>, tensor<200x1xf32> -> tensor<200x64xf32> {
    %by = arith.divf %q, %p : f32
    array.yield %by : f32
  }
  func.return %r : tensor<200x64xf32>
}

// A quotient by what waits for a sum is a scale: past a contraction, nothing waits any more.
// CHECK-LABEL: func.func @quotient_by_sum(
func.func @quotient_by_sum(%x: tensor<200x64xf32>) -> tensor<200x64xf32> {
  // CHECK: %inv = block.elementwise (%s
  // CHECK-NEXT: arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: arith.divf
  // CHECK: %r = block.row_scale {{.*}}, %inv
  %s = array.reduce sum %x axes [1] keepdims : tensor<200x64xf32> -> tensor<200x1xf32>
  %r = array.elementwise (%p = %x, %q = %s) : tensor<200x64xf32>, tensor<200x1xf32> -> tensor<200x64xf32> {
    %by = arith.divf %p, %q : f32
    array.yield %by : f32
  }
  func.return %r : tensor<200x64xf32>
}

// The outer product, whichever comes first.
// CHECK-LABEL: func.func @outer(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @outer(%c: tensor<200x1xf32>, %d: tensor<64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %C = block.partition %c [M, 1] : tensor<200x1xf32> -> !block.list<M, vector<M x f32>>
  // CHECK-NEXT: %D = block.partition %d [N] : tensor<64xf32> -> !block.list<N, vector<N x f32>>
  // CHECK-NEXT: %R = block.map @M (%C_m = %C) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%D_n = %D) -> (stack)
  // CHECK-NEXT:     %c_1 = block.load %C_m
  // CHECK-NEXT:     %d_1 = block.load %D_n
  // CHECK-NEXT:     %r = block.outer %c_1, %d_1 : !block.vector<M x f32>, !block.vector<N x f32>
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %c, %q = %d) : tensor<200x1xf32>, tensor<64xf32> -> tensor<200x64xf32> {
    %product = arith.mulf %q, %p : f32
    array.yield %product : f32
  }
  func.return %r : tensor<200x64xf32>
}

// The sum of a row and a column is no operator.
// CHECK-LABEL: func.func @outer_sum(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @outer_sum(%c: tensor<200x1xf32>, %d: tensor<64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %C = block.partition %c [M, 1] : tensor<200x1xf32> -> !block.list<M, vector<M x f32>>
  // CHECK-NEXT: %D = block.partition %d [N] : tensor<64xf32> -> !block.list<N, vector<N x f32>>
  // CHECK-NEXT: %R = block.map @M (%C_m = %C) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%D_n = %D) -> (stack)
  // CHECK-NEXT:     %c_1 = block.load %C_m
  // CHECK-NEXT:     %d_1 = block.load %D_n
  // CHECK-NEXT:     %r = block.elementwise (%c_2 = %c_1, %d_2 = %d_1) : !block.vector<M x f32>, !block.vector<N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = arith.addf %c_2, %d_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %c, %q = %d) : tensor<200x1xf32>, tensor<64xf32> -> tensor<200x64xf32> {
    %sum = arith.addf %p, %q : f32
    array.yield %sum : f32
  }
  func.return %r : tensor<200x64xf32>
}

// A scalar is captured by both maps.
// CHECK-LABEL: func.func @scalar(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @scalar(%x: tensor<200x64xf32>, %s: tensor<1x1xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %S = block.partition %s [1, 1] : tensor<1x1xf32> -> !block.scalar<f32, global>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %s_1 = block.load %S
  // CHECK-NEXT:     %r = block.elementwise (%x_2 = %x_1, %s_2 = %s_1) : !block.block<M x N x f32>, !block.scalar<f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = arith.mulf %x_2, %s_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %x, %q = %s) : tensor<200x64xf32>, tensor<1x1xf32> -> tensor<200x64xf32> {
    %product = arith.mulf %p, %q : f32
    array.yield %product : f32
  }
  func.return %r : tensor<200x64xf32>
}

// A broadcast for its own sake repeats its items.
// CHECK-LABEL: func.func @repeated(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @repeated(%s: tensor<64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %S = block.partition %s [N] : tensor<64xf32> -> !block.list<N, vector<N x f32>>
  // CHECK-NEXT: %T = block.map @M () -> (stack)
  // CHECK-NEXT:   %T_m = block.map @N (%S_n = %S) -> (stack)
  // CHECK-NEXT:     %s_1 = block.load %S_n
  // CHECK-NEXT:     %e = block.elementwise (%s_2 = %s_1) : !block.vector<N x f32> -> !block.vector<N x f32> {
  // CHECK-NEXT:       %0 = math.exp %s_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %t = block.elementwise (%e_1 = %e) : !block.vector<N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       block.yield %e_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %t_1 = block.store %t : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %t_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %T_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %t_2 = block.assemble %T [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %t_2
  %r = array.broadcast %s : tensor<64xf32> -> tensor<200x64xf32>
  %t = array.elementwise (%p = %r) : tensor<200x64xf32> -> tensor<200x64xf32> {
    %e = math.exp %p : f32
    array.yield %e : f32
  }
  func.return %t : tensor<200x64xf32>
}

// One that is read as an array stays an operation on arrays.
// CHECK-LABEL: func.func @returned(
// CHECK-SAME: block.dims = {M = #block.dim<64>}
func.func @returned(%x: tensor<64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M] : tensor<64xf32> -> !block.list<M, vector<M x f32>>
  // CHECK-NEXT: %S = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %x_1 = block.load %X_m
  // CHECK-NEXT:   %s = block.elementwise (%x_2 = %x_1) : !block.vector<M x f32> -> !block.vector<M x f32> {
  // CHECK-NEXT:     %0 = math.exp %x_2 : f32
  // CHECK-NEXT:     block.yield %0
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %s_1 = block.store %s : !block.vector<M x f32>
  // CHECK-NEXT:   block.yield %s_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_2 = block.assemble %S [M] : !block.list<M, vector<M x f32>> -> tensor<64xf32>
  // CHECK-NEXT: %r = array.broadcast %s_2 : tensor<64xf32> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r
  %s = array.elementwise (%p = %x) : tensor<64xf32> -> tensor<64xf32> {
    %e = math.exp %p : f32
    array.yield %e : f32
  }
  %r = array.broadcast %s : tensor<64xf32> -> tensor<200x64xf32>
  func.return %r : tensor<200x64xf32>
}
