// RUN: bb-opt %s -p array-to-block | filecheck %s

// Operations with a meaning on items become operators, the others keep a region of their own.
// CHECK-LABEL: func.func @operators(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @operators(%x: tensor<200x64xf32>, %y: tensor<200x64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %Y = block.partition %y [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X, %Y_m = %Y) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m, %Y_mn = %Y_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %y_1 = block.load %Y_mn
  // CHECK-NEXT:     %sum = block.add %x_1, %y_1
  // CHECK-NEXT:     %difference = block.sub %x_1, %y_1
  // CHECK-NEXT:     %product = block.mul %sum, %difference
  // CHECK-NEXT:     %r = block.elementwise (%product_1 = %product, %y_2 = %y_1) : !block.block<M x N x f32>, !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = arith.maximumf %product_1, %y_2 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %x, %q = %y) : tensor<200x64xf32>, tensor<200x64xf32> -> tensor<200x64xf32> {
    %sum = arith.addf %p, %q : f32
    %difference = arith.subf %p, %q : f32
    %product = arith.mulf %sum, %difference : f32
    %largest = arith.maximumf %product, %q : f32
    array.yield %largest : f32
  }
  func.return %r : tensor<200x64xf32>
}

// A constant is no item: it is computed where it is used.
// CHECK-LABEL: func.func @constants(
// CHECK-SAME: block.dims = {M = #block.dim<64>}
func.func @constants(%x: tensor<64xf16>) -> tensor<64xf16> {
  // CHECK-NEXT: %X = block.partition %x [M] : tensor<64xf16> -> !block.list<M, vector<M x f16>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %x_1 = block.load %X_m
  // CHECK-NEXT:   %shifted = block.elementwise (%x_2 = %x_1) : !block.vector<M x f16> -> !block.vector<M x f16> {
  // CHECK-NEXT:     %0 = arith.constant 1.000000e+00 : f16
  // CHECK-NEXT:     %1 = arith.addf %0, %0 : f16
  // CHECK-NEXT:     %2 = arith.addf %x_2, %1 : f16
  // CHECK-NEXT:     block.yield %2
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r = block.elementwise (%shifted_1 = %shifted) : !block.vector<M x f16> -> !block.vector<M x f16> {
  // CHECK-NEXT:     %3 = arith.constant 1.000000e+00 : f16
  // CHECK-NEXT:     %4 = arith.divf %3, %shifted_1 : f16
  // CHECK-NEXT:     block.yield %4
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_1 = block.store %r : !block.vector<M x f16>
  // CHECK-NEXT:   block.yield %r_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M] : !block.list<M, vector<M x f16>> -> tensor<64xf16>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %x) : tensor<64xf16> -> tensor<64xf16> {
    %one = arith.constant 1.0 : f16
    %two = arith.addf %one, %one : f16
    %shifted = arith.addf %p, %two : f16
    %inverse = arith.divf %one, %shifted : f16
    array.yield %inverse : f16
  }
  func.return %r : tensor<64xf16>
}

// One nest for each result, with what that result needs.
// CHECK-LABEL: func.func @two_results(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @two_results(%x: tensor<200x64xf32>, %y: tensor<200x64xf32>) -> (tensor<200x64xf32>, tensor<200x64xi1>) {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
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
  // CHECK-NEXT: %S = block.map @M (%X_m_1 = %X) -> (stack)
  // CHECK-NEXT:   %S_m = block.map @N (%X_mn_1 = %X_m_1) -> (stack)
  // CHECK-NEXT:     %x_2 = block.load %X_mn_1
  // CHECK-NEXT:     %s = block.elementwise (%x_3 = %x_2) : !block.block<M x N x f32> -> !block.block<M x N x i1> {
  // CHECK-NEXT:       %0 = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT:       %1 = arith.cmpf ogt, %x_3, %0 : f32
  // CHECK-NEXT:       block.yield %1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %s_1 = block.store %s : !block.block<M x N x i1>
  // CHECK-NEXT:     block.yield %s_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %S_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: %s_2 = block.assemble %S [M, N] : !block.list<M, N, block<M x N x i1>> -> tensor<200x64xi1>
  // CHECK-NEXT: func.return %r_2, %s_2
  %r, %s = array.elementwise (%p = %x, %q = %y) : tensor<200x64xf32>, tensor<200x64xf32> -> tensor<200x64xf32>, tensor<200x64xi1> {
    %zero = arith.constant 0.0 : f32
    %sum = arith.addf %p, %q : f32
    %positive = arith.cmpf ogt, %p, %zero : f32
    array.yield %sum, %positive : f32, i1
  }
  func.return %r, %s : tensor<200x64xf32>, tensor<200x64xi1>
}

// Items have at most two axes: the first of three is iterated over.
// CHECK-LABEL: func.func @rank_three(
// CHECK-SAME: block.dims = {B = #block.dim<5, batch>, M = #block.dim<200>, N = #block.dim<64>}
func.func @rank_three(%x: tensor<5x200x64xf32>, %s: tensor<f32>) -> tensor<5x200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [B, M, N] : tensor<5x200x64xf32> -> !block.list<B, M, N, block<M x N x f32>>
  // CHECK-NEXT: %S = block.partition %s [] : tensor<f32> -> !block.scalar<f32, global>
  // CHECK-NEXT: %R = block.map @B (%X_b = %X) -> (stack)
  // CHECK-NEXT:   %R_b = block.map @M (%X_bm = %X_b) -> (stack)
  // CHECK-NEXT:     %R_bm = block.map @N (%X_bmn = %X_bm) -> (stack)
  // CHECK-NEXT:       %x_1 = block.load %X_bmn
  // CHECK-NEXT:       %s_1 = block.load %S
  // CHECK-NEXT:       %r = block.elementwise (%x_2 = %x_1, %s_2 = %s_1) : !block.block<M x N x f32>, !block.scalar<f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:         %0 = arith.addf %x_2, %s_2 : f32
  // CHECK-NEXT:         block.yield %0
  // CHECK-NEXT:       }
  // CHECK-NEXT:       %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:       block.yield %r_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     block.yield %R_bm
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_b
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [B, M, N] : !block.list<B, M, N, block<M x N x f32>> -> tensor<5x200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise (%p = %x, %q = %s) : tensor<5x200x64xf32>, tensor<f32> -> tensor<5x200x64xf32> {
    %sum = arith.addf %p, %q : f32
    array.yield %sum : f32
  }
  func.return %r : tensor<5x200x64xf32>
}

// A constant alone still makes an array.
// CHECK-LABEL: func.func @constant(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @constant() -> tensor<200x64xf32> {
  // CHECK-NEXT: %R = block.map @M () -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N () -> (stack)
  // CHECK-NEXT:     %r = block.elementwise () -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %r = array.elementwise () -> tensor<200x64xf32> {
    %one = arith.constant 1.0 : f32
    array.yield %one : f32
  }
  func.return %r : tensor<200x64xf32>
}

// A splat needs no array to be read from.
// CHECK-LABEL: func.func @splat(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @splat(%x: tensor<200x64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %r = block.elementwise (%x_2 = %x_1) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = arith.constant 2.000000e+00 : f32
  // CHECK-NEXT:       %1 = arith.mulf %x_2, %0 : f32
  // CHECK-NEXT:       block.yield %1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %two = array.constant dense<2.0> : tensor<64xf32>
  %r = array.elementwise (%p = %x, %q = %two) : tensor<200x64xf32>, tensor<64xf32> -> tensor<200x64xf32> {
    %double = arith.mulf %p, %q : f32
    array.yield %double : f32
  }
  func.return %r : tensor<200x64xf32>
}
