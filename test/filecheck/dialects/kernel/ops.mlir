// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// Types

// CHECK: kernel.func @types(%x : !kernel.array<200x?xf32>, %s : !kernel.array<bf16>, %i : !kernel.array<4xi32>) outs(%o : !kernel.array<?xf16>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<?, block = 32>, x1 = #block.dim<4, whole>, f32 = #block.dim<8, whole>}} {
kernel.func @types(%x : !kernel.array<200x?xf32>, %s : !kernel.array<bf16>, %i : !kernel.array<4xi32>) outs(%o : !kernel.array<?xf16>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<?, block = 32>, x1 = #block.dim<4, whole>, f32 = #block.dim<8, whole>}} {
  // CHECK-NEXT: kernel.parallel @M {
  kernel.parallel @M {
    // A dim may be called like a type.
    // CHECK-NEXT: %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // CHECK-NEXT: %b = kernel.tile : !kernel.tile<M x f32 x f64, shared, lanes = cols>
    %b = kernel.tile : !kernel.tile<M x f32 x f64, shared, lanes = cols>
    // CHECK-NEXT: %c = kernel.tile {note = 1 : i64} : !kernel.tile<x1 x i1, register>
    %c = kernel.tile {note = 1 : i64} : !kernel.tile<x1 x i1, register>
    // CHECK-NEXT: %d = kernel.tile : !kernel.tile<bf16, scratch>
    %d = kernel.tile : !kernel.tile<bf16, scratch>
  }
}

// Loops

