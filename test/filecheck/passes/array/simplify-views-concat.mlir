// RUN: bb-opt %s -p array-simplify-views | filecheck %s

// Concats go down to the sums over their axis.

// The other operand is sliced.
// CHECK-LABEL: func.func @contraction(
func.func @contraction(%x: tensor<8x4xf32>, %y: tensor<8x6xf32>, %w: tensor<10x5xf32>) -> tensor<8x5xf32> {
  %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x6xf32> -> tensor<8x10xf32>
  %z = array.matmul %c, %w : tensor<8x10xf32>, tensor<10x5xf32> -> tensor<8x5xf32>
  func.return %z : tensor<8x5xf32>
  // CHECK-NEXT: %w_part = array.slice %w offsets [0, 0] sizes [4, 5] : tensor<10x5xf32> -> tensor<4x5xf32>
  // CHECK-NEXT: %w_part_1 = array.slice %w offsets [4, 0] sizes [6, 5] : tensor<10x5xf32> -> tensor<6x5xf32>
  // CHECK-NEXT: %z_part = array.matmul %x, %w_part : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z_part_1 = array.matmul %y, %w_part_1 : tensor<8x6xf32>, tensor<6x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z = array.elementwise ([[v0:%\d+]] = %z_part, [[v1:%\d+]] = %z_part_1) : tensor<8x5xf32>, tensor<8x5xf32> -> tensor<8x5xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z : tensor<8x5xf32>
}

// Both operands in two pieces of the same extents, after the reshapes of grouped heads.
// CHECK-LABEL: func.func @scores(
func.func @scores(%q0: tensor<4x8x3xf32>, %q1: tensor<4x8x3xf32>, %k0: tensor<2x9x3xf32>, %k1: tensor<2x9x3xf32>) -> tensor<2x2x8x9xf32> {
  %q = array.concat %q0, %q1 axis 2 : tensor<4x8x3xf32>, tensor<4x8x3xf32> -> tensor<4x8x6xf32>
  %k = array.concat %k0, %k1 axis 2 : tensor<2x9x3xf32>, tensor<2x9x3xf32> -> tensor<2x9x6xf32>
  %qg = array.reshape %q : tensor<4x8x6xf32> -> tensor<2x2x8x6xf32>
  %kg = array.reshape %k : tensor<2x9x6xf32> -> tensor<2x1x9x6xf32>
  %s = array.matmul %qg, %kg transpose_b : tensor<2x2x8x6xf32>, tensor<2x1x9x6xf32> -> tensor<2x2x8x9xf32>
  func.return %s : tensor<2x2x8x9xf32>
  // CHECK-NEXT: %qg = array.reshape %q0 : tensor<4x8x3xf32> -> tensor<2x2x8x3xf32>
  // CHECK-NEXT: %qg_1 = array.reshape %q1 : tensor<4x8x3xf32> -> tensor<2x2x8x3xf32>
  // CHECK-NEXT: %kg = array.reshape %k0 : tensor<2x9x3xf32> -> tensor<2x1x9x3xf32>
  // CHECK-NEXT: %kg_1 = array.reshape %k1 : tensor<2x9x3xf32> -> tensor<2x1x9x3xf32>
  // CHECK-NEXT: %s_part = array.matmul %qg, %kg transpose_b : tensor<2x2x8x3xf32>, tensor<2x1x9x3xf32> -> tensor<2x2x8x9xf32>
  // CHECK-NEXT: %s_part_1 = array.matmul %qg_1, %kg_1 transpose_b : tensor<2x2x8x3xf32>, tensor<2x1x9x3xf32> -> tensor<2x2x8x9xf32>
  // CHECK-NEXT: %s = array.elementwise ([[v0:%\d+]] = %s_part, [[v1:%\d+]] = %s_part_1) : tensor<2x2x8x9xf32>, tensor<2x2x8x9xf32> -> tensor<2x2x8x9xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s : tensor<2x2x8x9xf32>
}

