// RUN: bb-opt %s -p canonicalize | filecheck %s

// CHECK-LABEL: func.func @transposes_cancel
func.func @transposes_cancel(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %a = array.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %b = array.transpose %a perm [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  // CHECK-NEXT: func.return %x
  func.return %b : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @transposes_compose
func.func @transposes_compose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %a = array.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %b = array.transpose %a perm [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  // CHECK-NEXT: %b = array.transpose %x perm [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // CHECK-NEXT: func.return %b
  func.return %b : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @reshape_to_itself
func.func @reshape_to_itself(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %a = array.reshape %x : tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK-NEXT: func.return %x
  func.return %a : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @reshapes_cancel
func.func @reshapes_cancel(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %a = array.reshape %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %b = array.reshape %a : tensor<?x2x4xf32> -> tensor<?x8xf32>
  // CHECK-NEXT: func.return %x
  func.return %b : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @reshape_needs_both
func.func @reshape_needs_both(%x: tensor<6x4xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: %a = array.reshape %x : tensor<6x4xf32> -> tensor<24xf32>
  %a = array.reshape %x : tensor<6x4xf32> -> tensor<24xf32>
  // CHECK-NEXT: %b = array.reshape %a : tensor<24xf32> -> tensor<4x6xf32>
  %b = array.reshape %a : tensor<24xf32> -> tensor<4x6xf32>
  func.return %b : tensor<4x6xf32>
}

// Which of the two unknown extents takes up the 2 is said only step by step.
// CHECK-LABEL: func.func @reshape_two_unknown
func.func @reshape_two_unknown(%x: tensor<?x2x?xf32>) -> tensor<?x?xf32> {
  // CHECK-NEXT: array.reshape
  %a = array.reshape %x : tensor<?x2x?xf32> -> tensor<?x1x2x?xf32>
  // CHECK-NEXT: array.reshape
  %b = array.reshape %a : tensor<?x1x2x?xf32> -> tensor<?x?xf32>
  func.return %b : tensor<?x?xf32>
}

// CHECK-LABEL: func.func @broadcasts
func.func @broadcasts(%x: tensor<1x4xf32>) -> tensor<2x3x4xf32> {
  %a = array.broadcast %x : tensor<1x4xf32> -> tensor<1x4xf32>
  %b = array.broadcast %a : tensor<1x4xf32> -> tensor<3x4xf32>
  // CHECK-NEXT: %c = array.broadcast %x : tensor<1x4xf32> -> tensor<2x3x4xf32>
  %c = array.broadcast %b : tensor<3x4xf32> -> tensor<2x3x4xf32>
  // CHECK-NEXT: func.return %c
  func.return %c : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @whole_slice
func.func @whole_slice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %a = array.slice %x offsets [0, 0] sizes [-1, 4] : tensor<?x4xf32> -> tensor<?x4xf32>
  // CHECK-NEXT: func.return %x
  func.return %a : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @concat_of_one
func.func @concat_of_one(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %a = array.concat %x axis 0 : tensor<?x4xf32> -> tensor<?x4xf32>
  // CHECK-NEXT: func.return %x
  func.return %a : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @extents
func.func @extents(%x: tensor<?x4xf32>) -> (tensor<f32>, tensor<i64>) {
  // CHECK-NEXT: %a = array.extent %x axis 0
  %a = array.extent %x axis 0 : tensor<?x4xf32> -> tensor<f32>
  // CHECK-NEXT: %b = array.constant dense<4> : tensor<i64>
  %b = array.extent %x axis 1 : tensor<?x4xf32> -> tensor<i64>
  // CHECK-NEXT: func.return %a, %b
  func.return %a, %b : tensor<f32>, tensor<i64>
}

// Pure, so gone when unused; a constant keeps the number it was rounded from.
// CHECK-LABEL: func.func @effects
func.func @effects(%x: tensor<4xf32>) -> tensor<4xf32> {
  %unused = array.custom @callback(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %dead = array.softmax %x axis 0 : tensor<4xf32>
  // CHECK-NEXT: %y = array.elementwise
  %y = array.elementwise (%a = %x) : tensor<4xf32> -> tensor<4xf32> {
    // CHECK-NEXT: arith.constant {bb.exact = 1.000000e-01 : f64} 1.000000e-01 : f32
    %c = arith.constant {bb.exact = 0.1 : f64} 0.1 : f32
    %b = arith.addf %a, %c : f32
    array.yield %b : f32
  }
  // CHECK: func.return %y
  func.return %y : tensor<4xf32>
}
