// RUN: bb-opt %s -p kernel-in-place | filecheck %s
// RUN: bb-opt %s -p kernel-in-place,kernel-in-place | filecheck %s
// RUN: bb-opt %s -p kernel-in-place | bb-opt | filecheck %s

// A tile that is loaded once and only read may be the block of the array, a vector too; rows that are swept over
// again are fetched ahead.
// The sweep writes to the result itself, so that its cursor comes first, and past the caches.
// CHECK-LABEL: kernel.func @rows(
// CHECK:           kernel.load %x_1, %{{.*}} in_place ahead : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
// CHECK:           kernel.load %g_1, %{{.*}} in_place : !kernel.tile<N x f32, scratch>, !kernel.cursor<N x f32>
// CHECK-NEXT:      kernel.sweep [M, N] (%{{.*}} = %x_1) -> (sum %s)
// CHECK:           %to = kernel.cursor %o
// CHECK-NEXT:      kernel.sweep
// CHECK:           kernel.store %to, %o_1 in_place stream : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
kernel.func @rows(%x : !kernel.array<64x48xf32>, %g : !kernel.array<48xf32>) outs(%o : !kernel.array<64x48xf32>) attributes {block.dims = {M = #block.dim<64, block = 1>, N = #block.dim<48, whole>}} {
  kernel.parallel @M {
    %x_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %g_1 = kernel.tile : !kernel.tile<N x f32, scratch>
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %o_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %from_x = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %x_1, %from_x : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
    %from_g = kernel.cursor %g [N] : !kernel.array<48xf32> -> !kernel.cursor<N x f32>
    kernel.load %g_1, %from_g : !kernel.tile<N x f32, scratch>, !kernel.cursor<N x f32>
    kernel.sweep [M, N] (%a = %x_1) -> (sum %s) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch> {
      kernel.yield %a : f32
    }
    kernel.sweep [M, N] (%a = %x_1, %b = %g_1, %c = %s) -> (each %o_1) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<N x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = cols> {
      %r = arith.mulf %a, %b : f32
      %t = arith.mulf %r, %c : f32
      kernel.yield %t : f32
    }
    %to = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to, %o_1 : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
  }
}

// A tile that is written again has to be a copy; so has one that is stored and read.
// CHECK-LABEL: kernel.func @copies(
// CHECK:           kernel.load %x_1, %from_x : !
// CHECK:           kernel.store %to, %x_1 stream : !
// CHECK:           kernel.store %to_s, %s : !
kernel.func @copies(%x : !kernel.array<64x48xf32>) outs(%o : !kernel.array<64x48xf32>, %p : !kernel.array<64xf32>) attributes {block.dims = {M = #block.dim<64, block = 8>, N = #block.dim<48, whole>}} {
  kernel.parallel @M {
    %x_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %s = kernel.tile : !kernel.tile<M x f32, scratch>
    %from_x = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %x_1, %from_x : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a = %x_1) -> (each %x_1) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x N x f32, scratch, lanes = cols> {
      %r = arith.mulf %a, %a : f32
      kernel.yield %r : f32
    }
    kernel.sweep [M, N] (%a = %x_1) -> (sum %s) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch> {
      kernel.yield %a : f32
    }
    %to = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to, %x_1 : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
    %to_s = kernel.cursor %p [M] : !kernel.array<64xf32> -> !kernel.cursor<M x f32>
    kernel.store %to_s, %s : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// What is written in every iteration of a loop stays in the caches; rows in lanes have to be transposed.
// CHECK-LABEL: kernel.func @again(
// CHECK:           kernel.load %x_1, %from_x : !
// CHECK:           kernel.store %to, %o_1 : !
kernel.func @again(%x : !kernel.array<64x48xf32>) outs(%o : !kernel.array<64x48xf32>) attributes {block.dims = {M = #block.dim<64, block = 8>, N = #block.dim<48, whole>, K = #block.dim<9, block = 3>}} {
  kernel.parallel @M {
    %x_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %o_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %from_x = kernel.cursor %x [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %x_1, %from_x : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.cursor<M x N x f32>
    kernel.for @K {
      kernel.sweep [M, N] (%a = %x_1) -> (each %o_1) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
        %r = arith.mulf %a, %a : f32
        kernel.yield %r : f32
      }
      %to = kernel.cursor %o [M, N] : !kernel.array<64x48xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %to, %o_1 : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}

// A kernel that contracts keeps its tiles, whose rows are read again and again; its result leaves all the same.
// CHECK-LABEL: kernel.func @contracts(
// CHECK:           kernel.load %x_1, %from_x : !
// CHECK:           kernel.store %to, %acc stream : !
kernel.func @contracts(%x : !kernel.array<64x48xf32>, %w : !kernel.array<32x48xf32>) outs(%o : !kernel.array<64x32xf32>) attributes {block.dims = {M = #block.dim<64, block = 8>, N = #block.dim<32, whole>, K = #block.dim<48, whole>}} {
  kernel.parallel @M {
    %x_1 = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    %acc = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %from_x = kernel.cursor %x [M, K] : !kernel.array<64x48xf32> -> !kernel.cursor<M x K x f32>
    kernel.load %x_1, %from_x : !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.cursor<M x K x f32>
    %from_w = kernel.cursor %w [N, K] : !kernel.array<32x48xf32> -> !kernel.cursor<N x K x f32>
    kernel.contract %acc, %x_1, %from_w : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.cursor<N x K x f32>
    %to = kernel.cursor %o [M, N] : !kernel.array<64x32xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to, %acc : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
  }
}
