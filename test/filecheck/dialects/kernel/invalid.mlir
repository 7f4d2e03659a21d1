// RUN: bb-opt %s --split-input-file --verify-diagnostics

// Types

// expected-error @+1 {{kernel.array: element type must be f16, bf16, f32, f64, i1, i32 or i64, got i8}}
kernel.func @array_element(%x : !kernel.array<4xi8>) attributes {block.dims = {}} {
}

// -----

kernel.func @tile_element() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{expected one of f16, bf16, f32, f64, i1, i32, i64, or a dim and `x`}}
    %a = kernel.tile : !kernel.tile<M x i8, scratch>
  }
}

// -----

kernel.func @tile_name() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{identifier expected as the name of a dim, or an element type}}
    %a = kernel.tile : !kernel.tile<4 x f32, scratch>
  }
}

// -----

kernel.func @tile_axes() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: at most two axes, got M, K, N}}
    %a = kernel.tile : !kernel.tile<M x K x N x f32, scratch>
  }
}

// -----

kernel.func @tile_twice() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: rows and columns must be two dims, got M for both}}
    %a = kernel.tile : !kernel.tile<M x M x f32, scratch>
  }
}

// -----

kernel.func @tile_reserved() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: a dim is named by an identifier other than `x`, got 'x'}}
    %a = kernel.tile : !kernel.tile<x x f32, scratch>
  }
}

// -----

kernel.func @tile_space() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{Expected `scratch`, `shared`, or `register`}}
    %a = kernel.tile : !kernel.tile<M x f32, disk>
  }
}

// -----

kernel.func @tile_lanes() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{Expected `rows`, or `cols`}}
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = both>
  }
}

// -----

kernel.func @tile_vector_lanes() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: only a block can have its rows in lanes}}
    %a = kernel.tile : !kernel.tile<M x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @cursor_axes(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: at most two axes, got M, K, N}}
    %a = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x N x f32>
  }
}

// -----

// Kernels

// expected-error @+1 {{kernel.func: expected arrays as arguments, got tensor<4xf32>}}
kernel.func @tensor(%x : tensor<4xf32>) attributes {block.dims = {}} {
}

// -----

// expected-error @+1 {{kernel.func: 2 outputs among 1 arguments}}
"kernel.func"() <{sym_name = "outputs", outputs = 2 : i64}> ({
^bb0(%x : !kernel.array<4xf32>):
}) {block.dims = {}} : () -> ()

// -----

// expected-error @+1 {{kernel.func: the kernel has no `block.dims`}}
kernel.func @dims() {
}

// -----

// expected-error @+1 {{block.dims: dim M must be a #block.dim, got 3 : i64}}
kernel.func @dims_value() attributes {block.dims = {M = 3 : i64}} {
}

// -----

// expected-error @+1 {{kernel.func: dim M has no block size}}
kernel.func @block_size() attributes {block.dims = {M = #block.dim<200>, H = #block.dim<2, batch>}} {
}

// -----

// expected-error @+1 {{kernel.func: expected kernel.parallel alone in a kernel, got kernel.for}}
kernel.func @serial() attributes {block.dims = {M = #block.dim<200, block = 64>}} {
  kernel.for @M {
  }
}

// -----

// Loops

kernel.func @undeclared() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.for: dim Q is not declared in `block.dims` (M, K, N, H)}}
    kernel.for @Q {
    }
  }
}

// -----

kernel.func @nested() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.for: a loop over M stands inside another loop over M}}
    kernel.for @M {
    }
  }
}

// -----

kernel.func @until_itself() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.for: the loop over N cannot end at its own block}}
    kernel.for @N until @N {
    }
  }
}

// -----

kernel.func @until_elsewhere() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @H {
    // expected-error @+1 {{kernel.for: no enclosing loop iterates over M}}
    kernel.for @N until @M {
    }
  }
}

// -----

kernel.func @until_before() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.for: the offset is -3, expected 0 or more}}
    "kernel.for"() <{dim = @N, until = @M, offset = -3 : i64}> ({
    ^bb0:
    }) : () -> ()
  }
}

// -----

kernel.func @part_of_blocks() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.for: parts are counted by a batch dim, which M is not}}
    kernel.for @N part @M {
    }
  }
}

// -----

