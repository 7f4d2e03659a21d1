// RUN: bb-opt %s --split-input-file --verify-diagnostics

kernel.func @no_condition() attributes {block.dims = {M = #block.dim<8, whole>}} {
  kernel.parallel {
    // expected-error @+1 {{kernel.redo: expected a tile that says which rows need it}}
    "kernel.redo"() ({^bb0:}) : () -> ()
  }
}

// -----

kernel.func @block() attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    // expected-error @+1 {{kernel.redo: expected vectors or scalars as conditions, got }}
    kernel.redo %a : !kernel.tile<M x N x f32, scratch, lanes = cols> {
    }
  }
}

// -----

kernel.func @not_last() attributes {block.dims = {M = #block.dim<8, whole>}} {
  kernel.parallel {
    %far = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.redo: must be the last operation of a kernel.parallel}}
    kernel.redo %far : !kernel.tile<M x f32, scratch> {
    }
    kernel.fill %far, 0.0 : !kernel.tile<M x f32, scratch>
  }
}

// -----

kernel.func @in_a_loop() attributes {block.dims = {M = #block.dim<8, block = 4>}} {
  kernel.parallel {
    kernel.for @M {
      %far = kernel.tile : !kernel.tile<M x f32, scratch>
      // expected-error @+1 {{kernel.redo: must be the last operation of a kernel.parallel}}
      kernel.redo %far : !kernel.tile<M x f32, scratch> {
      }
    }
  }
}

// -----

kernel.func @outside() attributes {block.dims = {M = #block.dim<8, whole>}} {
  kernel.parallel {
    %far = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.redo: the body computes all from arrays, but kernel.fill uses a value from outside}}
    kernel.redo %far : !kernel.tile<M x f32, scratch> {
      kernel.fill %far, 0.0 : !kernel.tile<M x f32, scratch>
    }
  }
}
