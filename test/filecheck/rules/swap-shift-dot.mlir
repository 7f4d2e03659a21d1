// RUN: bb-opt %s -p "block-apply{rules=swap-shift-dot}" | filecheck %s

!A = !block.block<M x K x f32>
!B = !block.block<N x K x f32>
!T = !block.block<M x N x f32>
!C = !block.vector<M x f32>
!G = !block.vector<K x f32>
!D = !block.vector<N x f32>
!Cs = !block.list<K, vector<M x f32>>
!Ds = !block.list<K, vector<N x f32>>
!Xs = !block.list<K, block<M x K x f32>>
#dims = {M = #block.dim<5, block = 2>, N = #block.dim<3, block = 2>, K = #block.dim<7, block = 4>}

// dot(row_shift(a, c), b)
//   -> add(dot(a, b), outer(c, row_sum(b)))
// CHECK-LABEL: func.func @row_shift(
func.func @row_shift(%a: !A, %b: !B, %cs: !Cs) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32
  // CHECK-NEXT: %0 = block.row_sum %b acc f32
  // CHECK-NEXT: %1 = block.outer %c, %0
  // CHECK-NEXT: %dot_1 = block.add %dot, %1
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_shift %a, %c : !A, !C
  %dot = block.dot %s, %b acc f32 : !A, !B
  func.return %dot : !T
}

// CHECK-LABEL: func.func @row_shift_of_the_right_operand(
func.func @row_shift_of_the_right_operand(%a: !A, %b: !B, %ds: !Ds) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.reduce sum %ds
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32
  // CHECK-NEXT: %0 = block.row_sum %a acc f32
  // CHECK-NEXT: %1 = block.outer %0, %d
  // CHECK-NEXT: %dot_1 = block.add %dot, %1
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %d = block.reduce sum %ds : !Ds
  %s = block.row_shift %b, %d : !B, !D
  %dot = block.dot %a, %s acc f32 : !A, !B
  func.return %dot : !T
}

// Declined where not: the shift depends on a reduced result, so that the contraction would wait for a whole loop.
// CHECK-LABEL: func.func @row_shift_without_demand(
func.func @row_shift_without_demand(%x: !A, %b: !B, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %dot = block.dot %s, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %dot = block.dot %s, %b acc f32 : !A, !B
  func.return %dot : !T
}

// What is rounded to f16 without its shift is a number of f16.
// CHECK-LABEL: func.func @row_shift_through_a_cast(
func.func @row_shift_through_a_cast(%h: !block.block<M x K x f16>, %b: !block.block<N x K x f16>, %cs: !Cs) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %a = block.elementwise (%p = %h)
  // CHECK-NEXT: %z = arith.extf %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %a_1 = block.elementwise (%0 = %a)
  // CHECK-NEXT: %1 = arith.truncf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %a_1, %b acc f32
  // CHECK-NEXT: %2 = block.row_sum %b acc f32
  // CHECK-NEXT: %3 = block.outer %c, %2
  // CHECK-NEXT: %dot_1 = block.add %dot, %3
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %a = block.elementwise (%p = %h) : !block.block<M x K x f16> -> !A {
    %z = arith.extf %p : f16 to f32
    block.yield %z : f32
  }
  %s = block.row_shift %a, %c : !A, !C
  %t = block.elementwise (%p = %s) : !A -> !block.block<M x K x f16> {
    %z = arith.truncf %p : f32 to f16
    block.yield %z : f16
  }
  %dot = block.dot %t, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// Declined where not: where the operand is rounded to a narrower type, a is made of numbers of that type.
// CHECK-LABEL: func.func @row_shift_without_exact_below(
func.func @row_shift_without_exact_below(%a: !A, %b: !block.block<N x K x f16>, %cs: !Cs) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %a, %c
  // CHECK-NEXT: %t = block.elementwise (%p = %s)
  // CHECK-NEXT: %z = arith.truncf %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %t, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_shift %a, %c : !A, !C
  %t = block.elementwise (%p = %s) : !A -> !block.block<M x K x f16> {
    %z = arith.truncf %p : f32 to f16
    block.yield %z : f16
  }
  %dot = block.dot %t, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// CHECK-LABEL: func.func @row_shift_not_integers(
func.func @row_shift_not_integers(%a: !block.block<M x K x i32>, %b: !block.block<N x K x i32>, %cs: !block.list<K, vector<M x i32>>) -> !block.block<M x N x i64> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %a, %c
  // CHECK-NEXT: %dot = block.dot %s, %b acc i64
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x i32>>
  %s = block.row_shift %a, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %dot = block.dot %s, %b acc i64 : !block.block<M x K x i32>, !block.block<N x K x i32>
  func.return %dot : !block.block<M x N x i64>
}