kernel.func @part_elsewhere() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.for: no enclosing loop iterates over H}}
    kernel.for @N part @H {
    }
  }
}

// -----

kernel.func @part_with_merge() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @H {
    // expected-error @+1 {{kernel.for: a part of a loop has no `merge`: another loop unites the parts}}
    kernel.for @N part @H {
    } merge () {
    }
  }
}

// -----

kernel.func @offset_alone() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.for: has an offset without `until`}}
    "kernel.for"() <{dim = @N, offset = 3 : i64}> ({
    ^bb0:
    }) : () -> ()
  }
}

// -----

kernel.func @twice() attributes {block.dims = {M = #block.dim<200, block = 64>}} {
  // expected-error @+1 {{kernel.parallel: a dim occurs twice in M, M}}
  kernel.parallel @M, @M {
  }
}

// -----

kernel.func @arguments() attributes {block.dims = {M = #block.dim<200, block = 64>}} {
  // expected-error @+1 {{kernel.for: the body has no arguments}}
  "kernel.for"() <{dim = @M}> ({
  ^bb0(%i : index):
  }) : () -> ()
}

// -----

// Windows

kernel.func @axes(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: 1 axes are named, but !kernel.array<200x64xf32> has 2}}
    %a = kernel.cursor %x [M] : !kernel.array<200x64xf32> -> !kernel.cursor<M x f32>
  }
}

// -----

kernel.func @axis_twice(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: a dim names two axes, in M, M}}
    %a = kernel.cursor %x [M, M] : !kernel.array<200x64xf32> -> !kernel.cursor<M x f32>
  }
}

// -----

kernel.func @cursor_element(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: element types differ, f32 and f16}}
    %a = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f16>
  }
}

// -----

kernel.func @cursor_dim(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: no axis of the array is over N}}
    %a = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x N x f32>
  }
}

// -----

kernel.func @first(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: `first` names N, which no axis is over}}
    %a = kernel.cursor %x [M, K] first [N] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @here(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: `here` names N, which no axis is over}}
    %a = kernel.cursor %x [M, K] here [N] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @cursor_loop(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: no enclosing loop iterates over N}}
    %a = kernel.cursor %x [M, N] : !kernel.array<200x64xf32> -> !kernel.cursor<M x N x f32>
  }
}

// -----

kernel.func @cursor_undeclared(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: dim Q is not declared in `block.dims` (M, K, N, H)}}
    %a = kernel.cursor %x [M, Q] : !kernel.array<200x64xf32> -> !kernel.cursor<M x f32>
  }
}

// -----

kernel.func @axis_number(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{expected a dim, or 1 for an axis without one}}
    %a = kernel.cursor %x [M, 2] : !kernel.array<200x64xf32> -> !kernel.cursor<M x f32>
  }
}

// -----

kernel.func @tile_undeclared() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: dim Q is not declared in `block.dims` (M, K, N, H)}}
    %a = kernel.tile : !kernel.tile<Q x f32, scratch>
  }
}

// -----

kernel.func @cursor_batch(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.cursor: batch dim H can be no axis of an item}}
    %a = kernel.cursor %x [M, H] : !kernel.array<200x64xf32> -> !kernel.cursor<M x H x f32>
  }
}

// -----

kernel.func @tile_batch() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.tile: batch dim H can be no axis of an item}}
    %a = kernel.tile : !kernel.tile<H x f32, scratch>
  }
}

// -----

kernel.func @buffer_axis() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.buffer: each axis is over one dim}}
    %a = kernel.buffer [(M, K)] : !kernel.array<?xf32>
  }
}

// -----

kernel.func @buffer_here() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.buffer: no axis is over N}}
    %a = kernel.buffer [M, K] here [N] : !kernel.array<?x?xf32>
  }
}

// -----

kernel.func @buffer_type() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.buffer: the type must have 2 axes of extent `?`, got !kernel.array<?x64xf32>}}
    %a = kernel.buffer [M, K] : !kernel.array<?x64xf32>
  }
}

// -----

kernel.func @buffer_undeclared() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    // expected-error @+1 {{kernel.buffer: dim Q is not declared in `block.dims` (M, K, N, H)}}
    %a = kernel.buffer [Q] : !kernel.array<?xf32>
  }
}

// -----

// Moves

