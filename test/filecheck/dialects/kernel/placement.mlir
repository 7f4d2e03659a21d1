// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// Warps with rows of blocks in registers; a loop that fetches ahead.

// CHECK: kernel.func @warps
kernel.func @warps(%q : !kernel.array<128x64xbf16>, %k : !kernel.array<256x64xbf16>) outs(%o : !kernel.array<128x256xbf16>) attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>, K = #block.dim<64, whole>}} {
  // CHECK-NEXT: kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
  kernel.parallel @M attributes {threads = 128 : i64, warps = 4 : i64} {
    // CHECK-NEXT: %a = kernel.tile {swizzled, offset = 0 : i64} : !kernel.tile<M x K x bf16, shared, lanes = cols>
    %a = kernel.tile {swizzled, offset = 0 : i64} : !kernel.tile<M x K x bf16, shared, lanes = cols>
    // CHECK-NEXT: %b = kernel.tile {swizzled, stages = 2 : i64, offset = 8192 : i64} : !kernel.tile<N x K x bf16, shared, lanes = cols>
    %b = kernel.tile {swizzled, stages = 2 : i64, offset = 8192 : i64} : !kernel.tile<N x K x bf16, shared, lanes = cols>
    %c = kernel.tile : !kernel.tile<M x N x f32, register, lanes = cols>
    %qa = kernel.cursor %q [M, K] : !kernel.array<128x64xbf16> -> !kernel.cursor<M x K x bf16>
    // CHECK: kernel.load %a, %qa {async} : !kernel.tile<M x K x bf16, shared, lanes = cols>, !kernel.cursor<M x K x bf16>
    kernel.load %a, %qa {async} : !kernel.tile<M x K x bf16, shared, lanes = cols>, !kernel.cursor<M x K x bf16>
    // CHECK-NEXT: kernel.for @N attributes {stages = 2 : i64} {
    kernel.for @N attributes {stages = 2 : i64} {
      %kb = kernel.cursor %k [N, K] : !kernel.array<256x64xbf16> -> !kernel.cursor<N x K x bf16>
      // CHECK: kernel.load %b, %kb {async} : !kernel.tile<N x K x bf16, shared, lanes = cols>, !kernel.cursor<N x K x bf16>
      kernel.load %b, %kb {async} : !kernel.tile<N x K x bf16, shared, lanes = cols>, !kernel.cursor<N x K x bf16>
      kernel.contract %c, %a, %b multiply bf16 : !kernel.tile<M x N x f32, register, lanes = cols>, !kernel.tile<M x K x bf16, shared, lanes = cols>, !kernel.tile<N x K x bf16, shared, lanes = cols>
      %oc = kernel.cursor %o [M, N] : !kernel.array<128x256xbf16> -> !kernel.cursor<M x N x bf16>
      // CHECK: kernel.store %oc, %c {offset = 24576 : i64} : !kernel.cursor<M x N x bf16>, !kernel.tile<M x N x f32, register, lanes = cols>
      kernel.store %oc, %c {offset = 24576 : i64} : !kernel.cursor<M x N x bf16>, !kernel.tile<M x N x f32, register, lanes = cols>
    }
  }
}

// A grid of warps, which exchange what they reduce of their rows.

// CHECK: kernel.func @grid
kernel.func @grid() attributes {block.dims = {M = #block.dim<128, block = 64>, N = #block.dim<256, block = 64>}} {
  // CHECK-NEXT: kernel.parallel @M attributes {threads = 256 : i64, warps = [2 : i64, 4 : i64]} {
  kernel.parallel @M attributes {threads = 256 : i64, warps = [2 : i64, 4 : i64]} {
    %c = kernel.tile : !kernel.tile<M x N x f32, register, lanes = cols>
    // CHECK: %s = kernel.tile {offset = 16 : i64} : !kernel.tile<M x f32, shared>
    %s = kernel.tile {offset = 16 : i64} : !kernel.tile<M x f32, shared>
    kernel.fill %c, 1.0 : !kernel.tile<M x N x f32, register, lanes = cols>
    // CHECK: kernel.sweep [M, N] (%x = %c) -> (sum %s) : !kernel.tile<M x N x f32, register, lanes = cols>, !kernel.tile<M x f32, shared> attributes {offset = 512 : i64} {
    kernel.sweep [M, N] (%x = %c) -> (sum %s) : !kernel.tile<M x N x f32, register, lanes = cols>, !kernel.tile<M x f32, shared> attributes {offset = 512 : i64} {
      kernel.yield %x : f32
    }
  }
}

// Rows that a warp, or a block, holds.

// CHECK: kernel.func @rows
kernel.func @rows() attributes {block.dims = {M = #block.dim<128, block = 64>}} {
  // CHECK-NEXT: kernel.parallel @M attributes {threads = 128 : i64, group = 32 : i64} {
  kernel.parallel @M attributes {threads = 128 : i64, group = 32 : i64} {
  }
  // CHECK: kernel.parallel @M attributes {threads = 256 : i64, group = 256 : i64} {
  kernel.parallel @M attributes {threads = 256 : i64, group = 256 : i64} {
  }
}
