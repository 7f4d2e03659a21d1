// RUN: bb-opt %s -p array-decompose | filecheck %s

// CHECK-LABEL: func.func @activations(
func.func @activations(%x: tensor<8xf32>, %h: tensor<?xf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<?xf16>) {
  %relu = array.relu %x : tensor<8xf32>
  %gate = array.silu %x : tensor<8xf32>
  %low = array.sigmoid %h : tensor<?xf16>
  func.return %relu, %gate, %low : tensor<8xf32>, tensor<8xf32>, tensor<?xf16>
  // CHECK-NEXT: %relu = array.elementwise ([[v0:%\d+]] = %x) : tensor<8xf32> -> tensor<8xf32> {
  // CHECK-NEXT:   [[v1:%\d+]] = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT:   [[v2:%\d+]] = arith.maximumf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %gate = array.elementwise ([[v3:%\d+]] = %x) : tensor<8xf32> -> tensor<8xf32> {
  // CHECK-NEXT:   [[v4:%\d+]] = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT:   [[v5:%\d+]] = arith.negf [[v3]] : f32
  // CHECK-NEXT:   [[v6:%\d+]] = math.exp [[v5]] : f32
  // CHECK-NEXT:   [[v7:%\d+]] = arith.addf [[v4]], [[v6]] : f32
  // CHECK-NEXT:   [[v8:%\d+]] = arith.divf [[v4]], [[v7]] : f32
  // CHECK-NEXT:   [[v9:%\d+]] = arith.mulf [[v3]], [[v8]] : f32
  // CHECK-NEXT:   array.yield [[v9]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %low = array.elementwise ([[v10:%\d+]] = %h) : tensor<?xf16> -> tensor<?xf16> {
  // CHECK-NEXT:   [[v11:%\d+]] = arith.extf [[v10]] : f16 to f32
  // CHECK-NEXT:   [[v12:%\d+]] = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT:   [[v13:%\d+]] = arith.negf [[v11]] : f32
  // CHECK-NEXT:   [[v14:%\d+]] = math.exp [[v13]] : f32
  // CHECK-NEXT:   [[v15:%\d+]] = arith.addf [[v12]], [[v14]] : f32
  // CHECK-NEXT:   [[v16:%\d+]] = arith.divf [[v12]], [[v15]] : f32
  // CHECK-NEXT:   [[v17:%\d+]] = arith.truncf [[v16]] : f32 to f16
  // CHECK-NEXT:   array.yield [[v17]] : f16
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %relu, %gate, %low : tensor<8xf32>, tensor<8xf32>, tensor<?xf16>
}

