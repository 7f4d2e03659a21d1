// RUN: bb-opt %s --split-input-file --verify-diagnostics

// Each attribute by itself

kernel.func @threads_type() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{'kernel.parallel' op expected `threads` to be an i64 from 32 to 1024, a multiple of 32, got "128"}}
  kernel.parallel @M attributes {threads = "128"} {
  }
}

// -----

kernel.func @threads_width() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{'kernel.parallel' op expected `threads` to be an i64 from 32 to 1024, a multiple of 32, got 128 : i32}}
  kernel.parallel @M attributes {threads = 128 : i32} {
  }
}

// -----

kernel.func @threads_warps() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{expected `threads` to be an i64 from 32 to 1024, a multiple of 32, got 48 : i64}}
  kernel.parallel @M attributes {threads = 48 : i64} {
  }
}

// -----

kernel.func @threads_none() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{expected `threads` to be an i64 from 32 to 1024, a multiple of 32, got 0 : i64}}
  kernel.parallel @M attributes {threads = 0 : i64} {
  }
}

// -----

kernel.func @threads_many() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{expected `threads` to be an i64 from 32 to 1024, a multiple of 32, got 1056 : i64}}
  kernel.parallel @M attributes {threads = 1056 : i64} {
  }
}

// -----

kernel.func @warps_none() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{'kernel.parallel' op expected `warps` to be a positive i64, or two, for rows and columns, got 0 : i64}}
  kernel.parallel @M attributes {threads = 128 : i64, warps = 0 : i64} {
  }
}

// -----

kernel.func @warps_three() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{expected `warps` to be a positive i64, or two, for rows and columns, got [2 : i64, 2 : i64, 1 : i64]}}
  kernel.parallel @M attributes {threads = 128 : i64, warps = [2 : i64, 2 : i64, 1 : i64]} {
  }
}

// -----

kernel.func @warps_type() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{expected `warps` to be a positive i64, or two, for rows and columns, got [2 : i64, "2"]}}
  kernel.parallel @M attributes {threads = 128 : i64, warps = [2 : i64, "2"]} {
  }
}

// -----

kernel.func @group_none() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{'kernel.parallel' op expected `group` to be an i64 of 1 or more, got 0 : i64}}
  kernel.parallel @M attributes {threads = 128 : i64, group = 0 : i64} {
  }
}

// -----

kernel.func @offset_negative() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{'kernel.tile' op expected `offset` to be an i64 of 0 or more, a multiple of 16, got -16 : i64}}
    %a = kernel.tile {offset = -16 : i64} : !kernel.tile<M x f32, shared>
  }
}

// -----

kernel.func @offset_unaligned() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{expected `offset` to be an i64 of 0 or more, a multiple of 16, got 24 : i64}}
    %a = kernel.tile {offset = 24 : i64} : !kernel.tile<M x f32, shared>
  }
}

// -----

kernel.func @stages_one() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{'kernel.tile' op expected `stages` to be an i64 of 2 or more, got 1 : i64}}
    %a = kernel.tile {stages = 1 : i64} : !kernel.tile<M x f32, shared>
  }
}

// -----

kernel.func @swizzled_value() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{'kernel.tile' op expected `swizzled` to have no value, got 1 : i64}}
    %a = kernel.tile {swizzled = 1 : i64} : !kernel.tile<M x K x bf16, shared, lanes = cols>
  }
}

// -----

kernel.func @loop_stages() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    // expected-error @+1 {{'kernel.for' op expected `stages` to be an i64 of 2 or more, got 1 : i64}}
    kernel.for @N attributes {stages = 1 : i64} {
    }
  }
}

// -----

// What attributes say about each other

kernel.func @warps_without_threads() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{kernel.parallel: has `warps`, but no `threads`}}
  kernel.parallel @M attributes {warps = 4 : i64} {
  }
}

// -----

kernel.func @group_without_threads() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{kernel.parallel: has `group`, but no `threads`}}
  kernel.parallel @M attributes {group = 32 : i64} {
  }
}

// -----

kernel.func @warps_and_group() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{kernel.parallel: expected `warps` or `group`, got both}}
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64, group = 32 : i64} {
  }
}

// -----

kernel.func @fewer_warps() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{kernel.parallel: 2 warps have 64 threads, but `threads` is 128}}
  kernel.parallel @M attributes {threads = 128 : i64, warps = [1 : i64, 2 : i64]} {
  }
}

// -----

kernel.func @part_of_the_threads() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  // expected-error @+1 {{kernel.parallel: a `group` is a warp, 32 threads, or all 128 of the block, got 64}}
  kernel.parallel @M attributes {threads = 128 : i64, group = 64 : i64} {
  }
}

// -----

kernel.func @stages_without_warps() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64} {
    // expected-error @+1 {{kernel.for: `stages` needs a kernel.parallel with `warps` around}}
    kernel.for @N attributes {stages = 2 : i64} {
    }
  }
}

// -----

kernel.func @offset_elsewhere() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: `offset` needs a tile in shared memory, got !kernel.tile<M x f32, scratch>}}
    %a = kernel.tile {offset = 16 : i64} : !kernel.tile<M x f32, scratch>
  }
}

// -----

kernel.func @stages_elsewhere() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: `stages` needs a tile in shared memory, got !kernel.tile<M x f32, register>}}
    %a = kernel.tile {stages = 2 : i64} : !kernel.tile<M x f32, register>
  }
}

// -----

