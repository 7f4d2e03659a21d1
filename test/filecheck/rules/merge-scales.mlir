// RUN: bb-opt %s -p "block-apply{rules=merge-scales}" | filecheck %s

!A = !block.block<M x K x f32>
!C = !block.vector<M x f32>
!G = !block.vector<K x f32>
!Cs = !block.list<K, vector<M x f32>>
#dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, block = 4>}

// row_scale(row_scale(x, c), monomial(c ** -1, d))
//   -> row_scale(x, monomial(c, monomial(c ** -1, d)))
// CHECK-LABEL: func.func @scales(
func.func @scales(%x: !A, %c: !C, %d: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %e = block.monomial %c ** -1 * %d
  // CHECK-NEXT: %0 = block.monomial %c * %e
  // CHECK-NEXT: %t = block.row_scale %x, %0
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %e = block.monomial %c ** -1 * %d : !C
  %t = block.row_scale %s, %e : !A, !C
  func.return %t : !A
}

// CHECK-LABEL: func.func @scales_by_columns(
func.func @scales_by_columns(%x: !A, %c: !G, %d: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %e = block.monomial %c ** -2 * %d
  // CHECK-NEXT: %0 = block.monomial %e * %c
  // CHECK-NEXT: %t = block.col_scale %x, %0
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %e = block.monomial %c ** -2 * %d : !G
  %s = block.col_scale %x, %e : !A, !G
  %t = block.col_scale %s, %c : !A, !G
  func.return %t : !A
}

// Declined where not: a factor of one vector is a divisor in the other.
// CHECK-LABEL: func.func @scales_without_cancels(
func.func @scales_without_cancels(%x: !A, %c: !C, %d: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %t = block.row_scale %s, %d
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %t = block.row_scale %s, %d : !A, !C
  func.return %t : !A
}

// CHECK-LABEL: func.func @scales_not_integers(
func.func @scales_not_integers(%x: !block.block<M x K x i32>, %c: !block.vector<M x i32>, %d: !block.vector<M x i32>) -> !block.block<M x K x i32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %t = block.row_scale %s, %d
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %t = block.row_scale %s, %d : !block.block<M x K x i32>, !block.vector<M x i32>
  func.return %t : !block.block<M x K x i32>
}

// row_shift(row_shift(x, c), linear -1 * c + d)
//   -> row_shift(x, linear(c + linear(-1 * c + d)))
// CHECK-LABEL: func.func @shifts(
func.func @shifts(%x: !A, %c: !C, %d: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %e = block.linear -1 * %c + 1 * %d
  // CHECK-NEXT: %0 = block.linear 1 * %c + 1 * %e
  // CHECK-NEXT: %t = block.row_shift %x, %0
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %e = block.linear -1 * %c + 1 * %d : !C
  %t = block.row_shift %s, %e : !A, !C
  func.return %t : !A
}

// CHECK-LABEL: func.func @shifts_by_columns(
func.func @shifts_by_columns(%x: !A, %c: !G, %d: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %e = block.linear -2 * %c + 1 * %d
  // CHECK-NEXT: %0 = block.linear 1 * %e + 1 * %c
  // CHECK-NEXT: %t = block.col_shift %x, %0
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %e = block.linear -2 * %c + 1 * %d : !G
  %s = block.col_shift %x, %e : !A, !G
  %t = block.col_shift %s, %c : !A, !G
  func.return %t : !A
}

// Declined where not: a term of one vector is subtracted in the other.
// CHECK-LABEL: func.func @shifts_without_cancels(
func.func @shifts_without_cancels(%x: !A, %c: !C, %d: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %t = block.row_shift %s, %d
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %t = block.row_shift %s, %d : !A, !C
  func.return %t : !A
}

// CHECK-LABEL: func.func @shifts_not_integers(
func.func @shifts_not_integers(%x: !block.block<M x K x i32>, %c: !block.vector<M x i32>, %d: !block.vector<M x i32>) -> !block.block<M x K x i32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %t = block.row_shift %s, %d
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %t = block.row_shift %s, %d : !block.block<M x K x i32>, !block.vector<M x i32>
  func.return %t : !block.block<M x K x i32>
}

// col_scale(row_scale(x, c), g)
//   -> row_scale(col_scale(x, g), c)
// CHECK-LABEL: func.func @row_scale_outside(
func.func @row_scale_outside(%x: !A, %cs: !Cs, %g: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %0 = block.col_scale %x, %g
  // CHECK-NEXT: %t = block.row_scale %0, %c
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_scale %x, %c : !A, !C
  %t = block.col_scale %s, %g : !A, !G
  func.return %t : !A
}

// Declined where not: c depends on a reduced result, so that it can move on alone.
// CHECK-LABEL: func.func @row_scale_outside_without_demand(
func.func @row_scale_outside_without_demand(%x: !A, %c: !C, %g: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %t = block.col_scale %s, %g
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %t = block.col_scale %s, %g : !A, !G
  func.return %t : !A
}