// CHECK-LABEL: func.func @gelu(
func.func @gelu(%x: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) {
  %e = array.gelu exact %x : tensor<8xf64>
  %t = array.gelu tanh %x : tensor<8xf64>
  func.return %e, %t : tensor<8xf64>, tensor<8xf64>
  // CHECK-NEXT: %e = array.elementwise ([[v0:%\d+]] = %x) : tensor<8xf64> -> tensor<8xf64> {
  // CHECK-NEXT:   [[v1:%\d+]] = arith.constant 0.70710678118654757 : f64
  // CHECK-NEXT:   [[v2:%\d+]] = arith.mulf [[v0]], [[v1]] : f64
  // CHECK-NEXT:   [[v3:%\d+]] = math.erf [[v2]] : f64
  // CHECK-NEXT:   [[v4:%\d+]] = arith.constant 5.000000e-01 : f64
  // CHECK-NEXT:   [[v5:%\d+]] = arith.mulf [[v4]], [[v0]] : f64
  // CHECK-NEXT:   [[v6:%\d+]] = arith.constant 1.000000e+00 : f64
  // CHECK-NEXT:   [[v7:%\d+]] = arith.addf [[v6]], [[v3]] : f64
  // CHECK-NEXT:   [[v8:%\d+]] = arith.mulf [[v5]], [[v7]] : f64
  // CHECK-NEXT:   array.yield [[v8]] : f64
  // CHECK-NEXT: }
  // CHECK-NEXT: %t = array.elementwise ([[v9:%\d+]] = %x) : tensor<8xf64> -> tensor<8xf64> {
  // CHECK-NEXT:   [[v10:%\d+]] = arith.mulf [[v9]], [[v9]] : f64
  // CHECK-NEXT:   [[v11:%\d+]] = arith.mulf [[v10]], [[v9]] : f64
  // CHECK-NEXT:   [[v12:%\d+]] = arith.constant 4.471500e-02 : f64
  // CHECK-NEXT:   [[v13:%\d+]] = arith.mulf [[v12]], [[v11]] : f64
  // CHECK-NEXT:   [[v14:%\d+]] = arith.addf [[v9]], [[v13]] : f64
  // CHECK-NEXT:   [[v15:%\d+]] = arith.constant 0.79788456080286541 : f64
  // CHECK-NEXT:   [[v16:%\d+]] = arith.mulf [[v15]], [[v14]] : f64
  // CHECK-NEXT:   [[v17:%\d+]] = math.tanh [[v16]] : f64
  // CHECK-NEXT:   [[v18:%\d+]] = arith.constant 5.000000e-01 : f64
  // CHECK-NEXT:   [[v19:%\d+]] = arith.mulf [[v18]], [[v9]] : f64
  // CHECK-NEXT:   [[v20:%\d+]] = arith.constant 1.000000e+00 : f64
  // CHECK-NEXT:   [[v21:%\d+]] = arith.addf [[v20]], [[v17]] : f64
  // CHECK-NEXT:   [[v22:%\d+]] = arith.mulf [[v19]], [[v21]] : f64
  // CHECK-NEXT:   array.yield [[v22]] : f64
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %e, %t : tensor<8xf64>, tensor<8xf64>
}

// CHECK-LABEL: func.func @softmax(
func.func @softmax(%x: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %p = array.softmax %x axis 1 : tensor<?x16xf32>
  func.return %p : tensor<?x16xf32>
  // CHECK-NEXT: %max = array.reduce max %x axes [1] keepdims : tensor<?x16xf32> -> tensor<?x1xf32>
  // CHECK-NEXT: %shifted = array.elementwise ([[v0:%\d+]] = %x, [[v1:%\d+]] = %max) : tensor<?x16xf32>, tensor<?x1xf32> -> tensor<?x16xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.subf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %exp = array.elementwise ([[v3:%\d+]] = %shifted) : tensor<?x16xf32> -> tensor<?x16xf32> {
  // CHECK-NEXT:   [[v4:%\d+]] = math.exp [[v3]] : f32
  // CHECK-NEXT:   array.yield [[v4]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = array.reduce sum %exp axes [1] keepdims : tensor<?x16xf32> -> tensor<?x1xf32>
  // CHECK-NEXT: %p = array.elementwise ([[v5:%\d+]] = %exp, [[v6:%\d+]] = %sum) : tensor<?x16xf32>, tensor<?x1xf32> -> tensor<?x16xf32> {
  // CHECK-NEXT:   [[v7:%\d+]] = arith.divf [[v5]], [[v6]] : f32
  // CHECK-NEXT:   array.yield [[v7]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %p : tensor<?x16xf32>
}

