// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// CHECK-LABEL: func.func @masked
func.func @masked(%a: tensor<2x8x6xf16>, %b: tensor<6x5xf16>, %m: tensor<2x1x6xi1>, %n: tensor<8x1xi32>) -> tensor<2x8x5xf32> {
  // CHECK-NEXT: %y = array.masked_matmul %a, %b keeps (%p = %m) : tensor<2x8x6xf16>, tensor<6x5xf16>, tensor<2x1x6xi1> -> tensor<2x8x5xf16> {
  // CHECK-NEXT:   array.yield %p : i1
  // CHECK-NEXT: }
  %y = array.masked_matmul %a, %b keeps (%p = %m) : tensor<2x8x6xf16>, tensor<6x5xf16>, tensor<2x1x6xi1> -> tensor<2x8x5xf16> {
    array.yield %p : i1
  }
  // CHECK-NEXT: %z = array.masked_matmul %a, %b keeps (%q = %m, %r = %n) acc f32 attributes {note} : tensor<2x8x6xf16>, tensor<6x5xf16>, tensor<2x1x6xi1>, tensor<8x1xi32> -> tensor<2x8x5xf32> {
  %z = array.masked_matmul %a, %b keeps (%q = %m, %r = %n) acc f32 attributes {note} : tensor<2x8x6xf16>, tensor<6x5xf16>, tensor<2x1x6xi1>, tensor<8x1xi32> -> tensor<2x8x5xf32> {
    %c = arith.cmpi eq, %r, %r : i32
    %d = arith.andi %q, %c : i1
    array.yield %d : i1
  }
  func.return %z : tensor<2x8x5xf32>
}
