// RUN: bb-opt %s -p "block-apply{rules=swap-scale-dot}" | filecheck %s

!A = !block.block<M x K x f32>
!B = !block.block<N x K x f32>
!T = !block.block<M x N x f32>
!C = !block.vector<M x f32>
!Cs = !block.list<K, vector<M x f32>>
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

// A rounding between the scale and the contraction is no obstacle if it changes nothing without the scale.
// CHECK-LABEL: func.func @left_operand_exact_below_a_rounding(
func.func @left_operand_exact_below_a_rounding(%a: !block.block<M x K x f16>, %b: !block.block<N x K x f16>, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %w = block.elementwise (%e = %a)
  // CHECK-NEXT: %0 = arith.extf %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %w_1 = block.elementwise (%1 = %w)
  // CHECK-NEXT: %2 = arith.truncf %1
  // CHECK-NEXT: block.yield %2
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %w_1, %b acc f32
  // CHECK-NEXT: %dot_1 = block.row_scale %dot, %c
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %w = block.elementwise (%e = %a) : !block.block<M x K x f16> -> !A {
    %0 = arith.extf %e : f16 to f32
    block.yield %0 : f32
  }
  %s = block.row_scale %w, %c : !A, !C
  %h = block.elementwise (%f = %s) : !A -> !block.block<M x K x f16> {
    %0 = arith.truncf %f : f32 to f16
    block.yield %0 : f16
  }
  %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// An exponential is in range once block-stabilize has taken its exponent out.
// CHECK-LABEL: func.func @left_operand_exponential_below_a_rounding(
func.func @left_operand_exponential_below_a_rounding(%a: !A, %b: !block.block<N x K x f16>, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %p = block.elementwise (%e = %a)
  // CHECK-NEXT: %0 = math.exp %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %p_1 = block.elementwise (%1 = %p)
  // CHECK-NEXT: %2 = arith.truncf %1
  // CHECK-NEXT: block.yield %2
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %p_1, %b acc f32
  // CHECK-NEXT: %dot_1 = block.row_scale %dot, %c
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %p = block.elementwise (%e = %a) : !A -> !A {
    %0 = math.exp %e : f32
    block.yield %0 : f32
  }
  %s = block.row_scale %p, %c : !A, !C
  %h = block.elementwise (%f = %s) : !A -> !block.block<M x K x f16> {
    %0 = arith.truncf %f : f32 to f16
    block.yield %0 : f16
  }
  %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// bf16 has the range of f32: where the contraction would wait for a loop, the unscaled block is rounded.
// CHECK-LABEL: func.func @left_operand_to_bf16(
func.func @left_operand_to_bf16(%A: !block.list<K, block<M x K x f32>>, %B: !block.list<K, block<N x K x bf16>>) -> !block.list<K, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.map @K (%A_k = %A) -> (sum)
  // CHECK-NEXT: %a = block.load %A_k
  // CHECK-NEXT: %sum = block.row_sum %a acc f32
  // CHECK-NEXT: block.yield %sum
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.map @K (%A_k_1 = %A, %B_k = %B) -> (stack)
  // CHECK-NEXT: %a_1 = block.load %A_k_1
  // CHECK-NEXT: %b = block.load %B_k
  // CHECK-NEXT: %a_2 = block.elementwise (%0 = %a_1)
  // CHECK-NEXT: %1 = arith.truncf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %a_2, %b acc f32
  // CHECK-NEXT: %dot_1 = block.row_scale %dot, %c
  // CHECK-NEXT: %t = block.store %dot_1
  // CHECK-NEXT: block.yield %t
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %c = block.map @K (%A_k = %A) -> (sum) : !block.list<K, block<M x K x f32>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %sum = block.row_sum %a acc f32 : !A
    block.yield %sum : !C
  }
  %r = block.map @K (%A_k = %A, %B_k = %B) -> (stack) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x bf16>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %b = block.load %B_k : !block.block<N x K x bf16, global>
    %s = block.row_scale %a, %c : !A, !C
    %h = block.elementwise (%e = %s) : !A -> !block.block<M x K x bf16> {
      %0 = arith.truncf %e : f32 to bf16
      block.yield %0 : bf16
    }
    %dot = block.dot %h, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
    %t = block.store %dot : !T
    block.yield %t : !block.block<M x N x f32, global>
  }
  func.return %r : !block.list<K, block<M x N x f32>>
}