// CHECK-LABEL: func.func @softmax_16_bit(
func.func @softmax_16_bit(%x: tensor<16x8xbf16>) -> tensor<16x8xbf16> {
  %p = array.softmax %x axis 0 : tensor<16x8xbf16>
  func.return %p : tensor<16x8xbf16>
  // CHECK-NEXT: %wide = array.elementwise ([[v0:%\d+]] = %x) : tensor<16x8xbf16> -> tensor<16x8xf32> {
  // CHECK-NEXT:   [[v1:%\d+]] = arith.extf [[v0]] : bf16 to f32
  // CHECK-NEXT:   array.yield [[v1]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %max = array.reduce max %wide axes [0] keepdims : tensor<16x8xf32> -> tensor<1x8xf32>
  // CHECK-NEXT: %shifted = array.elementwise ([[v2:%\d+]] = %wide, [[v3:%\d+]] = %max) : tensor<16x8xf32>, tensor<1x8xf32> -> tensor<16x8xf32> {
  // CHECK-NEXT:   [[v4:%\d+]] = arith.subf [[v2]], [[v3]] : f32
  // CHECK-NEXT:   array.yield [[v4]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %exp = array.elementwise ([[v5:%\d+]] = %shifted) : tensor<16x8xf32> -> tensor<16x8xf32> {
  // CHECK-NEXT:   [[v6:%\d+]] = math.exp [[v5]] : f32
  // CHECK-NEXT:   array.yield [[v6]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = array.reduce sum %exp axes [0] keepdims : tensor<16x8xf32> -> tensor<1x8xf32>
  // CHECK-NEXT: %p = array.elementwise ([[v7:%\d+]] = %exp, [[v8:%\d+]] = %sum) : tensor<16x8xf32>, tensor<1x8xf32> -> tensor<16x8xbf16> {
  // CHECK-NEXT:   [[v9:%\d+]] = arith.divf [[v7]], [[v8]] : f32
  // CHECK-NEXT:   [[v10:%\d+]] = arith.truncf [[v9]] : f32 to bf16
  // CHECK-NEXT:   array.yield [[v10]] : bf16
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %p : tensor<16x8xbf16>
}

// CHECK-LABEL: func.func @layer_norm(
func.func @layer_norm(%x: tensor<8x48xf32>, %g: tensor<48xf32>, %b: tensor<48xf32>) -> tensor<8x48xf32> {
  %n = array.layer_norm %x scale(%g : tensor<48xf32>) shift(%b : tensor<48xf32>) eps 1.0e-5 : tensor<8x48xf32>
  func.return %n : tensor<8x48xf32>
  // CHECK-NEXT: %sum = array.reduce sum %x axes [1] keepdims : tensor<8x48xf32> -> tensor<8x1xf32>
  // CHECK-NEXT: %mean = array.elementwise ([[v0:%\d+]] = %sum) : tensor<8x1xf32> -> tensor<8x1xf32> {
  // CHECK-NEXT:   [[v1:%\d+]] = arith.constant {bb.exact = 0.020833333333333332 : f64} 0.020833334 : f32
  // CHECK-NEXT:   [[v2:%\d+]] = arith.mulf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %centred = array.elementwise ([[v3:%\d+]] = %x, [[v4:%\d+]] = %mean) : tensor<8x48xf32>, tensor<8x1xf32> -> tensor<8x48xf32> {
  // CHECK-NEXT:   [[v5:%\d+]] = arith.subf [[v3]], [[v4]] : f32
  // CHECK-NEXT:   array.yield [[v5]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %square = array.elementwise ([[v6:%\d+]] = %centred) : tensor<8x48xf32> -> tensor<8x48xf32> {
  // CHECK-NEXT:   [[v7:%\d+]] = arith.mulf [[v6]], [[v6]] : f32
  // CHECK-NEXT:   array.yield [[v7]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum_1 = array.reduce sum %square axes [1] keepdims : tensor<8x48xf32> -> tensor<8x1xf32>
  // CHECK-NEXT: %var = array.elementwise ([[v8:%\d+]] = %sum_1) : tensor<8x1xf32> -> tensor<8x1xf32> {
  // CHECK-NEXT:   [[v9:%\d+]] = arith.constant {bb.exact = 0.020833333333333332 : f64} 0.020833334 : f32
  // CHECK-NEXT:   [[v10:%\d+]] = arith.mulf [[v8]], [[v9]] : f32
  // CHECK-NEXT:   array.yield [[v10]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %rstd = array.elementwise ([[v11:%\d+]] = %var) : tensor<8x1xf32> -> tensor<8x1xf32> {
  // CHECK-NEXT:   [[v12:%\d+]] = arith.constant {bb.exact = 1.000000e-05 : f64} 1.000000e-05 : f32
  // CHECK-NEXT:   [[v13:%\d+]] = arith.addf [[v11]], [[v12]] : f32
  // CHECK-NEXT:   [[v14:%\d+]] = math.rsqrt [[v13]] : f32
  // CHECK-NEXT:   array.yield [[v14]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %normed = array.elementwise ([[v15:%\d+]] = %centred, [[v16:%\d+]] = %rstd) : tensor<8x48xf32>, tensor<8x1xf32> -> tensor<8x48xf32> {
  // CHECK-NEXT:   [[v17:%\d+]] = arith.mulf [[v15]], [[v16]] : f32
  // CHECK-NEXT:   array.yield [[v17]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %scaled = array.elementwise ([[v18:%\d+]] = %normed, [[v19:%\d+]] = %g) : tensor<8x48xf32>, tensor<48xf32> -> tensor<8x48xf32> {
  // CHECK-NEXT:   [[v20:%\d+]] = arith.mulf [[v18]], [[v19]] : f32
  // CHECK-NEXT:   array.yield [[v20]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %n = array.elementwise ([[v21:%\d+]] = %scaled, [[v22:%\d+]] = %b) : tensor<8x48xf32>, tensor<48xf32> -> tensor<8x48xf32> {
  // CHECK-NEXT:   [[v23:%\d+]] = arith.addf [[v21]], [[v22]] : f32
  // CHECK-NEXT:   array.yield [[v23]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %n : tensor<8x48xf32>
}

