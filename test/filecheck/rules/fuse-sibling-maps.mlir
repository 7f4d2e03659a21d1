// RUN: bb-opt %s -p "block-apply{rules=fuse-sibling-maps}" | filecheck %s

!X = !block.block<M x N x f32>
!Xs = !block.list<M, block<M x N x f32>>
!C = !block.vector<M x f32>
!Cs = !block.list<M, vector<M x f32>>
!D = !block.vector<N x f32>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<3, block = 2>, L = #block.dim<2, batch>}

// y = map M (x) { f(x) }; z = map M (x) { g(x) }
//   -> y, z = map M (x) { f(x), g(x) }
// CHECK-LABEL: func.func @fuse_sibling_maps(
func.func @fuse_sibling_maps(%xs: !Xs) -> (!Cs, !Cs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %z = block.map @M (%xm = %xs) -> (stack, stack)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.row_max %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: %x_1 = block.load %xm
  // CHECK-NEXT: %g = block.row_min %x_1
  // CHECK-NEXT: %o_1 = block.store %g
  // CHECK-NEXT: block.yield %o, %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y, %z
  // CHECK-NEXT: }
  %y = block.map @M (%xm = %xs) -> (stack) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %f = block.row_max %x : !X
    %o = block.store %f : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @M (%xm = %xs) -> (stack) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %g = block.row_min %x : !X
    %o = block.store %g : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %y, %z : !Cs, !Cs
}

// What the second needs of the operations between the two moves in front of both, in order.
// CHECK-LABEL: func.func @fuse_sibling_maps_around_others(
func.func @fuse_sibling_maps_around_others(%xs: !Xs, %ds: !block.list<L, vector<N x f32>>) -> (!block.scalar<f32>, !D, !Xs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.reduce sum %ds
  // CHECK-NEXT: %e = block.linear 2 * %d
  // CHECK-NEXT: %s, %y = block.map @M (%xm = %xs) -> (sum, stack)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %t = block.row_sum %x acc f32
  // CHECK-NEXT: %u = block.row_sum %t acc f32
  // CHECK-NEXT: %x_1 = block.load %xm
  // CHECK-NEXT: %g = block.col_scale %x_1, %e
  // CHECK-NEXT: %o = block.store %g
  // CHECK-NEXT: block.yield %u, %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s, %d, %y
  // CHECK-NEXT: }
  %s = block.map @M (%xm = %xs) -> (sum) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %t = block.row_sum %x acc f32 : !X
    %u = block.row_sum %t acc f32 : !C
    block.yield %u : !block.scalar<f32>
  }
  %d = block.reduce sum %ds : !block.list<L, vector<N x f32>>
  %e = block.linear 2 * %d : !D
  %y = block.map @M (%xm = %xs) -> (stack) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %g = block.col_scale %x, %e : !X, !D
    %o = block.store %g : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %s, %d, %y : !block.scalar<f32>, !D, !Xs
}

// Declined where not: neither map needs the other.
// CHECK-LABEL: func.func @fuse_sibling_maps_without_independent(
func.func @fuse_sibling_maps_without_independent(%xs: !Xs) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @M (%xm = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %t = block.row_sum %x acc f32
  // CHECK-NEXT: %u = block.row_sum %t acc f32
  // CHECK-NEXT: block.yield %u
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @M (%xm_1 = %xs) -> (stack)
  // CHECK-NEXT: %i = block.load %xm_1
  // CHECK-NEXT: %g = block.elementwise (%p = %i, %q = %s)
  // CHECK-NEXT: %e = arith.addf %p, %q
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %g
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %s = block.map @M (%xm = %xs) -> (sum) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %t = block.row_sum %x acc f32 : !X
    %u = block.row_sum %t acc f32 : !C
    block.yield %u : !block.scalar<f32>
  }
  %z = block.map @M (%xm = %xs) -> (stack) : !Xs {
    %i = block.load %xm : !block.block<M x N x f32, global>
    %g = block.elementwise (%p = %i, %q = %s) : !X, !block.scalar<f32> -> !X {
      %e = arith.addf %p, %q : f32
      block.yield %e : f32
    }
    %o = block.store %g : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %z : !Xs
}

// Maps in different bodies do not meet.
// CHECK-LABEL: func.func @fuse_sibling_maps_not_across_levels(
func.func @fuse_sibling_maps_not_across_levels(%xs: !Xs, %ls: !block.list<L, vector<N x f32>>) -> (!Cs, !block.list<L, M, vector<M x f32>>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @M (%xm = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.row_max %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @L () -> (stack)
  // CHECK-NEXT: %w = block.map @M (%xm_1 = %xs) -> (stack)
  // CHECK-NEXT: %x_1 = block.load %xm_1
  // CHECK-NEXT: %g = block.row_min %x_1
  // CHECK-NEXT: %o_1 = block.store %g
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %w
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y, %z
  // CHECK-NEXT: }
  %y = block.map @M (%xm = %xs) -> (stack) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %f = block.row_max %x : !X
    %o = block.store %f : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !block.list<L, vector<N x f32>> {
    %w = block.map @M (%xm = %xs) -> (stack) : !Xs {
      %x = block.load %xm : !block.block<M x N x f32, global>
      %g = block.row_min %x : !X
      %o = block.store %g : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %w : !Cs
  }
  func.return %y, %z : !Cs, !block.list<L, M, vector<M x f32>>
}

// Declined where not: both maps are a once-only prologue, or neither is.
// CHECK-LABEL: func.func @fuse_sibling_maps_without_once(
func.func @fuse_sibling_maps_without_once(%xs: !Xs) -> (!Cs, !Cs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @M (%xm = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.row_max %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @M (%xm_1 = %xs) -> (stack)
  // CHECK-NEXT: %x_1 = block.load %xm_1
  // CHECK-NEXT: %g = block.row_min %x_1
  // CHECK-NEXT: %o_1 = block.store %g
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y, %z
  // CHECK-NEXT: }
  %y = block.map @M (%xm = %xs) -> (stack) : !Xs attributes {bb.prologue} {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %f = block.row_max %x : !X
    %o = block.store %f : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @M (%xm = %xs) -> (stack) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %g = block.row_min %x : !X
    %o = block.store %g : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %y, %z : !Cs, !Cs
}
