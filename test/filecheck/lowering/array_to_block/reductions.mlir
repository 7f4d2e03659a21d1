// RUN: bb-opt %s -p array-to-block | filecheck %s

// Rows: every block is reduced, then the list of what that gives.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @rows(%x: tensor<200x64xf32>) -> tensor<200xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %r = block.row_sum %x_1 acc f32
  // CHECK-NEXT:     %r_1 = block.store %r : !block.vector<M x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_2 = block.reduce sum %parts
  // CHECK-NEXT:   %r_3 = block.store %r_2 : !block.vector<M x f32>
  // CHECK-NEXT:   block.yield %r_3
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_4 = block.assemble %R [M] : !block.list<M, vector<M x f32>> -> tensor<200xf32>
  // CHECK-NEXT: func.return %r_4
  %r = array.reduce sum %x axes [1] : tensor<200x64xf32> -> tensor<200xf32>
  func.return %r : tensor<200xf32>
}

// Columns: the rows of the transposed blocks.
// CHECK-LABEL: func.func @columns(
// CHECK-SAME: block.dims = {M = #block.dim<64>, N = #block.dim<200>}
func.func @columns(%x: tensor<200x64xf32>) -> tensor<64xf32> {
  // CHECK-NEXT: %X = block.partition %x [N, M] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %r = block.row_max %x_1
  // CHECK-NEXT:     %r_1 = block.store %r : !block.vector<M x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_2 = block.reduce max %parts
  // CHECK-NEXT:   %r_3 = block.store %r_2 : !block.vector<M x f32>
  // CHECK-NEXT:   block.yield %r_3
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_4 = block.assemble %R [M] : !block.list<M, vector<M x f32>> -> tensor<64xf32>
  // CHECK-NEXT: func.return %r_4
  %r = array.reduce max %x axes [0] : tensor<200x64xf32> -> tensor<64xf32>
  func.return %r : tensor<64xf32>
}

// An axis that is kept has no dim.
// CHECK-LABEL: func.func @kept(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @kept(%x: tensor<200x64xf32>) -> tensor<200x1xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %r = block.row_min %x_1
  // CHECK-NEXT:     %r_1 = block.store %r : !block.vector<M x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_2 = block.reduce min %parts
  // CHECK-NEXT:   %r_3 = block.store %r_2 : !block.vector<M x f32>
  // CHECK-NEXT:   block.yield %r_3
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_4 = block.assemble %R [M, 1] : !block.list<M, vector<M x f32>> -> tensor<200x1xf32>
  // CHECK-NEXT: func.return %r_4
  %r = array.reduce min %x axes [1] keepdims : tensor<200x64xf32> -> tensor<200x1xf32>
  func.return %r : tensor<200x1xf32>
}

// All axes: a block is reduced to a vector, then to a scalar.
// CHECK-LABEL: func.func @all(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @all(%x: tensor<200x64xf32>) -> tensor<f32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %parts = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts_1 = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %r = block.row_sum %x_1 acc f32
  // CHECK-NEXT:     %r_1 = block.row_sum %r acc f32
  // CHECK-NEXT:     %r_2 = block.store %r_1 : !block.scalar<f32>
  // CHECK-NEXT:     block.yield %r_2
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_3 = block.reduce sum %parts_1
  // CHECK-NEXT:   %r_4 = block.store %r_3 : !block.scalar<f32>
  // CHECK-NEXT:   block.yield %r_4
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_5 = block.reduce sum %parts
  // CHECK-NEXT: %R = block.store %r_5 : !block.scalar<f32>
  // CHECK-NEXT: %r_6 = block.assemble %R [] : !block.scalar<f32, global> -> tensor<f32>
  // CHECK-NEXT: func.return %r_6
  %r = array.reduce sum %x axes [0, 1] : tensor<200x64xf32> -> tensor<f32>
  func.return %r : tensor<f32>
}

// The accumulator is that of both sums.
// CHECK-LABEL: func.func @mixed(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @mixed(%x: tensor<200x64xf16>) -> tensor<200xf16> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf16> -> !block.list<M, N, block<M x N x f16>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %r = block.row_sum %x_1 acc f32
  // CHECK-NEXT:     %r_1 = block.store %r : !block.vector<M x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_2 = block.reduce sum %parts
  // CHECK-NEXT:   %r_3 = block.elementwise (%r_4 = %r_2) : !block.vector<M x f32> -> !block.vector<M x f16> {
  // CHECK-NEXT:     %0 = arith.truncf %r_4 : f32 to f16
  // CHECK-NEXT:     block.yield %0
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_5 = block.store %r_3 : !block.vector<M x f16>
  // CHECK-NEXT:   block.yield %r_5
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_6 = block.assemble %R [M] : !block.list<M, vector<M x f16>> -> tensor<200xf16>
  // CHECK-NEXT: func.return %r_6
  %r = array.reduce sum %x axes [1] acc f32 : tensor<200x64xf16> -> tensor<200xf16>
  func.return %r : tensor<200xf16>
}