// Declined where not: the unscaled operand is exact in the type in which it is contracted, or an
// exponential, which `block-stabilize` keeps below 1; or the type has its range, and c depends on a reduced
// result that the operand does not depend on.
// CHECK-LABEL: func.func @left_operand_without_exact_below(
func.func @left_operand_without_exact_below(%a: !A, %b: !block.block<N x K x f16>, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %a, %c
  // CHECK-NEXT: %h = block.elementwise (%e = %s)
  // CHECK-NEXT: %0 = arith.truncf %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %h, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.row_scale %a, %c : !A, !C
  %h = block.elementwise (%e = %s) : !A -> !block.block<M x K x f16> {
    %0 = arith.truncf %e : f32 to f16
    block.yield %0 : f16
  }
  %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// CHECK-LABEL: func.func @left_operand_without_exact_below_to_bf16(
func.func @left_operand_without_exact_below_to_bf16(%a: !A, %b: !block.block<N x K x bf16>, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %a, %c
  // CHECK-NEXT: %h = block.elementwise (%e = %s)
  // CHECK-NEXT: %0 = arith.truncf %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %h, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.row_scale %a, %c : !A, !C
  %h = block.elementwise (%e = %s) : !A -> !block.block<M x K x bf16> {
    %0 = arith.truncf %e : f32 to bf16
    block.yield %0 : bf16
  }
  %dot = block.dot %h, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
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

// CHECK-LABEL: func.func @right_operand_exact_below_a_rounding(
func.func @right_operand_exact_below_a_rounding(%a: !block.block<M x K x f16>, %b: !block.block<N x K x f16>, %c: !D) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %w = block.elementwise (%e = %b)
  // CHECK-NEXT: %0 = arith.extf %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %w_1 = block.elementwise (%1 = %w)
  // CHECK-NEXT: %2 = arith.truncf %1
  // CHECK-NEXT: block.yield %2
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %a, %w_1 acc f32
  // CHECK-NEXT: %dot_1 = block.col_scale %dot, %c
  // CHECK-NEXT: func.return %dot_1
  // CHECK-NEXT: }
  %w = block.elementwise (%e = %b) : !block.block<N x K x f16> -> !B {
    %0 = arith.extf %e : f16 to f32
    block.yield %0 : f32
  }
  %s = block.row_scale %w, %c : !B, !D
  %h = block.elementwise (%f = %s) : !B -> !block.block<N x K x f16> {
    %0 = arith.truncf %f : f32 to f16
    block.yield %0 : f16
  }
  %dot = block.dot %a, %h acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
  func.return %dot : !T
}

// CHECK-LABEL: func.func @right_operand_without_exact_below(
func.func @right_operand_without_exact_below(%a: !block.block<M x K x f16>, %b: !B, %c: !D) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %b, %c
  // CHECK-NEXT: %h = block.elementwise (%e = %s)
  // CHECK-NEXT: %0 = arith.truncf %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %a, %h acc f32
  // CHECK-NEXT: func.return %dot
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

// dot(truncf(row_scale(a, c)), b)
//   -> row_scale(dot(truncf(a) {bb.own_exponent}, b), c)
// CHECK-LABEL: func.func @rounded_left_operand(
func.func @rounded_left_operand(%A: !block.list<K, block<M x K x f32>>, %B: !block.list<K, block<N x K x f16>>, %d: !C) -> !block.list<K, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.map @K (%A_k = %A) -> (sum)
  // CHECK-NEXT: %a = block.load %A_k
  // CHECK-NEXT: %sum = block.row_sum %a acc f32
  // CHECK-NEXT: block.yield %sum
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.map @K (%A_k_1 = %A, %B_k = %B) -> (stack)
  // CHECK-NEXT: %a_1 = block.load %A_k_1
  // CHECK-NEXT: %b = block.load %B_k
  // CHECK-NEXT: %q = block.mul %a_1, %a_1
  // CHECK-NEXT: %q_1 = block.elementwise (%0 = %q)
  // CHECK-NEXT: %1 = arith.truncf %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %q_1, %b acc f32
  // CHECK-NEXT: %dot_1 = block.row_scale %dot, %c
  // CHECK-NEXT: %t = block.store %dot_1
  // CHECK-NEXT: block.yield %t
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %c = block.map @K (%A_k = %A) -> (sum) : !block.list<K, block<M x K x f32>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %sum = block.row_sum %a acc f32 : !A
    block.yield %sum : !C
  }
  %r = block.map @K (%A_k = %A, %B_k = %B) -> (stack) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f16>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %b = block.load %B_k : !block.block<N x K x f16, global>
    %q = block.mul %a, %a : !A
    %s = block.row_scale %q, %c : !A, !C
    %h = block.elementwise (%f = %s) : !A -> !block.block<M x K x f16> {
      %0 = arith.truncf %f : f32 to f16
      block.yield %0 : f16
    }
    %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
    %t = block.store %dot : !T
    block.yield %t : !block.block<M x N x f32, global>
  }
  func.return %r : !block.list<K, block<M x N x f32>>
}