// dot(col_shift(a, d), b)
//   -> col_shift(dot(a, b), row_sum(col_scale(b, d)))
// CHECK-LABEL: func.func @column_shift(
func.func @column_shift(%x: !A, %b: !B, %cs: !Cs, %d: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %a = block.row_scale %x, %c
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32
  // CHECK-NEXT: %0 = block.col_scale %b, %d
  // CHECK-NEXT: %1 = block.row_sum %0 acc f32
  // CHECK-NEXT: %dot_1 = block.col_shift %dot, %1
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %a = block.row_scale %x, %c : !A, !C
  %s = block.col_shift %a, %d : !A, !G
  %dot = block.dot %s, %b acc f32 : !A, !B
  func.return %dot : !T
}

// Declined where not: a depends on a reduced result, as normalised rows do: it can move on without the shift.
// CHECK-LABEL: func.func @column_shift_without_demand(
func.func @column_shift_without_demand(%x: !A, %b: !B, %c: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.col_shift %x, %c
  // CHECK-NEXT: %dot = block.dot %s, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.col_shift %x, %c : !A, !G
  %dot = block.dot %s, %b acc f32 : !A, !B
  func.return %dot : !T
}

// CHECK-LABEL: func.func @column_shift_of_the_right_operand(
func.func @column_shift_of_the_right_operand(%a: !A, %y: !B, %ds: !Ds, %d: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %e = block.reduce sum %ds
  // CHECK-NEXT: %b = block.row_scale %y, %e
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32
  // CHECK-NEXT: %0 = block.col_scale %a, %d
  // CHECK-NEXT: %1 = block.row_sum %0 acc f32
  // CHECK-NEXT: %dot_1 = block.row_shift %dot, %1
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %e = block.reduce sum %ds : !Ds
  %b = block.row_scale %y, %e : !B, !D
  %s = block.col_shift %b, %d : !B, !G
  %dot = block.dot %a, %s acc f32 : !A, !B
  func.return %dot : !T
}

// The product with the vector is formed in the type of the accumulator.
// CHECK-LABEL: func.func @column_shift_in_bf16(
func.func @column_shift_in_bf16(%x: !block.block<M x K x bf16>, %b: !block.block<N x K x bf16>, %cs: !block.list<K, vector<M x bf16>>, %d: !block.vector<K x bf16>) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %a = block.row_scale %x, %c
  // CHECK-NEXT: %dot = block.dot %a, %b acc f32
  // CHECK-NEXT: %b_1 = block.elementwise (%0 = %b)
  // CHECK-NEXT: %1 = arith.extf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %d_1 = block.elementwise (%2 = %d)
  // CHECK-NEXT: %3 = arith.extf %2
  // CHECK-NEXT: block.yield %3
  // CHECK-NEXT: }
  // CHECK-NEXT: %4 = block.col_scale %b_1, %d_1
  // CHECK-NEXT: %5 = block.row_sum %4 acc f32
  // CHECK-NEXT: %dot_1 = block.col_shift %dot, %5
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x bf16>>
  %a = block.row_scale %x, %c : !block.block<M x K x bf16>, !block.vector<M x bf16>
  %s = block.col_shift %a, %d : !block.block<M x K x bf16>, !block.vector<K x bf16>
  %dot = block.dot %s, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
  func.return %dot : !T
}

// Through a cast, too.
// CHECK-LABEL: func.func @column_shift_through_a_cast(
func.func @column_shift_through_a_cast(%a: !A, %b: !block.block<N x K x f16>, %cs: !Cs, %d: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %r = block.row_scale %a, %c
  // CHECK-NEXT: %r_1 = block.elementwise (%0 = %r)
  // CHECK-NEXT: %1 = arith.truncf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %r_1, %b acc f32
  // CHECK-NEXT: %b_1 = block.elementwise (%2 = %b)
  // CHECK-NEXT: %3 = arith.extf %2
  // CHECK-NEXT: block.yield %3
  // CHECK-NEXT: }
  // CHECK-NEXT: %4 = block.col_scale %b_1, %d
  // CHECK-NEXT: %5 = block.row_sum %4 acc f32
  // CHECK-NEXT: %dot_1 = block.col_shift %dot, %5
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %r = block.row_scale %a, %c : !A, !C
  %s = block.col_shift %r, %d : !A, !G
  %t = block.elementwise (%p = %s) : !A -> !block.block<M x K x f16> {
    %z = arith.truncf %p : f32 to f16
    block.yield %z : f16
  }
  %dot = block.dot %t, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// CHECK-LABEL: func.func @column_shift_not_integers(
func.func @column_shift_not_integers(%a: !block.block<M x K x i32>, %b: !block.block<N x K x i32>, %d: !block.vector<K x i32>) -> !block.block<M x N x i64> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.col_shift %a, %d
  // CHECK-NEXT: %dot = block.dot %s, %b acc i64
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.col_shift %a, %d : !block.block<M x K x i32>, !block.vector<K x i32>
  %dot = block.dot %s, %b acc i64 : !block.block<M x K x i32>, !block.block<N x K x i32>
  func.return %dot : !block.block<M x N x i64>
}