kernel.func @load_tile(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.load: expected a tile, got !kernel.cursor<M x K x f32>}}
    kernel.load %c, %c : !kernel.cursor<M x K x f32>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @load_cursor() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.load: expected a cursor to load from, got !kernel.tile<M x K x f32, scratch, lanes = rows>}}
    kernel.load %a, %a : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @load_dims(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.load: both sides must have the same dims, got !kernel.tile<M x f32, scratch>, !kernel.cursor<M x K x f32>}}
    kernel.load %v, %c : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @load_integers(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %i = kernel.tile : !kernel.tile<M x K x i32, scratch, lanes = rows>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.load: f32 cannot become i32 in a move}}
    kernel.load %i, %c : !kernel.tile<M x K x i32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @load_types(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{expected a type for each of 2 operands, got 1}}
    kernel.load %a, %c : !kernel.tile<M x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @store_tile(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.store: expected a tile, got !kernel.cursor<M x K x f32>}}
    kernel.store %c, %c : !kernel.cursor<M x K x f32>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @store_cursor() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.store: expected a cursor to store to, got !kernel.tile<M x K x f32, scratch, lanes = rows>}}
    kernel.store %a, %a : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @store_dims(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.store: both sides must have the same dims, got !kernel.cursor<M x K x f32>, !kernel.tile<M x f32, scratch>}}
    kernel.store %c, %v : !kernel.cursor<M x K x f32>, !kernel.tile<M x f32, scratch>
  }
}

// -----

kernel.func @store_input(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.store: the kernel only reads this array}}
    kernel.store %c, %a : !kernel.cursor<M x K x f32>, !kernel.tile<M x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @move_tile(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.move: expected a tile, got !kernel.cursor<M x K x f32>}}
    kernel.move %a, %c : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @move_dims() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.move: both sides must have the same dims, got !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows>}}
    kernel.move %a, %c : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @fill_tile(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.fill: expected a tile, got !kernel.cursor<M x K x f32>}}
    kernel.fill %c, 0.0 : !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @fill_nan() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.fill: the value must be a number or infinite}}
    "kernel.fill"(%v) <{value = 0x7FF8000000000000 : f64}> : (!kernel.tile<M x f32, scratch>) -> ()
  }
}

// -----

kernel.func @fill_number() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{integer or float literal expected or `inf`}}
    kernel.fill %v, nan : !kernel.tile<M x f32, scratch>
  }
}

// -----

// Contractions

kernel.func @vectors() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.contract: expected blocks, got !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> and !kernel.tile<N x K x f32, scratch, lanes = rows>}}
    kernel.contract %c, %v, %b : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<N x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @columns() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: both operands must have the same columns, got K and N}}
    kernel.contract %c, %a, %c : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @accumulator() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: the accumulator must be over N and M, got !kernel.tile<M x N x f32, scratch, lanes = rows>}}
    kernel.contract %c, %b, %a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @scale() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %w = kernel.tile : !kernel.tile<N x f32, scratch>
    // expected-error @+1 {{kernel.contract: the scale must be over the rows M, got !kernel.tile<N x f32, scratch>}}
    kernel.contract %c, %a, %b scale %w : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.tile<N x f32, scratch>
  }
}

// -----

kernel.func @both() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.contract: `accumulate` is said by `scale` already}}
    kernel.contract accumulate %c, %a, %b scale %v : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>
  }
}

// -----

kernel.func @multiply_f32() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: expected bf16, f16 or tf32 as the type to multiply in, got f32}}
    kernel.contract %c, %a, %b multiply f32 : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @multiply_operands() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x bf16, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f16, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: operands that are multiplied in bf16 must be of that type or of f32, got !kernel.tile<N x K x f16, scratch, lanes = rows>}}
    kernel.contract %c, %a, %b multiply bf16 : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x bf16, scratch, lanes = rows>, !kernel.tile<N x K x f16, scratch, lanes = rows>
  }
}

// -----

kernel.func @multiply_tf32() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x bf16, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: operands that are multiplied in tf32 must be of f32, got !kernel.tile<M x K x bf16, scratch, lanes = rows>}}
    kernel.contract %c, %a, %b multiply tf32 : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x bf16, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @multiply_sums() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x bf16, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x bf16, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x bf16, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: sums of products in bf16 must be in f32, got !kernel.tile<M x N x bf16, scratch, lanes = rows>}}
    kernel.contract %c, %a, %b multiply bf16 : !kernel.tile<M x N x bf16, scratch, lanes = rows>, !kernel.tile<M x K x bf16, scratch, lanes = rows>, !kernel.tile<N x K x bf16, scratch, lanes = rows>
  }
}