// Of three axes one is a batch axis; it is summed list by list.
// CHECK-LABEL: func.func @three(
// CHECK-SAME: block.dims = {M = #block.dim<200>, B = #block.dim<5, batch>, N = #block.dim<64>}
func.func @three(%x: tensor<5x200x64xf32>) -> tensor<200xf32> {
  // CHECK-NEXT: %X = block.partition %x [B, M, N] : tensor<5x200x64xf32> -> !block.list<M, B, N, block<M x N x f32>>
  // CHECK-NEXT: %R = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts = block.map @B (%X_mb = %X_m) -> (stack)
  // CHECK-NEXT:     %parts_1 = block.map @N (%X_mbn = %X_mb) -> (stack)
  // CHECK-NEXT:       %x_1 = block.load %X_mbn
  // CHECK-NEXT:       %r = block.row_sum %x_1 acc f32
  // CHECK-NEXT:       %r_1 = block.store %r : !block.vector<M x f32>
  // CHECK-NEXT:       block.yield %r_1
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r_2 = block.reduce sum %parts_1
  // CHECK-NEXT:     %r_3 = block.store %r_2 : !block.vector<M x f32>
  // CHECK-NEXT:     block.yield %r_3
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %r_4 = block.reduce sum %parts
  // CHECK-NEXT:   %r_5 = block.store %r_4 : !block.vector<M x f32>
  // CHECK-NEXT:   block.yield %r_5
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_6 = block.assemble %R [M] : !block.list<M, vector<M x f32>> -> tensor<200xf32>
  // CHECK-NEXT: func.return %r_6
  %r = array.reduce sum %x axes [0, 2] : tensor<5x200x64xf32> -> tensor<200xf32>
  func.return %r : tensor<200xf32>
}

// The statistic is read by its rows again.
// CHECK-LABEL: func.func @centred(
// CHECK-SAME: block.dims = {M = #block.dim<200>, N = #block.dim<64>}
func.func @centred(%x: tensor<200x64xf32>) -> tensor<200x64xf32> {
  // CHECK-NEXT: %X = block.partition %x [M, N] : tensor<200x64xf32> -> !block.list<M, N, block<M x N x f32>>
  // CHECK-NEXT: %Max = block.map @M (%X_m = %X) -> (stack)
  // CHECK-NEXT:   %parts = block.map @N (%X_mn = %X_m) -> (stack)
  // CHECK-NEXT:     %x_1 = block.load %X_mn
  // CHECK-NEXT:     %max = block.row_max %x_1
  // CHECK-NEXT:     %max_1 = block.store %max : !block.vector<M x f32>
  // CHECK-NEXT:     block.yield %max_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   %max_2 = block.reduce max %parts
  // CHECK-NEXT:   %max_3 = block.store %max_2 : !block.vector<M x f32>
  // CHECK-NEXT:   block.yield %max_3
  // CHECK-NEXT: }
  // CHECK-NEXT: %R = block.map @M (%X_m_1 = %X, %Max_m = %Max) -> (stack)
  // CHECK-NEXT:   %R_m = block.map @N (%X_mn_1 = %X_m_1) -> (stack)
  // CHECK-NEXT:     %x_2 = block.load %X_mn_1
  // CHECK-NEXT:     %max_4 = block.load %Max_m
  // CHECK-NEXT:     %neg = block.elementwise (%max_5 = %max_4) : !block.vector<M x f32> -> !block.vector<M x f32> {
  // CHECK-NEXT:       %0 = arith.negf %max_5 : f32
  // CHECK-NEXT:       block.yield %0
  // CHECK-NEXT:     }
  // CHECK-NEXT:     %r = block.row_shift %x_2, %neg
  // CHECK-NEXT:     %r_1 = block.store %r : !block.block<M x N x f32>
  // CHECK-NEXT:     block.yield %r_1
  // CHECK-NEXT:   }
  // CHECK-NEXT:   block.yield %R_m
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_2 = block.assemble %R [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<200x64xf32>
  // CHECK-NEXT: func.return %r_2
  %max = array.reduce max %x axes [1] keepdims : tensor<200x64xf32> -> tensor<200x1xf32>
  %r = array.elementwise (%p = %x, %q = %max) : tensor<200x64xf32>, tensor<200x1xf32> -> tensor<200x64xf32> {
    %d = arith.subf %p, %q : f32
    array.yield %d : f32
  }
  func.return %r : tensor<200x64xf32>
}