// dot(col_scale(row_shift(a, c), g), b)
//   -> add(dot(a, col_scale(b, g)), outer(c, row_sum(col_scale(b, g))))
// CHECK-LABEL: func.func @scaled_row_shift(
func.func @scaled_row_shift(%a: !A, %b: !B, %cs: !Cs, %g: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %b_1 = block.col_scale %b, %g
  // CHECK-NEXT: %dot = block.dot %a, %b_1 acc f32
  // CHECK-NEXT: %0 = block.row_sum %b_1 acc f32
  // CHECK-NEXT: %1 = block.outer %c, %0
  // CHECK-NEXT: %dot_1 = block.add %dot, %1
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_shift %a, %c : !A, !C
  %p = block.col_scale %s, %g : !A, !G
  %dot = block.dot %p, %b acc f32 : !A, !B
  func.return %dot : !T
}

// CHECK-LABEL: func.func @scaled_row_shift_of_the_right_operand(
func.func @scaled_row_shift_of_the_right_operand(%a: !A, %b: !B, %ds: !Ds, %g: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.reduce sum %ds
  // CHECK-NEXT: %a_1 = block.col_scale %a, %g
  // CHECK-NEXT: %dot = block.dot %a_1, %b acc f32
  // CHECK-NEXT: %0 = block.row_sum %a_1 acc f32
  // CHECK-NEXT: %1 = block.outer %0, %d
  // CHECK-NEXT: %dot_1 = block.add %dot, %1
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %d = block.reduce sum %ds : !Ds
  %s = block.row_shift %b, %d : !B, !D
  %p = block.col_scale %s, %g : !B, !G
  %dot = block.dot %a, %p acc f32 : !A, !B
  func.return %dot : !T
}

// Declined where not: the shift depends on a reduced result, so that the contraction would wait for a whole loop.
// CHECK-LABEL: func.func @scaled_row_shift_without_demand(
func.func @scaled_row_shift_without_demand(%x: !A, %b: !B, %c: !C, %g: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %p = block.col_scale %s, %g
  // CHECK-NEXT: %dot = block.dot %p, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %p = block.col_scale %s, %g : !A, !G
  %dot = block.dot %p, %b acc f32 : !A, !B
  func.return %dot : !T
}

// The product with the scale is formed in f32, and rounded once.
// CHECK-LABEL: func.func @scaled_row_shift_in_bf16(
func.func @scaled_row_shift_in_bf16(%a: !block.block<M x K x bf16>, %b: !block.block<N x K x bf16>, %cs: !block.list<K, vector<M x bf16>>, %g: !block.vector<K x bf16>) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %b_1 = block.elementwise (%0 = %b)
  // CHECK-NEXT: %1 = arith.extf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %g_1 = block.elementwise (%2 = %g)
  // CHECK-NEXT: %3 = arith.extf %2
  // CHECK-NEXT: block.yield %3
  // CHECK-NEXT: }
  // CHECK-NEXT: %b_2 = block.col_scale %b_1, %g_1
  // CHECK-NEXT: %b_3 = block.elementwise (%4 = %b_2)
  // CHECK-NEXT: %5 = arith.truncf %4
  // CHECK-NEXT: block.yield %5
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %a, %b_3 acc f32
  // CHECK-NEXT: %6 = block.row_sum %b_3 acc f32
  // CHECK-NEXT: %c_1 = block.elementwise (%7 = %c)
  // CHECK-NEXT: %8 = arith.extf %7
  // CHECK-NEXT: block.yield %8
  // CHECK-NEXT: }
  // CHECK-NEXT: %9 = block.outer %c_1, %6
  // CHECK-NEXT: %dot_1 = block.add %dot, %9
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x bf16>>
  %s = block.row_shift %a, %c : !block.block<M x K x bf16>, !block.vector<M x bf16>
  %p = block.col_scale %s, %g : !block.block<M x K x bf16>, !block.vector<K x bf16>
  %dot = block.dot %p, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
  func.return %dot : !T
}

// Declined where not: where the operand is rounded to a narrower type, a is made of numbers of that type.
// CHECK-LABEL: func.func @scaled_row_shift_without_exact_below(
func.func @scaled_row_shift_without_exact_below(%a: !A, %b: !block.block<N x K x bf16>, %cs: !Cs, %g: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %a, %c
  // CHECK-NEXT: %p = block.col_scale %s, %g
  // CHECK-NEXT: %t = block.elementwise (%e = %p)
  // CHECK-NEXT: %z = arith.truncf %e
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %t, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_shift %a, %c : !A, !C
  %p = block.col_scale %s, %g : !A, !G
  %t = block.elementwise (%e = %p) : !A -> !block.block<M x K x bf16> {
    %z = arith.truncf %e : f32 to bf16
    block.yield %z : bf16
  }
  %dot = block.dot %t, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
  func.return %dot : !T
}