// -----

kernel.func @operands() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: expected an accumulator and two operands, got 2 tiles}}
    kernel.contract %c, %a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @cursor_accumulator(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.contract: expected a tile, got !kernel.cursor<M x K x f32>}}
    kernel.contract %c, %a, %b : !kernel.cursor<M x K x f32>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @array(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.contract: expected a tile or a cursor, got !kernel.array<200x64xf32>}}
    kernel.contract %c, %a, %x : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.array<200x64xf32>
  }
}

// -----

// Sweeps

kernel.func @undeclared() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %s = kernel.tile : !kernel.tile<f32, scratch>
    // expected-error @+1 {{kernel.sweep: dim Q is not declared in `block.dims` (M, K, N, H)}}
    kernel.sweep [Q] (%0 = %s) -> (each %s) : !kernel.tile<f32, scratch>, !kernel.tile<f32, scratch> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @axes() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.sweep: expected at most two dims, got [M, N, K]}}
    kernel.sweep [M, N, K] (%0 = %v) -> (sum %c) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @batch() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %s = kernel.tile : !kernel.tile<f32, scratch>
    // expected-error @+1 {{kernel.sweep: batch dim H can be no axis of an item}}
    kernel.sweep [H] (%0 = %s) -> (sum %s) : !kernel.tile<f32, scratch>, !kernel.tile<f32, scratch> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @broadcast() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %w = kernel.tile : !kernel.tile<N x f32, scratch>
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.sweep: !kernel.tile<N x f32, scratch> cannot be broadcast to [M, K]}}
    kernel.sweep [M, K] (%0 = %w) -> (each %a) : !kernel.tile<N x f32, scratch>, !kernel.tile<M x K x f32, scratch, lanes = rows> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @each() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.sweep: an output of kind each must be over [M, K], got !kernel.tile<M x f32, scratch>}}
    kernel.sweep [M, K] (%0 = %a) -> (each %v) : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @sum() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // expected-error @+1 {{kernel.sweep: an output of kind sum must be over [M], got !kernel.tile<M x K x f32, scratch, lanes = rows>}}
    kernel.sweep [M, K] (%0 = %a) -> (sum %a) : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @sum_of_scalars() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %s = kernel.tile : !kernel.tile<f32, scratch>
    // expected-error @+1 {{kernel.sweep: an output of kind sum must be over [], got !kernel.tile<f32, scratch>}}
    kernel.sweep [] (%0 = %s) -> (sum %s) : !kernel.tile<f32, scratch>, !kernel.tile<f32, scratch> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @lanes() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    // expected-error @+1 {{kernel.sweep: all blocks must have the same axis in lanes}}
    kernel.sweep [M, K] (%0 = %a) -> (each %t) : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = cols> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @kind() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{Expected `each`, `sum`, `max`, or `min`}}
    kernel.sweep [M] (%0 = %v) -> (mean %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @cursor(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.sweep: expected a tile, got !kernel.cursor<M x K x f32>}}
    kernel.sweep [M, K] (%0 = %c) -> (each %a) : !kernel.cursor<M x K x f32>, !kernel.tile<M x K x f32, scratch, lanes = rows> {
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @yields() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.sweep: 2 values are yielded for 1 outputs}}
    kernel.sweep [M] (%0 = %v) -> (each %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      kernel.yield %0, %0 : f32, f32
    }
  }
}

// -----

kernel.func @kinds() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{kernel.sweep: 2 kinds are given for 1 outputs}}
    "kernel.sweep"(%v, %v) <{axes = [@M], kinds = [#kernel.output each, #kernel.output each], operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%0 : f32):
      "kernel.yield"(%0) : (f32) -> ()
    }) : (!kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>) -> ()
  }
}

// -----

