// RUN: bb-opt %s -p "block-apply{rules=extend-map},canonicalize" | filecheck %s

!X = !block.block<M x N x f32>
!Xs = !block.list<N, block<M x N x f32>>
!C = !block.vector<M x f32>
!Cs = !block.list<N, vector<M x f32>>
!O = !block.list<L, vector<M x f32>>
!W = !block.block<K x N x f32>
!Ws = !block.list<N, block<K x N x f32>>
!Y = !block.block<M x K x f32>
#dims = {M = #block.dim<3, block = 2>, N = #block.dim<5, block = 2>, L = #block.dim<4, block = 2>, K = #block.dim<3, block = 2>}

// y = map N { f }; z = map L { map N (y) { g } }
//   -> z = map L { y = map N { f }; map N (y) { g } }
// CHECK-LABEL: func.func @cone(
func.func @cone(%xs: !Xs, %ls: !O) -> !O attributes {block.dims = #dims} {
  // CHECK-NEXT: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %f = block.mul %x, %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %i = block.load %l
  // CHECK-NEXT: %s = block.map @N (%yn = %y) -> (sum)
  // CHECK-NEXT: %j = block.load %yn
  // CHECK-NEXT: %r = block.row_scale %j, %i
  // CHECK-NEXT: %g = block.row_sum %r
  // CHECK-NEXT: block.yield %g
  // CHECK-NEXT: }
  // CHECK-NEXT: %p = block.store %s
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %o = block.store %f : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (sum) : !Xs {
      %j = block.load %yn : !block.block<M x N x f32, global>
      %r = block.row_scale %j, %i : !X, !C
      %g = block.row_sum %r acc f32 : !X
      block.yield %g : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !O
}

// The cone holds what stands between; an item of it that others use leaves as an `any` result, and they come after.
// CHECK-LABEL: func.func @cone_with_items_that_leave(
func.func @cone_with_items_that_leave(%xs: !Xs, %ls: !O) -> (!O, !block.vector<M x f32, global>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %z, %t = block.map @L (%l = %ls) -> (stack, any)
  // CHECK-NEXT: %s = block.map @N (%xn = %xs) -> (sum)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %f = block.row_sum %x
  // CHECK-NEXT: block.yield %f
  // CHECK-NEXT: }
  // CHECK-NEXT: %t_1 = block.linear 1/2 * %s
  // CHECK-NEXT: %i = block.load %l
  // CHECK-NEXT: %v = block.monomial %i * %t_1
  // CHECK-NEXT: %u = block.map @N (%xn_1 = %xs) -> (sum)
  // CHECK-NEXT: %j = block.load %xn_1
  // CHECK-NEXT: %r = block.row_scale %j, %v
  // CHECK-NEXT: %g = block.row_max %r
  // CHECK-NEXT: block.yield %g
  // CHECK-NEXT: }
  // CHECK-NEXT: %p = block.store %u
  // CHECK-NEXT: block.yield %p, %t_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %t
  // CHECK-NEXT: func.return %z, %o
  // CHECK-NEXT: }
  %s = block.map @N (%xn = %xs) -> (sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.row_sum %x acc f32 : !X
    block.yield %f : !C
  }
  %t = block.linear 1/2 * %s : !C
  %o = block.store %t : !C
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %v = block.monomial %i * %t : !C
    %u = block.map @N (%xn = %xs) -> (sum) : !Xs {
      %j = block.load %xn : !block.block<M x N x f32, global>
      %r = block.row_scale %j, %v : !X, !C
      %g = block.row_max %r : !X
      block.yield %g : !C
    }
    %p = block.store %u : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z, %o : !O, !block.vector<M x f32, global>
}

// The map that takes the list up stands deeper: the cone goes where it stands.
// CHECK-LABEL: func.func @cone_through_two_levels(
func.func @cone_through_two_levels(%xs: !Xs, %ls: !block.list<L, K, vector<M x f32>>) -> !block.list<L, K, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %v = block.map @K (%k = %l) -> (stack)
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %o = block.store %f : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !block.list<L, K, vector<M x f32>> {
    %v = block.map @K (%k = %l) -> (stack) : !block.list<K, vector<M x f32>> {
      %i = block.load %k : !block.vector<M x f32, global>
      %s = block.map @N (%yn = %y) -> (sum) : !Xs {
        %j = block.load %yn : !block.block<M x N x f32, global>
        %r = block.row_scale %j, %i : !X, !C
        %g = block.row_sum %r acc f32 : !X
        block.yield %g : !C
      }
      %p = block.store %s : !C
      block.yield %p : !block.vector<M x f32, global>
    }
    block.yield %v : !block.list<K, vector<M x f32>>
  }
  func.return %z : !block.list<L, K, vector<M x f32>>
}