// Declined where not: the type of b has the range of f32, so that no product with g loses digits.
// CHECK-LABEL: func.func @scaled_row_shift_without_range(
func.func @scaled_row_shift_without_range(%a: !block.block<M x K x f16>, %b: !block.block<N x K x f16>, %cs: !block.list<K, vector<M x f16>>, %g: !block.vector<K x f16>) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %a, %c
  // CHECK-NEXT: %p = block.col_scale %s, %g
  // CHECK-NEXT: %dot = block.dot %p, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x f16>>
  %s = block.row_shift %a, %c : !block.block<M x K x f16>, !block.vector<M x f16>
  %p = block.col_scale %s, %g : !block.block<M x K x f16>, !block.vector<K x f16>
  %dot = block.dot %p, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// CHECK-LABEL: func.func @scaled_row_shift_not_integers(
func.func @scaled_row_shift_not_integers(%a: !block.block<M x K x i32>, %b: !block.block<N x K x i32>, %cs: !block.list<K, vector<M x i32>>, %g: !block.vector<K x i32>) -> !block.block<M x N x i64> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %a, %c
  // CHECK-NEXT: %p = block.col_scale %s, %g
  // CHECK-NEXT: %dot = block.dot %p, %b acc i64
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x i32>>
  %s = block.row_shift %a, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %p = block.col_scale %s, %g : !block.block<M x K x i32>, !block.vector<K x i32>
  %dot = block.dot %p, %b acc i64 : !block.block<M x K x i32>, !block.block<N x K x i32>
  func.return %dot : !block.block<M x N x i64>
}

// Without a shift below it that waits, the column scale stays where it is.
// CHECK-LABEL: func.func @scaled_row_shift_not_of_a_mere_scale(
func.func @scaled_row_shift_not_of_a_mere_scale(%a: !A, %b: !B, %g: !G) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %p = block.col_scale %a, %g
  // CHECK-NEXT: %dot = block.dot %p, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %p = block.col_scale %a, %g : !A, !G
  %dot = block.dot %p, %b acc f32 : !A, !B
  func.return %dot : !T
}

// row_sum(row_shift(x, c))
//   -> linear row_sum(x) + width * c
// CHECK-LABEL: func.func @row_sum(
func.func @row_sum(%x: !A, %cs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %sum = block.row_sum %x acc f32
  // CHECK-NEXT: %sum_1 = block.linear 1 * %sum + 1 width(K) * %c
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_shift %x, %c : !A, !C
  %sum = block.row_sum %s acc f32 : !A
  func.return %sum : !C
}

