// RUN: bb-opt %s -p "block-apply{rules=inline-whole-dim}" | filecheck %s

!X = !block.block<M x K x f32>
!C = !block.vector<M x f32>

// y = map K (x) -> (stack) { store(f(load(x))) }
//   -> y = store(f(load(x)))
// CHECK-LABEL: func.func @inline_whole_dim(
func.func @inline_whole_dim(%x: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {block.dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, whole>}} {
  // CHECK-NEXT: %X = block.partition %x [M, K]
  // CHECK-NEXT: %Y = block.map @M (%xm = %X) -> (stack)
  // CHECK-NEXT: %i = block.load %xm
  // CHECK-NEXT: %f = block.mul %i, %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %y = block.assemble %Y [M, K]
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %X = block.partition %x [M, K] : tensor<5x7xf32> -> !block.list<M, K, block<M x K x f32>>
  %Y = block.map @M (%xm = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %y = block.map @K (%xk = %xm) -> (stack) : !block.list<K, block<M x K x f32>> {
      %i = block.load %xk : !block.block<M x K x f32, global>
      %f = block.mul %i, %i : !X
      %o = block.store %f : !X
      block.yield %o : !block.block<M x K x f32, global>
    }
    block.yield %y : !block.list<K, block<M x K x f32>>
  }
  %y = block.assemble %Y [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<5x7xf32>
  func.return %y : tensor<5x7xf32>
}

// All kinds of results, a reduction, and every whole dim of the function; the index then counts from 0.
// CHECK-LABEL: func.func @inline_whole_dim_of_every_kind(
func.func @inline_whole_dim_of_every_kind(%x: tensor<5x7xf32>) -> (tensor<7xf32>, tensor<7xf32>, tensor<5xf32>) attributes {block.dims = {M = #block.dim<5, whole>, K = #block.dim<7, whole>}} {
  // CHECK-NEXT: %X = block.partition %x [M, K]
  // CHECK-NEXT: %i = block.load %X
  // CHECK-NEXT: %j = block.elementwise (%p = %i)
  // CHECK-NEXT: %0 = block.index @M
  // CHECK-NEXT: %1 = arith.index_cast %0
  // CHECK-NEXT: %2 = arith.sitofp %1
  // CHECK-NEXT: %3 = arith.mulf %2, %p
  // CHECK-NEXT: block.yield %3
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.row_sum %j acc f32
  // CHECK-NEXT: %t = block.row_max %j
  // CHECK-NEXT: %u = block.store %s
  // CHECK-NEXT: %v = block.store %t
  // CHECK-NEXT: %W = block.partition %x [M, K]
  // CHECK-NEXT: %i_1 = block.load %W
  // CHECK-NEXT: %s_1 = block.row_sum %i_1 acc f32
  // CHECK-NEXT: %o = block.store %s_1
  // CHECK-NEXT: %parts = block.load %o
  // CHECK-NEXT: %o_1 = block.store %parts
  // CHECK-NEXT: %y = block.assemble %u [K]
  // CHECK-NEXT: %z = block.assemble %v [K]
  // CHECK-NEXT: %r = block.assemble %o_1 [M]
  // CHECK-NEXT: func.return %y, %z, %r
  // CHECK-NEXT: }
  %X = block.partition %x [M, K] : tensor<5x7xf32> -> !block.list<K, M, block<K x M x f32>>
  %Y, %Z = block.map @K (%xk = %X) -> (stack, stack) : !block.list<K, M, block<K x M x f32>> {
    %y, %z = block.map @M (%xm = %xk) -> (sum, max) : !block.list<M, block<K x M x f32>> {
      %i = block.load %xm : !block.block<K x M x f32, global>
      %j = block.elementwise (%p = %i) : !block.block<K x M x f32> -> !block.block<K x M x f32> {
        %0 = block.index @M
        %1 = arith.index_cast %0 : index to i32
        %2 = arith.sitofp %1 : i32 to f32
        %3 = arith.mulf %2, %p : f32
        block.yield %3 : f32
      }
      %s = block.row_sum %j acc f32 : !block.block<K x M x f32>
      %t = block.row_max %j : !block.block<K x M x f32>
      block.yield %s, %t : !block.vector<K x f32>, !block.vector<K x f32>
    }
    %u = block.store %y : !block.vector<K x f32>
    %v = block.store %z : !block.vector<K x f32>
    block.yield %u, %v : !block.vector<K x f32, global>, !block.vector<K x f32, global>
  }
  %W = block.partition %x [M, K] : tensor<5x7xf32> -> !block.list<M, K, block<M x K x f32>>
  %R = block.map @M (%wm = %W) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %parts = block.map @K (%wk = %wm) -> (stack) : !block.list<K, block<M x K x f32>> {
      %i = block.load %wk : !block.block<M x K x f32, global>
      %s = block.row_sum %i acc f32 : !X
      %o = block.store %s : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    %r = block.reduce sum %parts : !block.list<K, vector<M x f32>>
    %o = block.store %r : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [K] : !block.list<K, vector<K x f32>> -> tensor<7xf32>
  %z = block.assemble %Z [K] : !block.list<K, vector<K x f32>> -> tensor<7xf32>
  %r = block.assemble %R [M] : !block.list<M, vector<M x f32>> -> tensor<5xf32>
  func.return %y, %z, %r : tensor<7xf32>, tensor<7xf32>, tensor<5xf32>
}

// Lists that are arguments and results of the function change with the rest.
// CHECK-LABEL: func.func @inline_whole_dim_of_arguments(
func.func @inline_whole_dim_of_arguments(%xs: !block.list<K, vector<M x f32>>) -> !block.list<K, vector<M x f32>> attributes {block.dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, whole>}} {
  // CHECK-NEXT: %i = block.load %xs
  // CHECK-NEXT: %f = block.mul %i, %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: func.return %o
  // CHECK-NEXT: }
  %y = block.map @K (%xk = %xs) -> (stack) : !block.list<K, vector<M x f32>> {
    %i = block.load %xk : !block.vector<M x f32, global>
    %f = block.mul %i, %i : !C
    %o = block.store %f : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %y : !block.list<K, vector<M x f32>>
}

// Declined where not: the dim is declared whole in `block.dims`.
// CHECK-LABEL: func.func @inline_whole_dim_without_whole(
func.func @inline_whole_dim_without_whole(%x: tensor<5x7xf32>) -> tensor<5x7xf32> attributes {block.dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, block = 4>}} {
  // CHECK-NEXT: %X = block.partition %x [M, K]
  // CHECK-NEXT: %Y = block.map @M (%xm = %X) -> (stack)
  // CHECK-NEXT: %y = block.map @K (%xk = %xm) -> (stack)
  // CHECK-NEXT: %i = block.load %xk
  // CHECK-NEXT: %f = block.mul %i, %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %y
  // CHECK-NEXT: }
  // CHECK-NEXT: %y_1 = block.assemble %Y [M, K]
  // CHECK-NEXT: func.return %y_1
  // CHECK-NEXT: }
  %X = block.partition %x [M, K] : tensor<5x7xf32> -> !block.list<M, K, block<M x K x f32>>
  %Y = block.map @M (%xm = %X) -> (stack) : !block.list<M, K, block<M x K x f32>> {
    %y = block.map @K (%xk = %xm) -> (stack) : !block.list<K, block<M x K x f32>> {
      %i = block.load %xk : !block.block<M x K x f32, global>
      %f = block.mul %i, %i : !X
      %o = block.store %f : !X
      block.yield %o : !block.block<M x K x f32, global>
    }
    block.yield %y : !block.list<K, block<M x K x f32>>
  }
  %y = block.assemble %Y [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<5x7xf32>
  func.return %y : tensor<5x7xf32>
}