// Declined where not: c depends on a reduced result that a does not depend on, and no shift by such a
// result is left in a: the contraction would wait for a loop.
// CHECK-LABEL: func.func @rounded_left_operand_without_demand(
func.func @rounded_left_operand_without_demand(%A: !block.list<K, block<M x K x f32>>, %B: !block.list<K, block<N x K x f16>>, %d: !C) -> !block.list<K, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.map @K (%A_k = %A, %B_k = %B) -> (stack)
  // CHECK-NEXT: %a = block.load %A_k
  // CHECK-NEXT: %b = block.load %B_k
  // CHECK-NEXT: %s = block.row_scale %a, %d
  // CHECK-NEXT: %h = block.elementwise (%f = %s)
  // CHECK-NEXT: %0 = arith.truncf %f
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %h, %b acc f32
  // CHECK-NEXT: %t = block.store %dot
  // CHECK-NEXT: block.yield %t
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %c = block.map @K (%A_k = %A) -> (sum) : !block.list<K, block<M x K x f32>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %sum = block.row_sum %a acc f32 : !A
    block.yield %sum : !C
  }
  %r = block.map @K (%A_k = %A, %B_k = %B) -> (stack) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f16>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %b = block.load %B_k : !block.block<N x K x f16, global>
    %s = block.row_scale %a, %d : !A, !C
    %h = block.elementwise (%f = %s) : !A -> !block.block<M x K x f16> {
      %0 = arith.truncf %f : f32 to f16
      block.yield %0 : f16
    }
    %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
    %t = block.store %dot : !T
    block.yield %t : !block.block<M x N x f32, global>
  }
  func.return %r : !block.list<K, block<M x N x f32>>
}

// CHECK-LABEL: func.func @rounded_left_operand_without_demand_shifted(
func.func @rounded_left_operand_without_demand_shifted(%A: !block.list<K, block<M x K x f32>>, %B: !block.list<K, block<N x K x f16>>, %d: !C) -> !block.list<K, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.map @K (%A_k = %A) -> (sum)
  // CHECK-NEXT: %a = block.load %A_k
  // CHECK-NEXT: %sum = block.row_sum %a acc f32
  // CHECK-NEXT: block.yield %sum
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.map @K (%A_k_1 = %A, %B_k = %B) -> (stack)
  // CHECK-NEXT: %a_1 = block.load %A_k_1
  // CHECK-NEXT: %b = block.load %B_k
  // CHECK-NEXT: %q = block.row_shift %a_1, %c
  // CHECK-NEXT: %c2 = block.monomial %c ** 2
  // CHECK-NEXT: %s = block.row_scale %q, %c2
  // CHECK-NEXT: %h = block.elementwise (%f = %s)
  // CHECK-NEXT: %0 = arith.truncf %f
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %h, %b acc f32
  // CHECK-NEXT: %t = block.store %dot
  // CHECK-NEXT: block.yield %t
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %c = block.map @K (%A_k = %A) -> (sum) : !block.list<K, block<M x K x f32>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %sum = block.row_sum %a acc f32 : !A
    block.yield %sum : !C
  }
  %r = block.map @K (%A_k = %A, %B_k = %B) -> (stack) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f16>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %b = block.load %B_k : !block.block<N x K x f16, global>
    %q = block.row_shift %a, %c : !A, !C
    %c2 = block.monomial %c ** 2 : !C
    %s = block.row_scale %q, %c2 : !A, !C
    %h = block.elementwise (%f = %s) : !A -> !block.block<M x K x f16> {
      %0 = arith.truncf %f : f32 to f16
      block.yield %0 : f16
    }
    %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
    %t = block.store %dot : !T
    block.yield %t : !block.block<M x N x f32, global>
  }
  func.return %r : !block.list<K, block<M x N x f32>>
}

