// RUN: bb-opt %s --split-input-file --verify-diagnostics

kernel.func @masked() attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: the mask must be over M and K, or N and K, got }}
    kernel.contract accumulate %c, %a, %b keeps %c : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}
