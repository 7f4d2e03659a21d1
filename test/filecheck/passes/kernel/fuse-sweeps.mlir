// RUN: bb-opt %s -p kernel-fuse-sweeps | filecheck %s
// RUN: bb-opt %s -p kernel-fuse-sweeps,kernel-fuse-sweeps | filecheck %s

// A chain of operators is one sweep over one tile, and a reduction of its last values goes with it.
// CHECK-LABEL: kernel.func @chain(
// CHECK-NEXT:      kernel.parallel
// CHECK-NEXT:        %a = kernel.tile
// CHECK-NEXT:        %v = kernel.tile
// CHECK-NEXT:        %from_a
// CHECK-NEXT:        kernel.load %a,
// CHECK-NEXT:      kernel.sweep [M, N] (%{{.*}} = %a) -> (each %a, sum %v)
// CHECK-NEXT:        %[[ONE:.*]] = math.exp
// CHECK-NEXT:        %[[TWO:.*]] = math.exp %[[ONE]]
// CHECK-NEXT:        %[[THREE:.*]] = math.exp %[[TWO]]
// CHECK-NEXT:        kernel.yield %[[TWO]], %[[THREE]]
// CHECK-NOT:       kernel.sweep
kernel.func @chain(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%b0 = %b) -> (each %c) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %b0 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%c0 = %c) -> (sum %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %c0 : f32
      kernel.yield %r : f32
    }
    %to_c = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_c, %c : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    %to_v = kernel.cursor %p [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.store %to_v, %v : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// Sweeps of the same dims are one, also where neither reads what the other writes.
// CHECK-LABEL: kernel.func @independent(
// CHECK:           kernel.sweep [M, N] (%[[A:.*]] = %a) -> (max %v, each %a)
// CHECK-NOT:       kernel.sweep
kernel.func @independent(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (max %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    %to_v = kernel.cursor %p [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.store %to_v, %v : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// A sweep that needs the complete rows of a reduction cannot be in one pass with it.
// CHECK-LABEL: kernel.func @reduced(
// CHECK:           kernel.sweep [M, N] ({{.*}}) -> (sum %v)
// CHECK:           kernel.sweep [M, N] ({{.*}}) -> (each %a)
kernel.func @reduced(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (sum %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%a0 = %a, %v1 = %v) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = arith.mulf %a0, %v1 : f32
      kernel.yield %r : f32
    }
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// Nor can one that reduces into what the first reads for each row.
// CHECK-LABEL: kernel.func @overwritten(
// CHECK:           kernel.sweep [M, N] ({{.*}}) -> (each %a)
// CHECK:           kernel.sweep [M, N] ({{.*}}) -> (max %v)
kernel.func @overwritten(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    %from_v = kernel.cursor %y [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.load %v, %from_v : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x f32>
    kernel.sweep [M, N] (%a0 = %a, %v1 = %v) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = arith.mulf %a0, %v1 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%b0 = %b) -> (max %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %b0 : f32
      kernel.yield %r : f32
    }
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    %to_v = kernel.cursor %p [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.store %to_v, %v : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// Other dims, other loops.
// CHECK-LABEL: kernel.func @other_dims(
// CHECK:           kernel.sweep [M, N] ({{.*}}) -> (sum %v)
// CHECK:           kernel.sweep [M] ({{.*}}) -> (each %v)
kernel.func @other_dims(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %w = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (sum %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M] (%v0 = %v) -> (each %w) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %v0 : f32
      kernel.yield %r : f32
    }
    %to_w = kernel.cursor %p [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.store %to_w, %w : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// Blocks with other lanes are swept in another order. Where columns are in lanes, what comes from an array and
// what goes to one stay apart: both could be where they lie.
// CHECK-LABEL: kernel.func @other_lanes(
// CHECK:           kernel.sweep [M, N] ({{.*}}) -> (each %a)
// CHECK:           kernel.sweep [M, N] (%{{.*}} = %t) -> (each %u)
kernel.func @other_lanes(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %u = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    %from_t = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %t, %from_t : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%t0 = %t) -> (each %u) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x N x f32, scratch, lanes = cols> {
      %r = math.exp %t0 : f32
      kernel.yield %r : f32
    }
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    %to_u = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_u, %u : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
  }
}

// The second sweep rises over what does not touch its tiles.
// CHECK-LABEL: kernel.func @moved_up(
// CHECK:           kernel.sweep [M, N] (%{{.*}} = %a) -> (each %a, sum %v)
// CHECK:           kernel.store %{{.*}}, %a
// CHECK-NOT:       kernel.sweep
kernel.func @moved_up(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    kernel.sweep [M, N] (%b0 = %b) -> (sum %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %b0 : f32
      kernel.yield %r : f32
    }
    %to_v = kernel.cursor %p [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.store %to_v, %v : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// Or the first one sinks to the second, where the second cannot rise.
// CHECK-LABEL: kernel.func @moved_down(
// CHECK-NOT:       kernel.sweep
// CHECK:           kernel.load %v,
// CHECK-NEXT:      kernel.sweep [M, N] (%{{.*}} = %a, %{{.*}} = %v) -> (each %a)
// CHECK-NOT:       kernel.sweep
kernel.func @moved_down(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    %from_v = kernel.cursor %y [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.load %v, %from_v : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x f32>
    kernel.sweep [M, N] (%b0 = %b, %v1 = %v) -> (each %c) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = arith.mulf %b0, %v1 : f32
      kernel.yield %r : f32
    }
    %to_c = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_c, %c : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// A tile that is written in between keeps them apart: here what the second reads, and the first as well.
// CHECK-LABEL: kernel.func @written_between(
// CHECK:           kernel.sweep [M, N] (%{{.*}} = %a, %{{.*}} = %v) -> (each %b)
// CHECK:           kernel.load %v,
// CHECK:           kernel.sweep [M, N] (%{{.*}} = %b, %{{.*}} = %v) -> (each %b)
kernel.func @written_between(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    %from_v = kernel.cursor %y [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.load %v, %from_v : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x f32>
    kernel.sweep [M, N] (%a0 = %a, %v1 = %v) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = arith.mulf %a0, %v1 : f32
      kernel.yield %r : f32
    }
    %again_v = kernel.cursor %y [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.load %v, %again_v : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x f32>
    kernel.sweep [M, N] (%b0 = %b, %v1 = %v) -> (each %c) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = arith.mulf %b0, %v1 : f32
      kernel.yield %r : f32
    }
    %to_c = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_c, %c : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    %to_a = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_a, %a : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// So does a loop that writes to it.
// CHECK-LABEL: kernel.func @loop_between(
// CHECK:           kernel.sweep [M, N]
// CHECK:           kernel.for @L
// CHECK:           kernel.sweep [M, N]
kernel.func @loop_between(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    kernel.for @L {
      kernel.fill %b, 0.0 : !kernel.tile<M x N x f32, scratch, lanes = rows>
      kernel.fill %a, 0.0 : !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
    kernel.sweep [M, N] (%b0 = %b) -> (each %c) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %b0 : f32
      kernel.yield %r : f32
    }
    %to_c = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_c, %c : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// A result overwrites an input that nothing reads any more, but not one that is still read.
// CHECK-LABEL: kernel.func @needed_later(
// CHECK:           kernel.sweep [M, N] (%{{.*}} = %a) -> (each %b)
// CHECK:           kernel.store %{{.*}}, %a
// CHECK:           kernel.store %{{.*}}, %b
kernel.func @needed_later(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    %to_a = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_a, %a : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// Nor over one that the next iteration of a loop reads.
// CHECK-LABEL: kernel.func @carried(
// CHECK:           kernel.for @L
// CHECK-NEXT:        kernel.sweep [M, N] (%{{.*}} = %a) -> (each %b)
kernel.func @carried(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.for @L {
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}

// Values that nothing reads are not computed, nor what only they need.
// CHECK-LABEL: kernel.func @dead(
// CHECK-NOT:       %c
// CHECK:           kernel.sweep [M, N] (%[[A:.*]] = %a) -> (max %v)
// CHECK-NEXT:        %[[E:.*]] = math.exp %[[A]]
// CHECK-NEXT:        kernel.yield %[[E]] : f32
// CHECK-NOT:       kernel.sweep
kernel.func @dead(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b, max %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
      %r = math.exp %a0 : f32
      kernel.yield %r, %r : f32, f32
    }
    kernel.sweep [M, N] (%b0 = %b) -> (each %c) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %b0 : f32
      kernel.yield %r : f32
    }
    %to_v = kernel.cursor %p [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.store %to_v, %v : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// A tile that both write has the second's values.
// CHECK-LABEL: kernel.func @twice(
// CHECK:           kernel.sweep [M, N] (%[[A:.*]] = %a) -> (each %a)
// CHECK-NEXT:        %[[E:.*]] = math.exp %[[A]]
// CHECK-NEXT:        %[[F:.*]] = math.exp %[[E]]
// CHECK-NEXT:        kernel.yield %[[F]] : f32
kernel.func @twice(%x : !kernel.array<64x48xf32>, %y : !kernel.array<64xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, whole>, N = #block.dim<48, whole>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %from_a = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_a : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %a0 : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%b0 = %b) -> (each %b) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
      %r = math.exp %b0 : f32
      kernel.yield %r : f32
    }
    %to_b = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_b, %b : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
  }
}

// A little arithmetic on a vector is a part of the sweep that reads it, where that has one row.
// CHECK-LABEL: kernel.func @vector(
// CHECK:           kernel.sweep [M, N] (%{{.*}} = %b, %{{.*}} = %a) -> (each %o)
// CHECK-NEXT:        arith.mulf
// CHECK-NEXT:        arith.addf
// CHECK:           kernel.load %v
// CHECK-NEXT:      kernel.sweep [N] (%{{.*}} = %v) -> (each %w)
// CHECK-NEXT:        math.exp
kernel.func @vector(%x : !kernel.array<64x48xf32>, %y : !kernel.array<48xf32>) outs(%p : !kernel.array<64x48xf32>, %q : !kernel.array<64x48xf32>) attributes {block.dims = {M = #block.dim<64, block = 1>, N = #block.dim<48, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %b = kernel.tile : !kernel.tile<N x f32, scratch>
    %c = kernel.tile : !kernel.tile<N x f32, scratch>
    %v = kernel.tile : !kernel.tile<N x f32, scratch>
    %w = kernel.tile : !kernel.tile<N x f32, scratch>
    %o = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %r = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %from_x = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %a, %from_x : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
    %from_y = kernel.cursor %y [N] : !kernel.array<48xf32> -> !kernel.cursor<N x f32>
    kernel.load %b, %from_y : !kernel.tile<N x f32, scratch>, !kernel.cursor<N x f32>
    kernel.sweep [N] (%b0 = %b) -> (each %c) : !kernel.tile<N x f32, scratch>, !kernel.tile<N x f32, scratch> {
      %s = arith.mulf %b0, %b0 : f32
      kernel.yield %s : f32
    }
    kernel.sweep [M, N] (%a0 = %a, %c0 = %c) -> (each %o) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<N x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = cols> {
      %s = arith.addf %a0, %c0 : f32
      kernel.yield %s : f32
    }
    %to_p = kernel.cursor %p [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_p, %o : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
    kernel.load %v, %from_y : !kernel.tile<N x f32, scratch>, !kernel.cursor<N x f32>
    kernel.sweep [N] (%v0 = %v) -> (each %w) : !kernel.tile<N x f32, scratch>, !kernel.tile<N x f32, scratch> {
      %s = math.exp %v0 : f32
      kernel.yield %s : f32
    }
    kernel.load %a, %from_x : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a0 = %a, %w0 = %w) -> (each %r) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<N x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = cols> {
      %s = arith.addf %a0, %w0 : f32
      kernel.yield %s : f32
    }
    %to_q = kernel.cursor %q [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to_q, %r : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
  }
}