// Declined where not: a is not computed from exponentials, which have exponents already.
// CHECK-LABEL: func.func @rounded_left_operand_without_no_exponential(
func.func @rounded_left_operand_without_no_exponential(%A: !block.list<K, block<M x K x f32>>, %B: !block.list<K, block<N x K x f16>>, %d: !C) -> !block.list<K, block<M x N x f32>> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.map @K (%A_k = %A) -> (sum)
  // CHECK-NEXT: %a = block.load %A_k
  // CHECK-NEXT: %sum = block.row_sum %a acc f32
  // CHECK-NEXT: block.yield %sum
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.map @K (%A_k_1 = %A, %B_k = %B) -> (stack)
  // CHECK-NEXT: %a_1 = block.load %A_k_1
  // CHECK-NEXT: %b = block.load %B_k
  // CHECK-NEXT: %p = block.elementwise (%e = %a_1)
  // CHECK-NEXT: %0 = math.exp %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %q = block.add %p, %a_1
  // CHECK-NEXT: %s = block.row_scale %q, %c
  // CHECK-NEXT: %h = block.elementwise (%f = %s)
  // CHECK-NEXT: %1 = arith.truncf %f
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %h, %b acc f32
  // CHECK-NEXT: %t = block.store %dot
  // CHECK-NEXT: block.yield %t
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %c = block.map @K (%A_k = %A) -> (sum) : !block.list<K, block<M x K x f32>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %sum = block.row_sum %a acc f32 : !A
    block.yield %sum : !C
  }
  %r = block.map @K (%A_k = %A, %B_k = %B) -> (stack) : !block.list<K, block<M x K x f32>>, !block.list<K, block<N x K x f16>> {
    %a = block.load %A_k : !block.block<M x K x f32, global>
    %b = block.load %B_k : !block.block<N x K x f16, global>
    %p = block.elementwise (%e = %a) : !A -> !A {
      %0 = math.exp %e : f32
      block.yield %0 : f32
    }
    %q = block.add %p, %a : !A
    %s = block.row_scale %q, %c : !A, !C
    %h = block.elementwise (%f = %s) : !A -> !block.block<M x K x f16> {
      %0 = arith.truncf %f : f32 to f16
      block.yield %0 : f16
    }
    %dot = block.dot %h, %b acc f32 : !block.block<M x K x f16>, !block.block<N x K x f16>
    %t = block.store %dot : !T
    block.yield %t : !block.block<M x N x f32, global>
  }
  func.return %r : !block.list<K, block<M x N x f32>>
}

// The rounding to bf16 needs no exponents: the law for left operands applies, or none.
// CHECK-LABEL: func.func @rounded_left_operand_not_to_bf16(
func.func @rounded_left_operand_not_to_bf16(%a: !A, %b: !block.block<N x K x bf16>, %c: !C) -> !T attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %a, %c
  // CHECK-NEXT: %h = block.elementwise (%e = %s)
  // CHECK-NEXT: %0 = arith.truncf %e
  // CHECK-NEXT: block.yield %0
  // CHECK-NEXT: }
  // CHECK-NEXT: %dot = block.dot %h, %b acc f32
  // CHECK-NEXT: func.return %dot
  // CHECK-NEXT: }
  %s = block.row_scale %a, %c : !A, !C
  %h = block.elementwise (%e = %s) : !A -> !block.block<M x K x bf16> {
    %0 = arith.truncf %e : f32 to bf16
    block.yield %0 : bf16
  }
  %dot = block.dot %h, %b acc f32 : !block.block<M x K x bf16>, !block.block<N x K x bf16>
  func.return %dot : !T
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

// Declined where not: what is formed unscaled has a type with the range of f32.
// CHECK-LABEL: func.func @row_sum_without_range(
func.func @row_sum_without_range(%x: !block.block<M x K x f16>, %c: !block.vector<M x f16>) -> !block.vector<M x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %sum = block.row_sum %s acc f16
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !block.block<M x K x f16>, !block.vector<M x f16>
  %sum = block.row_sum %s acc f16 : !block.block<M x K x f16>
  func.return %sum : !block.vector<M x f16>
}

// mul(row_scale(x, c), y)
//   -> row_scale(mul(x, y), c)
// CHECK-LABEL: func.func @product(
func.func @product(%x: !A, %y: !A, %cs: !Cs) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %p = block.mul %x, %y
  // CHECK-NEXT: %p_1 = block.row_scale %p, %c
  // CHECK-NEXT: func.return %p_1
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_scale %x, %c : !A, !C
  %p = block.mul %s, %y : !A
  func.return %p : !A
}