// Pieces of different extents: cut at the borders of both.
// CHECK-LABEL: func.func @different_borders(
func.func @different_borders(%x0: tensor<8x4xf32>, %x1: tensor<8x2xf32>, %w0: tensor<3x5xf32>, %w1: tensor<3x5xf32>) -> tensor<8x5xf32> {
  %x = array.concat %x0, %x1 axis 1 : tensor<8x4xf32>, tensor<8x2xf32> -> tensor<8x6xf32>
  %w = array.concat %w0, %w1 axis 0 : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<6x5xf32>
  %z = array.matmul %x, %w : tensor<8x6xf32>, tensor<6x5xf32> -> tensor<8x5xf32>
  func.return %z : tensor<8x5xf32>
  // CHECK-NEXT: %x0_part = array.slice %x0 offsets [0, 0] sizes [8, 3] : tensor<8x4xf32> -> tensor<8x3xf32>
  // CHECK-NEXT: %x0_part_1 = array.slice %x0 offsets [0, 3] sizes [8, 1] : tensor<8x4xf32> -> tensor<8x1xf32>
  // CHECK-NEXT: %w1_part = array.slice %w1 offsets [0, 0] sizes [1, 5] : tensor<3x5xf32> -> tensor<1x5xf32>
  // CHECK-NEXT: %w1_part_1 = array.slice %w1 offsets [1, 0] sizes [2, 5] : tensor<3x5xf32> -> tensor<2x5xf32>
  // CHECK-NEXT: %z_part = array.matmul %x0_part, %w0 : tensor<8x3xf32>, tensor<3x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z_part_1 = array.matmul %x0_part_1, %w1_part : tensor<8x1xf32>, tensor<1x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z_part_2 = array.matmul %x1, %w1_part_1 : tensor<8x2xf32>, tensor<2x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z = array.elementwise ([[v0:%\d+]] = %z_part, [[v1:%\d+]] = %z_part_1, [[v2:%\d+]] = %z_part_2) : tensor<8x5xf32>, tensor<8x5xf32>, tensor<8x5xf32> -> tensor<8x5xf32> {
  // CHECK-NEXT:   [[v3:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   [[v4:%\d+]] = arith.addf [[v3]], [[v2]] : f32
  // CHECK-NEXT:   array.yield [[v4]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z : tensor<8x5xf32>
}

// Partial products of 16-bit floats are not rounded before they are added.
// CHECK-LABEL: func.func @half_precision(
func.func @half_precision(%x: tensor<8x4xf16>, %y: tensor<8x4xf16>, %w: tensor<8x5xf16>) -> (tensor<8x5xf16>, tensor<8xf16>) {
  %c = array.concat %x, %y axis 1 : tensor<8x4xf16>, tensor<8x4xf16> -> tensor<8x8xf16>
  %z = array.matmul %c, %w : tensor<8x8xf16>, tensor<8x5xf16> -> tensor<8x5xf16>
  %s = array.reduce sum %c axes [1] : tensor<8x8xf16> -> tensor<8xf16>
  func.return %z, %s : tensor<8x5xf16>, tensor<8xf16>
  // CHECK-NEXT: %w_part = array.slice %w offsets [0, 0] sizes [4, 5] : tensor<8x5xf16> -> tensor<4x5xf16>
  // CHECK-NEXT: %w_part_1 = array.slice %w offsets [4, 0] sizes [4, 5] : tensor<8x5xf16> -> tensor<4x5xf16>
  // CHECK-NEXT: %z_part = array.matmul %x, %w_part : tensor<8x4xf16>, tensor<4x5xf16> -> tensor<8x5xf32>
  // CHECK-NEXT: %z_part_1 = array.matmul %y, %w_part_1 : tensor<8x4xf16>, tensor<4x5xf16> -> tensor<8x5xf32>
  // CHECK-NEXT: %z = array.elementwise ([[v0:%\d+]] = %z_part, [[v1:%\d+]] = %z_part_1) : tensor<8x5xf32>, tensor<8x5xf32> -> tensor<8x5xf16> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   [[v3:%\d+]] = arith.truncf [[v2]] : f32 to f16
  // CHECK-NEXT:   array.yield [[v3]] : f16
  // CHECK-NEXT: }
  // CHECK-NEXT: %x_wide = array.elementwise ([[v4:%\d+]] = %x) : tensor<8x4xf16> -> tensor<8x4xf32> {
  // CHECK-NEXT:   [[v5:%\d+]] = arith.extf [[v4]] : f16 to f32
  // CHECK-NEXT:   array.yield [[v5]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_part = array.reduce sum %x_wide axes [1] : tensor<8x4xf32> -> tensor<8xf32>
  // CHECK-NEXT: %y_wide = array.elementwise ([[v6:%\d+]] = %y) : tensor<8x4xf16> -> tensor<8x4xf32> {
  // CHECK-NEXT:   [[v7:%\d+]] = arith.extf [[v6]] : f16 to f32
  // CHECK-NEXT:   array.yield [[v7]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_part_1 = array.reduce sum %y_wide axes [1] : tensor<8x4xf32> -> tensor<8xf32>
  // CHECK-NEXT: %s = array.elementwise ([[v8:%\d+]] = %s_part, [[v9:%\d+]] = %s_part_1) : tensor<8xf32>, tensor<8xf32> -> tensor<8xf16> {
  // CHECK-NEXT:   [[v10:%\d+]] = arith.addf [[v8]], [[v9]] : f32
  // CHECK-NEXT:   [[v11:%\d+]] = arith.truncf [[v10]] : f32 to f16
  // CHECK-NEXT:   array.yield [[v11]] : f16
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z, %s : tensor<8x5xf16>, tensor<8xf16>
}

