// RUN: bb-opt %s -p "block-apply{rules=fuse-consecutive-maps},canonicalize" | filecheck %s

!X = !block.block<M x N x f32>
!Xs = !block.list<M, block<M x N x f32>>
!C = !block.vector<M x f32>
!Cs = !block.list<M, vector<M x f32>>
!D = !block.vector<N x f32>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<3, block = 2>, L = #block.dim<2, batch>}

// y = map M { yield store(f(x)) }; z = map M (y) { g(load(y)) }
//   -> y, z = map M { yield store(f(x)), g(f(x)) }
// CHECK-LABEL: func.func @fuse_consecutive_maps(
func.func @fuse_consecutive_maps(%xs: !Xs) -> (!Cs, !Cs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %z = block.map @M (%xm = %xs) -> (stack, stack)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.row_max %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: %g = block.mul %f, %f
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
  %z = block.map @M (%ym = %y) -> (stack) : !Cs {
    %i = block.load %ym : !block.vector<M x f32, global>
    %g = block.mul %i, %i : !C
    %o = block.store %g : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %y, %z : !Cs, !Cs
}

// The second map reads another list too, made between the two by what does not need the first.
// CHECK-LABEL: func.func @fuse_consecutive_maps_around_others(
func.func @fuse_consecutive_maps_around_others(%xs: !Xs, %ds: !block.list<L, vector<N x f32>>) -> (!Xs, !block.list<M, L, block<M x N x f32>>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.reduce sum %ds
  // CHECK-NEXT: %e = block.linear 2 * %d
  // CHECK-NEXT: %y, %z = block.map @M (%xm = %xs) -> (stack, stack)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.mul %x, %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: %l = block.map @L (%dl = %ds) -> (stack)
  // CHECK-NEXT: %j = block.load %xm
  // CHECK-NEXT: %k = block.load %dl
  // CHECK-NEXT: %g = block.add %f, %j
  // CHECK-NEXT: %h = block.col_scale %g, %e
  // CHECK-NEXT: %u = block.col_shift %h, %k
  // CHECK-NEXT: %o_1 = block.store %u
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %o, %l
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y, %z
  // CHECK-NEXT: }
  %y = block.map @M (%xm = %xs) -> (stack) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %o = block.store %f : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %d = block.reduce sum %ds : !block.list<L, vector<N x f32>>
  %e = block.linear 2 * %d : !D
  %z = block.map @M (%ym = %y, %xm = %xs) -> (stack) : !Xs, !Xs {
    %l = block.map @L (%dl = %ds) -> (stack) : !block.list<L, vector<N x f32>> {
      %i = block.load %ym : !block.block<M x N x f32, global>
      %j = block.load %xm : !block.block<M x N x f32, global>
      %k = block.load %dl : !block.vector<N x f32, global>
      %g = block.add %i, %j : !X
      %h = block.col_scale %g, %e : !X, !D
      %u = block.col_shift %h, %k : !X, !D
      %o = block.store %u : !X
      block.yield %o : !block.block<M x N x f32, global>
    }
    block.yield %l : !block.list<L, block<M x N x f32>>
  }
  func.return %y, %z : !Xs, !block.list<M, L, block<M x N x f32>>
}

// Declined where not: both maps run over one dim, so that the second reads what the first stacks.
// CHECK-LABEL: func.func @fuse_consecutive_maps_without_same_dim(
func.func @fuse_consecutive_maps_without_same_dim(%ls: !block.list<L, vector<M x f32>>, %xs: !Cs) -> !block.list<M, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @L () -> (any)
  // CHECK-NEXT: block.yield %xs
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @M (%ym = %y) -> (stack)
  // CHECK-NEXT: %i = block.load %ym
  // CHECK-NEXT: %g = block.mul %i, %i
  // CHECK-NEXT: %o = block.store %g
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y = block.map @L (%l = %ls) -> (any) : !block.list<L, vector<M x f32>> {
    block.yield %xs : !Cs
  }
  %z = block.map @M (%ym = %y) -> (stack) : !Cs {
    %i = block.load %ym : !block.vector<M x f32, global>
    %g = block.mul %i, %i : !C
    %o = block.store %g : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %z : !Cs
}

// Declined where not: the second map captures nothing of the first, and takes no reduced result of it.
// CHECK-LABEL: func.func @fuse_consecutive_maps_without_not_captured(
func.func @fuse_consecutive_maps_without_not_captured(%xs: !Xs) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %s = block.map @M (%xm = %xs) -> (stack, sum)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.mul %x, %x
  // CHECK-NEXT: %t = block.row_sum %x acc f32
  // CHECK-NEXT: %u = block.row_sum %t acc f32
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o, %u
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @M (%ym = %y) -> (stack)
  // CHECK-NEXT: %i = block.load %ym
  // CHECK-NEXT: %g = block.elementwise (%p = %i, %q = %s)
  // CHECK-NEXT: %e = arith.addf %p, %q
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %o_1 = block.store %g
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y, %s = block.map @M (%xm = %xs) -> (stack, sum) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %t = block.row_sum %x acc f32 : !X
    %u = block.row_sum %t acc f32 : !C
    %o = block.store %f : !X
    block.yield %o, %u : !block.block<M x N x f32, global>, !block.scalar<f32>
  }
  %z = block.map @M (%ym = %y) -> (stack) : !Xs {
    %i = block.load %ym : !block.block<M x N x f32, global>
    %g = block.elementwise (%p = %i, %q = %s) : !X, !block.scalar<f32> -> !X {
      %e = arith.addf %p, %q : f32
      block.yield %e : f32
    }
    %o = block.store %g : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %z : !Xs
}

