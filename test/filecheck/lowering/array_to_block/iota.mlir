// RUN: bb-opt %s -p array-to-block | filecheck %s

// The index of an element is asked for where it is used.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<200>}
func.func @causal(%s: tensor<200x200xf32>) -> tensor<200x200xf32> {
  // CHECK-NEXT: %S = block.partition %s [M, N] : tensor<200x200xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%S_m = %S) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%S_mn = %S_m) -> (stack)
  // CHECK-NEXT:     %s_1 = block.load %S_mn
  // CHECK-NEXT:     %r = block.elementwise (%s_2 = %s_1) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = block.index @N
  // CHECK-NEXT:       %1 = arith.index_cast %0 : index to i32
  // CHECK-NEXT:       %2 = block.index @M
  // CHECK-NEXT:       %3 = arith.index_cast %2 : index to i32
  // CHECK-NEXT:       %4 = arith.cmpi sle, %1, %3 : i32
  // CHECK-NEXT:       %5 = arith.constant 0xff800000 : f32
  // CHECK-NEXT:       %6 = arith.select %4, %s_2, %5 : f32
  // CHECK-NEXT:       block.yield %6
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x200xf32>
  // CHECK-NEXT: func.return %r_2
  %row = array.iota axis 0 : tensor<200x1xi32>
  %column = array.iota axis 0 : tensor<200xi32>
  %r = array.elementwise (%p = %s, %i = %row, %j = %column) : tensor<200x200xf32>, tensor<200x1xi32>, tensor<200xi32> -> tensor<200x200xf32> {
    %hidden = arith.constant 0xff800000 : f32
    %visible = arith.cmpi sle, %j, %i : i32
    %masked = arith.select %visible, %p, %hidden : f32
    array.yield %masked : f32
  }
  func.return %r : tensor<200x200xf32>
}

// Its index in an axis of several dims is put together from theirs.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: block.dims = {M = #block.dim<4>, N = #block.dim<32>}
func.func @product(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<4x32xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %r = block.elementwise (%x_2 = %x_1) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = block.index @M
  // CHECK-NEXT:       %1 = block.index @N
  // CHECK-NEXT:       %2 = block.extent @N
  // CHECK-NEXT:       %3 = arith.index_cast %2 : index to i64
  // CHECK-NEXT:       %4 = arith.index_cast %0 : index to i64
  // CHECK-NEXT:       %5 = arith.muli %4, %3 : i64
  // CHECK-NEXT:       %6 = arith.index_cast %1 : index to i64
  // CHECK-NEXT:       %7 = arith.addi %5, %6 : i64
  // CHECK-NEXT:       %8 = arith.sitofp %7 : i64 to f32
  // CHECK-NEXT:       %9 = arith.addf %x_2, %8 : f32
  // CHECK-NEXT:       block.yield %9
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<4x32xf32>
  // CHECK-NEXT: func.return %r_2
  %i = array.iota axis 0 : tensor<128xf32>
  %t = array.reshape %i : tensor<128xf32> -> tensor<4x32xf32>
  %r = array.elementwise (%p = %x, %q = %t) : tensor<4x32xf32>, tensor<4x32xf32> -> tensor<4x32xf32> {
    %z = arith.addf %p, %q : f32
    array.yield %z : f32
  }
  func.return %r : tensor<4x32xf32>
}

// An extent that no array of the program is cut by is known from the iota only; it stays an array.
// CHECK-LABEL: func.func @alone(
// CHECK-SAME: block.dims = {M = #block.dim<?>, N = #block.dim<64>}
func.func @alone(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  // CHECK-NEXT: %i = array.iota axis 0 like %x : tensor<?x64xf32> -> tensor<?x64xi32>
  // CHECK-NEXT: %I = block.partition %i [M, N] : tensor<?x64xi32> -> !block.list<M, N, block<M x N x i32>>
  // CHECK-NEXT: %R = block.map @M (%I_m = %I) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%I_mn = %I_m) -> (stack)
  // CHECK-NEXT:     %i_1 = block.load %I_mn
  // CHECK-NEXT:     %r = block.elementwise (%i_2 = %i_1) : !block.block<M x N x i32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       %0 = arith.sitofp %i_2 : i32 to f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<?x64xf32>
  // CHECK-NEXT: func.return %r_2
  %i = array.iota axis 0 like %x : tensor<?x64xf32> -> tensor<?x64xi32>
  %r = array.elementwise (%p = %i) : tensor<?x64xi32> -> tensor<?x64xf32> {
    %f = arith.sitofp %p : i32 to f32
    array.yield %f : f32
  }
  func.return %r : tensor<?x64xf32>
}