// CHECK-LABEL: func.func @product_second_factor_by_columns(
func.func @product_second_factor_by_columns(%x: !A, %y: !A, %gs: !block.list<M, vector<K x f32>>) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %g = block.reduce sum %gs
  // CHECK-NEXT: %p = block.mul %x, %y
  // CHECK-NEXT: %p_1 = block.col_scale %p, %g
  // CHECK-NEXT: func.return %p_1
  // CHECK-NEXT: }
  %g = block.reduce sum %gs : !block.list<M, vector<K x f32>>
  %s = block.col_scale %y, %g : !A, !G
  %p = block.mul %x, %s : !A
  func.return %p : !A
}

// Declined where not: the other factor does not depend on the vector, so that no power of it comes out.
// A square has the scale twice.
// CHECK-LABEL: func.func @product_without_once(
func.func @product_without_once(%x: !A, %cs: !Cs) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.mul %s, %s
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_scale %x, %c : !A, !C
  %p = block.mul %s, %s : !A
  func.return %p : !A
}

// Declined where not: c depends on a reduced result, and the product is not only stored.
// CHECK-LABEL: func.func @product_without_demand(
func.func @product_without_demand(%x: !A, %y: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.mul %s, %y
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %p = block.mul %s, %y : !A
  func.return %p : !A
}

// CHECK-LABEL: func.func @product_without_demand_of_what_is_stored(
func.func @product_without_demand_of_what_is_stored(%x: !A, %y: !A, %cs: !Cs) -> !block.block<M x K x f32, global> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.mul %s, %y
  // CHECK-NEXT: %o = block.store %p
  // CHECK-NEXT: func.return %o
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !Cs
  %s = block.row_scale %x, %c : !A, !C
  %p = block.mul %s, %y : !A
  %o = block.store %p : !A
  func.return %o : !block.block<M x K x f32, global>
}

// Declined where not: what is formed unscaled has a type with the range of f32.
// CHECK-LABEL: func.func @product_without_range(
func.func @product_without_range(%x: !block.block<M x K x f16>, %y: !block.block<M x K x f16>, %cs: !block.list<K, vector<M x f16>>) -> !block.block<M x K x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.reduce sum %cs
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.mul %s, %y
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %c = block.reduce sum %cs : !block.list<K, vector<M x f16>>
  %s = block.row_scale %x, %c : !block.block<M x K x f16>, !block.vector<M x f16>
  %p = block.mul %s, %y : !block.block<M x K x f16>
  func.return %p : !block.block<M x K x f16>
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

// Declined where not: |k| is at most 1, so that k·x cannot overflow.
// CHECK-LABEL: func.func @constant_factor_without_shrinks(
func.func @constant_factor_without_shrinks(%x: !A, %c: !C) -> !A attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.linear 8 * %s
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !A, !C
  %p = block.linear 8 * %s : !A
  func.return %p : !A
}

// Declined where not: what is formed unscaled has a type with the range of f32.
// CHECK-LABEL: func.func @constant_factor_without_range(
func.func @constant_factor_without_range(%x: !block.block<M x K x f16>, %c: !block.vector<M x f16>) -> !block.block<M x K x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %p = block.linear 1/8 * %s
  // CHECK-NEXT: func.return %p
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !block.block<M x K x f16>, !block.vector<M x f16>
  %p = block.linear 1/8 * %s : !block.block<M x K x f16>
  func.return %p : !block.block<M x K x f16>
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

// Declined where not: what is formed unscaled has a type with the range of f32.
// CHECK-LABEL: func.func @sum_of_equal_scales_without_range(
func.func @sum_of_equal_scales_without_range(%x: !block.block<M x K x f16>, %y: !block.block<M x K x f16>, %c: !block.vector<M x f16>) -> !block.block<M x K x f16> attributes {block.dims = #dims} {
  // CHECK-NEXT: %s = block.row_scale %x, %c
  // CHECK-NEXT: %t = block.row_scale %y, %c
  // CHECK-NEXT: %sum = block.add %s, %t
  // CHECK-NEXT: func.return %sum
  // CHECK-NEXT: }
  %s = block.row_scale %x, %c : !block.block<M x K x f16>, !block.vector<M x f16>
  %t = block.row_scale %y, %c : !block.block<M x K x f16>, !block.vector<M x f16>
  %sum = block.add %s, %t : !block.block<M x K x f16>
  func.return %sum : !block.block<M x K x f16>
}
