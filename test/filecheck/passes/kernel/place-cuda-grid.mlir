// RUN: bb-opt %s --pipeline cuda | filecheck %s

// A wide product: 128 x 256 sums of a block, 64 x 64 of a warp; three stages of both operands.
func.func @product(%x: tensor<4096x200xbf16>, %w: tensor<200x1024xbf16>) -> tensor<4096x1024xbf16> {
  %y = array.matmul %x, %w : tensor<4096x200xbf16>, tensor<200x1024xbf16> -> tensor<4096x1024xbf16>
  func.return %y : tensor<4096x1024xbf16>
}
// CHECK-LABEL: kernel.func @product
// CHECK-SAME: M = #block.dim<4096, block = 128>, N = #block.dim<1024, block = 256>
// CHECK: kernel.parallel @M, @N attributes {threads = 256 : i64, warps = [2 : i64, 4 : i64]} {
// CHECK: kernel.tile {swizzled, stages = 3 : i64, offset = {{.*}}} : !kernel.tile<M x K x bf16, shared, lanes = cols>
// CHECK: kernel.tile {swizzled, stages = 3 : i64, offset = {{.*}}} : !kernel.tile<N x K x bf16, shared, lanes = rows>
// CHECK: kernel.tile : !kernel.tile<M x N x f32, register, lanes = cols>
// CHECK: kernel.for @K attributes {stages = 3 : i64} {

// Few rows: more warps along the columns.
func.func @few(%x: tensor<16x200xf16>, %w: tensor<200x512xf16>) -> tensor<16x512xf16> {
  %y = array.matmul %x, %w : tensor<16x200xf16>, tensor<200x512xf16> -> tensor<16x512xf16>
  func.return %y : tensor<16x512xf16>
}
// CHECK-LABEL: kernel.func @few
// CHECK-SAME: N = #block.dim<512, block = 64>
// CHECK: kernel.parallel @N attributes {threads = 128 : i64, warps = [1 : i64, 4 : i64]} {

// A whole feed-forward layer in one loop over hidden features: numbers of rows and what crosses from warp to
// warp in shared memory, the columns of the result not cut, W3's block in flight while the inner loop runs.
func.func @ffn(%x: tensor<512x200xf16>, %w1: tensor<200x232xf16>, %w2: tensor<200x232xf16>, %w3: tensor<232x400xf16>)
    -> tensor<512x400xf16> {
  %y = array.rms_norm %x eps 1.000000e-06 : tensor<512x200xf16>
  %g = array.matmul %y, %w1 : tensor<512x200xf16>, tensor<200x232xf16> -> tensor<512x232xf16>
  %u = array.matmul %y, %w2 : tensor<512x200xf16>, tensor<200x232xf16> -> tensor<512x232xf16>
  %s = array.silu %g : tensor<512x232xf16>
  %z = array.elementwise (%a = %s, %b = %u) : tensor<512x232xf16>, tensor<512x232xf16> -> tensor<512x232xf16> {
    %p = arith.mulf %a, %b : f16
    array.yield %p : f16
  }
  %o = array.matmul %z, %w3 : tensor<512x232xf16>, tensor<232x400xf16> -> tensor<512x400xf16>
  func.return %o : tensor<512x400xf16>
}
// CHECK-LABEL: kernel.func @ffn
// CHECK-SAME: M = #block.dim<512, block = 64>
// CHECK-SAME: = #block.dim<400, whole>
// CHECK: kernel.parallel @M attributes {threads = 256 : i64, warps = [2 : i64, 4 : i64]} {
// CHECK: %w3_1 = kernel.tile {swizzled, offset
// CHECK: [[Z:%.*]] = kernel.tile {swizzled, offset = {{.*}}} : !kernel.tile<M x K x f16, shared, lanes = cols>
// CHECK: kernel.tile {offset = {{.*}}} : !kernel.tile<M x f32, shared>
// CHECK-NOT: kernel.buffer
// CHECK: kernel.for @K {
// CHECK: kernel.load %w3_1, {{.*}} {async}
// CHECK-NEXT: kernel.for @N attributes {stages = 3 : i64} {
// CHECK: kernel.sweep [M, N] {{.*}} : !kernel.tile<M x N x f16, shared, lanes = cols>
// CHECK: kernel.move [[Z]], [[HELD:%.*]] :
// CHECK-NEXT: kernel.contract accumulate %{{.*}}, [[Z]], %w3_1 multiply f16

