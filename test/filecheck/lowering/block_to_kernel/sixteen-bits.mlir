// RUN: bb-opt %s --pipeline cpu | filecheck %s

// Each operation on f16 is computed in f32 and rounded, so that the comparison sees what is stored.
// CHECK-LABEL: kernel.func @square_kernel1
//       CHECK: [[v:%\d+]] = arith.extf %{{.*}} : f16 to f32
//  CHECK-NEXT: [[w:%\d+]] = arith.extf %{{.*}} : f16 to f32
//  CHECK-NEXT: [[p:%\d+]] = arith.mulf [[v]], [[w]] : f32
//  CHECK-NEXT: [[r:%\d+]] = arith.truncf [[p]] : f32 to f16
//       CHECK: arith.cmpf oeq, [[r]], %{{.*}} : f16
//       CHECK: kernel.yield [[r]], %{{.*}} : f16, i1
func.func @square(%x: tensor<8x40xf16>) -> (tensor<8x40xf16>, tensor<8x40xi1>) {
  %y, %z = array.elementwise (%a = %x) : tensor<8x40xf16> -> tensor<8x40xf16>, tensor<8x40xi1> {
    %s = arith.mulf %a, %a : f16
    %c = arith.constant 0x7C00 : f16
    %i = arith.cmpf oeq, %s, %c : f16
    array.yield %s, %i : f16, i1
  }
  func.return %y, %z : tensor<8x40xf16>, tensor<8x40xi1>
}
