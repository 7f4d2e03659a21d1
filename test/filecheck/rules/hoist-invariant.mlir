// RUN: bb-opt %s -p "block-apply{rules=hoist-invariant}" | filecheck %s

!X = !block.block<M x N x f32>
!Xs = !block.list<N, block<M x N x f32>>
!C = !block.vector<M x f32>
!S = !block.scalar<f32>
!Ss = !block.list<N, scalar<f32>>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<7, block = 3>}

// map N { v = f(c); .. }
//   -> v = f(c); map N { .. }
// CHECK-LABEL: func.func @hoist_invariant(
func.func @hoist_invariant(%xs: !Xs, %c: !C) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %v = block.mul %c, %c
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %s = block.row_scale %x, %v
  // CHECK-NEXT: %o = block.store %s
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %v = block.mul %c, %c : !C
    %s = block.row_scale %x, %v : !X, !C
    %o = block.store %s : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %y : !Xs
}

// Through two levels, with what it needs, and a load as well.
// CHECK-LABEL: func.func @hoist_invariant_out_of_a_nest(
func.func @hoist_invariant_out_of_a_nest(%xs: !block.list<M, N, block<M x N x f32>>, %g: !block.scalar<f32, global>) -> !block.list<M, N, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %l = block.load %g
  // CHECK-NEXT: %v = block.linear 2 * %l
  // CHECK-NEXT: %y = block.map @M (%xm = %xs) -> (stack)
  // CHECK-NEXT: %z = block.map @N (%xn = %xm) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %s = block.elementwise (%p = %x, %q = %v)
  // CHECK-NEXT: %e = arith.mulf %p, %q
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %s
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @M (%xm = %xs) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    %z = block.map @N (%xn = %xm) -> (stack) : !Xs {
      %x = block.load %xn : !block.block<M x N x f32, global>
      %l = block.load %g : !block.scalar<f32, global>
      %v = block.linear 2 * %l : !S
      %s = block.elementwise (%p = %x, %q = %v) : !X, !S -> !X {
        %e = arith.mulf %p, %q : f32
        block.yield %e : f32
      }
      %o = block.store %s : !X
      block.yield %o : !block.block<M x N x f32, global>
    }
    block.yield %z : !Xs
  }
  func.return %y : !block.list<M, N, block<M x N x f32>>
}

// The element's index along another dim is no obstacle: the operator leaves the inner map, not the outer.
// CHECK-LABEL: func.func @hoist_invariant_as_far_as_it_can(
func.func @hoist_invariant_as_far_as_it_can(%ms: !block.list<M, vector<M x f32>>, %ns: !Ss) -> !block.list<M, N, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @M (%mm = %ms) -> (stack)
  // CHECK-NEXT: %m = block.load %mm
  // CHECK-NEXT: %i = block.elementwise (%p = %m)
  // CHECK-NEXT: %0 = block.index @M
  // CHECK-NEXT: %1 = arith.index_cast %0
  // CHECK-NEXT: %2 = arith.sitofp %1
  // CHECK-NEXT: %3 = arith.addf %2, %p
  // CHECK-NEXT: block.yield %3
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @N () -> (stack)
  // CHECK-NEXT: %o = block.store %i
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @M (%mm = %ms) -> (stack) : !block.list<M, vector<M x f32>> {
    %m = block.load %mm : !block.vector<M x f32, global>
    %z = block.map @N (%nn = %ns) -> (stack) : !Ss {
      %i = block.elementwise (%p = %m) : !C -> !C {
        %0 = block.index @M
        %1 = arith.index_cast %0 : index to i32
        %2 = arith.sitofp %1 : i32 to f32
        %3 = arith.addf %2, %p : f32
        block.yield %3 : f32
      }
      %o = block.store %i : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %z : !block.list<N, vector<M x f32>>
  }
  func.return %y : !block.list<M, N, vector<M x f32>>
}

// Declined where not: all operands are defined outside the map.
// CHECK-LABEL: func.func @hoist_invariant_without_invariant(
func.func @hoist_invariant_without_invariant(%xs: !Ss, %c: !S) -> !Ss attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %v = block.add %x, %c
  // CHECK-NEXT: %o = block.store %v
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Ss {
    %x = block.load %xn : !block.scalar<f32, global>
    %v = block.add %x, %c : !S
    %o = block.store %v : !S
    block.yield %o : !block.scalar<f32, global>
  }
  func.return %y : !Ss
}

