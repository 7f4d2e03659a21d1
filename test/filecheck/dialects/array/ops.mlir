// RUN: bb-opt %s | bb-opt | filecheck %s
// RUN: bb-opt %s --print-op-generic | bb-opt | filecheck %s

// CHECK-LABEL: func.func @matmul
func.func @matmul(%a: tensor<5x8x4xf32>, %b: tensor<6x4xf32>, %h: tensor<?x4xf16>, %w: tensor<4x3xf16>) {
  // CHECK-NEXT: %c = array.matmul %a, %b transpose_b acc f32 : tensor<5x8x4xf32>, tensor<6x4xf32> -> tensor<5x8x6xf32>
  %c = array.matmul %a, %b transpose_b acc f32 : tensor<5x8x4xf32>, tensor<6x4xf32> -> tensor<5x8x6xf32>
  // CHECK-NEXT: %t = array.matmul %a, %a transpose_a : tensor<5x8x4xf32>, tensor<5x8x4xf32> -> tensor<5x4x4xf32>
  %t = array.matmul %a, %a transpose_a : tensor<5x8x4xf32>, tensor<5x8x4xf32> -> tensor<5x4x4xf32>
  // CHECK-NEXT: %d = array.matmul %h, %w : tensor<?x4xf16>, tensor<4x3xf16> -> tensor<?x3xf32>
  %d = array.matmul %h, %w : tensor<?x4xf16>, tensor<4x3xf16> -> tensor<?x3xf32>
  func.return
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<8x16xf32>, %s: tensor<8x1xf32>, %u: tensor<?x16xf32>) {
  // CHECK-NEXT: %y = array.elementwise (%p = %x, %q = %s) : tensor<8x16xf32>, tensor<8x1xf32> -> tensor<8x16xf32> {
  // CHECK-NEXT:   %0 = arith.mulf %p, %q : f32
  // CHECK-NEXT:   array.yield %0 : f32
  // CHECK-NEXT: }
  %y = array.elementwise (%p = %x, %q = %s) : tensor<8x16xf32>, tensor<8x1xf32> -> tensor<8x16xf32> {
    %0 = arith.mulf %p, %q : f32
    array.yield %0 : f32
  }
  // CHECK-NEXT: %z = array.elementwise () -> tensor<4xf32> {
  // CHECK-NEXT:   %inf = arith.constant 0xff800000 : f32
  // CHECK-NEXT:   array.yield %inf : f32
  // CHECK-NEXT: }
  %z = array.elementwise () -> tensor<4xf32> {
    %inf = arith.constant 0xff800000 : f32
    array.yield %inf : f32
  }
  // CHECK-NEXT: %m, %n = array.elementwise (%i = %u, %j = %s) attributes {note = "two"} : tensor<?x16xf32>, tensor<8x1xf32> -> tensor<8x16xf32>, tensor<8x16xi1> {
  // CHECK-NEXT:   %k = arith.cmpf ogt, %i, %j : f32
  // CHECK-NEXT:   array.yield %i, %k : f32, i1
  // CHECK-NEXT: }
  %m, %n = array.elementwise (%i = %u, %j = %s) attributes {note = "two"} : tensor<?x16xf32>, tensor<8x1xf32> -> tensor<8x16xf32>, tensor<8x16xi1> {
    %k = arith.cmpf ogt, %i, %j : f32
    array.yield %i, %k : f32, i1
  }
  func.return
}

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<8x?x16xbf16>, %i: tensor<3x4xi32>) {
  // CHECK-NEXT: %r = array.reduce sum %x axes [1] keepdims acc f32 : tensor<8x?x16xbf16> -> tensor<8x1x16xbf16>
  %r = array.reduce sum %x axes [1] keepdims acc f32 : tensor<8x?x16xbf16> -> tensor<8x1x16xbf16>
  // CHECK-NEXT: %s = array.reduce max %x axes [0, 2] : tensor<8x?x16xbf16> -> tensor<?xbf16>
  %s = array.reduce max %x axes [0, 2] : tensor<8x?x16xbf16> -> tensor<?xbf16>
  // CHECK-NEXT: %t = array.reduce min %i axes [0, 1] : tensor<3x4xi32> -> tensor<i32>
  %t = array.reduce min %i axes [0, 1] : tensor<3x4xi32> -> tensor<i32>
  func.return
}

