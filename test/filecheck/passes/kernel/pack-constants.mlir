// RUN: bb-opt %s --pipeline cpu | filecheck %s

// With rows in lanes, blocks of 152 columns x 256 k of the weights lie in groups of 6 columns. 16-bit floats become
// f32.
// CHECK-LABEL: kernel.func @many_kernel1_pack_w(%w : !kernel.array<600x300xf16>) outs(%packed : !kernel.array<300x600xf32, #kernel.packed<[152, 256] by 6>>)
// CHECK-NEXT:    kernel.parallel @{{[A-Z]}}, @{{[A-Z]}} {
// CHECK-NEXT:      [[TILE:%.+]] = kernel.tile : !kernel.tile<[[N:[A-Z]]] x [[K:[A-Z]]] x f16, scratch, lanes = rows>
// CHECK-NEXT:      [[FROM:%.+]] = kernel.cursor %w [[[K]], [[N]]]
// CHECK-NEXT:      kernel.load [[TILE]], [[FROM]]
// CHECK-NEXT:      [[TO:%.+]] = kernel.cursor %packed [[[N]], [[K]]] : !kernel.array<300x600xf32, #kernel.packed<[152, 256] by 6>> -> !kernel.cursor<[[N]] x [[K]] x f32>
// CHECK-NEXT:      kernel.store [[TO]], [[TILE]]
// CHECK:       kernel.func @many_kernel1(%x : !kernel.array<100x600xf16>, %w : !kernel.array<300x600xf32, #kernel.packed<[152, 256] by 6>>)
// CHECK-LABEL: func.func @many
// CHECK-NEXT:    %[[W:.+]] = kernel.launch @many_kernel1_pack_w(%w) {{.*}} {bb.once} : (tensor<600x300xf16>) -> (tensor<300x600xf32, #kernel.packed<[152, 256] by 6>>)
// CHECK-NEXT:    kernel.launch @many_kernel1(%x, %[[W]])
func.func @many(%x: tensor<100x600xf16>, %w: tensor<600x300xf16> {bb.constant}) -> tensor<100x300xf16> {
  %o = array.matmul %x, %w : tensor<100x600xf16>, tensor<600x300xf16> -> tensor<100x300xf16>
  func.return %o : tensor<100x300xf16>
}

// With few rows groups are two vectors wide, and 16-bit floats stay as they are, for memory is what takes the time.
// CHECK-LABEL: kernel.func @few_kernel1_pack_w(%w : !kernel.array<600x300xf16>) outs(%packed : !kernel.array<300x600xf16, #kernel.packed<[152, 256] by 32>>)
// CHECK-LABEL: func.func @few
func.func @few(%x: tensor<3x600xf16>, %w: tensor<600x300xf16> {bb.constant}) -> tensor<3x300xf16> {
  %o = array.matmul %x, %w : tensor<3x600xf16>, tensor<600x300xf16> -> tensor<3x300xf16>
  func.return %o : tensor<3x300xf16>
}

// f64 stays f64. Of whole dims there is one block.
// CHECK-LABEL: kernel.func @double_kernel1_pack_w(%w : !kernel.array<40x70xf64>) outs(%packed : !kernel.array<40x70xf64, #kernel.packed<[40, 70] by 6>>)
func.func @double(%x: tensor<100x70xf64>, %w: tensor<40x70xf64> {bb.constant}) -> tensor<100x40xf64> {
  %t = array.transpose %w perm [1, 0] : tensor<40x70xf64> -> tensor<70x40xf64>
  %o = array.matmul %x, %t : tensor<100x70xf64>, tensor<70x40xf64> -> tensor<100x40xf64>
  func.return %o : tensor<100x40xf64>
}

// What is not declared constant stays as it is, and so does what is no operand of a contraction.
// CHECK-LABEL: kernel.func @plain_kernel1(
// CHECK-NOT: packed
func.func @plain(%x: tensor<100x600xf32>, %w: tensor<600x300xf32>) -> tensor<100x300xf32> {
  %o = array.matmul %x, %w : tensor<100x600xf32>, tensor<600x300xf32> -> tensor<100x300xf32>
  func.return %o : tensor<100x300xf32>
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<100x600xf32>, %w: tensor<100x600xf32> {bb.constant}) -> tensor<100x600xf32> {
  %o = array.elementwise (%a = %x, %b = %w) : tensor<100x600xf32>, tensor<100x600xf32> -> tensor<100x600xf32> {
    %s = arith.addf %a, %b : f32
    array.yield %s : f32
  }
  func.return %o : tensor<100x600xf32>
}

// bf16 stays bf16 for contractions that may multiply in it, in pairs along k.
// CHECK-LABEL: kernel.func @few_in_bf16_kernel1_pack_w(%w : !kernel.array<600x300xbf16>) outs(%packed : !kernel.array<300x600xbf16, #kernel.packed<[152, 256] by 32 x 2>>)
func.func @few_in_bf16(%x: tensor<3x600xbf16>, %w: tensor<600x300xbf16> {bb.constant}) -> tensor<3x300xbf16> {
  %o = array.matmul %x, %w : tensor<3x600xbf16>, tensor<600x300xbf16> -> tensor<3x300xbf16>
  func.return %o : tensor<3x300xbf16>
}

// CHECK-LABEL: kernel.func @in_bf16_kernel1_pack_w(%w : !kernel.array<600x300xbf16>) outs(%packed : !kernel.array<300x600xbf16, #kernel.packed<[152, 256] by 6 x 2>>)
// CHECK-LABEL: kernel.func @in_bf16_kernel1(%x : !kernel.array<100x600xbf16>, %w : !kernel.array<300x600xbf16, #kernel.packed<[152, 256] by 6 x 2>>)
// CHECK:         kernel.contract {{.*}} multiply bf16
func.func @in_bf16(%x: tensor<100x600xbf16>, %w: tensor<600x300xbf16> {bb.constant}) -> tensor<100x300xbf16> {
  %o = array.matmul %x, %w : tensor<100x600xbf16>, tensor<600x300xbf16> -> tensor<100x300xbf16>
  func.return %o : tensor<100x300xbf16>
}
