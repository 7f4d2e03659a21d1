// RUN: bb-opt %s --split-input-file --verify-diagnostics

func.func @integers(%a: tensor<8x6xi32>, %b: tensor<6x5xi32>, %m: tensor<8x6xi1>) {
  // expected-error @+1 {{'array.masked_matmul' left operand has element type i32, expected f16, bf16, f32 or f64}}
  %y = array.masked_matmul %a, %b keeps (%p = %m) : tensor<8x6xi32>, tensor<6x5xi32>, tensor<8x6xi1> -> tensor<8x5xi32> {
    array.yield %p : i1
  }
  func.return
}

// -----

func.func @shape(%a: tensor<8x6xf32>, %b: tensor<6x5xf32>, %m: tensor<8x5xi1>) {
  // expected-error @+1 {{'array.masked_matmul' operand 0 of the region: }}
  %y = array.masked_matmul %a, %b keeps (%p = %m) : tensor<8x6xf32>, tensor<6x5xf32>, tensor<8x5xi1> -> tensor<8x5xf32> {
    array.yield %p : i1
  }
  func.return
}

// -----

func.func @yields(%a: tensor<8x6xf32>, %b: tensor<6x5xf32>, %m: tensor<8x6xi32>) {
  // expected-error @+1 {{'array.masked_matmul' region: 'array.yield' yields i32, expected the results' element types i1}}
  %y = array.masked_matmul %a, %b keeps (%p = %m) : tensor<8x6xf32>, tensor<6x5xf32>, tensor<8x6xi32> -> tensor<8x5xf32> {
    array.yield %p : i32
  }
  func.return
}