kernel.func @operation() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // expected-error @+1 {{'kernel.sweep' region: 'kernel.tile' is not a scalar operation allowed here}}
    kernel.sweep [M] (%0 = %v) -> (each %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      %1 = kernel.tile : !kernel.tile<M x f32, scratch>
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @index() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.sweep [M] (%0 = %v) -> (each %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      // expected-error @+1 {{kernel.quantity: the sweep has no axis over N}}
      %1 = kernel.quantity index @N
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @quantity() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.sweep [M] (%0 = %v) -> (each %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      // expected-error @+1 {{kernel.quantity: dim Q is not declared in `block.dims` (M, K, N, H)}}
      %1 = kernel.quantity extent @Q
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @width() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.sweep [M] (%0 = %v) -> (each %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      // expected-error @+1 {{kernel.quantity: no enclosing loop iterates over N}}
      %1 = kernel.quantity width @N
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @batch_index() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.sweep [M] (%0 = %v) -> (each %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      // expected-error @+1 {{kernel.quantity: no enclosing loop iterates over H}}
      %1 = kernel.quantity index @H
      kernel.yield %0 : f32
    }
  }
}

// -----

kernel.func @quantity_kind() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  kernel.parallel @M {
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.sweep [M] (%0 = %v) -> (each %v) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      // expected-error @+1 {{Expected `index`, `extent`, `width`, or `blocks`}}
      %1 = kernel.quantity size @M
      kernel.yield %0 : f32
    }
  }
}

// -----

// Launches

