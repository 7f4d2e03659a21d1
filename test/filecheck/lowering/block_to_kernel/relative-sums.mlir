// RUN: bb-opt %s -p block-to-kernel | filecheck %s

#dims = {M = #block.dim<100, block = 16>, N = #block.dim<30, block = 4>}

// Here the sum falls with the square of exp(-t), so that another t does not give the same product: the sum of each
// iteration is relative to its own maximum, and both sums shrink to the larger one.
// CHECK-LABEL: kernel.func @squares_kernel1(
// CHECK:           kernel.fill %[[SUM:.*]], 0.0
// CHECK:           kernel.for @N {
// CHECK:             kernel.sweep [M, N] (%{{.*}} = %{{.*}}) -> (sum %[[PART:.*]])
// CHECK:             kernel.sweep [M] (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (each %{{.*}}, each %fade, each %unit)
// CHECK:             kernel.sweep [M] (%[[S:.*]] = %[[SUM]], %[[P:.*]] = %[[PART]], %[[F:.*]] = %fade, %[[U:.*]] = %unit) -> (each %[[SUM]])
// CHECK-NEXT:          %[[KEPT:.*]] = arith.mulf %[[S]], %[[F]]
// CHECK-NEXT:          %[[NEW:.*]] = arith.mulf %[[P]], %[[U]]
// CHECK-NEXT:          %[[BOTH:.*]] = arith.addf %[[KEPT]], %[[NEW]]
// CHECK-NEXT:          kernel.yield %[[BOTH]]
func.func @squares(%x: tensor<100x30xf32>) -> (tensor<100xf32>, tensor<100xf32>) attributes {block.dims = #dims} {
  %X = block.partition %x [M, N] : tensor<100x30xf32> -> !block.list<M, N, block<M x N x f32>>
  %Y, %Z = block.map @M (%row = %X) -> (stack, stack) : !block.list<M, N, block<M x N x f32>> {
    %s, %t = block.map @N (%e = %row) -> (sum rel 1, max) : !block.list<N, block<M x N x f32>> {
      %a = block.load %e : !block.block<M x N x f32, global>
      %top = block.row_max %a : !block.block<M x N x f32>
      %neg = block.linear -1 * %top : !block.vector<M x f32>
      %b = block.row_shift %a, %neg : !block.block<M x N x f32>, !block.vector<M x f32>
      %p = block.elementwise (%q = %b) : !block.block<M x N x f32> -> !block.block<M x N x f32> {
        %0 = math.exp %q : f32
        %1 = arith.mulf %0, %0 : f32
        block.yield %1 : f32
      }
      %r = block.row_sum %p acc f32 : !block.block<M x N x f32>
      block.yield %r, %top : !block.vector<M x f32>, !block.vector<M x f32>
    }
    %u = block.store %s : !block.vector<M x f32>
    %v = block.store %t : !block.vector<M x f32>
    block.yield %u, %v : !block.vector<M x f32, global>, !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<100xf32>
  %z = block.assemble %Z [M] : !block.list<M, vector<M x f32>> -> tensor<100xf32>
  func.return %y, %z : tensor<100xf32>, tensor<100xf32>
}

// Rows with exponents of their own: they are rounded relative to the largest exponent so far, so that each product is
// added as it is, to a sum that fades.
// CHECK-LABEL: kernel.func @rounded_rows_kernel1(
// CHECK:           kernel.fill %[[TOP:.*]], -inf
// CHECK:           kernel.for @N {
// CHECK:             kernel.sweep [M] ({{.*}}) -> (each %[[TOP]], each %fade)
// CHECK:             kernel.sweep [M] (%{{.*}} = %[[TOP]]) -> (each %unit)
// CHECK-NEXT:          arith.negf
// CHECK-NEXT:          math.exp
// CHECK:             kernel.sweep [M, N] (%{{.*}} = %{{.*}}, %{{.*}} = %unit) -> (each %[[ROUNDED:.*]])
// CHECK:             kernel.contract %{{.*}}, %[[ROUNDED]], %{{.*}} scale %fade multiply f16
func.func @rounded_rows(%x: tensor<100x30xf32>, %w: tensor<100x30xf16>) -> tensor<100x100xf32> attributes {
    block.dims = {M = #block.dim<100, block = 16>, N = #block.dim<30, block = 4>, K = #block.dim<100, whole>}} {
  %X = block.partition %x [M, N] : tensor<100x30xf32> -> !block.list<M, N, block<M x N x f32>>
  %W = block.partition %w [K, N] : tensor<100x30xf16> -> !block.list<N, block<K x N x f16>>
  %Y = block.map @M (%row = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    %t, %s = block.map @N (%e = %row, %f = %W) -> (max, sum rel 0) : !block.list<N, block<M x N x f32>>, !block.list<N, block<K x N x f16>> {
      %a = block.load %e : !block.block<M x N x f32, global>
      %b = block.load %f : !block.block<K x N x f16, global>
      %top = block.row_max %a : !block.block<M x N x f32>
      %unit = block.elementwise (%u = %top) : !block.vector<M x f32> -> !block.vector<M x f32> {
        %0 = arith.negf %u : f32
        %1 = math.exp %0 : f32
        block.yield %1 : f32
      }
      %c = block.elementwise (%p = %a, %q = %unit) : !block.block<M x N x f32>, !block.vector<M x f32> -> !block.block<M x N x f16> {
        %0 = arith.mulf %p, %q : f32
        %1 = arith.truncf %0 : f32 to f16
        block.yield %1 : f16
      }
      %d = block.dot %c, %b acc f32 : !block.block<M x N x f16>, !block.block<K x N x f16>
      block.yield %top, %d : !block.vector<M x f32>, !block.block<M x K x f32>
    }
    %v = block.store %s : !block.block<M x K x f32>
    block.yield %v : !block.block<M x K x f32, global>
  }
  %y = block.assemble %Y [M, K] : !block.list<M, block<M x K x f32>> -> tensor<100x100xf32>
  func.return %y : tensor<100x100xf32>
}
