// RUN: bb-opt %s -p array-simplify-views | filecheck %s

// Slices go up to the arguments.

// A broadcast operand has nothing to slice; one axis of extent 1 stays.
// CHECK-LABEL: func.func @elementwise(
func.func @elementwise(%x: tensor<8x16xf32>, %r: tensor<8x1xf32>, %c: tensor<16xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %y, %z = array.elementwise (%p = %x, %q = %r, %s = %c) : tensor<8x16xf32>, tensor<8x1xf32>, tensor<16xf32> -> tensor<8x16xf32>, tensor<8x16xf32> {
    %a = arith.mulf %p, %q : f32
    %b = arith.addf %a, %s : f32
    array.yield %a, %b : f32, f32
  }
  %u = array.slice %y offsets [0, 4] sizes [8, 4] : tensor<8x16xf32> -> tensor<8x4xf32>
  %v = array.slice %z offsets [0, 4] sizes [8, 4] : tensor<8x16xf32> -> tensor<8x4xf32>
  func.return %u, %v : tensor<8x4xf32>, tensor<8x4xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [0, 4] sizes [8, 4] : tensor<8x16xf32> -> tensor<8x4xf32>
  // CHECK-NEXT: %c_part = array.slice %c offsets [4] sizes [4] : tensor<16xf32> -> tensor<4xf32>
  // CHECK-NEXT: %u, %v = array.elementwise (%p = %x_part, %q = %r, %s = %c_part) : tensor<8x4xf32>, tensor<8x1xf32>, tensor<4xf32> -> tensor<8x4xf32>, tensor<8x4xf32> {
  // CHECK-NEXT:   %a = arith.mulf %p, %q : f32
  // CHECK-NEXT:   %b = arith.addf %a, %s : f32
  // CHECK-NEXT:   array.yield %a, %b : f32, f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %u, %v : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @transpose_and_broadcast(
func.func @transpose_and_broadcast(%x: tensor<8x16xf32>) -> (tensor<2x16x3xf32>, tensor<16x3xf32>) {
  %t = array.transpose %x perm [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  %b = array.broadcast %t : tensor<16x8xf32> -> tensor<4x16x8xf32>
  %s = array.slice %b offsets [1, 0, 5] sizes [2, 16, 3] : tensor<4x16x8xf32> -> tensor<2x16x3xf32>
  %u = array.slice %t offsets [0, 5] sizes [16, 3] : tensor<16x8xf32> -> tensor<16x3xf32>
  func.return %s, %u : tensor<2x16x3xf32>, tensor<16x3xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [5, 0] sizes [3, 16] : tensor<8x16xf32> -> tensor<3x16xf32>
  // CHECK-NEXT: %t = array.transpose %x perm [1, 0] : tensor<8x16xf32> -> tensor<16x8xf32>
  // CHECK-NEXT: %t_1 = array.transpose %x_part perm [1, 0] : tensor<3x16xf32> -> tensor<16x3xf32>
  // CHECK-NEXT: %s = array.broadcast %t_1 : tensor<16x3xf32> -> tensor<2x16x3xf32>
  // CHECK-NEXT: %u = array.slice %t offsets [0, 5] sizes [16, 3] : tensor<16x8xf32> -> tensor<16x3xf32>
  // CHECK-NEXT: func.return %s, %u : tensor<2x16x3xf32>, tensor<16x3xf32>
}

// Rows of the left operand, columns of the right one, both where they have the batch axis.
// CHECK-LABEL: func.func @matmul(
func.func @matmul(%x: tensor<3x5x8x4xf32>, %w: tensor<5x6x4xf32>) -> (tensor<3x2x8x6xf32>, tensor<3x2x2x1xf32>) {
  %y = array.matmul %x, %w transpose_b : tensor<3x5x8x4xf32>, tensor<5x6x4xf32> -> tensor<3x5x8x6xf32>
  %s = array.slice %y offsets [0, 1, 0, 0] sizes [3, 2, 8, 6] : tensor<3x5x8x6xf32> -> tensor<3x2x8x6xf32>
  %t = array.slice %y offsets [0, 3, 4, 5] sizes [3, 2, 2, 1] : tensor<3x5x8x6xf32> -> tensor<3x2x2x1xf32>
  func.return %s, %t : tensor<3x2x8x6xf32>, tensor<3x2x2x1xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [0, 1, 0, 0] sizes [3, 2, 8, 4] : tensor<3x5x8x4xf32> -> tensor<3x2x8x4xf32>
  // CHECK-NEXT: %x_part_1 = array.slice %x offsets [0, 3, 4, 0] sizes [3, 2, 2, 4] : tensor<3x5x8x4xf32> -> tensor<3x2x2x4xf32>
  // CHECK-NEXT: %w_part = array.slice %w offsets [1, 0, 0] sizes [2, 6, 4] : tensor<5x6x4xf32> -> tensor<2x6x4xf32>
  // CHECK-NEXT: %w_part_1 = array.slice %w offsets [3, 5, 0] sizes [2, 1, 4] : tensor<5x6x4xf32> -> tensor<2x1x4xf32>
  // CHECK-NEXT: %s = array.matmul %x_part, %w_part transpose_b : tensor<3x2x8x4xf32>, tensor<2x6x4xf32> -> tensor<3x2x8x6xf32>
  // CHECK-NEXT: %t = array.matmul %x_part_1, %w_part_1 transpose_b : tensor<3x2x2x4xf32>, tensor<2x1x4xf32> -> tensor<3x2x2x1xf32>
  // CHECK-NEXT: func.return %s, %t : tensor<3x2x8x6xf32>, tensor<3x2x2x1xf32>
}

// CHECK-LABEL: func.func @reduce(
func.func @reduce(%x: tensor<8x16x4xf16>) -> (tensor<3xf16>, tensor<3x1x4xf16>) {
  %r = array.reduce sum %x axes [1, 2] acc f64 : tensor<8x16x4xf16> -> tensor<8xf16>
  %m = array.reduce max %x axes [1] keepdims : tensor<8x16x4xf16> -> tensor<8x1x4xf16>
  %s = array.slice %r offsets [5] sizes [3] : tensor<8xf16> -> tensor<3xf16>
  %t = array.slice %m offsets [5, 0, 0] sizes [3, 1, 4] : tensor<8x1x4xf16> -> tensor<3x1x4xf16>
  func.return %s, %t : tensor<3xf16>, tensor<3x1x4xf16>
  // CHECK-NEXT: %x_part = array.slice %x offsets [5, 0, 0] sizes [3, 16, 4] : tensor<8x16x4xf16> -> tensor<3x16x4xf16>
  // CHECK-NEXT: %s = array.reduce sum %x_part axes [1, 2] acc f64 : tensor<3x16x4xf16> -> tensor<3xf16>
  // CHECK-NEXT: %t = array.reduce max %x_part axes [1] keepdims : tensor<3x16x4xf16> -> tensor<3x1x4xf16>
  // CHECK-NEXT: func.return %s, %t : tensor<3xf16>, tensor<3x1x4xf16>
}

// Features 16 to 32 of every head are a factor of the columns of the weights.
// CHECK-LABEL: func.func @factor_of_an_axis(
func.func @factor_of_an_axis(%x: tensor<8x24xf32>, %w: tensor<24x192xf32>) -> (tensor<6x8x16xf32>, tensor<6x8x16xf32>) {
  %rows = array.matmul %x, %w : tensor<8x24xf32>, tensor<24x192xf32> -> tensor<8x192xf32>
  %split = array.reshape %rows : tensor<8x192xf32> -> tensor<8x6x32xf32>
  %heads = array.transpose %split perm [1, 0, 2] : tensor<8x6x32xf32> -> tensor<6x8x32xf32>
  %first = array.slice %heads offsets [0, 0, 0] sizes [6, 8, 16] : tensor<6x8x32xf32> -> tensor<6x8x16xf32>
  %second = array.slice %heads offsets [0, 0, 16] sizes [6, 8, 16] : tensor<6x8x32xf32> -> tensor<6x8x16xf32>
  func.return %first, %second : tensor<6x8x16xf32>, tensor<6x8x16xf32>
  // CHECK-NEXT: %w_factors = array.reshape %w : tensor<24x192xf32> -> tensor<24x6x32xf32>
  // CHECK-NEXT: %w_part = array.slice %w_factors offsets [0, 0, 0] sizes [24, 6, 16] : tensor<24x6x32xf32> -> tensor<24x6x16xf32>
  // CHECK-NEXT: %w_part_1 = array.reshape %w_part : tensor<24x6x16xf32> -> tensor<24x96xf32>
  // CHECK-NEXT: %w_part_2 = array.slice %w_factors offsets [0, 0, 16] sizes [24, 6, 16] : tensor<24x6x32xf32> -> tensor<24x6x16xf32>
  // CHECK-NEXT: %w_part_3 = array.reshape %w_part_2 : tensor<24x6x16xf32> -> tensor<24x96xf32>
  // CHECK-NEXT: %rows = array.matmul %x, %w_part_1 : tensor<8x24xf32>, tensor<24x96xf32> -> tensor<8x96xf32>
  // CHECK-NEXT: %rows_1 = array.matmul %x, %w_part_3 : tensor<8x24xf32>, tensor<24x96xf32> -> tensor<8x96xf32>
  // CHECK-NEXT: %split = array.reshape %rows : tensor<8x96xf32> -> tensor<8x6x16xf32>
  // CHECK-NEXT: %split_1 = array.reshape %rows_1 : tensor<8x96xf32> -> tensor<8x6x16xf32>
  // CHECK-NEXT: %first = array.transpose %split perm [1, 0, 2] : tensor<8x6x16xf32> -> tensor<6x8x16xf32>
  // CHECK-NEXT: %second = array.transpose %split_1 perm [1, 0, 2] : tensor<8x6x16xf32> -> tensor<6x8x16xf32>
  // CHECK-NEXT: func.return %first, %second : tensor<6x8x16xf32>, tensor<6x8x16xf32>
}

// A slice of merged axes is a box of them: whole rows, or a part of one row.
// CHECK-LABEL: func.func @merged_axes(
func.func @merged_axes(%x: tensor<6x32xf32>) -> (tensor<64xf32>, tensor<8xf32>) {
  %e = array.elementwise (%p = %x) : tensor<6x32xf32> -> tensor<6x32xf32> {
    %a = math.exp %p : f32
    array.yield %a : f32
  }
  %flat = array.reshape %e : tensor<6x32xf32> -> tensor<192xf32>
  %rows = array.slice %flat offsets [64] sizes [64] : tensor<192xf32> -> tensor<64xf32>
  %part = array.slice %flat offsets [40] sizes [8] : tensor<192xf32> -> tensor<8xf32>
  func.return %rows, %part : tensor<64xf32>, tensor<8xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [2, 0] sizes [2, 32] : tensor<6x32xf32> -> tensor<2x32xf32>
  // CHECK-NEXT: %x_part_1 = array.slice %x offsets [1, 8] sizes [1, 8] : tensor<6x32xf32> -> tensor<1x8xf32>
  // CHECK-NEXT: %e = array.elementwise (%p = %x_part) : tensor<2x32xf32> -> tensor<2x32xf32> {
  // CHECK-NEXT:   %a = math.exp %p : f32
  // CHECK-NEXT:   array.yield %a : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %e_1 = array.elementwise (%p_1 = %x_part_1) : tensor<1x8xf32> -> tensor<1x8xf32> {
  // CHECK-NEXT:   %a_1 = math.exp %p_1 : f32
  // CHECK-NEXT:   array.yield %a_1 : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %rows = array.reshape %e : tensor<2x32xf32> -> tensor<64xf32>
  // CHECK-NEXT: %part = array.reshape %e_1 : tensor<1x8xf32> -> tensor<8xf32>
  // CHECK-NEXT: func.return %rows, %part : tensor<64xf32>, tensor<8xf32>
}

// Inside one piece, across a border, along another axis.
// CHECK-LABEL: func.func @concat(
func.func @concat(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x3xf32>, tensor<4x8xf32>, tensor<1x16xf32>) {
  %c = array.concat %x, %y axis 1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  %inside = array.slice %c offsets [0, 9] sizes [4, 3] : tensor<4x16xf32> -> tensor<4x3xf32>
  %across = array.slice %c offsets [0, 4] sizes [4, 8] : tensor<4x16xf32> -> tensor<4x8xf32>
  %row = array.slice %c offsets [2, 0] sizes [1, 16] : tensor<4x16xf32> -> tensor<1x16xf32>
  func.return %inside, %across, %row : tensor<4x3xf32>, tensor<4x8xf32>, tensor<1x16xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [0, 4] sizes [4, 4] : tensor<4x8xf32> -> tensor<4x4xf32>
  // CHECK-NEXT: %x_part_1 = array.slice %x offsets [2, 0] sizes [1, 8] : tensor<4x8xf32> -> tensor<1x8xf32>
  // CHECK-NEXT: %inside = array.slice %y offsets [0, 1] sizes [4, 3] : tensor<4x8xf32> -> tensor<4x3xf32>
  // CHECK-NEXT: %y_part = array.slice %y offsets [0, 0] sizes [4, 4] : tensor<4x8xf32> -> tensor<4x4xf32>
  // CHECK-NEXT: %y_part_1 = array.slice %y offsets [2, 0] sizes [1, 8] : tensor<4x8xf32> -> tensor<1x8xf32>
  // CHECK-NEXT: %across = array.concat %x_part, %y_part axis 1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %row = array.concat %x_part_1, %y_part_1 axis 1 : tensor<1x8xf32>, tensor<1x8xf32> -> tensor<1x16xf32>
  // CHECK-NEXT: func.return %inside, %across, %row : tensor<4x3xf32>, tensor<4x8xf32>, tensor<1x16xf32>
}

// CHECK-LABEL: func.func @generators(
func.func @generators() -> (tensor<2x8xf32>, tensor<2x8xi32>, tensor<4x4xi32>) {
  %splat = array.constant dense<2.0> : tensor<4x8xf32>
  %iota = array.iota axis 1 : tensor<4x8xi32>
  %s = array.slice %splat offsets [1, 0] sizes [2, 8] : tensor<4x8xf32> -> tensor<2x8xf32>
  %i = array.slice %iota offsets [1, 0] sizes [2, 8] : tensor<4x8xi32> -> tensor<2x8xi32>
  %j = array.slice %iota offsets [0, 3] sizes [4, 4] : tensor<4x8xi32> -> tensor<4x4xi32>
  func.return %s, %i, %j : tensor<2x8xf32>, tensor<2x8xi32>, tensor<4x4xi32>
  // CHECK-NEXT: %s = array.constant dense<2.000000e+00> : tensor<2x8xf32>
  // CHECK-NEXT: %i = array.iota axis 1 : tensor<2x8xi32>
  // CHECK-NEXT: %iota = array.iota axis 1 : tensor<4x4xi32>
  // CHECK-NEXT: %j = array.elementwise ([[v0:%\d+]] = %iota) : tensor<4x4xi32> -> tensor<4x4xi32> {
  // CHECK-NEXT:   [[v1:%\d+]] = arith.constant 3 : i32
  // CHECK-NEXT:   [[v2:%\d+]] = arith.addi [[v0]], [[v1]] : i32
  // CHECK-NEXT:   array.yield [[v2]] : i32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s, %i, %j : tensor<2x8xf32>, tensor<2x8xi32>, tensor<4x4xi32>
}

// CHECK-LABEL: func.func @unknown_extents(
func.func @unknown_extents(%x: tensor<?x24xf32>, %w: tensor<24x?xf32>) -> tensor<?x?x3xf32> {
  %y = array.matmul %x, %w : tensor<?x24xf32>, tensor<24x?xf32> -> tensor<?x?xf32>
  %h = array.reshape %y : tensor<?x?xf32> -> tensor<?x?x8xf32>
  %s = array.slice %h offsets [2, 0, 5] sizes [-1, -1, 3] : tensor<?x?x8xf32> -> tensor<?x?x3xf32>
  func.return %s : tensor<?x?x3xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [2, 0] sizes [-1, 24] : tensor<?x24xf32> -> tensor<?x24xf32>
  // CHECK-NEXT: %w_factors = array.reshape %w : tensor<24x?xf32> -> tensor<24x?x8xf32>
  // CHECK-NEXT: %w_part = array.slice %w_factors offsets [0, 0, 5] sizes [24, -1, 3] : tensor<24x?x8xf32> -> tensor<24x?x3xf32>
  // CHECK-NEXT: %w_part_1 = array.reshape %w_part : tensor<24x?x3xf32> -> tensor<24x?xf32>
  // CHECK-NEXT: %y = array.matmul %x_part, %w_part_1 : tensor<?x24xf32>, tensor<24x?xf32> -> tensor<?x?xf32>
  // CHECK-NEXT: %s = array.reshape %y : tensor<?x?xf32> -> tensor<?x?x3xf32>
  // CHECK-NEXT: func.return %s : tensor<?x?x3xf32>
}

// What a custom operation makes, and a constant of several values, is there to be viewed.
// CHECK-LABEL: func.func @opaque_sources(
func.func @opaque_sources(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %e = array.elementwise (%p = %x) : tensor<8x4xf32> -> tensor<8x4xf32> {
    %a = math.exp %p : f32
    array.yield %a : f32
  }
  %o = array.custom @solve(%e) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %k = array.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %f = array.elementwise (%p = %o, %q = %k) : tensor<8x4xf32>, tensor<4xf32> -> tensor<8x4xf32> {
    %b = arith.addf %p, %q : f32
    array.yield %b : f32
  }
  %s = array.slice %f offsets [6, 0] sizes [2, 4] : tensor<8x4xf32> -> tensor<2x4xf32>
  func.return %s : tensor<2x4xf32>
  // CHECK-NEXT: %e = array.elementwise (%p = %x) : tensor<8x4xf32> -> tensor<8x4xf32> {
  // CHECK-NEXT:   %a = math.exp %p : f32
  // CHECK-NEXT:   array.yield %a : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %o = array.custom @solve(%e) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: %o_part = array.slice %o offsets [6, 0] sizes [2, 4] : tensor<8x4xf32> -> tensor<2x4xf32>
  // CHECK-NEXT: %k = array.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
  // CHECK-NEXT: %s = array.elementwise (%p_1 = %o_part, %q = %k) : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xf32> {
  // CHECK-NEXT:   %b = arith.addf %p_1, %q : f32
  // CHECK-NEXT:   array.yield %b : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %s : tensor<2x4xf32>
}

// Slices that stay.

// The whole product is needed too; so it would be computed twice.
// CHECK-LABEL: func.func @whole_is_needed(
func.func @whole_is_needed(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x6xf32>, tensor<8x3xf32>) {
  %y = array.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %s = array.slice %y offsets [0, 3] sizes [8, 3] : tensor<8x6xf32> -> tensor<8x3xf32>
  func.return %y, %s : tensor<8x6xf32>, tensor<8x3xf32>
  // CHECK-NEXT: %y = array.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  // CHECK-NEXT: %s = array.slice %y offsets [0, 3] sizes [8, 3] : tensor<8x6xf32> -> tensor<8x3xf32>
  // CHECK-NEXT: func.return %y, %s : tensor<8x6xf32>, tensor<8x3xf32>
}

// Two columns would be computed twice.
// CHECK-LABEL: func.func @overlap(
func.func @overlap(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %y = array.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  %s = array.slice %y offsets [0, 0] sizes [8, 4] : tensor<8x6xf32> -> tensor<8x4xf32>
  %t = array.slice %y offsets [0, 2] sizes [8, 4] : tensor<8x6xf32> -> tensor<8x4xf32>
  func.return %s, %t : tensor<8x4xf32>, tensor<8x4xf32>
  // CHECK-NEXT: %y = array.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
  // CHECK-NEXT: %s = array.slice %y offsets [0, 0] sizes [8, 4] : tensor<8x6xf32> -> tensor<8x4xf32>
  // CHECK-NEXT: %t = array.slice %y offsets [0, 2] sizes [8, 4] : tensor<8x6xf32> -> tensor<8x4xf32>
  // CHECK-NEXT: func.return %s, %t : tensor<8x4xf32>, tensor<8x4xf32>
}

// Composites wait for array-decompose.
// CHECK-LABEL: func.func @composite(
func.func @composite(%x: tensor<8x4xf32>) -> tensor<2x4xf32> {
  %y = array.softmax %x axis 1 : tensor<8x4xf32>
  %s = array.slice %y offsets [6, 0] sizes [2, 4] : tensor<8x4xf32> -> tensor<2x4xf32>
  func.return %s : tensor<2x4xf32>
  // CHECK-NEXT: %y = array.softmax %x axis 1 : tensor<8x4xf32>
  // CHECK-NEXT: %s = array.slice %y offsets [6, 0] sizes [2, 4] : tensor<8x4xf32> -> tensor<2x4xf32>
  // CHECK-NEXT: func.return %s : tensor<2x4xf32>
}

// Elements 20 to 44 of six rows of 32 are no box.
// CHECK-LABEL: func.func @no_box(
func.func @no_box(%x: tensor<6x32xf32>) -> tensor<24xf32> {
  %e = array.elementwise (%p = %x) : tensor<6x32xf32> -> tensor<6x32xf32> {
    %a = math.exp %p : f32
    array.yield %a : f32
  }
  %flat = array.reshape %e : tensor<6x32xf32> -> tensor<192xf32>
  %s = array.slice %flat offsets [20] sizes [24] : tensor<192xf32> -> tensor<24xf32>
  func.return %s : tensor<24xf32>
  // CHECK-NEXT: %e = array.elementwise (%p = %x) : tensor<6x32xf32> -> tensor<6x32xf32> {
  // CHECK-NEXT:   %a = math.exp %p : f32
  // CHECK-NEXT:   array.yield %a : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %flat = array.reshape %e : tensor<6x32xf32> -> tensor<192xf32>
  // CHECK-NEXT: %s = array.slice %flat offsets [20] sizes [24] : tensor<192xf32> -> tensor<24xf32>
  // CHECK-NEXT: func.return %s : tensor<24xf32>
}

// Nobody knows where the second piece begins; along another axis that does not matter.
// CHECK-LABEL: func.func @unknown_border(
func.func @unknown_border(%x: tensor<?x4xf32>, %y: tensor<8x4xf32>) -> (tensor<3x4xf32>, tensor<?x1xf32>) {
  %c = array.concat %x, %y axis 0 : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x4xf32>
  %s = array.slice %c offsets [2, 0] sizes [3, 4] : tensor<?x4xf32> -> tensor<3x4xf32>
  %t = array.slice %c offsets [0, 3] sizes [-1, 1] : tensor<?x4xf32> -> tensor<?x1xf32>
  func.return %s, %t : tensor<3x4xf32>, tensor<?x1xf32>
  // CHECK-NEXT: %x_part = array.slice %x offsets [0, 3] sizes [-1, 1] : tensor<?x4xf32> -> tensor<?x1xf32>
  // CHECK-NEXT: %y_part = array.slice %y offsets [0, 3] sizes [8, 1] : tensor<8x4xf32> -> tensor<8x1xf32>
  // CHECK-NEXT: %c = array.concat %x, %y axis 0 : tensor<?x4xf32>, tensor<8x4xf32> -> tensor<?x4xf32>
  // CHECK-NEXT: %t = array.concat %x_part, %y_part axis 0 : tensor<?x1xf32>, tensor<8x1xf32> -> tensor<?x1xf32>
  // CHECK-NEXT: %s = array.slice %c offsets [2, 0] sizes [3, 4] : tensor<?x4xf32> -> tensor<3x4xf32>
  // CHECK-NEXT: func.return %s, %t : tensor<3x4xf32>, tensor<?x1xf32>
}

// Two unknown extents: a view that splits one of them could be read in two ways.
// CHECK-LABEL: func.func @ambiguous_view(
func.func @ambiguous_view(%x: tensor<?x?xf32>) -> tensor<?x3x?xf32> {
  %e = array.elementwise (%p = %x) : tensor<?x?xf32> -> tensor<?x?xf32> {
    %a = math.exp %p : f32
    array.yield %a : f32
  }
  %t = array.transpose %e perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  %h = array.reshape %t : tensor<?x?xf32> -> tensor<?x?x8xf32>
  %u = array.transpose %h perm [0, 2, 1] : tensor<?x?x8xf32> -> tensor<?x8x?xf32>
  %s = array.slice %u offsets [0, 5, 0] sizes [-1, 3, -1] : tensor<?x8x?xf32> -> tensor<?x3x?xf32>
  func.return %s : tensor<?x3x?xf32>
  // CHECK-NEXT: %e = array.elementwise (%p = %x) : tensor<?x?xf32> -> tensor<?x?xf32> {
  // CHECK-NEXT:   %a = math.exp %p : f32
  // CHECK-NEXT:   array.yield %a : f32
  // CHECK-NEXT: }
  // CHECK-NEXT: %t = array.transpose %e perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
  // CHECK-NEXT: %h = array.reshape %t : tensor<?x?xf32> -> tensor<?x?x8xf32>
  // CHECK-NEXT: %u = array.transpose %h perm [0, 2, 1] : tensor<?x?x8xf32> -> tensor<?x8x?xf32>
  // CHECK-NEXT: %s = array.slice %u offsets [0, 5, 0] sizes [-1, 3, -1] : tensor<?x8x?xf32> -> tensor<?x3x?xf32>
  // CHECK-NEXT: func.return %s : tensor<?x3x?xf32>
}