// CHECK-LABEL: func.func @rms_norm(
func.func @rms_norm(%x: tensor<8x?xf16>, %g: tensor<?xf16>) -> tensor<8x?xf16> {
  %n = array.rms_norm %x scale(%g : tensor<?xf16>) eps 1.0e-6 : tensor<8x?xf16>
  func.return %n : tensor<8x?xf16>
  // CHECK-NEXT: %wide = array.elementwise ([[v0:%\d+]] = %x) : tensor<8x?xf16> -> tensor<8x?xf32> {
  // CHECK-NEXT:   [[v1:%\d+]] = arith.extf [[v0]] : f16 to f32
  // CHECK-NEXT:   array.yield [[v1]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %square = array.elementwise ([[v2:%\d+]] = %wide) : tensor<8x?xf32> -> tensor<8x?xf32> {
  // CHECK-NEXT:   [[v3:%\d+]] = arith.mulf [[v2]], [[v2]] : f32
  // CHECK-NEXT:   array.yield [[v3]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = array.reduce sum %square axes [1] keepdims : tensor<8x?xf32> -> tensor<8x1xf32>
  // CHECK-NEXT: %extent = array.extent %x axis 1 : tensor<8x?xf16> -> tensor<f32>
  // CHECK-NEXT: %mean_square = array.elementwise ([[v4:%\d+]] = %sum, [[v5:%\d+]] = %extent) : tensor<8x1xf32>, tensor<f32> -> tensor<8x1xf32> {
  // CHECK-NEXT:   [[v6:%\d+]] = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT:   [[v7:%\d+]] = arith.divf [[v6]], [[v5]] : f32
  // CHECK-NEXT:   [[v8:%\d+]] = arith.mulf [[v4]], [[v7]] : f32
  // CHECK-NEXT:   array.yield [[v8]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %rstd = array.elementwise ([[v9:%\d+]] = %mean_square) : tensor<8x1xf32> -> tensor<8x1xf32> {
  // CHECK-NEXT:   [[v10:%\d+]] = arith.constant {bb.exact = 1.000000e-06 : f64} 1.000000e-06 : f32
  // CHECK-NEXT:   [[v11:%\d+]] = arith.addf [[v9]], [[v10]] : f32
  // CHECK-NEXT:   [[v12:%\d+]] = math.rsqrt [[v11]] : f32
  // CHECK-NEXT:   array.yield [[v12]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %normed = array.elementwise ([[v13:%\d+]] = %wide, [[v14:%\d+]] = %rstd) : tensor<8x?xf32>, tensor<8x1xf32> -> tensor<8x?xf32> {
  // CHECK-NEXT:   [[v15:%\d+]] = arith.mulf [[v13]], [[v14]] : f32
  // CHECK-NEXT:   array.yield [[v15]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %n = array.elementwise ([[v16:%\d+]] = %normed, [[v17:%\d+]] = %g) : tensor<8x?xf32>, tensor<?xf16> -> tensor<8x?xf16> {
  // CHECK-NEXT:   [[v18:%\d+]] = arith.extf [[v17]] : f16 to f32
  // CHECK-NEXT:   [[v19:%\d+]] = arith.mulf [[v16]], [[v18]] : f32
  // CHECK-NEXT:   [[v20:%\d+]] = arith.truncf [[v19]] : f32 to f16
  // CHECK-NEXT:   array.yield [[v20]] : f16
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %n : tensor<8x?xf16>
}

