// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s
// RUN: bb-opt %s -p kernel-hoist,kernel-fuse-sweeps | filecheck %s --check-prefix=PASSES

!X = !kernel.array<3x?xf32>
!C = !kernel.cursor<M x N x f32>
!T = !kernel.tile<M x f32, scratch>
!B = !kernel.tile<M x N x f32, scratch, lanes = cols>

// CHECK-LABEL: kernel.func @merge(
// CHECK:         kernel.for @N attributes {note = 1 : i64} {
// CHECK:         } merge (%other = %top, %rest = %sum) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
// CHECK-NEXT:      %factor = kernel.tile : !kernel.tile<M x f32, scratch>
// CHECK-NEXT:      kernel.fill %factor, 2.0 : !kernel.tile<M x f32, scratch>
// CHECK-NEXT:      kernel.sweep [M] (%{{.*}} = %top, %{{.*}} = %other) -> (each %top)
// CHECK:           kernel.sweep [M] (%{{.*}} = %sum, %{{.*}} = %rest) -> (each %sum)
// CHECK:         kernel.for @N {
// CHECK:         } merge () {
// CHECK-NEXT:    }

// Sweeps of a merge region become one; what it reads is not written over elsewhere, nor hoisted.
// PASSES-LABEL: kernel.func @merge(
// PASSES:         kernel.for @N
// PASSES:           kernel.sweep [M, N] (%{{.*}} = %block) -> (max %part, sum %part_sum)
// PASSES:           kernel.sweep [M] ({{.*}}) -> (each %top, each %sum)
// PASSES:         } merge (%other = %top, %rest = %sum) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
// PASSES:           kernel.sweep [M] (%{{.*}} = %top, %{{.*}} = %other, %{{.*}} = %sum, %{{.*}} = %rest) -> (each %top, each %sum)
// PASSES:         kernel.for @N
kernel.func @merge(%x : !X) outs(%y : !X) attributes {block.dims = {M = #block.dim<3, whole>, N = #block.dim<?, block = 256>}} {
  kernel.parallel {
    %block = kernel.tile : !B
    %scaled = kernel.tile : !B
    %part = kernel.tile : !T
    %part_sum = kernel.tile : !T
    %top = kernel.tile : !T
    %sum = kernel.tile : !T
    kernel.fill %top, -inf : !T
    kernel.fill %sum, 0.0 : !T
    kernel.for @N attributes {note = 1 : i64} {
      %from = kernel.cursor %x [M, N] : !X -> !C
      kernel.load %block, %from : !B, !C
      kernel.sweep [M, N] (%a = %block) -> (max %part, sum %part_sum) : !B, !T, !T {
        kernel.yield %a, %a : f32, f32
      }
      kernel.sweep [M] (%a = %top, %b = %part) -> (each %top) : !T, !T, !T {
        %c = arith.maximumf %a, %b : f32
        kernel.yield %c : f32
      }
      kernel.sweep [M] (%a = %sum, %b = %part_sum) -> (each %sum) : !T, !T, !T {
        %c = arith.addf %a, %b : f32
        kernel.yield %c : f32
      }
    } merge (%other = %top, %rest = %sum) : !T, !T {
      %factor = kernel.tile : !T
      kernel.fill %factor, 2.0 : !T
      kernel.sweep [M] (%a = %top, %b = %other) -> (each %top) : !T, !T, !T {
        %c = arith.maximumf %a, %b : f32
        kernel.yield %c : f32
      }
      kernel.sweep [M] (%a = %sum, %b = %rest) -> (each %sum) : !T, !T, !T {
        %c = arith.addf %a, %b : f32
        kernel.yield %c : f32
      }
    }
    kernel.for @N {
      %from = kernel.cursor %x [M, N] : !X -> !C
      kernel.load %scaled, %from : !B, !C
      kernel.sweep [M, N] (%a = %scaled, %b = %top, %c = %sum) -> (each %scaled) : !B, !T, !T, !B {
        %d = arith.subf %a, %b : f32
        %e = arith.divf %d, %c : f32
        kernel.yield %e : f32
      }
      %to = kernel.cursor %y [M, N] : !X -> !C
      kernel.store %to, %scaled : !C, !B
    } merge () {
    }
  }
}
