// RUN: bb-opt %s -p kernel-speculate | filecheck %s

// The scale is taken for 1. Its product with x, and the second sum, are gone; the redo still has them.
// CHECK-LABEL: kernel.func @whole_rows
// CHECK-NOT:       kernel.sweep [M, N] {{.*}}sum %large
// CHECK:           kernel.sweep [M, N] (%a = %x_1) -> (sum %squares)
// CHECK:           kernel.sweep [M] ({{.*}} = %squares) -> (each %far)
// CHECK:             %[[FAR:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT:        kernel.yield %[[FAR]] : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      %to = kernel.cursor
// CHECK-NEXT:      kernel.store %to, %x_1
// CHECK-NEXT:      kernel.redo %far : !kernel.tile<M x f32, scratch> {
// CHECK:             kernel.load
// CHECK:             sum %{{squares.*}})
// CHECK:             sum %{{large.*}})
// CHECK-NOT:         bb.likely
// CHECK:             kernel.sweep [M, N] {{.*}} -> (each %{{out.*}})
// CHECK:             kernel.store
kernel.func @whole_rows(%x : !kernel.array<8x6xf32>) outs(%y : !kernel.array<8x6xf32>) attributes {block.dims = {M = #block.dim<8, block = 4>, N = #block.dim<6, whole>}} {
  kernel.parallel @M {
    %x_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %squares = kernel.tile : !kernel.tile<M x f32, scratch>
    %large = kernel.tile : !kernel.tile<M x f32, scratch>
    %scale = kernel.tile : !kernel.tile<M x f32, scratch>
    %out = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %from = kernel.cursor %x [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %x_1, %from : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a = %x_1) -> (sum %squares) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch> {
      %0 = arith.mulf %a, %a : f32
      kernel.yield %0 : f32
    }
    kernel.sweep [M, N] (%a = %x_1) -> (sum %large) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch> {
      %small = arith.constant 1.0e-20 : f32
      %0 = arith.mulf %a, %small : f32
      %1 = arith.mulf %0, %0 : f32
      kernel.yield %1 : f32
    }
    kernel.sweep [M] (%s = %squares, %l = %large) -> (each %scale) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      %limit = arith.constant 1.0e+30 : f32
      %fits = arith.cmpf olt, %s, %limit : f32
      %one = arith.constant 1.0 : f32
      %scale_1 = arith.select %fits, %one, %l {bb.likely} : f32
      kernel.yield %scale_1 : f32
    }
    kernel.sweep [M, N] (%a = %x_1, %c = %scale) -> (each %out) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = cols> {
      %0 = arith.mulf %a, %c : f32
      kernel.yield %0 : f32
    }
    %to = kernel.cursor %y [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to, %out : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
  }
}

// The second loop waited for the scale. Now it is a part of the first one, which loads each block of x once.
// CHECK-LABEL: kernel.func @two_loops
// CHECK:           kernel.fill %sum
// CHECK-NEXT:      kernel.fill %other
// CHECK-NEXT:      kernel.for @N {
// CHECK:             kernel.load %x_1
// CHECK-NOT:         kernel.load
// CHECK:             kernel.sweep [M] {{.*}} -> (each %sum)
// CHECK:             kernel.sweep [M] {{.*}} -> (each %other)
// CHECK-NEXT:          %{{.*}} = arith.addf
// CHECK:           } merge (%{{.*}} = %sum, %{{.*}} = %other)
// CHECK:           kernel.sweep [M] {{.*}} -> (each %far)
// CHECK-NOT:       kernel.for
// CHECK:           kernel.redo %far
// CHECK:             kernel.for @N {
// CHECK:             kernel.for @N {
kernel.func @two_loops(%x : !kernel.array<8x6xf32>) outs(%y : !kernel.array<8xf32>) attributes {block.dims = {M = #block.dim<8, block = 4>, N = #block.dim<6, block = 2>}} {
  kernel.parallel @M {
    %x_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %x_2 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %part = kernel.tile : !kernel.tile<M x f32, scratch>
    %sum = kernel.tile : !kernel.tile<M x f32, scratch>
    %scale = kernel.tile : !kernel.tile<M x f32, scratch>
    %part_2 = kernel.tile : !kernel.tile<M x f32, scratch>
    %other = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.fill %sum, 0.0 : !kernel.tile<M x f32, scratch>
    kernel.for @N {
      %from = kernel.cursor %x [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
      kernel.load %x_1, %from : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
      kernel.sweep [M, N] (%a = %x_1) -> (sum %part) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch> {
        kernel.yield %a : f32
      }
      kernel.sweep [M] (%a = %sum, %b = %part) -> (each %sum) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %0 = arith.addf %a, %b : f32
        kernel.yield %0 : f32
      }
    } merge (%o = %sum) : !kernel.tile<M x f32, scratch> {
      kernel.sweep [M] (%a = %sum, %b = %o) -> (each %sum) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %0 = arith.addf %a, %b : f32
        kernel.yield %0 : f32
      }
    }
    kernel.sweep [M] (%s = %sum) -> (each %scale) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
      %limit = arith.constant 1.0e+30 : f32
      %fits = arith.cmpf olt, %s, %limit : f32
      %one = arith.constant 1.0 : f32
      %half = arith.constant 0.5 : f32
      %scale_1 = arith.select %fits, %one, %half {bb.likely} : f32
      kernel.yield %scale_1 : f32
    }
    kernel.fill %other, 0.0 : !kernel.tile<M x f32, scratch>
    kernel.for @N {
      %from = kernel.cursor %x [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
      kernel.load %x_2, %from : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
      kernel.sweep [M, N] (%a = %x_2, %c = %scale) -> (sum %part_2) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %0 = arith.mulf %a, %c : f32
        %1 = math.absf %0 : f32
        kernel.yield %1 : f32
      }
      kernel.sweep [M] (%a = %other, %b = %part_2) -> (each %other) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %0 = arith.addf %a, %b : f32
        kernel.yield %0 : f32
      }
    } merge (%o = %other) : !kernel.tile<M x f32, scratch> {
      kernel.sweep [M] (%a = %other, %b = %o) -> (each %other) : !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> {
        %0 = arith.addf %a, %b : f32
        kernel.yield %0 : f32
      }
    }
    %to = kernel.cursor %y [M] : !kernel.array<8xf32> -> !kernel.cursor<M x f32>
    kernel.store %to, %other : !kernel.cursor<M x f32>, !kernel.tile<M x f32, scratch>
  }
}

// A condition on each element is left alone.
// CHECK-LABEL: kernel.func @of_elements
// CHECK:           arith.select %{{.*}}, %{{.*}}, %{{.*}} {bb.likely} : f32
// CHECK-NOT:       kernel.redo
kernel.func @of_elements(%x : !kernel.array<8x6xf32>) outs(%y : !kernel.array<8x6xf32>) attributes {block.dims = {M = #block.dim<8, block = 4>, N = #block.dim<6, whole>}} {
  kernel.parallel @M {
    %x_1 = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %from = kernel.cursor %x [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %x_1, %from : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%a = %x_1) -> (each %x_1) : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x N x f32, scratch, lanes = cols> {
      %limit = arith.constant 1.0e+30 : f32
      %fits = arith.cmpf olt, %a, %limit : f32
      %0 = arith.select %fits, %a, %limit {bb.likely} : f32
      kernel.yield %0 : f32
    }
    %to = kernel.cursor %y [M, N] : !kernel.array<8x6xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %to, %x_1 : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
  }
}
