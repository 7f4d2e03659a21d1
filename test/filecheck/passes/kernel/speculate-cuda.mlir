// RUN: bb-opt %s -p kernel-place-cuda --verify-diagnostics

kernel.func @redo() attributes {block.dims = {M = #block.dim<8, block = 4>}} {
  kernel.parallel @M {
    %far = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.fill %far, 1.0 : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{has no form on a GPU: leave out the pass kernel-speculate}}
    kernel.redo %far : !kernel.tile<M x f32, scratch> {
    }
  }
}
