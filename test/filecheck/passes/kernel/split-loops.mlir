// RUN: bb-opt %s -p "kernel-split-loops{tasks=4}" | filecheck %s
// RUN: bb-opt %s -p "kernel-split-loops{tasks=1}" | filecheck %s --check-prefix=WHOLE
// RUN: sed 's/dim<4096, block = 256>/dim<4096, whole>/' %s | bb-opt -p "kernel-split-loops{tasks=4}" | filecheck %s --check-prefix=WHOLE
// RUN: sed 's/4096/4100/g' %s | bb-opt -p "kernel-split-loops{tasks=4}" | filecheck %s --check-prefix=RAGGED
// RUN: sed 's/4096/2560/g' %s | bb-opt -p "kernel-split-loops{tasks=6}" | filecheck %s --check-prefix=FEWER
// RUN: sed 's/x4096xf32/x?xf32/g; s/dim<4096/dim<?/' %s | bb-opt -p "kernel-split-loops{tasks=100}" | filecheck %s --check-prefix=UNKNOWN
// RUN: sed 's/4096/1024/g' %s | bb-opt -p "kernel-split-loops{tasks=4}" | filecheck %s --check-prefix=WHOLE
// RUN: not bb-opt %s -p "kernel-split-loops{tasks=4}" -t cpp 2>&1 | filecheck %s --check-prefix=CPU
// RUN: not bb-opt %s -p "kernel-split-loops{tasks=0}" 2>&1 | filecheck %s --check-prefix=TASKS

// Few tasks are enough, there is one block, or a part has too few iterations.
// WHOLE-NOT: _parts
// 17 blocks, of which the last is not full, in parts of 9 and of 8.
// RAGGED: kernel.func @row_sum_parts({{.*}} {S = #block.dim<2, batch>, {{.*}} N = #block.dim<4100, block = 256>}}
// 10 blocks: no more than 2 parts of 5, for each has 4 blocks at least.
// FEWER: kernel.func @row_sum_parts({{.*}} {S = #block.dim<2, batch>,
// An extent that only calls know.
// UNKNOWN: kernel.func @row_sum_parts({{.*}} {S = #block.dim<32, batch>, {{.*}} N = #block.dim<?, block = 256>}}
// UNKNOWN-NEXT: kernel.parallel @S, @B {
// UNKNOWN: kernel.for @N part @S {
// CPU: split-loops.mlir:{{.*}} error: 'kernel.for' op does a part of its iterations, as blocks of threads of a GPU do
// TASKS: option 'tasks' must be at least 1, got 0

// 16 blocks in 2 parts, for each of 2 batch items: the parts, and what is made of them.

// CHECK: kernel.func @row_sum_parts(%x : !kernel.array<2x3x4096xf32>) outs(%total : !kernel.array<2x2x3xf32>) attributes {block.dims = {S = #block.dim<2, batch>, B = #block.dim<2, batch>, M = #block.dim<3, whole>, N = #block.dim<4096, block = 256>}}
// CHECK-NEXT: kernel.parallel @S, @B {
// CHECK: kernel.fill %[[TOTAL:.*]], 0.0
// CHECK-NEXT: kernel.for @N part @S {
// CHECK-NEXT: kernel.cursor %x [B, M, N]
// CHECK-NOT: merge
// CHECK: %[[TO:.*]] = kernel.cursor %total [S, B, M] : !kernel.array<2x2x3xf32> -> !kernel.cursor<M x f32>
// CHECK-NEXT: kernel.store %[[TO]], %[[TOTAL]]
// CHECK: kernel.func @row_sum(%x : !kernel.array<2x3x4096xf32>, %total : !kernel.array<2x2x3xf32>) outs(%y : !kernel.array<2x3xf32>)
// CHECK-NEXT: kernel.parallel @B {
// CHECK-NEXT: %other = kernel.tile
// CHECK-NEXT: %[[SUM:.*]] = kernel.tile
// CHECK-NEXT: kernel.fill %[[SUM]], 0.0
// CHECK-NEXT: kernel.for @S {
// CHECK-NEXT: %[[FROM:.*]] = kernel.cursor %total [S, B, M]
// CHECK-NEXT: kernel.load %other, %[[FROM]]
// CHECK-NEXT: kernel.sweep [M] ({{.*}} = %[[SUM]], {{.*}} = %other) -> (each %[[SUM]])
// CHECK: kernel.store {{.*}}, %[[SUM]]
kernel.func @row_sum(%x : !kernel.array<2x3x4096xf32>) outs(%y : !kernel.array<2x3xf32>)
    attributes {block.dims = {B = #block.dim<2, batch>, M = #block.dim<3, whole>, N = #block.dim<4096, block = 256>}} {
  kernel.parallel @B {
    %total = kernel.tile : !kernel.tile<M x f32, scratch>
    %part = kernel.tile : !kernel.tile<M x f32, scratch>
    %block = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    kernel.fill %total, 0.0 : !kernel.tile<M x f32, scratch>
    kernel.for @N {
      %from = kernel.cursor %x [B, M, N] : !kernel.array<2x3x4096xf32> -> !kernel.cursor<M x N x f32>
      kernel.load %block, %from : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
      kernel.sweep [M, N] (%a = %block) -> (sum %part)
          : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch> {
        kernel.yield %a : f32
      }
      kernel.sweep [M] (%a = %total, %b = %part) -> (each %total)
          : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %b : f32
        kernel.yield %c : f32
      }
    } merge (%other = %total) : !kernel.tile<M x f32, scratch> {
      kernel.sweep [M] (%a = %total, %b = %other) -> (each %total)
          : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %c = arith.addf %a, %b : f32
        kernel.yield %c : f32
      }
    }
    %to = kernel.cursor %y [B, M] : !kernel.array<2x3xf32> -> !kernel.cursor<M x f32>
    kernel.store %to, %total : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// CHECK: func.func @sums
// CHECK-NEXT: %total = kernel.launch @row_sum_parts(%x) {{\[\[}}S, B, M]] : (tensor<2x3x4096xf32>) -> (tensor<2x2x3xf32>)
// CHECK-NEXT: %y = kernel.launch @row_sum(%x, %total) {{\[\[}}B, M]] : (tensor<2x3x4096xf32>, tensor<2x2x3xf32>) -> (tensor<2x3xf32>)
func.func @sums(%x: tensor<2x3x4096xf32>) -> tensor<2x3xf32> {
  %y = kernel.launch @row_sum(%x) [[B, M]] : (tensor<2x3x4096xf32>) -> (tensor<2x3xf32>)
  func.return %y : tensor<2x3xf32>
}
