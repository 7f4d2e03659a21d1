// RUN: bb-opt %s -p array-to-block | filecheck %s

// The index of a row times a vector over the columns is a block.
// CHECK-LABEL: func.func @row_index(
func.func @row_index(%v: tensor<6xf32>) -> tensor<8x6xf32> {
  // CHECK-NEXT: %V = block.partition %v [N] : tensor<6xf32> -> !block.list<N, vector<N x f32>>
  // CHECK-NEXT: %E = block.map @M () -> (stack)
  // CHECK-NEXT:   %E_m = block.map @N (%V_n = %V) -> (stack)
  // CHECK-NEXT:     %v_1 = block.load %V_n
  // CHECK-NEXT:     %e = block.elementwise (%v_2 = %v_1) : !block.vector<N x f32> -> !block.block<M x N x f32> {
  // CHECK-NEXT:       {{%\d+}} = block.index @M
  %i = array.iota axis 0 : tensor<8x6xi32>
  %e = array.elementwise (%p = %i, %q = %v) : tensor<8x6xi32>, tensor<6xf32> -> tensor<8x6xf32> {
    %f = arith.sitofp %p : i32 to f32
    %z = arith.mulf %f, %q : f32
    array.yield %z : f32
  }
  func.return %e : tensor<8x6xf32>
}

// What an iota is like has to be there where the iota is wanted as an array.
// CHECK-LABEL: func.func @like_computed(
func.func @like_computed(%x: tensor<?x3xf32>) -> tensor<?x3xi32> {
  // CHECK-NEXT: %X = block.partition %x [M, N]
  // CHECK-NEXT: %Y = block.map @M (%X_m = %X) -> (stack)
  // CHECK:      %y_2 = block.assemble %Y [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<?x3xf32>
  // CHECK-NEXT: %i = array.iota axis 0 like %y_2 : tensor<?x3xf32> -> tensor<?x3xi32>
  // CHECK-NEXT: func.return %i
  %y = array.elementwise (%p = %x) : tensor<?x3xf32> -> tensor<?x3xf32> {
    %z = math.exp %p : f32
    array.yield %z : f32
  }
  %i = array.iota axis 0 like %y : tensor<?x3xf32> -> tensor<?x3xi32>
  func.return %i : tensor<?x3xi32>
}