kernel.func @copy(%x : !kernel.array<4xf32>) outs(%y : !kernel.array<4xf32>) attributes {block.dims = {M = #block.dim<4, whole>}} {
}

func.func @axes(%x: tensor<4xf32>) {
  // expected-error @+1 {{kernel.launch: axes of 2 results are given for 1}}
  %y = kernel.launch @copy(%x) [[M], [M]] : (tensor<4xf32>) -> (tensor<4xf32>)
  func.return
}

// -----

kernel.func @copy(%x : !kernel.array<4xf32>) outs(%y : !kernel.array<4xf32>) attributes {block.dims = {M = #block.dim<4, whole>}} {
}

func.func @unknown(%x: tensor<4xf32>) {
  // expected-error @+1 {{kernel.launch: there is no kernel @move}}
  %y = kernel.launch @move(%x) [[M]] : (tensor<4xf32>) -> (tensor<4xf32>)
  func.return
}

// -----

kernel.func @copy(%x : !kernel.array<4xf32>) outs(%y : !kernel.array<4xf32>) attributes {block.dims = {M = #block.dim<4, whole>}} {
}

func.func @count(%x: tensor<4xf32>) {
  // expected-error @+1 {{kernel.launch: @copy reads 1 arrays and writes 1, got 2 and 1}}
  %y = kernel.launch @copy(%x, %x) [[M]] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>)
  func.return
}

// -----

kernel.func @copy(%x : !kernel.array<4xf32>) outs(%y : !kernel.array<4xf32>) attributes {block.dims = {M = #block.dim<4, whole>}} {
}

func.func @type(%x: tensor<8xf32>) {
  // expected-error @+1 {{kernel.launch: array 0 of @copy must be !kernel.array<4xf32>, got !kernel.array<8xf32>}}
  %y = kernel.launch @copy(%x) [[M]] : (tensor<8xf32>) -> (tensor<4xf32>)
  func.return
}

// -----

// Packed arrays

// expected-error @+1 {{kernel.array: only a matrix can be packed}}
kernel.func @packed_vector(%x : !kernel.array<4xf32, #kernel.packed<[4, 4] by 2>>) attributes {block.dims = {}} {
}

// -----

// expected-error @+1 {{kernel.packed: expected positive sizes of blocks and groups}}
kernel.func @packed_by_none(%x : !kernel.array<4x4xf32, #kernel.packed<[4, 4] by 0>>) attributes {block.dims = {}} {
}

// -----

// expected-error @+1 {{kernel.packed: expected positive sizes of blocks and groups}}
kernel.func @packed_flat(%x : !kernel.array<4x4xbf16, #kernel.packed<[4, 4] by 2 x 0>>) attributes {block.dims = {}} {
}

// -----

// expected-error @+1 {{expected rows and columns of a block, got 3 numbers}}
kernel.func @packed_by_three(%x : !kernel.array<4x4xf32, #kernel.packed<[4, 4, 4] by 2>>) attributes {block.dims = {}} {
}

// -----

kernel.func @packed_turned(%x : !kernel.array<8x4xf32, #kernel.packed<[8, 4] by 2>>) attributes {block.dims = {M = #block.dim<8, whole>, K = #block.dim<4, whole>}} {
  kernel.parallel {
    // expected-error @+1 {{kernel.cursor: a packed array is read along its own axes, block by block}}
    %a = kernel.cursor %x [M, K] : !kernel.array<8x4xf32, #kernel.packed<[8, 4] by 2>> -> !kernel.cursor<K x M x f32>
  }
}

// -----

kernel.func @packed_otherwise(%x : !kernel.array<8x4xf32, #kernel.packed<[4, 4] by 2>>) attributes {block.dims = {M = #block.dim<8, whole>, K = #block.dim<4, whole>}} {
  kernel.parallel {
    // expected-error @+1 {{kernel.cursor: the array is packed in other blocks of M, of 4}}
    %a = kernel.cursor %x [M, K] : !kernel.array<8x4xf32, #kernel.packed<[4, 4] by 2>> -> !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @packed_load(%x : !kernel.array<8x4xf32, #kernel.packed<[8, 4] by 2>>) attributes {block.dims = {M = #block.dim<8, whole>, K = #block.dim<4, whole>}} {
  kernel.parallel {
    %t = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %a = kernel.cursor %x [M, K] : !kernel.array<8x4xf32, #kernel.packed<[8, 4] by 2>> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.load: only contractions read a packed array}}
    kernel.load %t, %a : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @packed_left(%x : !kernel.array<8x4xf32, #kernel.packed<[8, 4] by 2>>) attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<8, whole>, K = #block.dim<4, whole>}} {
  kernel.parallel {
    %t = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %o = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %a = kernel.cursor %x [M, K] : !kernel.array<8x4xf32, #kernel.packed<[8, 4] by 2>> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.contract: only the right operand may be packed}}
    kernel.contract %o, %a, %t : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>, !kernel.tile<N x K x f32, scratch, lanes = rows>
  }
}

// -----

kernel.func @in_place_twice(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    kernel.fill %a, 0.0 : !kernel.tile<M x K x f32, scratch, lanes = cols>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.load: `in_place` needs a tile that one operation writes, got 2}}
    kernel.load %a, %c in_place : !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @in_place_lanes(%x : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %c = kernel.cursor %x [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.load: `in_place` needs a tile with columns in lanes, got !kernel.tile<M x K x f32, scratch, lanes = rows>}}
    kernel.load %a, %c in_place : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @in_place_result() outs(%o : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    %c = kernel.cursor %o [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.load: `in_place` needs an array that the kernel only reads}}
    kernel.load %a, %c in_place : !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.cursor<M x K x f32>
  }
}

// -----

kernel.func @ahead_vector(%x : !kernel.array<200xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x f32, scratch>
    %c = kernel.cursor %x [M] : !kernel.array<200xf32> -> !kernel.cursor<M x f32>
    // expected-error @+1 {{kernel.load: `ahead` needs rows of columns in lanes, got !kernel.tile<M x f32, scratch>}}
    kernel.load %a, %c ahead : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x f32>
  }
}

// -----

kernel.func @in_place_read() outs(%o : !kernel.array<200x64xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    kernel.fill %a, 0.0 : !kernel.tile<M x K x f32, scratch, lanes = cols>
    %c = kernel.cursor %o [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.store: `in_place` needs a tile that one sweep writes}}
    kernel.store %c, %a in_place : !kernel.cursor<M x K x f32>, !kernel.tile<M x K x f32, scratch, lanes = cols>
  }
}

// -----

kernel.func @stream_buffer() attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>}} {
  kernel.parallel @M {
    %b = kernel.buffer [M, K] here [M] : !kernel.array<?x?xf32>
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    kernel.fill %a, 0.0 : !kernel.tile<M x K x f32, scratch, lanes = cols>
    %c = kernel.cursor %b [M, K] here [M] : !kernel.array<?x?xf32> -> !kernel.cursor<M x K x f32>
    // expected-error @+1 {{kernel.store: `stream` is for arrays that the kernel gives}}
    kernel.store %c, %a stream : !kernel.cursor<M x K x f32>, !kernel.tile<M x K x f32, scratch, lanes = cols>
  }
}
