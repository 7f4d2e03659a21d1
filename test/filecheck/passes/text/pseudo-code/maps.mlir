// RUN: bb-opt %s --pseudo-code | filecheck %s --strict-whitespace --match-full-lines

// Maps as loops: `forall` where nothing is accumulated, `for` with accumulators otherwise.

// Every kind of result; sums of sums are one sum; a falling sum; a result that is the same in every iteration.
//       CHECK:kinds(x[M, K], v[M]) -> (y[M, K], out[M])
//  CHECK-NEXT:    where M = K = ?, N = 3 (batch)
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M:
//  CHECK-NEXT:    scale = load v[m]
//  CHECK-NEXT:    total = fall = 0
//  CHECK-NEXT:    most = -inf
//  CHECK-NEXT:    least = inf
//  CHECK-NEXT:    for k in K:  // root: the same for every k
//  CHECK-NEXT:        scaled = row_scale(load x[m, k], scale)
//  CHECK-NEXT:        total2 = row_sum(scaled)
//  CHECK-NEXT:        most   = max(most, row_max(scaled))
//  CHECK-NEXT:        least  = min(least, row_min(scaled))
//  CHECK-NEXT:        fall  -= total2
//  CHECK-NEXT:        root   = sqrt(scale)
//  CHECK-NEXT:        store y[m, k] = scaled
//  CHECK-NEXT:        total += total2
//  CHECK-NEXT:    nested = 0
//  CHECK-NEXT:    for n in N, k in K:
//  CHECK-NEXT:        nested += row_sum(load x[m, k])
//  CHECK-NEXT:    store out[m] = total + most + least + fall + root + nested
func.func @kinds(%x: tensor<?x?xf32>, %v: tensor<?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>)
    attributes {block.dims = {M = #block.dim<?>, K = #block.dim<?>, N = #block.dim<3, batch>}} {
  %X = block.partition %x [M, K] : tensor<?x?xf32> -> !block.list<M, K, block<M x K x f32>>
  %V = block.partition %v [M] : tensor<?xf32> -> !block.list<M, vector<M x f32>>
  %Y, %Out = block.map @M (%Xm = %X, %Vm = %V) -> (stack, stack) : !block.list<M, K, block<M x K x f32>>, !block.list<M, vector<M x f32>> {
    %scale = block.load %Vm : !block.vector<M x f32, global>
    %total, %most, %least, %fall, %Blocks, %root = block.map @K (%Xmk = %Xm) -> (sum, max, min, sum, stack, any) : !block.list<K, block<M x K x f32>> {
      %block = block.load %Xmk : !block.block<M x K x f32, global>
      %scaled = block.row_scale %block, %scale : !block.block<M x K x f32>, !block.vector<M x f32>
      %sum = block.row_sum %scaled acc f32 : !block.block<M x K x f32>
      %max = block.row_max %scaled : !block.block<M x K x f32>
      %min = block.row_min %scaled : !block.block<M x K x f32>
      %neg = block.linear -1 * %sum : !block.vector<M x f32>
      %root_1 = block.elementwise (%p = %scale) : !block.vector<M x f32> -> !block.vector<M x f32> {
        %0 = math.sqrt %p : f32
        block.yield %0 : f32
      }
      %stored = block.store %scaled : !block.block<M x K x f32>
      block.yield %sum, %max, %min, %neg, %stored, %root_1 : !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32>, !block.vector<M x f32>, !block.block<M x K x f32, global>, !block.vector<M x f32>
    }
    %nested = block.map @N () -> (sum) {
      %inner = block.map @K (%Xmk = %Xm) -> (sum) : !block.list<K, block<M x K x f32>> {
        %block = block.load %Xmk : !block.block<M x K x f32, global>
        %sum = block.row_sum %block acc f32 : !block.block<M x K x f32>
        block.yield %sum : !block.vector<M x f32>
      }
      block.yield %inner : !block.vector<M x f32>
    }
    %0 = block.add %total, %most : !block.vector<M x f32>
    %1 = block.add %least, %fall : !block.vector<M x f32>
    %2 = block.add %root, %nested : !block.vector<M x f32>
    %3 = block.add %0, %1 : !block.vector<M x f32>
    %4 = block.add %3, %2 : !block.vector<M x f32>
    %5 = block.store %4 : !block.vector<M x f32>
    block.yield %Blocks, %5 : !block.list<K, block<M x K x f32>>, !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<?x?xf32>
  %out = block.assemble %Out [M] : !block.list<M, vector<M x f32>> -> tensor<?xf32>
  func.return %y, %out : tensor<?x?xf32>, tensor<?xf32>
}

// A list that is private to an iteration has no index for the loops around it; a list may be captured from outside.
//       CHECK:lists(x[M, N]) -> y[K, L]
//  CHECK-NEXT:    where M = 8 (blocks of 4), N = L = 6, K = 8
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M:
//  CHECK-NEXT:    forall n in N:
//  CHECK-NEXT:        store Parts[n] = row_max(load x[m, n])
//  CHECK-NEXT:    store Max[m] = max over n in N of load Parts[n]
//  CHECK-NEXT:forall k in K, l in L:
//  CHECK-NEXT:    b = load x[k, l]
//  CHECK-NEXT:    all = 0
//  CHECK-NEXT:    most = -inf
//  CHECK-NEXT:    for m in M:
//  CHECK-NEXT:        mm   = load Max[m]
//  CHECK-NEXT:        all += row_sum(mm)
//  CHECK-NEXT:        most = max(most, row_max(mm))
//  CHECK-NEXT:    store y[k, l] = (b - row_sum(b)·1ᵀ) * all / most
func.func @lists(%x: tensor<8x6xf32>) -> tensor<8x6xf32>
    attributes {block.dims = {M = #block.dim<8, block = 4>, N = #block.dim<6>, K = #block.dim<8>, L = #block.dim<6>}} {
  %X = block.partition %x [M, N] : tensor<8x6xf32> -> !block.list<M, N, block<M x N x f32>>
  %Max = block.map @M (%Xm = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    %parts = block.map @N (%Xmn = %Xm) -> (stack) : !block.list<N, block<M x N x f32>> {
      %b = block.load %Xmn : !block.block<M x N x f32, global>
      %m = block.row_max %b : !block.block<M x N x f32>
      %ms = block.store %m : !block.vector<M x f32>
      block.yield %ms : !block.vector<M x f32, global>
    }
    %r = block.reduce max %parts : !block.list<N, vector<M x f32>>
    %rs = block.store %r : !block.vector<M x f32>
    block.yield %rs : !block.vector<M x f32, global>
  }
  %T = block.partition %x [K, L] : tensor<8x6xf32> -> !block.list<K, L, block<K x L x f32>>
  %Y = block.map @K (%Tk = %T) -> (stack) : !block.list<K, L, block<K x L x f32>> {
    %Yk = block.map @L (%Tkl = %Tk) -> (stack) : !block.list<L, block<K x L x f32>> {
      %b = block.load %Tkl : !block.block<K x L x f32, global>
      %sum = block.row_sum %b acc f32 : !block.block<K x L x f32>
      %all, %most = block.map @M (%Max_m = %Max) -> (sum, max) : !block.list<M, vector<M x f32>> {
        %m = block.load %Max_m : !block.vector<M x f32, global>
        %s = block.row_sum %m acc f32 : !block.vector<M x f32>
        %t = block.row_max %m : !block.vector<M x f32>
        block.yield %s, %t : !block.scalar<f32>, !block.scalar<f32>
      }
      %y = block.elementwise (%p = %b, %q = %sum, %r = %all, %s = %most) : !block.block<K x L x f32>, !block.vector<K x f32>, !block.scalar<f32>, !block.scalar<f32> -> !block.block<K x L x f32> {
        %0 = arith.subf %p, %q : f32
        %1 = arith.divf %r, %s : f32
        %2 = arith.mulf %0, %1 : f32
        block.yield %2 : f32
      }
      %ys = block.store %y : !block.block<K x L x f32>
      block.yield %ys : !block.block<K x L x f32, global>
    }
    block.yield %Yk : !block.list<L, block<K x L x f32>>
  }
  %y = block.assemble %Y [K, L] : !block.list<K, L, block<K x L x f32>> -> tensor<8x6xf32>
  func.return %y : tensor<8x6xf32>
}

// Lists of lists, global items and views that no array operation makes: nothing moves.
//       CHECK:views_of_lists(x[M, N]) -> (y[M, N], z[M, N, K])
//  CHECK-NEXT:    where M = 4, N = 6, K = 4 (batch)
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M:
//  CHECK-NEXT:    view Y[m, N] = x[m, N]
//  CHECK-NEXT:forall k in K:  // y: the same for every k
//  CHECK-NEXT:    forall m in M:  // first: the same for every m
//  CHECK-NEXT:        first = 0
//  CHECK-NEXT:        view y[m, N] = x[m, N]
//  CHECK-NEXT:    view z[M, N, k] = x[M, N]
func.func @views_of_lists(%x: tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6x4xf32>)
    attributes {block.dims = {M = #block.dim<4>, N = #block.dim<6>, K = #block.dim<4, batch>}} {
  %X = block.partition %x [M, N] : tensor<4x6xf32> -> !block.list<M, N, block<M x N x f32>>
  // The same elements again.
  %Y = block.map @M (%Xm = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    block.yield %Xm : !block.list<N, block<M x N x f32>>
  }
  // The same list for every k, and any of its elements.
  %Z, %Any = block.map @K () -> (stack, any) {
    %L, %first = block.map @M (%Xm = %X) -> (stack, any) : !block.list<M, N, block<M x N x f32>> {
      %zero = block.elementwise () -> !block.scalar<f32> {
        %c = arith.constant 0.0 : f32
        block.yield %c : f32
      }
      block.yield %Xm, %zero : !block.list<N, block<M x N x f32>>, !block.scalar<f32>
    }
    block.yield %X, %L : !block.list<M, N, block<M x N x f32>>, !block.list<M, N, block<M x N x f32>>
  }
  %y = block.assemble %Any [M, N] : !block.list<M, N, block<M x N x f32>> -> tensor<4x6xf32>
  %z = block.assemble %Z [M, N, K] : !block.list<K, M, N, block<M x N x f32>> -> tensor<4x6x4xf32>
  func.return %y, %z : tensor<4x6xf32>, tensor<4x6x4xf32>
}

// A sum that is relative to a maximum is kept in units of its exponential; the first block of a list has a place.
//       CHECK:relative(x[M, N], v[K]) -> (y[M], z[M, K])
//  CHECK-NEXT:    where M = 8, N = K = 6
// CHECK-EMPTY:
//  CHECK-NEXT:forall m in M:
//  CHECK-NEXT:    forall k in K:
//  CHECK-NEXT:        v = load v[k]
//  CHECK-NEXT:        top = -inf
//  CHECK-NEXT:        total = weighted = 0
//  CHECK-NEXT:        for n in N:  // total, weighted: in units of exp(top)
//  CHECK-NEXT:            b        = load x[m, n]
//  CHECK-NEXT:            t        = row_max(b)
//  CHECK-NEXT:            s        = row_sum(b)
//  CHECK-NEXT:            new_top  = max(top, t)
//  CHECK-NEXT:            fade     = where(top == new_top, 1, exp(top - new_top))
//  CHECK-NEXT:            unit     = where(t == new_top, 1, exp(t - new_top))
//  CHECK-NEXT:            total    = total * fade + s * unit
//  CHECK-NEXT:            weighted = row_scale(weighted, fade) + row_scale(outer(s, v), unit)
//  CHECK-NEXT:            top      = new_top
//  CHECK-NEXT:        store z[m, k] = row_shift(row_scale(weighted, total), top)
//  CHECK-NEXT:    store y[m] = row_max(load x[m, first N])
func.func @relative(%x: tensor<8x6xf32>, %v: tensor<6xf32>) -> (tensor<8xf32>, tensor<8x6xf32>)
    attributes {block.dims = {M = #block.dim<8>, N = #block.dim<6>, K = #block.dim<6>}} {
  %X = block.partition %x [M, N] : tensor<8x6xf32> -> !block.list<M, N, block<M x N x f32>>
  %V = block.partition %v [K] : tensor<6xf32> -> !block.list<K, vector<K x f32>>
  %Y, %Z = block.map @M (%Xm = %X) -> (stack, stack) : !block.list<M, N, block<M x N x f32>> {
    %first = block.first %Xm : !block.list<N, block<M x N x f32>>
    %f = block.load %first : !block.block<M x N x f32, global>
    %m = block.row_max %f : !block.block<M x N x f32>
    %Zm = block.map @K (%Vk = %V) -> (stack) : !block.list<K, vector<K x f32>> {
      %v_1 = block.load %Vk : !block.vector<K x f32, global>
      %top, %total, %weighted = block.map @N (%Xmn = %Xm) -> (max, sum rel 0, sum rel 0) : !block.list<N, block<M x N x f32>> {
        %b = block.load %Xmn : !block.block<M x N x f32, global>
        %t = block.row_max %b : !block.block<M x N x f32>
        %s = block.row_sum %b acc f32 : !block.block<M x N x f32>
        %w = block.outer %s, %v_1 : !block.vector<M x f32>, !block.vector<K x f32>
        block.yield %t, %s, %w : !block.vector<M x f32>, !block.vector<M x f32>, !block.block<M x K x f32>
      }
      %z = block.row_scale %weighted, %total : !block.block<M x K x f32>, !block.vector<M x f32>
      %zz = block.row_shift %z, %top : !block.block<M x K x f32>, !block.vector<M x f32>
      %zs = block.store %zz : !block.block<M x K x f32>
      block.yield %zs : !block.block<M x K x f32, global>
    }
    %ms = block.store %m : !block.vector<M x f32>
    block.yield %ms, %Zm : !block.vector<M x f32, global>, !block.list<K, block<M x K x f32>>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  %z = block.assemble %Z [M, K] : !block.list<M, K, block<M x K x f32>> -> tensor<8x6xf32>
  func.return %y, %z : tensor<8xf32>, tensor<8x6xf32>
}