kernel.func @swizzled_elsewhere() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: `swizzled` needs a tile in shared memory, got !kernel.tile<M x K x bf16, register, lanes = cols>}}
    %a = kernel.tile {swizzled} : !kernel.tile<M x K x bf16, register, lanes = cols>
  }
}

// -----

kernel.func @swizzled_vector() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: only a block can be `swizzled`, got !kernel.tile<M x f32, shared>}}
    %a = kernel.tile {swizzled} : !kernel.tile<M x f32, shared>
  }
}

// -----

kernel.func @swizzled_unknown() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: `swizzled` needs blocks of known size, but D has none}}
    %a = kernel.tile {swizzled} : !kernel.tile<M x D x bf16, shared, lanes = cols>
  }
}

// -----

kernel.func @swizzled_unaligned() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: a `swizzled` tile is aligned to 128 bytes, got the offset 64}}
    %a = kernel.tile {swizzled, offset = 64 : i64} : !kernel.tile<M x K x bf16, shared, lanes = cols>
  }
}

// -----

kernel.func @never_loaded() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: `stages` needs one load that is `async`, got 0}}
    %a = kernel.tile {stages = 2 : i64} : !kernel.tile<M x f32, shared>
  }
}

// -----

kernel.func @not_fetched(%x : !kernel.array<256xf32>) attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    // expected-error @+1 {{kernel.tile: `stages` needs one load that is `async`, got 0}}
    %a = kernel.tile {stages = 2 : i64} : !kernel.tile<N x f32, shared>
    kernel.for @N attributes {stages = 2 : i64} {
      %xa = kernel.cursor %x [N] : !kernel.array<256xf32> -> !kernel.cursor<N x f32>
      kernel.load %a, %xa : !kernel.tile<N x f32, shared>, !kernel.cursor<N x f32>
    }
  }
}

// -----

kernel.func @async_elsewhere(%x : !kernel.array<256xf32>) attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    %a = kernel.tile : !kernel.tile<N x f32, register>
    kernel.for @N {
      %xa = kernel.cursor %x [N] : !kernel.array<256xf32> -> !kernel.cursor<N x f32>
      // expected-error @+1 {{kernel.load: `async` needs a tile in shared memory, got !kernel.tile<N x f32, register>}}
      kernel.load %a, %xa {async} : !kernel.tile<N x f32, register>, !kernel.cursor<N x f32>
    }
  }
}

// -----

kernel.func @loop_without_stages(%x : !kernel.array<256xf32>) attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    %a = kernel.tile {stages = 2 : i64} : !kernel.tile<N x f32, shared>
    kernel.for @N {
      %xa = kernel.cursor %x [N] : !kernel.array<256xf32> -> !kernel.cursor<N x f32>
      // expected-error @+1 {{kernel.load: the tile has 2 stages, but the loop around the load, kernel.for, has none}}
      kernel.load %a, %xa {async} : !kernel.tile<N x f32, shared>, !kernel.cursor<N x f32>
    }
  }
}

// -----

kernel.func @other_stages(%x : !kernel.array<256xf32>) attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    %a = kernel.tile {stages = 2 : i64} : !kernel.tile<N x f32, shared>
    kernel.for @N attributes {stages = 3 : i64} {
      %xa = kernel.cursor %x [N] : !kernel.array<256xf32> -> !kernel.cursor<N x f32>
      // expected-error @+1 {{kernel.load: the tile has 2 stages, but the loop around the load, kernel.for, has 3}}
      kernel.load %a, %xa {async} : !kernel.tile<N x f32, shared>, !kernel.cursor<N x f32>
    }
  }
}

// -----

kernel.func @async_value(%x : !kernel.array<256xf32>) attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    %a = kernel.tile : !kernel.tile<N x f32, shared>
    kernel.for @N {
      %xa = kernel.cursor %x [N] : !kernel.array<256xf32> -> !kernel.cursor<N x f32>
      // expected-error @+1 {{'kernel.load' op expected `async` to have no value, got 1 : i64}}
      kernel.load %a, %xa {async = 1 : i64} : !kernel.tile<N x f32, shared>, !kernel.cursor<N x f32>
    }
  }
}

// -----

kernel.func @store_through_shared() outs(%x : !kernel.array<128xf32>) attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x f32, register>
    %xa = kernel.cursor %x [M] : !kernel.array<128xf32> -> !kernel.cursor<M x f32>
    // expected-error @+1 {{kernel.store: `offset` needs a block in registers, got !kernel.tile<M x f32, register>}}
    kernel.store %xa, %a {offset = 0 : i64} : !kernel.cursor<M x f32>, !kernel.tile<M x f32, register>
  }
}

// -----

kernel.func @exchange_of_nothing() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>, D = #block.dim<?, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x f32, register>
    // expected-error @+1 {{kernel.sweep: `offset` needs rows of blocks in registers that it reduces}}
    kernel.sweep [M] (%x = %a) -> (each %a) : !kernel.tile<M x f32, register>, !kernel.tile<M x f32, register> attributes {offset = 0 : i64} {
      kernel.yield %x : f32
    }
  }
}

// -----

// Attributes of other operations

kernel.func @threads_of_a_loop() attributes {block.dims = {M = #block.dim<128, block = 64>}} {
  kernel.parallel {
    // expected-error @+1 {{'kernel.for' op takes no `threads`}}
    kernel.for @M attributes {threads = 7 : i64} {
    }
  }
}

// -----

kernel.func @stages_of_a_grid() attributes {block.dims = {M = #block.dim<128, block = 64>}} {
  // expected-error @+1 {{'kernel.parallel' op takes no `stages`}}
  kernel.parallel @M attributes {stages = 3 : i64} {
  }
}