// CHECK-LABEL: func.func @attention(
func.func @attention(%q: tensor<8x64xf32>, %k: tensor<6x64xf32>, %v: tensor<6x5xf32>, %b: tensor<8x6xf32>, %m: tensor<6xi1>) -> tensor<8x5xf32> {
  %a = array.attention %q, %k, %v bias(%b : tensor<8x6xf32>) mask(%m : tensor<6xi1>) causal : tensor<8x64xf32>, tensor<6x64xf32>, tensor<6x5xf32> -> tensor<8x5xf32>
  func.return %a : tensor<8x5xf32>
  // CHECK-NEXT: %scores = array.matmul %q, %k transpose_b : tensor<8x64xf32>, tensor<6x64xf32> -> tensor<8x6xf32>
  // CHECK-NEXT: %scaled = array.elementwise ([[v0:%\d+]] = %scores) : tensor<8x6xf32> -> tensor<8x6xf32> {
  // CHECK-NEXT:   [[v1:%\d+]] = arith.constant 1.250000e-01 : f32
  // CHECK-NEXT:   [[v2:%\d+]] = arith.mulf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %biased = array.elementwise ([[v3:%\d+]] = %scaled, [[v4:%\d+]] = %b) : tensor<8x6xf32>, tensor<8x6xf32> -> tensor<8x6xf32> {
  // CHECK-NEXT:   [[v5:%\d+]] = arith.addf [[v3]], [[v4]] : f32
  // CHECK-NEXT:   array.yield [[v5]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %masked = array.elementwise ([[v6:%\d+]] = %biased, [[v7:%\d+]] = %m) : tensor<8x6xf32>, tensor<6xi1> -> tensor<8x6xf32> {
  // CHECK-NEXT:   [[v8:%\d+]] = arith.constant 0xff800000 : f32
  // CHECK-NEXT:   [[v9:%\d+]] = arith.select [[v7]], [[v6]], [[v8]] : f32
  // CHECK-NEXT:   array.yield [[v9]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %row = array.iota axis 0 : tensor<8x1xi32>
  // CHECK-NEXT: %column = array.iota axis 1 : tensor<1x6xi32>
  // CHECK-NEXT: %causal = array.elementwise ([[v10:%\d+]] = %masked, [[v11:%\d+]] = %row, [[v12:%\d+]] = %column) : tensor<8x6xf32>, tensor<8x1xi32>, tensor<1x6xi32> -> tensor<8x6xf32> {
  // CHECK-NEXT:   [[v13:%\d+]] = arith.cmpi sle, [[v12]], [[v11]] : i32
  // CHECK-NEXT:   [[v14:%\d+]] = arith.constant 0xff800000 : f32
  // CHECK-NEXT:   [[v15:%\d+]] = arith.select [[v13]], [[v10]], [[v14]] : f32
  // CHECK-NEXT:   array.yield [[v15]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %max = array.reduce max %causal axes [1] keepdims : tensor<8x6xf32> -> tensor<8x1xf32>
  // CHECK-NEXT: %shifted = array.elementwise ([[v16:%\d+]] = %causal, [[v17:%\d+]] = %max) : tensor<8x6xf32>, tensor<8x1xf32> -> tensor<8x6xf32> {
  // CHECK-NEXT:   [[v18:%\d+]] = arith.subf [[v16]], [[v17]] : f32
  // CHECK-NEXT:   array.yield [[v18]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %exp = array.elementwise ([[v19:%\d+]] = %shifted) : tensor<8x6xf32> -> tensor<8x6xf32> {
  // CHECK-NEXT:   [[v20:%\d+]] = math.exp [[v19]] : f32
  // CHECK-NEXT:   array.yield [[v20]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = array.reduce sum %exp axes [1] keepdims : tensor<8x6xf32> -> tensor<8x1xf32>
  // CHECK-NEXT: %probs = array.elementwise ([[v21:%\d+]] = %exp, [[v22:%\d+]] = %sum) : tensor<8x6xf32>, tensor<8x1xf32> -> tensor<8x6xf32> {
  // CHECK-NEXT:   [[v23:%\d+]] = arith.divf [[v21]], [[v22]] : f32
  // CHECK-NEXT:   array.yield [[v23]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = array.masked_matmul %probs, %v keeps (%m_1 = %m, %row_1 = %row, %column_1 = %column) attributes {bb.hidden_are_zero} : tensor<8x6xf32>, tensor<6x5xf32>, tensor<6xi1>, tensor<8x1xi32>, tensor<1x6xi32> -> tensor<8x5xf32> {
  // CHECK-NEXT:   [[v24:%\d+]] = arith.cmpi sle, %column_1, %row_1 : i32
  // CHECK-NEXT:   [[v25:%\d+]] = arith.andi %m_1, [[v24]] : i1
  // CHECK-NEXT:   array.yield [[v25]] : i1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %a : tensor<8x5xf32>
}

