// RUN: bb-opt %s -p cse | filecheck %s --check-prefix CSE
// RUN: bb-opt %s -p dce | filecheck %s --check-prefix DCE

// Loads, stores and maps are pure: equal ones are merged, with all that they contain.
// CSE-LABEL: func.func @equal_maps
func.func @equal_maps(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    attributes {block.dims = {M = #block.dim<8>}} {
  // CSE-NEXT: %X = block.partition %x [M]
  %X = block.partition %x [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  %Y = block.partition %x [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  // CSE-NEXT: %Z = block.map @M (%p = %X) -> (stack)
  %Z = block.map @M (%p = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    // CSE-NEXT: %a = block.load %p
    %a = block.load %p : !block.vector<M x f32, global>
    // CSE-NEXT: %c = block.add %a, %a
    %b = block.load %p : !block.vector<M x f32, global>
    %c = block.add %a, %b : !block.vector<M x f32>
    // CSE-NEXT: %d = block.store %c
    %d = block.store %c : !block.vector<M x f32>
    // CSE-NEXT: block.yield %d
    block.yield %d : !block.vector<M x f32, global>
  }
  // CSE-NEXT: }
  %W = block.map @M (%p = %Y) -> (stack) : !block.list<M, vector<M x f32>> {
    %a = block.load %p : !block.vector<M x f32, global>
    %b = block.load %p : !block.vector<M x f32, global>
    %c = block.add %a, %b : !block.vector<M x f32>
    %d = block.store %c : !block.vector<M x f32>
    block.yield %d : !block.vector<M x f32, global>
  }
  // CSE-NEXT: %z = block.assemble %Z [M]
  %z = block.assemble %Z [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  %w = block.assemble %W [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  // CSE-NEXT: func.return %z, %z
  func.return %z, %w : tensor<8xf32>, tensor<8xf32>
}

// CSE-LABEL: func.func @different_maps
func.func @different_maps(%X: !block.list<K, vector<M x f32>>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    attributes {block.dims = {M = #block.dim<4, whole>, K = #block.dim<4, batch>}} {
  // The kind and the accumulation type make a difference.
  // CSE: block.map @K {{.*}} -> (max)
  %a = block.map @K (%p = %X) -> (max) : !block.list<K, vector<M x f32>> {
    %q = block.load %p : !block.vector<M x f32, global>
    block.yield %q : !block.vector<M x f32>
  }
  // CSE: block.map @K {{.*}} -> (min)
  %b = block.map @K (%p = %X) -> (min) : !block.list<K, vector<M x f32>> {
    %q = block.load %p : !block.vector<M x f32, global>
    block.yield %q : !block.vector<M x f32>
  }
  // CSE: %c = block.reduce sum %X
  %c = block.reduce sum %X : !block.list<K, vector<M x f32>>
  // CSE-NEXT: %d = block.row_sum %c acc f32
  %d = block.row_sum %c acc f32 : !block.vector<M x f32>
  // CSE-NEXT: %e = block.row_sum %c acc f64
  %e = block.row_sum %c acc f64 : !block.vector<M x f32>
  // CSE-NEXT: %f = block.custom @noise(%d)
  %f = block.custom @noise(%d) : (!block.scalar<f32>) -> (!block.vector<M x f32>)
  // A custom operator is a function of its operands.
  // CSE-NEXT: %h = block.custom @noise(%e)
  %g = block.custom @noise(%d) : (!block.scalar<f32>) -> (!block.vector<M x f32>)
  %h = block.custom @noise(%e) : (!block.scalar<f64>) -> (!block.vector<M x f32>)
  // CSE-NEXT: %i = block.add %f, %f
  %i = block.add %f, %g : !block.vector<M x f32>
  %j = block.add %i, %h : !block.vector<M x f32>
  %as = block.store %a : !block.vector<M x f32>
  %bs = block.store %b : !block.vector<M x f32>
  %js = block.store %j : !block.vector<M x f32>
  %ta = block.assemble %as [M] : !block.vector<M x f32, global> -> tensor<4xf32>
  %tb = block.assemble %bs [M] : !block.vector<M x f32, global> -> tensor<4xf32>
  %tj = block.assemble %js [M] : !block.vector<M x f32, global> -> tensor<4xf32>
  func.return %ta, %tb, %tj : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Element-wise regions count: equal ones are one, indices along different dims are not equal.
// CSE-LABEL: func.func @elementwise
func.func @elementwise(%V: !block.block<M x K x i32, global>) -> tensor<8x8xi32>
    attributes {block.dims = {M = #block.dim<8, whole>, K = #block.dim<8, whole>}} {
  // CSE: %v = block.load
  %v = block.load %V : !block.block<M x K x i32, global>
  // CSE-NEXT: %a = block.elementwise
  %a = block.elementwise (%p = %v) : !block.block<M x K x i32> -> !block.block<M x K x i32> {
    // CSE-NEXT: block.index @M
    %i = block.index @M
    // CSE-NEXT: arith.index_cast
    %c = arith.index_cast %i : index to i32
    %q = arith.addi %p, %c : i32
    block.yield %q : i32
  }
  // CSE: %b = block.elementwise
  %b = block.elementwise (%p = %v) : !block.block<M x K x i32> -> !block.block<M x K x i32> {
    // CSE-NEXT: block.index @K
    %i = block.index @K
    %c = arith.index_cast %i : index to i32
    %q = arith.addi %p, %c : i32
    block.yield %q : i32
  }
  %c = block.elementwise (%p = %v) : !block.block<M x K x i32> -> !block.block<M x K x i32> {
    %i = block.index @M
    %c = arith.index_cast %i : index to i32
    %q = arith.addi %p, %c : i32
    block.yield %q : i32
  }
  // CSE: %d = block.sub %a, %b
  %d = block.sub %a, %b : !block.block<M x K x i32>
  // CSE-NEXT: %e = block.sub %d, %a
  %e = block.sub %d, %c : !block.block<M x K x i32>
  %s = block.store %e : !block.block<M x K x i32>
  %t = block.assemble %s [M, K] : !block.block<M x K x i32, global> -> tensor<8x8xi32>
  func.return %t : tensor<8x8xi32>
}

// DCE-LABEL: func.func @dead
func.func @dead(%x: tensor<8xf32>) -> tensor<8xf32>
    attributes {block.dims = {M = #block.dim<8>}} {
  // DCE-NEXT: %X = block.partition %x [M]
  %X = block.partition %x [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  // DCE-NEXT: %Y = block.map @M (%p = %X)
  %Y = block.map @M (%p = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    // DCE-NEXT: %a = block.load %p
    %a = block.load %p : !block.vector<M x f32, global>
    %b = block.custom @f(%a) : (!block.vector<M x f32>) -> (!block.scalar<f32>)
    %c = block.row_max %a : !block.vector<M x f32>
    // DCE-NEXT: %d = block.store %a
    %d = block.store %a : !block.vector<M x f32>
    %e = block.store %c : !block.scalar<f32>
    // DCE-NEXT: block.yield %d
    block.yield %d : !block.vector<M x f32, global>
  }
  // DCE-NEXT: }
  %Z = block.map @M (%p = %Y) -> (stack) : !block.list<M, vector<M x f32>> {
    %a = block.load %p : !block.vector<M x f32, global>
    %d = block.store %a : !block.vector<M x f32>
    block.yield %d : !block.vector<M x f32, global>
  }
  %z = block.assemble %Z [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  // DCE-NEXT: %y = block.assemble %Y [M]
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  // DCE-NEXT: func.return %y
  func.return %y : tensor<8xf32>
}
