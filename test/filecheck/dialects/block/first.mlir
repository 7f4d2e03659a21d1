// RUN: BB_ROUNDTRIP

// CHECK-LABEL: func.func @first
func.func @first(%x: tensor<10x14xf32>, %v: tensor<14xf32>)
    attributes {block.dims = {M = #block.dim<10>, N = #block.dim<14>}} {
  %X = block.partition %x [M, N] : tensor<10x14xf32> -> !block.list<M, N, block<M x N x f32>>
  %V = block.partition %v [N] : tensor<14xf32> -> !block.list<N, vector<N x f32>>
  // CHECK: %v0 = block.first %V {note = 1 : i64} : !block.list<N, vector<N x f32>>
  %v0 = block.first %V {note = 1 : i64} : !block.list<N, vector<N x f32>>
  // CHECK-NEXT: %a = block.load %v0 : !block.vector<N x f32, global>
  %a = block.load %v0 : !block.vector<N x f32, global>
  %Y = block.map @M (%r = %X) -> (stack) : !block.list<M, N, block<M x N x f32>> {
    // CHECK: %e = block.first %r : !block.list<N, block<M x N x f32>>
    %e = block.first %r : !block.list<N, block<M x N x f32>>
    // CHECK-NEXT: %b = block.load %e : !block.block<M x N x f32, global>
    %b = block.load %e : !block.block<M x N x f32, global>
    %s = block.row_sum %b acc f32 : !block.block<M x N x f32>
    %t = block.store %s : !block.vector<M x f32>
    block.yield %t : !block.vector<M x f32, global>
  }
  func.return
}
