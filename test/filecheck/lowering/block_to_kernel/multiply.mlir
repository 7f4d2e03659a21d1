// RUN: bb-opt %s -p "array-to-block,block-shapes,block-to-kernel" | filecheck %s
// RUN: bb-opt %s -p "array-to-block,block-shapes,block-to-kernel{multiply=f32}" | filecheck %s --check-prefix=WIDE
// RUN: bb-opt %s -p "array-to-block,block-shapes,block-to-kernel{multiply=tf32}" | filecheck %s --check-prefix=TF32
// RUN: not bb-opt %s -p "array-to-block,block-shapes,block-to-kernel{multiply=tf32}" -t cpp 2>&1 | filecheck %s --check-prefix=NO-TF32
// RUN: bb-opt %s -p "array-to-block,block-shapes,block-to-kernel" -t cpp | filecheck %s --check-prefix=CPP
// RUN: bb-opt %s -p "array-to-block,block-shapes,block-to-kernel{multiply=f32}" -t cpp | filecheck %s --check-prefix=CPP-WIDE

// What the program rounds to 16 bits may be multiplied in 16 bits; sums stay in f32.

// WIDE-NOT: multiply
// CPP-WIDE-NOT: contract_bf16
// NO-TF32: 'kernel.contract' op multiplies in tf32, which only GPUs do; a CPU computes f32 exactly

// CHECK-LABEL: kernel.func @bf16_kernel1
// CHECK: kernel.contract %{{.*}}, %{{.*}}, %{{.*}} multiply bf16 : !kernel.tile<M x N x f32, {{.*}}>, !kernel.tile<M x K x bf16, {{.*}}>, !kernel.cursor<N x K x bf16>
// CPP-LABEL: bbk_bf16_kernel1(
// CPP: bb::contract_bf16(
func.func @bf16(%a: tensor<40x32xbf16>, %b: tensor<32x24xbf16>) -> tensor<40x24xbf16> {
  %c = array.matmul %a, %b : tensor<40x32xbf16>, tensor<32x24xbf16> -> tensor<40x24xbf16>
  func.return %c : tensor<40x24xbf16>
}

// f16 is multiplied in f32 on CPUs.
// CHECK-LABEL: kernel.func @f16_kernel1
// CHECK: kernel.contract %{{.*}}, %{{.*}}, %{{.*}} multiply f16 :
// CPP-LABEL: bbk_f16_kernel1(
// CPP: bb::contract(
func.func @f16(%a: tensor<40x32xf16>, %b: tensor<32x24xf16>) -> tensor<40x24xf16> {
  %c = array.matmul %a, %b : tensor<40x32xf16>, tensor<32x24xf16> -> tensor<40x24xf16>
  func.return %c : tensor<40x24xf16>
}

// CHECK-LABEL: kernel.func @f32_kernel1
// CHECK-NOT: multiply
// CHECK-LABEL: func.func @f32(
// TF32: kernel.func @bf16_kernel1
// TF32: multiply bf16 :
// TF32: kernel.func @f32_kernel1
// TF32: multiply tf32 : !kernel.tile<M x N x f32, {{.*}}>, !kernel.tile<M x K x f32, {{.*}}>, !kernel.cursor<N x K x f32>
// CPP-LABEL: bbk_f32_kernel1(
// CPP: bb::contract(
func.func @f32(%a: tensor<40x32xf32>, %b: tensor<32x24xf32>) -> tensor<40x24xf32> {
  %c = array.matmul %a, %b : tensor<40x32xf32>, tensor<32x24xf32> -> tensor<40x24xf32>
  func.return %c : tensor<40x24xf32>
}

// Sums in another type than f32: nothing is said about the products.
// CHECK-LABEL: kernel.func @sums_kernel1
// CHECK-NOT: multiply
// CHECK-LABEL: func.func @sums(
func.func @sums(%a: tensor<40x32xbf16>, %b: tensor<32x24xbf16>) -> tensor<40x24xbf16> {
  %c = array.matmul %a, %b acc f64 : tensor<40x32xbf16>, tensor<32x24xbf16> -> tensor<40x24xbf16>
  func.return %c : tensor<40x24xbf16>
}