// Reductions along the axis and along another one; the other operand of the difference is sliced.
// CHECK-LABEL: func.func @reductions(
func.func @reductions(%x: tensor<4x8xi32>, %y: tensor<2x8xi32>, %b: tensor<6x8xi32>) -> (tensor<1x8xi32>, tensor<8xi32>, tensor<i32>) {
  %c = array.concat %x, %y axis 0 : tensor<4x8xi32>, tensor<2x8xi32> -> tensor<6x8xi32>
  %d = array.elementwise (%p = %c, %q = %b) : tensor<6x8xi32>, tensor<6x8xi32> -> tensor<6x8xi32> {
    %a = arith.subi %p, %q : i32
    array.yield %a : i32
  }
  %m = array.reduce max %d axes [0] keepdims : tensor<6x8xi32> -> tensor<1x8xi32>
  %n = array.reduce min %c axes [0] : tensor<6x8xi32> -> tensor<8xi32>
  %r = array.reduce sum %c axes [1] : tensor<6x8xi32> -> tensor<6xi32>
  %s = array.reduce sum %r axes [0] : tensor<6xi32> -> tensor<i32>
  func.return %m, %n, %s : tensor<1x8xi32>, tensor<8xi32>, tensor<i32>
  // CHECK-NEXT: %b_part = array.slice %b offsets [0, 0] sizes [4, 8] : tensor<6x8xi32> -> tensor<4x8xi32>
  // CHECK-NEXT: %b_part_1 = array.slice %b offsets [4, 0] sizes [2, 8] : tensor<6x8xi32> -> tensor<2x8xi32>
  // CHECK-NEXT: %d = array.elementwise (%p = %x, %q = %b_part) : tensor<4x8xi32>, tensor<4x8xi32> -> tensor<4x8xi32> {
  // CHECK-NEXT:   %a = arith.subi %p, %q : i32
  // CHECK-NEXT:   array.yield %a : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: %d_1 = array.elementwise (%p_1 = %y, %q_1 = %b_part_1) : tensor<2x8xi32>, tensor<2x8xi32> -> tensor<2x8xi32> {
  // CHECK-NEXT:   %a_1 = arith.subi %p_1, %q_1 : i32
  // CHECK-NEXT:   array.yield %a_1 : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: %m_part = array.reduce max %d axes [0] keepdims : tensor<4x8xi32> -> tensor<1x8xi32>
  // CHECK-NEXT: %m_part_1 = array.reduce max %d_1 axes [0] keepdims : tensor<2x8xi32> -> tensor<1x8xi32>
  // CHECK-NEXT: %m = array.elementwise ([[v0:%\d+]] = %m_part, [[v1:%\d+]] = %m_part_1) : tensor<1x8xi32>, tensor<1x8xi32> -> tensor<1x8xi32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.maxsi [[v0]], [[v1]] : i32
  // CHECK-NEXT:   array.yield [[v2]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: %n_part = array.reduce min %x axes [0] : tensor<4x8xi32> -> tensor<8xi32>
  // CHECK-NEXT: %n_part_1 = array.reduce min %y axes [0] : tensor<2x8xi32> -> tensor<8xi32>
  // CHECK-NEXT: %n = array.elementwise ([[v3:%\d+]] = %n_part, [[v4:%\d+]] = %n_part_1) : tensor<8xi32>, tensor<8xi32> -> tensor<8xi32> {
  // CHECK-NEXT:   [[v5:%\d+]] = arith.minsi [[v3]], [[v4]] : i32
  // CHECK-NEXT:   array.yield [[v5]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = array.reduce sum %x axes [1] : tensor<4x8xi32> -> tensor<4xi32>
  // CHECK-NEXT: %r_1 = array.reduce sum %y axes [1] : tensor<2x8xi32> -> tensor<2xi32>
  // CHECK-NEXT: %s_part = array.reduce sum %r axes [0] : tensor<4xi32> -> tensor<i32>
  // CHECK-NEXT: %s_part_1 = array.reduce sum %r_1 axes [0] : tensor<2xi32> -> tensor<i32>
  // CHECK-NEXT: %s = array.elementwise ([[v6:%\d+]] = %s_part, [[v7:%\d+]] = %s_part_1) : tensor<i32>, tensor<i32> -> tensor<i32> {
  // CHECK-NEXT:   [[v8:%\d+]] = arith.addi [[v6]], [[v7]] : i32
  // CHECK-NEXT:   array.yield [[v8]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %m, %n, %s : tensor<1x8xi32>, tensor<8xi32>, tensor<i32>
}

