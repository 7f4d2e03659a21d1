// RUN: bb-opt %s -p "block-fuse{check=true}" | filecheck %s

// Lists over whole dims that nothing reads: inlining them still makes the termination measure smaller.

// CHECK-LABEL: func.func @dead
// CHECK-NEXT:    func.return %x
func.func @dead(%x: tensor<8x4xf32>, %y: tensor<8x3xf32>) -> tensor<8x4xf32> attributes {block.dims = {M = #block.dim<8, block = 4>, K = #block.dim<4, whole>, N = #block.dim<3, whole>}} {
  %X = block.partition %x [M, K] : tensor<8x4xf32> -> !block.list<M, K, block<M x K x f32>>
  %Y = block.partition %y [M, N] : tensor<8x3xf32> -> !block.list<M, N, block<M x N x f32>>
  %D, %E = block.map @M (%a = %X, %b = %Y) -> (stack, stack) : !block.list<M, K, block<M x K x f32>>, !block.list<M, N, block<M x N x f32>> {
    block.yield %a, %b : !block.list<K, block<M x K x f32>>, !block.list<N, block<M x N x f32>>
  }
  func.return %x : tensor<8x4xf32>
}
