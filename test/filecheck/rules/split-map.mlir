// RUN: bb-opt %s -p "block-apply{rules=split-map},canonicalize" | filecheck %s

!X = !block.block<M x N x f32>
!Xs = !block.list<N, block<M x N x f32>>
!C = !block.vector<M x f32>
!W = !block.block<K x N x f32>
!Ws = !block.list<N, block<K x N x f32>>
!Y = !block.block<M x K x f32>
!Ys = !block.list<N, block<M x K x f32>>
#dims = {M = #block.dim<3, block = 2>, N = #block.dim<5, block = 2>, K = #block.dim<3, block = 2>}

// y, s = map N { e, row_sum(e) }; z = map N (y) { row_scale(y, 1/s) }
//   -> s = map N { row_sum(e) }; y = map N { e }; z = map N (y) { row_scale(y, 1/s) }
// CHECK-LABEL: func.func @split_map(
func.func @split_map(%xs: !Xs) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %e = block.mul %x, %x
  // CHECK-NEXT: %o = block.store %e
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.map @N (%xn_1 = %xs) -> (sum)
  // CHECK-NEXT: %x_1 = block.load %xn_1
  // CHECK-NEXT: %e_1 = block.mul %x_1, %x_1
  // CHECK-NEXT: %t = block.row_sum %e_1
  // CHECK-NEXT: block.yield %t
  // CHECK-NEXT: }
  // CHECK-NEXT: %c = block.monomial %s ** -1
  // CHECK-NEXT: %z = block.map @N (%yn = %y) -> (stack)
  // CHECK-NEXT: %i = block.load %yn
  // CHECK-NEXT: %r = block.row_scale %i, %c
  // CHECK-NEXT: %p = block.store %r
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y, %s = block.map @N (%xn = %xs) -> (stack, sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %e = block.mul %x, %x : !X
    %t = block.row_sum %e acc f32 : !X
    %o = block.store %e : !X
    block.yield %o, %t : !block.block<M x N x f32, global>, !C
  }
  %c = block.monomial %s ** -1 : !C
  %z = block.map @N (%yn = %y) -> (stack) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_scale %i, %c : !X, !C
    %p = block.store %r : !X
    block.yield %p : !block.block<M x N x f32, global>
  }
  func.return %z : !Xs
}

// The other way may lead through nothing but the consumer itself, which captures what else the producer makes.
// CHECK-LABEL: func.func @split_map_with_a_captured_result(
func.func @split_map_with_a_captured_result(%xs: !Xs) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK: %s = block.map @N (%xn_1 = %xs) -> (max)
  // CHECK: %z = block.map @N (%yn = %y) -> (stack)
  // CHECK-NEXT: %i = block.load %yn
  // CHECK-NEXT: %r = block.row_scale %i, %s
  %y, %s = block.map @N (%xn = %xs) -> (stack, max) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %e = block.mul %x, %x : !X
    %t = block.row_max %e : !X
    %o = block.store %e : !X
    block.yield %o, %t : !block.block<M x N x f32, global>, !C
  }
  %z = block.map @N (%yn = %y) -> (stack) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_scale %i, %s : !X, !C
    %p = block.store %r : !X
    block.yield %p : !block.block<M x N x f32, global>
  }
  func.return %z : !Xs
}

// The copy leaves out what only the other results need, element-wise operators with all their scalars.
// CHECK-LABEL: func.func @split_map_of_a_part(
func.func @split_map_of_a_part(%xs: !Xs) -> (!Xs, !Xs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %e = block.mul %x, %x
  // CHECK-NEXT: %o = block.store %e
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %q, %s = block.map @N (%xn_1 = %xs) -> (stack, sum)
  // CHECK: %z = block.map @N (%yn = %y) -> (stack)
  %y, %q, %s = block.map @N (%xn = %xs) -> (stack, stack, sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %e = block.mul %x, %x : !X
    %f = block.elementwise (%a = %e) : !X -> !X {
      %one = arith.constant 1.0 : f32
      %b = arith.addf %a, %one : f32
      block.yield %b : f32
    }
    %t = block.row_sum %f acc f32 : !X
    %o = block.store %e : !X
    %p = block.store %f : !X
    block.yield %o, %p, %t : !block.block<M x N x f32, global>, !block.block<M x N x f32, global>, !C
  }
  %z = block.map @N (%yn = %y) -> (stack) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_scale %i, %s : !X, !C
    %p = block.store %r : !X
    block.yield %p : !block.block<M x N x f32, global>
  }
  func.return %z, %q : !Xs, !Xs
}