// A reduction takes the list up too.
// CHECK-LABEL: func.func @cone_into_a_reduction(
func.func @cone_into_a_reduction(%xs: !Cs, %ls: !O) -> !O attributes {block.dims = #dims} {
  // CHECK-NEXT: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK: %i = block.load %l
  // CHECK-NEXT: %s = block.reduce max %y
  %y = block.map @N (%xn = %xs) -> (stack) : !Cs {
    %x = block.load %xn : !block.vector<M x f32, global>
    %f = block.mul %x, %x : !C
    %o = block.store %f : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.reduce max %y : !Cs
    %t = block.monomial %s * %i : !C
    %p = block.store %t : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !O
}

// Declined where not: no result of the cone is a mapped input of the consumer.
// CHECK-LABEL: func.func @cone_without_not_mapped(
func.func @cone_without_not_mapped(%xs: !Xs, %ls: !O) -> !O attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %same = block.map @N (%xn = %xs) -> (stack, any)
  // CHECK: %z = block.map @L (%l = %same) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  %y, %same = block.map @N (%xn = %xs) -> (stack, any) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %o = block.store %f : !X
    block.yield %o, %ls : !block.block<M x N x f32, global>, !O
  }
  %z = block.map @L (%l = %same) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (sum) : !Xs {
      %j = block.load %yn : !block.block<M x N x f32, global>
      %r = block.row_scale %j, %i : !X, !C
      %g = block.row_sum %r acc f32 : !X
      block.yield %g : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !O
}

// Declined where not: no other map stands in the cone: the nearest producer goes first. Here it cannot go.
// CHECK-LABEL: func.func @cone_without_nearest(
func.func @cone_without_nearest(%xs: !Xs, %ws: !block.list<K, vector<M x f32>>, %ls: !O) -> !O attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %s = block.map @N (%xn = %xs) -> (stack, sum)
  // CHECK: %t = block.map @K (%wk = %ws) -> (sum)
  // CHECK: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  %y, %s = block.map @N (%xn = %xs) -> (stack, sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %r = block.row_sum %f acc f32 : !X
    %o = block.store %f : !X
    block.yield %o, %r : !block.block<M x N x f32, global>, !C
  }
  %t = block.map @K (%wk = %ws) -> (sum) : !block.list<K, vector<M x f32>> {
    %w = block.load %wk : !block.vector<M x f32, global>
    %v = block.monomial %w * %s : !C
    block.yield %v : !C
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %c = block.monomial %i * %t : !C
    %u = block.map @N (%yn = %y) -> (sum) : !Xs {
      %j = block.load %yn : !block.block<M x N x f32, global>
      %r = block.row_scale %j, %c : !X, !C
      %g = block.row_max %r : !X
      block.yield %g : !C
    }
    %p = block.store %u : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !O
}

// Declined where not: inside the consumer, a map over the producer's dim reads its list, or one that it reads, or it
// is reduced.
// CHECK-LABEL: func.func @cone_without_useful(
func.func @cone_without_useful(%xs: !Xs, %ls: !O) -> !O attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @N (%xn = %xs) -> (sum)
  // CHECK: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  %s = block.map @N (%xn = %xs) -> (sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.row_sum %x acc f32 : !X
    block.yield %f : !C
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %t = block.monomial %i * %s : !C
    %p = block.store %t : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !O
}

// Declined where not: no list of the cone has a user elsewhere.
// CHECK-LABEL: func.func @cone_without_private(
func.func @cone_without_private(%xs: !Xs, %ws: !Ws, %ls: !O) -> (!O, !block.list<N, block<M x K x f32>>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs, %wn = %ws) -> (stack)
  // CHECK: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  %y = block.map @N (%xn = %xs, %wn = %ws) -> (stack) : !Xs, !Ws {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %w = block.load %wn : !block.block<K x N x f32, global>
    %f = block.dot %x, %w acc f32 : !X, !W
    %o = block.store %f : !Y
    block.yield %o : !block.block<M x K x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (sum) : !block.list<N, block<M x K x f32>> {
      %j = block.load %yn : !block.block<M x K x f32, global>
      %r = block.row_scale %j, %i : !Y, !C
      %g = block.row_sum %r acc f32 : !Y
      block.yield %g : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z, %y : !O, !block.list<N, block<M x K x f32>>
}

