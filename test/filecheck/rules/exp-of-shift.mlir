// RUN: bb-opt %s -p "block-apply{rules=exp-of-shift}" | filecheck %s

!A = !block.block<M x K x f32>
!C = !block.vector<M x f32>
!G = !block.vector<K x f32>
!Cs = !block.list<K, vector<M x f32>>
#dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, block = 4>}
#ndims = {M = #block.dim<5, block = 2>, K = #block.dim<7, block = 4>, N = #block.dim<9, block = 4>}

// exp(row_shift(x, c))
//   -> row_scale(exp(x), exp(c))
// CHECK-LABEL: func.func @exp_of_shift(
func.func @exp_of_shift(%x: !A, %cs: !Cs) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce max %cs
  // CHECK-NEXT: %e = block.elementwise (%p = %x)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %exp = block.elementwise (%0 = %c)
  // CHECK-NEXT: %1 = math.exp %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %e_1 = block.row_scale %e, %exp
  // CHECK-NEXT: func.return %e_1
  // CHECK-NEXT: }
  %c = block.reduce max %cs : !Cs
  %s = block.row_shift %x, %c : !A, !C
  %e = block.elementwise (%p = %s) : !A -> !A {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  func.return %e : !A
}

// A shift waits just as well if it is computed from a reduced result.
// CHECK-LABEL: func.func @exp_of_shift_by_a_computed_vector(
func.func @exp_of_shift_by_a_computed_vector(%x: !A, %xs: !block.list<K, block<M x K x f32>>) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %m = block.map @K (%xk = %xs) -> (max)
  // CHECK-NEXT: %i = block.load %xk
  // CHECK-NEXT: %r = block.row_max %i
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: %c = block.linear -1 * %m
  // CHECK-NEXT: %e = block.elementwise (%p = %x)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %exp = block.elementwise (%0 = %c)
  // CHECK-NEXT: %1 = math.exp %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %e_1 = block.row_scale %e, %exp
  // CHECK-NEXT: func.return %e_1
  // CHECK-NEXT: }
  %m = block.map @K (%xk = %xs) -> (max) : !block.list<K, block<M x K x f32>> {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %r = block.row_max %i : !A
    block.yield %r : !C
  }
  %c = block.linear -1 * %m : !C
  %s = block.row_shift %x, %c : !A, !C
  %e = block.elementwise (%p = %s) : !A -> !A {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  func.return %e : !A
}

// Declined where not: c depends on a reduced result that x does not depend on: the block would wait for a whole loop.
// CHECK-LABEL: func.func @exp_of_shift_without_demand(
func.func @exp_of_shift_without_demand(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %e = block.elementwise (%p = %s)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %e
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %e = block.elementwise (%p = %s) : !A -> !A {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  func.return %e : !A
}

// The maximum of a block's own rows is ready when the block is.
// CHECK-LABEL: func.func @exp_of_shift_without_demand_of_its_own(
func.func @exp_of_shift_without_demand_of_its_own(%x: !A, %xs: !block.list<N, block<M x K x f32>>) -> !A attributes {block.dims = #ndims} {
  // CHECK-NEXT: %r = block.reduce sum %xs
  // CHECK-NEXT: %y = block.elementwise (%a = %x, %b = %r)
  // CHECK-NEXT: %w = arith.maximumf %a, %b
  // CHECK-NEXT: block.yield %w
  // CHECK-NEXT: }
  // CHECK-NEXT: %m = block.row_max %y
  // CHECK-NEXT: %c = block.linear -1 * %m
  // CHECK-NEXT: %s = block.row_shift %y, %c
  // CHECK-NEXT: %e = block.elementwise (%p = %s)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %e
  // CHECK-NEXT: }
  %r = block.reduce sum %xs : !block.list<N, block<M x K x f32>>
  %y = block.elementwise (%a = %x, %b = %r) : !A, !A -> !A {
    %w = arith.maximumf %a, %b : f32
    block.yield %w : f32
  }
  %m = block.row_max %y : !A
  %c = block.linear -1 * %m : !C
  %s = block.row_shift %y, %c : !A, !C
  %e = block.elementwise (%p = %s) : !A -> !A {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  func.return %e : !A
}

// A column shift (a mask or a bias) stays inside the exponential.
// CHECK-LABEL: func.func @exp_of_shift_not_by_columns(
func.func @exp_of_shift_not_by_columns(%x: !A, %ds: !block.list<M, vector<K x f32>>) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.reduce max %ds
  // CHECK-NEXT: %s = block.col_shift %x, %d
  // CHECK-NEXT: %e = block.elementwise (%p = %s)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %e
  // CHECK-NEXT: }
  %d = block.reduce max %ds : !block.list<M, vector<K x f32>>
  %s = block.col_shift %x, %d : !A, !G
  %e = block.elementwise (%p = %s) : !A -> !A {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  func.return %e : !A
}

// Another function of the shifted block, even if an exponential is part of it.
// CHECK-LABEL: func.func @exp_of_shift_not_inside_a_function(
func.func @exp_of_shift_not_inside_a_function(%x: !A, %cs: !Cs) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce max %cs
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %e = block.elementwise (%p = %s)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: %one = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: %y = arith.addf %z, %one
  // CHECK-NEXT: block.yield %y
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %e
  // CHECK-NEXT: }
  %c = block.reduce max %cs : !Cs
  %s = block.row_shift %x, %c : !A, !C
  %e = block.elementwise (%p = %s) : !A -> !A {
    %z = math.exp %p : f32
    %one = arith.constant 1.0 : f32
    %y = arith.addf %z, %one : f32
    block.yield %y : f32
  }
  func.return %e : !A
}
