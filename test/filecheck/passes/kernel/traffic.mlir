// RUN: bb-opt %s -p kernel-traffic -o /dev/null | filecheck %s --strict-whitespace
// RUN: bb-opt %s -p 'kernel-traffic{format=json}' -o /dev/null | filecheck %s --check-prefix=JSON
// RUN: not bb-opt %s -p 'kernel-traffic{format=yaml}' 2>&1 | filecheck %s --check-prefix=FORMAT

// FORMAT: bb-opt: error: pass 'kernel-traffic': option 'format' is table or json, not 'yaml'

// %q is read once for each block of M, %k only up to the end of that block: 64 + 128 + 150 of the 150 elements
// of N, and 100 + 150 + 150 of whole blocks where copies are not cut along N.

//      CHECK: {{^}}// traffic of kernel @causal: M = 150 in blocks of 64, N = 150 in blocks of 50, K = 16 (whole)
// CHECK-NEXT: {{^}}//  array{{ +}}bytes read{{ +}}bytes written
// CHECK-NEXT: {{^}}//  ──{{─+}}
// CHECK-NEXT: {{^}}//  q{{ +}}4·K·M{{ +}}0
// CHECK-NEXT: {{^}}//{{ +}}= 9,600
// CHECK-NEXT: {{^}}//  k{{ +}}4·K·until(#M·N){{ +}}0
// CHECK-NEXT: {{^}}//{{ +}}= 21,888
// CHECK-NEXT: {{^}}//  t{{ +}}4·K·until(#M·N, whole){{ +}}0
// CHECK-NEXT: {{^}}//{{ +}}= 25,600
// CHECK-NEXT: {{^}}//  s{{ +}}0{{ +}}4·until(M·N)
// CHECK-NEXT: {{^}}//{{ +}}= 62,352
//      JSON: "causal": {
// JSON-NEXT:   "arrays": [
// JSON-NEXT:     {
// JSON-NEXT:       "name": "q",
// JSON-NEXT:       "own": false,
// JSON-NEXT:       "read": {
// JSON-NEXT:         "expression": "4·K·M",
// JSON-NEXT:         "number": 9600
kernel.func @causal(%q : !kernel.array<150x16xf32>, %k : !kernel.array<150x16xf32>, %t : !kernel.array<16x150xf32>) outs(%s : !kernel.array<150x150xf32>) attributes {block.dims = {M = #block.dim<150, block = 64>, N = #block.dim<150, block = 50>, K = #block.dim<16, whole>}} {
  kernel.parallel @M {
    %a = kernel.tile : !kernel.tile<M x K x f32, scratch, lanes = cols>
    %b = kernel.tile : !kernel.tile<N x K x f32, scratch, lanes = cols>
    %c = kernel.tile : !kernel.tile<K x N x f32, shared, lanes = cols>
    %d = kernel.tile : !kernel.tile<M x N x f32, scratch, lanes = cols>
    %queries = kernel.cursor %q [M, K] : !kernel.array<150x16xf32> -> !kernel.cursor<M x K x f32>
    kernel.load %a, %queries : !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.cursor<M x K x f32>
    kernel.for @N until @M {
      %keys = kernel.cursor %k [N, K] : !kernel.array<150x16xf32> -> !kernel.cursor<N x K x f32>
      kernel.load %b, %keys : !kernel.tile<N x K x f32, scratch, lanes = cols>, !kernel.cursor<N x K x f32>
      %turned = kernel.cursor %t [K, N] : !kernel.array<16x150xf32> -> !kernel.cursor<K x N x f32>
      kernel.load %c, %turned {async} : !kernel.tile<K x N x f32, shared, lanes = cols>, !kernel.cursor<K x N x f32>
      kernel.contract %d, %a, %b : !kernel.tile<M x N x f32, scratch, lanes = cols>, !kernel.tile<M x K x f32, scratch, lanes = cols>, !kernel.tile<N x K x f32, scratch, lanes = cols>
      %scores = kernel.cursor %s [M, N] : !kernel.array<150x150xf32> -> !kernel.cursor<M x N x f32>
      kernel.store %scores, %d : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, scratch, lanes = cols>
    }
  }
}

// Each of four warps keeps %bias in registers; extents that are not known leave a formula.
//      CHECK: {{^}}// traffic of kernel @rows: M = ? in blocks of 8, N = 64 (whole)
//      CHECK: {{^}}//  bias{{ +}}16·#M·N{{ +}}0
// CHECK-NEXT: {{^}}//  x{{ +}}4·M·N{{ +}}0
// CHECK-NEXT: {{^}}//  y{{ +}}0{{ +}}4·M·N
//      CHECK: {{^}}// until(#M·N): elements of N that a loop visits
kernel.func @rows(%bias : !kernel.array<64xf32>, %x : !kernel.array<?x64xf32>) outs(%y : !kernel.array<?x64xf32>) attributes {block.dims = {M = #block.dim<?, block = 8>, N = #block.dim<64, whole>}} {
  kernel.parallel @M attributes {threads = 128 : i64, group = 32 : i64} {
    %v = kernel.tile : !kernel.tile<N x f32, register>
    %r = kernel.tile : !kernel.tile<M x N x f32, register, lanes = cols>
    %1 = kernel.cursor %bias [N] : !kernel.array<64xf32> -> !kernel.cursor<N x f32>
    kernel.load %v, %1 : !kernel.tile<N x f32, register>, !kernel.cursor<N x f32>
    %2 = kernel.cursor %x [M, N] : !kernel.array<?x64xf32> -> !kernel.cursor<M x N x f32>
    kernel.load %r, %2 : !kernel.tile<M x N x f32, register, lanes = cols>, !kernel.cursor<M x N x f32>
    kernel.sweep [M, N] (%p = %r, %q = %v) -> (each %r) : !kernel.tile<M x N x f32, register, lanes = cols>, !kernel.tile<N x f32, register>, !kernel.tile<M x N x f32, register, lanes = cols> {
      %3 = arith.addf %p, %q : f32
      kernel.yield %3 : f32
    }
    %4 = kernel.cursor %y [M, N] : !kernel.array<?x64xf32> -> !kernel.cursor<M x N x f32>
    kernel.store %4, %r : !kernel.cursor<M x N x f32>, !kernel.tile<M x N x f32, register, lanes = cols>
  }
}