// CHECK: kernel.func @loops() attributes {block.dims = {M = #block.dim<200, block = 64>, N = #block.dim<90, block = 16>, H = #block.dim<3, batch>}} {
kernel.func @loops() attributes {block.dims = {M = #block.dim<200, block = 64>, N = #block.dim<90, block = 16>, H = #block.dim<3, batch>}} {
  // CHECK-NEXT: kernel.parallel {
  kernel.parallel {
  }
  // CHECK: kernel.parallel @H, @M attributes {note = 1 : i64} {
  kernel.parallel @H, @M attributes {note = 1 : i64} {
    // CHECK-NEXT: kernel.for @N {
    kernel.for @N {
    }
    // CHECK: kernel.for @N attributes {note = 2 : i64} {
    kernel.for @N attributes {note = 2 : i64} {
    }
    // CHECK: kernel.for @N until @M {
    kernel.for @N until @M {
    }
    // CHECK: kernel.for @N until @M + 184 attributes {note = 3 : i64} {
    kernel.for @N until @M + 184 attributes {note = 3 : i64} {
    }
    // CHECK: kernel.for @N until @M {
    kernel.for @N until @M + 0 {
    }
    // CHECK: kernel.for @N part @H {
    kernel.for @N part @H {
    }
    // CHECK: kernel.for @N part @H until @M + 2 attributes {note = 4 : i64} {
    kernel.for @N part @H until @M + 2 attributes {note = 4 : i64} {
    }
  }
}

// Windows

// CHECK: kernel.func @windows(%x : !kernel.array<3x200x1x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {H = #block.dim<3, batch>, M = #block.dim<200, block = 64>, E = #block.dim<4, batch>, K = #block.dim<16, whole>, N = #block.dim<48, block = 8>}} {
kernel.func @windows(%x : !kernel.array<3x200x1x64xf32>) outs(%o : !kernel.array<200x48xf32>) attributes {block.dims = {H = #block.dim<3, batch>, M = #block.dim<200, block = 64>, E = #block.dim<4, batch>, K = #block.dim<16, whole>, N = #block.dim<48, block = 8>}} {
  // CHECK-NEXT: kernel.parallel @H, @M, @E {
  kernel.parallel @H, @M, @E {
    // A buffer has one axis for each dim; those of `here` are a block long, those of `blocks` count blocks.
    // CHECK-NEXT: %h = kernel.buffer [M, K] here [M] : !kernel.array<?x?xf32>
    %h = kernel.buffer [M, K] here [M] : !kernel.array<?x?xf32>
    // CHECK-NEXT: %n = kernel.buffer [N, M] here [M] blocks [N] {note = 1 : i64} : !kernel.array<?x?xf64>
    %n = kernel.buffer [N, M] here [M] blocks [N] {note = 1 : i64} : !kernel.array<?x?xf64>
    // CHECK-NEXT: %all = kernel.buffer [] : !kernel.array<f32>
    %all = kernel.buffer [] : !kernel.array<f32>
    // CHECK-NEXT: %q = kernel.cursor %x [H, M, 1, (E, K)] : !kernel.array<3x200x1x64xf32> -> !kernel.cursor<M x K x f32>
    %q = kernel.cursor %x [H, M, 1, (E, K)] : !kernel.array<3x200x1x64xf32> -> !kernel.cursor<M x K x f32>
    // CHECK-NEXT: %t = kernel.cursor %x [H, M, 1, (E, K)] {note = 1 : i64} : !kernel.array<3x200x1x64xf32> -> !kernel.cursor<K x M x f32>
    %t = kernel.cursor %x [H, M, 1, (E, K)] {note = 1 : i64} : !kernel.array<3x200x1x64xf32> -> !kernel.cursor<K x M x f32>
    // CHECK-NEXT: %g = kernel.cursor %h [M, K] here [M] : !kernel.array<?x?xf32> -> !kernel.cursor<M x K x f32>
    %g = kernel.cursor %h [M, K] here [M] : !kernel.array<?x?xf32> -> !kernel.cursor<M x K x f32>
    // CHECK-NEXT: %f = kernel.cursor %o [M, N] first [N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
    %f = kernel.cursor %o [M, N] first [N] : !kernel.array<200x48xf32> -> !kernel.cursor<M x N x f32>
    // CHECK-NEXT: %e = kernel.cursor %n [N, M] first [N] here [M] : !kernel.array<?x?xf64> -> !kernel.cursor<M x f64>
    %e = kernel.cursor %n [N, M] first [N] here [M] : !kernel.array<?x?xf64> -> !kernel.cursor<M x f64>
    // CHECK-NEXT: %s = kernel.cursor %all [] : !kernel.array<f32> -> !kernel.cursor<f32>
    %s = kernel.cursor %all [] : !kernel.array<f32> -> !kernel.cursor<f32>
  }
}

// Moves and arithmetic

// CHECK: kernel.func @arithmetic(%x : !kernel.array<200x64xbf16>, %y : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xbf16>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
kernel.func @arithmetic(%x : !kernel.array<200x64xbf16>, %y : !kernel.array<48x64xf32>) outs(%o : !kernel.array<200x48xbf16>) attributes {block.dims = {M = #block.dim<200, block = 64>, K = #block.dim<64, whole>, N = #block.dim<48, block = 8>, H = #block.dim<2, batch>}} {
  // CHECK-NEXT: kernel.parallel @M, @H {
  kernel.parallel @M, @H {
    // CHECK-NEXT: %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = rows>
    // CHECK-NEXT: %t = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    %t = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    // CHECK-NEXT: %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %c = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // CHECK-NEXT: %p = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    %p = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = rows>
    // CHECK-NEXT: %v = kernel.tile : !kernel.tile<M x f32, scratch>
    %v = kernel.tile : !kernel.tile<M x f32, scratch>
    // CHECK-NEXT: %w = kernel.tile : !kernel.tile<N x f32, scratch>
    %w = kernel.tile : !kernel.tile<N x f32, scratch>
    // CHECK-NEXT: %s = kernel.tile : !kernel.tile<f32, scratch>
    %s = kernel.tile : !kernel.tile<f32, scratch>
    // CHECK-NEXT: %xa = kernel.cursor %x [M, K] : !kernel.array<200x64xbf16> -> !kernel.cursor<M x K x bf16>
    %xa = kernel.cursor %x [M, K] : !kernel.array<200x64xbf16> -> !kernel.cursor<M x K x bf16>
    // CHECK-NEXT: kernel.load %a, %xa {note = 1 : i64} : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x bf16>
    kernel.load %a, %xa {note = 1 : i64} : !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<M x K x bf16>
    // CHECK-NEXT: kernel.move %t, %a : !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.tile<M x K x f32, scratch, lanes = rows>
    kernel.move %t, %a : !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.tile<M x K x f32, scratch, lanes = rows>
    // CHECK-NEXT: kernel.fill %v, -inf : !kernel.tile<M x f32, scratch>
    kernel.fill %v, -inf : !kernel.tile<M x f32, scratch>
    // CHECK-NEXT: kernel.fill %v, inf : !kernel.tile<M x f32, scratch>
    kernel.fill %v, inf : !kernel.tile<M x f32, scratch>
    // CHECK-NEXT: kernel.fill %s, -1.0e-30 {note = 1 : i64} : !kernel.tile<f32, scratch>
    kernel.fill %s, -1.0e-30 {note = 1 : i64} : !kernel.tile<f32, scratch>
    // CHECK-NEXT: kernel.for @N {
    kernel.for @N {
      // CHECK-NEXT: %ya = kernel.cursor %y [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      %ya = kernel.cursor %y [N, K] : !kernel.array<48x64xf32> -> !kernel.cursor<N x K x f32>
      // CHECK-NEXT: kernel.contract %c, %a, %ya : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.contract %c, %a, %ya : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      // CHECK-NEXT: kernel.contract accumulate %c, %a, %ya {note = 1 : i64} : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.contract accumulate %c, %a, %ya {note = 1 : i64} : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      // CHECK-NEXT: kernel.contract %c, %a, %ya scale %v : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>, !kernel.tile<M x f32, scratch>
      kernel.contract %c, %a, %ya scale %v : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>, !kernel.tile<M x f32, scratch>
      // CHECK-NEXT: kernel.contract accumulate %c, %a, %ya multiply bf16 {note = 1 : i64} : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      kernel.contract accumulate %c, %a, %ya multiply bf16 {note = 1 : i64} : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>
      // CHECK-NEXT: kernel.contract %c, %a, %ya scale %v multiply tf32 : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>, !kernel.tile<M x f32, scratch>
      kernel.contract %c, %a, %ya scale %v multiply tf32 : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x K x f32, scratch, lanes = rows>, !kernel.cursor<N x K x f32>, !kernel.tile<M x f32, scratch>
      // Narrower inputs are broadcast; an input may be an output.
      // CHECK-NEXT: kernel.sweep [M, N] (%0 = %c, %1 = %v, %2 = %w, %3 = %s) -> (each %p, sum %v, max %v, min %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<N x f32, scratch>, !kernel.tile<f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> attributes {note = 1 : i64} {
      kernel.sweep [M, N] (%0 = %c, %1 = %v, %2 = %w, %3 = %s) -> (each %p, sum %v, max %v, min %v) : !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<N x f32, scratch>, !kernel.tile<f32, scratch>, !kernel.tile<M x N x f32, scratch, lanes = rows>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch>, !kernel.tile<M x f32, scratch> attributes {note = 1 : i64} {
        // CHECK-NEXT: %4 = kernel.quantity index @N
        %4 = kernel.quantity index @N
        // CHECK-NEXT: %5 = kernel.quantity extent @K
        %5 = kernel.quantity extent @K
        // CHECK-NEXT: %6 = kernel.quantity width @N
        %6 = kernel.quantity width @N
        // CHECK-NEXT: %7 = kernel.quantity blocks @M {note = 1 : i64}
        %7 = kernel.quantity blocks @M {note = 1 : i64}
        // CHECK-NEXT: %8 = kernel.quantity index @H
        %8 = kernel.quantity index @H
        // CHECK-NEXT: %9 = arith.mulf %0, %1 : f32
        %9 = arith.mulf %0, %1 : f32
        // CHECK-NEXT: kernel.yield %9, %1, %2, %3 : f32, f32, f32, f32
        kernel.yield %9, %1, %2, %3 : f32, f32, f32, f32
      }
      // CHECK: kernel.sweep [N] (%10 = %w) -> (each %w, sum %s) : !kernel.tile<N x f32, scratch>, !kernel.tile<N x f32, scratch>, !kernel.tile<f32, scratch> {
      kernel.sweep [N] (%10 = %w) -> (each %w, sum %s) : !kernel.tile<N x f32, scratch>, !kernel.tile<N x f32, scratch>, !kernel.tile<f32, scratch> {
        // CHECK-NEXT: kernel.yield %10, %10 : f32, f32
        kernel.yield %10, %10 : f32, f32
      }
      // CHECK: %oa = kernel.cursor %o [M, N] : !kernel.array<200x48xbf16> -> !kernel.cursor<M x N x bf16>
      %oa = kernel.cursor %o [M, N] : !kernel.array<200x48xbf16> -> !kernel.cursor<M x N x bf16>
      // CHECK-NEXT: kernel.store %oa, %p : !kernel.cursor<M x N x bf16>, !kernel.tile<M x N x f32, scratch, lanes = rows>
      kernel.store %oa, %p : !kernel.cursor<M x N x bf16>, !kernel.tile<M x N x f32, scratch, lanes = rows>
    }
    // CHECK: kernel.sweep [] () -> (each %s) : !kernel.tile<f32, scratch> {
    kernel.sweep [] () -> (each %s) : !kernel.tile<f32, scratch> {
      // CHECK-NEXT: %11 = arith.constant 1.000000e+00 : f32
      %11 = arith.constant 1.000000e+00 : f32
      // CHECK-NEXT: kernel.yield %11 : f32
      kernel.yield %11 : f32
    }
  }
}

// Launches

// CHECK: kernel.func @twice(%x : !kernel.array<3x?xf32>) outs(%a : !kernel.array<3x?xf32>, %b : !kernel.array<f32>) attributes {block.dims = {M = #block.dim<3, whole>}} {
kernel.func @twice(%x : !kernel.array<3x?xf32>) outs(%a : !kernel.array<3x?xf32>, %b : !kernel.array<f32>) attributes {block.dims = {M = #block.dim<3, whole>}} {
}

// CHECK: func.func @program(%x: tensor<3x?xf32>) -> (tensor<3x?xf32>, tensor<f32>) {
func.func @program(%x: tensor<3x?xf32>) -> (tensor<3x?xf32>, tensor<f32>) {
  // CHECK-NEXT: %a, %b = kernel.launch @twice(%x) {{\[\[}}M, (N, K)], []] {bb.once} : (tensor<3x?xf32>) -> (tensor<3x?xf32>, tensor<f32>)
  %a, %b = kernel.launch @twice(%x) [[M, (N, K)], []] {bb.once} : (tensor<3x?xf32>) -> (tensor<3x?xf32>, tensor<f32>)
  // CHECK-NEXT: func.return %a, %b : tensor<3x?xf32>, tensor<f32>
  func.return %a, %b : tensor<3x?xf32>, tensor<f32>
}

// CHECK: kernel.func @"a \22quoted\22\0Aname"() attributes {block.dims = {}} {
kernel.func @"a \22quoted\22\0Aname"() attributes {block.dims = {}} {
}

// CHECK: kernel.func @nothing() attributes {block.dims = {}} {
kernel.func @nothing() attributes {block.dims = {}} {
}

// CHECK: func.func @launch_nothing() {
func.func @launch_nothing() {
  // CHECK-NEXT: kernel.launch @"a \22quoted\22\0Aname"() [] : () -> ()
  kernel.launch @"a \22quoted\22\0Aname"() [] : () -> ()
  // CHECK-NEXT: kernel.launch @nothing() [] : () -> ()
  kernel.launch @nothing() [] : () -> ()
  // CHECK-NEXT: func.return
  func.return
}

// Packed arrays

// CHECK: kernel.func @pack(%w : !kernel.array<600x300xbf16>) outs(%p : !kernel.array<300x600xf32, #kernel.packed<[64, 256] by 6>>)
kernel.func @pack(%w : !kernel.array<600x300xbf16>) outs(%p : !kernel.array<300x600xf32, #kernel.packed<[64, 256] by 6>>) attributes {block.dims = {N = #block.dim<300, block = 64>, K = #block.dim<600, block = 256>}} {
  kernel.parallel @N, @K {
    %t = kernel.tile : !kernel.tile<N x K x bf16, scratch, lanes = rows>
    %from = kernel.cursor %w [K, N] : !kernel.array<600x300xbf16> -> !kernel.cursor<N x K x bf16>
    kernel.load %t, %from : !kernel.tile<N x K x bf16, scratch, lanes = rows>, !kernel.cursor<N x K x bf16>
    // CHECK: %to = kernel.cursor %p [N, K] : !kernel.array<300x600xf32, #kernel.packed<[64, 256] by 6>> -> !kernel.cursor<N x K x f32>
    %to = kernel.cursor %p [N, K] : !kernel.array<300x600xf32, #kernel.packed<[64, 256] by 6>> -> !kernel.cursor<N x K x f32>
    kernel.store %to, %t : !kernel.cursor<N x K x f32>, !kernel.tile<N x K x bf16, scratch, lanes = rows>
  }
}

// CHECK: func.func @packed(%w: tensor<600x300xbf16>) -> tensor<300x600xf32, #kernel.packed<[64, 256] by 6>> {
func.func @packed(%w: tensor<600x300xbf16>) -> tensor<300x600xf32, #kernel.packed<[64, 256] by 6>> {
  // CHECK-NEXT: %p = kernel.launch @pack(%w) {{\[\[}}N, K]] : (tensor<600x300xbf16>) -> (tensor<300x600xf32, #kernel.packed<[64, 256] by 6>>)
  %p = kernel.launch @pack(%w) [[N, K]] : (tensor<600x300xbf16>) -> (tensor<300x600xf32, #kernel.packed<[64, 256] by 6>>)
  func.return %p : tensor<300x600xf32, #kernel.packed<[64, 256] by 6>>
}

// CHECK: func.func @in_pairs(%w: tensor<300x601xbf16, #kernel.packed<[64, 255] by 6 x 2>>)
func.func @in_pairs(%w: tensor<300x601xbf16, #kernel.packed<[64, 255] by 6 x 2>>) {
  func.return
}
