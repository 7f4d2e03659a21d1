// RUN: bb-opt %s --pipeline cuda | filecheck %s

// Keys and values of a short context, computed by the kernel that attends to them: both go from registers to
// shared memory once, for all warps; values, whose product is turned over, with their dims the other way around.
func.func @context(%q: tensor<60x16xbf16>, %x: tensor<10x24xbf16>, %w_k: tensor<24x16xbf16>, %w_v: tensor<24x16xbf16>)
    -> tensor<60x16xbf16> {
  %keys = array.matmul %x, %w_k : tensor<10x24xbf16>, tensor<24x16xbf16> -> tensor<10x16xbf16>
  %values = array.matmul %x, %w_v : tensor<10x24xbf16>, tensor<24x16xbf16> -> tensor<10x16xbf16>
  %out = array.attention %q, %keys, %values : tensor<60x16xbf16>, tensor<10x16xbf16>, tensor<10x16xbf16> -> tensor<60x16xbf16>
  func.return %out : tensor<60x16xbf16>
}
// CHECK-LABEL: kernel.func @context
// CHECK: kernel.parallel attributes {threads = 64 : i64, warps = 2 : i64} {
// CHECK: [[K:%.*]] = kernel.tile {swizzled, offset = {{.*}}} : !kernel.tile<N x K x bf16, shared, lanes = cols>
// CHECK: [[V:%.*]] = kernel.tile {swizzled, offset = {{.*}}} : !kernel.tile<D x N x bf16, shared, lanes = rows>
// CHECK: kernel.move [[K]], %{{.*}} : !kernel.tile<N x K x bf16, shared, lanes = cols>, !kernel.tile<N x K x bf16, register, lanes = cols>
// CHECK: kernel.contract %{{.*}}, %x_1, %w_v_1
// CHECK: kernel.move [[V]], %{{.*}} : !kernel.tile<D x N x bf16, shared, lanes = rows>, !kernel.tile<N x D x bf16, register, lanes = cols>
// CHECK: kernel.contract %{{.*}}, %{{.*}}, [[K]] multiply bf16
// CHECK: kernel.contract %{{.*}}, %{{.*}}, [[V]] multiply bf16

// In f32 the norms of the context scale columns of the scores: each warp has those of its own rows, and all go
// through shared memory.
func.func @norms(%q: tensor<60x16xf32>, %x: tensor<10x24xf32>, %w_k: tensor<24x16xf32>, %values: tensor<10x16xf32>)
    -> tensor<60x16xf32> {
  %y = array.rms_norm %x eps 1.000000e-06 : tensor<10x24xf32>
  %keys = array.matmul %y, %w_k : tensor<10x24xf32>, tensor<24x16xf32> -> tensor<10x16xf32>
  %out = array.attention %q, %keys, %values : tensor<60x16xf32>, tensor<10x16xf32>, tensor<10x16xf32> -> tensor<60x16xf32>
  func.return %out : tensor<60x16xf32>
}
// CHECK-LABEL: kernel.func @norms
// CHECK: [[NORMS:%.*]] = kernel.tile {offset = {{.*}}} : !kernel.tile<N x f32, shared>
// CHECK: kernel.sweep [N] {{.*}} -> (each %{{.*}}, each [[OWN:%.*]]) :
// CHECK: kernel.move [[NORMS]], [[OWN]] : !kernel.tile<N x f32, shared>, !kernel.tile<N x f32, register>
// CHECK: kernel.sweep [M, N] ({{.*}} = [[NORMS]]

// A right operand that a sweep computes from elements of another type has no swizzled tile: such a kernel keeps no
// tiles in registers.
func.func @integer_weights(%x: tensor<64x64xf16>, %w: tensor<64x64xi32>) -> tensor<64x64xf16> {
  %weights = array.elementwise (%a = %w) : tensor<64x64xi32> -> tensor<64x64xf16> {
    %weight = arith.sitofp %a : i32 to f16
    array.yield %weight : f16
  }
  %out = array.matmul %x, %weights : tensor<64x64xf16>, tensor<64x64xf16> -> tensor<64x64xf16>
  func.return %out : tensor<64x64xf16>
}
// CHECK-LABEL: kernel.func @integer_weights
// CHECK-NOT: register
// CHECK: kernel.sweep {{.*}} -> (each [[WEIGHTS:%.*]]) : {{.*}} !kernel.tile<K x N x f16, shared, lanes = rows>
// CHECK: kernel.contract %{{.*}}, %{{.*}}, [[WEIGHTS]]

// The rows of an array whose last axis has extent 1 may lie apart: it is no vector for an asynchronous copy.
func.func @column(%x: tensor<64x64xf32>, %c: tensor<64x1xf32>) -> tensor<64x64xf32> {
  %y = array.matmul %x, %x : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %out = array.elementwise (%a = %y, %b = %c) : tensor<64x64xf32>, tensor<64x1xf32> -> tensor<64x64xf32> {
    %product = arith.mulf %a, %b : f32
    array.yield %product : f32
  }
  func.return %out : tensor<64x64xf32>
}
// CHECK-LABEL: kernel.func @column
// CHECK: kernel.load %{{.*}}, %c{{[_0-9]*}} : !kernel.tile<M x f32
