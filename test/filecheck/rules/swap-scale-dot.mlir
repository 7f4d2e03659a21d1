// RUN: bb-opt %s -p "block-apply{rules=swap-scale-dot}" | filecheck %s

!A = !block.block<M x K x f32>
!B = !block.block<N x K x f32>
!T = !block.block<M x N x f32>
!C = !block.vector<M x f32>
!G = !block.vector<K x f32>
!D = !block.vector<N x f32>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<3, block = 2>, K = #block.dim<7, block = 4>}

// dot(row_scale(a, c), b)
//   -> row_scale(dot(a, b), c)
// CHECK-LABEL: func.func @left_operand(
func.func @left_operand(%a: !A, %b: !B, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32
  // CHECK-NEXT: %dot_1 = block.row_scale %dot, %c
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %s = block.row_scale %a, %c : !A, !C
  %dot = block.dot %s, %b acc f32 : !A, !B
  func.return %dot : !T
}

// A change of type between the scale and the contraction is no obstacle: a is contracted in f16 as before.
// CHECK-LABEL: func.func @left_operand_through_a_cast(
func.func @left_operand_through_a_cast(%a: !A, %b: !block.block<N x K x f16>, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %a_1 = block.elementwise (%0 = %a)
  // CHECK-NEXT: %1 = arith.truncf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %a_1, %b acc f32
  // CHECK-NEXT: %dot_1 = block.row_scale %dot, %c
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %s = block.row_scale %a, %c : !A, !C
  %h = block.elementwise (%e = %s) : !A -> !block.block<M x K x f16> {
    %0 = arith.truncf %e : f32 to f16
    block.yield %0 : f16
  }
  %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// A column scale stays: it has to be applied before the contraction.
// CHECK-LABEL: func.func @left_operand_not_columns(
func.func @left_operand_not_columns(%a: !A, %b: !B, %g: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.col_scale %a, %g
  // CHECK-NEXT: %dot = block.dot %s, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.col_scale %a, %g : !A, !G
  %dot = block.dot %s, %b acc f32 : !A, !B
  func.return %dot : !T
}

// The accumulator of integers is wider than they are, and the laws cast floats only.
// CHECK-LABEL: func.func @left_operand_not_integers(
func.func @left_operand_not_integers(%a: !block.block<M x K x i32>, %b: !block.block<N x K x i32>, %c: !block.vector<M x i32>) -> !block.block<M x N x i64> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %a, %c
  // CHECK-NEXT: %dot = block.dot %s, %b acc i64
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.row_scale %a, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %dot = block.dot %s, %b acc i64 : !block.block<M x K x i32>, !block.block<N x K x i32>
  func.return %dot : !block.block<M x N x i64>
}

// dot(a, row_scale(b, c))
//   -> col_scale(dot(a, b), c)
// CHECK-LABEL: func.func @right_operand(
func.func @right_operand(%a: !A, %b: !B, %c: !D) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32
  // CHECK-NEXT: %dot_1 = block.col_scale %dot, %c
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %s = block.row_scale %b, %c : !B, !D
  %dot = block.dot %a, %s acc f32 : !A, !B
  func.return %dot : !T
}

// CHECK-LABEL: func.func @right_operand_through_a_cast(
func.func @right_operand_through_a_cast(%a: !block.block<M x K x f16>, %b: !B, %c: !D) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %b_1 = block.elementwise (%0 = %b)
  // CHECK-NEXT: %1 = arith.truncf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %a, %b_1 acc f32
  // CHECK-NEXT: %dot_1 = block.col_scale %dot, %c
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %s = block.row_scale %b, %c : !B, !D
  %h = block.elementwise (%e = %s) : !B -> !block.block<N x K x f16> {
    %0 = arith.truncf %e : f32 to f16
    block.yield %0 : f16
  }
  %dot = block.dot %a, %h acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// CHECK-LABEL: func.func @right_operand_not_integers(
func.func @right_operand_not_integers(%a: !block.block<M x K x i32>, %b: !block.block<N x K x i32>, %c: !block.vector<N x i32>) -> !block.block<M x N x i64> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %b, %c
  // CHECK-NEXT: %dot = block.dot %a, %s acc i64
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.row_scale %b, %c : !block.block<N x K x i32>, !block.vector<N x i32>
  %dot = block.dot %a, %s acc i64 : !block.block<M x K x i32>, !block.block<N x K x i32>
  func.return %dot : !block.block<M x N x i64>
}

// row_sum(row_scale(x, c))
//   -> monomial(row_sum(x), c)
// CHECK-LABEL: func.func @row_sum(
func.func @row_sum(%x: !A, %c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.row_sum %x acc f32
  // CHECK-NEXT: %sum_1 = block.monomial %sum * %c
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %sum = block.row_sum %s acc f32 : !A
  func.return %sum : !C
}

