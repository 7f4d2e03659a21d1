// RUN: bb-opt %s -p "block-apply{rules=cse}" | filecheck %s

!X = !block.block<M x K x f32>
!Xs = !block.list<K, block<M x K x f32>>
!C = !block.vector<M x f32>
#dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, block = 3>}

// s = sum over K { row_sum(load(x)) }; t = sum over K { row_sum(load(x)) }
//   -> s, used for both
// CHECK-LABEL: func.func @cse(
func.func @cse(%x: !Xs) -> (!C, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @K (%xk = %x) -> (sum)
  // CHECK-NEXT: %i = block.load %xk
  // CHECK-NEXT: %r = block.row_sum %i acc f32
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: %u = block.linear 2 * %s
  // CHECK-NEXT: func.return %s, %u
  // CHECK-NEXT: }
  %s = block.map @K (%xk = %x) -> (sum) : !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %r = block.row_sum %i acc f32 : !X
    block.yield %r : !C
  }
  %t = block.map @K (%xk = %x) -> (sum) : !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %r = block.row_sum %i acc f32 : !X
    block.yield %r : !C
  }
  %u = block.linear 2 * %t : !C
  func.return %s, %u : !C, !C
}

// A single result of a map that does other things as well; the order of operands and terms does not matter.
// CHECK-LABEL: func.func @cse_of_one_result(
func.func @cse_of_one_result(%x: !Xs, %y: !Xs, %c: !C) -> (!C, !C, !C, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %s, %m = block.map @K (%xk = %x, %yk = %y) -> (sum, max)
  // CHECK-NEXT: %i = block.load %xk
  // CHECK-NEXT: %j = block.load %yk
  // CHECK-NEXT: %a = block.mul %i, %j
  // CHECK-NEXT: %r = block.row_sum %a acc f32
  // CHECK-NEXT: %n = block.row_max %i
  // CHECK-NEXT: block.yield %r, %n
  // CHECK-NEXT: }
  // CHECK-NEXT: %u = block.linear 2 * %s + 3 * %c
  // CHECK-NEXT: func.return %s, %m, %u, %u
  // CHECK-NEXT: }
  %s, %m = block.map @K (%xk = %x, %yk = %y) -> (sum, max) : !Xs, !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %j = block.load %yk : !block.block<M x K x f32, global>
    %a = block.mul %i, %j : !X
    %r = block.row_sum %a acc f32 : !X
    %n = block.row_max %i : !X
    block.yield %r, %n : !C, !C
  }
  %u = block.linear 2 * %s + 3 * %c : !C
  %t = block.map @K (%yk = %y, %xk = %x) -> (sum) : !Xs, !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %j = block.load %yk : !block.block<M x K x f32, global>
    %a = block.mul %j, %i : !X
    %r = block.row_sum %a acc f32 : !X
    block.yield %r : !C
  }
  %v = block.linear 3 * %c + 2 * %t : !C
  func.return %s, %m, %u, %v : !C, !C, !C, !C
}

// The same sum over other blocks, another accumulator, another dim: three values.
// CHECK-LABEL: func.func @cse_not_of_others(
func.func @cse_not_of_others(%x: !Xs, %y: !Xs) -> (!C, !C, !block.vector<M x f64>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @K (%xk = %x) -> (sum)
  // CHECK-NEXT: %i = block.load %xk
  // CHECK-NEXT: %r = block.row_sum %i acc f32
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: %t = block.map @K (%xk_1 = %y) -> (sum)
  // CHECK-NEXT: %i_1 = block.load %xk_1
  // CHECK-NEXT: %r_1 = block.row_sum %i_1 acc f32
  // CHECK-NEXT: block.yield %r_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %u = block.map @K (%xk_2 = %x) -> (sum)
  // CHECK-NEXT: %i_2 = block.load %xk_2
  // CHECK-NEXT: %r_2 = block.row_sum %i_2 acc f64
  // CHECK-NEXT: block.yield %r_2
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s, %t, %u
  // CHECK-NEXT: }
  %s = block.map @K (%xk = %x) -> (sum) : !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %r = block.row_sum %i acc f32 : !X
    block.yield %r : !C
  }
  %t = block.map @K (%xk = %y) -> (sum) : !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %r = block.row_sum %i acc f32 : !X
    block.yield %r : !C
  }
  %u = block.map @K (%xk = %x) -> (sum) : !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %r = block.row_sum %i acc f64 : !X
    block.yield %r : !block.vector<M x f64>
  }
  func.return %s, %t, %u : !C, !C, !block.vector<M x f64>
}

// Declined where not: the first value is visible where the second is computed.
// CHECK-LABEL: func.func @cse_without_visible(
func.func @cse_without_visible(%x: !Xs, %y: !Xs, %c: !C) -> (!Xs, !Xs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @K (%xk = %x) -> (stack)
  // CHECK-NEXT: %i = block.load %xk
  // CHECK-NEXT: %d = block.mul %c, %c
  // CHECK-NEXT: %r = block.row_scale %i, %d
  // CHECK-NEXT: %o = block.store %r
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %t = block.map @K (%yk = %y) -> (stack)
  // CHECK-NEXT: %i_1 = block.load %yk
  // CHECK-NEXT: %d_1 = block.mul %c, %c
  // CHECK-NEXT: %r_1 = block.row_scale %i_1, %d_1
  // CHECK-NEXT: %o_1 = block.store %r_1
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s, %t
  // CHECK-NEXT: }
  %s = block.map @K (%xk = %x) -> (stack) : !Xs {
    %i = block.load %xk : !block.block<M x K x f32, global>
    %d = block.mul %c, %c : !C
    %r = block.row_scale %i, %d : !X, !C
    %o = block.store %r : !X
    block.yield %o : !block.block<M x K x f32, global>
  }
  %t = block.map @K (%yk = %y) -> (stack) : !Xs {
    %i = block.load %yk : !block.block<M x K x f32, global>
    %d = block.mul %c, %c : !C
    %r = block.row_scale %i, %d : !X, !C
    %o = block.store %r : !X
    block.yield %o : !block.block<M x K x f32, global>
  }
  func.return %s, %t : !Xs, !Xs
}