// The same for an item, where the cone would go deeper than the consumer, from where nothing can leave.
// CHECK-LABEL: func.func @cone_without_private_items(
func.func @cone_without_private_items(%xs: !Xs, %ls: !block.list<L, K, vector<M x f32>>) -> (!block.list<L, K, vector<M x f32>>, !block.vector<M x f32, global>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.map @N (%xn = %xs) -> (sum)
  // CHECK: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %v = block.map @K (%k = %l) -> (stack)
  // CHECK-NEXT: %i = block.load %k
  %s = block.map @N (%xn = %xs) -> (sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.row_sum %x acc f32 : !X
    block.yield %f : !C
  }
  %z = block.map @L (%l = %ls) -> (stack) : !block.list<L, K, vector<M x f32>> {
    %v = block.map @K (%k = %l) -> (stack) : !block.list<K, vector<M x f32>> {
      %i = block.load %k : !block.vector<M x f32, global>
      %c = block.monomial %i * %s : !C
      %u = block.map @N (%xn = %xs) -> (sum) : !Xs {
        %j = block.load %xn : !block.block<M x N x f32, global>
        %r = block.row_scale %j, %c : !X, !C
        %g = block.row_max %r : !X
        block.yield %g : !C
      }
      %p = block.store %u : !C
      block.yield %p : !block.vector<M x f32, global>
    }
    block.yield %v : !block.list<K, vector<M x f32>>
  }
  %o = block.store %s : !C
  func.return %z, %o : !block.list<L, K, vector<M x f32>>, !block.vector<M x f32, global>
}

