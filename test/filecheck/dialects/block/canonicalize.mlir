// RUN: bb-opt %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @load_of_store
func.func @load_of_store(%X: !block.list<M, vector<M x f32>>) -> tensor<8xf32>
    attributes {block.dims = {M = #block.dim<8>}} {
  // CHECK-NEXT: %Y = block.map @M (%x = %X) -> (stack)
  %Y = block.map @M (%x = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    // CHECK-NEXT: %a = block.load %x
    %a = block.load %x : !block.vector<M x f32, global>
    %s = block.store %a : !block.vector<M x f32>
    %b = block.load %s : !block.vector<M x f32, global>
    // CHECK-NEXT: %c = block.add %a, %a
    %c = block.add %a, %b : !block.vector<M x f32>
    // CHECK-NEXT: %d = block.store %c
    %d = block.store %c : !block.vector<M x f32>
    // CHECK-NEXT: block.yield %d
    block.yield %d : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}

// The stored item is still read by others, so it stays.
// CHECK-LABEL: func.func @store_is_used
func.func @store_is_used(%x: !block.scalar<f32, global>) -> (tensor<f32>, tensor<f32>)
    attributes {block.dims = {}} {
  %a = block.load %x : !block.scalar<f32, global>
  // CHECK: %s = block.store %a
  %s = block.store %a : !block.scalar<f32>
  // CHECK-NEXT: %c = block.add %a, %a
  %b = block.load %s : !block.scalar<f32, global>
  %c = block.add %b, %a : !block.scalar<f32>
  %t = block.store %c : !block.scalar<f32>
  // CHECK: block.assemble %s
  %y = block.assemble %s [] : !block.scalar<f32, global> -> tensor<f32>
  %z = block.assemble %t [] : !block.scalar<f32, global> -> tensor<f32>
  func.return %y, %z : tensor<f32>, tensor<f32>
}

// CHECK-LABEL: func.func @views_cancel
func.func @views_cancel(%x: tensor<8x?xf32>) -> tensor<8x?xf32>
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<?>}} {
  %X = block.partition %x [M, K] : tensor<8x?xf32> -> !block.list<M, K, block<M x K x f32>>
  %y = block.assemble %X [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<8x?xf32>
  // CHECK-NEXT: func.return %x
  func.return %y : tensor<8x?xf32>
}

// CHECK-LABEL: func.func @list_of_an_array
func.func @list_of_an_array(%X: !block.list<M, vector<M x f32>>) -> !block.list<M, vector<M x f32>>
    attributes {block.dims = {M = #block.dim<8>}} {
  %x = block.assemble %X [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  %Y = block.partition %x [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  // CHECK-NEXT: func.return %X
  func.return %Y : !block.list<M, vector<M x f32>>
}

// Another order of the axes is a transposition, another list another view.
// CHECK-LABEL: func.func @views_differ
func.func @views_differ(%x: tensor<8x8xf32>, %X: !block.list<M, K, block<M x K x f32>>) -> (tensor<8x8xf32>, !block.list<K, M, block<M x K x f32>>, tensor<?x8xf32>)
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<8>}} {
  // CHECK-NEXT: %A = block.partition %x [M, K]
  %A = block.partition %x [M, K] : tensor<8x8xf32> -> !block.list<M, K, block<M x K x f32>>
  // CHECK-NEXT: %a = block.assemble %A [K, M]
  %a = block.assemble %A [K, M] : !block.list<M, K, block<M x K x f32>> -> tensor<8x8xf32>
  // CHECK-NEXT: %b = block.assemble %X [M, K]
  %b = block.assemble %X [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<8x8xf32>
  // CHECK-NEXT: %B = block.partition %b [M, K]
  %B = block.partition %b [M, K] : tensor<8x8xf32> -> !block.list<K, M, block<M x K x f32>>
  // CHECK-NEXT: %c = block.assemble %A [M, K] {{.*}} -> tensor<?x8xf32>
  %c = block.assemble %A [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<?x8xf32>
  func.return %a, %B, %c : tensor<8x8xf32>, !block.list<K, M, block<M x K x f32>>, tensor<?x8xf32>
}

// CHECK-LABEL: func.func @unused_input
func.func @unused_input(%X: !block.list<M, vector<M x f32>>, %Y: !block.list<M, scalar<f32>>) -> !block.list<M, vector<M x f32>>
    attributes {block.dims = {M = #block.dim<8>}} {
  // CHECK-NEXT: %Z = block.map @M (%y = %Y) -> (stack) : !block.list<M, scalar<f32>> attributes {note = 1 : i64} {
  %Z = block.map @M (%x = %X, %y = %Y) -> (stack) : !block.list<M, vector<M x f32>>, !block.list<M, scalar<f32>> attributes {note = 1 : i64} {
    %a = block.load %y : !block.scalar<f32, global>
    %b = block.elementwise (%p = %a) : !block.scalar<f32> -> !block.vector<M x f32> {
      block.yield %p : f32
    }
    %c = block.store %b : !block.vector<M x f32>
    block.yield %c : !block.vector<M x f32, global>
  }
  func.return %Z : !block.list<M, vector<M x f32>>
}

// CHECK-LABEL: func.func @duplicate_input
func.func @duplicate_input(%X: !block.list<M, vector<M x f32>>) -> !block.list<M, vector<M x f32>>
    attributes {block.dims = {M = #block.dim<8>}} {
  // CHECK-NEXT: %Z = block.map @M (%x = %X) -> (stack) : !block.list<M, vector<M x f32>> {
  %Z = block.map @M (%x = %X, %y = %X) -> (stack) : !block.list<M, vector<M x f32>>, !block.list<M, vector<M x f32>> {
    // CHECK-NEXT: %a = block.load %x
    %a = block.load %x : !block.vector<M x f32, global>
    // CHECK-NEXT: %b = block.load %x
    %b = block.load %y : !block.vector<M x f32, global>
    // CHECK-NEXT: %c = block.add %a, %b
    %c = block.add %a, %b : !block.vector<M x f32>
    %d = block.store %c : !block.vector<M x f32>
    block.yield %d : !block.vector<M x f32, global>
  }
  func.return %Z : !block.list<M, vector<M x f32>>
}

// What only an unused result needs goes with it, through the nest.
// CHECK-LABEL: func.func @unused_results
func.func @unused_results(%X: !block.list<M, K, block<M x K x f32>>, %Y: !block.list<M, K, block<M x K x f32>>) -> !block.list<M, vector<M x f32>>
    attributes {block.dims = {M = #block.dim<8>, K = #block.dim<8>}} {
  // CHECK-NEXT: %Z = block.map @M (%x = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
  %Z, %W = block.map @M (%x = %X, %y = %Y) -> (stack, stack) : !block.list<M, K, block<M x K x f32>>, !block.list<M, K, block<M x K x f32>> {
    // CHECK-NEXT: %a = block.map @K (%xx = %x) -> (sum) : !block.list<K, block<M x K x f32>> {
    %a, %b, %c = block.map @K (%xx = %x, %yy = %y) -> (sum, max, any) : !block.list<K, block<M x K x f32>>, !block.list<K, block<M x K x f32>> {
      // CHECK-NEXT: block.load %xx
      // CHECK-NEXT: block.row_sum
      // CHECK-NEXT: block.yield %{{[a-z0-9]+}} : !block.vector<M x f32>
      %p = block.load %xx : !block.block<M x K x f32, global>
      %q = block.load %yy : !block.block<M x K x f32, global>
      %r = block.row_sum %p acc f32 : !block.block<M x K x f32>
      %s = block.row_max %q : !block.block<M x K x f32>
      %t = block.sub %r, %r : !block.vector<M x f32>
      block.yield %r, %s, %t : !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32>
    }
    // CHECK: %d = block.store %a
    %d = block.store %a : !block.vector<M x f32>
    // CHECK-NEXT: block.yield %d : !block.vector<M x f32, global>
    %e = block.store %b : !block.vector<M x f32>
    block.yield %d, %e : !block.vector<M x f32, global>, !block.vector<M x f32, global>
  }
  func.return %Z : !block.list<M, vector<M x f32>>
}