// CHECK-LABEL: func.func @attention_grouped(
func.func @attention_grouped(%q: tensor<?x6x?x4xf16>, %k: tensor<?x2x?x4xf16>, %v: tensor<?x2x?x5xf16>, %b: tensor<6x?x?xf32>) -> tensor<?x6x?x5xf16> {
  %a = array.attention %q, %k, %v bias(%b : tensor<6x?x?xf32>) scale 1.0 causal : tensor<?x6x?x4xf16>, tensor<?x2x?x4xf16>, tensor<?x2x?x5xf16> -> tensor<?x6x?x5xf16>
  func.return %a : tensor<?x6x?x5xf16>
  // CHECK-NEXT: %q_groups = array.reshape %q : tensor<?x6x?x4xf16> -> tensor<?x2x3x?x4xf16>
  // CHECK-NEXT: %k_groups = array.reshape %k : tensor<?x2x?x4xf16> -> tensor<?x2x1x?x4xf16>
  // CHECK-NEXT: %v_groups = array.reshape %v : tensor<?x2x?x5xf16> -> tensor<?x2x1x?x5xf16>
  // CHECK-NEXT: %scores = array.matmul %q_groups, %k_groups transpose_b : tensor<?x2x3x?x4xf16>, tensor<?x2x1x?x4xf16> -> tensor<?x2x3x?x?xf32>
  // CHECK-NEXT: %bias_groups = array.reshape %b : tensor<6x?x?xf32> -> tensor<2x3x?x?xf32>
  // CHECK-NEXT: %biased = array.elementwise ([[v0:%\d+]] = %scores, [[v1:%\d+]] = %bias_groups) : tensor<?x2x3x?x?xf32>, tensor<2x3x?x?xf32> -> tensor<?x2x3x?x?xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %row = array.iota axis 3 like %biased : tensor<?x2x3x?x?xf32> -> tensor<?x2x3x?x?xi32>
  // CHECK-NEXT: %column = array.iota axis 4 like %biased : tensor<?x2x3x?x?xf32> -> tensor<?x2x3x?x?xi32>
  // CHECK-NEXT: %causal = array.elementwise ([[v3:%\d+]] = %biased, [[v4:%\d+]] = %row, [[v5:%\d+]] = %column) : tensor<?x2x3x?x?xf32>, tensor<?x2x3x?x?xi32>, tensor<?x2x3x?x?xi32> -> tensor<?x2x3x?x?xf32> {
  // CHECK-NEXT:   [[v6:%\d+]] = arith.cmpi sle, [[v5]], [[v4]] : i32
  // CHECK-NEXT:   [[v7:%\d+]] = arith.constant 0xff800000 : f32
  // CHECK-NEXT:   [[v8:%\d+]] = arith.select [[v6]], [[v3]], [[v7]] : f32
  // CHECK-NEXT:   array.yield [[v8]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %max = array.reduce max %causal axes [4] keepdims : tensor<?x2x3x?x?xf32> -> tensor<?x2x3x?x1xf32>
  // CHECK-NEXT: %shifted = array.elementwise ([[v9:%\d+]] = %causal, [[v10:%\d+]] = %max) : tensor<?x2x3x?x?xf32>, tensor<?x2x3x?x1xf32> -> tensor<?x2x3x?x?xf32> {
  // CHECK-NEXT:   [[v11:%\d+]] = arith.subf [[v9]], [[v10]] : f32
  // CHECK-NEXT:   array.yield [[v11]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %exp = array.elementwise ([[v12:%\d+]] = %shifted) : tensor<?x2x3x?x?xf32> -> tensor<?x2x3x?x?xf32> {
  // CHECK-NEXT:   [[v13:%\d+]] = math.exp [[v12]] : f32
  // CHECK-NEXT:   array.yield [[v13]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum = array.reduce sum %exp axes [4] keepdims : tensor<?x2x3x?x?xf32> -> tensor<?x2x3x?x1xf32>
  // CHECK-NEXT: %probs = array.elementwise ([[v14:%\d+]] = %exp, [[v15:%\d+]] = %sum) : tensor<?x2x3x?x?xf32>, tensor<?x2x3x?x1xf32> -> tensor<?x2x3x?x?xf16> {
  // CHECK-NEXT:   [[v16:%\d+]] = arith.divf [[v14]], [[v15]] : f32
  // CHECK-NEXT:   [[v17:%\d+]] = arith.truncf [[v16]] : f32 to f16
  // CHECK-NEXT:   array.yield [[v17]] : f16
  // CHECK-NEXT: }
  // CHECK-NEXT: %attended = array.masked_matmul %probs, %v_groups keeps (%row_1 = %row, %column_1 = %column) attributes {bb.hidden_are_zero} : tensor<?x2x3x?x?xf16>, tensor<?x2x1x?x5xf16>, tensor<?x2x3x?x?xi32>, tensor<?x2x3x?x?xi32> -> tensor<?x2x3x?x5xf16> {
  // CHECK-NEXT:   [[v18:%\d+]] = arith.cmpi sle, %column_1, %row_1 : i32
  // CHECK-NEXT:   array.yield [[v18]] : i1
  // CHECK-NEXT: }
  // CHECK-NEXT: %a = array.reshape %attended : tensor<?x2x3x?x5xf16> -> tensor<?x6x?x5xf16>
  // CHECK-NEXT: func.return %a : tensor<?x6x?x5xf16>
}

