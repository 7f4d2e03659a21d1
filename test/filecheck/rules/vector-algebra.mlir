// RUN: bb-opt %s -p "block-apply{rules=vector-algebra}" | filecheck %s

!X = !block.block<M x K x f32>
!C = !block.vector<M x f32>
!S = !block.scalar<f32>
!Cs = !block.list<K, vector<M x f32>>
#dims = {M = #block.dim<5, block = 2>, K = #block.dim<7, block = 3>}

// sub(c, d)
//   -> linear c + -1 * d
// CHECK-LABEL: func.func @sums(
func.func @sums(%c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.linear 1 * %c + -1 * %d
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %r = block.sub %c, %d : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @sums_of_scalars(
func.func @sums_of_scalars(%c: !S, %d: !S) -> !S attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.linear 1 * %c + 1 * %d
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %r = block.add %c, %d : !S
  func.return %r : !S
}

// Of blocks, only the difference: a shift of an addend can leave a sum, not a linear form.
// CHECK-LABEL: func.func @sums_of_blocks(
func.func @sums_of_blocks(%a: !X, %b: !X) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %0 = block.linear -1 * %b
  // CHECK-NEXT: %r = block.add %a, %0
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %r = block.sub %a, %b : !X
  func.return %r : !X
}

// CHECK-LABEL: func.func @sums_not_of_blocks(
func.func @sums_not_of_blocks(%a: !X, %b: !X) -> !X attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.add %a, %b
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %r = block.add %a, %b : !X
  func.return %r : !X
}

// Arithmetic on elements of arrays stays as it is written.
// CHECK-LABEL: func.func @sums_not_of_arrays(
func.func @sums_not_of_arrays(%c: tensor<5xf32>) -> tensor<5xf32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %C = block.partition %c [M]
  // CHECK-NEXT: %R = block.map @M (%C_m = %C) -> (stack)
  // CHECK-NEXT: %c_1 = block.load %C_m
  // CHECK-NEXT: %twice = block.add %c_1, %c_1
  // CHECK-NEXT: %r = block.sub %twice, %c_1
  // CHECK-NEXT: %q = block.mul %r, %r
  // CHECK-NEXT: %s = block.elementwise (%p = %q, %o = %r)
  // CHECK-NEXT: %z = arith.divf %p, %o
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %s_1 = block.store %s
  // CHECK-NEXT: block.yield %s_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %r_1 = block.assemble %R [M]
  // CHECK-NEXT: func.return %r_1
  // CHECK-NEXT: }
  %C = block.partition %c [M] : tensor<5xf32> -> !block.list<M, vector<M x f32>>
  %R = block.map @M (%C_m = %C) -> (stack) : !block.list<M, vector<M x f32>> {
    %c_1 = block.load %C_m : !block.vector<M x f32, global>
    %twice = block.add %c_1, %c_1 : !C
    %r = block.sub %twice, %c_1 : !C
    %q = block.mul %r, %r : !C
    %s = block.elementwise (%p = %q, %o = %r) : !C, !C -> !C {
      %z = arith.divf %p, %o : f32
      block.yield %z : f32
    }
    %s_1 = block.store %s : !C
    block.yield %s_1 : !block.vector<M x f32, global>
  }
  %r_2 = block.assemble %R [M] : !block.list<M, vector<M x f32>> -> tensor<5xf32>
  func.return %r_2 : tensor<5xf32>
}

// CHECK-LABEL: func.func @sums_not_of_integers(
func.func @sums_not_of_integers(%c: !block.vector<M x i32>, %d: !block.vector<M x i32>) -> !block.vector<M x i32> attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.add %c, %d
  // CHECK-NEXT: %t = block.sub %r, %d
  // CHECK-NEXT: func.return %t
  // CHECK-NEXT: }
  %r = block.add %c, %d : !block.vector<M x i32>
  %t = block.sub %r, %d : !block.vector<M x i32>
  func.return %t : !block.vector<M x i32>
}