// Declined where not: the operator does not ask for the index, or the current block, of the map's dim.
// CHECK-LABEL: func.func @hoist_invariant_without_index(
func.func @hoist_invariant_without_index(%ns: !Ss, %c: !block.vector<M x f32>) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N () -> (stack)
  // CHECK-NEXT: %i = block.elementwise (%p = %c)
  // CHECK-NEXT: %0 = block.index @N
  // CHECK-NEXT: %1 = arith.index_cast %0
  // CHECK-NEXT: %2 = arith.sitofp %1
  // CHECK-NEXT: %3 = arith.mulf %2, %p
  // CHECK-NEXT: block.yield %3
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %i
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @N (%nn = %ns) -> (stack) : !Ss {
    %i = block.elementwise (%p = %c) : !C -> !X {
      %0 = block.index @N
      %1 = arith.index_cast %0 : index to i32
      %2 = arith.sitofp %1 : i32 to f32
      %3 = arith.mulf %2, %p : f32
      block.yield %3 : f32
    }
    %o = block.store %i : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %y : !Xs
}

// Declined where not: the operator does not ask for the index, or the current block, of the map's dim.
// The index of a batch dim needs no axis over it.
// CHECK-LABEL: func.func @hoist_invariant_without_index_of_a_batch(
func.func @hoist_invariant_without_index_of_a_batch(%bs: !block.list<B, scalar<f32>>, %c: !S) -> !block.list<B, scalar<f32>> attributes {block.dims = {B = #block.dim<3, batch>}} {
  // CHECK-NEXT: %y = block.map @B () -> (stack)
  // CHECK-NEXT: %i = block.elementwise (%p = %c)
  // CHECK-NEXT: %0 = block.index @B
  // CHECK-NEXT: %1 = arith.index_cast %0
  // CHECK-NEXT: %2 = arith.sitofp %1
  // CHECK-NEXT: %3 = arith.mulf %2, %p
  // CHECK-NEXT: block.yield %3
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %i
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @B (%b = %bs) -> (stack) : !block.list<B, scalar<f32>> {
    %i = block.elementwise (%p = %c) : !S -> !S {
      %0 = block.index @B
      %1 = arith.index_cast %0 : index to i32
      %2 = arith.sitofp %1 : i32 to f32
      %3 = arith.mulf %2, %p : f32
      block.yield %3 : f32
    }
    %o = block.store %i : !S
    block.yield %o : !block.scalar<f32, global>
  }
  func.return %y : !block.list<B, scalar<f32>>
}

// Declined where not: the operator does not ask for the index, or the current block, of the map's dim.
// How far the vector is spread depends on the current block.
// CHECK-LABEL: func.func @hoist_invariant_without_index_when_spread(
func.func @hoist_invariant_without_index_when_spread(%ns: !Ss, %c: !C) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N () -> (stack)
  // CHECK-NEXT: %i = block.elementwise (%p = %c)
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %i
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @N (%nn = %ns) -> (stack) : !Ss {
    %i = block.elementwise (%p = %c) : !C -> !X {
      block.yield %p : f32
    }
    %o = block.store %i : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %y : !Xs
}

// Declined where not: the operator does not ask for the index, or the current block, of the map's dim.
// CHECK-LABEL: func.func @hoist_invariant_without_index_of_a_width(
func.func @hoist_invariant_without_index_of_a_width(%ns: !Ss, %c: !S) -> !Ss attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N () -> (stack)
  // CHECK-NEXT: %i = block.linear 1 width(N) * %c
  // CHECK-NEXT: %o = block.store %i
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @N (%nn = %ns) -> (stack) : !Ss {
    %i = block.linear 1 width(N) * %c : !S
    %o = block.store %i : !S
    block.yield %o : !block.scalar<f32, global>
  }
  func.return %y : !Ss
}

// Maps stay: they move with all that they need (`extend-map`), or not at all.
// CHECK-LABEL: func.func @hoist_invariant_not_a_map(
func.func @hoist_invariant_not_a_map(%ns: !Ss, %xs: !block.list<M, vector<M x f32>>) -> !block.list<N, M, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N () -> (stack)
  // CHECK-NEXT: %z = block.map @M (%xm = %xs) -> (stack)
  // CHECK-NEXT: block.yield %xm
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y
  // CHECK-NEXT: }
  %y = block.map @N (%nn = %ns) -> (stack) : !Ss {
    %z = block.map @M (%xm = %xs) -> (stack) : !block.list<M, vector<M x f32>> {
      block.yield %xm : !block.vector<M x f32, global>
    }
    block.yield %z : !block.list<M, vector<M x f32>>
  }
  func.return %y : !block.list<N, M, vector<M x f32>>
}