// Declined where not: the list is a stacked result, so that both maps run over one dim.
// CHECK-LABEL: func.func @split_map_without_stacked(
func.func @split_map_without_stacked(%xs: !Xs, %ks: !block.list<K, vector<M x f32>>) -> !block.list<K, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %s = block.map @N (%xn = %xs) -> (any, sum)
  // CHECK: %z = block.map @K (%yk = %y) -> (stack)
  %y, %s = block.map @N (%xn = %xs) -> (any, sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %t = block.row_sum %x acc f32 : !X
    %l = block.map @K (%k = %ks) -> (stack) : !block.list<K, vector<M x f32>> {
      %v = block.load %k : !block.vector<M x f32, global>
      %w = block.mul %v, %v : !C
      %o = block.store %w : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %l, %t : !block.list<K, vector<M x f32>>, !C
  }
  %z = block.map @K (%yk = %y) -> (stack) : !block.list<K, vector<M x f32>> {
    %i = block.load %yk : !block.vector<M x f32, global>
    %r = block.mul %i, %s : !C
    %p = block.store %r : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !block.list<K, vector<M x f32>>
}

// Declined where not: another way leads from the producer to the consumer (or else the maps fuse as they are).
// CHECK-LABEL: func.func @split_map_without_blocked(
func.func @split_map_without_blocked(%xs: !Xs, %c: !C) -> (!Xs, !block.vector<M x f32, global>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %s = block.map @N (%xn = %xs) -> (stack, sum)
  // CHECK: %z = block.map @N (%yn = %y) -> (stack)
  %y, %s = block.map @N (%xn = %xs) -> (stack, sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %e = block.mul %x, %x : !X
    %t = block.row_sum %e acc f32 : !X
    %o = block.store %e : !X
    block.yield %o, %t : !block.block<M x N x f32, global>, !C
  }
  %z = block.map @N (%yn = %y) -> (stack) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_scale %i, %c : !X, !C
    %p = block.store %r : !X
    block.yield %p : !block.block<M x N x f32, global>
  }
  %u = block.store %s : !C
  func.return %z, %u : !Xs, !block.vector<M x f32, global>
}

// Declined where not: no contraction is repeated.
// CHECK-LABEL: func.func @split_map_without_cheap(
func.func @split_map_without_cheap(%xs: !Xs, %ws: !Ws) -> !Ys attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %s = block.map @N (%xn = %xs, %wn = %ws) -> (stack, sum)
  // CHECK: %z = block.map @N (%yn = %y) -> (stack)
  %y, %s = block.map @N (%xn = %xs, %wn = %ws) -> (stack, sum) : !Xs, !Ws {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %w = block.load %wn : !block.block<K x N x f32, global>
    %e = block.dot %x, %w acc f32 : !X, !W
    %t = block.row_sum %e acc f32 : !Y
    %o = block.store %e : !Y
    block.yield %o, %t : !block.block<M x K x f32, global>, !C
  }
  %z = block.map @N (%yn = %y) -> (stack) : !Ys {
    %i = block.load %yn : !block.block<M x K x f32, global>
    %r = block.row_scale %i, %s : !Y, !C
    %p = block.store %r : !Y
    block.yield %p : !block.block<M x K x f32, global>
  }
  func.return %z : !Ys
}
