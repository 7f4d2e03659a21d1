// RUN: bb-opt %s --split-input-file --verify-diagnostics

kernel.func @no_merge(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: iterations pass on a tile %s that `merge` does not name}}
    kernel.for @N {
      kernel.sweep [M] (%a = %s, %o = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %o : f32
        kernel.yield %c : f32
      }
    } merge () {
    }
  }
}

// -----

kernel.func @left_behind(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: iterations pass on a tile %s that `merge` does not name}}
    kernel.for @N {
      kernel.fill %s, 1.0 : !kernel.tile<M x f32, scratch>
    } merge () {
    }
    %to = kernel.cursor %y [M] : !kernel.array<3xf32> -> !kernel.cursor<M x f32>
    kernel.store %to, %s : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// -----

kernel.func @twice(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` names a tile twice}}
    kernel.for @N {
      kernel.sweep [M] (%a = %s, %o = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %o : f32
        kernel.yield %c : f32
      }
    } merge (%o = %s, %p = %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
    }
  }
}

// -----

kernel.func @unnamed(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` uses a tile %t that it does not name}}
    kernel.for @N {
      kernel.sweep [M] (%a = %s, %o = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %o : f32
        kernel.yield %c : f32
      }
    } merge (%o = %s) : !kernel.tile<M x f32, scratch> {
      kernel.sweep [M] (%a = %s, %e = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %e : f32
        kernel.yield %c : f32
      }
    }
  }
}

// -----

kernel.func @writes_other(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` only reads what another part left}}
    kernel.for @N {
      kernel.sweep [M] (%a = %s, %o = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %o : f32
        kernel.yield %c : f32
      }
    } merge (%o = %s) : !kernel.tile<M x f32, scratch> {
      kernel.sweep [M] (%a = %s, %e = %o) -> (each %o) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %e : f32
        kernel.yield %c : f32
      }
    }
  }
}

// -----

kernel.func @loops(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` unites tiles by sweeps, got kernel.for}}
    kernel.for @N {
      kernel.sweep [M] (%a = %s, %o = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %o : f32
        kernel.yield %c : f32
      }
    } merge (%o = %s) : !kernel.tile<M x f32, scratch> {
      kernel.for @L {
      }
    }
  }
}

// -----

kernel.func @at_hand(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` has no current block of N}}
    kernel.for @N {
      kernel.sweep [M] (%a = %s, %o = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %o : f32
        kernel.yield %c : f32
      }
    } merge (%o = %s) : !kernel.tile<M x f32, scratch> {
      kernel.sweep [M] (%a = %s, %e = %o) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %w = kernel.quantity width @N
          %c = arith.addf %a, %e : f32
        kernel.yield %c : f32
      }
    }
  }
}

// -----

kernel.func @block_at_hand(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` has no current block of N, got !kernel.tile<N x f32, scratch>}}
    kernel.for @N {
      kernel.sweep [M] (%a = %s, %o = %t) -> (each %s) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %o : f32
        kernel.yield %c : f32
      }
    } merge (%o = %s, %p = %b) : !kernel.tile<M x f32, scratch>, !kernel.tile<N x f32, scratch> {
      kernel.fill %b, 0.0 : !kernel.tile<N x f32, scratch>
    }
  }
}

// -----

kernel.func @same_place(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: iterations that are shared out must write places of their own, but an array %y is seen at the same place in all iterations over N}}
    kernel.for @N {
      kernel.fill %t, 1.0 : !kernel.tile<M x f32, scratch>
      %to = kernel.cursor %y [M] : !kernel.array<3xf32> -> !kernel.cursor<M x f32>
      kernel.store %to, %t : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
    } merge () {
    }
  }
}

// -----

kernel.func @no_tile(%x : !kernel.array<3x?xf32>) outs(%y : !kernel.array<3xf32>) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %t = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` unites tiles, got !kernel.array<3x?xf32>}}
    kernel.for @N {
    } merge (%o = %x) : !kernel.array<3x?xf32> {
    }
  }
}

// -----

kernel.func @arguments() attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.for: `merge` has an argument of the type of each tile that it unites}}
    "kernel.for"(%s) <{dim = @N}> ({
    ^bb0:
    }, {
    ^bb0(%o : !kernel.tile<f32, scratch>):
    }) : (!kernel.tile<M x f32, scratch>) -> ()
  }
}

// -----

kernel.func @without_merge() attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>}} {
  kernel.parallel {
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.for: there is no `merge` for the tiles that are named}}
    "kernel.for"(%s) <{dim = @N}> ({
    ^bb0:
    }) : (!kernel.tile<M x f32, scratch>) -> ()
  }
}
