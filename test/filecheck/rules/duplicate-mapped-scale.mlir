// RUN: bb-opt %s -p "block-apply{rules=duplicate-mapped-scale}" | filecheck %s

!X = !block.block<M x N x f32>
!Xs = !block.list<N, block<M x N x f32>>
!C = !block.vector<M x f32>
!Cs = !block.list<N, vector<M x f32>>
!D = !block.vector<N x f32>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<7, block = 3>}

// y = map N { store(row_scale(p, c)) }; map N (y) { f(load(y)) }
//   -> y = map N { store(p) }; map N (y) { f(row_scale(load(y), c)) }
// CHECK-LABEL: func.func @duplicate_mapped_scale(
func.func @duplicate_mapped_scale(%xs: !Xs, %c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %p = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %p_1 = block.mul %x, %x
  // CHECK-NEXT: %p_2 = block.store %p_1
  // CHECK-NEXT: block.yield %p_2
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @N (%p_3 = %p) -> (max)
  // CHECK-NEXT: %p_4 = block.load %p_3
  // CHECK-NEXT: %s = block.row_scale %p_4, %c
  // CHECK-NEXT: %r = block.row_max %s
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %p = block.mul %x, %x : !X
    %s = block.row_scale %p, %c : !X, !C
    %o = block.store %s : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z = block.map @N (%yn = %y) -> (max) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_max %i : !X
    block.yield %r : !C
  }
  func.return %z : !C
}

// The unscaled items are a list already, so the scaled list may have other users too.
// CHECK-LABEL: func.func @duplicate_mapped_scale_of_a_list(
func.func @duplicate_mapped_scale_of_a_list(%xs: !Xs, %c: !C) -> (!Xs, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %o = block.store %s
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @N (%xs_1 = %xs) -> (max)
  // CHECK-NEXT: %xs_2 = block.load %xs_1
  // CHECK-NEXT: %s_1 = block.row_shift %xs_2, %c
  // CHECK-NEXT: %r = block.row_max %s_1
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y, %z
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %s = block.row_shift %x, %c : !X, !C
    %o = block.store %s : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z = block.map @N (%yn = %y) -> (max) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_max %i : !X
    block.yield %r : !C
  }
  func.return %y, %z : !Xs, !C
}

// CHECK-LABEL: func.func @duplicate_mapped_scale_of_a_stacked_result(
func.func @duplicate_mapped_scale_of_a_stacked_result(%xs: !Xs, %c: !C) -> (!Xs, !Xs, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %p0, %y = block.map @N (%xn = %xs) -> (stack, stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %p = block.mul %x, %x
  // CHECK-NEXT: %q = block.store %p
  // CHECK-NEXT: %s = block.row_scale %p, %c
  // CHECK-NEXT: %o = block.store %s
  // CHECK-NEXT: block.yield %q, %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @N (%p0_1 = %p0) -> (max)
  // CHECK-NEXT: %p0_2 = block.load %p0_1
  // CHECK-NEXT: %s_1 = block.row_scale %p0_2, %c
  // CHECK-NEXT: %r = block.row_max %s_1
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %p0, %y, %z
  // CHECK-NEXT: }
  %p0, %y = block.map @N (%xn = %xs) -> (stack, stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %p = block.mul %x, %x : !X
    %q = block.store %p : !X
    %s = block.row_scale %p, %c : !X, !C
    %o = block.store %s : !X
    block.yield %q, %o : !block.block<M x N x f32, global>, !block.block<M x N x f32, global>
  }
  %z = block.map @N (%yn = %y) -> (max) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_max %i : !X
    block.yield %r : !C
  }
  func.return %p0, %y, %z : !Xs, !Xs, !C
}

