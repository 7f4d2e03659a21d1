// RUN: bb-opt %s -p block-to-kernel --split-input-file --verify-diagnostics
// RUN: not bb-opt %s -p "block-to-kernel{lanes=both}" 2>&1 | filecheck %s --check-prefix=LANES
// RUN: not bb-opt %s -p "block-to-kernel{multiply=bf16}" 2>&1 | filecheck %s --check-prefix=MULTIPLY

// LANES: error: pass 'block-to-kernel': option 'lanes' must be auto, rows or cols, got 'both'
// MULTIPLY: error: pass 'block-to-kernel': option 'multiply' must be operands, f32 or tf32, got 'bf16'

// expected-error @+1 {{dim M has no block size yet; run block-shapes before block-to-kernel}}
func.func @size(%x: tensor<8xf32>) attributes {block.dims = {M = #block.dim<8>}} {
  func.return
}

// -----

func.func @custom(%x: tensor<8xf32>) -> tensor<8xf32> attributes {block.dims = {M = #block.dim<8, block = 2>}} {
  %X = block.partition %x [M] : tensor<8xf32> -> !block.list<M, vector<M x f32>>
  %Y = block.map @M (%e = %X) -> (stack) : !block.list<M, vector<M x f32>> {
    %a = block.load %e : !block.vector<M x f32, global>
    // expected-error @+1 {{has no form in a kernel}}
    %b = block.custom @callback(%a) : (!block.vector<M x f32>) -> (!block.vector<M x f32>)
    %c = block.store %b : !block.vector<M x f32>
    block.yield %c : !block.vector<M x f32, global>
  }
  %y = block.assemble %Y [M] : !block.list<M, vector<M x f32>> -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
