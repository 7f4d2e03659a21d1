// RUN: bb-opt %s -p "block-apply{rules=interchange-maps},canonicalize" | filecheck %s

!X = !block.block<M x K x f32>
!Xs = !block.list<H, M, block<M x K x f32>>
!Xt = !block.list<M, H, block<M x K x f32>>
!Xm = !block.list<M, block<M x K x f32>>
!C = !block.vector<M x f32>
!Cs = !block.list<H, M, vector<M x f32>>
!Ct = !block.list<M, H, vector<M x f32>>
!Cm = !block.list<M, vector<M x f32>>
!x = tensor<2x5x3xf32>
!c = tensor<2x5xf32>
#dims = {B = #block.dim<3, batch>, H = #block.dim<2, batch>, M = #block.dim<5, block = 2>, N = #block.dim<4, block = 2>, K = #block.dim<3, whole>}

// y = map H (x) { map M { f } }; partition (assemble y) as a list over M, H
//   -> y = map M (x as a list over M, H) { map H { f } }
// CHECK-LABEL: func.func @interchange_maps(
func.func @interchange_maps(%x: !x) -> (!c, !Ct) attributes {block.dims = #dims} {
  // CHECK-NEXT: %xs = block.partition %x [H, M, K]
  // CHECK-NEXT: %y = block.map @M (%xs_m = %xs) -> (stack)
  // CHECK-NEXT: %yh = block.map @H (%xs_mh = %xs_m) -> (stack)
  // CHECK-NEXT: %i = block.load %xs_mh
  // CHECK-NEXT: %f = block.row_max %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yh
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [H, M]
  // CHECK-NEXT: func.return %a, %y
  // CHECK-NEXT: }
  %xs = block.partition %x [H, M, K] : !x -> !Xs
  %y = block.map @H (%xh = %xs) -> (stack) : !Xs {
    %yh = block.map @M (%xhm = %xh) -> (stack) : !Xm {
      %i = block.load %xhm : !block.block<M x K x f32, global>
      %f = block.row_max %i : !X
      %o = block.store %f : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %yh : !Cm
  }
  %a = block.assemble %y [H, M] : !Cs -> !c
  %t = block.partition %a [H, M] : !c -> !Ct
  func.return %a, %t : !c, !Ct
}

// What a nest reads of another is seen transposed, so that the other follows; so are lists that come from outside.
// CHECK-LABEL: func.func @interchange_maps_one_after_the_other(
func.func @interchange_maps_one_after_the_other(%xs: !Xs, %cs: !Cs) -> !Ct attributes {block.dims = #dims} {
  // CHECK-NEXT: %xs_1 = block.assemble %xs [H, M, K]
  // CHECK-NEXT: %xs_2 = block.partition %xs_1 [H, M, K]
  // CHECK-NEXT: %y = block.map @M (%xs_m = %xs_2) -> (stack)
  // CHECK-NEXT: %yh = block.map @H (%xs_mh = %xs_m) -> (stack)
  // CHECK-NEXT: %i = block.load %xs_mh
  // CHECK-NEXT: %f = block.row_max %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yh
  // CHECK-NEXT: }
  // CHECK-NEXT: %cs_1 = block.assemble %cs [H, M]
  // CHECK-NEXT: %cs_2 = block.partition %cs_1 [H, M]
  // CHECK-NEXT: %z = block.map @M (%y_m = %y, %cs_m = %cs_2) -> (stack)
  // CHECK-NEXT: %zh = block.map @H (%y_mh = %y_m, %cs_mh = %cs_m) -> (stack)
  // CHECK-NEXT: %i_1 = block.load %y_mh
  // CHECK-NEXT: %j = block.load %cs_mh
  // CHECK-NEXT: %f_1 = block.mul %i_1, %j
  // CHECK-NEXT: %o_1 = block.store %f_1
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %zh
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z
  // CHECK-NEXT: }
  %y = block.map @H (%xh = %xs) -> (stack) : !Xs {
    %yh = block.map @M (%xhm = %xh) -> (stack) : !Xm {
      %i = block.load %xhm : !block.block<M x K x f32, global>
      %f = block.row_max %i : !X
      %o = block.store %f : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %yh : !Cm
  }
  %z = block.map @H (%yh = %y, %ch = %cs) -> (stack) : !Cs, !Cs {
    %zh = block.map @M (%yhm = %yh, %chm = %ch) -> (stack) : !Cm, !Cm {
      %i = block.load %yhm : !block.vector<M x f32, global>
      %j = block.load %chm : !block.vector<M x f32, global>
      %f = block.mul %i, %j : !C
      %o = block.store %f : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %zh : !Cm
  }
  %a = block.assemble %z [H, M] : !Cs -> !c
  %t = block.partition %a [H, M] : !c -> !Ct
  func.return %t : !Ct
}

// Three dims, two results, and lists over some of the dims; what the innermost body reads of an outer element stays.
// CHECK-LABEL: func.func @interchange_maps_of_three_dims(
func.func @interchange_maps_of_three_dims(%b: tensor<3x2x5xf32>, %ws: !block.list<B, M, vector<M x f32>>, %hs: !block.list<H, scalar<f32>>, %bs: !block.list<B, N, scalar<f32>>) -> (!block.list<M, H, B, vector<M x f32>>, tensor<3x2x5xf32>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %xs = block.partition %b [B, H, M]
  // CHECK-NEXT: %ws_1 = block.assemble %ws [B, M]
  // CHECK-NEXT: %ws_2 = block.partition %ws_1 [B, M]
  // CHECK-NEXT: %z, %y = block.map @M (%xs_m = %xs, %ws_m = %ws_2) -> (stack, stack)
  // CHECK-NEXT: %ybh, %zbh = block.map @H (%hs_h = %hs, %xs_mh = %xs_m) -> (stack, stack)
  // CHECK-NEXT: %ybh_1, %zbh_1 = block.map @B (%bs_b = %bs, %xs_mhb = %xs_mh, %ws_mb = %ws_m) -> (stack, stack)
  // CHECK-NEXT: %i = block.load %xs_mhb
  // CHECK-NEXT: %j = block.load %ws_mb
  // CHECK-NEXT: %l = block.load %hs_h
  // CHECK-NEXT: %m = block.reduce max %bs_b
  // CHECK-NEXT: %f = block.mul %i, %j
  // CHECK-NEXT: %k = block.mul %l, %m
  // CHECK-NEXT: %g = block.elementwise (%p = %i, %q = %k)
  // CHECK-NEXT: %e = arith.addf %p, %q
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: %p_1 = block.store %g
  // CHECK-NEXT: block.yield %o, %p_1
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %ybh_1, %zbh_1
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %ybh, %zbh
  // CHECK-NEXT: }
  // CHECK-NEXT: %w = block.assemble %z [B, H, M]
  // CHECK-NEXT: func.return %y, %w
  // CHECK-NEXT: }
  %xs = block.partition %b [B, H, M] : tensor<3x2x5xf32> -> !block.list<B, H, M, vector<M x f32>>
  %y, %z = block.map @B (%xb = %xs, %wb = %ws, %n = %bs) -> (stack, stack) : !block.list<B, H, M, vector<M x f32>>, !block.list<B, M, vector<M x f32>>, !block.list<B, N, scalar<f32>> {
    %yb, %zb = block.map @H (%xbh = %xb, %h = %hs) -> (stack, stack) : !Cs, !block.list<H, scalar<f32>> {
      %ybh, %zbh = block.map @M (%xbhm = %xbh, %wbm = %wb) -> (stack, stack) : !Cm, !Cm {
        %i = block.load %xbhm : !block.vector<M x f32, global>
        %j = block.load %wbm : !block.vector<M x f32, global>
        %l = block.load %h : !block.scalar<f32, global>
        %m = block.reduce max %n : !block.list<N, scalar<f32>>
        %f = block.mul %i, %j : !C
        %k = block.mul %l, %m : !block.scalar<f32>
        %g = block.elementwise (%p = %i, %q = %k) : !C, !block.scalar<f32> -> !C {
          %e = arith.addf %p, %q : f32
          block.yield %e : f32
        }
        %o = block.store %f : !C
        %p = block.store %g : !C
        block.yield %o, %p : !block.vector<M x f32, global>, !block.vector<M x f32, global>
      }
      block.yield %ybh, %zbh : !Cm, !Cm
    }
    block.yield %zb, %yb : !Cs, !Cs
  }
  %v = block.assemble %y [B, H, M] : !block.list<B, H, M, vector<M x f32>> -> tensor<3x2x5xf32>
  %w = block.assemble %z [B, H, M] : !block.list<B, H, M, vector<M x f32>> -> tensor<3x2x5xf32>
  %t = block.partition %v [B, H, M] : tensor<3x2x5xf32> -> !block.list<M, H, B, vector<M x f32>>
  func.return %t, %w : !block.list<M, H, B, vector<M x f32>>, tensor<3x2x5xf32>
}

// Along other axes a view is no transposed one.
// CHECK-LABEL: func.func @interchange_maps_not_along_other_axes(
func.func @interchange_maps_not_along_other_axes(%xs: !Xs) -> !block.list<M, H, vector<M x f32>> attributes {block.dims = {H = #block.dim<5, batch>, M = #block.dim<5, block = 2>, K = #block.dim<3, whole>}} {
  // CHECK-NEXT: %y = block.map @H (%xh = %xs) -> (stack)
  // CHECK-NEXT: %yh = block.map @M (%xhm = %xh) -> (stack)
  // CHECK-NEXT: %i = block.load %xhm
  // CHECK-NEXT: %f = block.row_max %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yh
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [H, M]
  // CHECK-NEXT: %t = block.partition %a [M, H]
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %y = block.map @H (%xh = %xs) -> (stack) : !Xs {
    %yh = block.map @M (%xhm = %xh) -> (stack) : !Xm {
      %i = block.load %xhm : !block.block<M x K x f32, global>
      %f = block.row_max %i : !X
      %o = block.store %f : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %yh : !Cm
  }
  %a = block.assemble %y [H, M] : !Cs -> tensor<5x5xf32>
  %t = block.partition %a [M, H] : tensor<5x5xf32> -> !Ct
  func.return %t : !Ct
}

// A view whose items are transposed too is none of a list in another order.
// CHECK-LABEL: func.func @interchange_maps_not_of_other_items(
func.func @interchange_maps_not_of_other_items(%x: !block.list<N, M, block<N x M x f32>>) -> !block.list<M, N, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %x) -> (stack)
  // CHECK-NEXT: %yn = block.map @M (%xnm = %xn) -> (stack)
  // CHECK-NEXT: %i = block.load %xnm
  // CHECK-NEXT: %f = block.mul %i, %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yn
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [N, M]
  // CHECK-NEXT: %t = block.partition %a [N, M]
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %x) -> (stack) : !block.list<N, M, block<N x M x f32>> {
    %yn = block.map @M (%xnm = %xn) -> (stack) : !block.list<M, block<N x M x f32>> {
      %i = block.load %xnm : !block.block<N x M x f32, global>
      %f = block.mul %i, %i : !block.block<N x M x f32>
      %o = block.store %f : !block.block<N x M x f32>
      block.yield %o : !block.block<N x M x f32, global>
    }
    block.yield %yn : !block.list<M, block<N x M x f32>>
  }
  %a = block.assemble %y [N, M] : !block.list<N, M, block<N x M x f32>> -> tensor<4x5xf32>
  %t = block.partition %a [N, M] : tensor<4x5xf32> -> !block.list<M, N, block<M x N x f32>>
  func.return %t : !block.list<M, N, block<M x N x f32>>
}

// Declined where not: as deep as the orders differ, the list is made by maps that stand directly one inside another and only stack.
// Here a reduction stands beside the inner map.
// CHECK-LABEL: func.func @interchange_maps_without_perfect(
func.func @interchange_maps_without_perfect(%xs: !Xs) -> !Ct attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @H (%xh = %xs) -> (stack)
  // CHECK-NEXT: %s = block.map @M (%xhm = %xh) -> (sum)
  // CHECK-NEXT: %i = block.load %xhm
  // CHECK-NEXT: %f = block.row_max %i
  // CHECK-NEXT: %g = block.row_sum %f
  // CHECK-NEXT: block.yield %g
  // CHECK-NEXT: }
  // CHECK-NEXT: %yh = block.map @M (%xhm_1 = %xh) -> (stack)
  // CHECK-NEXT: %i_1 = block.load %xhm_1
  // CHECK-NEXT: %f_1 = block.row_max %i_1
  // CHECK-NEXT: %g_1 = block.elementwise (%p = %f_1, %q = %s)
  // CHECK-NEXT: %e = arith.addf %p, %q
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = block.store %g_1
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yh
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [H, M]
  // CHECK-NEXT: %t = block.partition %a [H, M]
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %y = block.map @H (%xh = %xs) -> (stack) : !Xs {
    %s = block.map @M (%xhm = %xh) -> (sum) : !Xm {
      %i = block.load %xhm : !block.block<M x K x f32, global>
      %f = block.row_max %i : !X
      %g = block.row_sum %f acc f32 : !C
      block.yield %g : !block.scalar<f32>
    }
    %yh = block.map @M (%xhm = %xh) -> (stack) : !Xm {
      %i = block.load %xhm : !block.block<M x K x f32, global>
      %f = block.row_max %i : !X
      %g = block.elementwise (%p = %f, %q = %s) : !C, !block.scalar<f32> -> !C {
        %e = arith.addf %p, %q : f32
        block.yield %e : f32
      }
      %o = block.store %g : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %yh : !Cm
  }
  %a = block.assemble %y [H, M] : !Cs -> !c
  %t = block.partition %a [H, M] : !c -> !Ct
  func.return %t : !Ct
}

// Here the outer map also reduces.
// CHECK-LABEL: func.func @interchange_maps_without_perfect_but_a_sum(
func.func @interchange_maps_without_perfect_but_a_sum(%xs: !Xs) -> (!Ct, !block.scalar<f32>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y, %z = block.map @H (%xh = %xs) -> (stack, sum)
  // CHECK-NEXT: %yh, %s = block.map @M (%xhm = %xh) -> (stack, sum)
  // CHECK-NEXT: %i = block.load %xhm
  // CHECK-NEXT: %f = block.row_max %i
  // CHECK-NEXT: %g = block.row_sum %f
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o, %g
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yh, %s
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [H, M]
  // CHECK-NEXT: %t = block.partition %a [H, M]
  // CHECK-NEXT: func.return %t, %z
  // CHECK-NEXT: }
  %y, %z = block.map @H (%xh = %xs) -> (stack, sum) : !Xs {
    %yh, %s = block.map @M (%xhm = %xh) -> (stack, sum) : !Xm {
      %i = block.load %xhm : !block.block<M x K x f32, global>
      %f = block.row_max %i : !X
      %g = block.row_sum %f acc f32 : !C
      %o = block.store %f : !C
      block.yield %o, %g : !block.vector<M x f32, global>, !block.scalar<f32>
    }
    block.yield %yh, %s : !Cm, !block.scalar<f32>
  }
  %a = block.assemble %y [H, M] : !Cs -> !c
  %t = block.partition %a [H, M] : !c -> !Ct
  func.return %t, %z : !Ct, !block.scalar<f32>
}

// Here the outer map stacks what it only captures.
// CHECK-LABEL: func.func @interchange_maps_without_perfect_but_a_captured_list(
func.func @interchange_maps_without_perfect_but_a_captured_list(%cs: !Cm, %hs: !block.list<H, vector<M x f32>>) -> !Ct attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @H () -> (stack)
  // CHECK-NEXT: block.yield %cs
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [H, M]
  // CHECK-NEXT: %t = block.partition %a [H, M]
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %y = block.map @H (%h = %hs) -> (stack) : !block.list<H, vector<M x f32>> {
    block.yield %cs : !Cm
  }
  %a = block.assemble %y [H, M] : !Cs -> !c
  %t = block.partition %a [H, M] : !c -> !Ct
  func.return %t : !Ct
}

// Declined where not: the lists that the maps stack are read as arrays only.
// CHECK-LABEL: func.func @interchange_maps_without_private(
func.func @interchange_maps_without_private(%xs: !Xs) -> (!Ct, !Cs) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @H (%xh = %xs) -> (stack)
  // CHECK-NEXT: %yh = block.map @M (%xhm = %xh) -> (stack)
  // CHECK-NEXT: %i = block.load %xhm
  // CHECK-NEXT: %f = block.row_max %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yh
  // CHECK-NEXT: }
  // CHECK-NEXT: %z = block.map @H (%yh_1 = %y) -> (stack)
  // CHECK-NEXT: %zh = block.map @M (%yhm = %yh_1) -> (stack)
  // CHECK-NEXT: %i_1 = block.load %yhm
  // CHECK-NEXT: %f_1 = block.mul %i_1, %i_1
  // CHECK-NEXT: %o_1 = block.store %f_1
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %zh
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [H, M]
  // CHECK-NEXT: %t = block.partition %a [H, M]
  // CHECK-NEXT: func.return %t, %z
  // CHECK-NEXT: }
  %y = block.map @H (%xh = %xs) -> (stack) : !Xs {
    %yh = block.map @M (%xhm = %xh) -> (stack) : !Xm {
      %i = block.load %xhm : !block.block<M x K x f32, global>
      %f = block.row_max %i : !X
      %o = block.store %f : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %yh : !Cm
  }
  %z = block.map @H (%yh = %y) -> (stack) : !Cs {
    %zh = block.map @M (%yhm = %yh) -> (stack) : !Cm {
      %i = block.load %yhm : !block.vector<M x f32, global>
      %f = block.mul %i, %i : !C
      %o = block.store %f : !C
      block.yield %o : !block.vector<M x f32, global>
    }
    block.yield %zh : !Cm
  }
  %a = block.assemble %y [H, M] : !Cs -> !c
  %t = block.partition %a [H, M] : !c -> !Ct
  func.return %t, %z : !Ct, !Cs
}

// Declined where not: all views of these arrays along the same axes nest the dims in one order.
// CHECK-LABEL: func.func @interchange_maps_without_one_order(
func.func @interchange_maps_without_one_order(%xs: !block.list<B, H, M, vector<M x f32>>) -> (!block.list<M, B, H, vector<M x f32>>, !block.list<M, H, B, vector<M x f32>>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @B (%xb = %xs) -> (stack)
  // CHECK-NEXT: %yb = block.map @H (%xbh = %xb) -> (stack)
  // CHECK-NEXT: %ybh = block.map @M (%xbhm = %xbh) -> (stack)
  // CHECK-NEXT: %i = block.load %xbhm
  // CHECK-NEXT: %f = block.mul %i, %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %ybh
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yb
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [B, H, M]
  // CHECK-NEXT: %t = block.partition %a [B, H, M]
  // CHECK-NEXT: %u = block.partition %a [B, H, M]
  // CHECK-NEXT: func.return %t, %u
  // CHECK-NEXT: }
  %y = block.map @B (%xb = %xs) -> (stack) : !block.list<B, H, M, vector<M x f32>> {
    %yb = block.map @H (%xbh = %xb) -> (stack) : !Cs {
      %ybh = block.map @M (%xbhm = %xbh) -> (stack) : !Cm {
        %i = block.load %xbhm : !block.vector<M x f32, global>
        %f = block.mul %i, %i : !C
        %o = block.store %f : !C
        block.yield %o : !block.vector<M x f32, global>
      }
      block.yield %ybh : !Cm
    }
    block.yield %yb : !Cs
  }
  %a = block.assemble %y [B, H, M] : !block.list<B, H, M, vector<M x f32>> -> tensor<3x2x5xf32>
  %t = block.partition %a [B, H, M] : tensor<3x2x5xf32> -> !block.list<M, B, H, vector<M x f32>>
  %u = block.partition %a [B, H, M] : tensor<3x2x5xf32> -> !block.list<M, H, B, vector<M x f32>>
  func.return %t, %u : !block.list<M, B, H, vector<M x f32>>, !block.list<M, H, B, vector<M x f32>>
}

// Declined where not: each list that the maps read in another order is an array or can be one.
// Here it is a list of partial results over N.
// CHECK-LABEL: func.func @interchange_maps_without_viewable(
func.func @interchange_maps_without_viewable(%xs: !block.list<N, M, vector<M x f32>>) -> !block.list<M, N, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @N (%xn = %xs) -> (stack)
  // CHECK-NEXT: %yn = block.map @M (%xnm = %xn) -> (stack)
  // CHECK-NEXT: %i = block.load %xnm
  // CHECK-NEXT: %one = block.elementwise () -> !block.vector<N x f32>
  // CHECK-NEXT: %e = arith.constant 1.000000e+00
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %f = block.outer %i, %one
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yn
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [M, N]
  // CHECK-NEXT: %t = block.partition %a [M, N]
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %y = block.map @N (%xn = %xs) -> (stack) : !block.list<N, M, vector<M x f32>> {
    %yn = block.map @M (%xnm = %xn) -> (stack) : !Cm {
      %i = block.load %xnm : !block.vector<M x f32, global>
      %one = block.elementwise () -> !block.vector<N x f32> {
        %e = arith.constant 1.0 : f32
        block.yield %e : f32
      }
      %f = block.outer %i, %one : !C, !block.vector<N x f32>
      %o = block.store %f : !block.block<M x N x f32>
      block.yield %o : !block.block<M x N x f32, global>
    }
    block.yield %yn : !block.list<M, block<M x N x f32>>
  }
  %a = block.assemble %y [M, N] : !block.list<N, M, block<M x N x f32>> -> tensor<5x4xf32>
  %t = block.partition %a [M, N] : tensor<5x4xf32> -> !block.list<M, N, block<M x N x f32>>
  func.return %t : !block.list<M, N, block<M x N x f32>>
}