// The last block is narrower than the others, and its true width counts.
// CHECK-LABEL: func.func @row_sum_of_ragged_blocks(
func.func @row_sum_of_ragged_blocks(%xs: !block.list<K, block<M x K x f32>>, %cs: !Cs) -> !block.list<K, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %sums = block.map @K (%xk = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %sum = block.row_sum %x acc f32
  // CHECK-NEXT: %sum_1 = block.linear 1 * %sum + 1 width(K) * %c
  // CHECK-NEXT: %o = block.store %sum_1
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sums
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %sums = block.map @K (%xk = %xs) -> (stack) : !block.list<K, block<M x K x f32>> {
    %x = block.load %xk : !block.block<M x K x f32, global>
    %s = block.row_shift %x, %c : !A, !C
    %sum = block.row_sum %s acc f32 : !A
    %o = block.store %sum : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %sums : !block.list<K, vector<M x f32>>
}

// CHECK-LABEL: func.func @row_sum_of_one_block(
func.func @row_sum_of_one_block(%x: !block.block<M x E x f32>, %cs: !block.list<E, vector<M x f32>>) -> !C attributes {block.dims = {M = #block.dim<5, block = 2>, E = #block.dim<6, block = 3>}} {
  // CHECK-NEXT: %c = block.reduce max %cs
  // CHECK-NEXT: %sum = block.row_sum %x acc f32
  // CHECK-NEXT: %sum_1 = block.linear 1 * %sum + 3 * %c
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %c = block.reduce max %cs : !block.list<E, vector<M x f32>>
  %s = block.row_shift %x, %c : !block.block<M x E x f32>, !C
  %sum = block.row_sum %s acc f32 : !block.block<M x E x f32>
  func.return %sum : !C
}

// Declined where not: the shift depends on a reduced result, so that the contraction would wait for a whole loop.
// CHECK-LABEL: func.func @row_sum_without_demand(
func.func @row_sum_without_demand(%x: !A, %c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %sum = block.row_sum %s acc f32
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %sum = block.row_sum %s acc f32 : !A
  func.return %sum : !C
}

// CHECK-LABEL: func.func @row_sum_not_integers(
func.func @row_sum_not_integers(%x: !block.block<M x K x i32>, %cs: !block.list<K, vector<M x i32>>) -> !block.vector<M x i32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %sum = block.row_sum %s acc i32
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x i32>>
  %s = block.row_shift %x, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %sum = block.row_sum %s acc i32 : !block.block<M x K x i32>
  func.return %sum : !block.vector<M x i32>
}

// row_sum(mul(row_shift(x, c), row_shift(x, d)))
//   -> linear row_sum(mul(x, x)) + d * row_sum(x) + c * row_sum(x) + width * c * d
// CHECK-LABEL: func.func @row_sum_of_a_product(
func.func @row_sum_of_a_product(%xs: !Xs) -> !block.list<K, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %cs = block.map @K (%xj = %xs) -> (stack)
  // CHECK-NEXT: %xj_1 = block.load %xj
  // CHECK-NEXT: %part = block.row_sum %xj_1 acc f32
  // CHECK-NEXT: %o = block.store %part
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %d = block.linear -1/7 * %c
  // CHECK-NEXT: %sums = block.map @K (%xk = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %0 = block.mul %x, %x
  // CHECK-NEXT: %sum = block.row_sum %0 acc f32
  // CHECK-NEXT: %1 = block.row_sum %x acc f32
  // CHECK-NEXT: %2 = block.monomial %1 * %d
  // CHECK-NEXT: %3 = block.monomial %1 * %c
  // CHECK-NEXT: %4 = block.monomial %c * %d
  // CHECK-NEXT: %sum_1 = block.linear 1 * %sum + 1 * %2 + 1 * %3 + 1 width(K) * %4
  // CHECK-NEXT: %o_1 = block.store %sum_1
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sums
  // CHECK-NEXT: }
  %cs = block.map @K (%xj = %xs) -> (stack) : !Xs {
    %xj_1 = block.load %xj : !block.block<M x K x f32, global>
    %part = block.row_sum %xj_1 acc f32 : !A
    %o_1 = block.store %part : !C
    block.yield %o_1 : !block.vector<M x f32, global>
  }
  %c = block.reduce sum %cs : !Cs
  %d = block.linear -1/7 * %c : !C
  %sums = block.map @K (%xk = %xs) -> (stack) : !Xs {
    %x = block.load %xk : !block.block<M x K x f32, global>
    %s = block.row_shift %x, %c : !A, !C
    %t = block.row_shift %x, %d : !A, !C
    %p = block.mul %s, %t : !A
    %sum = block.row_sum %p acc f32 : !A
    %o = block.store %sum : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %sums : !block.list<K, vector<M x f32>>
}

// The variance of a LayerNorm.
// CHECK-LABEL: func.func @row_sum_of_a_product_of_equals(
func.func @row_sum_of_a_product_of_equals(%xs: !Xs) -> !block.list<K, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %cs = block.map @K (%xj = %xs) -> (stack)
  // CHECK-NEXT: %xj_1 = block.load %xj
  // CHECK-NEXT: %part = block.row_sum %xj_1 acc f32
  // CHECK-NEXT: %o = block.store %part
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %sums = block.map @K (%xk = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %0 = block.mul %x, %x
  // CHECK-NEXT: %sum = block.row_sum %0 acc f32
  // CHECK-NEXT: %1 = block.row_sum %x acc f32
  // CHECK-NEXT: %2 = block.monomial %1 * %c
  // CHECK-NEXT: %3 = block.monomial %1 * %c
  // CHECK-NEXT: %4 = block.monomial %c * %c
  // CHECK-NEXT: %sum_1 = block.linear 1 * %sum + 1 * %2 + 1 * %3 + 1 width(K) * %4
  // CHECK-NEXT: %o_1 = block.store %sum_1
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sums
  // CHECK-NEXT: }
  %cs = block.map @K (%xj = %xs) -> (stack) : !Xs {
    %xj_1 = block.load %xj : !block.block<M x K x f32, global>
    %part = block.row_sum %xj_1 acc f32 : !A
    %o_1 = block.store %part : !C
    block.yield %o_1 : !block.vector<M x f32, global>
  }
  %c = block.reduce sum %cs : !Cs
  %sums = block.map @K (%xk = %xs) -> (stack) : !Xs {
    %x = block.load %xk : !block.block<M x K x f32, global>
    %s = block.row_shift %x, %c : !A, !C
    %p = block.mul %s, %s : !A
    %sum = block.row_sum %p acc f32 : !A
    %o = block.store %sum : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %sums : !block.list<K, vector<M x f32>>
}

// Declined where not: the shift depends on a reduced result, so that the contraction would wait for a whole loop.
// CHECK-LABEL: func.func @row_sum_of_a_product_without_demand(
func.func @row_sum_of_a_product_without_demand(%x: !A) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.row_sum %x acc f32
  // CHECK-NEXT: %m = block.linear -1/4 * %c
  // CHECK-NEXT: %s = block.row_shift %x, %m
  // CHECK-NEXT: %p = block.mul %s, %s
  // CHECK-NEXT: %sum = block.row_sum %p acc f32
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.row_sum %x acc f32 : !A
  %m = block.linear -1/4 * %c : !C
  %s = block.row_shift %x, %m : !A, !C
  %p = block.mul %s, %s : !A
  %sum = block.row_sum %p acc f32 : !A
  func.return %sum : !C
}

// Declined where not: the items have 32 bits or more.
// CHECK-LABEL: func.func @row_sum_of_a_product_without_wide(
func.func @row_sum_of_a_product_without_wide(%xs: !block.list<K, block<M x K x f16>>) -> !block.list<K, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %cs = block.map @K (%xj = %xs) -> (stack)
  // CHECK-NEXT: %xj_1 = block.load %xj
  // CHECK-NEXT: %part = block.row_sum %xj_1 acc f32
  // CHECK-NEXT: %o = block.store %part
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %sums = block.map @K (%xk = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %n = block.linear -1/7 * %c
  // CHECK-NEXT: %h = block.elementwise (%e = %n)
  // CHECK-NEXT: %z = arith.truncf %e
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.row_shift %x, %h
  // CHECK-NEXT: %p = block.mul %s, %s
  // CHECK-NEXT: %sum = block.row_sum %p acc f32
  // CHECK-NEXT: %o_1 = block.store %sum
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sums
  // CHECK-NEXT: }
  %cs = block.map @K (%xj = %xs) -> (stack) : !block.list<K, block<M x K x f16>> {
    %xj_1 = block.load %xj : !block.block<M x K x f16, global>
    %part = block.row_sum %xj_1 acc f32 : !block.block<M x K x f16>
    %o_1 = block.store %part : !C
    block.yield %o_1 : !block.vector<M x f32, global>
  }
  %c = block.reduce sum %cs : !Cs
  %sums = block.map @K (%xk = %xs) -> (stack) : !block.list<K, block<M x K x f16>> {
    %x = block.load %xk : !block.block<M x K x f16, global>
    %n = block.linear -1/7 * %c : !C
    %h = block.elementwise (%e = %n) : !C -> !block.vector<M x f16> {
      %z = arith.truncf %e : f32 to f16
      block.yield %z : f16
    }
    %s = block.row_shift %x, %h : !block.block<M x K x f16>, !block.vector<M x f16>
    %p = block.mul %s, %s : !block.block<M x K x f16>
    %sum = block.row_sum %p acc f32 : !block.block<M x K x f16>
    %o = block.store %sum : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %sums : !block.list<K, vector<M x f32>>
}

// Declined where not: both factors are one item, computed element by element from arrays, and c and d from its rows: `block-stabilize` gives it a pivot.
// CHECK-LABEL: func.func @row_sum_of_a_product_without_pivot(
func.func @row_sum_of_a_product_without_pivot(%x: !A, %cs: !Cs) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %p = block.mul %s, %s
  // CHECK-NEXT: %sum = block.row_sum %p acc f32
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_shift %x, %c : !A, !C
  %p = block.mul %s, %s : !A
  %sum = block.row_sum %p acc f32 : !A
  func.return %sum : !C
}

// The item is an exponential.
// CHECK-LABEL: func.func @row_sum_of_a_product_without_pivot_of_exponentials(
func.func @row_sum_of_a_product_without_pivot_of_exponentials(%xs: !Xs) -> !block.list<K, vector<M x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %cs = block.map @K (%xj = %xs) -> (stack)
  // CHECK-NEXT: %xj_1 = block.load %xj
  // CHECK-NEXT: %e = block.elementwise (%v = %xj_1)
  // CHECK-NEXT: %w = math.exp %v
  // CHECK-NEXT: block.yield %w
  // CHECK-NEXT: }
  // CHECK-NEXT: %part = block.row_sum %e acc f32
  // CHECK-NEXT: %o = block.store %part
  // CHECK-NEXT: block.yield %o
  // CHECK-NEXT: }
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %n = block.linear -1/7 * %c
  // CHECK-NEXT: %sums = block.map @K (%xk = %xs) -> (stack)
  // CHECK-NEXT: %x = block.load %xk
  // CHECK-NEXT: %f = block.elementwise (%v_1 = %x)
  // CHECK-NEXT: %w_1 = math.exp %v_1
  // CHECK-NEXT: block.yield %w_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.row_shift %f, %n
  // CHECK-NEXT: %p = block.mul %s, %s
  // CHECK-NEXT: %sum = block.row_sum %p acc f32
  // CHECK-NEXT: %o_1 = block.store %sum
  // CHECK-NEXT: block.yield %o_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %sums
  // CHECK-NEXT: }
  %cs = block.map @K (%xj = %xs) -> (stack) : !Xs {
    %xj_1 = block.load %xj : !block.block<M x K x f32, global>
    %e = block.elementwise (%v = %xj_1) : !A -> !A {
      %w = math.exp %v : f32
      block.yield %w : f32
    }
    %part = block.row_sum %e acc f32 : !A
    %o_1 = block.store %part : !C
    block.yield %o_1 : !block.vector<M x f32, global>
  }
  %c = block.reduce sum %cs : !Cs
  %n = block.linear -1/7 * %c : !C
  %sums = block.map @K (%xk = %xs) -> (stack) : !Xs {
    %x = block.load %xk : !block.block<M x K x f32, global>
    %f = block.elementwise (%v = %x) : !A -> !A {
      %w = math.exp %v : f32
      block.yield %w : f32
    }
    %s = block.row_shift %f, %n : !A, !C
    %p = block.mul %s, %s : !A
    %sum = block.row_sum %p acc f32 : !A
    %o = block.store %sum : !C
    block.yield %o : !block.vector<M x f32, global>
  }
  func.return %sums : !block.list<K, vector<M x f32>>
}

