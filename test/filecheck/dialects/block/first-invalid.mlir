// RUN: bb-opt %s --split-input-file --verify-diagnostics

func.func @nested(%x: tensor<10x14xf32>)
    attributes {block.dims = {M = #block.dim<10>, N = #block.dim<14>}} {
  %X = block.partition %x [M, N] : tensor<10x14xf32> -> !block.list<M, N, block<M x N x f32>>
  // expected-error @+1 {{block.first: expected a list of items, got !block.list<M, N, block<M x N x f32>>}}
  %e = block.first %X : !block.list<M, N, block<M x N x f32>>
  func.return
}

// -----

func.func @item(%v: !block.vector<M x f32>)
    attributes {block.dims = {M = #block.dim<10>}} {
  // expected-error @+1 {{block.first: expected a list of items, got !block.vector<M x f32>}}
  %e = block.first %v : !block.vector<M x f32>
  func.return
}

// -----

func.func @result(%x: tensor<10xf32>)
    attributes {block.dims = {M = #block.dim<10>}} {
  %X = block.partition %x [M] : tensor<10xf32> -> !block.list<M, vector<M x f32>>
  // expected-error @+1 {{block.first: the result must be !block.vector<M x f32, global>, got !block.vector<M x f32>}}
  %e = "block.first"(%X) : (!block.list<M, vector<M x f32>>) -> !block.vector<M x f32>
  func.return
}