// CHECK-LABEL: func.func @views
func.func @views(%x: tensor<3x8xf32>, %v: tensor<4xf32>, %d: tensor<?x8xi64>) {
  // CHECK-NEXT: %b = array.broadcast %v : tensor<4xf32> -> tensor<3x4xf32>
  %b = array.broadcast %v : tensor<4xf32> -> tensor<3x4xf32>
  // CHECK-NEXT: %t = array.transpose %x perm [1, 0] : tensor<3x8xf32> -> tensor<8x3xf32>
  %t = array.transpose %x perm [1, 0] : tensor<3x8xf32> -> tensor<8x3xf32>
  // CHECK-NEXT: %r = array.reshape %x : tensor<3x8xf32> -> tensor<3x2x1x4xf32>
  %r = array.reshape %x : tensor<3x8xf32> -> tensor<3x2x1x4xf32>
  // CHECK-NEXT: %m = array.reshape %d : tensor<?x8xi64> -> tensor<?xi64>
  %m = array.reshape %d : tensor<?x8xi64> -> tensor<?xi64>
  // CHECK-NEXT: %s = array.slice %x offsets [0, 4] sizes [3, 4] : tensor<3x8xf32> -> tensor<3x4xf32>
  %s = array.slice %x offsets [0, 4] sizes [3, 4] : tensor<3x8xf32> -> tensor<3x4xf32>
  // CHECK-NEXT: %u = array.slice %d offsets [1, 0] sizes [-1, 2] : tensor<?x8xi64> -> tensor<?x2xi64>
  %u = array.slice %d offsets [1, 0] sizes [-1, 2] : tensor<?x8xi64> -> tensor<?x2xi64>
  // CHECK-NEXT: %k = array.concat %s, %b axis 1 : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x8xf32>
  %k = array.concat %s, %b axis 1 : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x8xf32>
  func.return
}

// CHECK-LABEL: func.func @sources
func.func @sources(%x: tensor<?x4xf32>) {
  // CHECK-NEXT: %i = array.iota axis 0 : tensor<4x4xi32>
  %i = array.iota axis 0 : tensor<4x4xi32>
  // CHECK-NEXT: %j = array.iota axis 1 like %x : tensor<?x4xf32> -> tensor<?x4xi32>
  %j = array.iota axis 1 like %x : tensor<?x4xf32> -> tensor<?x4xi32>
  // CHECK-NEXT: %c = array.constant dense<0.000000e+00> : tensor<4xf32>
  %c = array.constant dense<0.0> : tensor<4xf32>
  // CHECK-NEXT: %k = array.constant dense<{{\[\[}}true, false], [false, true]]> : tensor<2x2xi1>
  %k = array.constant dense<[[true, false], [false, true]]> : tensor<2x2xi1>
  // CHECK-NEXT: %h = array.constant dense<[1.500000e+00, -2.000000e+00]> : tensor<2xbf16>
  %h = array.constant dense<[1.5, -2.0]> : tensor<2xbf16>
  // CHECK-NEXT: %e = array.extent %x axis 0 : tensor<?x4xf32> -> tensor<f32>
  %e = array.extent %x axis 0 : tensor<?x4xf32> -> tensor<f32>
  func.return
}

// CHECK-LABEL: func.func @custom
func.func @custom(%a: tensor<4xf32>) {
  // CHECK-NEXT: %o, %p = array.custom @callback(%a, %a) {count = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  %o, %p = array.custom @callback(%a, %a) {count = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<f32>)
  // CHECK-NEXT: %q = array.custom @source() : () -> tensor<?xf32>
  %q = array.custom @source() : () -> tensor<?xf32>
  func.return
}