// Rows with exponents: warps scale their sums from a vector, and the sweep that rounds x*gamma, over the block
// that was loaded, computes it again.
func.func @rows_with_exponents(%x: tensor<512x200xf16>, %gamma: tensor<200xf16>, %w1: tensor<200x232xf16>, %w2: tensor<200x232xf16>, %w3: tensor<232x400xf16>)
    -> tensor<512x400xf16> {
  %y = array.rms_norm %x scale(%gamma : tensor<200xf16>) eps 1.000000e-06 : tensor<512x200xf16>
  %g = array.matmul %y, %w1 : tensor<512x200xf16>, tensor<200x232xf16> -> tensor<512x232xf16>
  %u = array.matmul %y, %w2 : tensor<512x200xf16>, tensor<200x232xf16> -> tensor<512x232xf16>
  %z = array.elementwise (%a = %g, %b = %u) : tensor<512x232xf16>, tensor<512x232xf16> -> tensor<512x232xf16> {
    %p = arith.mulf %a, %b : f16
    array.yield %p : f16
  }
  %o = array.matmul %z, %w3 : tensor<512x232xf16>, tensor<232x400xf16> -> tensor<512x400xf16>
  func.return %o : tensor<512x400xf16>
}
// CHECK-LABEL: kernel.func @rows_with_exponents
// CHECK: kernel.parallel @M attributes {threads = 256 : i64, warps = [2 : i64, 4 : i64]} {
// CHECK-NOT: !kernel.tile<M x N x f32
// CHECK: kernel.for @N attributes {stages = 3 : i64} {
// CHECK: kernel.load [[X:%x[_0-9]*]], {{.*}} {async}
// CHECK: kernel.sweep [M, N] ({{.*}} = [[X]], %{{[a-z_0-9]+}} = [[GAMMA:%gamma[_0-9]*]]) -> (sum [[SUM:%[a-z_0-9]+]], max [[TOP:%[a-z_0-9]+]])
// CHECK: kernel.sweep [M] {{.*}} -> (each {{%[a-z_0-9]+}}, each [[FADE:%[a-z_0-9]+]],
// CHECK: kernel.sweep [M, N] ({{.*}} = [[X]], {{.*}} = [[GAMMA]], {{.*}}) -> (each [[X]])
// CHECK: [[PRODUCT:%[0-9]+]] = arith.mulf
// CHECK-NEXT: [[SCALED:%[0-9]+]] = arith.mulf [[PRODUCT]],
// CHECK-NEXT: arith.truncf [[SCALED]] : f32 to f16
// CHECK: kernel.contract [[G:%[a-z_0-9]+]], [[X]], {{.*}} scale [[FADE]] multiply f16 : !kernel.tile<M x K x f32, register, lanes = cols>
// CHECK: kernel.contract {{.*}}, [[X]], {{.*}} scale [[FADE]] multiply f16

// A LayerNorm of bf16, whose windows write over an f32 copy of a block, and one of f16, whose rows have exponents:
// no copy is left, and each iteration reads the block where it was loaded.
func.func @windows(%x: tensor<512x200xbf16>, %w: tensor<200x1024xbf16>) -> tensor<512x1024xbf16> {
  %y = array.layer_norm %x eps 1.000000e-05 : tensor<512x200xbf16>
  %o = array.matmul %y, %w : tensor<512x200xbf16>, tensor<200x1024xbf16> -> tensor<512x1024xbf16>
  func.return %o : tensor<512x1024xbf16>
}
// CHECK-LABEL: kernel.func @windows
// CHECK: warps = [
// CHECK-NOT: kernel.buffer
// CHECK-NOT: !kernel.tile<M x N x f32
// CHECK: kernel.contract accumulate {{.*}} multiply bf16

func.func @pivot(%x: tensor<512x200xf16>, %w: tensor<200x1024xf16>) -> tensor<512x1024xf16> {
  %y = array.layer_norm %x eps 1.000000e-05 : tensor<512x200xf16>
  %o = array.matmul %y, %w : tensor<512x200xf16>, tensor<200x1024xf16> -> tensor<512x1024xf16>
  func.return %o : tensor<512x1024xf16>
}
// CHECK-LABEL: kernel.func @pivot
// CHECK: warps = [
// CHECK-NOT: kernel.buffer
// CHECK-NOT: !kernel.tile<M x N x f32
// CHECK: kernel.contract {{.*}} scale {{.*}} multiply f16

// A result with more columns than registers hold: the hidden features of a block go through its own memory.
func.func @wider(%x: tensor<512x200xf16>, %w1: tensor<200x232xf16>, %w3: tensor<232x2048xf16>) -> tensor<512x2048xf16> {
  %g = array.matmul %x, %w1 : tensor<512x200xf16>, tensor<200x232xf16> -> tensor<512x232xf16>
  %s = array.silu %g : tensor<512x232xf16>
  %o = array.matmul %s, %w3 : tensor<512x232xf16>, tensor<232x2048xf16> -> tensor<512x2048xf16>
  func.return %o : tensor<512x2048xf16>
}
// CHECK-LABEL: kernel.func @wider
// CHECK-SAME: = #block.dim<2048, block = 256>
// CHECK: warps = [
// CHECK: kernel.buffer

// Rows that are reduced after the contraction: the warps side by side unite their parts in shared memory.
func.func @lengths(%x: tensor<40x64xf16>, %w: tensor<64x96xf16>) -> tensor<40x96xf16> {
  %y = array.matmul %x, %w : tensor<40x64xf16>, tensor<64x96xf16> -> tensor<40x96xf16>
  %n = array.rms_norm %y eps 1.000000e-06 : tensor<40x96xf16>
  func.return %n : tensor<40x96xf16>
}
// CHECK-LABEL: kernel.func @lengths
// CHECK: warps = [1 : i64, 4 : i64]
// CHECK: kernel.sweep [M, N] {{.*}} sum %sum) {{.*}} attributes {offset