// CHECK-LABEL: func.func @row_sum_of_a_product_not_integers(
func.func @row_sum_of_a_product_not_integers(%x: !block.block<M x K x i32>, %cs: !block.list<K, vector<M x i32>>) -> !block.vector<M x i32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %p = block.mul %s, %s
  // CHECK-NEXT: %sum = block.row_sum %p acc i32
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x i32>>
  %s = block.row_shift %x, %c : !block.block<M x K x i32>, !block.vector<M x i32>
  %p = block.mul %s, %s : !block.block<M x K x i32>
  %sum = block.row_sum %p acc i32 : !block.block<M x K x i32>
  func.return %sum : !block.vector<M x i32>
}

// add(row_shift(x, c), y)
//   -> row_shift(add(x, y), c)
// CHECK-LABEL: func.func @sum(
func.func @sum(%x: !A, %y: !A, %cs: !Cs) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %sum = block.add %x, %y
  // CHECK-NEXT: %sum_1 = block.row_shift %sum, %c
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_shift %x, %c : !A, !C
  %sum = block.add %s, %y : !A
  func.return %sum : !A
}

// Declined where not: c depends on a reduced result, so that it can move on alone.
// CHECK-LABEL: func.func @sum_without_demand(
func.func @sum_without_demand(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %sum = block.add %s, %y
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %sum = block.add %s, %y : !A
  func.return %sum : !A
}