// Along the columns and rows of a product, which are summed over next.
// CHECK-LABEL: func.func @products(
func.func @products(%x: tensor<8x4xf32>, %w0: tensor<4x6xf32>, %w1: tensor<4x6xf32>, %v: tensor<12x5xf32>) -> tensor<8x5xf32> {
  %w = array.concat %w0, %w1 axis 1 : tensor<4x6xf32>, tensor<4x6xf32> -> tensor<4x12xf32>
  %h = array.matmul %x, %w : tensor<8x4xf32>, tensor<4x12xf32> -> tensor<8x12xf32>
  %z = array.matmul %h, %v : tensor<8x12xf32>, tensor<12x5xf32> -> tensor<8x5xf32>
  func.return %z : tensor<8x5xf32>
  // CHECK-NEXT: %v_part = array.slice %v offsets [0, 0] sizes [6, 5] : tensor<12x5xf32> -> tensor<6x5xf32>
  // CHECK-NEXT: %v_part_1 = array.slice %v offsets [6, 0] sizes [6, 5] : tensor<12x5xf32> -> tensor<6x5xf32>
  // CHECK-NEXT: %h = array.matmul %x, %w0 : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  // CHECK-NEXT: %h_1 = array.matmul %x, %w1 : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  // CHECK-NEXT: %z_part = array.matmul %h, %v_part : tensor<8x6xf32>, tensor<6x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z_part_1 = array.matmul %h_1, %v_part_1 : tensor<8x6xf32>, tensor<6x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z = array.elementwise ([[v0:%\d+]] = %z_part, [[v1:%\d+]] = %z_part_1) : tensor<8x5xf32>, tensor<8x5xf32> -> tensor<8x5xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z : tensor<8x5xf32>
}

