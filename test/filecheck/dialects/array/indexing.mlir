// RUN: bb-opt %s --split-input-file --verify-diagnostics | filecheck %s
// RUN: bb-opt %s --split-input-file --verify-diagnostics --print-op-generic | bb-opt --split-input-file | filecheck %s

// CHECK-LABEL: func.func @lookups
func.func @lookups(%t: tensor<30x8xf32>, %i: tensor<?x5xi64>, %x: tensor<4x6xbf16>, %j: tensor<4x3xi32>) {
  // CHECK-NEXT: %y = array.gather %t, %i axis 0 : tensor<30x8xf32>, tensor<?x5xi64> -> tensor<?x5x8xf32>
  %y = array.gather %t, %i axis 0 : tensor<30x8xf32>, tensor<?x5xi64> -> tensor<?x5x8xf32>
  // CHECK-NEXT: %z = array.gather %x, %j axis 1 : tensor<4x6xbf16>, tensor<4x3xi32> -> tensor<4x4x3xbf16>
  %z = array.gather %x, %j axis 1 : tensor<4x6xbf16>, tensor<4x3xi32> -> tensor<4x4x3xbf16>
  // CHECK-NEXT: %e = array.gather_elements %x, %j axis 1 : tensor<4x6xbf16>, tensor<4x3xi32> -> tensor<4x3xbf16>
  %e = array.gather_elements %x, %j axis 1 : tensor<4x6xbf16>, tensor<4x3xi32> -> tensor<4x3xbf16>
  func.return
}

// -----

// CHECK-LABEL: func.func @prefixes
func.func @prefixes(%x: tensor<4x?xf16>, %n: tensor<4xi64>, %m: tensor<4xi1>) {
  // CHECK-NEXT: %c = array.cumsum %x axis 1 acc f32 : tensor<4x?xf16> -> tensor<4x?xf16>
  %c = array.cumsum %x axis 1 acc f32 : tensor<4x?xf16> -> tensor<4x?xf16>
  // CHECK-NEXT: %d = array.cumsum %n axis 0 : tensor<4xi64> -> tensor<4xi64>
  %d = array.cumsum %n axis 0 : tensor<4xi64> -> tensor<4xi64>
  // CHECK-NEXT: %p = array.pad %x low [1, 0] high [2, 3] value 0xfc00 : f16 : tensor<4x?xf16> -> tensor<7x?xf16>
  %p = array.pad %x low [1, 0] high [2, 3] value 0xfc00 : f16 : tensor<4x?xf16> -> tensor<7x?xf16>
  // CHECK-NEXT: %q = array.pad %m low [1] high [0] value true : tensor<4xi1> -> tensor<5xi1>
  %q = array.pad %m low [1] high [0] value true : tensor<4xi1> -> tensor<5xi1>
  func.return
}

// -----

func.func @indices(%t: tensor<30x8xf32>, %i: tensor<5xf32>) {
  // expected-error @+1 {{'array.gather' indices have element type f32, expected i32 or i64}}
  %y = array.gather %t, %i axis 0 : tensor<30x8xf32>, tensor<5xf32> -> tensor<5x8xf32>
  func.return
}

// -----

func.func @axis(%t: tensor<30x8xf32>, %i: tensor<5xi32>) {
  // expected-error @+1 {{'array.gather' axis 2 is out of range, expected 0 <= axis < 2}}
  %y = array.gather %t, %i axis 2 : tensor<30x8xf32>, tensor<5xi32> -> tensor<30x8x5xf32>
  func.return
}

// -----

func.func @shape(%t: tensor<30x8xf32>, %i: tensor<5xi32>) {
  // expected-error @+1 {{'array.gather' result has shape [30, 5], expected [5, 8]}}
  %y = array.gather %t, %i axis 0 : tensor<30x8xf32>, tensor<5xi32> -> tensor<30x5xf32>
  func.return
}

// -----

func.func @elements(%t: tensor<30x8xf32>, %i: tensor<5x3xi32>) {
  // expected-error @+1 {{'array.gather_elements' indices have shape [5, 3], expected the extents of [30, 8] on every axis but 1}}
  %y = array.gather_elements %t, %i axis 1 : tensor<30x8xf32>, tensor<5x3xi32> -> tensor<5x3xf32>
  func.return
}

// -----

func.func @sums(%x: tensor<4xi1>) {
  // expected-error @+1 {{'array.cumsum' cannot add elements of type i1, expected floating point, i32 or i64}}
  %y = array.cumsum %x axis 0 : tensor<4xi1> -> tensor<4xi1>
  func.return
}

// -----

func.func @negative(%x: tensor<4xf32>) {
  // expected-error @+1 {{'array.pad' axis 0: -1 elements before and 2 after, expected numbers of at least 0}}
  %y = array.pad %x low [-1] high [2] value 0.0 : f32 : tensor<4xf32> -> tensor<5xf32>
  func.return
}

// -----

func.func @counts(%x: tensor<4xf32>) {
  // expected-error @+1 {{'array.pad' has 2 numbers in 'low' and 1 in 'high', expected 1 of each, one for each axis of [4]}}
  %y = array.pad %x low [0, 1] high [2] value 0.0 : f32 : tensor<4xf32> -> tensor<6xf32>
  func.return
}

// -----

func.func @value(%x: tensor<4xf32>) {
  // expected-error @+1 {{'array.pad' value is 0 : i32, expected a number of type f32}}
  %y = array.pad %x low [1] high [2] value 0 : i32 : tensor<4xf32> -> tensor<7xf32>
  func.return
}