// CHECK-LABEL: func.func @sum_second_addend_by_columns(
func.func @sum_second_addend_by_columns(%x: !A, %y: !A, %gs: !block.list<M, vector<K x f32>>) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %d = block.reduce sum %gs
  // CHECK-NEXT: %sum = block.add %y, %x
  // CHECK-NEXT: %sum_1 = block.col_shift %sum, %d
  // CHECK-NEXT: func.return %sum_1
  // CHECK-NEXT: }
  %d = block.reduce sum %gs : !block.list<M, vector<K x f32>>
  %s = block.col_shift %y, %d : !A, !G
  %sum = block.add %x, %s : !A
  func.return %sum : !A
}

// linear k * row_shift(x, c)
//   -> row_shift(linear k * x, linear k * c)
// CHECK-LABEL: func.func @constant_factor(
func.func @constant_factor(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %0 = block.linear 1/8 * %x
  // CHECK-NEXT: %1 = block.linear 1/8 * %c
  // CHECK-NEXT: %p = block.row_shift %0, %1
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %p = block.linear 1/8 * %s : !A
  func.return %p : !A
}

// Declined where not: k is 1, 1/2, 1/4 and so on, or minus that.
// CHECK-LABEL: func.func @constant_factor_without_power(
func.func @constant_factor_without_power(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %p = block.linear 1/3 * %s
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %p = block.linear 1/3 * %s : !A
  func.return %p : !A
}

// CHECK-LABEL: func.func @constant_factor_without_power_below_1(
func.func @constant_factor_without_power_below_1(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %p = block.linear 16 * %s
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %p = block.linear 16 * %s : !A
  func.return %p : !A
}