// mul(c, d)
//   -> monomial c * d
// CHECK-LABEL: func.func @products(
func.func @products(%c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.monomial %c * %d
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %r = block.mul %c, %d : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @products_square(
func.func @products_square(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.monomial %c ** 2
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %r = block.mul %c, %c : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @products_not_of_blocks_or_integers(
func.func @products_not_of_blocks_or_integers(%a: !X, %c: !block.vector<M x i32>) -> (!X, !block.vector<M x i32>) attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.mul %a, %a
  // CHECK-NEXT: %s = block.mul %c, %c
  // CHECK-NEXT: func.return %r, %s
  // CHECK-NEXT: }
  %r = block.mul %a, %a : !X
  %s = block.mul %c, %c : !block.vector<M x i32>
  func.return %r, %s : !X, !block.vector<M x i32>
}

// elementwise(c) { 1 / c }
//   -> monomial c ** -1
// CHECK-LABEL: func.func @element_wise(
func.func @element_wise(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.monomial %c ** -1
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %r = block.elementwise (%p = %c) : !C -> !C {
    %one = arith.constant 1.0 : f32
    %z = arith.divf %one, %p : f32
    block.yield %z : f32
  }
  func.return %r : !C
}

// CHECK-LABEL: func.func @element_wise_negation_and_factors(
func.func @element_wise_negation_and_factors(%a: !X, %c: !C) -> (!X, !X, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.linear -1 * %a
  // CHECK-NEXT: %s = block.linear 1/80 * %a
  // CHECK-NEXT: %t = block.linear 1/96 * %c
  // CHECK-NEXT: func.return %r, %s, %t
  // CHECK-NEXT: }
  %r = block.elementwise (%p = %a) : !X -> !X {
    %z = arith.negf %p : f32
    block.yield %z : f32
  }
  %s = block.elementwise (%p = %a) : !X -> !X {
    %k = arith.constant {bb.exact = 0.0125 : f64} 0.0125 : f32
    %z = arith.mulf %k, %p : f32
    block.yield %z : f32
  }
  %t = block.elementwise (%p = %c) : !C -> !C {
    %k = arith.constant 96.0 : f32
    %z = arith.divf %p, %k : f32
    block.yield %z : f32
  }
  func.return %r, %s, %t : !X, !X, !C
}

// CHECK-LABEL: func.func @element_wise_quotients(
func.func @element_wise_quotients(%c: !C, %d: !C) -> (!C, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.monomial %d * %c ** -1
  // CHECK-NEXT: %0 = block.monomial %c ** -1
  // CHECK-NEXT: %s = block.linear 3 * %0
  // CHECK-NEXT: func.return %r, %s
  // CHECK-NEXT: }
  %r = block.elementwise (%p = %c, %q = %d) : !C, !C -> !C {
    %z = arith.divf %q, %p : f32
    block.yield %z : f32
  }
  %s = block.elementwise (%p = %c) : !C -> !C {
    %k = arith.constant 3.0 : f32
    %z = arith.divf %k, %p : f32
    block.yield %z : f32
  }
  func.return %r, %s : !C, !C
}

// More than one operation, a broadcast, a quotient of blocks, a constant addend, an infinite factor.
// CHECK-LABEL: func.func @element_wise_not_these(
func.func @element_wise_not_these(%a: !X, %c: !C) -> (!C, !X, !X, !C, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.elementwise (%p = %c)
  // CHECK-NEXT: %one = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: %y = arith.negf %p
  // CHECK-NEXT: %z = arith.divf %one, %y
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.elementwise (%p_1 = %c, %q = %a)
  // CHECK-NEXT: %z_1 = arith.divf %p_1, %q
  // CHECK-NEXT: block.yield %z_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %t = block.elementwise (%p_2 = %a, %q_1 = %a)
  // CHECK-NEXT: %z_2 = arith.divf %p_2, %q_1
  // CHECK-NEXT: block.yield %z_2
  // CHECK-NEXT: }
  // CHECK-NEXT: %u = block.elementwise (%p_3 = %c)
  // CHECK-NEXT: %one_1 = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: %z_3 = arith.addf %p_3, %one_1
  // CHECK-NEXT: block.yield %z_3
  // CHECK-NEXT: }
  // CHECK-NEXT: %v = block.elementwise (%p_4 = %c)
  // CHECK-NEXT: %infinity = arith.constant 0x7f800000 : f32
  // CHECK-NEXT: %z_4 = arith.mulf %p_4, %infinity
  // CHECK-NEXT: block.yield %z_4
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r, %s, %t, %u, %v
  // CHECK-NEXT: }
  %r = block.elementwise (%p = %c) : !C -> !C {
    %one = arith.constant 1.0 : f32
    %y = arith.negf %p : f32
    %z = arith.divf %one, %y : f32
    block.yield %z : f32
  }
  %s = block.elementwise (%p = %c, %q = %a) : !C, !X -> !X {
    %z = arith.divf %p, %q : f32
    block.yield %z : f32
  }
  %t = block.elementwise (%p = %a, %q = %a) : !X, !X -> !X {
    %z = arith.divf %p, %q : f32
    block.yield %z : f32
  }
  %u = block.elementwise (%p = %c) : !C -> !C {
    %one = arith.constant 1.0 : f32
    %z = arith.addf %p, %one : f32
    block.yield %z : f32
  }
  %v = block.elementwise (%p = %c) : !C -> !C {
    %infinity = arith.constant 0x7F800000 : f32
    %z = arith.mulf %p, %infinity : f32
    block.yield %z : f32
  }
  func.return %r, %s, %t, %u, %v : !C, !X, !X, !C, !C
}

// A factor of zero, which makes NaN of infinities; a multiple of an inverse of a block, and a divisor with a denormal
// reciprocal, which could overflow or lose digits.
// CHECK-LABEL: func.func @element_wise_not_these_numbers(
func.func @element_wise_not_these_numbers(%a: !X) -> (!X, !X, !X) attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.elementwise (%p = %a)
  // CHECK-NEXT: %zero = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %z = arith.mulf %p, %zero
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.elementwise (%p_1 = %a)
  // CHECK-NEXT: %k = arith.constant 3.000000e+00 : f32
  // CHECK-NEXT: %z_1 = arith.divf %k, %p_1
  // CHECK-NEXT: block.yield %z_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %t = block.elementwise (%p_2 = %a)
  // CHECK-NEXT: %k_1 = arith.constant 3.000000e+38 : f32
  // CHECK-NEXT: %z_2 = arith.divf %p_2, %k_1
  // CHECK-NEXT: block.yield %z_2
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r, %s, %t
  // CHECK-NEXT: }
  %r = block.elementwise (%p = %a) : !X -> !X {
    %zero = arith.constant 0.0 : f32
    %z = arith.mulf %p, %zero : f32
    block.yield %z : f32
  }
  %s = block.elementwise (%p = %a) : !X -> !X {
    %k = arith.constant 3.0 : f32
    %z = arith.divf %k, %p : f32
    block.yield %z : f32
  }
  %t = block.elementwise (%p = %a) : !X -> !X {
    %k = arith.constant 3.0e38 : f32
    %z = arith.divf %p, %k : f32
    block.yield %z : f32
  }
  func.return %r, %s, %t : !X, !X, !X
}

// linear 2 * (linear c + d) + 3 * d
//   -> linear 2 * c + 5 * d
// CHECK-LABEL: func.func @flatten(
func.func @flatten(%c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.linear 2 * %c + 5 * %d
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.linear 1 * %c + 1 * %d : !C
  %r = block.linear 2 * %i + 3 * %d : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @flatten_products(
func.func @flatten_products(%c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.monomial %c ** -1 * %d ** -5
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.monomial %c * %d ** 2 : !C
  %r = block.monomial %i ** -1 * %d ** -3 : !C
  func.return %r : !C
}

// Terms with other quantities are other terms.
// CHECK-LABEL: func.func @flatten_quantities(
func.func @flatten_quantities(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.linear 2 extent(K) * %c + 10 * %c + 1 blocks(K) * %c
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.linear 1 extent(K) * %c + 3 * %c : !C
  %r = block.linear 2 * %i + 1 blocks(K) * %c + 4 * %c : !C
  func.return %r : !C
}

// The sum of exponentials is NaN where x is NaN, and so wherever the maximum is.
// CHECK-LABEL: func.func @flatten_with_a_witness(
func.func @flatten_with_a_witness(%x: !X) -> (!C, !C) attributes {block.dims = {M = #block.dim<5>, K = #block.dim<7, whole>}} {
  // CHECK-NEXT: %e = block.elementwise (%p = %x)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %s = block.row_sum %e acc f32
  // CHECK-NEXT: %l = block.elementwise (%p_1 = %s)
  // CHECK-NEXT: %z_1 = math.log %p_1
  // CHECK-NEXT: block.yield %z_1
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.linear 2 * %l
  // CHECK-NEXT: func.return %r, %s
  // CHECK-NEXT: }
  %m = block.row_max %x : !X
  %e = block.elementwise (%p = %x) : !X -> !X {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  %s = block.row_sum %e acc f32 : !X
  %l = block.elementwise (%p = %s) : !C -> !C {
    %z = math.log %p : f32
    block.yield %z : f32
  }
  %i = block.linear -1 * %m + 2 * %l : !C
  %r = block.linear 1 * %m + 1 * %i : !C
  %j = block.monomial %m * %s : !C
  %t = block.monomial %j * %m ** -1 : !C
  func.return %r, %t : !C, !C
}

// CHECK-LABEL: func.func @flatten_without_witness(
func.func @flatten_without_witness(%c: !C) -> (!C, !C) attributes {block.dims = {M = #block.dim<5, whole>}} {
  // CHECK-NEXT: %r = block.linear 1 * %c + -1 * %c
  // CHECK-NEXT: %i = block.monomial %c ** 2
  // CHECK-NEXT: %s = block.monomial %i * %c ** -2
  // CHECK-NEXT: func.return %r, %s
  // CHECK-NEXT: }
  %r = block.linear 1 * %c + -1 * %c : !C
  %i = block.monomial %c ** 2 : !C
  %s = block.monomial %i * %c ** -2 : !C
  func.return %r, %s : !C, !C
}

// d does not depend on c.
// CHECK-LABEL: func.func @flatten_without_witness_of_other_items(
func.func @flatten_without_witness_of_other_items(%c: !C, %d: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %i = block.linear 1 * %c + 1 * %d
  // CHECK-NEXT: %r = block.linear 1 * %i + -1 * %c
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.linear 1 * %c + 1 * %d : !C
  %r = block.linear 1 * %i + -1 * %c : !C
  func.return %r : !C
}

// linear 1 * c
//   -> c
// CHECK-LABEL: func.func @units(
func.func @units(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: func.return %c
  // CHECK-NEXT: }
  %r = block.linear 1 * %c : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @units_of_products(
func.func @units_of_products(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: func.return %c
  // CHECK-NEXT: }
  %r = block.monomial %c : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @units_not_these(
func.func @units_not_these(%c: !C) -> (!C, !C, !C) attributes {block.dims = #dims} {
  // CHECK-NEXT: %r = block.linear 2 * %c
  // CHECK-NEXT: %s = block.monomial %c ** 2
  // CHECK-NEXT: %t = block.linear 1 width(K) * %c
  // CHECK-NEXT: func.return %r, %s, %t
  // CHECK-NEXT: }
  %r = block.linear 2 * %c : !C
  %s = block.monomial %c ** 2 : !C
  %t = block.linear 1 width(K) * %c : !C
  func.return %r, %s, %t : !C, !C, !C
}

// linear s + monomial (linear k * x) * x
//   -> linear s + linear k * (monomial x ** 2)
// CHECK-LABEL: func.func @constant_factors(
func.func @constant_factors(%x: !C, %s: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %0 = block.monomial %x ** 2
  // CHECK-NEXT: %r = block.linear 1 * %s + 1/8 * %0
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.linear 1/8 * %x : !C
  %p = block.monomial %i * %x : !C
  %r = block.linear 1 * %s + 1 * %p : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @constant_factors_of_a_sign(
func.func @constant_factors_of_a_sign(%x: !C, %y: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %0 = block.monomial %x * %y ** -1
  // CHECK-NEXT: %r = block.linear -1 * %0
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.linear -1 * %x : !C
  %r = block.monomial %i * %y ** -1 : !C
  func.return %r : !C
}

// Declined where not: the constant is 1 or -1, or the product is a square of one statistic and a term of a sum.
// CHECK-LABEL: func.func @constant_factors_without_square(
func.func @constant_factors_without_square(%x: !C, %y: !C, %s: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %i = block.linear 1/8 * %x
  // CHECK-NEXT: %p = block.monomial %i * %y
  // CHECK-NEXT: %r = block.linear 1 * %s + 1 * %p
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.linear 1/8 * %x : !C
  %p = block.monomial %i * %y : !C
  %r = block.linear 1 * %s + 1 * %p : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @constant_factors_without_square_in_a_sum(
func.func @constant_factors_without_square_in_a_sum(%x: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %i = block.linear 1/8 * %x
  // CHECK-NEXT: %r = block.monomial %i ** 2
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %i = block.linear 1/8 * %x : !C
  %r = block.monomial %i ** 2 : !C
  func.return %r : !C
}

// CHECK-LABEL: func.func @constant_factors_with_powers(
func.func @constant_factors_with_powers(%x: !C, %s: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %0 = block.monomial %x ** 2
  // CHECK-NEXT: %r = block.linear 1 * %s + 1/25 blocks(K) blocks(K) * %0
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %j = block.linear 1/5 blocks(K) * %x : !C
  %p = block.monomial %j ** 2 : !C
  %r = block.linear 1 * %s + 1 * %p : !C
  func.return %r : !C
}

// A quantity that is known only at run time has no exact reciprocal, nor has 0.
// CHECK-LABEL: func.func @constant_factors_not_these(
func.func @constant_factors_not_these(%x: !C, %y: !C) -> (!C, !C) attributes {block.dims = {M = #block.dim<5>, K = #block.dim<?, block = 3>}} {
  // CHECK-NEXT: %i = block.linear 1 extent(K) * %x
  // CHECK-NEXT: %r = block.monomial %i ** -1 * %y
  // CHECK-NEXT: %j = block.linear 1 * %x + 2 * %y
  // CHECK-NEXT: %s = block.monomial %j * %y
  // CHECK-NEXT: func.return %r, %s
  // CHECK-NEXT: }
  %i = block.linear 1 extent(K) * %x : !C
  %r = block.monomial %i ** -1 * %y : !C
  %j = block.linear 1 * %x + 2 * %y : !C
  %s = block.monomial %j * %y : !C
  func.return %r, %s : !C, !C
}

// log(monomial c * d ** -1)
//   -> linear log(c) + -1 * log(d)
// CHECK-LABEL: func.func @logarithm_of_a_product(
func.func @logarithm_of_a_product(%cs: !Cs, %x: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %c = block.map @K (%ck = %cs) -> (sum)
  // CHECK-NEXT: %i = block.load %ck
  // CHECK-NEXT: %e = block.elementwise (%p = %i)
  // CHECK-NEXT: %z = math.exp %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: block.yield %e
  // CHECK-NEXT: }
  // CHECK-NEXT: %log = block.elementwise (%0 = %c)
  // CHECK-NEXT: %1 = math.log %0
  // CHECK-NEXT: block.yield %1
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.linear 1 * %log + -1 * %x
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %c = block.map @K (%ck = %cs) -> (sum) : !Cs {
    %i = block.load %ck : !block.vector<M x f32, global>
    %e = block.elementwise (%p = %i) : !C -> !C {
      %z = math.exp %p : f32
      block.yield %z : f32
    }
    block.yield %e : !C
  }
  %d = block.elementwise (%p = %x) : !C -> !C {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  %m = block.monomial %c * %d ** -1 : !C
  %r = block.elementwise (%p = %m) : !C -> !C {
    %z = math.log %p : f32
    block.yield %z : f32
  }
  func.return %r : !C
}

// Declined where not: every factor is an exponential, or a sum of exponentials, and so positive.
// CHECK-LABEL: func.func @logarithm_of_a_product_without_positive(
func.func @logarithm_of_a_product_without_positive(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %m = block.monomial %c ** 2
  // CHECK-NEXT: %r = block.elementwise (%p = %m)
  // CHECK-NEXT: %z = math.log %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %m = block.monomial %c ** 2 : !C
  %r = block.elementwise (%p = %m) : !C -> !C {
    %z = math.log %p : f32
    block.yield %z : f32
  }
  func.return %r : !C
}

// log(exp(c))
//   -> c
// CHECK-LABEL: func.func @logarithm_of_an_exponential(
func.func @logarithm_of_an_exponential(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: func.return %c
  // CHECK-NEXT: }
  %e = block.elementwise (%p = %c) : !C -> !C {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  %r = block.elementwise (%p = %e) : !C -> !C {
    %z = math.log %p : f32
    block.yield %z : f32
  }
  func.return %r : !C
}

// CHECK-LABEL: func.func @logarithm_of_an_exponential_not_the_other_way_round(
func.func @logarithm_of_an_exponential_not_the_other_way_round(%c: !C) -> !C attributes {block.dims = #dims} {
  // CHECK-NEXT: %e = block.elementwise (%p = %c)
  // CHECK-NEXT: %z = math.log %p
  // CHECK-NEXT: block.yield %z
  // CHECK-NEXT: }
  // CHECK-NEXT: %r = block.elementwise (%p_1 = %e)
  // CHECK-NEXT: %z_1 = math.exp %p_1
  // CHECK-NEXT: block.yield %z_1
  // CHECK-NEXT: }
  // CHECK-NEXT: func.return %r
  // CHECK-NEXT: }
  %e = block.elementwise (%p = %c) : !C -> !C {
    %z = math.log %p : f32
    block.yield %z : f32
  }
  %r = block.elementwise (%p = %e) : !C -> !C {
    %z = math.exp %p : f32
    block.yield %z : f32
  }
  func.return %r : !C
}
