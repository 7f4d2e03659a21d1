// RUN: bb-opt %s -p array-simplify-contractions | filecheck %s

// A column of ones: the sum of each row.
// CHECK-LABEL: func.func @row_sums(
func.func @row_sums(%x: tensor<3x4xf32>) -> tensor<3x1xf32> {
  %ones = array.constant dense<1.0> : tensor<4x1xf32>
  %y = array.matmul %x, %ones : tensor<3x4xf32>, tensor<4x1xf32> -> tensor<3x1xf32>
  func.return %y : tensor<3x1xf32>
  // CHECK-NEXT: %y = array.reduce sum %x axes [1] keepdims : tensor<3x4xf32> -> tensor<3x1xf32>
  // CHECK-NEXT: func.return %y
}

// A matrix of ones: the sums are repeated.
// CHECK-LABEL: func.func @repeated(
func.func @repeated(%x: tensor<3x4xf32>) -> tensor<3x5xf32> {
  %ones = array.constant dense<1.0> : tensor<5x4xf32>
  %y = array.matmul %x, %ones transpose_b : tensor<3x4xf32>, tensor<5x4xf32> -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
  // CHECK-NEXT: [[s:%\d+]] = array.reduce sum %x axes [1] keepdims : tensor<3x4xf32> -> tensor<3x1xf32>
  // CHECK-NEXT: %y = array.broadcast [[s]] : tensor<3x1xf32> -> tensor<3x5xf32>
}

// A row of ones on the left: the sum of each column, of an array that may be transposed.
// CHECK-LABEL: func.func @column_sums(
func.func @column_sums(%x: tensor<?x4xf32>, %z: tensor<3x?xf32>) -> (tensor<1x3xf32>) {
  %ones = array.constant dense<1.0> : tensor<1x4xf32>
  %t = array.matmul %x, %z transpose_a transpose_b : tensor<?x4xf32>, tensor<3x?xf32> -> tensor<4x3xf32>
  %y = array.matmul %ones, %t : tensor<1x4xf32>, tensor<4x3xf32> -> tensor<1x3xf32>
  func.return %y : tensor<1x3xf32>
  // CHECK: %y = array.reduce sum %t axes [0] keepdims : tensor<4x3xf32> -> tensor<1x3xf32>
}

// CHECK-LABEL: func.func @transposed(
func.func @transposed(%x: tensor<2x4x3xf32>) -> tensor<2x3x1xf32> {
  %ones = array.constant dense<1.0> : tensor<4x1xf32>
  %y = array.matmul %x, %ones transpose_a : tensor<2x4x3xf32>, tensor<4x1xf32> -> tensor<2x3x1xf32>
  func.return %y : tensor<2x3x1xf32>
  // CHECK-NEXT: [[s:%\d+]] = array.reduce sum %x axes [1] : tensor<2x4x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: %y = array.reshape [[s]] : tensor<2x3xf32> -> tensor<2x3x1xf32>
}

// Another factor is multiplied into the elements, in the type of the sums.
// CHECK-LABEL: func.func @mean(
func.func @mean(%x: tensor<3x4xf16>) -> tensor<3x1xf16> {
  %quarter = array.constant dense<[[0.25], [0.25], [0.25], [0.25]]> : tensor<4x1xf16>
  %y = array.matmul %x, %quarter : tensor<3x4xf16>, tensor<4x1xf16> -> tensor<3x1xf16>
  func.return %y : tensor<3x1xf16>
  // CHECK-NEXT: [[p:%\d+]] = array.elementwise ([[a:%\d+]] = %x) : tensor<3x4xf16> -> tensor<3x4xf32> {
  // CHECK-NEXT:   [[c:%\d+]] = arith.constant 2.500000e-01 : f16
  // CHECK-NEXT:   [[wa:%\d+]] = arith.extf [[a]] : f16 to f32
  // CHECK-NEXT:   [[wc:%\d+]] = arith.extf [[c]] : f16 to f32
  // CHECK-NEXT:   [[m:%\d+]] = arith.mulf [[wa]], [[wc]] : f32
  // CHECK-NEXT:   array.yield [[m]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: [[s:%\d+]] = array.reduce sum [[p]] axes [1] keepdims : tensor<3x4xf32> -> tensor<3x1xf32>
  // CHECK-NEXT: %y = array.elementwise ([[t:%\d+]] = [[s]]) : tensor<3x1xf32> -> tensor<3x1xf16> {
  // CHECK-NEXT:   [[r:%\d+]] = arith.truncf [[t]] : f32 to f16
  // CHECK-NEXT:   array.yield [[r]] : f16
}

// A scalar that is repeated, here an argument.
// CHECK-LABEL: func.func @scalar(
func.func @scalar(%x: tensor<3x4xi32>, %c: tensor<1xi32>) -> tensor<3x1xi32> {
  %u = array.broadcast %c : tensor<1xi32> -> tensor<4x1xi32>
  %y = array.matmul %x, %u : tensor<3x4xi32>, tensor<4x1xi32> -> tensor<3x1xi32>
  func.return %y : tensor<3x1xi32>
  // CHECK-NEXT: [[c:%\d+]] = array.reshape %c : tensor<1xi32> -> tensor<1x1xi32>
  // CHECK-NEXT: array.elementwise ({{.*}} = %x, {{.*}} = [[c]])
  // CHECK: array.reduce sum
}

// Elements that differ, in the sign of a zero too, and a row of the identity: it reads all elements.
// CHECK-LABEL: func.func @not_uniform(
func.func @not_uniform(%x: tensor<3x2xf32>) -> (tensor<3x1xf32>, tensor<3x1xf32>) {
  %a = array.constant dense<[[0.0], [1.0]]> : tensor<2x1xf32>
  %b = array.constant dense<[[0.0], [-0.0]]> : tensor<2x1xf32>
  %y = array.matmul %x, %a : tensor<3x2xf32>, tensor<2x1xf32> -> tensor<3x1xf32>
  %z = array.matmul %x, %b : tensor<3x2xf32>, tensor<2x1xf32> -> tensor<3x1xf32>
  func.return %y, %z : tensor<3x1xf32>, tensor<3x1xf32>
  // CHECK: %y = array.matmul
  // CHECK-NEXT: %z = array.matmul
}
