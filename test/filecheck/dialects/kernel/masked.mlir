// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// CHECK-LABEL: kernel.func @masked
kernel.func @masked() attributes {block.dims = {M = #block.dim<8, whole>, N = #block.dim<6, whole>, K = #block.dim<4, whole>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %f = kernel.tile : !kernel.tile<M x f32, scratch>
    %s = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // CHECK: kernel.sweep [M, K] () -> (each %s) : !kernel.tile<M x K x f32, scratch, lanes = rows> attributes {careful} {
    kernel.sweep [M, K] () -> (each %s) : !kernel.tile<M x K x f32, scratch, lanes = rows> attributes {careful} {
      %0 = arith.constant 1.0 : f32
      kernel.yield %0 : f32
    }
    // CHECK: kernel.contract accumulate %c, %a, %b keeps %s : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>
    kernel.contract accumulate %c, %a, %b keeps %s : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>
    // CHECK-NEXT: kernel.contract %c, %a, %b scale %f keeps %s : !kernel.tile<M x N x f32, scratch, lanes = rows>
    kernel.contract %c, %a, %b scale %f keeps %s : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x K x f32, scratch, lanes = rows>
  }
}