// The vector takes part in the sum in the type of the sum.
// CHECK-LABEL: func.func @row_sum_accumulated_wider(
func.func @row_sum_accumulated_wider(%x: !A, %c: !C) -> !block.vector<M x f64> attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.row_sum %x acc f64
  // CHECK-NEXT: %c_1 = block.elementwise (%0 = %c)
  // CHECK-NEXT: %1 = arith.extf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %sum_1 = block.monomial %sum * %c_1
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %sum = block.row_sum %s acc f64 : !A
  func.return %sum : !block.vector<M x f64>
}

// CHECK-LABEL: func.func @row_sum_not_columns(
func.func @row_sum_not_columns(%x: !A, %g: !G) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.col_scale %x, %g
  // CHECK-NEXT: %sum = block.row_sum %s acc f32
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %s = block.col_scale %x, %g : !A, !G
  %sum = block.row_sum %s acc f32 : !A
  func.return %sum : !C
}

// CHECK-LABEL: func.func @row_sum_not_integers(
func.func @row_sum_not_integers(%x: !block.block<M x K x i32>, %c: !block.vector<M x i32>) -> !block.vector<M x i32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %sum = block.row_sum %s acc i32
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %sum = block.row_sum %s acc i32 : !block.block<M x K x i32>
  func.return %sum : !block.vector<M x i32>
}

// mul(row_scale(x, c), y)
//   -> row_scale(mul(x, y), c)
// CHECK-LABEL: func.func @product(
func.func @product(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %p = block.mul %x, %y
  // CHECK-NEXT: %p_1 = block.row_scale %p, %c
  // CHECK-NEXT: func.return %p_1
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %p = block.mul %s, %y : !A
  func.return %p : !A
}

// CHECK-LABEL: func.func @product_second_factor_by_columns(
func.func @product_second_factor_by_columns(%x: !A, %y: !A, %g: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %p = block.mul %x, %y
  // CHECK-NEXT: %p_1 = block.col_scale %p, %g
  // CHECK-NEXT: func.return %p_1
  // CHECK-NEXT: }
  %s = block.col_scale %y, %g : !A, !G
  %p = block.mul %x, %s : !A
  func.return %p : !A
}

// Declined where not: the other factor does not depend on the vector, so that no power of it comes out.
// A square has the scale twice.
// CHECK-LABEL: func.func @product_without_once(
func.func @product_without_once(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.mul %s, %s
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %p = block.mul %s, %s : !A
  func.return %p : !A
}

// linear k * row_scale(x, c)
//   -> row_scale(linear k * x, c)
// CHECK-LABEL: func.func @constant_factor(
func.func @constant_factor(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %0 = block.linear 1/8 * %x
  // CHECK-NEXT: %p = block.row_scale %0, %c
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %p = block.linear 1/8 * %s : !A
  func.return %p : !A
}

// In a form with more terms the scale belongs to one of them only.
// CHECK-LABEL: func.func @constant_factor_not_in_a_sum(
func.func @constant_factor_not_in_a_sum(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.linear 1/8 * %s + 2 * %y
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %p = block.linear 1/8 * %s + 2 * %y : !A
  func.return %p : !A
}

// add(row_scale(x, c), row_scale(y, c))
//   -> row_scale(add(x, y), c)
// CHECK-LABEL: func.func @sum_of_equal_scales(
func.func @sum_of_equal_scales(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.add %x, %y
  // CHECK-NEXT: %sum_1 = block.row_scale %sum, %c
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %t = block.row_scale %y, %c : !A, !C
  %sum = block.add %s, %t : !A
  func.return %sum : !A
}

// CHECK-LABEL: func.func @sum_of_equal_scales_by_columns(
func.func @sum_of_equal_scales_by_columns(%x: !A, %y: !A, %g: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %sum = block.add %x, %y
  // CHECK-NEXT: %sum_1 = block.col_scale %sum, %g
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %s = block.col_scale %x, %g : !A, !G
  %t = block.col_scale %y, %g : !A, !G
  %sum = block.add %s, %t : !A
  func.return %sum : !A
}

// Declined where not: both are scaled by the same vector, and so along the same axis.
// CHECK-LABEL: func.func @sum_of_equal_scales_without_same_vector(
func.func @sum_of_equal_scales_without_same_vector(%x: !A, %y: !A, %c: !C, %d: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %t = block.row_scale %y, %d
  // CHECK-NEXT: %sum = block.add %s, %t
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %t = block.row_scale %y, %d : !A, !C
  %sum = block.add %s, %t : !A
  func.return %sum : !A
}