// One consumer inside another map, which also hands the element on, and one that maps the list twice.
// CHECK-LABEL: func.func @duplicate_mapped_scale_for_many(
func.func @duplicate_mapped_scale_for_many(%xs: !Xs, %c: !C, %ls: !block.list<L, vector<M x f32>>) -> (!block.list<L, N, block<M x N x f32>>, !Xs) attributes {block.dims = {L = #block.dim<2, batch>, M = #block.dim<5, block = 2>, N = #block.dim<7, block = 3>}} {
  // CHECK-NEXT: %p = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %p_1 = block.mul %x, %x
  // CHECK-NEXT: %p_2 = block.store %p_1
  // CHECK-NEXT: block.yield %p_2
  // CHECK-NEXT: }
  // CHECK-NEXT: %u = block.map @L () -> (stack)
  // CHECK-NEXT: %v = block.map @N (%p_3 = %p) -> (stack)
  // CHECK-NEXT: %p_4 = block.load %p_3
  // CHECK-NEXT: %s = block.row_scale %p_4, %c
  // CHECK-NEXT: %s_1 = block.store %s
  // CHECK-NEXT: block.yield %s_1
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %v
  // CHECK-NEXT: }
  // CHECK-NEXT: %w = block.map @N (%p_5 = %p, %p_6 = %p) -> (stack)
  // CHECK-NEXT: %p_7 = block.load %p_6
  // CHECK-NEXT: %s_2 = block.row_scale %p_7, %c
  // CHECK-NEXT: %p_8 = block.load %p_5
  // CHECK-NEXT: %s_3 = block.row_scale %p_8, %c
  // CHECK-NEXT: %k = block.add %s_3, %s_2
  // CHECK-NEXT: %o = block.store %k
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %u, %w
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %p = block.mul %x, %x : !X
    %s = block.row_scale %p, %c : !X, !C
    %o = block.store %s : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %u = block.map @L (%l = %ls) -> (stack) : !block.list<L, vector<M x f32>> {
    %v = block.map @N (%yn = %y) -> (stack) : !Xs {
      block.yield %yn : !block.block<M x N x f32, global>
    }
    block.yield %v : !Xs
  }
  %w = block.map @N (%y1 = %y, %y2 = %y) -> (stack) : !Xs, !Xs {
    %i = block.load %y1 : !block.block<M x N x f32, global>
    %j = block.load %y2 : !block.block<M x N x f32, global>
    %k = block.add %i, %j : !X
    %o = block.store %k : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  func.return %u, %w : !block.list<L, N, block<M x N x f32>>, !Xs
}

// The consumer loads the element, and hands it on as well.
// CHECK-LABEL: func.func @duplicate_mapped_scale_of_what_is_handed_on(
func.func @duplicate_mapped_scale_of_what_is_handed_on(%xs: !Xs, %c: !C) -> (!Xs, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %w, %z = block.map @N (%xs_1 = %xs) -> (stack, max)
  // CHECK-NEXT: %xs_2 = block.load %xs_1
  // CHECK-NEXT: %s = block.row_scale %xs_2, %c
  // CHECK-NEXT: %s_1 = block.store %s
  // CHECK-NEXT: %r = block.row_max %s
  // CHECK-NEXT: block.yield %s_1, %r
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %w, %z
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %s = block.row_scale %x, %c : !X, !C
    %o = block.store %s : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %w, %z = block.map @N (%yn = %y) -> (stack, max) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_max %i : !X
    block.yield %yn, %r : !block.block<M x N x f32, global>, !C
  }
  func.return %w, %z : !Xs, !C
}

// Declined where not: the vector is the same in every iteration of the producer.
// CHECK-LABEL: func.func @duplicate_mapped_scale_without_invariant(
func.func @duplicate_mapped_scale_without_invariant(%xs: !Xs, %cs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs, %cn = %cs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %c = block.load %cn
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %o = block.store %s
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @N (%yn = %y) -> (max)
  // CHECK-NEXT: %i = block.load %yn
  // CHECK-NEXT: %r = block.row_max %i
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs, %cn = %cs) -> (stack) : !Xs, !Cs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %c = block.load %cn : !block.vector<M x f32, global>
    %s = block.row_scale %x, %c : !X, !C
    %o = block.store %s : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z = block.map @N (%yn = %y) -> (max) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_max %i : !X
    block.yield %r : !C
  }
  func.return %z : !C
}

// Declined where not: every use of the list is a mapped argument, or the unscaled list exists already.
// CHECK-LABEL: func.func @duplicate_mapped_scale_without_mapped(
func.func @duplicate_mapped_scale_without_mapped(%xs: !Xs, %c: !C) -> (!Xs, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %p = block.mul %x, %x
  // CHECK-NEXT: %s = block.row_scale %p, %c
  // CHECK-NEXT: %o = block.store %s
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @N (%yn = %y) -> (max)
  // CHECK-NEXT: %i = block.load %yn
  // CHECK-NEXT: %r = block.row_max %i
  // CHECK-NEXT: block.yield %r
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %y, %z
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %p = block.mul %x, %x : !X
    %s = block.row_scale %p, %c : !X, !C
    %o = block.store %s : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z = block.map @N (%yn = %y) -> (max) : !Xs {
    %i = block.load %yn : !block.block<M x N x f32, global>
    %r = block.row_max %i : !X
    block.yield %r : !C
  }
  func.return %y, %z : !Xs, !C
}