// CHECK-LABEL: func.func @composites
func.func @composites(%x: tensor<8x16xf32>, %g: tensor<16xf32>, %b: tensor<16xf32>) {
  // CHECK-NEXT: %p = array.softmax %x axis 1 : tensor<8x16xf32>
  %p = array.softmax %x axis 1 : tensor<8x16xf32>
  // CHECK-NEXT: %n = array.layer_norm %x scale(%g : tensor<16xf32>) shift(%b : tensor<16xf32>) eps 1.000000e-05 : tensor<8x16xf32>
  %n = array.layer_norm %x scale(%g : tensor<16xf32>) shift(%b : tensor<16xf32>) eps 1.000000e-05 : tensor<8x16xf32>
  // CHECK-NEXT: %o = array.layer_norm %x shift(%b : tensor<16xf32>) eps 0.000000e+00 : tensor<8x16xf32>
  %o = array.layer_norm %x shift(%b : tensor<16xf32>) eps 0 : tensor<8x16xf32>
  // CHECK-NEXT: %m = array.rms_norm %x scale(%g : tensor<16xf32>) eps 1.000000e-06 : tensor<8x16xf32>
  %m = array.rms_norm %x scale(%g : tensor<16xf32>) eps 1.000000e-06 : tensor<8x16xf32>
  // CHECK-NEXT: %l = array.rms_norm %x eps 1.2345678912345e-06 : tensor<8x16xf32>
  %l = array.rms_norm %x eps 1.2345678912345e-6 : tensor<8x16xf32>
  // CHECK-NEXT: %s = array.silu %x : tensor<8x16xf32>
  %s = array.silu %x : tensor<8x16xf32>
  // CHECK-NEXT: %r = array.relu %x : tensor<8x16xf32>
  %r = array.relu %x : tensor<8x16xf32>
  // CHECK-NEXT: %i = array.sigmoid %x : tensor<8x16xf32>
  %i = array.sigmoid %x : tensor<8x16xf32>
  // CHECK-NEXT: %e = array.gelu exact %x : tensor<8x16xf32>
  %e = array.gelu exact %x : tensor<8x16xf32>
  // CHECK-NEXT: %t = array.gelu tanh %x : tensor<8x16xf32>
  %t = array.gelu tanh %x : tensor<8x16xf32>
  func.return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x8x4xf32>, %k: tensor<2x6x4xf32>, %v: tensor<2x6x5xf32>, %b: tensor<8x6xf32>, %m: tensor<2x1x6xi1>,
    %qd: tensor<?x6x?x4xf16>, %kd: tensor<?x2x?x4xf16>) {
  // CHECK-NEXT: %a = array.attention %q, %k, %v bias(%b : tensor<8x6xf32>) mask(%m : tensor<2x1x6xi1>) scale 1.250000e-01 causal : tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32> -> tensor<2x8x5xf32>
  %a = array.attention %q, %k, %v bias(%b : tensor<8x6xf32>) mask(%m : tensor<2x1x6xi1>) scale 0.125 causal : tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32> -> tensor<2x8x5xf32>
  // CHECK-NEXT: %c = array.attention %q, %k, %v mask(%m : tensor<2x1x6xi1>) : tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32> -> tensor<2x8x5xf32>
  %c = array.attention %q, %k, %v mask(%m : tensor<2x1x6xi1>) : tensor<2x8x4xf32>, tensor<2x6x4xf32>, tensor<2x6x5xf32> -> tensor<2x8x5xf32>
  // CHECK-NEXT: %d = array.attention %qd, %kd, %kd causal : tensor<?x6x?x4xf16>, tensor<?x2x?x4xf16>, tensor<?x2x?x4xf16> -> tensor<?x6x?x4xf16>
  %d = array.attention %qd, %kd, %kd causal : tensor<?x6x?x4xf16>, tensor<?x2x?x4xf16>, tensor<?x2x?x4xf16> -> tensor<?x6x?x4xf16>
  func.return
}