// Merged with another axis, a piece is a factor of what is summed over: rotary positions by pairs.
// CHECK-LABEL: func.func @factor_of_the_sum(
func.func @factor_of_the_sum(%x0: tensor<8x3x1xf32>, %x1: tensor<8x3x1xf32>, %w: tensor<6x5xf32>) -> tensor<8x5xf32> {
  %c = array.concat %x0, %x1 axis 2 : tensor<8x3x1xf32>, tensor<8x3x1xf32> -> tensor<8x3x2xf32>
  %m = array.reshape %c : tensor<8x3x2xf32> -> tensor<8x6xf32>
  %z = array.matmul %m, %w : tensor<8x6xf32>, tensor<6x5xf32> -> tensor<8x5xf32>
  func.return %z : tensor<8x5xf32>
  // CHECK-NEXT: %w_factors = array.reshape %w : tensor<6x5xf32> -> tensor<3x2x5xf32>
  // CHECK-NEXT: %w_part = array.slice %w_factors offsets [0, 0, 0] sizes [3, 1, 5] : tensor<3x2x5xf32> -> tensor<3x1x5xf32>
  // CHECK-NEXT: %w_part_1 = array.reshape %w_part : tensor<3x1x5xf32> -> tensor<3x5xf32>
  // CHECK-NEXT: %w_part_2 = array.slice %w_factors offsets [0, 1, 0] sizes [3, 1, 5] : tensor<3x2x5xf32> -> tensor<3x1x5xf32>
  // CHECK-NEXT: %w_part_3 = array.reshape %w_part_2 : tensor<3x1x5xf32> -> tensor<3x5xf32>
  // CHECK-NEXT: %m = array.reshape %x0 : tensor<8x3x1xf32> -> tensor<8x3xf32>
  // CHECK-NEXT: %m_1 = array.reshape %x1 : tensor<8x3x1xf32> -> tensor<8x3xf32>
  // CHECK-NEXT: %z_part = array.matmul %m, %w_part_1 : tensor<8x3xf32>, tensor<3x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z_part_1 = array.matmul %m_1, %w_part_3 : tensor<8x3xf32>, tensor<3x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z = array.elementwise ([[v0:%\d+]] = %z_part, [[v1:%\d+]] = %z_part_1) : tensor<8x5xf32>, tensor<8x5xf32> -> tensor<8x5xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z : tensor<8x5xf32>
}

