// RUN: bb-opt %s --split-input-file --verify-diagnostics

func.func @mask(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %c: !block.block<M x N x i1>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: the mask must be !block.block<M x K x i1> or !block.block<N x K x i1>, got !block.block<M x N x i1>}}
  %x = block.dot %a, %b keeps %c acc f32 : !block.block<M x K x f32>, !block.block<N x K x f32>, !block.block<M x N x i1>
  func.return
}

// -----

func.func @integers(%a: !block.block<M x K x i32>, %b: !block.block<N x K x i32>, %c: !block.block<M x K x i1>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: a product of i32 takes no mask, expected a float type}}
  %x = block.dot %a, %b keeps %c acc i32 : !block.block<M x K x i32>, !block.block<N x K x i32>, !block.block<M x K x i1>
  func.return
}

// -----

func.func @count(%a: !block.block<M x K x f32>, %b: !block.block<N x K x f32>, %c: !block.block<M x K x i1>)
    attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  // expected-error @+1 {{block.dot: expected 3 operands, got 2}}
  %x = block.dot %a keeps %c acc f32 : !block.block<M x K x f32>, !block.block<M x K x i1>
  func.return
}
