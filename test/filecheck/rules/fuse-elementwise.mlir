// RUN: bb-opt %s -p "block-apply{rules=fuse-elementwise}" | filecheck %s
// RUN: bb-opt %s -p block-fuse-elementwise | filecheck %s

!X = !block.block<M x N x f32>
!Xg = !block.block<M x N x f32, global>
!C = !block.vector<M x f32>
!D = !block.vector<N x f32>
!Xs = !block.list<N, block<M x N x f32>>
#dims = {M = #block.dim<3, block = 2>, N = #block.dim<5, block = 2>}

// y = exp(x); z = row_scale(y, c)
//   -> z = elementwise (x, c) { exp(x) * c }
// CHECK-LABEL: func.func @fuse_elementwise(
func.func @fuse_elementwise(%xg: !Xg, %c: !C) -> !Xg attributes {block.dims = #dims} {
  // CHECK-NEXT: %x = block.load %xg
  // CHECK-NEXT: %z = block.elementwise (%c_1 = %c, %x_1 = %x)
  // CHECK-NEXT: %e = math.exp %x_1
  // CHECK-NEXT: %0 = arith.mulf %e, %c_1
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %z
  // CHECK-NEXT: func.return %o
  // CHECK-NEXT: }
  %x = block.load %xg : !Xg
  %y = block.elementwise (%a = %x) : !X -> !X {
    %e = math.exp %a : f32
    block.yield %e : f32
  }
  %z = block.row_scale %y, %c : !X, !C
  %o = block.store %z : !X
  func.return %o : !Xg
}

// Every operator of elements has a scalar form; coefficients are exact until they are written as numbers.
// CHECK-LABEL: func.func @fuse_elementwise_of_every_operator(
func.func @fuse_elementwise_of_every_operator(%x: !X, %y: !X, %c: !C, %d: !D) -> !Xg attributes {block.dims = #dims} {
  // CHECK-NEXT: %l = block.elementwise (%c_1 = %c, %y_1 = %y, %d_1 = %d, %x_1 = %x)
  // CHECK-NEXT: %0 = arith.addf %x_1, %c_1
  // CHECK-NEXT: %1 = arith.mulf %0, %d_1
  // CHECK-NEXT: %2 = arith.mulf %1, %y_1
  // CHECK-NEXT: %3 = arith.subf %2, %y_1
  // CHECK-NEXT: %4 = arith.addf %3, %x_1
  // CHECK-NEXT: %5 = arith.addf %4, %d_1
  // CHECK-NEXT: %6 = arith.mulf %5, %5
  // CHECK-NEXT: %7 = arith.divf %6, %y_1
  // CHECK-NEXT: %8 = arith.constant {bb.exact = 0.33333333333333331 : f64} 0.333333343 : f32
  // CHECK-NEXT: %9 = arith.mulf %7, %8
  // CHECK-NEXT: %10 = arith.constant 2.000000e+00 : f32
  // CHECK-NEXT: %11 = block.extent @N
  // CHECK-NEXT: %12 = arith.index_cast %11 : index to i64
  // CHECK-NEXT: %13 = arith.sitofp %12 : i64 to f32
  // CHECK-NEXT: %14 = arith.mulf %10, %13
  // CHECK-NEXT: %15 = arith.mulf %9, %14
  // CHECK-NEXT: %16 = arith.mulf %15, %c_1
  // CHECK-NEXT: block.yield %16
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.store %l
  %a = block.row_shift %x, %c : !X, !C
  %b = block.col_scale %a, %d : !X, !D
  %e = block.mul %b, %y : !X
  %f = block.sub %e, %y : !X
  %g = block.add %f, %x : !X
  %h = block.col_shift %g, %d : !X, !D
  %i = block.monomial %h ** 2 * %y ** -1 : !X
  %j = block.linear 1/3 * %i : !X
  %k = block.linear 2 extent(N) * %j : !X
  %l = block.row_scale %k, %c : !X, !C
  %r = block.store %l : !X
  func.return %r : !Xg
}

// Statistics are items too.
// CHECK-LABEL: func.func @fuse_elementwise_of_statistics(
func.func @fuse_elementwise_of_statistics(%s: !C, %t: !C) -> !block.vector<M x f32, global> attributes {block.dims = #dims} {
  // CHECK-NEXT: %u = block.elementwise (%t_1 = %t, %s_1 = %s)
  // CHECK: math.rsqrt
  // CHECK: block.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.store %u
  %m = block.linear 1/2 * %s + -1 * %t : !C
  %q = block.elementwise (%a = %m) : !C -> !C {
    %e = math.rsqrt %a : f32
    block.yield %e : f32
  }
  %u = block.monomial %q * %t : !C
  %r = block.store %u : !C
  func.return %r : !block.vector<M x f32, global>
}

// Declined where not: no other operator reads the item.
// CHECK-LABEL: func.func @fuse_elementwise_without_single_use(
func.func @fuse_elementwise_without_single_use(%x: !X, %c: !C) -> (!Xg, !Xg) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.mul %x, %x
  // CHECK-NEXT: %z = block.row_scale %y, %c
  // CHECK-NEXT: %o = block.store %y
  // CHECK-NEXT: %p = block.store %z
  %y = block.mul %x, %x : !X
  %z = block.row_scale %y, %c : !X, !C
  %o = block.store %y : !X
  %p = block.store %z : !X
  func.return %o, %p : !Xg, !Xg
}

// Declined where not: both operators make items with the same axes.
// CHECK-LABEL: func.func @fuse_elementwise_without_same_axes(
func.func @fuse_elementwise_without_same_axes(%x: !X, %s: !C) -> !Xg attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.monomial %s ** -1
  // CHECK-NEXT: %z = block.row_scale %x, %c
  %c = block.monomial %s ** -1 : !C
  %z = block.row_scale %x, %c : !X, !C
  %o = block.store %z : !X
  func.return %o : !Xg
}

// Declined where not: both stand in the same body.
// CHECK-LABEL: func.func @fuse_elementwise_without_same_place(
func.func @fuse_elementwise_without_same_place(%xs: !Xs, %s: !C) -> !block.list<N, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.monomial %s ** -1
  // CHECK-NEXT: %z = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %t = block.row_sum %x
  // CHECK-NEXT: %u = block.monomial %t * %c
  %c = block.monomial %s ** -1 : !C
  %z = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !Xg
    %t = block.row_sum %x acc f32 : !X
    %u = block.monomial %t * %c : !C
    %o = block.store %u : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %z : !block.list<N, vector<M x f32>>
}

// Declined where not: both have a scalar form: coefficients with block counts or widths have none.
// CHECK-LABEL: func.func @fuse_elementwise_without_scalars(
func.func @fuse_elementwise_without_scalars(%s: !C, %t: !C) -> !block.vector<M x f32, global> attributes {block.dims = #dims} {
  // CHECK-NEXT: %u = block.linear 1 * %s + 1 blocks(N) * %t
  // CHECK-NEXT: %v = block.monomial %u * %t
  %u = block.linear 1 * %s + 1 blocks(N) * %t : !C
  %v = block.monomial %u * %t : !C
  %o = block.store %v : !C
  func.return %o : !block.vector<M x f32, global>
}
