// RUN: bb-opt %s -p kernel-hoist | filecheck %s
// RUN: bb-opt %s -p kernel-hoist,kernel-hoist | filecheck %s

// What does not depend on a loop goes in front of it, out of all loops that it can leave; what does stays.
// CHECK-LABEL: kernel.func @invariant
// CHECK:         kernel.parallel @M {
// CHECK:           %block = kernel.cursor %q [M, K]
// CHECK-NEXT:      kernel.load %a, %block
// CHECK-NEXT:      kernel.sweep [M, K]
// CHECK:           kernel.for @N {
// CHECK-NEXT:        %keys = kernel.cursor %k [N, K]
// CHECK-NEXT:        kernel.load %b, %keys
// CHECK-NEXT:        kernel.for @L {
// CHECK-NEXT:          kernel.contract
kernel.func @invariant(%q : !kernel.array<200x64xf32>, %k : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, L = #block.dim<9, block = 3>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %scaled = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    kernel.for @N {
      kernel.for @L {
        %block = kernel.cursor %q [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
        kernel.load %a, %block : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
        kernel.sweep [M, K] (%x = %a) -> (each %scaled) : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows> {
          %y = arith.mulf %x, %x : f32
          kernel.yield %y : f32
        }
        %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
        kernel.load %b, %keys : !kernel.tile<N x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
        kernel.contract %c, %scaled, %b : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.tile<N x K x f32, scratch, lanes = rows>
      }
    }
  }
}

// A cursor at the first block does not move with the loop.
// CHECK-LABEL: kernel.func @first
// CHECK:         kernel.parallel {
// CHECK:           %start = kernel.cursor %x [M] first [M]
// CHECK-NEXT:      kernel.load %a, %start
// CHECK-NEXT:      kernel.for @M {
// CHECK-NEXT:        %here = kernel.cursor %x [M]
kernel.func @first(%x : !kernel.array<200xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<M x f32, scratch>
    %b = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.for @M {
      %start = kernel.cursor %x [M] first [M] : !kernel.array<200xf32> -> !kernel.cursor<M x f32>
      kernel.load %a, %start : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x f32>
      %here = kernel.cursor %x [M] : !kernel.array<200xf32> -> !kernel.cursor<M x f32>
      kernel.load %b, %here : !kernel.tile<M x f32, scratch>, !kernel.cursor<M x f32>
    }
  }
}

// What an iteration leaves for the next one stays: totals, a tile that is read before it is written, or that two
// operations write; and so does what asks for the number or the width of a block.
// CHECK-LABEL: kernel.func @carried
// CHECK:           kernel.fill %total, 0.0
// CHECK-NEXT:      kernel.for @N {
// CHECK-NEXT:        kernel.sweep [] (%t = %total) -> (each %total)
// CHECK:             kernel.sweep [] (%p = %previous) -> (each %copy)
// CHECK:             kernel.sweep [] () -> (each %previous)
// CHECK:             kernel.for @L {
// CHECK-NEXT:          kernel.sweep [] (%{{.*}} = %inner) -> (each %copy)
// CHECK:             kernel.sweep [] () -> (each %inner)
// CHECK:             kernel.sweep [] () -> (each %width)
// CHECK:             kernel.sweep [] () -> (each %twice)
// CHECK:             kernel.sweep [] () -> (each %twice)
kernel.func @carried() attributes {block.dims = {N = #block.dim<48, block = 8>, L = #block.dim<9, block = 3>}} {
  kernel.parallel {
    %total = kernel.tile : !kernel.tile<f32, scratch>
    %previous = kernel.tile : !kernel.tile<f32, scratch>
    %copy = kernel.tile : !kernel.tile<f32, scratch>
    %inner = kernel.tile : !kernel.tile<f32, scratch>
    %width = kernel.tile : !kernel.tile<f32, scratch>
    %twice = kernel.tile : !kernel.tile<f32, scratch>
    kernel.fill %total, 0.0 : !kernel.tile<f32, scratch>
    kernel.for @N {
      kernel.sweep [] (%t = %total) -> (each %total) : !kernel.tile<f32, scratch>, !kernel.tile<f32, scratch> {
        %u = arith.addf %t, %t : f32
        kernel.yield %u : f32
      }
      kernel.sweep [] (%p = %previous) -> (each %copy) : !kernel.tile<f32, scratch>, !kernel.tile<f32, scratch> {
        kernel.yield %p : f32
      }
      kernel.sweep [] () -> (each %previous) : !kernel.tile<f32, scratch> {
        %c = arith.constant 1.0 : f32
        kernel.yield %c : f32
      }
      kernel.for @L {
        kernel.sweep [] (%p = %inner) -> (each %copy) : !kernel.tile<f32, scratch>, !kernel.tile<f32, scratch> {
          kernel.yield %p : f32
        }
      }
      kernel.sweep [] () -> (each %inner) : !kernel.tile<f32, scratch> {
        %c = arith.constant 1.0 : f32
        kernel.yield %c : f32
      }
      kernel.sweep [] () -> (each %width) : !kernel.tile<f32, scratch> {
        %n = kernel.quantity width @N
        %i = arith.index_cast %n : index to i64
        %f = arith.sitofp %i : i64 to f32
        kernel.yield %f : f32
      }
      kernel.sweep [] () -> (each %twice) : !kernel.tile<f32, scratch> {
        %c = arith.constant 1.0 : f32
        kernel.yield %c : f32
      }
      kernel.sweep [] () -> (each %twice) : !kernel.tile<f32, scratch> {
        %c = arith.constant 2.0 : f32
        kernel.yield %c : f32
      }
    }
  }
}

// Arrays that the kernel writes may change in the loop.
// CHECK-LABEL: kernel.func @written
// CHECK:           kernel.for @N {
// CHECK-NEXT:        kernel.store
// CHECK-NEXT:        kernel.load
// CHECK-NEXT:        kernel.store
// CHECK-NEXT:        kernel.load
kernel.func @written() outs(%o : !kernel.array<64xf32>) attributes {block.dims = {K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel {
    %a = kernel.tile : !kernel.tile<K x f32, scratch>
    %b = kernel.tile : !kernel.tile<K x f32, scratch>
    %c = kernel.tile : !kernel.tile<K x f32, scratch>
    %list = kernel.buffer [K] : !kernel.array<?xf32>
    %out = kernel.cursor %o [K] : !kernel.array<64xf32> -> !kernel.cursor<K x f32>
    %again = kernel.cursor %o [K] : !kernel.array<64xf32> -> !kernel.cursor<K x f32>
    %own = kernel.cursor %list [K] : !kernel.array<?xf32> -> !kernel.cursor<K x f32>
    kernel.for @N {
      kernel.store %out, %a : !kernel.cursor<K x f32>, !kernel.tile<K x f32, scratch>
      kernel.load %b, %again : !kernel.tile<K x f32, scratch>, !kernel.cursor<K x f32>
      kernel.store %own, %b : !kernel.cursor<K x f32>, !kernel.tile<K x f32, scratch>
      kernel.load %c, %own : !kernel.tile<K x f32, scratch>, !kernel.cursor<K x f32>
    }
  }
}