// Declined where not: the items have the range of f32.
// CHECK-LABEL: func.func @row_scale_outside_without_range(
func.func @row_scale_outside_without_range(%x: !block.block<M x K x f16>, %cs: !block.list<K, vector<M x f16>>, %g: !block.vector<K x f16>) -> !block.block<M x K x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %t = block.col_scale %s, %g
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x f16>>
  %s = block.row_scale %x, %c : !block.block<M x K x f16>, !block.vector<M x f16>
  %t = block.col_scale %s, %g : !block.block<M x K x f16>, !block.vector<K x f16>
  func.return %t : !block.block<M x K x f16>
}

// bf16 has it.
// CHECK-LABEL: func.func @row_scale_outside_in_bf16(
func.func @row_scale_outside_in_bf16(%x: !block.block<M x K x bf16>, %cs: !block.list<K, vector<M x bf16>>, %g: !block.vector<K x bf16>) -> !block.block<M x K x bf16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %0 = block.col_scale %x, %g
  // CHECK-NEXT: %t = block.row_scale %0, %c
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x bf16>>
  %s = block.row_scale %x, %c : !block.block<M x K x bf16>, !block.vector<M x bf16>
  %t = block.col_scale %s, %g : !block.block<M x K x bf16>, !block.vector<K x bf16>
  func.return %t : !block.block<M x K x bf16>
}

// In this order they stay.
// CHECK-LABEL: func.func @row_scale_outside_not_again(
func.func @row_scale_outside_not_again(%x: !A, %c: !C, %g: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.col_scale %x, %g
  // CHECK-NEXT: %t = block.row_scale %s, %c
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.col_scale %x, %g : !A, !G
  %t = block.row_scale %s, %c : !A, !C
  func.return %t : !A
}

// row_shift(col_shift(x, d), c)
//   -> col_shift(row_shift(x, c), d)
// CHECK-LABEL: func.func @column_shift_outside(
func.func @column_shift_outside(%x: !A, %d: !G, %cs: !Cs) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %0 = block.row_shift %x, %c
  // CHECK-NEXT: %t = block.col_shift %0, %d
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.col_shift %x, %d : !A, !G
  %t = block.row_shift %s, %c : !A, !C
  func.return %t : !A
}

// Declined where not: c depends on a reduced result, so that it can move on alone.
// CHECK-LABEL: func.func @column_shift_outside_without_demand(
func.func @column_shift_outside_without_demand(%x: !A, %y: !G, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.col_shift %x, %y
  // CHECK-NEXT: %t = block.row_shift %s, %c
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.col_shift %x, %y : !A, !G
  %t = block.row_shift %s, %c : !A, !C
  func.return %t : !A
}

// CHECK-LABEL: func.func @column_shift_outside_not_again(
func.func @column_shift_outside_not_again(%x: !A, %d: !G, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %t = block.col_shift %s, %d
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %t = block.col_shift %s, %d : !A, !G
  func.return %t : !A
}

// row_scale(x, 1)
//   -> x
// CHECK-LABEL: func.func @by_one_by_zero(
func.func @by_one_by_zero(%x: !A) -> !A attributes {block.dims = {M = #block.dim<5, whole>, K = #block.dim<7>}} {
  // CHECK-NEXT: func.return %x
  // CHECK-NEXT: }
  %one = block.elementwise () -> !C {
    %0 = arith.constant 1.0 : f32
    block.yield %0 : f32
  }
  %t = block.row_scale %x, %one : !A, !C
  func.return %t : !A
}

// CHECK-LABEL: func.func @by_one_by_zero_shift(
func.func @by_one_by_zero_shift(%x: !A) -> !A attributes {block.dims = {M = #block.dim<5>, K = #block.dim<7, whole>}} {
  // CHECK-NEXT: func.return %x
  // CHECK-NEXT: }
  %zero = block.elementwise () -> !G {
    %0 = arith.constant 0.0 : f32
    block.yield %0 : f32
  }
  %t = block.col_shift %x, %zero : !A, !G
  func.return %t : !A
}

// A scale by zeros is no scale by ones, nor a shift by ones a shift by zeros.
// CHECK-LABEL: func.func @by_one_by_zero_not_the_other_way_round(
func.func @by_one_by_zero_not_the_other_way_round(%x: !A) -> !A attributes {block.dims = {M = #block.dim<5, whole>, K = #block.dim<7, whole>}} {
  // CHECK-NEXT: %zero = block.elementwise () -> !block.vector<K x f32>
  // CHECK-NEXT: %0 = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %one = block.elementwise () -> !block.vector<M x f32>
  // CHECK-NEXT: %1 = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.col_scale %x, %zero
  // CHECK-NEXT: %t = block.row_shift %s, %one
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %zero = block.elementwise () -> !G {
    %0 = arith.constant 0.0 : f32
    block.yield %0 : f32
  }
  %one = block.elementwise () -> !C {
    %0 = arith.constant 1.0 : f32
    block.yield %0 : f32
  }
  %s = block.col_scale %x, %zero : !A, !G
  %t = block.row_shift %s, %one : !A, !C
  func.return %t : !A
}
