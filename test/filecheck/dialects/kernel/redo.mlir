// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// CHECK-LABEL: kernel.func @redo
kernel.func @redo(%x : !kernel.array<8x6xf32>) outs(%y : !kernel.array<8x6xf32>) attributes {block.dims = {M = #block.dim<8, block = 4>, N = #block.dim<6, whole>}} {
  kernel.parallel @M {
    %far = kernel.tile : !kernel.tile<M x f32, scratch>
    %near = kernel.tile : !kernel.tile<f32, scratch>
    kernel.fill %far, 1.0 : !kernel.tile<M x f32, scratch>
    kernel.fill %near, 0.0 : !kernel.tile<f32, scratch>
    // CHECK: kernel.redo %far, %near : !kernel.tile<M x f32, scratch>, !kernel.tile<f32, scratch> {
    // CHECK-NEXT: kernel.tile
    kernel.redo %far, %near : !kernel.tile<M x f32, scratch>, !kernel.tile<f32, scratch> {
      %a = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
      %from = kernel.cursor %x [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
      kernel.load %a, %from : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
      %to = kernel.cursor %y [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %to, %a : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
    }
  }
}