// A slice across the border is pushed up and leaves a smaller concat, which goes down.
// CHECK-LABEL: func.func @slice_of_concat(
func.func @slice_of_concat(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8xf32> {
  %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %s = array.slice %c offsets [0, 1] sizes [8, 6] : tensor<8x8xf32> -> tensor<8x6xf32>
  %r = array.reduce sum %s axes [1] : tensor<8x6xf32> -> tensor<8xf32>
  func.return %r : tensor<8xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [0, 1] sizes [8, 3] : tensor<8x4xf32> -> tensor<8x3xf32>
  // CHECK-NEXT: %y_part = array.slice %y offsets [0, 0] sizes [8, 3] : tensor<8x4xf32> -> tensor<8x3xf32>
  // CHECK-NEXT: %r_part = array.reduce sum %x_part axes [1] : tensor<8x3xf32> -> tensor<8xf32>
  // CHECK-NEXT: %r_part_1 = array.reduce sum %y_part axes [1] : tensor<8x3xf32> -> tensor<8xf32>
  // CHECK-NEXT: %r = array.elementwise ([[v0:%\d+]] = %r_part, [[v1:%\d+]] = %r_part_1) : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r : tensor<8xf32>
}

// An unknown extent is known to be the rest.
// CHECK-LABEL: func.func @unknown_last_piece(
func.func @unknown_last_piece(%x: tensor<8x4xf32>, %y: tensor<8x?xf32>, %w: tensor<?x5xf32>) -> tensor<8x5xf32> {
  %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x?xf32> -> tensor<8x?xf32>
  %z = array.matmul %c, %w : tensor<8x?xf32>, tensor<?x5xf32> -> tensor<8x5xf32>
  func.return %z : tensor<8x5xf32>
  // CHECK-NEXT: %w_part = array.slice %w offsets [0, 0] sizes [4, 5] : tensor<?x5xf32> -> tensor<4x5xf32>
  // CHECK-NEXT: %w_part_1 = array.slice %w offsets [4, 0] sizes [-1, 5] : tensor<?x5xf32> -> tensor<?x5xf32>
  // CHECK-NEXT: %z_part = array.matmul %x, %w_part : tensor<8x4xf32>, tensor<4x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z_part_1 = array.matmul %y, %w_part_1 : tensor<8x?xf32>, tensor<?x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z = array.elementwise ([[v0:%\d+]] = %z_part, [[v1:%\d+]] = %z_part_1) : tensor<8x5xf32>, tensor<8x5xf32> -> tensor<8x5xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %z : tensor<8x5xf32>
}

// Concats that stay.

// One use needs all of it.
// CHECK-LABEL: func.func @returned(
func.func @returned(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %r = array.reduce sum %c axes [1] : tensor<8x8xf32> -> tensor<8xf32>
  func.return %r, %c : tensor<8xf32>, tensor<8x8xf32>
  // CHECK-NEXT: %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  // CHECK-NEXT: %r = array.reduce sum %c axes [1] : tensor<8x8xf32> -> tensor<8xf32>
  // CHECK-NEXT: func.return %r, %c : tensor<8xf32>, tensor<8x8xf32>
}

// Other concats, of which only the pieces are needed, go none the less.
// CHECK-LABEL: func.func @cached_keys(
func.func @cached_keys(%q0: tensor<8x3xf32>, %q1: tensor<8x3xf32>, %k0: tensor<9x3xf32>, %k1: tensor<9x3xf32>) -> (tensor<8x9xf32>, tensor<9x6xf32>) {
  %q = array.concat %q0, %q1 axis 1 : tensor<8x3xf32>, tensor<8x3xf32> -> tensor<8x6xf32>
  %k = array.concat %k0, %k1 axis 1 : tensor<9x3xf32>, tensor<9x3xf32> -> tensor<9x6xf32>
  %s = array.matmul %q, %k transpose_b : tensor<8x6xf32>, tensor<9x6xf32> -> tensor<8x9xf32>
  func.return %s, %k : tensor<8x9xf32>, tensor<9x6xf32>
  // CHECK-NEXT: %k = array.concat %k0, %k1 axis 1 : tensor<9x3xf32>, tensor<9x3xf32> -> tensor<9x6xf32>
  // CHECK-NEXT: %s_part = array.matmul %q0, %k0 transpose_b : tensor<8x3xf32>, tensor<9x3xf32> -> tensor<8x9xf32>
  // CHECK-NEXT: %s_part_1 = array.matmul %q1, %k1 transpose_b : tensor<8x3xf32>, tensor<9x3xf32> -> tensor<8x9xf32>
  // CHECK-NEXT: %s = array.elementwise ([[v0:%\d+]] = %s_part, [[v1:%\d+]] = %s_part_1) : tensor<8x9xf32>, tensor<8x9xf32> -> tensor<8x9xf32> {
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addf [[v0]], [[v1]] : f32
  // CHECK-NEXT:   array.yield [[v2]] : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s, %k : tensor<8x9xf32>, tensor<9x6xf32>
}

// Slices of the other operand would have its product computed twice.
// CHECK-LABEL: func.func @other_operand(
func.func @other_operand(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %a: tensor<8x3xf32>, %b: tensor<3x5xf32>) -> (tensor<8x5xf32>, tensor<8x5xf32>) {
  %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %w = array.matmul %a, %b : tensor<8x3xf32>, tensor<3x5xf32> -> tensor<8x5xf32>
  %z = array.matmul %c, %w : tensor<8x8xf32>, tensor<8x5xf32> -> tensor<8x5xf32>
  func.return %z, %w : tensor<8x5xf32>, tensor<8x5xf32>
  // CHECK-NEXT: %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  // CHECK-NEXT: %w = array.matmul %a, %b : tensor<8x3xf32>, tensor<3x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: %z = array.matmul %c, %w : tensor<8x8xf32>, tensor<8x5xf32> -> tensor<8x5xf32>
  // CHECK-NEXT: func.return %z, %w : tensor<8x5xf32>, tensor<8x5xf32>
}

// CHECK-LABEL: func.func @opaque_use(
func.func @opaque_use(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8xf32> {
  %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  %r = array.custom @sum(%c) : (tensor<8x8xf32>) -> tensor<8xf32>
  func.return %r : tensor<8xf32>
  // CHECK-NEXT: %c = array.concat %x, %y axis 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
  // CHECK-NEXT: %r = array.custom @sum(%c) : (tensor<8x8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: func.return %r : tensor<8xf32>
}

// CHECK-LABEL: func.func @unknown_first_piece(
func.func @unknown_first_piece(%x: tensor<8x?xf32>, %y: tensor<8x4xf32>) -> tensor<8xf32> {
  %c = array.concat %x, %y axis 1 : tensor<8x?xf32>, tensor<8x4xf32> -> tensor<8x?xf32>
  %r = array.reduce sum %c axes [1] : tensor<8x?xf32> -> tensor<8xf32>
  func.return %r : tensor<8xf32>
  // CHECK-NEXT: %c = array.concat %x, %y axis 1 : tensor<8x?xf32>, tensor<8x4xf32> -> tensor<8x?xf32>
  // CHECK-NEXT: %r = array.reduce sum %c axes [1] : tensor<8x?xf32> -> tensor<8xf32>
  // CHECK-NEXT: func.return %r : tensor<8xf32>
}

// What says nothing, or what fewer operations say.

// CHECK-LABEL: func.func @folds(
func.func @folds(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<2x3xf32>, tensor<4x8xf32>) {
  %all = array.slice %x offsets [0, 0] sizes [4, 8] : tensor<4x8xf32> -> tensor<4x8xf32>
  %one = array.concat %all axis 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  %outer = array.slice %x offsets [1, 2] sizes [3, 5] : tensor<4x8xf32> -> tensor<3x5xf32>
  %inner = array.slice %outer offsets [1, 1] sizes [2, 3] : tensor<3x5xf32> -> tensor<2x3xf32>
  %a = array.slice %x offsets [0, 0] sizes [4, 3] : tensor<4x8xf32> -> tensor<4x3xf32>
  %b = array.slice %x offsets [0, 3] sizes [4, 1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %c = array.slice %x offsets [0, 4] sizes [4, 4] : tensor<4x8xf32> -> tensor<4x4xf32>
  %ab = array.concat %a, %b axis 1 : tensor<4x3xf32>, tensor<4x1xf32> -> tensor<4x4xf32>
  %abc = array.concat %ab, %c axis 1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x8xf32>
  func.return %one, %inner, %abc : tensor<4x8xf32>, tensor<2x3xf32>, tensor<4x8xf32>
  // CHECK-NEXT: %inner = array.slice %x offsets [2, 3] sizes [2, 3] : tensor<4x8xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: func.return %x, %inner, %x : tensor<4x8xf32>, tensor<2x3xf32>, tensor<4x8xf32>
}

// Slices that do not touch, or not in this order, stay apart.
// CHECK-LABEL: func.func @no_neighbours(
func.func @no_neighbours(%x: tensor<4x8xf32>) -> tensor<4x6xf32> {
  %a = array.slice %x offsets [0, 0] sizes [4, 3] : tensor<4x8xf32> -> tensor<4x3xf32>
  %b = array.slice %x offsets [0, 3] sizes [4, 3] : tensor<4x8xf32> -> tensor<4x3xf32>
  %c = array.concat %b, %a axis 1 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x6xf32>
  func.return %c : tensor<4x6xf32>
  // CHECK-NEXT: %a = array.slice %x offsets [0, 0] sizes [4, 3] : tensor<4x8xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: %b = array.slice %x offsets [0, 3] sizes [4, 3] : tensor<4x8xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: %c = array.concat %b, %a axis 1 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x6xf32>
  // CHECK-NEXT: func.return %c : tensor<4x6xf32>
}
