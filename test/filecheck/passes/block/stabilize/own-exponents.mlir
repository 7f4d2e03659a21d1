// RUN: bb-opt %s -p block-stabilize | filecheck %s
// RUN: bb-opt %s -p block-shapes,block-to-kernel --verify-diagnostics

#dims = {M = #block.dim<8, block = 4>, N = #block.dim<8, block = 4>, K = #block.dim<8, block = 4>}
!Xs = !block.list<K, block<M x K x f32>>
!Ws = !block.list<K, block<N x K x f16>>
!A = !block.block<M x K x f32>
!H = !block.block<M x K x f16>
!B = !block.block<N x K x f16>
!T = !block.block<M x N x f32>

// A rounding that a scale has left gets an exponent for each row: the largest element becomes 2^14. The sums
// are relative to the largest exponent, and the scale takes exp of it.
// CHECK-LABEL: func.func @norm(
// CHECK-SAME: bb.stabilized
func.func @norm(%X: !Xs, %W: !Ws, %c: !block.vector<M x f32>) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %top, %sum = block.map @K (%X_k = %X, %W_k = %W) -> (max, sum rel 0)
  // CHECK-NEXT: %x = block.load %X_k
  // CHECK-NEXT: %w = block.load %W_k
  // CHECK-NEXT: %size = block.elementwise (%x_1 = %x)
  // CHECK-NEXT: math.absf %x_1
  // CHECK: %top_1 = block.row_max %size
  // CHECK-NEXT: %exponent = block.elementwise (%top_2 = %top_1)
  // CHECK: arith.maximumf %top_2
  // CHECK-NEXT: math.log
  // CHECK: %neg = block.linear -1 * %exponent
  // CHECK-NEXT: %unit = block.elementwise (%neg_1 = %neg)
  // CHECK-NEXT: math.exp %neg_1
  // CHECK: %scaled = block.row_scale %x, %unit
  // CHECK-NEXT: %h = block.elementwise (%scaled_1 = %scaled)
  // CHECK-NEXT: arith.truncf %scaled_1 : f32 to f16
  // CHECK: %dot = block.dot %h, %w acc f32
  // CHECK-NEXT: block.yield %exponent, %dot
  // CHECK: %power = block.elementwise (%top_3 = %top)
  // CHECK-NEXT: math.exp %top_3
  // CHECK: %c_1 = block.monomial %c * %power
  // CHECK-NEXT: block.row_scale %sum, %c_1
  %sum = block.map @K (%X_k = %X, %W_k = %W) -> (sum) : !Xs, !Ws {
    %x = block.load %X_k : !block.block<M x K x f32, global>
    %w = block.load %W_k : !block.block<N x K x f16, global>
    // expected-error@+1 {{has rows that need an exponent (bb.own_exponent); run block-stabilize before this pass}}
    %h = block.elementwise (%e = %x) : !A -> !H attributes {bb.own_exponent} {
      %0 = arith.truncf %e : f32 to f16
      block.yield %0 : f16
    }
    %dot = block.dot %h, %w acc f32 : !H, !B
    block.yield %dot : !T
  }
  %out = block.row_scale %sum, %c : !T, !block.vector<M x f32>
  func.return %out : !T
}