// With one query the heads of a group are rows of one, so that keys and values are read once for all of them.
// CHECK-LABEL: func.func @one_query
// CHECK:         %q_groups = array.reshape %q : tensor<12x1x16xf32> -> tensor<3x4x16xf32>
// CHECK-NEXT:    %scores = array.matmul %q_groups, %k transpose_b : tensor<3x4x16xf32>, tensor<3x40x16xf32> -> tensor<3x4x40xf32>
// CHECK:         array.reshape %{{.*}} : tensor<3x4x24xf32> -> tensor<12x1x24xf32>
func.func @one_query(%q: tensor<12x1x16xf32>, %k: tensor<3x40x16xf32>, %v: tensor<3x40x24xf32>, %mask: tensor<1x40xi1>) -> tensor<12x1x24xf32> {
  %out = array.attention %q, %k, %v mask(%mask : tensor<1x40xi1>) : tensor<12x1x16xf32>, tensor<3x40x16xf32>, tensor<3x40x24xf32> -> tensor<12x1x24xf32>
  func.return %out : tensor<12x1x24xf32>
}

// Not where rows are masked differently.
// CHECK-LABEL: func.func @one_causal_query
// CHECK:         array.matmul %{{.*}}, %{{.*}} transpose_b : tensor<3x4x1x16xf32>, tensor<3x1x40x16xf32> -> tensor<3x4x1x40xf32>
func.func @one_causal_query(%q: tensor<12x1x16xf32>, %k: tensor<3x40x16xf32>, %v: tensor<3x40x24xf32>) -> tensor<12x1x24xf32> {
  %out = array.attention %q, %k, %v causal : tensor<12x1x16xf32>, tensor<3x40x16xf32>, tensor<3x40x24xf32> -> tensor<12x1x24xf32>
  func.return %out : tensor<12x1x24xf32>
}