// Declined where not: no operation between them needs the first and is needed by the second.
// CHECK-LABEL: func.func @fuse_consecutive_maps_without_no_other_path(
func.func @fuse_consecutive_maps_without_no_other_path(%xs: !Xs) -> !Xs attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %s = block.map @M (%xm = %xs) -> (stack, sum)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.mul %x, %x
  // CHECK-NEXT: %t = block.row_sum %x acc f32
  // CHECK-NEXT: %u = block.row_sum %t acc f32
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o, %u
  // CHECK-NEXT: }
  // CHECK-NEXT: %t_1 = block.linear 2 * %s
  // CHECK-NEXT: %z = block.map @M (%ym = %y) -> (stack)
  // CHECK-NEXT: %i = block.load %ym
  // CHECK-NEXT: %g = block.elementwise (%p = %i, %q = %t_1)
  // CHECK-NEXT: %e = arith.addf %p, %q
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %o_1 = block.store %g
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y, %s = block.map @M (%xm = %xs) -> (stack, sum) : !Xs {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %t = block.row_sum %x acc f32 : !X
    %u = block.row_sum %t acc f32 : !C
    %o = block.store %f : !X
    block.yield %o, %u : !block.block<M x N x f32, global>, !block.scalar<f32>
  }
  %t = block.linear 2 * %s : !block.scalar<f32>
  %z = block.map @M (%ym = %y) -> (stack) : !Xs {
    %i = block.load %ym : !block.block<M x N x f32, global>
    %g = block.elementwise (%p = %i, %q = %t) : !X, !block.scalar<f32> -> !X {
      %e = arith.addf %p, %q : f32
      block.yield %e : f32
    }
    %o = block.store %g : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %z : !Xs
}

// Declined where not: both maps are a once-only prologue, or neither is.
// CHECK-LABEL: func.func @fuse_consecutive_maps_without_once(
func.func @fuse_consecutive_maps_without_once(%xs: !Xs) -> !Cs attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @M (%xm = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xm
  // CHECK-NEXT: %f = block.row_max %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @M (%ym = %y) -> (stack)
  // CHECK-NEXT: %i = block.load %ym
  // CHECK-NEXT: %g = block.mul %i, %i
  // CHECK-NEXT: %o_1 = block.store %g
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y = block.map @M (%xm = %xs) -> (stack) : !Xs attributes {bb.prologue} {
    %x = block.load %xm : !block.block<M x N x f32, global>
    %f = block.row_max %x : !X
    %o = block.store %f : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @M (%ym = %y) -> (stack) : !Cs {
    %i = block.load %ym : !block.vector<M x f32, global>
    %g = block.mul %i, %i : !C
    %o = block.store %g : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %z : !Cs
}