// Here it is unknown which rows the vectors are.
// CHECK-LABEL: func.func @interchange_maps_without_viewable_rows(
func.func @interchange_maps_without_viewable_rows(%xs: !block.list<B, H, vector<M x f32>>) -> !block.list<H, B, scalar<f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %y = block.map @B (%xb = %xs) -> (stack)
  // CHECK-NEXT: %yb = block.map @H (%xbh = %xb) -> (stack)
  // CHECK-NEXT: %i = block.load %xbh
  // CHECK-NEXT: %f = block.row_sum %i
  // CHECK-NEXT: %o = block.store %f
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %yb
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = block.assemble %y [B, H]
  // CHECK-NEXT: %t = block.partition %a [B, H]
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %y = block.map @B (%xb = %xs) -> (stack) : !block.list<B, H, vector<M x f32>> {
    %yb = block.map @H (%xbh = %xb) -> (stack) : !block.list<H, vector<M x f32>> {
      %i = block.load %xbh : !block.vector<M x f32, global>
      %f = block.row_sum %i acc f32 : !C
      %o = block.store %f : !block.scalar<f32>
      block.yield %o : !block.scalar<f32, global>
    }
    block.yield %yb : !block.list<H, scalar<f32>>
  }
  %a = block.assemble %y [B, H] : !block.list<B, H, scalar<f32>> -> tensor<3x2xf32>
  %t = block.partition %a [B, H] : tensor<3x2xf32> -> !block.list<H, B, scalar<f32>>
  func.return %t : !block.list<H, B, scalar<f32>>
}