// CHECK-LABEL: func.func @constant_factor_by_columns(
func.func @constant_factor_by_columns(%x: !A, %d: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %0 = block.linear -1/2 * %x
  // CHECK-NEXT: %1 = block.linear -1/2 * %d
  // CHECK-NEXT: %p = block.col_shift %0, %1
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.col_shift %x, %d : !A, !G
  %p = block.linear -1/2 * %s : !A
  func.return %p : !A
}

// CHECK-LABEL: func.func @constant_factor_not_in_a_sum(
func.func @constant_factor_not_in_a_sum(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %p = block.linear 1/8 * %s + 2 * %y
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %p = block.linear 1/8 * %s + 2 * %y : !A
  func.return %p : !A
}

// mask(row_shift(x, c))
//   -> row_shift(mask(x), c)
// CHECK-LABEL: func.func @mask(
func.func @mask(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %m = block.elementwise (%p = %x, %q = %y)
  // CHECK-NEXT: %low = arith.constant 0xff800000 : f32
  // CHECK-NEXT: %zero = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %keep = arith.cmpf ogt, %q, %zero
  // CHECK-NEXT: %z = arith.select %keep, %p, %low
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %m_1 = block.row_shift %m, %c
  // CHECK-NEXT: func.return %m_1
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %m = block.elementwise (%p = %s, %q = %y) : !A, !A -> !A {
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %keep = arith.cmpf ogt, %q, %zero : f32
    %z = arith.select %keep, %p, %low : f32
    block.yield %z : f32
  }
  func.return %m : !A
}

// CHECK-LABEL: func.func @mask_of_what_is_true(
func.func @mask_of_what_is_true(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %m = block.elementwise (%q = %y, %p = %x)
  // CHECK-NEXT: %low = arith.constant 0xff800000 : f32
  // CHECK-NEXT: %zero = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %drop = arith.cmpf ogt, %q, %zero
  // CHECK-NEXT: %z = arith.select %drop, %low, %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %m_1 = block.row_shift %m, %c
  // CHECK-NEXT: func.return %m_1
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %m = block.elementwise (%q = %y, %p = %s) : !A, !A -> !A {
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %drop = arith.cmpf ogt, %q, %zero : f32
    %z = arith.select %drop, %low, %p : f32
    block.yield %z : f32
  }
  func.return %m : !A
}

// Declined where not: the mask sets to −inf (a finite value would be shifted with the rest).
// CHECK-LABEL: func.func @mask_without_minus_infinity(
func.func @mask_without_minus_infinity(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %m = block.elementwise (%p = %s, %q = %y)
  // CHECK-NEXT: %low = arith.constant -1.000000e+09 : f32
  // CHECK-NEXT: %zero = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %keep = arith.cmpf ogt, %q, %zero
  // CHECK-NEXT: %z = arith.select %keep, %p, %low
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %m
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %m = block.elementwise (%p = %s, %q = %y) : !A, !A -> !A {
    %low = arith.constant -1.0e9 : f32
    %zero = arith.constant 0.0 : f32
    %keep = arith.cmpf ogt, %q, %zero : f32
    %z = arith.select %keep, %p, %low : f32
    block.yield %z : f32
  }
  func.return %m : !A
}

// Declined where not: the condition does not look at the masked item.
// CHECK-LABEL: func.func @mask_without_condition(
func.func @mask_without_condition(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_shift %x, %c
  // CHECK-NEXT: %m = block.elementwise (%p = %s)
  // CHECK-NEXT: %low = arith.constant 0xff800000 : f32
  // CHECK-NEXT: %zero = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %keep = arith.cmpf ogt, %p, %zero
  // CHECK-NEXT: %z = arith.select %keep, %p, %low
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %m
  // CHECK-NEXT: }
  %s = block.row_shift %x, %c : !A, !C
  %m = block.elementwise (%p = %s) : !A -> !A {
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %keep = arith.cmpf ogt, %p, %zero : f32
    %z = arith.select %keep, %p, %low : f32
    block.yield %z : f32
  }
  func.return %m : !A
}

// A column shift (the bias of a score) stays inside.
// CHECK-LABEL: func.func @mask_not_by_columns(
func.func @mask_not_by_columns(%x: !A, %y: !A, %d: !G) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.col_shift %x, %d
  // CHECK-NEXT: %m = block.elementwise (%p = %s, %q = %y)
  // CHECK-NEXT: %low = arith.constant 0xff800000 : f32
  // CHECK-NEXT: %zero = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %keep = arith.cmpf ogt, %q, %zero
  // CHECK-NEXT: %z = arith.select %keep, %p, %low
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %m
  // CHECK-NEXT: }
  %s = block.col_shift %x, %d : !A, !G
  %m = block.elementwise (%p = %s, %q = %y) : !A, !A -> !A {
    %low = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %keep = arith.cmpf ogt, %q, %zero : f32
    %z = arith.select %keep, %p, %low : f32
    block.yield %z : f32
  }
  func.return %m : !A
}
