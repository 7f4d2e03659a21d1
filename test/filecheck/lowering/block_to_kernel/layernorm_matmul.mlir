// RUN: bb-opt %s -p "array-decompose,array-to-block,block-shapes{M=16 K=8},block-fuse{extend=false},block-stabilize,block-to-kernel" | filecheck %s

// Dims that are whole, or fit into one block, have no loops; the others are the grid, for each block of the result
// is made by itself. Statistics of rows are vectors.
// CHECK-LABEL: kernel.func @layernorm_matmul_kernel1(
// CHECK-SAME:    M = #block.dim<100, block = 16>, N = #block.dim<24, whole>, K = #block.dim<40, block = 8>
// CHECK-NEXT:  kernel.parallel @M, @K {
// CHECK-NOT:     kernel.for
// CHECK:         kernel.load %[[X:.*]], %{{.*}} : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
// CHECK:         kernel.sweep [M, N] (%[[E:.*]] = %[[X]]) -> (sum %[[SUM:.*]]) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>
// CHECK-NEXT:      kernel.yield %[[E]]
// CHECK:         math.rsqrt
// CHECK:         %[[W:.*]] = kernel.cursor %w [N, K] : !kernel.array<24x40xf32> -> !kernel.cursor<K x N x f32>
// CHECK:         kernel.contract %{{.*}}, %{{.*}}, %[[W]]
// CHECK-NOT:     kernel.for
// CHECK:         kernel.store %{{.*}}, %{{.*}} : !kernel.cursor<M x K x f32>, !kernel.tile<M x K x f32, scratch, lanes = rows>
func.func @layernorm_matmul(%x: tensor<100x24xf32> {bb.dims = ["M", "N"]}, %w: tensor<24x40xf32> {bb.dims = ["N", "K"]}) -> tensor<100x40xf32> {
  %y = array.layer_norm %x eps 1.0e-5 : tensor<100x24xf32>
  %z = array.matmul %y, %w : tensor<100x24xf32>, tensor<24x40xf32> -> tensor<100x40xf32>
  func.return %z : tensor<100x40xf32>
}
