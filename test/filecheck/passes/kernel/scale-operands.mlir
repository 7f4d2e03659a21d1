// RUN: bb-opt %s -p kernel-scale-operands | filecheck %s

// A factor of every result of a contraction goes onto the operand that is loaded once: all that is left of the
// sweep would be a copy.
// CHECK-LABEL: kernel.func @scores
// CHECK:           kernel.load %a
// CHECK-NEXT:      kernel.sweep [M, K] (%a_1 = %a) -> (each %a)
// CHECK-NEXT:        %{{.*}} = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:        %{{.*}} = arith.mulf %a_1, %{{.*}} : f32
// CHECK:           kernel.for @N {
// CHECK:             kernel.contract %s, %a
// CHECK-NEXT:        %out = kernel.cursor
// CHECK-NEXT:        kernel.store %out, %s
kernel.func @scores(%q : !kernel.array<200x64xf32>, %k : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %s = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %m = kernel.tile : !kernel.tile<M x f32, scratch>
    %block = kernel.cursor %q [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    kernel.load %a, %block : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
    kernel.for @N {
      %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      kernel.contract %s, %a, %keys : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.sweep [M, N] (%x = %s) -> (each %t) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
        %c = arith.constant 5.000000e-01 : f32
        %y = arith.mulf %c, %x : f32
        kernel.yield %y : f32
      }
      %out = kernel.cursor %o [M, N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %out, %t : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}

// What else the sweep does, it still does.
// CHECK-LABEL: kernel.func @masked
// CHECK:           kernel.load %a
// CHECK-NEXT:      kernel.sweep [M, K] (%a_1 = %a) -> (each %a)
// CHECK-NEXT:        %{{.*}} = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:        %{{.*}} = arith.mulf %a_1, %{{.*}} : f32
// CHECK:           kernel.for @N {
// CHECK:             kernel.contract %s, %a
// CHECK-NEXT:        kernel.sweep [M, N] (%x = %s) -> (each %t)
// CHECK-NEXT:          %{{.*}} = arith.constant 5.000000e-01 : f32
// CHECK-NEXT:          %[[EXP:.*]] = math.exp %x : f32
// CHECK-NEXT:          kernel.yield %[[EXP]] : f32
kernel.func @masked(%q : !kernel.array<200x64xf32>, %k : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %s = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %m = kernel.tile : !kernel.tile<M x f32, scratch>
    %block = kernel.cursor %q [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    kernel.load %a, %block : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
    kernel.for @N {
      %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      kernel.contract %s, %a, %keys : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.sweep [M, N] (%x = %s) -> (each %t) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
        %c = arith.constant 5.000000e-01 : f32
        %y = arith.mulf %c, %x : f32
        %z = math.exp %y : f32
        kernel.yield %z : f32
      }
      %out = kernel.cursor %o [M, N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %out, %t : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}

// Not: a factor above 1, with which a product could overflow.
// CHECK-LABEL: kernel.func @large
// CHECK-NOT:     kernel.sweep [M, K]
// CHECK:           arith.mulf
kernel.func @large(%q : !kernel.array<200x64xf32>, %k : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %s = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %m = kernel.tile : !kernel.tile<M x f32, scratch>
    %block = kernel.cursor %q [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    kernel.load %a, %block : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
    kernel.for @N {
      %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      kernel.contract %s, %a, %keys : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.sweep [M, N] (%x = %s) -> (each %t) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
        %c = arith.constant 2.000000e+00 : f32
        %y = arith.mulf %c, %x : f32
        kernel.yield %y : f32
      }
      %out = kernel.cursor %o [M, N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %out, %t : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}

// Not: an operand of 16 bits, which would be rounded once more.
// CHECK-LABEL: kernel.func @narrow
// CHECK-NOT:     kernel.sweep [M, K]
// CHECK:           arith.mulf
kernel.func @narrow(%q : !kernel.array<200x64xbf16>, %k : !kernel.array<48x64xbf16>) outs(%o : !kernel.array<200x48xbf16>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x bf16, scratch, lanes = rows>
    %s = kernel.tile : !kernel.tile<M x N x bf16, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x bf16, scratch, lanes = rows>
    %m = kernel.tile : !kernel.tile<M x bf16, scratch>
    %block = kernel.cursor %q [M, K] : !kernel.array<200x64xbf16> -> !kernel.cursor<M x K x bf16>
    kernel.load %a, %block : !kernel.tile<M x K x bf16, scratch, lanes = rows>, !kernel.cursor<M x K x bf16>
    kernel.for @N {
      %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xbf16> -> !kernel.cursor<N x K x bf16>
      kernel.contract %s, %a, %keys : !kernel.tile<M x N x bf16, scratch, lanes = rows>, !kernel.tile<M x K x bf16, scratch, lanes = rows>, !kernel.cursor<N x K x bf16>
      kernel.sweep [M, N] (%x = %s) -> (each %t) : !kernel.tile<M x N x bf16, scratch, lanes = rows>, !kernel.tile<M x N x bf16, scratch, lanes = rows> {
        %c = arith.constant 5.000000e-01 : bf16
        %y = arith.mulf %c, %x : bf16
        kernel.yield %y : bf16
      }
      %out = kernel.cursor %o [M, N] : !kernel.array<200x48xbf16> -> !kernel.cursor<M x N x bf16>
      kernel.store %out, %t : !kernel.cursor<M x N x bf16>, !kernel.tile<M x N x bf16, scratch, lanes = rows>
    }
  }
}

// Not: an operand that is loaded as often as it is multiplied.
// CHECK-LABEL: kernel.func @loaded_again
// CHECK-NOT:     kernel.sweep [M, K]
// CHECK:           arith.mulf
kernel.func @loaded_again(%q : !kernel.array<200x64xf32>, %k : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %s = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %m = kernel.tile : !kernel.tile<M x f32, scratch>
    kernel.for @N {
      %block = kernel.cursor %q [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
      kernel.load %a, %block : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
      %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      kernel.contract %s, %a, %keys : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.sweep [M, N] (%x = %s) -> (each %t) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
        %c = arith.constant 5.000000e-01 : f32
        %y = arith.mulf %c, %x : f32
        kernel.yield %y : f32
      }
      %out = kernel.cursor %o [M, N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %out, %t : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}

// Not: results that are read without the factor as well, by the same sweep or by another.
// CHECK-LABEL: kernel.func @plain_too
// CHECK-NOT:     kernel.sweep [M, K]
// CHECK:           arith.mulf
kernel.func @plain_too(%q : !kernel.array<200x64xf32>, %k : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %s = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %m = kernel.tile : !kernel.tile<M x f32, scratch>
    %block = kernel.cursor %q [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    kernel.load %a, %block : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
    kernel.for @N {
      %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      kernel.contract %s, %a, %keys : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.sweep [M, N] (%x = %s) -> (each %t) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
        %c = arith.constant 5.000000e-01 : f32
        %y = arith.mulf %c, %x : f32
        %z = arith.addf %x, %y : f32
        kernel.yield %z : f32
      }
      %out = kernel.cursor %o [M, N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %out, %t : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}
// CHECK-LABEL: kernel.func @read_elsewhere
// CHECK-NOT:     kernel.sweep [M, K]
// CHECK:           arith.mulf
kernel.func @read_elsewhere(%q : !kernel.array<200x64xf32>, %k : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %s = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %t = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %m = kernel.tile : !kernel.tile<M x f32, scratch>
    %block = kernel.cursor %q [M, K] : !kernel.array<200x64xf32> -> !kernel.cursor<M x K x f32>
    kernel.load %a, %block : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x f32>
    kernel.for @N {
      %keys = kernel.cursor %k [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      kernel.contract %s, %a, %keys : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.sweep [M, N] (%x = %s) -> (each %t) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x N x f32, scratch, lanes = rows> {
        %c = arith.constant 5.000000e-01 : f32
        %y = arith.mulf %c, %x : f32
        kernel.yield %y : f32
      }
      kernel.sweep [M, N] (%u = %s) -> (max %m) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch> {
        kernel.yield %u : f32
      }
      %out = kernel.cursor %o [M, N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %out, %t : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
  }
}
