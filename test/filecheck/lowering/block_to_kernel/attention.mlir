// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=16 N=32},block-fuse{extend=false},block-stabilize,block-fuse-elementwise,block-to-kernel" | filecheck %s
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=16 N=32},block-fuse{extend=false},block-stabilize,block-fuse-elementwise,block-to-kernel{lanes=cols}" | filecheck %s --check-prefix=COLS
// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=16 N=32},block-fuse{extend=false},block-stabilize,block-fuse-elementwise,block-to-kernel" | bb-opt | filecheck %s

// The sums are relative to the maximum so far from the start: when it moves, what was summed before shrinks by
// exp(old - new), in the sweep that takes the new one, and in the contraction that adds to the output.
// CHECK-LABEL: kernel.func @attention_kernel1(
// CHECK-SAME:      outs(%out : !kernel.array<3x500x40xf32>)
// CHECK-SAME:      block.dims = {H = #block.dim<3, batch>, M = #block.dim<500, block = 16>, N = #block.dim<600, block = 32>, K = #block.dim<16, whole>, L = #block.dim<40, whole>}
// CHECK-NEXT:  kernel.parallel @H, @M {
// CHECK:         kernel.load %q_1, %{{.*}} : !kernel.tile<M x K x f32, scratch, lanes = rows>
// CHECK:         kernel.fill %[[TOP:.*]], -inf : !kernel.tile<M x f32, scratch>
// CHECK-NEXT:    kernel.fill %[[SUM:.*]], 0.0 : !kernel.tile<M x f32, scratch>
// CHECK-NEXT:    kernel.fill %[[OUT:.*]], 0.0 : !kernel.tile<M x L x f32, scratch, lanes = rows>
// CHECK-NEXT:    kernel.for @N {
// The keys are read where they lie.
// CHECK-NEXT:      %[[K:.*]] = kernel.cursor %k [H, N, K] : !kernel.array<3x600x16xf32> -> !kernel.cursor<N x K x f32>
// CHECK:           kernel.contract %{{.*}}, %q_1, %[[K]]
// CHECK:           kernel.sweep [M, N] (%{{.*}} = %{{.*}}) -> (max %[[PART:.*]])
// CHECK:           kernel.sweep [M] (%[[OLD:.*]] = %[[TOP]], %[[NEW:.*]] = %[[PART]]) -> (each %[[TOP]], each %fade)
// CHECK-NEXT:        %[[MOVED:.*]] = arith.maximumf %[[OLD]], %[[NEW]]
// CHECK-NEXT:        %[[SAME:.*]] = arith.cmpf oeq, %[[OLD]], %[[MOVED]]
// CHECK-NEXT:        %[[BY:.*]] = arith.subf %[[OLD]], %[[MOVED]]
// CHECK-NEXT:        %[[POWER:.*]] = math.exp %[[BY]]
// CHECK-NEXT:        %[[ONE:.*]] = arith.constant 1.000000e+00
// CHECK-NEXT:        %[[FADE:.*]] = arith.select %[[SAME]], %[[ONE]], %[[POWER]]
// CHECK-NEXT:        kernel.yield %[[MOVED]], %[[FADE]]
// CHECK:           kernel.sweep [M] (%{{.*}} = %[[SUM]], %{{.*}} = %{{.*}}, %{{.*}} = %fade) -> (each %[[SUM]])
// CHECK:           kernel.contract %[[OUT]], %{{.*}}, %{{.*}} scale %fade
// CHECK-NEXT:    }
// CHECK:         kernel.store
// CHECK:       func.func @attention(
// CHECK-NEXT:    %out = kernel.launch @attention_kernel1({{.*}}) {{\[\[}}H, M, L]]
// CHECK-NEXT:    func.return %out

// With columns in lanes, both operands may be read where they lie.
// COLS-LABEL: kernel.func @attention_kernel1(
// COLS:         kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
// COLS:         kernel.for @N {
// COLS:           kernel.contract %{{.*}}, %{{.*}}, %{{.*}} : !kernel.tile<M x N x f32, scratch, lanes = cols>
// COLS:           kernel.contract %{{.*}}, %{{.*}}, %{{.*}} scale %fade : !kernel.tile<M x L x f32, scratch, lanes = cols>, !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<L x N x f32>, !kernel.tile<M x f32, scratch>
func.func @attention(%q: tensor<3x500x16xf32> {bb.dims = ["H", "M", "K"]}, %k: tensor<3x600x16xf32> {bb.dims = ["H", "N", "K"]}, %v: tensor<3x600x40xf32> {bb.dims = ["H", "N", "L"]}) -> tensor<3x500x40xf32> {
  %out = array.attention %q, %k, %v : tensor<3x500x16xf32>, tensor<3x600x16xf32>, tensor<3x600x40xf32> -> tensor<3x500x40xf32>
  func.return %out : tensor<3x500x40xf32>
}