// Declined where not: no map from the consumer to the target runs over a dim that the producer runs over.
// CHECK-LABEL: func.func @cone_without_not_nested(
func.func @cone_without_not_nested(%xs: !block.list<N, L, vector<M x f32>>, %ls: !O) -> !O attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  %y = block.map @N (%xn = %xs) -> (stack) : !block.list<N, L, vector<M x f32>> {
    %t = block.map @L (%xl = %xn) -> (sum) : !block.list<L, vector<M x f32>> {
      %x = block.load %xl : !block.vector<M x f32, global>
      block.yield %x : !C
    }
    %o = block.store %t : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (max) : !Cs {
      %j = block.load %yn : !block.vector<M x f32, global>
      %g = block.monomial %i * %j : !C
      block.yield %g : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !O
}

// y, r = map N { f, g }; z = map L { map N (y) { h } }; .. y, r ..
//   -> r = map N { f, g }; z = map L { y = map N { f }; map N (y) { h } }
// CHECK-LABEL: func.func @slice(
func.func @slice(%xs: !Xs, %ls: !O) -> (!O, !Xs, !block.vector<M x f32, global>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %r = block.map @N (%xn = %xs) -> (stack, sum)
  // CHECK-NEXT: %x = block.load %xn
  // CHECK-NEXT: %f = block.mul %x, %x
  // CHECK-NEXT: %g = block.row_max %x
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o, %g
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %y_1 = block.map @N (%xn_1 = %xs) -> (stack)
  // CHECK-NEXT: %x_1 = block.load %xn_1
  // CHECK-NEXT: %f_1 = block.mul %x_1, %x_1
  // CHECK-NEXT: %o_1 = block.store %f_1
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %i = block.load %l
  // CHECK-NEXT: %s = block.map @N (%yn = %y_1) -> (sum)
  // CHECK-NEXT: %j = block.load %yn
  // CHECK-NEXT: %q = block.row_scale %j, %i
  // CHECK-NEXT: %h = block.row_sum %q
  // CHECK-NEXT: block.yield %h
  // CHECK-NEXT: }
  // CHECK-NEXT: %p = block.store %s
  // CHECK-NEXT: block.yield %p
  // CHECK-NEXT: }
  // CHECK-NEXT: %u = block.store %r
  // CHECK-NEXT: func.return %z, %y, %u
  // CHECK-NEXT: }
  %y, %r = block.map @N (%xn = %xs) -> (stack, sum) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %g = block.row_max %x : !X
    %o = block.store %f : !X
    block.yield %o, %g : !block.block<M x N x f32, global>, !C
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (sum) : !Xs {
      %j = block.load %yn : !block.block<M x N x f32, global>
      %q = block.row_scale %j, %i : !X, !C
      %h = block.row_sum %q acc f32 : !X
      block.yield %h : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  %u = block.store %r : !C
  func.return %z, %y, %u : !O, !Xs, !block.vector<M x f32, global>
}

// Declined where not: the list has users outside the consumer. The whole map moves instead.
// CHECK-LABEL: func.func @slice_without_shared(
func.func @slice_without_shared(%xs: !Xs, %ls: !O) -> !O attributes {block.dims = #dims} {
  // CHECK-NEXT: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %o = block.store %f : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (sum) : !Xs {
      %j = block.load %yn : !block.block<M x N x f32, global>
      %q = block.row_scale %j, %i : !X, !C
      %h = block.row_sum %q acc f32 : !X
      block.yield %h : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z : !O
}

// Declined where not: inside the consumer, a map over the producer's dim reads the list, or one that the producer reads,
// or it is reduced.
// CHECK-LABEL: func.func @slice_without_useful(
func.func @slice_without_useful(%xs: !Xs, %ls: !O) -> (!O, !Xs, !Xs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK: %z, %same = block.map @L (%l = %ls) -> (stack, any)
  // CHECK-NEXT: %i = block.load %l
  %y = block.map @N (%xn = %xs) -> (stack) : !Xs {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %f = block.mul %x, %x : !X
    %o = block.store %f : !X
    block.yield %o : !block.block<M x N x f32, global>
  }
  %z, %same = block.map @L (%l = %ls) -> (stack, any) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %g = block.mul %i, %i : !C
    %p = block.store %g : !C
    block.yield %p, %y : !block.vector<M x f32, global>, !Xs
  }
  func.return %z, %same, %y : !O, !Xs, !Xs
}

// Declined where not: no contraction is repeated.
// CHECK-LABEL: func.func @slice_without_cheap(
func.func @slice_without_cheap(%xs: !Xs, %ws: !Ws, %ls: !O) -> (!O, !block.list<N, block<M x K x f32>>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs, %wn = %ws) -> (stack)
  // CHECK: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  %y = block.map @N (%xn = %xs, %wn = %ws) -> (stack) : !Xs, !Ws {
    %x = block.load %xn : !block.block<M x N x f32, global>
    %w = block.load %wn : !block.block<K x N x f32, global>
    %f = block.dot %x, %w acc f32 : !X, !W
    %o = block.store %f : !Y
    block.yield %o : !block.block<M x K x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (sum) : !block.list<N, block<M x K x f32>> {
      %j = block.load %yn : !block.block<M x K x f32, global>
      %r = block.row_scale %j, %i : !Y, !C
      %g = block.row_sum %r acc f32 : !Y
      block.yield %g : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z, %y : !O, !block.list<N, block<M x K x f32>>
}

// Declined where not: no map from the consumer to the target runs over a dim that the producer runs over.
// CHECK-LABEL: func.func @slice_without_not_nested(
func.func @slice_without_not_nested(%xs: !block.list<N, L, vector<M x f32>>, %ls: !O) -> (!O, !Cs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK: %z = block.map @L (%l = %ls) -> (stack)
  // CHECK-NEXT: %i = block.load %l
  %y = block.map @N (%xn = %xs) -> (stack) : !block.list<N, L, vector<M x f32>> {
    %t = block.map @L (%xl = %xn) -> (sum) : !block.list<L, vector<M x f32>> {
      %x = block.load %xl : !block.vector<M x f32, global>
      block.yield %x : !C
    }
    %o = block.store %t : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  %z = block.map @L (%l = %ls) -> (stack) : !O {
    %i = block.load %l : !block.vector<M x f32, global>
    %s = block.map @N (%yn = %y) -> (max) : !Cs {
      %j = block.load %yn : !block.vector<M x f32, global>
      %g = block.monomial %i * %j : !C
      block.yield %g : !C
    }
    %p = block.store %s : !C
    block.yield %p : !block.vector<M x f32, global>
  }
  func.return %z, %y : !O, !Cs
}
