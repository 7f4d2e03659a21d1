// RUN: bb-opt %s --pipeline cpu --stop-after block-distribute --pseudo-code | filecheck %s

// With one block of rows, its hidden units and its columns are nests of their own, which threads share. The root
// mean square goes through global memory.
// CHECK-LABEL: few(
// CHECK:       forall m in M:
// CHECK:           store Rstd[m] = rsqrt({{.*}})
// CHECK-NEXT:  forall m in M:
// CHECK-NEXT:      scale = load Scale[m]
// CHECK-NEXT:      rstd{{ +}}= load Rstd[m]
// CHECK-NEXT:      forall k in K:
// CHECK:               store H_m[m, k] =
// CHECK-NEXT:  forall m in M, l in L:
// CHECK:           store o[m, l] = o
func.func @few(%x: tensor<4x512xf32>, %w1: tensor<512x1024xf32>, %w2: tensor<512x1024xf32>, %w3: tensor<1024x512xf32>) -> tensor<4x512xf32> {
  %n = array.rms_norm %x eps 1.0e-6 : tensor<4x512xf32>
  %a = array.matmul %n, %w1 : tensor<4x512xf32>, tensor<512x1024xf32> -> tensor<4x1024xf32>
  %b = array.matmul %n, %w2 : tensor<4x512xf32>, tensor<512x1024xf32> -> tensor<4x1024xf32>
  %s = array.silu %a : tensor<4x1024xf32>
  %h = array.elementwise (%u = %s, %v = %b) : tensor<4x1024xf32>, tensor<4x1024xf32> -> tensor<4x1024xf32> {
    %m = arith.mulf %u, %v : f32
    array.yield %m : f32
  }
  %o = array.matmul %h, %w3 : tensor<4x1024xf32>, tensor<1024x512xf32> -> tensor<4x512xf32>
  func.return %o : tensor<4x512xf32>
}

// Many blocks of rows are work enough for all.
// CHECK-LABEL: many(
// CHECK:       forall m in M:
// CHECK:           forall n in N:
// CHECK-NOT:   {{^}}forall
func.func @many(%x: tensor<400x512xf32>, %w1: tensor<512x1024xf32>, %w3: tensor<1024x512xf32>) -> tensor<400x512xf32> {
  %a = array.matmul %x, %w1 : tensor<400x512xf32>, tensor<512x1024xf32> -> tensor<400x1024xf32>
  %s = array.silu %a : tensor<400x1024xf32>
  %o = array.matmul %s, %w3 : tensor<400x1024xf32>, tensor<1024x512xf32> -> tensor<400x512xf32>
  func.return %o : tensor<400x512xf32>
}

// Too little to start threads for.
// CHECK-LABEL: little(
// CHECK:       forall m in M:
// CHECK:           for n in N:
// CHECK-NOT:   forall
func.func @little(%x: tensor<4x32xf32>, %w1: tensor<32x1024xf32>, %w3: tensor<1024x32xf32>) -> tensor<4x32xf32> {
  %a = array.matmul %x, %w1 : tensor<4x32xf32>, tensor<32x1024xf32> -> tensor<4x1024xf32>
  %s = array.silu %a : tensor<4x1024xf32>
  %o = array.matmul %s, %w3 : tensor<4x1024xf32>, tensor<1024x32xf32> -> tensor<4x32xf32>
  func.return %o : tensor<4x32xf32>
}
